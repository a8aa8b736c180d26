"""Reflections in the prompt of an agent: nothing is said twice, and each fact keeps who said it."""

from jiyi.sync import AgentMemory

FACTS = (
    "I live in Leeds and I am coeliac.",
    "My sister Kate teaches in Hull.",
    "My son is 7 and allergic to peanuts.",
    "I like jazz.",
)
PIECES = ("Leeds", "coeliac", "Hull", "My son is 7", "peanuts", "jazz")


def test_no_fact_of_a_reflection_by_rules_is_said_twice(memory: AgentMemory) -> None:
    for text in FACTS:
        assert memory.longterm.extract_and_store_memories_for_round("main", "before", text, "OK.")
    made = memory.longterm.try_generate_reflection("main", importance_threshold=0.1, cooldown_hours=0)
    assert made is not None
    for number, question in enumerate(
        ("what should I cook for the family tonight", "tell me about my family", "Where does my sister work")
    ):
        prompt = memory.agent(f"s{number}").begin(question).messages[0].text
        assert "drawn from several" not in prompt, question
        assert [prompt.count(piece) for piece in PIECES] == [1] * len(PIECES), question


def test_in_a_group_each_fact_of_a_reflection_keeps_who_said_it(memory: AgentMemory) -> None:
    agent = memory.agent("first", kind="group", user="group:team")
    told = (
        ("anna", "I live in Leeds."),
        ("bob", "I moved to Bath last week."),
        ("anna", "I am allergic to nuts."),
        ("bob", "I am vegan."),
        ("anna", "my son is 7"),
        ("bob", "my son is 9"),
    )
    for name, text in told:
        agent.begin(text, name=name).finish("ok")
    agent.close()
    memory.run_jobs()
    memory.longterm.try_generate_reflection("group:team", importance_threshold=0.1, cooldown_hours=0)
    assert memory.list(scope="group:team", memory_types="reflection")
    for number, question in enumerate(("Who lives where, who is allergic to what?", "what should we all cook?")):
        turn = memory.agent(f"later{number}", kind="group", user="group:team").begin(question, name="cleo")
        prompt = turn.messages[0].text
        assert "drawn from several" not in prompt
        for name, text in told:
            (line,) = (line for line in prompt.splitlines() if text in line)
            assert name in line
