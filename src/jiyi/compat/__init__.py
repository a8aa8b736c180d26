"""Memories with the names of other libraries, so that a program moves here by changing an import."""
