"""Consolidation: near-duplicates merged, unused weak memories decayed, long inactive ones archived. Scope by scope.

Memories are read and written in batches, and what has to be sorted is sorted on disk: the memory this takes does not
grow with the number of memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from jiyi.model.feedback import MergeGroup
from jiyi.model.strength_decay import DecayRules, TrackedMemory, decay
from jiyi.runtime.near_duplicates import ALIKE, SAME, ContentWords, said, says_all_of, sort_keys
from jiyi.runtime.values import ConsolidationReport

if TYPE_CHECKING:
    from jiyi.ports.runtime import RuntimeStore, Sorter
    from jiyi.text import Analyzer

BATCH: Final = 500
_GROUPS_AT_ONCE: Final = 50
# Those that say the same need no comparing; of the others each is compared with each.
_PIECES: Final = {SAME: 1_000, ALIKE: 100}
_EXAMPLES: Final = 100
_REQUESTS_KEPT: Final = timedelta(days=30)


def consolidate(
    store: RuntimeStore,
    analyzer: Analyzer,
    scopes: Sequence[str],
    *,
    rules: DecayRules,
    now: datetime,
    actor: str,
    dry_run: bool,
) -> ConsolidationReport:
    """Look after these scopes, each by itself."""
    consolidation = _ConsolidationPass(store, analyzer, rules, now, actor, dry_run=dry_run)
    for scope in scopes:
        consolidation.scope(scope)
    if not dry_run:
        store.forget_requests(now - _REQUESTS_KEPT)
    return ConsolidationReport(
        dry_run=dry_run,
        scopes=len(scopes),
        groups=consolidation.groups,
        merged=consolidation.merged,
        faded=consolidation.decayed,
        deactivated=consolidation.deactivated,
        archived=consolidation.archived,
        examples={name: tuple(found) for name, found in consolidation.examples.items()},
    )


@dataclass
class _ConsolidationPass:
    """One consolidation and what it has done so far."""

    store: RuntimeStore
    analyzer: Analyzer
    rules: DecayRules
    now: datetime
    actor: str
    dry_run: bool = field(kw_only=True)
    groups: int = 0
    merged: int = 0
    decayed: int = 0
    deactivated: int = 0
    archived: int = 0
    examples: dict[str, list[tuple[str, ...]]] = field(
        default_factory=lambda: {"merged": [], "faded": [], "archived": []}
    )

    def scope(self, scope: str) -> None:
        """First the duplicates, so that what they are worth together decays together."""
        # Decided before anything decays: what becomes inactive now has its whole grace before it.
        with self.store.sorter() as sorter:
            self._merge(scope, sorter)
            self._decay(scope, sorter)
        self._archive(scope)

    # --- near-duplicates ------------------------------------------------------------------------------------------

    def _merge(self, scope: str, sorter: Sorter) -> None:
        for batch in self._pages(scope, active=True):
            sorter.add(
                (group, line, kept.entry.id)
                for kept in batch
                # A pinned memory is meant to stay as it is.
                if kept.entry.key is None and not kept.entry.pinned
                for group, line in sort_keys(kept.entry, said(kept.entry.content, self.analyzer))
            )
        waiting: list[MergeGroup] = []
        for prefix in (SAME, ALIKE):
            for piece in sorter.groups(prefix, limit=_PIECES[prefix]):
                for ids in _same(piece) if prefix == SAME else _alike(piece):
                    sorter.take(ids)
                    waiting.append(self._group(scope, ids, longest_first=prefix == ALIKE))
                if len(waiting) >= _GROUPS_AT_ONCE:
                    self._write(scope, waiting)
                    waiting = []
        self._write(scope, waiting)

    def _group(self, scope: str, ids: tuple[str, ...], *, longest_first: bool) -> MergeGroup:
        if not longest_first:
            return MergeGroup(ids)
        # The one that says the most gives the text.
        fullest = self.store.fetch(ids[:1], [scope]).get(ids[0])
        return MergeGroup(ids, fullest.content, fullest.reasoning or None) if fullest is not None else MergeGroup(ids)

    def _write(self, scope: str, groups: Sequence[MergeGroup]) -> None:
        if not groups:
            return
        if not self.dry_run:
            groups = self.store.merge(scope, groups, actor=self.actor, now=self.now)
        self.groups += len(groups)
        self.merged += sum(len(group.memory_ids) for group in groups)
        self._note("merged", [group.memory_ids for group in groups])

    # --- decay and archiving --------------------------------------------------------------------------------------

    def _decay(self, scope: str, sorter: Sorter) -> None:
        for batch in self._pages(scope, active=True):
            taken = sorter.taken([kept.entry.id for kept in batch]) if self.dry_run else set()
            changes = {
                kept.entry.id: left
                for kept in batch
                if kept.entry.key is None
                and kept.entry.id not in taken
                and (left := decay(kept.entry, kept.usage, self.now, self.rules)) is not None
            }
            if changes and not self.dry_run:
                self.store.write_decay(changes, actor=self.actor, now=self.now)
            self.decayed += len(changes)
            self.deactivated += sum(left.strength == 0 for left in changes.values())
            self._note("faded", [(memory_id,) for memory_id in changes])

    def _archive(self, scope: str) -> None:
        for batch in self._pages(scope, active=False):
            old = [kept.entry.id for kept in batch if kept.entry.updated_at <= self.now - self.rules.grace]
            if old and not self.dry_run:
                self.store.archive(old, actor=self.actor, now=self.now)
            self.archived += len(old)
            self._note("archived", [(memory_id,) for memory_id in old])

    def _pages(self, scope: str, *, active: bool) -> Iterator[Sequence[TrackedMemory]]:
        after = ""
        while batch := self.store.page(scope, active=active, after_id=after, limit=BATCH):
            yield batch
            after = batch[-1].entry.id

    def _note(self, name: str, ids: Sequence[tuple[str, ...]]) -> None:
        self.examples[name] += ids[: max(0, _EXAMPLES - len(self.examples[name]))]


def _same(piece: Sequence[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """A group of memories that say the same, word for word."""
    if len(piece) > 1:
        yield tuple(memory_id for _, memory_id in piece)


def _alike(piece: Sequence[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Groups around the memory that says the most; everything in a group is said by that one."""
    left = [(ContentWords.from_text(line), memory_id) for line, memory_id in piece]
    # In the order of what they say, whatever the order of storing: the longest first.
    left.sort(key=lambda pair: (-len(pair[0].content), pair[0].text(), pair[1]))
    while left:
        (fullest, first), *others = left
        covered = [memory_id for what, memory_id in others if says_all_of(fullest, what)]
        if covered:
            yield (first, *covered)
        gone = set(covered)
        left = [(what, memory_id) for what, memory_id in others if memory_id not in gone]
