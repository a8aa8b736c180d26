"""A group never sees what is private, at no door of an agent: prompt, tools, recall."""

import random
from pathlib import Path

import pytest

from jiyi.sync import AgentMemory
from tests.notes.test_groups import CANARY, QUESTIONS, WORDS, questions
from tests.support import QUICK


def test_two_thousand_questions_at_the_doors_of_an_agent_never_show_what_is_private(tmp_path: Path) -> None:
    workspace = tmp_path / "notes"
    with AgentMemory.open(tmp_path / "data", workspace=workspace, **QUICK) as memory:
        memory.notes.init_workspace()
        private = "\n".join(f"- {word}: {CANARY} {word}" for word in WORDS)
        (workspace / "MEMORY.md").write_text(private, "utf-8")
        memory.notes.memory_append(f"{CANARY} in the note of today: salary password")
        memory.notes.memory_append("the wedding plan that all may know: Hangzhou", kind="group")
        memory.store("own", f"{CANARY} password salary secret private")
        memory.chat("mine").put({"role": "user", "content": f"{CANARY} password salary secret private"})
        memory.longterm.schedule_round("main", "mine", f"我对{CANARY}过敏，请记住 salary password", "好的")
        memory.run_jobs()
        seen = _ask_everywhere(memory)
        assert CANARY not in seen
        assert "wedding plan" in seen
        assert CANARY in memory.tools().answer("recall", {"query": "password salary"}).text


def _ask_everywhere(memory: AgentMemory) -> str:
    chance = random.Random(18)
    tools = memory.tools(scope="group:team", kind="group")
    seen = ""
    for number, question in enumerate(questions(QUESTIONS)):
        if CANARY in question:
            continue
        if number % 100 == 0:
            turn = memory.agent("team", kind="group").begin(question)
            seen += str(turn.to_openai()) + turn.call({"name": "recall", "arguments": {"query": question}})
            turn.finish("I do not know.")
        elif number % 2:
            seen += str(tools.answer("recall", {"query": question, "limit": chance.randrange(1, 50)}))
        else:
            seen += str(tools.answer("memory_search", {"query": question}))
    for path in ("MEMORY.md", "memory.md", "../MEMORY.md", "memory/shared/../../MEMORY.md"):
        seen += str(tools.answer("memory_get", {"path": path}))
    return seen + str(tools.answer("list", {"limit": 50}))


def test_a_private_session_with_the_name_of_a_group_stays_private(tmp_path: Path) -> None:
    workspace = tmp_path / "notes"
    with AgentMemory.open(tmp_path / "data", workspace=workspace, **QUICK) as memory:
        memory.notes.init_workspace()
        group = memory.agent("family", kind="group")
        group.begin("Remember that we are allergic to peanuts", name="ben").finish("I will.")
        private = memory.agent("family")
        private.begin("Remember that I am allergic to penicillin").finish("I will.")
        for agent in (group, private):
            agent.close()
        memory.notes.take_candidates()
        shared = "".join(file.read_text("utf-8") for file in (workspace / "memory/shared").glob("*.md"))
        own = "".join(file.read_text("utf-8") for file in (workspace / "memory").glob("*.md"))
        assert ("peanuts" in shared, "penicillin" in shared) == (True, False)
        assert "penicillin" in own
        assert "penicillin" not in str(memory.agent("family", kind="group").begin("Which allergies?").messages)


def test_the_kind_of_a_session_is_recorded_behind_half_a_line_of_a_killed_process(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path / "data", workspace=tmp_path / "notes", **QUICK) as memory:
        memory.notes.init_workspace()
        memory.notes.set_session_kind("one", "group")
        [file] = (tmp_path / "data").rglob("*sessions*/*")
        file.write_bytes(file.read_bytes() + b'{"session": "two", "ki')
        memory.notes.set_session_kind("three", "group")
        memory.chat("three").put({"role": "user", "content": "Remember that I am allergic to penicillin"})
        memory.chat("three").flush()
        [note] = memory.notes.take_candidates().written
        assert note.path.startswith("memory/shared/")


def test_what_one_member_says_of_themselves_replaces_nothing_of_another(memory: AgentMemory) -> None:
    family = memory.agent("family", kind="group")
    said = [
        ("anna", "我住在苏州"),
        ("bob", "我住在南京"),
        ("anna", "I am allergic to nuts"),
        ("bob", "I am allergic to milk"),
        ("anna", "I was born in Leeds"),
        ("bob", "I was born in Leeds"),
        ("anna", "我搬到北京了"),
    ]
    for name, text in said:
        family.begin(text, name=name).finish("ok")
    memory.run_jobs()
    facts = memory.list(memory_types="fact", scope="group:family")
    assert sorted((fact.source.name, fact.content) for fact in facts) == sorted(
        (name, text) for name, text in said if text != "我住在苏州"
    )
    assert memory.longterm.conflicts("group:family") == []
    [replaced] = memory.longterm.superseded("group:family")
    assert (replaced.entry.source.name, replaced.entry.content) == ("anna", "我住在苏州")
    shown = memory.longterm.get_memory_context_for_prompt("group:family", "Who is allergic to milk?")
    assert "said by: bob] I am allergic to milk" in shown


def _told(memory: AgentMemory, *said: tuple[str, str]) -> tuple[list[str], list[str]]:
    """The current facts of a group, and those that were replaced or may be outdated."""
    for number, (who, text) in enumerate(said):
        memory.agent(f"s{number}", user="group:team", kind="group").begin(text, name=who).finish("OK.")
        memory.run_jobs()
    facts = [entry.content for entry in memory.list(scope="group:team", memory_types="fact")]
    older = [each.entry.content for each in memory.longterm.superseded("group:team")]
    older += [each.older.content for each in memory.longterm.conflicts("group:team")]
    return facts, older


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The release is on Friday.", "Release moved to Monday, QA needs more time."),
        ("We go to Grandma's on Saturday at 3.", "No, Grandma is away, we go on Sunday at 3."),
        ("发布定在周五。", "发布改到下周一了。"),
    ],
)
def test_what_belongs_to_a_group_is_changed_by_any_member(tmp_path: Path, first: str, second: str) -> None:
    with AgentMemory.open(tmp_path, background_jobs=False) as memory:
        _, older = _told(memory, ("anna", first), ("bob", second))
        assert older == [first]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I live in Leeds.", "I moved to York."),
        ("我住在上海。", "我搬到杭州了。"),
        ("My flight is on Friday.", "My flight moved to Monday."),
        ("I'm allergic to nuts.", "I'm not allergic to nuts any more."),
    ],
)
def test_what_somebody_says_of_themselves_is_changed_by_nobody_else(tmp_path: Path, first: str, second: str) -> None:
    with AgentMemory.open(tmp_path, background_jobs=False) as memory:
        facts, older = _told(memory, ("anna", first), ("bob", second))
        assert first in facts
        assert older == []


def _group_prompt(memory: AgentMemory, said: list[tuple[str, str]], question: str) -> str:
    group = memory.agent("flat", kind="group", user="group:flat")
    for name, text in said:
        group.begin(text, name=name).finish("ok")
    memory.run_jobs()
    turn = memory.agent("later", kind="group", user="group:flat").begin(question, name="ida")
    return str(turn.messages[0].text)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ([("anna", "I'm allergic to nuts"), ("bob", "My birthday is 2 October")], "When is the birthday of whom?"),
        ([("小安", "我对花生过敏"), ("阿波", "我的生日是十月二号")], "谁的生日是十月？"),
    ],
)
def test_every_memory_of_a_group_says_who_said_it_and_stands_once(
    memory: AgentMemory, said: list[tuple[str, str]], question: str
) -> None:
    lines = _group_prompt(memory, said, question).splitlines()
    for name, text in said:
        (line,) = [line for line in lines if text in line]
        assert name in line


def test_the_same_words_of_two_people_are_two_memories(memory: AgentMemory) -> None:
    lines = _group_prompt(memory, [("anna", "I'm vegan"), ("carl", "I'm vegan")], "Plan dinner").splitlines()
    assert {name for name in ("anna", "carl") for line in lines if "vegan" in line and name in line} == {"anna", "carl"}
