"""Searching notes: the files as they are now, with the right lines, inside the fence."""

import os
from datetime import UTC, date, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from jiyi.errors import InvalidInputError, NotesError
from jiyi.model.entry import MemoryEntry
from jiyi.model.note import NoteCounts, note_place
from jiyi.notes.markdown import take_apart
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.notes.conftest import Desk, OpenDesk
from tests.support import QUICK, examples

TEA = """# Tea

## 龙井

杭州的龙井茶要用八十度的水。

## Oolong

- Tieguanyin from Anxi
- steep it twice
"""


def test_a_natural_question_in_chinese_finds_the_note(desk: Desk) -> None:
    desk.write("memory/tea.md", TEA)
    desk.write("memory/2026-11-01.md", "# 2026-11-01\n\n下午在公司开会，讨论预算。\n")
    hit = desk.notes.memory_search("请问我之前记的龙井应该用多少度的水来泡呢？")[0]
    assert (hit.place, hit.heading, hit.date) == ("memory/tea.md:3-5", "Tea › 龙井", None)
    assert hit.content == "## 龙井\n\n杭州的龙井茶要用八十度的水。"
    assert 0 < hit.score <= 1
    assert hit.score_parts["words"] > 0


def test_one_word_of_many_is_enough(desk: Desk) -> None:
    desk.write("memory/a.md", "the gateway was restarted\n")
    assert desk.places("why on earth did somebody touch our gateway yesterday evening") == ["memory/a.md:1-1"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_a_new_workspace_begins_with_is_no_memory(desk: Desk, language: str) -> None:
    desk.notes.init_workspace(language=language)
    questions = (
        "what do you know about me",
        "What is worth knowing in every session?",
        "每次会话都值得知道的事",
        "名字",
    )
    for question in questions:
        assert desk.notes.memory_search(question) == []
        assert desk.memory.recall(question) == []
    text = desk.read("MEMORY.md")
    heading = "## About the user\n" if language == "en" else "## 关于用户\n"
    desk.write("MEMORY.md", text.replace(heading, f"{heading}\nAnna plays the cello\n"))
    assert [hit.content for hit in desk.notes.memory_search("cello")] == [f"{heading}\nAnna plays the cello"]


def test_titles_weigh_more_than_the_text(desk: Desk) -> None:
    filler = "many other words about nothing in particular are here"
    desk.write("memory/a.md", f"# Diary\n\nA budget was mentioned, {filler}.\n")
    desk.write("memory/b.md", f"# Budget\n\nThe numbers were mentioned, {filler}.\n")
    assert desk.places("budget")[0].startswith("memory/b.md")


def test_the_name_of_a_file_is_a_title(desk: Desk) -> None:
    desk.write("memory/kubernetes.md", "notes about the cluster\n")
    assert desk.places("kubernetes") == ["memory/kubernetes.md:1-1"]


def test_meaning_finds_what_words_do_not(open_desk: OpenDesk, bundled_embedder: Embedder) -> None:
    desk = open_desk(embedder=bundled_embedder)
    desk.write("memory/a.md", "# Pets\n\nOur cat is called Rice Cake.\n\n# Car\n\nParked on level three.\n")
    assert desk.notes.memory_search("宠物叫什么名字", limit=1)[0].heading == "Pets"


def test_lines_are_right_after_an_edit_above(desk: Desk) -> None:
    file = desk.write("memory/tea.md", TEA)
    assert desk.places("Tieguanyin")[0] == "memory/tea.md:7-10"
    report_before = desk.notes.scan()
    file.write_text("new first line\n\n\n" + TEA, "utf-8")
    assert desk.places("Tieguanyin")[0] == "memory/tea.md:10-13"
    assert not report_before.changed


def test_an_edit_indexes_only_what_it_changed(open_desk: OpenDesk) -> None:
    embedder = Counting()
    desk = open_desk(embedder=embedder)
    file = desk.write("memory/tea.md", TEA)
    desk.found("tea")
    embedder.texts.clear()
    file.write_text("a new paragraph on top\n\n" + TEA.replace("twice", "three times"), "utf-8")
    report = desk.notes.scan()
    assert (report.counts.added, report.counts.removed) == (2, 1)
    desk.memory.drain()
    assert [text for text in embedder.texts if "three times" in text or "new paragraph" in text] == embedder.texts


class Counting(HashEmbedder):
    """Notes down what it is asked to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Any) -> Any:
        self.texts += texts
        return super().embed(texts)


def test_new_renamed_and_deleted_files_are_followed_at_the_next_call(desk: Desk) -> None:
    file = desk.write("memory/a.md", "the zebra paragraph\n")
    assert desk.places("zebra") == ["memory/a.md:1-1"]
    file.rename(desk.root / "memory/b.md")
    assert desk.places("zebra") == ["memory/b.md:1-1"]
    (desk.root / "memory/b.md").unlink()
    assert desk.places("zebra") == []
    desk.write("memory/deep/er/c.md", "the zebra again\n")
    assert desk.places("zebra") == ["memory/deep/er/c.md:1-1"]


def test_a_change_that_keeps_size_and_time_of_modification_is_seen(desk: Desk) -> None:
    file = desk.write("memory/a.md", "zebra\n")
    status = file.stat()
    assert desk.places("zebra") == ["memory/a.md:1-1"]
    file.write_text("horse\n", "utf-8")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert desk.places("zebra") == []
    assert desk.places("horse") == ["memory/a.md:1-1"]


@pytest.mark.parametrize("change", ["edit", "delete", "make"])
def test_what_another_process_reads_at_the_same_time_is_read_no_more_than_once_again(
    desk: Desk, open_desk: OpenDesk, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    other = open_desk()
    for name in ("a", "b", "c"):
        desk.write(f"memory/{name}.md", f"zebra {name}\n")
    desk.notes.scan()
    scanner = desk.memory._target._notes_service().scanner
    write = scanner._write

    def after_the_other(updates: Any) -> Any:
        monkeypatch.undo()
        if change == "edit":
            desk.write("memory/b.md", "giraffe b\n")
        elif change == "delete":
            (desk.root / "memory/b.md").unlink()
        else:
            desk.write("memory/d.md", "giraffe d\n")
        other.notes.scan()
        return write(updates)

    monkeypatch.setattr(scanner, "_write", after_the_other)
    desk.write("memory/a.md", "giraffe a\n")
    desk.notes.scan()
    beside = {"edit": ["giraffe b"], "delete": [], "make": ["giraffe d"]}[change]
    assert sorted(desk.found("giraffe")) == sorted(other.found("giraffe")) == ["giraffe a", *beside]
    assert sorted(desk.found("zebra")) == (["zebra b", "zebra c"] if change == "make" else ["zebra c"])
    assert desk.notes.scan().counts == NoteCounts()


@pytest.mark.embedded
def test_deleted_text_is_nowhere_in_the_records(desk: Desk, tmp_path: Path) -> None:
    file = desk.write("memory/a.md", "an unforgettable secretword\n")
    assert desk.found("secretword")
    file.write_text("nothing\n", "utf-8")
    assert desk.found("secretword") == []
    assert desk.memory.recall("secretword") == []
    desk.memory.export_jsonl(tmp_path / "export.jsonl")
    assert "secretword" not in (tmp_path / "export.jsonl").read_text("utf-8")
    desk.memory.close()
    assert b"secretword" not in (tmp_path / "data/memory.db").read_bytes()


def test_text_that_comes_back_is_found_again(desk: Desk) -> None:
    for _ in range(3):
        file = desk.write("memory/a.md", "now you see the zebra\n")
        assert desk.found("zebra") == ["now you see the zebra"]
        file.unlink()
        assert desk.found("zebra") == []
    assert [report.sound for report in desk.memory.verify()] == [True]


def test_the_same_text_twice_in_a_file_is_two_places(desk: Desk) -> None:
    desk.write("memory/a.md", "# A\n\nzebra\n\n# A\n\nzebra\n")
    assert sorted(desk.places("zebra")) == ["memory/a.md:1-3", "memory/a.md:5-7"]


def test_sections_that_change_places_keep_their_order_in_the_index(desk: Desk) -> None:
    parts = [f"# Part {n}\n\nzebra number {n}\n\n" for n in range(6)]
    file = desk.write("memory/a.md", "".join(parts))
    desk.found("zebra")
    file.write_text("".join(reversed(parts)), "utf-8")
    assert len(desk.places("zebra")) == 6
    hit = desk.memory.recall("zebra 3", 1, context=1)[0]
    assert [near.content.split()[-1] for near in hit.context] == ["4", "2"]


# --- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.date_sensitive
def test_days_limit_the_search_and_the_last_one_counts(desk: Desk) -> None:
    for day in (1, 2, 3, 4):
        desk.write(f"memory/2026-11-0{day}.md", f"zebra of day {day}\n")
    desk.write("MEMORY.md", "zebra for ever\n")
    found = desk.notes.memory_search("zebra", since="2026-11-02", until=date(2026, 11, 3))
    assert sorted(hit.path for hit in found) == ["memory/2026-11-02.md", "memory/2026-11-03.md"]
    assert sorted(hit.date for hit in found) == [date(2026, 11, 2), date(2026, 11, 3)]


@pytest.mark.date_sensitive
def test_an_entry_near_midnight_belongs_to_its_local_day(desk: Desk) -> None:
    desk.notes.memory_append("zebra", at=datetime(2026, 11, 15, 16, 30, tzinfo=UTC))
    [hit] = desk.notes.memory_search("zebra", since="2026-11-16", until="2026-11-16")
    assert (hit.path, hit.date) == ("memory/2026-11-16.md", date(2026, 11, 16))
    assert desk.found("zebra", until="2026-11-15") == []


def test_a_path_limits_the_search_to_a_file_or_a_folder(desk: Desk) -> None:
    for path in ("MEMORY.md", "memory/a.md", "memory/x/b.md", "memory/x/c.md", "memory/xy.md"):
        desk.write(path, f"zebra in {path}\n")
    assert desk.places("zebra", path="memory/a.md") == ["memory/a.md:1-1"]
    assert sorted(desk.places("zebra", path="memory/x/")) == ["memory/x/b.md:1-1", "memory/x/c.md:1-1"]
    assert desk.places("zebra", path="MEMORY.md") == ["MEMORY.md:1-1"]


@pytest.mark.date_sensitive
def test_questions_with_a_day_prefer_its_notes(desk: Desk) -> None:
    for day in ("13", "14", "15"):
        desk.write(f"memory/2026-11-{day}.md", f"ate noodles, {day}\n")
    now = datetime(2026, 11, 15, 4, tzinfo=UTC)
    assert desk.places("昨天吃了什么 noodles", now=now)[0] == "memory/2026-11-14.md:1-1"


@pytest.mark.parametrize(
    "wrong",
    [
        {"since": "yesterday"},
        {"since": "2026-11-03", "until": "2026-11-02"},
        {"until": 7},
        {"limit": 0},
        {"mode": "psychic"},
        {"kind": "party"},
        {"path": "memory/none.md"},
    ],
    ids=str,
)
def test_a_wrong_condition_is_named(desk: Desk, wrong: dict[str, Any]) -> None:
    desk.write("memory/a.md", "zebra\n")
    with pytest.raises(InvalidInputError) as caught:
        desk.notes.memory_search("zebra", **wrong)
    assert str(next(iter(wrong.values()))).removesuffix(".md") in str(caught.value)


# --- one recall over all ----------------------------------------------------------------------------------------------


def test_plain_recall_finds_notes_beside_memories(desk: Desk) -> None:
    desk.memory.store("animal", "a zebra in the store")
    desk.write("memory/a.md", "# Zoo\n\na zebra in the notes\n")
    found = {hit.memory_type: hit for hit in desk.memory.recall("zebra", duplicates=True)}
    assert set(found) == {"fact", "note"}
    assert found["note"].scope == "main"
    assert found["note"].source.references == ("memory/a.md:1-3", "Zoo")
    assert [hit.memory_type for hit in desk.memory.recall("zebra", memory_types="note")] == ["note"]
    assert desk.memory.count() == 1
    assert [entry.key for entry in desk.memory.list()] == ["animal"]


def test_notes_belong_to_the_scope_of_their_memory(desk: Desk, open_desk: OpenDesk) -> None:
    desk.write("memory/a.md", "zebra\n")
    assert desk.memory.recall("zebra", duplicates=True)
    assert desk.memory.recall("zebra", scope="bob") == []
    assert desk.memory.recall("zebra", scope="public") == []
    other = AgentMemory.open(desk.memory.settings.path, **QUICK)
    assert other.recall("zebra", duplicates=True) == []
    other.close()
    elsewhere = open_desk(root="other")
    assert elsewhere.memory.recall("zebra", duplicates=True) == []
    assert elsewhere.found("zebra") == []


def test_recall_can_be_told_to_leave_notes_out(open_desk: OpenDesk) -> None:
    desk = open_desk(recall_notes=False)
    desk.write("memory/a.md", "zebra\n")
    assert desk.memory.recall("zebra", duplicates=True) == []
    assert desk.found("zebra") == ["zebra"]


def test_a_workspace_that_went_away_is_an_error_for_notes_and_a_remark_for_recall(desk: Desk) -> None:
    desk.memory.store("animal", "zebra")
    desk.write("memory/a.md", "zebra\n")
    assert len(desk.memory.recall("zebra", duplicates=True)) == 2
    desk.root.rename(desk.root.with_name("unplugged"))
    [hit] = desk.memory.recall("zebra", duplicates=True)
    assert hit.key == "animal"
    assert hit.explanation is not None
    said = {part.index: part.note for part in hit.explanation.coverage}
    assert said["notes"].startswith("the workspace ")
    with pytest.raises(NotesError, match=r"workspace .* cannot be read"):
        desk.found("zebra")
    desk.root.with_name("unplugged").rename(desk.root)
    assert desk.found("zebra") == ["zebra"]


def test_an_export_leaves_notes_to_their_files(desk: Desk, tmp_path: Path, open_desk: OpenDesk) -> None:
    desk.memory.store("animal", "zebra")
    desk.write("memory/a.md", "zebra\n")
    desk.found("zebra")
    desk.memory.export_jsonl(tmp_path / "export.jsonl")
    other = open_desk("second")
    assert other.memory.import_jsonl(tmp_path / "export.jsonl").entries == 1
    assert len(other.memory.recall("zebra", duplicates=True)) == 2


# --- the fence of a group ---------------------------------------------------------------------------------------------

SECRETS = {
    "MEMORY.md": "---\nvisibility: group\n---\nzebra of the long-term memory\n",
    "memory/private.md": "zebra in private\n",
    "memory/almost.md": "---\nvisibility: Group\n---\nzebra almost\n",
    "memory/broken.md": "---\nvisibility: [group\n---\nzebra broken\n",
    "memory/late.md": "\n---\nvisibility: group\n---\nzebra late\n",
    "memory/sharedish/a.md": "zebra beside\n",
}
SHARED = {
    "memory/shared/a.md": "zebra for all\n",
    "memory/said.md": "---\nvisibility: group\n---\n# Said\n\nzebra for the group\n",
}


def test_a_group_finds_and_reads_what_is_shared_and_nothing_else(desk: Desk) -> None:
    for path, text in (SECRETS | SHARED).items():
        desk.write(path, text)
    assert {hit.path for hit in desk.notes.memory_search("zebra", 50)} == set(SECRETS | SHARED)
    for mode in ("hybrid", "keyword"):
        assert {h.path for h in desk.notes.memory_search("zebra", 50, kind="group", mode=mode)} == set(SHARED)
    for path in SHARED:
        assert "zebra" in desk.notes.memory_get(path, kind="group").text
    for path in SECRETS:
        with pytest.raises(InvalidInputError, match="there is no note"):
            desk.notes.memory_get(path, kind="group")
        with pytest.raises(InvalidInputError, match="there is no note"):
            desk.notes.memory_search("zebra", kind="group", path=path)


def test_a_note_that_is_no_longer_shared_leaves_the_group_at_once(desk: Desk) -> None:
    desk.write("memory/said.md", SHARED["memory/said.md"])
    assert desk.found("zebra", kind="group")
    desk.write("memory/said.md", "# Said\n\nzebra for the group\n")
    assert desk.found("zebra", kind="group") == []
    assert len(desk.found("zebra")) == 1


@pytest.mark.date_sensitive
def test_what_a_group_says_can_be_found_by_the_group(desk: Desk) -> None:
    done = desk.notes.memory_append("zebra of the group", kind="group")
    assert done.path.startswith("memory/shared/")
    assert desk.found("zebra", kind="group") == ["zebra of the group"] == desk.found("zebra")


# --- the law ----------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["MEMORY.md", "memory/a.md", "memory/2026-01-02.md", "memory/sub/b.md", "memory/shared/c.md"])
BLOCKS = st.lists(
    st.sampled_from(
        ["# Title", "## Part\n\nwith text", "zebra", "- item\n- other", "```\ncode\n```", "文字", "x" * 1500]
    ),
    max_size=6,
).map("\n\n".join)


class FilesAndIndex(RuleBasedStateMachine):
    """Whatever happens to files: after a scan the rows are the pieces of the files, and the indexes hold the rows."""

    @initialize()
    def begin(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.memory = AgentMemory.open(self.root / "data", workspace=self.root, **QUICK)
        self.other = AgentMemory.open(self.root / "data", workspace=self.root, **QUICK)
        (self.root / "memory").mkdir()

    @rule(name=NAMES, text=BLOCKS)
    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text, "utf-8")

    @rule(name=NAMES, text=BLOCKS)
    def put_on_top(self, name: str, text: str) -> None:
        if (self.root / name).exists():
            (self.root / name).write_text(text + "\n\n" + (self.root / name).read_text("utf-8"), "utf-8")

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    @rule(one=NAMES, other=NAMES)
    def rename(self, one: str, other: str) -> None:
        if (self.root / one).exists() and one != other:
            (self.root / other).parent.mkdir(exist_ok=True)
            (self.root / one).rename(self.root / other)

    @rule(text=st.sampled_from(["an entry", "---\n# two\n"]))
    def append(self, text: str) -> None:
        self.memory.notes.memory_append(text, at=datetime(2026, 1, 2, 9, tzinfo=UTC))

    @rule()
    def scan_sooner(self) -> None:
        self.memory.notes.scan()

    @rule(name=NAMES, text=BLOCKS)
    def scan_elsewhere(self, name: str, text: str) -> None:
        self.write(name, text)
        self.other.notes.scan()

    @invariant()
    def rows_are_the_pieces_of_the_files(self) -> None:
        if not hasattr(self, "memory"):
            return
        self.memory.notes.scan()
        rows: dict[str, list[tuple[int, int, MemoryEntry]]] = {}
        store = self.memory._target._store
        for entry in store.scan(limit=10_000):
            path, start, end = note_place(entry.source.references)
            rows.setdefault(path, []).append((start, end, entry))
        files = [*self.root.glob("MEMORY.md"), *(self.root / "memory").rglob("*.md")]
        expected = {
            file.relative_to(self.root).as_posix(): take_apart(file.read_text("utf-8")).pieces for file in files
        }
        assert set(rows) == {path for path, pieces in expected.items() if pieces}
        for path, found in rows.items():
            in_order = sorted(found, key=lambda row: row[2].position or 0)
            assert [row[:2] for row in in_order] == [(p.start_line, p.end_line) for p in expected[path]]
            for (_, _, entry), piece in zip(in_order, expected[path], strict=True):
                assert entry.content.endswith(piece.text)
                assert entry.scope.endswith("shared" if path.startswith("memory/shared/") else "private")

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.drain()
            assert [report.to_dict() for report in self.memory.verify() if not report.sound] == []
            self.memory.close()
            self.other.close()
            self.folder.cleanup()


FilesAndIndex.TestCase.settings = settings(max_examples=examples(4), stateful_step_count=12)
TestFilesAndIndex = FilesAndIndex.TestCase


@pytest.mark.parametrize(
    ("template", "note", "question"),
    [
        ("## 项目\n- 负责人：\n- 截止日期：\n", "灯塔这边由李雷牵头，五月一号交付", "项目负责人是谁？"),
        ("## Project\n\nOwner:\nDeadline:\nBudget:\n", "The project is due in May.", "What is the project deadline?"),
    ],
)
def test_a_template_of_empty_labels_is_not_found_before_a_note(
    desk: Desk, template: str, note: str, question: str
) -> None:
    desk.write("memory/2026-05-02.md", template)
    desk.write("memory/2026-05-03.md", f"{note}\n")
    assert not any(":" in text or "：" in text for text in desk.found(question))
    assert any(note in text for text in desk.found(note))


def test_notes_that_an_earlier_version_has_read_are_read_again_once(
    open_desk: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_desk()
    with monkeypatch.context() as earlier:
        earlier.setattr("jiyi.notes.scan._digest", lambda data: blake2b(data, digest_size=16).hexdigest())
        earlier.setattr("jiyi.notes.scan._PARSER_VERSION", 1)
        earlier.setattr("jiyi.notes.markdown.says_something", lambda below, _: any(below))
        first.write("memory/2026-05-02.md", "## Project\n\nOwner:\nDeadline:\n")
        assert first.found("project deadline")
        first.memory.close()
    again = open_desk()
    assert again.found("project deadline") == []
    assert again.notes.scan().read == 0
