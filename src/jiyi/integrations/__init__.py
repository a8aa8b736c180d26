"""Frameworks that can use jiyi as their memory. Each needs its own extra and is imported only when asked for."""
