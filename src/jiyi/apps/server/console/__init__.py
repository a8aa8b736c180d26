"""The console: the memory in a browser, for people."""
