"""Exports carry what the chat room keeps, and imports bring it back; old stores get its tables."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import ImportFormatError
from jiyi.sync import AgentMemory
from tests.chat.support import check_whole, said
from tests.support import contents_of, first_store, present

OpenMemory = Callable[..., AgentMemory]


def talk(memory: AgentMemory, session: str = "s", turns: int = 20) -> Any:
    """A session with two epochs, summaries, and candidates of every state."""
    chat = memory.chat(session, token_limit=250)
    for epoch in range(2):
        chat.put_many([said(n, f"请记住 {session} {epoch} {n}: a fact about number {n}") for n in range(turns)])
        chat.get()
        if epoch == 0:
            chat.reset()
    new = chat.candidates()
    assert len(new) > 2
    memory.take_candidate(new[0].id, by="notes")
    memory.reject_candidate(new[1].id)
    return chat


def export(memory: AgentMemory, file: Path) -> Path:
    memory.export_jsonl(file)
    return file


def state(chat: Any) -> Any:
    return (
        [chat.messages(epoch=epoch.epoch) for epoch in chat.epochs()],
        [chat.summaries(epoch=epoch.epoch) for epoch in chat.epochs()],
        chat.epochs(),
        chat.candidates(state=None),
        list(chat.get()),
    )


def test_an_import_into_an_empty_store_brings_back_everything(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory("one"), open_memory("two")
    chat = talk(memory)
    before = state(chat)
    file = export(memory, tmp_path / "export.jsonl")
    counts = other.import_jsonl(file)
    kinds = [json.loads(line)["kind"] for line in file.read_text("utf-8").splitlines()]
    assert counts.chat == sum(kinds.count(kind) for kind in ("epoch", "summary", "flush", "candidate"))
    assert {"epoch", "summary", "flush", "candidate"} <= set(kinds)
    copied = other.chat("s", token_limit=250)
    messages, *rest = state(copied)
    assert [[(m.id, m.position, m.message) for m in epoch] for epoch in messages] == [
        [(m.id, m.position, m.message) for m in epoch] for epoch in before[0]
    ]
    assert rest == list(before[1:])
    assert contents_of(other) == contents_of(memory)
    check_whole(copied, copied.get())
    again = other.import_jsonl(file)
    assert (again.chat, again.messages, again.entries) == (0, 0, 0)
    # The copy goes on where the original stood.
    copied.put_many([said(n, f"further {n}: and so the story goes on") for n in range(20)])
    check_whole(copied, copied.get())


def test_of_two_states_of_a_session_the_one_last_written_to_stands_with_its_summaries(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    one, other = open_memory("one"), open_memory("two")
    talk(one)
    other.import_jsonl(export(one, tmp_path / "first.jsonl"), update=True)
    mine, theirs = one.chat("s", token_limit=250), other.chat("s", token_limit=250)
    mine.put_many([said(n, f"only here {n} is the weather fine") for n in range(10)])
    mine.get()
    theirs.put_many([said(n, f"only there {n} is the weather bad") for n in range(14)])
    theirs.get()
    wanted = [m.message for m in theirs.messages()]
    candidates = {c.id for c in [*mine.candidates(state=None), *theirs.candidates(state=None)]}
    one.import_jsonl(export(other, tmp_path / "second.jsonl"), update=True)
    assert mine.get_all() == wanted
    window = mine.get()
    check_whole(mine, window)
    assert present(window.summary).id in {s.id for s in theirs.summaries()}
    assert {c.id for c in mine.candidates(state=None)} >= candidates
    other.import_jsonl(export(one, tmp_path / "third.jsonl"), update=True)
    assert theirs.get_all() == wanted
    check_whole(theirs, theirs.get())


def test_what_was_settled_anywhere_is_settled_after_an_import(open_memory: OpenMemory, tmp_path: Path) -> None:
    one, other = open_memory("one"), open_memory("two")
    talk(one)
    other.import_jsonl(export(one, tmp_path / "first.jsonl"), update=True)
    candidate = one.candidates()[0]
    assert other.take_candidate(candidate.id, by="longterm")
    counts = one.import_jsonl(export(other, tmp_path / "second.jsonl"), update=True)
    assert counts.chat == 1
    assert candidate.id not in {c.id for c in one.candidates()}
    assert not one.take_candidate(candidate.id)
    assert other.import_jsonl(export(one, tmp_path / "third.jsonl")).chat == 0


@pytest.mark.parametrize(
    "change",
    [
        {"scope": ""},
        {"epoch": "two"},
        {"content": None},
        {"content": 5},
        {"created_at": "yesterday"},
        {"colour": "red"},
        {"generation": -1},
    ],
)
def test_a_chat_row_that_is_not_what_export_writes_is_refused(
    open_memory: OpenMemory, tmp_path: Path, change: dict[str, Any]
) -> None:
    memory = open_memory("one")
    talk(memory)
    lines = export(memory, tmp_path / "export.jsonl").read_text("utf-8").splitlines()
    place = next(i for i, line in enumerate(lines) if json.loads(line)["kind"] == "summary")
    lines[place] = json.dumps({**json.loads(lines[place]), **change})
    bad = tmp_path / "bad.jsonl"
    bad.write_text("\n".join(lines), "utf-8")
    other = open_memory("two")
    with pytest.raises(ImportFormatError, match="summary"):
        other.import_jsonl(bad)
    assert contents_of(other) == []


# --- stores of the first version ------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize("erased", ["session", "scope", "epoch"])
def test_what_was_made_of_erased_messages_does_not_come_back_with_an_old_export(
    open_memory: OpenMemory, tmp_path: Path, erased: str, update: bool
) -> None:
    memory = open_memory()
    chat = talk(memory)
    old = export(memory, tmp_path / "old.jsonl")
    if erased == "session":
        memory.forget_session("s")
    elif erased == "scope":
        memory.forget_scope("main")
    else:
        chat.delete_epoch(1)
    again = memory.chat("s", token_limit=250)
    again.put(said(0, "请记住 s: a fact about number 4711"))
    before = contents_of(memory)
    memory.import_jsonl(old, update=update)
    assert contents_of(memory) == before
    again.flush()
    assert "4711" in str(again.candidates())


def test_a_store_of_the_first_version_gets_the_tables_of_the_chat_room(open_memory: OpenMemory, tmp_path: Path) -> None:
    first_store(tmp_path / "data")
    chat = open_memory().chat("s", token_limit=80)
    chat.put(said(5))
    assert [message.content for message in chat.get_all()][:5] == [f"message {n}" for n in range(5)]
    assert len(chat.get_all()) == 6
    check_whole(chat, chat.get())
