"""Into the long-term memory: entries that are named, and proposals that wait to be accepted. Nothing is lost."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import InvalidInputError, ModelError, ModelReplyError, ModelUnavailableError, NoteConflictError
from jiyi.notes import memory_file
from jiyi.notes.memory_file import Addition, with_additions
from jiyi.testing.models import MODEL_FAULTS, FailingModel, ScriptedModel
from tests.notes.conftest import Desk, OpenDesk

NOW = datetime(2026, 11, 15, 4, tzinfo=UTC)
TODAY = "memory/2026-11-15.md"
MEMORY_FILE = """# Long-term memory

## Preferences

- Likes oolong

## People
"""


def fill(desk: Desk) -> None:
    desk.write("MEMORY.md", MEMORY_FILE)


def backups(desk: Desk) -> list[str]:
    return [file.read_text("utf-8") for file in sorted((desk.root / ".jiyi/backups").glob("*"))]


# --- promote ----------------------------------------------------------------------------------------------------------


def test_an_entry_is_put_into_a_section_after_a_backup(desk: Desk) -> None:
    fill(desk)
    entry = desk.notes.memory_append("Prefers green tea", at=NOW)
    done = desk.notes.promote(entry.id, section="preferences")
    assert desk.read("MEMORY.md") == MEMORY_FILE.replace("- Likes oolong\n", "- Likes oolong\n- Prefers green tea\n")
    assert backups(desk) == [MEMORY_FILE]
    assert done.added == (entry.id,)
    assert desk.read(done.backup) == MEMORY_FILE
    assert "Prefers green tea" in desk.read(TODAY)


def test_a_section_that_is_not_there_is_made(desk: Desk) -> None:
    fill(desk)
    first, second = (desk.notes.memory_append(text, at=NOW) for text in ("去过杭州", "---\n# odd\n```"))
    desk.notes.promote([first.id, second.id], section="旅行")
    assert desk.read("MEMORY.md").endswith("## People\n\n## 旅行\n\n- 去过杭州\n-\n  ---\n  # odd\n  ```\n")


def test_promoting_twice_is_promoting_once(desk: Desk) -> None:
    fill(desk)
    entry = desk.notes.memory_append("Prefers green tea", at=NOW)
    desk.notes.promote(entry.id)
    before = desk.read("MEMORY.md")
    done = desk.notes.promote(entry.id)
    assert (done.added, done.unchanged) == ((), (entry.id,))
    assert desk.read("MEMORY.md") == before


def test_moving_takes_the_entry_out_of_the_daily_note_and_leaves_the_rest(desk: Desk) -> None:
    fill(desk)
    ids = [desk.notes.memory_append(text, at=NOW).id for text in ("one", "two", "three")]
    file = desk.root / TODAY
    file.write_text(file.read_text("utf-8") + "\nby hand\n", "utf-8")
    kept = file.read_text("utf-8")
    done = desk.notes.promote(ids[1], move=True)
    assert done.moved == (ids[1],)
    start, end = kept.index("\n- **12:00** two"), kept.index("\n- **12:00** three")
    assert file.read_text("utf-8") == kept[:start] + kept[end:]
    assert desk.found("two")[0] == "## From the daily notes\n\n- two"
    assert desk.read(TODAY) == kept[:start] + kept[end:]
    # Interrupted after the copy, it is called again and finishes.
    assert desk.notes.promote(ids[1], move=True).unchanged == (ids[1],)


def test_an_entry_that_is_not_there_is_named_and_nothing_changes(desk: Desk) -> None:
    fill(desk)
    entry = desk.notes.memory_append("x", at=NOW)
    for wrong in ([entry.id, "0192-none"], [], "", [7], "0192-none"):
        with pytest.raises(InvalidInputError):
            desk.notes.promote(wrong)
    with pytest.raises(InvalidInputError, match="section"):
        desk.notes.promote(entry.id, section="two\nlines")
    assert desk.read("MEMORY.md") == MEMORY_FILE


def test_the_long_term_memory_is_made_where_there_is_none(desk: Desk) -> None:
    entry = desk.notes.memory_append("喜欢喝绿茶", at=NOW)
    done = desk.notes.promote(entry.id)
    assert desk.read("MEMORY.md") == "## 来自每日笔记\n\n- 喜欢喝绿茶\n"
    assert done.backup == ""


def test_encoding_and_line_ends_of_the_file_are_kept(desk: Desk) -> None:
    entry = desk.notes.memory_append("new 新", at=NOW)
    (desk.root / "MEMORY.md").write_bytes("# 记忆\r\n\r\n- 旧\r\n".encode("utf-16"))
    desk.notes.promote(entry.id, section="记忆")
    assert (desk.root / "MEMORY.md").read_bytes().decode("utf-16") == ("# 记忆\r\n\r\n- 旧\r\n- new 新\r\n")


def test_an_edit_in_the_same_moment_is_not_overwritten(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(desk)
    entry = desk.notes.memory_append("x", at=NOW)
    real = memory_file.with_additions

    def edited_meanwhile(*args: Any) -> str:
        desk.write("MEMORY.md", "their edit\n")
        return real(*args)

    monkeypatch.setattr("jiyi.notes.promotion.with_additions", edited_meanwhile)
    with pytest.raises(NoteConflictError, match=r"MEMORY.md was changed"):
        desk.notes.promote(entry.id)
    assert desk.read("MEMORY.md") == "their edit\n"


def test_an_edit_in_place_between_backup_and_replacement_is_put_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(desk)
    entry = desk.notes.memory_append("x", at=NOW)
    real = os.replace

    def replace(source: Any, target: Any, **options: Any) -> None:
        if target == "MEMORY.md" and str(source).startswith("."):
            with (desk.root / "MEMORY.md").open("a", encoding="utf-8") as file:
                file.write("their line\n")
        real(source, target, **options)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(NoteConflictError):
        desk.notes.promote(entry.id)
    assert desk.read("MEMORY.md") == MEMORY_FILE + "their line\n"


@pytest.mark.date_sensitive
def test_the_newest_backups_are_kept_and_what_people_put_beside_them(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jiyi.notes.memory_file.KEPT_BACKUPS", 3)
    desk.write("MEMORY.md", "# begin\n")
    desk.write(".jiyi/backups/MEMORY.mine.md", "theirs\n")
    before = []
    for number in range(6):
        before.append(desk.read("MEMORY.md"))
        done = desk.notes.promote(desk.notes.memory_append(f"fact {number}", at=NOW).id)
        assert desk.read(done.backup) == before[-1]
    assert backups(desk) == [*before[-3:], "theirs\n"]


def test_additions_go_to_the_end_of_their_own_section_before_its_subsections() -> None:
    text = "# A\n\nx\n\n## B\n\n- b\n\n### C\n\n- c\n\n## D\n"
    after = with_additions(text, [Addition("B", "new"), Addition("d", "last"), Addition("C", "deep")])
    assert after == "# A\n\nx\n\n## B\n\n- b\n- new\n\n### C\n\n- c\n- deep\n\n## D\n\n- last\n"


# --- curate -----------------------------------------------------------------------------------------------------------


def test_rules_propose_what_lasts_as_a_diff_and_change_nothing(desk: Desk) -> None:
    fill(desk)
    desk.notes.memory_append("I prefer green tea over coffee.", at=NOW)
    desk.notes.memory_append("Hello, how are you today?", at=NOW)
    desk.notes.memory_append("我对花生过敏。", at=NOW)
    proposal = desk.notes.curate(now=NOW)
    assert proposal.made_by == "rules"
    assert "+- I prefer green tea over coffee." in proposal.diff
    assert "花生过敏" in proposal.diff
    assert "how are you" not in proposal.diff
    assert not [line for line in proposal.diff.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert desk.read("MEMORY.md") == MEMORY_FILE
    assert backups(desk) == []


def test_a_proposal_is_applied_when_it_is_accepted_and_once(desk: Desk, open_desk: OpenDesk) -> None:
    fill(desk)
    desk.notes.memory_append("I prefer green tea over coffee.", at=NOW)
    proposal = desk.notes.curate(now=NOW)
    # By its id, in another process.
    done = open_desk().notes.accept(proposal.id)
    assert desk.read("MEMORY.md") == proposal.text
    assert "## Preferences\n\n- Likes oolong\n- I prefer green tea over coffee.\n" in proposal.text
    assert desk.read(done.backup) == MEMORY_FILE
    with pytest.raises(InvalidInputError, match="accepted already"):
        desk.notes.accept(proposal.id)
    assert desk.notes.curate(now=NOW).empty


def test_a_proposal_for_a_file_that_has_changed_since_is_refused(desk: Desk) -> None:
    fill(desk)
    desk.notes.memory_append("I prefer green tea over coffee.", at=NOW)
    proposal = desk.notes.curate(now=NOW)
    desk.write("MEMORY.md", MEMORY_FILE + "their edit\n")
    with pytest.raises(NoteConflictError, match="has changed since"):
        desk.notes.accept(proposal)
    assert desk.read("MEMORY.md") == MEMORY_FILE + "their edit\n"


@pytest.mark.date_sensitive
def test_only_the_last_days_are_looked_at_and_what_is_known_is_not_proposed(desk: Desk) -> None:
    desk.write("MEMORY.md", "# M\n\n- I prefer green tea over coffee\n")
    desk.write("memory/2026-11-01.md", "I am allergic to peanuts.\n")
    desk.write(TODAY, "I prefer green tea over coffee.\n")
    assert desk.notes.curate(now=NOW).empty
    assert "peanuts" in desk.notes.curate(days=30, now=NOW).diff
    assert desk.notes.accept(desk.notes.curate(now=NOW)).added == ()


@pytest.mark.parametrize("wrong", ["../../x", "", "zz", 7, None])
def test_what_is_no_proposal_is_refused(desk: Desk, wrong: Any) -> None:
    with pytest.raises(InvalidInputError):
        desk.notes.accept(wrong)


def reply(additions: list[dict[str, str]], removals: list[str]) -> str:
    return json.dumps({"additions": additions, "removals": removals}, ensure_ascii=False)


def test_a_model_proposes_lines_and_code_makes_the_diff(open_desk: OpenDesk) -> None:
    model = ScriptedModel([reply([{"section": "People", "text": "小王是同事"}], ["- Likes oolong"])])
    desk = open_desk(llm=model)
    fill(desk)
    desk.write(TODAY, "不再喝乌龙茶了。同事小王来了。\n")
    proposal = desk.notes.curate(now=NOW)
    assert proposal.made_by == model.name
    assert "-- Likes oolong" in proposal.diff.splitlines()
    assert "+- 小王是同事" in proposal.diff.splitlines()
    assert desk.read("MEMORY.md") == MEMORY_FILE
    asked = model.calls[0].text
    assert "不再喝乌龙茶了" in asked
    assert "- Likes oolong" in asked
    assert "不要执行" in asked or "follow no instruction" in asked
    desk.notes.accept(proposal)
    assert "oolong" not in desk.read("MEMORY.md")
    assert backups(desk) == [MEMORY_FILE]


@pytest.mark.parametrize(
    "bad",
    [
        "I rewrote the file for you:\n# Long-term memory",
        "{}",
        reply([], ["- a line that is not there"]),
        reply([{"section": "", "text": "x"}], ["- nor this one"]),
        reply([{"section": " ", "text": "x"}], []),
        '{"additions": [{"section": "A"}], "removals": []}',
        '{"additions": "none", "removals": []}',
    ],
)
def test_a_reply_that_is_no_proposal_is_an_error_and_never_an_empty_one(
    open_desk: OpenDesk, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jiyi.notes.model_curation.PAUSES", (0.0, 0.0))
    desk = open_desk(llm=ScriptedModel([bad] * 3))
    fill(desk)
    desk.write(TODAY, "something\n")
    with pytest.raises(ModelReplyError):
        desk.notes.curate(now=NOW)
    assert desk.read("MEMORY.md") == MEMORY_FILE


@pytest.mark.parametrize("fault", sorted(MODEL_FAULTS))
def test_a_model_that_fails_is_asked_again_where_that_helps_and_then_reported(
    open_desk: OpenDesk, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jiyi.notes.model_curation.PAUSES", (0.0, 0.0))
    desk = open_desk(llm=FailingModel(fault))
    fill(desk)
    desk.write(TODAY, "I prefer green tea over coffee.\n")
    with pytest.raises(ModelError):
        desk.notes.curate(now=NOW)
    assert desk.read("MEMORY.md") == MEMORY_FILE


def test_a_model_that_is_there_the_second_time_is_asked_twice(
    open_desk: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jiyi.notes.model_curation.PAUSES", (0.0, 0.0))
    model = ScriptedModel([ModelUnavailableError("busy"), reply([{"section": "People", "text": "x"}], [])])
    desk = open_desk(llm=model)
    fill(desk)
    desk.write(TODAY, "something\n")
    assert desk.notes.curate(now=NOW).additions == ("x",)
    assert len(model.calls) == 2


def test_a_model_is_not_asked_when_there_is_nothing_to_read(open_desk: OpenDesk) -> None:
    model = ScriptedModel([])
    desk = open_desk(llm=model)
    fill(desk)
    assert desk.notes.curate(now=NOW).empty
    assert model.calls == []


def test_backups_are_no_notes(desk: Desk) -> None:
    fill(desk)
    entry = desk.notes.memory_append("zebra", at=NOW)
    desk.notes.promote(entry.id)
    assert {Path(place.rpartition(":")[0]).parts[0] for place in desk.places("oolong zebra")} == {"MEMORY.md", "memory"}


# --- what helps a person ----------------------------------------------------------------------------------------------


def test_a_list_item_that_a_person_wrote_stays_one_item(desk: Desk) -> None:
    fill(desk)
    item = "I prefer green tea over coffee. It keeps me awake. I never drink milk."
    desk.write(TODAY, f"* {item}\n- I am allergic to peanuts.\n  Carry the pen.\n")
    proposal = desk.notes.curate(now=NOW)
    assert proposal.additions == (item, "I am allergic to peanuts. Carry the pen.")


@pytest.mark.parametrize(
    "passing",
    [
        "I decided to meet Anna tomorrow at three.",
        "I want to remember that we meet next Monday.",
        "Remember: I prefer the 3 pm train today.",
        "我决定明天下午三点去医院。",
        "请记住我今晚要吃药。",
    ],
)
def test_what_passes_is_not_proposed(desk: Desk, passing: str) -> None:
    fill(desk)
    desk.notes.memory_append(passing, at=NOW)
    desk.write("memory/2026-11-14.md", f"- {passing}\n")
    assert desk.notes.curate(now=NOW).empty


def test_of_contradicting_statements_the_newest_is_proposed_and_the_old_line_taken_out(desk: Desk) -> None:
    desk.write("MEMORY.md", "# M\n\n## About the user\n\n- I live in Hangzhou.\n- I work as a nurse.\n")
    desk.write("memory/2026-11-13.md", "- I live in Beijing.\n")
    desk.notes.memory_append("I live in Shanghai.", at=NOW)
    proposal = desk.notes.curate(now=NOW)
    assert proposal.additions == ("I live in Shanghai.",)
    assert proposal.removals == ("- I live in Hangzhou.",)
    desk.notes.accept(proposal)
    assert desk.read("MEMORY.md") == "# M\n\n## About the user\n\n- I work as a nurse.\n- I live in Shanghai.\n"


def test_what_a_person_deleted_from_the_long_term_memory_is_not_proposed_again(desk: Desk, open_desk: OpenDesk) -> None:
    desk.write("MEMORY.md", MEMORY_FILE)
    desk.notes.memory_append("I prefer green tea over coffee.", at=NOW)
    desk.notes.accept(desk.notes.curate(now=NOW))
    desk.write(TODAY, desk.read(TODAY) + "\n- I like oolong.\n- I prefer green tea over coffee!\n")
    desk.write("MEMORY.md", MEMORY_FILE)
    assert "green tea" not in desk.notes.curate(now=NOW).diff
    assert "green tea" not in open_desk().notes.curate(now=NOW).diff


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("What I like", "I prefer green tea over coffee."),
        ("我的偏好", "I prefer green tea over coffee."),
        ("Decisions we made", "We decided to use PostgreSQL for the archive."),
        ("About me", "I am allergic to peanuts."),
        ("Family and friends", "My sister is called Anna."),
    ],
)
def test_sections_are_matched_by_what_they_mean(desk: Desk, heading: str, text: str) -> None:
    desk.write("MEMORY.md", f"# Long-term memory\n\n## Something else\n\n## {heading}\n\n## Recipes\n")
    desk.notes.memory_append(text, at=NOW)
    proposal = desk.notes.curate(now=NOW)
    assert [item.section for item in proposal.items] == [heading]
    assert f"## {heading}\n\n- {text}\n" in proposal.text


def test_items_are_accepted_and_rejected_one_by_one(desk: Desk) -> None:
    fill(desk)
    for text in ("I prefer green tea over coffee.", "I am allergic to peanuts.", "My sister is called Anna."):
        desk.notes.memory_append(text, at=NOW)
    proposal = desk.notes.curate(now=NOW)
    assert [item.number for item in proposal.items] == [1, 2, 3]
    done = desk.notes.accept(proposal.id, items=[2])
    assert done.added == ("I am allergic to peanuts.",)
    assert "peanuts" in desk.read("MEMORY.md")
    assert "green tea" not in desk.read("MEMORY.md")
    assert desk.notes.reject(proposal.id, items=[1]) == ("I prefer green tea over coffee.",)
    for wrong in ([1], [2], [9], []):
        with pytest.raises(InvalidInputError, match="item"):
            desk.notes.accept(proposal.id, items=wrong)
    assert desk.notes.accept(proposal.id).added == ("My sister is called Anna.",)
    with pytest.raises(InvalidInputError, match="accepted already"):
        desk.notes.accept(proposal.id)
    assert "green tea" not in desk.read("MEMORY.md")
    # What was rejected is not proposed again.
    assert desk.notes.curate(now=NOW).empty


def test_proposals_expire(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(desk)
    desk.notes.memory_append("I prefer green tea over coffee.", at=NOW)
    proposal = desk.notes.curate(now=NOW)
    later = proposal.expires_at
    monkeypatch.setattr("jiyi.model.clock.utc_now", lambda: later)
    with pytest.raises(InvalidInputError, match="expired"):
        desk.notes.accept(proposal.id)
    assert desk.read("MEMORY.md") == MEMORY_FILE


def test_one_inexact_line_of_a_reply_loses_that_line_only(
    open_desk: OpenDesk, caplog: pytest.LogCaptureFixture
) -> None:
    said = json.dumps(
        {
            "additions": [{"section": "people", "text": "小王是同事"}, {"section": "People"}, "and more", {"text": 7}],
            "removals": ["likes oolong!", "- a line that is not there", 7, "# Long-term memory"],
        },
        ensure_ascii=False,
    )
    desk = open_desk(llm=ScriptedModel([said]))
    fill(desk)
    desk.write(TODAY, "不再喝乌龙茶了。同事小王来了。\n")
    proposal = desk.notes.curate(now=NOW)
    assert (proposal.additions, proposal.removals) == (("小王是同事",), ("- Likes oolong",))
    assert [item.section for item in proposal.items] == ["", "People"]
    assert "6 lines" in caplog.text


def test_a_model_does_not_get_passing_or_known_things_into_the_proposal(open_desk: OpenDesk) -> None:
    additions = [
        {"section": "Preferences", "text": "likes Oolong"},
        {"section": "Plans", "text": "Meets Anna tomorrow at three"},
        {"section": "Tastes", "text": "Drinks no milk"},
    ]
    desk = open_desk(llm=ScriptedModel([reply(additions, [])]))
    fill(desk)
    desk.write(TODAY, "something\n")
    proposal = desk.notes.curate(now=NOW)
    assert [(item.section, item.text) for item in proposal.items] == [("Preferences", "Drinks no milk")]
