"""Replies that answer nothing are no answers, and hide none."""

from collections.abc import Callable

import pytest

from jiyi.model.relevance import CONFIDENT
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from jiyi.text import question_share
from jiyi.text.empty_replies import is_empty_reply
from tests.support import present

OpenMemory = Callable[..., AgentMemory]
BINS = ("The rubbish bins are put out on Tuesdays", "which day do the bins go out")
BINS_ZH = ("垃圾桶每周二拿出去", "哪天倒垃圾")


@pytest.mark.parametrize(
    "reply",
    [
        *("hm", "Sorry.", "I'll look it up.", "Let me check.", "One moment.", "Good question.", "Hold on, let me see."),
        *(
            "I will get back to you on that.",
            "Just a sec, looking...",
            "Great question! Let me look into that for you.",
        ),
        *(
            "I'll check and get back to you.",
            "No idea, hold on.",
            "我查一下",
            "这个问题问得好",
            "稍等",
            "请稍等，我看看",
        ),
        *(
            "让我想想",
            "嗯，我确认一下再告诉你",
            "抱歉，稍等，我查查。",
            "暂无相关信息",
            "没有查询到相关内容",
            "我无法确定",
        ),
    ],
)
def test_a_reply_that_puts_off_the_answer_is_empty(reply: str) -> None:
    assert is_empty_reply(reply)


@pytest.mark.parametrize(
    "reply",
    [
        *("Tuesday.", "On Tuesdays, let me check.", "I'll look it up at the bank on Friday.", "Check the oven."),
        *("Let me check with Dr. Roe on Monday.", "I'm looking for a flat in Porto.", "Wait until Friday.", "看牙医"),
        *(
            "One moment of joy was the wedding.",
            "我去看电影",
            "我在找房子",
            "等到周五",
            "周二，我查一下日历",
            "我想买车",
        ),
    ],
)
def test_a_reply_that_says_something_is_not_empty(reply: str) -> None:
    assert not is_empty_reply(reply)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "I do not know the names of the twins.",
            "I couldn't find when the sauna is heated.",
            "That is not in my notes.",
        ),
        *("Unfortunately there is nothing in my notes about the sauna.", "I have nothing on file about the bins."),
        *("My notes do not say when the bins go out.", "I wasn't able to find anything about the bins."),
        *("抱歉，我的记录里没有桑拿房的加热时间。", "我找不到倒垃圾的时间", "记录中没有提到倒垃圾的日子"),
        *("I keep forgetting when the bins are emptied", "It would help to know which day the bins go out."),
        *("My question is which day the bins go out", "I can never remember when the bins go out"),
        *("我要知道哪天倒垃圾", "我的问题是哪天倒垃圾", "我老是忘记哪天倒垃圾", "我需要知道谁有备用钥匙"),
    ],
)
def test_what_asks_or_knows_nothing_answers_nothing(text: str) -> None:
    assert question_share(text) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "text",
    [
        *("I remember when we met in Porto", "What I like is where it's quiet", "I keep forgetting my keys"),
        *(
            "My question was answered by Marta on Friday",
            "I couldn't find my passport.",
            "I have nothing in the fridge.",
        ),
        *("I don't know the price of the boat that we sold in May.", "I'm unable to eat nuts."),
        *(
            "我的问题是睡得太少",
            "问题是他什么都不懂",
            "我老是忘记带钥匙",
            "我的记录是五公里二十分钟",
            "我找不到钥匙",
            "我无法入睡",
        ),
    ],
)
def test_what_tells_something_is_a_statement(text: str) -> None:
    assert question_share(text) == 0.0


@pytest.mark.parametrize(
    ("fact", "question", "reply"),
    [
        *(
            (*BINS, reply)
            for reply in ("hm", "Let me check.", "Please ask Marta.", "I couldn't find when the bins go out.")
        ),
        *((*BINS_ZH, reply) for reply in ("我查一下", "这个问题问得好", "抱歉，我的记录里没有倒垃圾的时间。")),
    ],
)
def test_a_reply_without_the_answer_hides_no_fact(
    open_memory: OpenMemory, bundled_embedder: Embedder, fact: str, question: str, reply: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("bins", fact)
    memory.save_conversation_history(
        "c", [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
    )
    best = memory.recall(question)[0]
    assert best.content == fact
    assert present(best.relevance_score) > CONFIDENT / 2


@pytest.mark.parametrize(
    ("said", "reply", "question"),
    [
        ("Lena is allergic to walnuts.", "Noted, Lena is allergic to walnuts.", "What is Lena allergic to?"),
        ("The locker code is 4417.", "Got it, the locker code is 4417.", "What is the locker code?"),
        ("莉娜对核桃过敏", "收到，莉娜对核桃过敏", "莉娜对什么过敏"),
    ],
)
def test_what_the_user_said_is_the_hit_and_not_the_reply_that_repeats_it(
    open_memory: OpenMemory, bundled_embedder: Embedder, said: str, reply: str, question: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.save_conversation_history("c", [{"role": "user", "content": said}, {"role": "assistant", "content": reply}])
    [best] = memory.recall(question)
    assert (best.content, [other.content for other in best.other_sources]) == (said, [reply])
