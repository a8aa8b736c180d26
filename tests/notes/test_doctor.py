"""What doctor says of notes."""

from jiyi.sync import AgentMemory
from tests.notes.conftest import Desk


def test_doctor_names_the_notes_that_cannot_be_searched_and_why(desk: Desk) -> None:
    desk.write("memory/good.md", "fine\n")
    (desk.root / "memory/bytes.md").write_bytes(bytes(range(128, 256)) * 8)
    (desk.root / "memory/link.md").symlink_to(desk.root / "memory/good.md")
    desk.notes.scan()
    facts = desk.memory.doctor()
    assert [problem["path"] for problem in facts["note_problems"]] == ["memory/bytes.md", "memory/link.md"]
    assert all(problem["reason"] for problem in facts["note_problems"])
    assert not facts["healthy"]
    assert any("memory/bytes.md" in advice for advice in facts["advice"])
    for name in ("bytes", "link"):
        (desk.root / f"memory/{name}.md").unlink()
    facts = desk.memory.doctor()
    assert (facts["healthy"], facts["note_problems"]) == (True, [])


def test_doctor_says_when_the_workspace_is_not_there(desk: Desk) -> None:
    desk.root.rename(desk.root.with_name("moved"))
    facts = desk.memory.doctor()
    assert not facts["healthy"]
    assert "workspace" in facts["note_problems"][0]["reason"]


def test_doctor_of_a_memory_without_notes_has_nothing_to_say_of_them(memory: AgentMemory) -> None:
    assert memory.doctor()["note_problems"] == []
