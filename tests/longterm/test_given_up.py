"""A thing that was sold, cancelled or given up: what was said of it ends, and nothing else."""

import pytest

from jiyi.sync import AgentMemory


def say(memory: AgentMemory, *messages: str) -> list[str]:
    for message in messages:
        memory.longterm.extract_and_store_memories_for_round("alice", "c", message, "")
    return [entry.content for entry in memory.list(scope="alice", memory_types="fact")]


@pytest.mark.parametrize(
    ("known", "message", "gone", "stays"),
    [
        ("Our car is a Toyota Corolla, plate KX12 ABC.", "We sold the car and bought a Tesla Model Y.", "Corolla", ""),
        ("我们家的车是比亚迪汉，车牌苏E8K312。", "车卖了，换了辆理想L8，车牌苏EDF0896。", "苏E8K312", ""),
        ("I play the cello and sing in a choir.", "I gave up the cello.", "cello and", "choir"),
        ("We pay for Netflix and Spotify.", "We cancelled Netflix.", "pay for Netflix", ""),
        ("我在健身房办了年卡，还在学法语。", "退了健身房的卡。", "办了年卡", "法语"),
        ("俺家在村口开了个小卖部，还种着六亩苹果。", "小卖部年前关门了，苹果还种着哩。", "村口", "六亩苹果"),
        (
            "I'm on the board of our housing co-op and I edit its newsletter.",
            "Stepped down from the board on Sunday.",
            "housing",
            "newsletter",
        ),
        ("I'm doing a part-time MBA at Leeds.", "Withdrew from the course last week.", "MBA", ""),
        ("We fly to Malta on 3 May.", "We cancelled the holiday.", "Malta", ""),
        ("我每天早上吃一片缬沙坦。", "药停了，医生同意的。", "缬沙坦", ""),
        ("I own a drill, a lathe and an old saw.", "Sold the lathe.", "lathe and", "saw"),
        ("我买了一台吹风机和一把人体工学椅。", "吹风机退了。", "吹风机和", "人体工学椅"),
        ("和小薇谈了两年，打算明年见家长。", "我俩分了。", "两年", ""),
        ("Callum and I have been together since May.", "Well, I'm single again.", "together", ""),
        ("女朋友叫秦悦，在大连，我自己在烟台修船，异地两年", "我跟她分手了。", "秦悦", "烟台"),
        ("我每天早饭后吃一片降压药，中午必睡午觉", "大夫让我把降压药停了", "降压药，", "午觉"),
        ("我在练毛笔字，一天写两张", "毛笔字不练了，没那耐性", "两张", ""),
        ("my physio is on tuesdays at 4.15", "physio got switched to wednesdays", "tuesdays", "4.15"),
        ("瑜伽课是每周二晚上七点", "瑜伽课改到周四了", "周二", "七点"),
        ("瑜伽课是每周二晚上七点", "瑜伽课改到周四晚上了，时间没变", "周二", "七点"),
        ("My course is on Tuesdays at 7 pm", "My course is on Friday mornings now", "7 pm", "Friday"),
    ],
)
def test_what_is_over_ends_and_the_rest_stays(
    room: AgentMemory, known: str, message: str, gone: str, stays: str
) -> None:
    facts = say(room, known, message)
    assert not any(gone in fact for fact in facts)
    assert any(stays in fact for fact in facts)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("I drive a Golf to work.", "I might sell the Golf next year."),
        ("I drive a Golf to work.", "My brother sold his Polo."),
        ("我开的是一辆帕萨特。", "我还没把帕萨特卖了。"),
        ("我每周三上瑜伽课。", "今天的瑜伽课取消了。"),
        ("Yoga is on Wednesdays.", "Yoga is cancelled today."),
        ("我在学法语。", "我不学德语了。"),
        ("I take sertraline every morning.", "My dad came off the tablets."),
        ("I'm doing an MBA in Leeds.", "My sister quit the course."),
        ("早上吃一片缬沙坦，晚上吃一片阿托伐他汀。", "药停了。"),
        ("我妈在学国画。", "我的课退了。"),
        ("I've been with my wife for ten years.", "My brother is single again."),
    ],
)
def test_what_is_not_over_stays(room: AgentMemory, known: str, message: str) -> None:
    before = say(room, known)
    assert set(before) <= set(say(room, message))


def test_of_two_cars_none_ends_when_it_is_not_told_which(room: AgentMemory) -> None:
    known = say(room, "I drive a Golf.", "We have a camper van, our second car.")
    assert set(known) <= set(say(room, "We sold the car."))


@pytest.mark.parametrize(
    ("known", "message", "whole"),
    [
        (
            "I subscribe to Netflix, Spotify and Audible.",
            "We cancelled Netflix.",
            "I subscribe to Spotify and Audible.",
        ),
        ("我买了一台吹风机和一把人体工学椅。", "吹风机退了。", "我买了一把人体工学椅"),
    ],
)
def test_what_is_left_of_a_list_keeps_its_verb(room: AgentMemory, known: str, message: str, whole: str) -> None:
    assert any(whole.rstrip(".。") in fact for fact in say(room, known, message))
