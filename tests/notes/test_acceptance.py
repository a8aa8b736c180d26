"""The notes design (memory architecture, 记忆架构), section by section: what it had only planned, seen from outside."""

from datetime import UTC, datetime, timedelta

import pytest

from jiyi.errors import InvalidInputError
from jiyi.notes import entries
from jiyi.notes.candidates import entry_id_of
from jiyi.notes.markdown import lines_of
from tests.notes.conftest import Desk
from tests.support import present

pytestmark = pytest.mark.date_sensitive

NOW = datetime(2026, 11, 15, 4, tzinfo=UTC)
TODAY, YESTERDAY = "memory/2026-11-15.md", "memory/2026-11-14.md"


def converse(desk: Desk) -> None:
    """A chat that grows over its limit, with something worth keeping at its beginning."""
    chat = desk.memory.chat("s-1", token_limit=1_000)
    chat.put({"role": "user", "content": "请记住：我对花生过敏。"})
    for number in range(40):
        chat.put({"role": "user", "content": f"turn {number}: " + "words " * 20})
        chat.put({"role": "assistant", "content": "understood " * 10})
    assert chat.get().tokens <= 1_000


def test_section_1_1_a_workspace_has_memory_and_the_template_and_the_tools_exist(desk: Desk) -> None:
    desk.notes.init_workspace()
    assert (desk.root / "memory").is_dir()
    assert (desk.root / "MEMORY.md").is_file()
    assert "memory_search" in [tool["function"]["name"] for tool in desk.notes.tools()]


def test_section_1_2_memory_search_searches(desk: Desk) -> None:
    desk.write(YESTERDAY, "# 2026-11-14\n\n和小王在杭州讨论了预算，决定推迟到三月。\n")
    desk.write("MEMORY.md", "# Long-term\n\n- The budget belongs to Ms Li\n")
    assert desk.notes.memory_search("预算推迟到什么时候了？")[0].path == YESTERDAY
    assert desk.notes.memory_search("who owns the budget")[0].path == "MEMORY.md"


def test_section_1_2_memory_append_is_atomic_and_controlled(desk: Desk) -> None:
    done = desk.notes.memory_append("一条\n---\n两段", at=NOW)
    assert done.path == TODAY
    [placed] = entries.parse(lines_of(desk.read(TODAY)))
    assert (placed.entry.id, placed.entry.text) == (done.id, "一条\n---\n两段")
    with pytest.raises(InvalidInputError):
        desk.notes.memory_append("x" * (64 * 1024 + 1), at=NOW)
    assert len(entries.parse(lines_of(desk.read(TODAY)))) == 1


def test_section_1_2_today_and_yesterday_are_loaded_by_themselves(desk: Desk) -> None:
    for path, word in ((TODAY, "horse"), (YESTERDAY, "zebra"), ("memory/2026-11-13.md", "quokka")):
        desk.write(path, f"{word}\n")
    text = desk.notes.build_context(now=NOW).text
    assert "horse" in text
    assert "zebra" in text
    assert "quokka" not in text


def test_section_1_2_the_flush_comes_before_the_compaction(desk: Desk) -> None:
    converse(desk)
    assert any("花生" in candidate.content for candidate in desk.memory.candidates())


def test_section_1_2_a_session_is_compacted_and_goes_on(desk: Desk) -> None:
    converse(desk)
    chat = desk.memory.chat("s-1", token_limit=1_000)
    window = chat.get()
    assert window.summary is not None
    assert len(chat.get_all()) == 81


def test_section_2_memory_md_is_for_the_main_session_only(desk: Desk) -> None:
    desk.write("MEMORY.md", "the secret\n")
    assert "the secret" in desk.notes.build_context("main", now=NOW).text
    assert "the secret" not in desk.notes.build_context("group", now=NOW).text
    assert desk.notes.memory_search("secret", kind="group") == []


def test_section_2_retrieval_does_not_change_what_is_true(desk: Desk, tmp_path: object) -> None:
    desk.notes.memory_append("zebra", at=NOW)
    before = desk.read(TODAY)
    desk.found("zebra")
    desk.notes.reindex()
    desk.memory.rebuild()
    assert desk.read(TODAY) == before
    desk.write(TODAY, before.replace("zebra", "horse"))
    assert desk.found("zebra") == []
    assert desk.found("horse") == ["horse"]


def test_section_4_a_user_can_have_something_written_down_and_an_agent_under_rules(desk: Desk) -> None:
    desk.notes.memory_append("the user asked for this", by="user", at=NOW)
    desk.notes.call_tool("memory_append", {"text": "the agent thought of this"})
    files = [desk.read(path.relative_to(desk.root).as_posix()) for path in (desk.root / "memory").glob("*.md")]
    found = {placed.entry.text: placed.entry.by for text in files for placed in entries.parse(lines_of(text))}
    assert found == {"the user asked for this": "user", "the agent thought of this": "agent"}


def test_section_4_long_term_memory_is_curated_and_only_by_what_is_accepted(desk: Desk) -> None:
    desk.write("MEMORY.md", "# M\n")
    desk.notes.memory_append("I prefer green tea over coffee.", at=NOW)
    proposal = desk.notes.curate(now=NOW)
    assert desk.read("MEMORY.md") == "# M\n"
    desk.notes.accept(proposal)
    assert "green tea" in desk.read("MEMORY.md")


def test_section_5_candidates_carry_content_and_source_and_are_written_by_memory_append(desk: Desk) -> None:
    converse(desk)
    [candidate] = [c for c in desk.memory.candidates() if "花生" in c.content]
    assert candidate.session_id == "s-1"
    assert candidate.first_message_id
    [said_at] = [one.created_at for one in desk.memory.chat("s-1").messages() if one.id == candidate.last_message_id]
    desk.notes.take_candidates()
    day = present(said_at).astimezone(desk.memory.settings.zone).date()
    written = {p.entry.id: p.entry for p in entries.parse(lines_of(desk.read(f"memory/{day}.md")))}
    entry = written[entry_id_of(candidate, present(said_at))]
    assert entry.text == candidate.content
    assert "s-1" in entry.source
    assert f"#{candidate.first_position}" in entry.source


def test_section_5_what_was_flushed_is_part_of_the_loop_of_retrieval(desk: Desk) -> None:
    converse(desk)
    hit = desk.notes.memory_search("我对什么过敏")[0]
    assert "花生" in hit.content
    assert "花生" in desk.notes.memory_get(hit.path, hit.start_line, hit.end_line)


def test_section_6_memory_outlives_the_session(desk: Desk, request: pytest.FixtureRequest) -> None:
    desk.notes.memory_append("zebra for later", at=NOW)
    converse(desk)
    desk.notes.take_candidates()
    desk.memory.close()
    again: Desk = request.getfixturevalue("open_desk")("another-data-directory")
    assert again.found("zebra") != []
    assert again.found("花生过敏") != []
    assert "zebra for later" in again.notes.build_context(now=NOW + timedelta(days=1)).text
