"""Who wrote which line of a note: entries by their marks, items of MEMORY.md by what was recorded, the rest by hand."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.errors import InvalidInputError
from jiyi.testing.models import ScriptedModel
from tests.notes.conftest import Desk, OpenDesk

NOW = datetime(2026, 11, 15, 4, tzinfo=UTC)
TODAY = "memory/2026-11-15.md"


def lines_of(desk: Desk, path: str, **options: Any) -> dict[str, str]:
    """The origin of each line that has one, by its text."""
    text = desk.read(path).split("\n")
    found = desk.notes.attribution(path, **options)
    return {
        text[number - 1].split(" <!--")[0]: each.origin
        for each in found
        for number in range(each.start_line, each.end_line + 1)
    }


def test_entries_say_who_wrote_them_and_the_rest_of_a_daily_note_is_by_hand(desk: Desk) -> None:
    entry = desk.notes.memory_append("Likes tea\nand cake", by="tool", source="chat:s#3", at=NOW)
    with (desk.root / TODAY).open("a", encoding="utf-8") as file:
        file.write("\nWritten by a person\n")
    written, hand = desk.notes.attribution(TODAY)
    assert (written.origin, written.by, written.source, written.entry_id) == ("entry", "tool", "chat:s#3", entry.id)
    assert written.at == NOW
    assert written.end_line == written.start_line + 1
    assert (hand.origin, hand.by) == ("hand", "")
    assert lines_of(desk, TODAY)["Written by a person"] == "hand"


def test_an_item_that_was_promoted_keeps_its_author_also_when_its_entry_has_left_the_daily_note(desk: Desk) -> None:
    desk.write("MEMORY.md", "## Colleagues\n\n- Bob by hand\n")
    entry = desk.notes.memory_append("Prefers tea\n\nand cake", by="user", source="chat:talk#1-2", at=NOW)
    desk.notes.promote(entry.id, section="Food", move=True)
    found = {each.origin: each for each in desk.notes.attribution("MEMORY.md")}
    told = found["promotion"]
    assert (told.by, told.source, told.entry_id, told.note) == ("user", "chat:talk#1-2", entry.id, TODAY)
    assert told.at is not None
    assert lines_of(desk, "MEMORY.md") == {
        "## Colleagues": "hand",
        "- Bob by hand": "hand",
        "## Food": "promotion",
        "- Prefers tea": "promotion",
        "": "promotion",
        "  and cake": "promotion",
    }


def test_an_accepted_item_names_the_proposal_and_the_conversation_it_came_from(desk: Desk) -> None:
    desk.notes.memory_append("Today was long. I am allergic to peanuts.", source="chat:a%20b#7", at=NOW)
    proposal = desk.notes.curate(now=NOW)
    assert [(item.note, item.by, item.source) for item in proposal.items] == [(TODAY, "agent", "chat:a%20b#7")]
    desk.notes.accept(proposal)
    told = next(each for each in desk.notes.attribution("MEMORY.md") if each.source)
    assert (told.origin, told.by, told.source, told.note, told.made_by) == (
        "proposal",
        "agent",
        "chat:a%20b#7",
        TODAY,
        "rules",
    )


def test_an_item_that_a_model_proposed_names_the_model_and_claims_no_other_author(open_desk: OpenDesk) -> None:
    reply = '{"additions": [{"section": "Food", "text": "Likes tea"}], "removals": []}'
    desk = open_desk(llm=ScriptedModel([reply], name="<script>model</script>"))
    desk.notes.memory_append("tea again", at=NOW)
    desk.notes.accept(desk.notes.curate(now=NOW))
    heading, item = desk.notes.attribution("MEMORY.md")
    assert (heading.origin, item.origin, item.made_by) == ("proposal", "proposal", "<script>model</script>")
    assert (item.by, item.source, item.note) == ("", "", "")


def test_what_a_person_changes_in_memory_md_is_by_hand_and_what_stands_beside_it_is_not(desk: Desk) -> None:
    first, second = (desk.notes.memory_append(text, at=NOW) for text in ("Likes tea", "Likes cake"))
    desk.notes.promote([first.id, second.id], section="Food")
    desk.write("MEMORY.md", "## Food\n\n- Likes tea a lot\n* Likes **cake**\n  - with cream\n")
    assert lines_of(desk, "MEMORY.md") == {
        "## Food": "promotion",
        "- Likes tea a lot": "hand",
        "* Likes **cake**": "promotion",
        "  - with cream": "hand",
    }


def test_the_beginning_of_an_item_is_found_also_when_it_has_several_lines(desk: Desk) -> None:
    entry = desk.notes.memory_append("# Tea\n\nGreen: 2 min\nΟΔΟΣ", at=NOW)
    desk.notes.promote(entry.id, section="Food")
    written = desk.read("MEMORY.md")
    assert set(lines_of(desk, "MEMORY.md").values()) == {"promotion"}
    desk.write("MEMORY.md", written.rstrip("\n") + "\n  Black: 4 min\n\n- another\n")
    found = lines_of(desk, "MEMORY.md")
    assert (found["  Green: 2 min"], found["  ΟΔΟΣ"]) == ("promotion", "promotion")
    assert (found["  Black: 4 min"], found["- another"]) == ("hand", "hand")


def test_the_text_of_a_new_workspace_is_nobodys(desk: Desk) -> None:
    desk.notes.init_workspace(language="zh")
    assert set(lines_of(desk, "MEMORY.md").values()) == {"template"}
    desk.write("USER.md", desk.read("USER.md").replace("- 语言：", "- 语言：中文"))
    found = lines_of(desk, "USER.md")
    assert found.pop("- 语言：中文") == "hand"
    assert found == dict.fromkeys(("# 用户", "- 称呼：", "- 时区："), "template")


def test_marks_of_earlier_versions_still_name_the_entry(desk: Desk) -> None:
    desk.write("MEMORY.md", "- Likes tea <!-- jiyi from=1hqk3v2q77fk3m9a -->\n")
    (told,) = desk.notes.attribution("MEMORY.md")
    assert (told.origin, told.entry_id, told.by) == ("promotion", "1hqk3v2q77fk3m9a", "")


def test_a_ledger_of_an_earlier_version_is_read_and_its_items_count_as_by_hand(desk: Desk) -> None:
    desk.notes.promote(desk.notes.memory_append("Likes tea", at=NOW).id, section="Food")
    (ledger,) = (desk.root.parent / "data" / "notes_curation").glob("*.json")
    ledger.write_text('{"present": [], "unwanted": [], "promoted": []}', "utf-8")
    assert set(lines_of(desk, "MEMORY.md").values()) == {"hand"}


def test_only_the_lines_that_were_asked_for_are_told(desk: Desk) -> None:
    desk.write("MEMORY.md", "- one\n- two\n- three\n")
    assert [each.start_line for each in desk.notes.attribution("MEMORY.md", 2, 2)] == [2]
    with pytest.raises(InvalidInputError, match="to_line"):
        desk.notes.attribution("MEMORY.md", 3, 2)
    with pytest.raises(InvalidInputError, match="is no note"):
        desk.notes.attribution("secrets.txt")


def test_a_group_is_told_nothing_about_private_notes(desk: Desk) -> None:
    desk.write("MEMORY.md", "- private\n")
    desk.notes.memory_append("private", at=NOW)
    desk.notes.memory_append("shared", kind="group", at=NOW)
    for path in ("MEMORY.md", TODAY):
        with pytest.raises(InvalidInputError, match="there is no note"):
            desk.notes.attribution(path, kind="group")
    assert [each.origin for each in desk.notes.attribution("memory/shared/2026-11-15.md", kind="group")] == ["entry"]


BLOCKS = st.lists(
    st.one_of(
        st.text("ab -#*>`\t.1é中", max_size=12),
        st.sampled_from(
            ["- x", "  y", "", "## h", "```", "---", "x\r", "- **10:00** t <!-- jiyi 1hqk3v2q77fk3m9a -->"]
        ),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BLOCKS)
def test_no_line_has_two_authors_and_none_is_outside_the_file(desk: Desk, lines: list[str]) -> None:
    desk.write("MEMORY.md", "\n".join(lines))
    total = desk.notes.memory_get("MEMORY.md").total_lines
    told = [n for each in desk.notes.attribution("MEMORY.md") for n in range(each.start_line, each.end_line + 1)]
    assert told == sorted(set(told))
    assert all(1 <= number <= total for number in told)
