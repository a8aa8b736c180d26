"""How a message stands to what was said before: it changes or ends something, adds to it, or leaves it alone."""
