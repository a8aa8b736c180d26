"""The running conversation: inside its limit, and nothing of it is ever lost."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jiyi import Message
from jiyi.errors import HistoryUnreadableError, InvalidInputError
from jiyi.model import clock
from jiyi.sync import AgentMemory
from tests.chat.support import Model, call, check_whole, found, result, said, use
from tests.support import database, present

OpenMemory = Callable[..., AgentMemory]
PROMPT = {"role": "system", "content": "You are a kind assistant."}


def texts(messages: Any) -> list[Any]:
    return [message.content for message in messages]


# --- put and get --------------------------------------------------------------------------------------------------


def test_what_is_put_comes_back_exactly_in_order(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    messages = [
        PROMPT,
        said(0, "你好 \x00 \ud800"),
        call("f", "c1"),
        result("c1"),
        {"role": "assistant", "content": ""},
    ]
    ids = [chat.put(message) for message in messages]
    assert [message.to_dict() for message in chat.get_all()] == messages
    assert list(chat.get()) == chat.get_all()
    assert [stored.id for stored in chat.messages()] == ids
    assert len(set(ids)) == len(ids)


def test_a_window_that_fits_is_the_whole_conversation_and_says_so(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=1_000)
    chat.put_many([PROMPT, said(0), said(1)])
    window = chat.get()
    assert window == chat.get_all()
    assert (window.summary, window.left_out, window.over_limit, window.compacted, window.trouble) == (
        None,
        0,
        False,
        False,
        None,
    )
    assert 0 < window.tokens <= window.token_limit == 1_000


def test_the_window_keeps_the_limit_and_the_record_keeps_everything(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=400)
    chat.put(PROMPT)
    put = []
    window = chat.get()
    for number in range(60):
        put.append(said(number, f"第 {number} 句话：天气 weather is {number} degrees"))
        chat.put(put[-1])
        window = chat.get()
        assert window.left_out == 0
        check_whole(chat, window)
    assert window.summary is not None
    assert [message.to_dict() for message in chat.get_all()] == [PROMPT, *put]


def test_the_summary_is_counted(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=300)
    for number in range(40):
        chat.put(said(number))
    window = chat.get()
    assert window.summary is not None
    without = sum(chat._target._service._counts._count(message) for message in window[1:])
    assert without + window.summary.tokens == window.tokens <= 300


def test_the_order_is_prompts_then_the_summary_then_the_most_recent(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=300)
    chat.put(PROMPT)
    for number in range(40):
        chat.put(said(number))
    window = chat.get()
    assert window[0] == Message.from_dict(PROMPT)
    assert window[1].role == "user"
    assert "Summary" in window[1].text
    assert [m.role for m in window[2:]] == [said(40 - len(window) + 2 + i)["role"] for i in range(len(window) - 2)]
    assert window[-1].to_dict() == said(39)


def test_a_system_prompt_is_never_summarised_away_wherever_it_stands(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=300)
    prompts = [PROMPT, {"role": "system", "content": "Answer briefly."}, {"role": "developer", "content": "No jokes."}]
    window = chat.get()
    for number in range(60):
        if number % 20 == 0:
            chat.put(prompts[number // 20])
        chat.put(said(number))
        window = chat.get()
    shown = [message.to_dict() for message in window]
    assert [message for message in shown if message in prompts] == prompts
    assert all(stored.message.to_dict() not in prompts for stored in chat.expand(present(window.summary).id))


def test_the_newest_message_is_shown_even_when_it_alone_exceeds_the_limit(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=100)
    chat.put(PROMPT)
    for number in range(5):
        chat.put(said(number))
    chat.put({"role": "user", "content": "why? " * 500})
    window = chat.get()
    assert window.over_limit
    assert window.tokens > 100
    assert window[0].to_dict() == PROMPT
    assert window[-1].text == "why? " * 500
    chat.put({"role": "assistant", "content": "because"})
    after = chat.get()
    assert not after.over_limit
    assert after[-1].text == "because"
    check_whole(chat, after)


def test_a_tool_call_and_its_results_stay_together(memory: AgentMemory) -> None:
    for limit in range(120, 420, 60):
        chat = memory.chat(f"limit {limit}", token_limit=limit)
        for number in range(8):
            chat.put_many([said(2 * number), call("look", f"a{number}", f"b{number}")])
            check_whole(chat, chat.get())
            chat.put(result(f"a{number}"))
            check_whole(chat, chat.get())
            chat.put_many([result(f"b{number}", "42"), {"role": "assistant", "content": f"it is {number}"}])
            check_whole(chat, chat.get())
        assert chat.summaries()


def test_tool_calls_without_words_are_part_of_the_summary(open_memory: OpenMemory) -> None:
    model = Model()
    chat = use(open_memory(), model).chat("s", token_limit=200)
    chat.put_many([said(0), call("weather_of_oslo", "c1"), result("c1", "rain"), *(said(n) for n in range(1, 12))])
    chat.get()
    questions = ["".join(m.text for m in asked) for asked, kind in zip(model.questions, model.asked, strict=True)
                 if kind == "summary"]  # fmt: skip
    assert any("weather_of_oslo" in question and "rain" in question for question in questions)


def test_a_call_that_waits_for_its_result_stays_in_the_window(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=200)
    for number in range(20):
        chat.put(said(number))
    chat.put(call("slow", "c1"))
    for number in range(3):
        chat.put({"role": "user", "content": f"are you there? {number}"})
        assert any(message.tool_calls for message in chat.get())
    chat.compact()
    assert any(message.tool_calls for message in chat.get())
    chat.put(result("c1"))
    check_whole(chat, chat.get())


def test_initial_tokens_are_taken_off_the_limit(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=400)
    for number in range(12):
        chat.put(said(number))
    whole = chat.get()
    less = chat.get(initial_tokens=250)
    assert less.tokens <= 150 < whole.tokens
    with pytest.raises(InvalidInputError, match="initial_tokens"):
        chat.get(initial_tokens=-1)


@pytest.mark.parametrize(("limit", "words"), [(500, 0), (64_000, 400)])
def test_a_session_that_was_imported_whole_leaves_nothing_out(memory: AgentMemory, limit: int, words: int) -> None:
    imported = [said(number, f"turn {number}: nothing of note happened. " + "word " * words) for number in range(800)]
    memory.save_conversation_history("s", imported)
    chat = memory.chat("s", token_limit=limit)
    window = chat.get(max_wait=None)
    assert (window.left_out, window.pending, window.trouble) == (0, None, None)
    assert window.summary is not None
    assert chat.status().backlog is None
    check_whole(chat, window)
    assert len(chat.expand(window.summary.id)) + len(window) - 1 == 800


def test_a_much_smaller_limit_leaves_nothing_out(memory: AgentMemory) -> None:
    memory.chat("s", token_limit=64_000).put_many([said(number) for number in range(800)])
    assert len(memory.chat("s", token_limit=64_000).get()) == 800
    small = memory.chat("s", token_limit=300)
    window = small.get(max_wait=None)
    assert (window.left_out, window.pending) == (0, None)
    assert len(small.summaries()) < 10
    check_whole(small, window)


def test_a_compacted_window_begins_with_a_message_of_the_user(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=300)
    for number in range(60):
        chat.put(said(number))
        window = chat.get()
        if window.summary is not None:
            assert [message.role for message in window[:2]] == ["user", "user"]


# --- sessions -----------------------------------------------------------------------------------------------------


def test_a_reopened_session_has_the_same_window(open_memory: OpenMemory) -> None:
    with open_memory() as memory:
        chat = memory.chat("s", token_limit=300)
        for number in range(40):
            chat.put(said(number))
        before = chat.get()
    chat = open_memory().chat("s", token_limit=300)
    after = chat.get()
    assert after == before
    assert after.summary == before.summary
    assert not after.compacted


@pytest.mark.date_sensitive
def test_the_session_is_the_local_date_when_none_is_named(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(time_zone="Pacific/Kiritimati")
    monkeypatch.setattr(clock, "utc_now", lambda: datetime(2027, 12, 31, 10, tzinfo=UTC))
    assert memory.chat().session_id == "2028-01-01"


def test_chat_and_conversation_history_are_the_same_session(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    memory.save_conversation_history("s", [said(0), said(1)])
    chat.put(said(2))
    assert [m.to_dict() for m in memory.load_conversation_history("s")] == [said(0), said(1), said(2)]
    memory.save_conversation_history("s", [said(0), said(1), said(2), said(3)])
    assert [m.to_dict() for m in chat.get_all()] == [said(n) for n in range(4)]
    assert memory.list_sessions() == ["s"]


def test_sessions_and_scopes_do_not_touch_each_other(memory: AgentMemory) -> None:
    places = [("s", "a"), ("s", "A"), ("S", "a"), ("s ", "a"), ("s", "ａ"), ("s%", "a"), ("s_", "a"), ("s", "public")]
    chats = [memory.chat(session, scope=scope, token_limit=150) for session, scope in places]
    for number in range(12):
        for place, chat in zip(places, chats, strict=True):
            chat.put({"role": "user", "content": f"记住 turn {number} of {place}"})
    for place, chat in zip(places, chats, strict=True):
        window = chat.get()
        assert window.summary is not None
        others = [str(other) for other in places if other != place]
        seen = repr((window, window.summary, chat.get_all(), chat.summaries(), chat.candidates(), chat.status()))
        assert len(chat.get_all()) == 12
        assert [other for other in others if other in seen] == []
        for other in chats:
            if other is not chat:
                with pytest.raises(InvalidInputError, match="no summary"):
                    other.expand(window.summary.id)
    chats[0].reset()
    assert [len(chat.get_all()) for chat in chats] == [0, *[12] * (len(chats) - 1)]


def test_several_handles_of_one_session_see_each_other(open_memory: OpenMemory) -> None:
    one, other = open_memory().chat("s", token_limit=250), open_memory().chat("s", token_limit=250)
    for number in range(30):
        (one, other)[number % 2].put(said(number))
        (other, one)[number % 2].get()
    assert [m.to_dict() for m in one.get_all()] == [said(number) for number in range(30)]
    assert one.get() == other.get()
    check_whole(one, one.get())


# --- reset --------------------------------------------------------------------------------------------------------


def test_a_reset_begins_anew_and_keeps_what_was(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=250)
    for number in range(20):
        chat.put(said(number))
    old = chat.get()
    assert chat.reset() == 2
    assert chat.get() == chat.get_all() == memory.load_conversation_history("s") == []
    assert chat.summaries() == []
    chat.put(said(100))
    assert [m.to_dict() for m in chat.get()] == [said(100)]
    assert [m.to_dict() for m in chat.get_all(epoch=1)] == [said(number) for number in range(20)]
    assert chat.summaries(epoch=1)[-1] == old.summary
    assert len(chat.expand(old.summary.id)) == old.summary.last_position + 1
    assert [epoch.epoch for epoch in chat.epochs()] == [1, 2]
    positions = [m.position for epoch in (1, 2) for m in chat.messages(epoch=epoch)]
    assert positions == list(range(21))


def test_resetting_an_empty_conversation_changes_nothing(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    assert [chat.reset(), chat.reset()] == [1, 1]
    chat.put(said(0))
    assert [chat.reset(), chat.reset()] == [2, 2]


def test_saving_the_history_after_a_reset_leaves_the_old_epoch_alone(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    chat.put_many([said(0), said(1)])
    chat.reset()
    memory.save_conversation_history("s", [said(5)])
    memory.save_conversation_history("s", [])
    memory.save_conversation_history("s", [said(6), said(7)])
    assert [m.to_dict() for m in chat.get_all()] == [said(6), said(7)]
    assert [m.to_dict() for m in chat.get_all(epoch=1)] == [said(0), said(1)]
    assert [m.position for m in chat.messages()] == [2, 3]


def test_an_epoch_that_is_not_there_is_named(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    for ask in (chat.get_all, chat.messages, chat.summaries):
        with pytest.raises(InvalidInputError, match=r"no epoch 7; there are 1"):
            ask(epoch=7)


# --- compaction ---------------------------------------------------------------------------------------------------


def test_a_compaction_on_demand_moves_the_older_half_under_a_summary(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    for number in range(10):
        chat.put(said(number))
    done = chat.compact()
    assert done.compacted
    assert 0 < done.messages < 10
    window = chat.get()
    assert window.summary == done.summary
    assert len(window) == 10 - done.messages + 1
    check_whole(chat, window)
    while chat.compact().compacted:
        check_whole(chat, chat.get())
    assert [m.to_dict() for m in chat.get()[1:]] == [said(9)]


def test_there_is_nothing_to_compact_in_one_message(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=10)
    assert not chat.compact().compacted
    chat.put(PROMPT)
    chat.put({"role": "user", "content": "long " * 100})
    assert not chat.compact().compacted
    assert chat.get().over_limit


def test_a_summary_of_summaries_knows_every_original_message(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=250)
    ids = []
    for number in range(50):
        ids.append(chat.put(said(number)))
        chat.get()
    chain = chat.summaries()
    assert len(chain) > 3
    for summary in chain:
        covered = chat.expand(summary.id)
        assert [stored.id for stored in covered] == ids[: summary.last_position + 1]
        assert [stored.message.to_dict() for stored in covered] == [said(n) for n in range(len(covered))]
    assert [summary.generation for summary in chain] == list(range(1, len(chain) + 1))


def test_a_second_compaction_does_not_skip_what_the_first_has_kept(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    for number in range(12):
        chat.put(said(number))
    first, second = present(chat.compact().summary), present(chat.compact().summary)
    assert second.first_position == first.last_position + 1
    assert second.previous_id == first.id


def test_an_overflow_of_the_model_compacts_though_our_count_says_that_it_fits(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=10_000)
    for number in range(20):
        chat.put(said(number))
    before = chat.get()
    assert before.summary is None
    done = chat.overflowed(RuntimeError("context length exceeded"))
    after = chat.get()
    assert done.compacted
    assert len(after) < len(before)
    assert len(chat.candidates(state=None)) == done.candidates
    assert chat.status().flushed_to == present(after.summary).last_position
    check_whole(chat, after)


def test_rewriting_messages_under_a_summary_retires_it(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=250)
    messages = [said(number, f"记住 {number}: the number is {number}") for number in range(30)]
    for message in messages:
        chat.put(message)
        chat.get()
    chain = chat.summaries()
    assert len(chain) >= 3
    changed = chain[1].first_position
    messages[changed] = said(changed, "something else was said")
    memory.save_conversation_history("s", messages)
    assert chat.summaries() == chain[:1]
    with pytest.raises(InvalidInputError, match="rewritten"):
        chat.expand(chain[1].id)
    assert all(candidate.last_position < changed for candidate in chat.candidates())
    assert chat.status().flushed_to == changed - 1
    window = chat.get()
    check_whole(chat, window)
    assert [m.to_dict() for m in chat.get_all()] == messages
    later = chat.candidates()
    assert len({candidate.first_position for candidate in later}) == len(later)


def test_a_message_in_the_window_that_cannot_be_read_is_reported(memory: AgentMemory, tmp_path: Path) -> None:
    chat = memory.chat("s")
    chat.put_many([said(0), said(1), said(2)])
    with database(tmp_path / "data") as connection:
        connection.execute("UPDATE conversation_history SET content = '{' WHERE position = 1")
    for ask in (chat.get, chat.get_all):
        with pytest.raises(HistoryUnreadableError) as caught:
            ask()
        assert [position for position, _ in caught.value.unreadable] == [1]
    with pytest.raises(HistoryUnreadableError) as caught:
        chat.insert_message(0, said(3))
    assert [position for position, _ in caught.value.readable] == [0, 2]


# --- deleting on purpose ------------------------------------------------------------------------------------------


def test_an_old_epoch_can_be_deleted_on_purpose_and_is_gone_everywhere(memory: AgentMemory, tmp_path: Path) -> None:
    chat = memory.chat("s", token_limit=150)
    for number in range(12):
        chat.put(said(number, f"记住 the zebra number {number}"))
    chat.get()
    memory.save_conversation_history("s", [*chat.get_all()[:-1], said(1, "a zebra that was reworded")])
    chat.reset()
    chat.put(said(0, "a walrus"))
    assert memory.recall("zebra", memory_types="message")
    receipt = chat.delete_epoch(1)
    assert (receipt.messages, receipt.entries, receipt.epoch) == (13, 12, 1)
    assert receipt.summaries >= 1
    assert receipt.candidates >= 1
    assert [epoch.epoch for epoch in chat.epochs()] == [2]
    with pytest.raises(InvalidInputError, match="no epoch 1"):
        chat.get_all(epoch=1)
    assert memory.recall("zebra", memory_types="message") == []
    assert [hit.content for hit in memory.recall("walrus", memory_types="message")] == ["a walrus"]
    file = tmp_path / "export.jsonl"
    memory.export_jsonl(file)
    assert "zebra" not in file.read_text("utf-8")
    assert texts(chat.get_all()) == ["a walrus"]
    chat.put(said(1))
    assert [m.position for m in chat.messages()] == [12, 13]


def test_the_current_epoch_is_not_deleted_by_mistake(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    chat.put(said(0))
    with pytest.raises(InvalidInputError, match="current"):
        chat.delete_epoch(1)
    assert len(chat.get_all()) == 1


def test_a_session_can_be_forgotten_for_good(memory: AgentMemory, tmp_path: Path) -> None:
    for session, scope in (("s", "main"), ("s", "other"), ("t", "main")):
        chat = memory.chat(session, scope=scope, token_limit=150)
        for number in range(12):
            chat.put(said(number, f"记住 zebra {number} of {session} {scope}"))
        chat.get()
    chat = memory.chat("s")
    chat.reset()
    chat.put(said(0, "a last zebra of s main"))
    receipt = memory.forget_session("s")
    assert (receipt.messages, receipt.entries, receipt.epoch) == (13, 13, None)
    assert chat.get_all() == []
    assert chat.candidates(state=None) == []
    assert chat.summaries() == []
    assert [epoch.epoch for epoch in chat.epochs()] == [1]
    assert memory.list_sessions() == ["t"]
    assert {hit.conversation_id for hit in memory.recall("zebra", 100, memory_types="message")} == {"t"}
    file = tmp_path / "export.jsonl"
    memory.export_jsonl(file)
    assert "s main" not in file.read_text("utf-8")
    assert len(memory.chat("s", scope="other").get_all()) == 12
    assert memory.forget_session("s").messages == 0


# --- what is said is remembered -----------------------------------------------------------------------------------


def test_what_is_put_can_be_recalled(open_memory: OpenMemory) -> None:
    memory = open_memory()
    identity = memory.chat("s").put({"role": "user", "content": "我在杭州买了一只仓鼠"})
    [hit] = memory.recall("仓鼠", memory_types="message")
    assert (hit.id, hit.conversation_id, hit.position) == (identity, "s", 0)
    quiet = open_memory("quiet", recall_messages=False)
    quiet.chat("s").put({"role": "user", "content": "我在杭州买了一只仓鼠"})
    assert quiet.recall("仓鼠", memory_types="message") == []


def test_a_prompt_of_ones_own_is_given_to_the_model(open_memory: OpenMemory) -> None:
    model = Model(candidates=found())
    memory = use(open_memory(summarize_prompt="请用一句话总结。"), model)
    for prompt in (None, "Only names."):
        chat = memory.chat(f"s{prompt}", summarize_prompt=prompt)
        chat.put_many([said(n) for n in range(6)])
        chat.compact()
    summaries = [asked for asked, kind in zip(model.questions, model.asked, strict=True) if kind == "summary"]
    for asked, prompt in zip(summaries, ("请用一句话总结。", "Only names."), strict=True):
        assert asked[0].text.startswith(prompt)
        assert "2000 tokens" in asked[0].text


def test_a_summary_made_for_a_larger_limit_is_made_shorter_for_a_smaller_one(open_memory: OpenMemory) -> None:
    model = Model(summary="a rather long summary, " * 60)
    memory = use(open_memory(), model)
    large = memory.chat("s", token_limit=4_000)
    large.put_many([said(number) for number in range(10)])
    large.compact()
    model.summary = "short"
    small = memory.chat("s", token_limit=250)
    window = small.get()
    assert present(window.summary).content == "short"
    assert window.tokens <= 250
    check_whole(small, window)


def test_an_old_export_does_not_bring_back_what_was_deleted(memory: AgentMemory, tmp_path: Path) -> None:
    chat = memory.chat("s", token_limit=150)
    chat.put_many([PROMPT, call("f", "c"), result("c"), *(said(n, f"zebra {n}") for n in range(10))])
    chat.get()
    file = tmp_path / "export.jsonl"
    memory.export_jsonl(file)
    memory.forget_session("s")
    memory.import_jsonl(file)
    assert chat.get_all() == []
    assert memory.recall("zebra", memory_types="message") == []
    assert memory.list_sessions() == []
    memory.drain()
    assert all(report.sound for report in memory.verify())


def test_a_slow_model_keeps_nobody_waiting_who_only_reads_or_writes(open_memory: OpenMemory) -> None:
    at_work, go_on = threading.Barrier(9), threading.Event()

    def slow(_messages: Any) -> str:
        at_work.wait(60)
        assert go_on.wait(60)
        return "done"

    memory = use(open_memory(), Model(summary=slow))
    chats = [memory.chat(f"s{number}") for number in range(8)]
    for chat in chats:
        chat.put_many([said(number) for number in range(6)])
    waiting = [threading.Thread(target=chat.compact) for chat in chats]
    for thread in waiting:
        thread.start()
    at_work.wait(60)
    memory.store("key", "written meanwhile")
    chats[0].put(said(6))
    assert len(chats[0].get_all()) == 7
    assert len(chats[0].get()) == 7
    go_on.set()
    for thread in waiting:
        thread.join()
    assert all(chat.summaries() for chat in chats)
