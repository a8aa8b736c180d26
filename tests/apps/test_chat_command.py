"""`jiyi chat`: talking in the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from jiyi import sync
from jiyi.errors import ConfigError, ContextOverflowError, ModelError, ModelReplyError, ModelTimeoutError
from jiyi.testing.model_server import ModelServer
from jiyi.testing.models import ScriptedModel
from tests.apps.command_line import CommandLine
from tests.support import present

pytestmark = pytest.mark.date_sensitive


def test_a_conversation_goes_on_where_it_stood(jiyi: CommandLine) -> None:
    jiyi("chat", "--session", "trip", typed="pack the passports\n/quit\n")
    again = jiyi("chat", "--session", "trip", typed="/quit\n")
    assert "user: pack the passports" in again.lines
    assert "nothing has been said yet" in jiyi("chat", "--session", "other", "-m", "/history").out


def test_without_a_model_memory_answers_and_says_so_and_is_not_kept_as_said(jiyi: CommandLine) -> None:
    jiyi("store", "allergy", "我对青霉素过敏")
    told = jiyi("chat", "-m", "过敏")
    assert told.lines == ["[没有模型] 已保存。记忆里有：", "  · 我对青霉素过敏"]
    assert jiyi("chat", "-m", "/history").lines == ["user: 过敏"]
    assert jiyi("chat", "-m", "zzz").lines == ["[no model] kept."]


def test_without_a_model_a_question_is_answered_with_what_was_said_right_before(jiyi: CommandLine) -> None:
    for typed, known, unknown in (
        (
            "I am allergic to walnuts.\nWhat am I allergic to?\nWho won the cup?\n",
            "walnuts",
            "knows nothing about that.",
        ),
        ("我对芒果过敏。\n我对什么过敏？\n世界杯谁赢了？\n", "芒果", "记忆里没有相关内容。"),
    ):
        lines = jiyi("chat", "--session", known, typed=typed).lines
        answers = [line for line in lines if line.startswith("  · ")]
        assert [known in line for line in answers] == [True]
        assert lines[-2].endswith(unknown)
        assert [line.rpartition("facts ")[2] for line in lines if "facts kept" in line] == [
            "kept: 1]",
            *["kept: 0]"] * 2,
        ]
    several = jiyi(
        "chat", "--session", "s", "--scope", "b", "-m", "My cat is called Mimi.", "-m", "What is my cat called?"
    )
    assert "Mimi" in several.lines[-1]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("My dentist is Dr Lindqvist in Clifton.", "Who is my dentist?"),
        ("We moved the job queue to PostgreSQL. Mira owns the billing service.", "Who owns billing?"),
        ("我的牙医是林医生，在天府三街。", "我的牙医是谁？"),
    ],
    ids=["dentist", "billing", "牙医"],
)
def test_what_was_said_in_the_running_conversation_answers_and_stands_above_the_question(
    jiyi: CommandLine, told: str, question: str
) -> None:
    lines = jiyi("chat", "--session", "s", typed=f"{told}\n{question}\n").lines
    [answer] = [line for line in lines if line.startswith("  · ")]
    assert answer.removeprefix("  · ").rstrip() in told
    assert jiyi("recall", question, "--json").data["hits"][0]["content"] in told
    # Asked once more in a conversation of its own.
    assert told.rsplit(maxsplit=1)[-1] in jiyi("chat", "--session", "t", "-m", question).out
    assert jiyi("recall", question, "--json").data["hits"][0]["content"] in told


def test_without_a_model_what_was_corrected_names_its_correction(jiyi: CommandLine) -> None:
    jiyi("chat", "--session", "a", "-m", "我的新手机号是13900001234。", "-m", "打错了，是13900001243。")
    told = jiyi("chat", "--session", "b", "-m", "我的新手机号是多少？").out
    assert "· 我的新手机号是13900001234。 → 后来已更正：打错了，是13900001243。" in told


def test_every_command_works_on_an_empty_conversation(jiyi: CommandLine) -> None:
    for command in ("/history", "/summary", "/compact", "/candidates", "/reset", "/help"):
        ended = jiyi("chat", "-m", command)
        assert ended.code == 0
        assert ended.out.strip()
        assert isinstance(jiyi("chat", "-m", command, "--json").data, dict)


def test_older_messages_go_under_a_summary_and_what_is_worth_keeping_is_listed(jiyi: CommandLine) -> None:
    for line in ("请记住：我对花生过敏。", "天气不错。", "我们去河边吧。", "好的。"):
        jiyi("chat", "-m", line)
    assert jiyi("chat", "-m", "/compact", "--json").data == {"compacted": True}
    assert "花生" in jiyi("chat", "-m", "/summary").out
    [candidate] = jiyi("chat", "-m", "/candidates", "--json").data["candidates"]
    assert "花生" in candidate["content"]
    assert len(jiyi("chat", "-m", "/history", "--json").data["messages"]) == 4


def test_a_reset_begins_anew(jiyi: CommandLine) -> None:
    jiyi("chat", "-m", "hello")
    jiyi("chat", "-m", "/reset")
    assert jiyi("chat", "-m", "/history", "--json").data == {"messages": []}


def test_an_unknown_command_is_named(jiyi: CommandLine) -> None:
    ended = jiyi("chat", "-m", "/histroy")
    assert ended.code == 2
    assert "/histroy" in ended.err
    assert "/help" in ended.err


def test_what_others_wrote_cannot_steer_the_terminal(jiyi: CommandLine) -> None:
    jiyi("chat", "-m", "red \x1b[31m alert")
    assert "\x1b" not in jiyi("chat", "-m", "/history").out


def test_a_model_answers_as_it_speaks(jiyi: CommandLine) -> None:
    with ModelServer() as server:
        model = {"JIYI_LLM": "openai-compatible", "JIYI_LLM_BASE_URL": server.base_url, "JIYI_LLM_MODEL": "m"}
        server.reply("你好，小明。")
        assert jiyi("chat", "-m", "我叫小明", **model).out == "你好，小明。\n"
        server.reply("again")
        ended = jiyi("chat", "-m", "hello", "--json", **model)
    assert ended.data == {"reply": {"role": "assistant", "content": "again"}, "made_by": "model"}
    assert [line.split(":")[0] for line in jiyi("chat", "-m", "/history").lines] == ["user", "assistant"] * 2


def test_a_model_that_fails_costs_only_its_answer(jiyi: CommandLine) -> None:
    model = {"JIYI_LLM": "openai-compatible", "JIYI_LLM_BASE_URL": "http://127.0.0.1:9/v1", "JIYI_LLM_MODEL": "m"}
    ended = jiyi("chat", "-m", "hello", **model)
    assert ended.code != 0
    assert "cannot be reached" in ended.err
    assert jiyi("chat", "-m", "/history").lines == ["user: hello"]


# --- the same from Python ---------------------------------------------------------------------------------------------


def test_a_reply_is_kept_with_its_question(tmp_path: Path) -> None:
    heard: list[str] = []
    with sync.AgentMemory.open(tmp_path, embedder="none", llm=ScriptedModel(["one", "two"])) as memory:
        chat = memory.chat("s")
        assert chat.reply({"role": "user", "content": "a"}).content == "one"
        chat.reply({"role": "user", "content": "b"}, on_text=heard.append)
        assert [message.content for message in chat.get_all()] == ["a", "one", "b", "two"]
    assert "".join(heard) == "two"


def test_a_window_that_the_model_finds_too_long_is_halved_and_asked_again(tmp_path: Path) -> None:
    replies: list[str | ModelError] = [
        ContextOverflowError("too long"),
        '{"candidates": []}',
        "a short summary",
        "the answer",
    ]
    model = ScriptedModel(replies)
    with sync.AgentMemory.open(tmp_path, embedder="none", llm=model) as memory:
        chat = memory.chat("s")
        chat.put_many([{"role": "user", "content": f"{number} " + "word " * 50} for number in range(6)])
        assert chat.reply({"role": "user", "content": "so?"}).content == "the answer"
        assert present(chat.status().summary).content == "a short summary"
        assert len(chat.get_all()) == 8


@pytest.mark.parametrize("failure", [ModelTimeoutError("slow"), "", "  "])
def test_the_question_is_kept_when_the_model_does_not_answer(tmp_path: Path, failure: str | ModelError) -> None:
    with sync.AgentMemory.open(tmp_path, embedder="none", llm=ScriptedModel([failure])) as memory:
        chat = memory.chat("s")
        with pytest.raises((ModelTimeoutError, ModelReplyError)):
            chat.reply({"role": "user", "content": "a"})
        assert [message.content for message in chat.get_all()] == ["a"]


def test_without_a_model_nobody_answers_and_the_error_says_what_to_set(tmp_path: Path) -> None:
    with sync.AgentMemory.open(tmp_path, embedder="none") as memory:
        chat = memory.chat("s")
        assert not chat.answers
        with pytest.raises(ConfigError, match="llm_base_url"):
            chat.reply({"role": "user", "content": "a"})
        assert chat.get_all() == []


def test_summaries_and_tokens_can_be_the_callers_own(tmp_path: Path) -> None:
    seen: list[tuple[str | None, int]] = []

    def summarize(previous: str | None, messages: object, max_tokens: int) -> str:
        seen.append((previous, max_tokens))
        return f"summary {len(seen)}"

    with sync.AgentMemory.open(tmp_path, embedder="none") as memory:
        chat = memory.chat("s", token_limit=200, summarizer=summarize, count_tokens=lambda text: len(text.split()))
        for number in range(60):
            chat.put({"role": "user", "content": f"{number} " + "word " * 20})
            assert chat.get().tokens <= 200
        assert present(chat.status().summary).content == f"summary {len(seen)}"
        assert [previous for previous, _ in seen[1:]] == [f"summary {number}" for number in range(1, len(seen))]
        with pytest.raises(ValueError, match="summarizer"):
            memory.chat("s", summarizer="no function")  # type: ignore[arg-type]


# --- memory in a conversation -----------------------------------------------------------------------------------------


def test_memories_are_kept_found_and_forgotten_in_a_conversation(jiyi: CommandLine) -> None:
    kept = jiyi("chat", "-m", "/remember Anna likes oolong", "--json").data
    assert kept["new"] is True
    assert "Anna likes oolong" in jiyi("chat", "-m", "/recall oolong").out
    [fact] = jiyi("chat", "-m", "/facts", "--json").data["facts"]
    assert fact == {"id": kept["id"], "content": "Anna likes oolong"}
    assert "forgotten: Anna likes oolong" in jiyi("chat", "-m", f"/forget {kept['id'][:18]}").out
    assert jiyi("chat", "-m", "/facts", "--json").data == {"facts": []}
    assert jiyi("chat", "-m", f"/forget {kept['id']}").code == 2
    assert "/recall QUESTION" in jiyi("chat", "-m", "/recall").err


def test_the_notes_of_today_are_shown(jiyi: CommandLine, tmp_path: Path) -> None:
    where = {"JIYI_WORKSPACE": str(tmp_path / "notes")}
    jiyi("notes", "init", **where)
    assert "empty" in jiyi("chat", "-m", "/notes", **where).out
    jiyi("notes", "append", "the meeting is on Wednesday", **where)
    assert "the meeting is on Wednesday" in jiyi("chat", "-m", "/notes", **where).out


def test_the_last_prompt_is_explained(jiyi: CommandLine) -> None:
    jiyi("store", "allergy", "我对青霉素过敏")
    assert "nothing was asked yet" in jiyi("chat", "-m", "/why").out
    told = jiyi("chat", "-m", "过敏", "-m", "/why").out
    assert "conversation" in told
    assert "tokens" in told
    assert "我对青霉素过敏" in told


def test_a_conversation_shows_how_much_is_used_and_kept(jiyi: CommandLine) -> None:
    told = jiyi("chat", typed="我对青霉素过敏，请记住\n/quit\n").out
    assert "tokens" in told
    assert "facts kept: 1]" in told


def test_the_facts_that_are_counted_are_those_of_the_round(jiyi: CommandLine) -> None:
    jiyi("longterm", "add-round", "My brother Paul lives in Hamburg", "ok")
    told = jiyi("chat", typed="My sister Mia is a vet in Bonn. I am allergic to nuts.\nhow do volcanoes form?\n").lines
    assert [line.rpartition("facts ")[2] for line in told if "facts kept" in line] == ["kept: 2]", "kept: 0]"]


def test_the_model_has_the_memories_and_the_tools(jiyi: CommandLine) -> None:
    jiyi("store", "tea", "Anna likes oolong")
    with ModelServer() as server:
        model = {"JIYI_LLM": "openai-compatible", "JIYI_LLM_BASE_URL": server.base_url, "JIYI_LLM_MODEL": "m"}
        answers: list[object] = [[("recall", {"query": "oolong"})], "Oolong."]
        server.script(lambda request: answers.pop(0) if request.get("stream") else "{}")
        assert jiyi("chat", "-m", "Which tea does Anna like?", **model).out.endswith("Oolong.\n")
        first, second = [request for request in server.requests if request.get("stream")]
    assert "Anna likes oolong" in first["messages"][0]["content"]
    assert {"recall", "remember"} <= {tool["function"]["name"] for tool in first["tools"]}
    assert "Anna likes oolong" in second["messages"][-1]["content"]


def test_an_error_of_one_message_is_the_exit_code_also_on_a_terminal(
    jiyi: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    model = {"JIYI_LLM": "openai-compatible", "JIYI_LLM_BASE_URL": "http://127.0.0.1:9/v1", "JIYI_LLM_MODEL": "m"}
    assert jiyi("chat", "-m", "hello", **model).code == 5
    assert jiyi("chat", "-m", "/nothing").code == 2
