"""Notes: memory in Markdown files that people read and edit. The files are the truth; the index only finds them."""

from jiyi.notes.front import Notes
from jiyi.notes.room import NotesRoom, NotesSettings

__all__ = ["Notes", "NotesRoom", "NotesSettings"]
