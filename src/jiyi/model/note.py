"""Notes as values: what is known of a note file, the pieces it is searched by, and what a search gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from jiyi.model import clock
from jiyi.model.daily_note import is_date_name
from jiyi.model.storable import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jiyi.model.entry import Explanation, MemoryEntry

SEPARATOR = " › "
"""Between the headings above a piece."""

_MARK = "\x1f"
NOTE_SCOPES = f"{_MARK}notes{_MARK}"
"""How the scopes of notes begin. No caller can name one: `check_scope` refuses invisible characters."""
_THREAD = "note:"


def note_scope(workspace: str, scope: str, *, shared: bool) -> str:
    """The scope that holds the pieces of one workspace: the private ones, or those a group may see.

    Every index and every row is isolated by scope. So a search for a group proposes no private note, and a memory
    without this workspace does not find pieces whose files it cannot check.
    """
    return f"{NOTE_SCOPES}{workspace}{_MARK}{scope}{_MARK}{'shared' if shared else 'private'}"


def note_scopes_of(scope: str, among: Iterable[str]) -> list[str]:
    """Those scopes of notes that hold pieces of any workspace for this scope."""
    ends = tuple(f"{_MARK}{scope}{_MARK}{kind}" for kind in ("private", "shared"))
    return [each for each in among if is_note_scope(each) and each.endswith(ends)]


def is_note_scope(scope: str) -> bool:
    """Whether a scope is one of those that hold pieces of notes."""
    return scope.startswith(NOTE_SCOPES)


def thread_of(path: str) -> str:
    """The `conversation_id` under which the pieces of a file stand in line."""
    return _THREAD + path


def with_headings(above: Sequence[str], text: str) -> str:
    """What is indexed of a piece: a text is about what its headings say."""
    return f"{storable(SEPARATOR.join(above))}\n\n{text}" if above else text


def without_headings(content: str, headings: Sequence[str]) -> str:
    """The text of a piece again, from what is indexed of it."""
    for count in range(len(headings), 0, -1):
        prefix = with_headings(headings[:count], "")
        if content.startswith(prefix):
            return content[len(prefix) :]
    return content


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What the system says of a file without reading it."""

    size: int
    modified: int
    """Nanoseconds since 1970."""
    changed: int
    """The same for the inode: it moves also when a tool sets the time of modification back."""
    inode: int


@dataclass(frozen=True, slots=True)
class NoteFile:
    """What is known of a note file since it was last read."""

    path: str
    """Below the workspace, with `/`."""
    stamp: FileStamp
    digest: str
    """Of its bytes, with the rules by which they were read; empty when they could not be read."""
    checked: int
    """When its bytes were read, in nanoseconds since 1970."""
    shared: bool = False
    chunks: int = 0
    encoding: str = "utf-8"
    problem: str = ""
    """Why it is not searched, in words; empty when it is."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "path": self.path,
            "bytes": self.stamp.size,
            "chunks": self.chunks,
            "shared": self.shared,
            "encoding": self.encoding,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class NoteUpdate:
    """What a scan found out about one path."""

    path: str
    file: NoteFile | None
    """As it is now; `None` when it is gone."""
    entries: tuple[MemoryEntry, ...] | None = None
    """Its pieces in the order of the file, the position left open; `None` leaves them as they are."""


@dataclass(frozen=True, slots=True)
class NoteCounts:
    """What writing the updates changed."""

    added: int = 0
    removed: int = 0
    moved: int = 0
    """Pieces that stand elsewhere in their file now."""

    def __add__(self, other: NoteCounts) -> NoteCounts:
        return NoteCounts(self.added + other.added, self.removed + other.removed, self.moved + other.moved)


@dataclass(frozen=True, slots=True)
class NoteProblem:
    """A file that cannot be searched, and why."""

    path: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {"path": self.path, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What a scan of the workspace found and did."""

    files: int = 0
    read: int = 0
    """Files whose bytes were read, because they were new or looked changed."""
    gone: int = 0
    counts: NoteCounts = field(default_factory=NoteCounts)
    problems: tuple[NoteProblem, ...] = ()
    restored: tuple[str, ...] = ()
    """Ids of entries that another program had overwritten and that were written again."""

    @property
    def changed(self) -> bool:
        """Whether the scan found anything to do."""
        return bool(self.gone or self.counts != NoteCounts() or self.restored)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "files": self.files,
            "read": self.read,
            "gone": self.gone,
            "chunks_added": self.counts.added,
            "chunks_removed": self.counts.removed,
            "chunks_moved": self.counts.moved,
            "problems": [problem.to_dict() for problem in self.problems],
            "restored": list(self.restored),
        }


@dataclass(frozen=True, slots=True)
class NoteHit:
    """A piece of a note that answers a question."""

    path: str
    start_line: int
    """The first line is 1."""
    end_line: int
    """Included."""
    heading: str
    """The headings above it, joined; empty when there are none."""
    date: date | None
    """The day it belongs to, if the file or the entry has one."""
    content: str
    score: float
    id: str
    explanation: Explanation

    @property
    def place(self) -> str:
        """`path:line-line`."""
        return f"{self.path}:{self.start_line}-{self.end_line}"

    @property
    def score_parts(self) -> Mapping[str, float]:
        """Every part of the score by name."""
        return self.explanation.parts

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "path": self.path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "heading": self.heading,
            "date": self.date.isoformat() if self.date is not None else None,
            "content": self.content,
            "score": self.score,
            "explanation": self.explanation.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class NoteText:
    """Lines of a note as they stand in the file, but for comments for programs."""

    path: str
    start_line: int
    end_line: int
    total_lines: int
    text: str

    def __str__(self) -> str:
        return self.text

    def __contains__(self, text: str) -> bool:
        return text in self.text

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "path": self.path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "total_lines": self.total_lines,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class LineAttribution:
    """Who wrote some lines of a note, as far as it is recorded."""

    start_line: int
    end_line: int
    """Included."""
    origin: str
    """How the lines got there.

    `entry`: with `memory_append`. `promotion` and `proposal`: into `MEMORY.md` from a daily note, by `promote` or by an
    accepted proposal. `template`: with the workspace. `hand`: nothing is recorded, so a person or another program wrote
    them into the file, or changed them since.
    """
    by: str = ""
    """How far the origin of the text is trusted (`user`, `agent`, `tool`, `import`); empty when it is not known."""
    source: str = ""
    """Where the text came from, e.g. `chat:session#12-14`; empty when it is not known."""
    entry_id: str = ""
    """The entry that the lines are, or were before they were put into `MEMORY.md`."""
    note: str = ""
    """The daily note that the text was taken from."""
    made_by: str = ""
    """What made the accepted proposal: `rules`, or the name of a model."""
    at: datetime | None = None
    """When the lines were written or accepted, in UTC."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "start_line": self.start_line,
            "end_line": self.end_line,
            "origin": self.origin,
            "by": self.by,
            "source": self.source,
            "entry_id": self.entry_id,
            "note": self.note,
            "made_by": self.made_by,
            "at": None if self.at is None else clock.to_text(self.at),
        }


@dataclass(frozen=True, slots=True)
class AppendedNote:
    """An entry that is in its file, on disk."""

    id: str
    path: str
    at: datetime
    """In UTC."""
    new: bool = True
    """`False` when an entry with this id was there already."""
    conflict: bool = False
    """Whether another program replaced the file meanwhile; both texts are in it."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "id": self.id,
            "path": self.path,
            "at": clock.to_text(self.at),
            "new": self.new,
            "conflict": self.conflict,
        }


def note_place(references: Sequence[str]) -> tuple[str, int, int]:
    """The path and the lines of the `path:line-line` that a note's source begins with."""
    path, _, lines = references[0].rpartition(":")
    start, _, end = lines.partition("-")
    return path, int(start), int(end)


def note_titles(references: Sequence[str]) -> tuple[str, ...]:
    """What a piece is called: its file, unless that is only a day, and the headings above it."""
    name = references[0].rpartition(":")[0].rpartition("/")[2].removesuffix(".md")
    return (*(() if is_date_name(name) or name.upper() == "MEMORY" else (name,)), *references[1:])


@dataclass(frozen=True, slots=True)
class ContextLayer:
    """One part of what a session begins with."""

    name: str
    """`context`, `long-term`, `yesterday` or `today`."""
    path: str
    text: str
    """As it goes into the prompt."""
    tokens: int
    budget: int
    cut: int = 0
    """How many lines were left out; 0 when all are there."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "name": self.name,
            "path": self.path,
            "text": self.text,
            "tokens": self.tokens,
            "budget": self.budget,
            "cut": self.cut,
        }


@dataclass(frozen=True, slots=True)
class NotesContext:
    """What a session begins with, layer by layer."""

    kind: str
    layers: tuple[ContextLayer, ...]

    @property
    def text(self) -> str:
        """All layers, for the prompt."""
        return "\n\n".join(layer.text for layer in self.layers)

    def __str__(self) -> str:
        return self.text

    def __contains__(self, text: str) -> bool:
        return text in self.text

    @property
    def tokens(self) -> int:
        """Of all layers together."""
        return sum(layer.tokens for layer in self.layers)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {"kind": self.kind, "tokens": self.tokens, "layers": [layer.to_dict() for layer in self.layers]}
