"""Whom and what a text is about: the speaker, other people and things, topics, and attributes with one value."""
