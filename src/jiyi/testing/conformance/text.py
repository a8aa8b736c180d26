"""The conformance suite of text indexes: search, and term statistics for the scorer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest

from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import IndexBatch, LogPosition, RecordStore, TextIndex
from jiyi.testing.conformance.examples import ACTOR, draft, entry
from jiyi.testing.conformance.indexes import MAIN, DerivedIndexConformance
from jiyi.text import Analyzer
from jiyi.text.term_ids import term_id

_analyzer = Analyzer()


def _apply(index: TextIndex, entries: Sequence[MemoryEntry], place: int = 1) -> None:
    index.apply(IndexBatch(entries, (), LogPosition(place, "x")))


class TextIndexConformance(DerivedIndexConformance[TextIndex]):
    """Everything that jiyi relies on in a text index. Define `make_index(folder, store)` and run it."""

    def find(
        self, index: TextIndex, text: str, filters: Filters, admitted: Sequence[str], *, limit: int = 1_000
    ) -> list[str]:
        del admitted
        return index.propose("words", _analyzer.query(text).words, filters, limit=limit, labels=True)

    def _keys(self, index: TextIndex, text: str, entries: Sequence[MemoryEntry], field: str = "words") -> set[str]:
        query = _analyzer.query(text)
        terms = query.words if field == "words" else query.bigrams
        by_id = {e.id: e.key or "" for e in entries}
        return {by_id[i] for i in index.propose(field, terms, MAIN, limit=100, labels=True)}

    def test_what_a_new_version_no_longer_says_is_no_longer_found(self, index: TextIndex) -> None:
        old = entry("k", "apple pie")
        _apply(index, [old])
        _apply(index, [replace(old, content="banana bread")], place=2)
        assert self.find(index, "apple", MAIN, []) == []

    def test_the_text_with_more_of_the_words_comes_first(self, index: TextIndex) -> None:
        one, two, none = (
            entry("a", "apple in the morning"),
            entry("b", "apple and banana in the evening"),
            entry("c", "something else"),
        )
        _apply(index, [one, two, none])
        assert self.find(index, "apple banana", MAIN, []) == [two.id, one.id]
        assert self.find(index, "apple banana", MAIN, [], limit=1) == [two.id]

    def test_chinese_is_found_by_words_and_by_pairs_of_characters(self, index: TextIndex) -> None:
        entries = [
            entry("paper", "我每天早上看杭州早报"),
            entry("config", "重跑gen-itgc后检查API配置"),
            entry("tea", "他喜欢喝龙井茶"),
        ]
        _apply(index, entries)
        assert self._keys(index, "早报", entries) == {"paper"}
        assert self._keys(index, "配置", entries) == {"config"}
        assert self._keys(index, "gen-itgc", entries) == {"config"}
        assert self._keys(index, "州早", entries, "bigrams") == {"paper"}
        assert self._keys(index, "茶", entries, "bigrams") == {"tea"}

    def test_a_key_and_a_tag_are_found_by_their_words(self, index: TextIndex) -> None:
        entries = [entry("favourite color", "blue"), entry("k", "green", tags=("outdoor gear",)), entry("x", "red")]
        _apply(index, entries)
        assert self._keys(index, "color", entries) == {"favourite color"}
        assert self._keys(index, "gear", entries) == {"k"}
        assert index.propose("words", _analyzer.query("gear").words, MAIN, limit=10) == []

    @pytest.mark.parametrize(
        "text", ["C++ (v2", "key: value", '"x', "a AND", "*", "http://x.y/?a=b&c", "😀", "[0 TO 9]"]
    )
    def test_no_text_is_taken_for_a_query_language(self, index: TextIndex, text: str) -> None:
        said = entry("k", f"they wrote {text} there")
        _apply(index, [said])
        terms = _analyzer.query(text).words
        assert index.propose("words", terms, MAIN, limit=10) == ([said.id] if terms else [])

    def test_no_terms_find_nothing(self, index: TextIndex) -> None:
        _apply(index, [entry("k", "apple")])
        assert index.propose("words", [], MAIN, limit=10) == []

    def test_foreign_texts_change_no_proposal(self, index: TextIndex) -> None:
        """Whether a word occurs in another scope, or in a removed entry, cannot be told from any proposals."""
        fruit = ("apple", "banana", "cherry", "quince", "walnut", "香蕉", "早报")
        own = [
            entry(None, " ".join(fruit[(number * step) % 7] for step in range(1 + number % 5)) + f" n{number % 3}")
            for number in range(60)
        ]
        _apply(index, own)

        def proposed() -> list[list[str]]:
            questions = [_analyzer.query(" ".join(words)) for words in combinations(fruit, 2)]
            return [
                index.propose(field, terms, MAIN, limit=limit, labels=True)
                for question in questions
                for field, terms in (("words", question.words), ("bigrams", question.bigrams))
                for limit in (3, 20)
            ]

        before = proposed()
        foreign = [entry(None, f"{fruit[number % 3]} banana 早报", scope="foreign") for number in range(200)]
        _apply(index, foreign, place=2)
        assert proposed() == before
        changed = [replace(each, content="quince " * 40) for each in foreign[:100]]
        removed = [("foreign", each.id) for each in foreign[100:]]
        index.apply(IndexBatch(changed, removed, LogPosition(3, "x")))
        assert proposed() == before
        more = [entry(None, "walnut cherry") for _ in range(50)]
        _apply(index, more, place=4)
        index.apply(IndexBatch([], [("main", each.id) for each in more], LogPosition(5, "x")))
        assert proposed() == before

    # --- numbers for the scorer -----------------------------------------------------------------------------------

    def test_statistics_follow_every_change(self, store: RecordStore, index: TextIndex) -> None:
        entries = [
            entry(None, "apple banana apple", scope="a"),
            entry(None, "banana 香蕉好吃", scope="a"),
            entry(None, "apple", scope="b"),
            entry(None, "cherry", scope="c"),
        ]
        _apply(index, entries)
        words = _analyzer.query("apple banana cherry unknown").words
        both = index.statistics(["a", "b"], words, ["香蕉", "蕉好"])
        assert (both.entries, both.word_df, both.bigram_df) == (3, (2, 2, 0, 0), (1, 1))
        changed = replace(entries[0], content="cherry")
        index.apply(IndexBatch([changed], [("a", entries[1].id)], LogPosition(2, "x")))
        both = index.statistics(["a", "b"], words, ["香蕉", "蕉好"])
        assert (both.entries, both.word_df, both.bigram_df) == (2, (1, 0, 1, 0), (0, 0))
        assert index.statistics(["nobody"], words, []).entries == 0
        del store

    def test_statistics_after_many_changes_are_those_of_a_new_index(self, store: RecordStore, index: TextIndex) -> None:
        def put(numbers: range) -> list[MemoryEntry]:
            drafts = [
                draft(f"k{i % 9}", f"apple 香蕉 number {i} " * (i % 3 + 1), conversation_id=f"c{i % 2}", position=i)
                for i in numbers
            ]
            return store.put(drafts, actor=ACTOR)

        for start in range(0, 30, 5):
            _apply(index, list({e.id: e for e in put(range(start, start + 5))}.values()), place=start + 1)
        gone = store.get(["main"], "k3")
        assert gone is not None
        store.forget("main", "k3", actor=ACTOR)
        index.apply(IndexBatch((), [("main", gone.id)], LogPosition(99, "x")))
        words, bigrams = _analyzer.query("apple number 香蕉 7 29").words, ["香蕉", "果"]
        rows = index.windows(store.matching_ids(MAIN), reach=0)
        threads = [*sorted({(row.scope, row.thread) for row in rows}), ("main", "unknown")]
        grown = index.statistics(["main"], words, bigrams), index.conversations(threads, words)
        index.rebuild(store)
        assert (index.statistics(["main"], words, bigrams), index.conversations(threads, words)) == grown
        assert grown[0].entries == 8

    def test_a_text_is_shown_with_its_neighbours_in_the_conversation(self, index: TextIndex) -> None:
        talk = [entry(None, f"line {i}", conversation_id="talk", position=i) for i in range(9)]
        other = [entry(None, f"other {i}", conversation_id="other", position=i) for i in range(9)]
        foreign = [entry(None, f"foreign {i}", scope="x", conversation_id="talk", position=i) for i in range(9)]
        _apply(index, [*foreign, *talk[::-1], *other])
        shown = index.windows([talk[4].id, talk[0].id], reach=2)
        # It may show more of the same conversation, but without gaps.
        assert len(shown) >= 7
        assert [row.entry_id for row in shown] == [line.id for line in talk[: len(shown)]]
        assert {row.scope for row in shown} == {"main"}
        assert len({row.thread for row in shown}) == 1
        assert talk[4].id in [row.entry_id for row in index.windows([talk[4].id, "unknown"], reach=0)]
        assert index.windows([], reach=2) == []
        hinted = index.windows([talk[4].id, talk[0].id], reach=2, scopes=MAIN.scopes)
        assert hinted == shown
        assert index.windows([talk[4].id, talk[0].id], reach=2, scopes=("elsewhere",)) == shown

    def test_where_to_look_is_a_hint_and_changes_nothing_of_the_answer(self, index: TextIndex) -> None:
        facts = [entry(f"fact {i}", f"line {i}") for i in range(20)]
        public = [entry(f"fact {i}", f"line {i}", scope="public") for i in range(20)]
        talk = [entry(None, f"line {i}", conversation_id="talk", position=i) for i in range(5)]
        _apply(index, [*facts, *public, *talk])
        wanted = [one.id for one in (*facts, *talk[:2], *public)]
        plain = index.windows(wanted, reach=1)
        for scopes in (("main",), ("public", "main"), ("main", "public"), ("elsewhere",)):
            assert index.windows(wanted, reach=1, scopes=scopes) == plain

    def test_terms_of_a_text_are_shown_with_their_counts(self, index: TextIndex) -> None:
        one = entry("k", "apple banana apple 香蕉香蕉")
        _apply(index, [one])
        [row] = index.windows([one.id], reach=0)
        analysis = _analyzer.analyze(one.content)
        for terms, ids, counts, length in (
            (analysis.words, row.words, row.word_counts, analysis.length),
            (analysis.bigrams, row.bigrams, row.bigram_counts, analysis.bigram_length),
        ):
            numbers = [int.from_bytes(ids[i : i + 4], "little") for i in range(0, len(ids), 4)]
            shown = dict(zip(numbers, counts, strict=True))
            for term, count in Counter(terms[:length]).items():
                assert shown[term_id(term)] >= count, term
        assert row.bigram_length == analysis.bigram_length

    def test_conversations_are_counted_as_a_whole(self, index: TextIndex) -> None:
        talk = [
            entry(None, "apple banana", conversation_id="talk", position=0),
            entry(None, "apple", conversation_id="talk", position=1),
        ]
        _apply(index, [*talk, entry(None, "apple", conversation_id="talk", scope="other"), entry(None, "banana")])
        words = _analyzer.query("apple banana").words
        thread = index.windows([talk[0].id], reach=0)[0].thread
        counted = index.conversations([("main", thread), ("main", "unknown")], words)
        assert counted == {("main", thread): (3, (2, 1)), ("main", "unknown"): (0, (0, 0))}
        statistics = index.statistics(["main"], words, [])
        assert (statistics.conversations, statistics.conversation_df) == (1, (1, 1))
