"""Notes: memory in Markdown files that people read and edit. The files are the truth; the index only finds them."""

from jiyi.notes.api import Notes

__all__ = ["Notes"]
