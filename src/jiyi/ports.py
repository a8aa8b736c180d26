"""The contracts that rooms speak to. Backends and providers implement them; `jiyi.testing` checks them.

Everything here is synchronous and safe to call from several threads; `AgentMemory` runs it off the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from jiyi.model.chat import Attempt, Candidate, Epoch, Erased, Snapshot, Span, StoredMessage, Summary
    from jiyi.model.entry import EntryVersion, MemoryEntry
    from jiyi.model.filters import Filters
    from jiyi.model.job import Job, JobDraft
    from jiyi.model.message import Message
    from jiyi.model.note import NoteCounts, NoteFile, NoteUpdate

    Vectors: TypeAlias = NDArray[np.float32]

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with (done, total or None)."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to be stored."""

    entry: MemoryEntry
    """Complete as a new entry. Where its key is taken, that entry's id and creation time are kept."""
    keep: frozenset[str] = frozenset()
    """Fields that an existing entry keeps, because the caller said nothing about them."""


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the change log, as indexers read it."""

    sequence: int
    entry_id: str
    scope: str
    version: int
    fingerprint: str

    @property
    def mark(self) -> Mark:
        """This place of the log."""
        return Mark(self.sequence, self.fingerprint)


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the change log. The fingerprint tells two logs apart that have the same length."""

    sequence: int
    fingerprint: str


START = Mark(0, "")


@dataclass(frozen=True, slots=True)
class TagMark:
    """A state of the set of tags: tags are only added, until a collection begins a new generation."""

    generation: int
    last_id: int


@dataclass(frozen=True, slots=True)
class TagPage:
    """Tags that somebody who knew an earlier state has not seen."""

    mark: TagMark
    tags: Sequence[tuple[int, str]]
    """(id, name)."""
    whole: bool
    """Whether these are all tags there are, and not only the new ones."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """Entries found by tags."""

    found: Sequence[tuple[MemoryEntry, int]]
    """Each with how many of the tags it has, in order."""
    candidates: int
    """How many entries of the scopes have any of the tags, whatever else the filters ask for."""


class RecordStore(Protocol):
    """The truth: entries, their versions, conversations, and the change log that feeds every index."""

    @property
    def store_id(self) -> str:
        """Which store this is."""
        ...

    def put(self, drafts: Sequence[Draft], *, actor: str) -> list[MemoryEntry]:
        """Insert or update by (scope, key) in one transaction; returns them as stored, durable."""
        ...

    def forget(self, scope: str, key: str, *, actor: str, erase: bool = False) -> bool:
        """Remove the entry with this key; its versions stay readable unless `erase`."""
        ...

    def get(self, scopes: Sequence[str], key: str) -> MemoryEntry | None:
        """The entry with this key in the first of `scopes` that has it."""
        ...

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Entries by id; with filters only those they admit. `None` is for indexers, never for callers."""
        ...

    def admitted(self, ids: Sequence[str], filters: Filters) -> set[str]:
        """Which of these ids the filters admit; quicker than `fetch` where the entries are not needed."""
        ...

    def matching_ids(self, filters: Filters) -> list[str]:
        """Ids of all entries that the filters admit."""
        ...

    def count(self, filters: Filters) -> int:
        """How many entries the filters admit."""
        ...

    def page(self, filters: Filters, *, limit: int, offset: int) -> list[MemoryEntry]:
        """Entries newest first."""
        ...

    def versions(self, scope: str, key: str) -> list[EntryVersion]:
        """All versions of the entries that had this key, oldest first."""
        ...

    def time_range(self, scopes: Sequence[str]) -> tuple[datetime, datetime] | None:
        """When the first and the last of these scopes' entries happened; `None` when there are none."""
        ...

    def tags_since(self, known: TagMark | None) -> TagPage:
        """Tags that were added after this state; all of them when it is none or some were removed since."""
        ...

    def tagged(self, tag_ids: Iterable[int], filters: Filters, *, limit: int, each_type: bool = False) -> Tagged:
        """Entries with any of these tags: most tags first, then newer day, strength, newest.

        With `each_type` the limit holds for every memory type by itself.
        """
        ...

    def tag_usage(self, scopes: Sequence[str], *, limit: int, offset: int) -> list[tuple[str, int]]:
        """Tags of the active entries of these scopes with how many have each; the most used first."""
        ...

    def collect_tags(self) -> int:
        """Remove the tags that no entry has; returns how many."""
        ...

    def touch(self, ids: Sequence[str], at: datetime) -> None:
        """Count an access to each of these entries."""
        ...

    def head(self) -> Mark:
        """The last place of the change log."""
        ...

    def mark_at(self, sequence: int) -> Mark | None:
        """The mark of one place of the change log; `None` when there is no such place."""
        ...

    def changes_after(self, sequence: int, *, limit: int) -> list[Change]:
        """What follows this place of the change log."""
        ...

    def pending(self, sequence: int, scopes: Sequence[str] | None = None) -> int:
        """How many changes follow this place."""
        ...

    def scan(self, *, after_id: str = "", limit: int) -> list[MemoryEntry]:
        """All active entries of all scopes in id order, for rebuilding and comparing."""
        ...

    def save_history(
        self, scope: str, session_id: str, messages: Sequence[Message], *, actor: str, recallable: bool = True
    ) -> int:
        """Make `messages` the record of the session; with `recallable` what was said becomes entries as well."""
        ...

    def load_history(self, scope: str, session_id: str) -> list[Message]:
        """The record of the session, exactly as saved."""
        ...

    def sessions(self, scope: str) -> list[str]:
        """Ids of the sessions, the one last written to first."""
        ...

    def note_files(self, workspace: str, scope: str) -> dict[str, NoteFile]:
        """What is known of the note files of a workspace, by path."""
        ...

    def note_files_state(self, workspace: str, scope: str) -> tuple[int, int]:
        """How many files are known, and the latest `checked` of them; another as soon as anything else is known."""
        ...

    def save_notes(self, workspace: str, scope: str, updates: Sequence[NoteUpdate], *, actor: str) -> NoteCounts:
        """Make the pieces of these files what the updates say, in one transaction; unchanged ones stay untouched."""
        ...

    def export_rows(self, scope: str | None) -> Iterator[dict[str, Any]]:
        """Everything, or everything of one scope, as JSON-ready rows."""
        ...

    def import_rows(self, rows: Iterable[Mapping[str, Any]], *, actor: str) -> ImportCounts:
        """Take exported rows in, all or nothing."""
        ...

    def user_words(self) -> list[str]:
        """Words that the segmenter shall take as words."""
        ...

    def add_user_word(self, word: str) -> bool:
        """Add one; whether it is new."""
        ...

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`: versions, sizes, settings of the engine."""
        ...

    def check(self) -> list[str]:
        """Problems of the store itself, in words; empty when sound."""
        ...

    def maintain(self) -> None:
        """Small regular upkeep, such as a checkpoint."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


class ChatStore(Protocol):
    """What the chat room needs of the record store. Each change is one short transaction, durable when it returns.

    Messages are the rows of the conversation history; positions grow over the life of a session.
    """

    def append(
        self, scope: str, session_id: str, messages: Sequence[Message], *, actor: str, recallable: bool
    ) -> list[str]:
        """Add messages to the current epoch; returns their ids. Positions are given out in the transaction."""
        ...

    def snapshot(self, scope: str, session_id: str, enough: Callable[[StoredMessage], bool]) -> Snapshot:
        """The newest messages that no summary stands for, read backwards until `enough`, and all prompts before them.

        What lies behind the pointer is not read, however much it is.
        """
        ...

    def following(
        self,
        scope: str,
        session_id: str,
        *,
        after: int,
        before: int,
        enough: Callable[[StoredMessage], bool] | None = None,
    ) -> tuple[list[StoredMessage], bool]:
        """Messages between two positions, oldest first, until `enough`; and whether these are all."""
        ...

    def count_between(self, scope: str, session_id: str, *, after: int, before: int) -> int:
        """How many messages stand between two positions, prompts not counted."""
        ...

    def epochs(self, scope: str, session_id: str) -> list[Epoch]:
        """The epochs that are there, oldest first, at least one."""
        ...

    def epoch_messages(self, scope: str, session_id: str, epoch: int | None) -> list[StoredMessage]:
        """Every message of an epoch in order; `None` means the current one."""
        ...

    def start_epoch(self, scope: str, session_id: str) -> Epoch:
        """Begin a new epoch; one in which nothing was said yet goes on."""
        ...

    def delete_epoch(self, scope: str, session_id: str, epoch: int, *, actor: str) -> Erased:
        """Delete an epoch before the current one for good, with everything that was made of it."""
        ...

    def forget_session(self, scope: str, session_id: str, *, actor: str) -> Erased:
        """Delete a session for good, with everything that was made of it."""
        ...

    def summaries(self, scope: str, session_id: str, epoch: int) -> list[Summary]:
        """The summaries of an epoch that stand, oldest first; the last one is the pointer."""
        ...

    def summary(self, scope: str, session_id: str, summary_id: str) -> Summary | None:
        """One summary by its id."""
        ...

    def next_generation(self, scope: str, session_id: str, epoch: int) -> int:
        """The generation that the next summary takes."""
        ...

    def add_summary(self, summary: Summary, span: Span, *, trigger: str) -> bool:
        """Move the pointer, and write the attempt down as done.

        `False`, and nothing changed, when the pointer has moved, the messages under it have changed, or the session was
        reset meanwhile.
        """
        ...

    def flushed_to(self, scope: str, session_id: str, epoch: Epoch) -> int:
        """The last position of the epoch that was looked through; the one before its first when none was."""
        ...

    def add_flush(
        self,
        scope: str,
        session_id: str,
        span: Span,
        candidates: Sequence[Candidate],
        *,
        trigger: str,
        made_by: str,
    ) -> bool:
        """Mark a span as looked through and keep what was found; `False`, and nothing changed, when it already is."""
        ...

    def candidates(
        self, scope: str, *, session_id: str | None = None, state: str | None = None, limit: int = 1_000
    ) -> list[Candidate]:
        """Candidates of the scope, oldest first."""
        ...

    def settle_candidate(self, scope: str, candidate_id: str, *, state: str, by: str) -> bool:
        """Take or reject a new candidate; `False` when it is not there or somebody else was first."""
        ...

    def add_attempt(self, scope: str, session_id: str, epoch: int, attempt: Attempt) -> None:
        """Write down how a try to compact went."""
        ...

    def last_attempt(self, scope: str, session_id: str, epoch: int) -> Attempt | None:
        """The last try in this epoch."""
        ...

    def failing_sessions(self, since: datetime) -> int:
        """How many sessions of all scopes have failed in their last try, in their current epoch, since then."""
        ...


@dataclass(frozen=True, slots=True)
class Amendment:
    """A change of an entry that is not a new text: whether it is active or pinned, and what it is linked to."""

    entry_id: str
    values: Mapping[str, Any]
    operation: str = "update"
    version: int | None = None
    """The version it was decided on; an entry that has changed since is left alone."""
    because: str | None = None
    """The id of the new entry that is the reason: if that is not stored, nothing is changed."""


FadingPlace: TypeAlias = "tuple[datetime, str]"


@dataclass(frozen=True, slots=True)
class Fading:
    """What the curve of forgetting needs to know of an entry."""

    id: str
    created_at: datetime
    last_accessed_at: datetime
    access_count: int
    importance_score: float

    @property
    def place(self) -> FadingPlace:
        """Where it stands in the order of pages."""
        return self.created_at, self.id


class LongtermStore(Protocol):
    """What the long-term room needs beyond the records. Each change is one short transaction, durable on return."""

    def append_messages(
        self,
        scope: str,
        session_id: str,
        messages: Sequence[Message],
        *,
        actor: str,
        recallable: bool,
        job: JobDraft | None = None,
    ) -> list[str]:
        """Add messages to a session, and the job that is about them; returns the message ids."""
        ...

    def messages(self, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
        """(id, message, when it was said) of these messages of the scope; also of those that were replaced since."""
        ...

    def commit(
        self,
        scope: str,
        entries: Sequence[MemoryEntry],
        amendments: Sequence[Amendment] = (),
        *,
        actor: str,
        finished: Job | None = None,
        jobs: Sequence[JobDraft] = (),
    ) -> list[MemoryEntry] | None:
        """New entries, changes of old ones and what becomes of the jobs, all in one transaction.

        An entry whose key is taken is left out. `None`, and nothing changed, when the finished job is no longer the
        caller's.
        """
        ...

    def amend(self, scope: str, amendments: Sequence[Amendment], *, actor: str) -> list[MemoryEntry]:
        """Change entries of a scope; returns those that were as expected, changed."""
        ...

    def by_ids(self, scope: str, ids: Sequence[str]) -> list[MemoryEntry]:
        """Entries of a scope by id, active or not, in the order asked for."""
        ...

    def by_keys(self, scope: str, keys: Sequence[str]) -> dict[str, MemoryEntry]:
        """Entries of a scope by key, active or not."""
        ...

    def unsummarized(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """The newest facts that no reflection speaks for yet and that are not pinned, newest first."""
        ...

    def last_reflection(self, scope: str) -> datetime | None:
        """When the newest reflection of a scope was made."""
        ...

    def superseded(self, scopes: Sequence[str], before: datetime, *, limit: int) -> list[tuple[MemoryEntry, datetime]]:
        """Entries that were known before a time and corrected after it, with the time of the correction."""
        ...

    def inactive(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """Long-term memories of a scope that were forgotten or corrected, the last changed first."""
        ...

    def scopes(self) -> list[str]:
        """Every scope that has entries."""
        ...

    def fading(
        self, scope: str, without_types: Sequence[str], *, after: FadingPlace | None, limit: int
    ) -> list[Fading]:
        """A page of the long-term memories that may be forgotten, oldest first."""
        ...

    def forget_faded(self, scope: str, faded: Sequence[Fading], *, actor: str) -> int:
        """Take these out of recall; those that were touched, pinned or changed since are left. Returns how many."""
        ...

    def drop_unused_tags(self) -> int:
        """Delete tags that no entry has; returns how many."""
        ...


class JobStore(Protocol):
    """Background work that survives a restart. Several processes may share one queue."""

    def add(self, draft: JobDraft) -> bool:
        """Queue a job; `False` when one with its dedupe key waits already."""
        ...

    def claim(
        self, worker: str, *, now: datetime, lease_until: datetime, scopes: Sequence[str] | None = None
    ) -> Job | None:
        """The oldest job (of these scopes) that is due, now this worker's; jobs of one scope in their order."""
        ...

    def finish(self, job: Job, *, now: datetime) -> bool:
        """Mark it as done; `False` when it is no longer this worker's."""
        ...

    def postpone(self, job: Job, *, until: datetime, reason: str) -> bool:
        """Give it back, to be tried again later."""
        ...

    def bury(self, job: Job, *, now: datetime, reason: str) -> bool:
        """Put it on the dead-letter list."""
        ...

    def revive(self, job_id: str, scopes: Sequence[str] | None, *, now: datetime) -> bool:
        """Queue a dead job again, as if it were new; `False` when there is no such dead job."""
        ...

    def list(self, *, states: Sequence[str], scopes: Sequence[str] | None, limit: int) -> list[Job]:
        """Jobs in these states, newest first."""
        ...

    def next_due(self) -> datetime | None:
        """When the next job can be begun, as far as it is known now; `None` when none waits."""
        ...

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        ...

    def purge(self, *, before: datetime, limit: int = 500) -> int:
        """Delete jobs that were done before this time; returns how many."""
        ...


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What an import did."""

    entries: int = 0
    versions: int = 0
    messages: int = 0
    unchanged: int = 0
    words: int = 0
    chat: int = 0
    """Epochs, summaries, flush marks and candidates of conversations."""
    jobs: int = 0

    def __add__(self, other: ImportCounts) -> ImportCounts:
        return ImportCounts(
            self.entries + other.entries,
            self.versions + other.versions,
            self.messages + other.messages,
            self.unchanged + other.unchanged,
            self.words + other.words,
            self.chat + other.chat,
            self.jobs + other.jobs,
        )


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """What an index takes in at once: the current state of what changed."""

    upserts: Sequence[MemoryEntry]
    removals: Sequence[tuple[str, str]]
    """(scope, id) of what is gone."""
    mark: Mark
    """Where the index stands after this batch."""


@runtime_checkable
class DerivedIndex(Protocol):
    """Anything that can be deleted and rebuilt from the records. Its mark is committed together with its data."""

    @property
    def name(self) -> str:
        """What it is called in reports."""
        ...

    @property
    def batch_size(self) -> int:
        """How many changes one commit should take."""
        ...

    def mark(self) -> Mark | None:
        """How far the index has come; `None` when it is missing, foreign or made by other rules: rebuild it."""
        ...

    def apply(self, batch: IndexBatch) -> None:
        """Take the batch in, durably and idempotently, mark included.

        `IndexDamagedError` when there is no mark: an index that knows only this batch would claim to know everything.
        """
        ...

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one from all records, then swap."""
        ...

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, fingerprint) of everything held, for comparing with the records."""
        ...

    def check(self) -> list[str]:
        """Problems of the files themselves, in words; empty when sound."""
        ...

    def exclusive(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Only one process drains or rebuilds this index at a time; `StoreBusyError` after the timeout."""
        ...

    def fingerprint(self, entry: MemoryEntry) -> str:
        """The hash by which `contents` shows this state of an entry; empty for one that it does not hold."""
        ...

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Numbers about the visible texts together; the tuples follow the question's terms."""

    entries: int
    mean_length: float
    """Harmonic, of lengths of at least 25: as near to the usual length as the median, and kept up to date by a sum."""
    mean_bigram_length: float
    word_df: tuple[int, ...]
    bigram_df: tuple[int, ...]
    conversations: int
    mean_conversation_length: float
    conversation_df: tuple[int, ...]


CONVERSATION, TIMED, ALONE = "c:", "t:", "e:"
"""How the name of a thread begins: a conversation, records in order of time, an entry by itself."""


class TermRow(NamedTuple):
    """What the scorer knows of one text: its place, and 32-bit term ids (little-endian) with one byte of count each.

    A tuple: every recall makes a hundred of them.
    """

    scope: str
    thread: str
    """What it stands in line with: entries of one thread are neighbours."""
    event_time: int
    """Microseconds since 1970 in UTC."""
    entry_id: str
    length: int
    bigram_length: int
    question_share: float
    words: bytes
    word_counts: bytes
    bigrams: bytes
    bigram_counts: bytes

    @property
    def in_conversation(self) -> bool:
        """Whether its thread is a conversation."""
        return self.thread.startswith(CONVERSATION)


class TextSource(Protocol):
    """Finds entries by their words, and knows the numbers by which texts are compared."""

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches in `words` or `bigrams`, best first; with `labels` also by keys and tags."""
        ...

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of these scopes together."""
        ...

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its conversation, in order.

        `scopes` is a hint where they stand: they are found sooner by it.
        """
        ...

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, thread) of a conversation its length and how often each word stands in it."""
        ...

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The numbers under which `windows` shows these terms."""
        ...


class TextIndex(TextSource, DerivedIndex, Protocol):
    """A text source that follows the change log."""


class TextProposer(Protocol):
    """A part of a text index that another engine may do: finding the best matches."""

    @property
    def mode(self) -> str:
        """How it does that, in words for `doctor` and for the coverage of an answer."""
        ...

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """As `TextIndex.propose`; there is at least one term."""
        ...


@runtime_checkable
class StatesMode(Protocol):
    """An index that answers in one of several ways, and says in which."""

    @property
    def mode(self) -> str:
        """How it answers, in words for the coverage of an answer."""
        ...


class VectorScan(Protocol):
    """The similarities of one question to every text of the visible scopes."""

    @property
    def count(self) -> int:
        """How many texts were compared."""
        ...

    @property
    def mean(self) -> float:
        """The mean similarity."""
        ...

    def best(
        self,
        limit: int,
        *,
        allowed: Sequence[str] | None = None,
        periods: Sequence[tuple[datetime, datetime]] = (),
    ) -> list[str]:
        """Ids of the most similar, best first; only the allowed ones, and inside one of the periods if any."""
        ...

    def of(self, ids: Sequence[str]) -> Vectors:
        """The similarity of each of these; NaN where there is no vector."""
        ...


class VectorIndex(DerivedIndex, Protocol):
    """Finds entries by meaning, exactly, inside the visible scopes."""

    def scan(self, vector: Vectors, scopes: Sequence[str]) -> VectorScan:
        """Compare a question with every text of these scopes."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that a recall asks of its scopes, as it was at one moment after the question was put."""

    text: TextSource
    mode: str
    """How the text index answers, in words."""
    scan: VectorScan | None
    """`None` where meaning was not asked."""


class ScopeReader(Protocol):
    """Reads small scopes whole, in one round trip, where an engine keeps the records and every index."""

    def worthwhile(self, scopes: Sequence[str]) -> bool:
        """Whether these scopes are small, as far as it is known without asking."""
        ...

    def read(self, filters: Filters, vector: Vectors | None, *, bigrams: bool) -> Reading | None:
        """All of these scopes, compared with the vector if there is one; without `bigrams` only words are asked for.

        `None` when they are too large for that, or an index is behind in them, missing, or not to be trusted: then
        each index has to be brought up to date and asked by itself.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model made a vector; vectors of two identities are never ranked together."""

    name: str
    dimension: int
    revision: str

    def __str__(self) -> str:
        return f"{self.name}@{self.revision}/{self.dimension}"


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def identity(self) -> ModelIdentity:
        """Which model this is."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, in order, each of length 1."""
        ...


@runtime_checkable
class ChatModel(Protocol):
    """A language model. It blocks, and it may be called from several threads; it never retries by itself.

    Every failure is a `ModelError` whose `retryable` tells the caller whether to ask again; a reply without words is
    a failure too, never an empty success.
    """

    @property
    def name(self) -> str:
        """What it is called in `source` and in reports."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> str:
        """The reply to a conversation, never empty.

        With a JSON schema the model is asked for JSON that fits it; whether it does is for the caller to check
        (`jiyi.model.replies.parse_json_reply`). `timeout` is in seconds, for the whole reply.
        """
        ...

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Iterator[str]:
        """The reply in pieces as they come; together they are what `complete` would return."""
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text as one model family does, or estimates them from above."""

    @property
    def name(self) -> str:
        """Which tokenizer, or that it is an estimate."""
        ...

    def count(self, text: str) -> int:
        """How many tokens the text has for the model; 0 for an empty text."""
        ...
