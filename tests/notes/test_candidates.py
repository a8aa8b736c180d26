"""What the chat room proposes to keep is written into the daily notes, each once, and found right after."""

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from jiyi.errors import NotesError
from jiyi.notes import entries
from jiyi.notes.candidates import entry_id_of, source_of
from jiyi.notes.markdown import lines_of
from jiyi.testing.fakes import HashEmbedder
from jiyi.testing.faults import Faults
from tests.notes.conftest import Desk, OpenDesk
from tests.support import present

pytestmark = pytest.mark.date_sensitive

TURNS = [
    ("user", "我对花生过敏，请记住。"),
    ("assistant", "好的，我会记住。"),
    ("user", "I prefer green tea over coffee."),
    ("assistant", "Noted."),
    ("user", "We decided to move the launch to March 3rd."),
    ("assistant", "Sounds good."),
]


def talk(desk: Desk) -> list[Any]:
    """A chat that was compacted; returns its candidates."""
    chat = desk.memory.chat("tuesday", token_limit=2_000)
    for role, content in TURNS:
        chat.put({"role": role, "content": content})
    for n in range(30):
        chat.put({"role": "user", "content": f"filler {n} " + "word " * 30})
        chat.put({"role": "assistant", "content": "fine " * 30})
    chat.compact()
    found = list(desk.memory.candidates())
    assert found
    return found


def ids_of(desk: Desk, candidates: list[Any]) -> list[str]:
    """The ids of the entries that candidates of the chat become."""
    said_at = {one.id: present(one.created_at) for one in desk.memory.chat("tuesday").messages()}
    return [entry_id_of(candidate, said_at[candidate.last_message_id]) for candidate in candidates]


def written(desk: Desk) -> list[entries.NoteEntry]:
    return [
        placed.entry
        for file in sorted((desk.root / "memory").glob("*.md"))
        for placed in entries.parse(lines_of(file.read_text("utf-8")))
    ]


def test_candidates_become_entries_with_their_source_and_are_found_at_once(desk: Desk) -> None:
    candidates = talk(desk)
    done = desk.notes.take_candidates()
    assert [note.id for note in done.written] == ids_of(desk, candidates)
    assert all(note.new for note in done.written)
    assert [(entry.text, entry.source) for entry in written(desk)] == [
        (candidate.content, source_of(candidate)) for candidate in candidates
    ]
    for candidate in candidates:
        assert f"#{candidate.first_position}" in source_of(candidate)
        assert "tuesday" in source_of(candidate)
        assert candidate.content in desk.found(candidate.content)
    assert list(desk.memory.candidates()) == []
    assert {c.taken_by for c in desk.memory.candidates(state="taken")} == {"notes"}
    assert desk.notes.take_candidates().written == []


def test_nobody_has_to_ask_for_it(desk: Desk) -> None:
    candidates = talk(desk)
    assert candidates[0].content in desk.found(candidates[0].content)
    assert list(desk.memory.candidates()) == []
    assert len(written(desk)) == len(candidates)


def test_it_can_be_left_to_the_program(open_desk: OpenDesk) -> None:
    desk = open_desk(note_candidates=False)
    candidates = talk(desk)
    assert desk.found(candidates[0].content) == []
    assert list(desk.memory.candidates()) == candidates
    desk.notes.build_context()
    assert not (desk.root / "memory").exists()


def test_notes_that_cannot_be_written_stay_searchable_and_the_candidates_wait(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    candidates = talk(desk)
    desk.write("memory/a.md", "zebra\n")
    room = desk.memory._target._notes_service()

    def refuse(*_: Any, **__: Any) -> None:
        raise NotesError("memory/x.md cannot be written: Read-only file system")

    monkeypatch.setattr(room.appender, "append", refuse)
    assert desk.found("zebra") == ["zebra"]
    assert list(desk.memory.candidates()) == candidates
    assert "writing chat candidates to notes failed" in caplog.text
    monkeypatch.undo()
    desk.found("zebra")
    assert list(desk.memory.candidates()) == []


def test_a_crash_between_writing_and_marking_writes_nothing_twice(desk: Desk, open_desk: OpenDesk) -> None:
    candidates = talk(desk)
    room = desk.memory._target._notes_service()
    faults = Faults()
    room.deps = replace(room.deps, chats=faults.wrap(room.deps.chats, "chats"))
    faults.fail("chats.settle_candidate", OSError("killed here"))
    with pytest.raises(OSError, match="killed here"):
        desk.notes.take_candidates()
    assert len(written(desk)) == 1
    done = open_desk().notes.take_candidates()
    assert [note.new for note in done.written] == [False] + [True] * (len(candidates) - 1)
    assert sorted(entry.id for entry in written(desk)) == sorted(ids_of(desk, candidates))


def test_several_at_once_write_each_candidate_once(desk: Desk, open_desk: OpenDesk) -> None:
    candidates = talk(desk)
    desks = [desk, open_desk(), open_desk()]
    threads = [threading.Thread(target=each.notes.take_candidates) for each in desks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(entry.id for entry in written(desk)) == sorted(ids_of(desk, candidates))


def test_a_candidate_that_cannot_be_written_stays_and_does_not_stop_the_others(open_desk: OpenDesk) -> None:
    desk = open_desk(max_note_entry_bytes=33)
    candidates = talk(desk)
    done = desk.notes.take_candidates()
    too_long = [c.id for c in candidates if len(c.content.encode()) > 33]
    assert too_long
    assert list(done.refused) == too_long
    assert len(done.written) == len(candidates) - len(too_long)
    assert [candidate.id for candidate in desk.memory.candidates()] == too_long


def test_candidates_of_another_scope_are_left_alone(desk: Desk) -> None:
    candidates = talk(desk)
    other = desk.memory._target._notes_service()
    assert other.identity.scope == "main"
    assert {candidate.scope for candidate in candidates} == {"main"}
    chat = desk.memory.chat("theirs", token_limit=2_000, scope="bob")
    for role, content in TURNS:
        chat.put({"role": role, "content": content})
    for _ in range(30):
        chat.put({"role": "user", "content": "word " * 60})
    chat.compact()
    theirs = list(desk.memory.candidates(scope="bob"))
    assert theirs
    desk.notes.take_candidates()
    assert list(desk.memory.candidates(scope="bob")) == theirs


def test_they_are_found_by_meaning_too(open_desk: OpenDesk) -> None:
    desk = open_desk(embedder=HashEmbedder())
    talk(desk)
    desk.notes.take_candidates()
    assert desk.found("过敏", limit=1) == ["我对花生过敏，请记住。"] or "过敏" in desk.found("过敏", limit=1)[0]


def test_the_day_is_that_on_which_it_was_said(desk: Desk) -> None:
    chat = desk.memory.chat("last-month")
    chat.put(
        {"role": "user", "content": "Remember: my mother comes tomorrow at three"},
        created_at=datetime(2026, 9, 1, 9, tzinfo=UTC),
    )
    chat.flush()
    [note] = desk.notes.take_candidates().written
    assert note.path == "memory/2026-09-01.md"
    assert desk.notes.take_candidates().written == []


# --- several flushes, groups and the worker ---------------------------------------------------------------------------


def said_again(desk: Desk, session: str) -> None:
    """Another chat in which the same is said."""
    chat = desk.memory.chat(session, token_limit=2_000)
    for role, content in TURNS:
        chat.put({"role": role, "content": content})
    for n in range(30):
        chat.put({"role": "user", "content": f"filler {n} " + "word " * 30})
        chat.put({"role": "assistant", "content": "fine " * 30})
    chat.compact()


def test_what_several_flushes_find_is_written_once(desk: Desk) -> None:
    first = talk(desk)
    desk.notes.take_candidates()
    said_again(desk, "wednesday")
    done = desk.notes.take_candidates()
    assert done.written == []
    assert len(done.duplicates) == len(first)
    assert len(written(desk)) == len(first)
    assert list(desk.memory.candidates()) == []


def test_what_a_person_deleted_is_not_written_by_the_next_flush(desk: Desk) -> None:
    talk(desk)
    # A day may pass between two messages: each is in the note of its day.
    for path in {note.path for note in desk.notes.take_candidates().written}:
        (desk.root / path).write_text("# mine\n", "utf-8")
    said_again(desk, "wednesday")
    assert desk.notes.take_candidates().written == []
    assert written(desk) == []


def test_what_a_person_has_noted_already_is_not_written_again(desk: Desk) -> None:
    desk.write("MEMORY.md", "- I prefer green tea over coffee\n")
    talk(desk)
    desk.notes.take_candidates()
    assert "green tea" not in "".join(entry.text for entry in written(desk))


def test_what_only_looks_like_a_note_is_written(desk: Desk) -> None:
    desk.write("MEMORY.md", "- My allergy dose is 15 mg of loratadine\n- I always drink oolong teas\n")
    chat = desk.memory.chat("monday")
    for text in ("my allergy dose is 1.5 mg of loratadine", "I always drink oolong tea"):
        chat.put({"role": "user", "content": f"remember: {text}"})
    chat.flush()
    desk.notes.take_candidates()
    noted = "".join(entry.text for entry in written(desk))
    assert "1.5 mg" in noted
    assert "oolong tea" in noted


def test_candidates_of_a_group_go_into_the_shared_notes(desk: Desk) -> None:
    desk.notes.set_session_kind("tuesday", "group")
    candidates = talk(desk)
    paths = {note.path for note in desk.notes.take_candidates().written}
    assert all(path.startswith("memory/shared/") for path in paths)
    assert [file.name for file in (desk.root / "memory").iterdir()] == ["shared"]
    assert desk.found(candidates[0].content, kind="group")
    # The same in private is another matter: what the group knows is not compared with what only the user sees.
    said_again(desk, "wednesday")
    private = desk.notes.take_candidates()
    assert {note.path.count("/") for note in private.written} <= {1}


@pytest.mark.parametrize("text", ["I'm vegan, please remember", "请记住，我对花生过敏"])
def test_notes_of_a_group_say_who_said_it(desk: Desk, text: str) -> None:
    desk.notes.set_session_kind("flat", "group")
    chat = desk.memory.chat("flat")
    for name in ("anna", "carl"):
        chat.put({"role": "user", "name": name, "content": text})
        chat.put({"role": "assistant", "content": "ok"})
    chat.flush()
    noted = "".join(desk.read(path) for path in {note.path for note in desk.notes.take_candidates().written})
    assert noted.count("anna: ") == noted.count("carl: ") == 1
    # Said again by the same person it is known.
    chat.put({"role": "user", "name": "carl", "content": text})
    chat.flush()
    assert desk.notes.take_candidates().written == []


def test_what_is_private_already_is_still_written_for_a_group(desk: Desk) -> None:
    talk(desk)
    count = len(desk.notes.take_candidates().written)
    desk.notes.set_session_kind("group-chat", "group")
    said_again(desk, "group-chat")
    done = desk.notes.take_candidates()
    assert len(done.written) == count
    assert all(note.path.startswith("memory/shared/") for note in done.written)


def test_the_worker_takes_them_without_being_asked(open_desk: OpenDesk) -> None:
    desk = open_desk(background_jobs=True)
    candidates = talk_only(desk)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and desk.memory.candidates():
        pass
    assert list(desk.memory.candidates()) == []
    assert len(written(desk)) == candidates


def talk_only(desk: Desk) -> int:
    said_again(desk, "tuesday")
    return len(list(desk.memory.candidates(state=None)))
