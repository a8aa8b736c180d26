"""Token counts are never too small for a real tokenizer, and not wastefully large."""

import importlib.util
import json
from functools import cache
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from jiyi.model.message import Message
from jiyi.ports import TokenCounter
from jiyi.text.token_count import (
    ESTIMATE,
    IMAGE_TOKENS,
    MESSAGE_TOKENS,
    count_message,
    counter_for,
    cut_to_tokens,
    estimate_tokens,
)
from tests.support import present

ROOT = Path(__file__).parents[2]

# Written for this test: what people and agents put into a chat.
SAMPLES = {
    "Chinese chat": [
        "我明天下午三点要去医院复查，记得提前一个小时提醒我带上病历和医保卡。",
        "上次说的那家火锅店在徐汇区天钥桥路，人均一百五左右，周末要提前两天订位。",
        "这个方案我觉得还行，不过预算得再压一压，市场部那边不会同意这么多钱的。",
        "我女儿今年上小学三年级，数学挺好，就是英语总是记不住单词，你有什么好办法吗？",
        "好的谢谢！",
        "饕餮纹是青铜器上常见的纹饰，殷墟妇好墓出土的鸮尊便是一例，嵌绿松石，饰夔龙、蝉纹。",
        "王芃、龚翀和綦晓婧三个人负责衢州的项目，缪总监会在周五听汇报。",
    ],
    "English chat": [
        "Can you remind me to call the dentist tomorrow at 9? They close early on Fridays.",
        "I moved to Rotterdam in March and still haven't found a decent bakery anywhere near Blijdorp.",
        "Honestly, I'd rather we kept the old invoice layout; accounting complains whenever we change it.",
        "ok thx",
        "My sister-in-law Siobhan Oyelaran-Whitcombe is flying in from Reykjavik, so the guest room needs to be ready.",
        "The physiotherapist diagnosed patellofemoral syndrome and prescribed naproxen and eccentric strengthening.",
    ],
    "mixed": [
        "帮我把 FastAPI 的 middleware 改成 async 的，顺便把 requirements.txt 里的 pydantic 升到 v2。",
        "昨天 deploy 到 staging 之后 latency 从 120ms 涨到了 480ms，怀疑是 Redis 的 connection pool 满了。",
        "Our Shanghai colleague 陈思远 says the 发票 must be issued before 2026-12-31.",
        "订单号 CN-A10293-2026，运单 SF1387720045561，手机 13800138000，邮箱 li.wei@example.com。",
    ],
    "code": [
        "def fibonacci(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n",
        "SELECT u.id, COUNT(*) AS orders\nFROM users AS u LEFT JOIN orders AS o ON o.user_id = u.id\nGROUP BY u.id;",
        json.dumps(
            {"tool": "search", "args": {"query": "天气 上海", "limit": 5, "tags": ["a", "b"]}}, ensure_ascii=False
        ),
        "Traceback:\n  File \"/srv/app/main.py\", line 42, in <module>\n    run()\nKeyError: 'id'",
        "| method | p50 | p95 |\n|---|---:|---:|\n| insert | 0.41 ms | 0.97 ms |\n| recall | 12.80 ms | 31.25 ms |",
    ],
    "emoji and digits": [
        "生日快乐🎂🎉🎉 爱你哟😘❤️",
        "👍🏻👍🏻 great job team!!! 🚀🚀 👨‍👩‍👧‍👦",
        "1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987",
        "2026-11-15 08:30:00 INFO 192.168.10.24 200 1534 0.0213",
        "3.14159265358979323846264338327950288419716939937510",
    ],
}


class Tiktoken:
    """A vocabulary of OpenAI that a package of the development environment carries."""

    def __init__(self, name: str) -> None:
        self.name = f"tiktoken {name}"
        self._encoding = tiktoken.get_encoding(name)

    def count(self, text: str) -> int:
        pieces = (text[start : start + 20_000] for start in range(0, len(text), 20_000))
        return sum(len(self._encoding.encode_ordinary(piece)) for piece in pieces)


@cache
def real_tokenizers() -> dict[str, TokenCounter]:
    with pytest.MonkeyPatch.context() as patch:
        package = Path(str(present(importlib.util.find_spec("llama_index.core")).origin)).parent
        patch.setenv("TIKTOKEN_CACHE_DIR", str(package / "_static" / "tiktoken_cache"))
        return {"o200k": Tiktoken("o200k_base"), "cl100k": Tiktoken("cl100k_base")}


def whole_files() -> list[str]:
    """Documents and code of this project, in both languages, in pieces of the size of a message."""
    names = [
        "README.md",
        "README.zh-CN.md",
        "docs/ARCHITECTURE.md",
        "src/jiyi/memory/keyed.py",
        "src/jiyi/config/__init__.py",
    ]
    texts = [(ROOT / name).read_text("utf-8") for name in names]
    return [text[start : start + 500] for text in texts for start in range(0, len(text), 500)]


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
def test_the_estimate_is_never_below_a_real_tokenizer(name: str) -> None:
    counter = real_tokenizers()[name]
    assert counter.name.startswith("tiktoken")
    texts = [text for kind in SAMPLES.values() for text in kind] + whole_files()
    below = [text for text in texts if estimate_tokens(text) < counter.count(text)]
    assert below == []


@pytest.mark.parametrize("kind", ["Chinese chat", "English chat", "mixed", "code"])
def test_the_estimate_is_not_wasteful(kind: str) -> None:
    counter = real_tokenizers()["cl100k"]
    real = sum(map(counter.count, SAMPLES[kind]))
    assert sum(map(estimate_tokens, SAMPLES[kind])) <= 1.5 * real


def test_the_estimate_holds_for_the_documents_of_this_project() -> None:
    for counter in real_tokenizers().values():
        real = sum(map(counter.count, whole_files()))
        assert real <= sum(map(estimate_tokens, whole_files())) <= 1.5 * real


@given(st.text(max_size=200), st.text(max_size=50))
def test_more_text_never_has_fewer_estimated_tokens(text: str, more: str) -> None:
    assert 0 <= estimate_tokens(text) <= estimate_tokens(text + more)
    assert estimate_tokens(text + more) <= estimate_tokens(text) + estimate_tokens(more) + 1


def test_nothing_has_no_tokens() -> None:
    assert estimate_tokens("") == 0
    for counter in real_tokenizers().values():
        assert counter.count("") == 0


# --- which counter ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o-mini", "estimate"),
        ("openai/gpt-5", "estimate"),
        ("some-unknown-model", "estimate"),
        ("", "estimate"),
        ("\x00", "estimate"),
        (None, "estimate"),
    ],
)
def test_a_model_whose_tokenizer_is_not_here_is_estimated(model: str | None, name: str) -> None:
    counter = counter_for(model)
    assert isinstance(counter, TokenCounter)
    assert counter.name == name


def test_a_local_tokenizer_file_is_used(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"hello": 0, "world": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for model in (str(tmp_path), str(tmp_path / "tokenizer.json")):
        counter = counter_for(model)
        assert counter.name == f"tokenizer.json of {model}"
        assert counter.count("hello wide world") == 3
        assert counter.count("\ud800 hello") == 2


def test_a_tokenizer_downloaded_by_its_name_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenizers import Tokenizer, models

    folder = tmp_path / "models--acme--tiny" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    Tokenizer(models.WordLevel({"?": 0}, unk_token="?")).save(str(folder / "tokenizer.json"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert counter_for("acme/tiny").name == "tokenizer.json of acme/tiny"
    assert counter_for("acme/other").name == "estimate"


def test_a_damaged_tokenizer_file_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0", "mod')
    assert counter_for(str(tmp_path)).name == "estimate"


def test_text_that_looks_like_a_special_token_is_text() -> None:
    for counter in real_tokenizers().values():
        assert counter.count("<|endoftext|>") > 1


def test_an_endless_word_and_a_lone_surrogate_can_be_counted() -> None:
    for counter in (*real_tokenizers().values(), ESTIMATE):
        assert counter.count("a" * 200_000) > 1000
        assert counter.count("x\ud83d y") >= 1


# --- messages -----------------------------------------------------------------------------------------------------


class Characters:
    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


def test_a_message_costs_its_words_and_a_fixed_part() -> None:
    assert count_message(Message("user", "你好"), Characters()) == 2 + MESSAGE_TOKENS
    assert count_message(Message("assistant", None), Characters()) == MESSAGE_TOKENS


def test_tool_calls_names_and_unknown_fields_are_counted() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "天气"}'}}
    bare = count_message(Message("assistant", None), Characters())
    with_call = count_message(Message("assistant", None, tool_calls=[call]), Characters())
    assert with_call - bare >= len(json.dumps(call, ensure_ascii=False, separators=(",", ":")))
    assert count_message(Message("user", "x", name="小明"), Characters()) > count_message(
        Message("user", "x"), Characters()
    )
    thinking = Message("assistant", "x", extra={"reasoning_content": "long " * 10})
    assert count_message(thinking, Characters()) > 50


def test_parts_are_counted_and_an_image_costs_what_is_stated() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 50_000}}
    message = Message("user", [{"type": "text", "text": "what is it"}, image, "and this"])
    assert count_message(message, Characters()) == MESSAGE_TOKENS + 11 + IMAGE_TOKENS + 8
    other = {"type": "file", "file": {"file_id": "f-1"}}
    assert count_message(Message("user", [other]), Characters()) > MESSAGE_TOKENS + 20


# --- cutting ------------------------------------------------------------------------------------------------------


@given(st.text(max_size=120), st.integers(min_value=0, max_value=80))
def test_a_cut_text_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    cut = cut_to_tokens(text, limit, ESTIMATE)
    assert text.startswith(cut)
    assert ESTIMATE.count(cut) <= limit
    if ESTIMATE.count(text) <= limit:
        assert cut == text


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("a👨‍👩‍👧b", 3, "a"),
        ("cafe\u0301s", 4, "caf"),
        ("👍🏻ok", 1, ""),
        ("🇨🇳🇳🇱", 3, "🇨🇳"),
        ("a\ud83d\ude00b", 2, "a"),
        ("a\r\nb", 2, "a"),
        ("短句", 1, "短"),
    ],
)
def test_a_character_is_never_cut_in_two(text: str, limit: int, cut: str) -> None:
    assert cut_to_tokens(text, limit, Characters()) == cut


def test_cutting_with_a_real_tokenizer_keeps_the_limit() -> None:
    text = "".join(SAMPLES["mixed"]) * 20
    for counter in real_tokenizers().values():
        for limit in (1, 7, 50, 300):
            cut = cut_to_tokens(text, limit, counter)
            assert text.startswith(cut)
            assert limit - 4 <= counter.count(cut) <= limit
