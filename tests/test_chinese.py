"""Chinese through the public door: what people type finds what they stored, by words alone."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from jiyi.model import clock
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from tests.support import QUICK, keys, present

MEMORIES = {
    "早报": "每天早上八点把早报发到群里",
    "rerun": "重跑gen-itgc后要通知审计组",
    "disk": "C盘快满了，先清理临时文件",
    "api": "新的API配置放在仓库根目录",
    "order": "客户的订单号是CN-A10293，下周发货",
    "width": "服务器型号是ＤＥＬＬ　Ｒ７４０",
    "traditional": "我們在臺北的辦公室養了一隻貓",
    "simplified": "后来他搬到台湾学习计算机软件",
    "name": "她的女儿叫李小满，今年七岁",
    "mixed": "用Python3.12写的爬虫，部署在k8s上",
    "phone": "老王的电话是13800138000",
    "ragged": "《三体》：黑暗森林法则（刘慈欣）",
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemory]:
    """Twelve Chinese memories; only read."""
    with AgentMemory.open(tmp_path_factory.mktemp("chinese"), **QUICK) as memory:
        memory.store_many({"key": f"key-{key}", "content": text} for key, text in MEMORIES.items())
        yield memory


def found(memory: AgentMemory, query: str) -> list[str]:
    """The names of what a keyword recall finds, best first."""
    return [str(key).removeprefix("key-") for key in keys(memory.recall(query, mode="keyword"))]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("早报", "早报"),
        ("配置", "api"),
        ("审计", "rerun"),
        ("通知", "rerun"),
        ("女儿", "name"),
        ("爬虫", "mixed"),
        ("电话", "phone"),
        ("法则", "ragged"),
    ],
)
def test_a_two_character_word_is_found(memory: AgentMemory, query: str, expected: str) -> None:
    assert found(memory, query)[:1] == [expected]


@pytest.mark.parametrize(
    ("query", "expected"),
    [("猫", "traditional"), ("貓", "traditional"), ("盘", "disk"), ("满", "disk"), ("群", "早报")],
)
def test_one_character_is_found_inside_any_word(memory: AgentMemory, query: str, expected: str) -> None:
    assert expected in found(memory, query)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("重跑gen-itgc后", "rerun"),
        ("gen-itgc", "rerun"),
        ("itgc", "rerun"),
        ("重跑", "rerun"),
        ("C盘", "disk"),
        ("c盘", "disk"),
        ("API配置", "api"),
        ("api", "api"),
        ("python3", "mixed"),
        ("python3.12", "mixed"),
        ("K8S", "mixed"),
        ("部署", "mixed"),
    ],
)
def test_latin_inside_chinese_is_found_alone_and_together(memory: AgentMemory, query: str, expected: str) -> None:
    assert found(memory, query)[:1] == [expected]


@pytest.mark.parametrize("query", ["CN-A10293", "cn-a10293", "A10293", "ＣＮ－Ａ１０２９３", "订单号CN-A10293"])
def test_an_identifier_is_found_whole_and_by_its_parts(memory: AgentMemory, query: str) -> None:
    assert found(memory, query)[:1] == ["order"]


def test_another_identifier_is_not_the_same(memory: AgentMemory) -> None:
    assert found(memory, "A10294") == []


@pytest.mark.parametrize("query", ["dell r740", "DELL", "Ｒ７４０", "r740", "ＤＥＬＬ　Ｒ７４０"])
def test_full_width_and_half_width_are_the_same(memory: AgentMemory, query: str) -> None:
    assert found(memory, query)[:1] == ["width"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("我们在台北的办公室养了一只猫", "traditional"),
        ("台北", "traditional"),
        ("臺北", "traditional"),
        ("办公室", "traditional"),
        ("辦公室", "traditional"),
        ("臺灣", "simplified"),
        ("學習", "simplified"),
        ("計算機", "simplified"),
        ("台湾", "simplified"),
        ("早報", "早报"),
        ("電話", "phone"),
        ("劉慈欣", "ragged"),
    ],
)
def test_traditional_and_simplified_find_each_other(memory: AgentMemory, query: str, expected: str) -> None:
    assert found(memory, query)[:1] == [expected]


@pytest.mark.parametrize("query", ["李小满", "小满", "刘慈欣", "黑暗森林", "三体"])
def test_a_name_the_dictionary_may_not_know_is_found(memory: AgentMemory, query: str) -> None:
    assert len(found(memory, query)) >= 1
    assert found(memory, query)[0] in {"name", "ragged"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("她女儿叫什么名字？", "name"),
        ("老王的电话号码是多少", "phone"),
        ("什么时候把早报发到群里？", "早报"),
        ("临时文件要不要清理", "disk"),
        ("订单什么时候发货", "order"),
    ],
)
def test_a_natural_question_finds_its_answer_first(memory: AgentMemory, query: str, expected: str) -> None:
    assert found(memory, query)[0] == expected


@pytest.mark.date_sensitive
@pytest.mark.parametrize("query", ["五月四日", "五月", "5月4日"])
def test_a_date_that_stands_in_a_text_is_found(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    # What is stored in May is also found by "May".
    monkeypatch.setattr(clock, "utc_now", lambda: datetime(2026, 10, 1, tzinfo=UTC))
    with AgentMemory.open(tmp_path_factory.mktemp("dates"), **QUICK) as memory:
        memory.store("birthday", "妈妈的生日是五月四日（5月4日）")
        memory.store("other", "爸爸喜欢钓鱼")
        assert keys(memory.recall(query, mode="keyword")) == ["birthday"]


def test_words_that_are_nowhere_find_nothing(memory: AgentMemory) -> None:
    assert found(memory, "量子纠缠") == []
    assert found(memory, "zyzzyva") == []


def test_the_matched_words_are_shown(memory: AgentMemory) -> None:
    hit = memory.recall("审计组", mode="keyword")[0]
    assert any("审计" in term for term in present(hit.explanation).matched_terms)


def test_a_chinese_key_tag_and_category_are_found_and_filtered(tmp_path_factory: pytest.TempPathFactory) -> None:
    with AgentMemory.open(tmp_path_factory.mktemp("words"), **QUICK) as memory:
        memory.store("生日", "晚上聚餐", "家庭", tags=["妈妈", "重要"])
        memory.store("纪念日", "中午聚餐", "家庭", tags=["重要"])
        assert keys(memory.recall("生日"))[0] == "生日"
        assert keys(memory.recall("妈妈")) == ["生日"]
        assert keys(memory.recall("聚餐", category="家庭", tags=["妈妈"])) == ["生日"]
        assert memory.recall("聚餐", category="家") == []
        assert memory.recall("聚餐", tags=["妈"]) == []


def test_words_of_ones_own_stay_whole(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("dictionary")
    (folder / "words.txt").write_text("# 我们的产品\n云麓智算 100 n\n", "utf-8")
    with AgentMemory.open(folder / "data", **QUICK, user_dictionary=folder / "words.txt") as memory:
        memory.store("product", "云麓智算下周发布")
        memory.store("weather", "云很多，智者会算")
        assert keys(memory.recall("云麓智算", mode="keyword"))[0] == "product"


def test_a_word_taught_later_reaches_what_was_stored_before(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("taught")
    with AgentMemory.open(folder, **QUICK) as memory, AgentMemory.open(folder, **QUICK) as another:
        memory.store("product", "我们下周发布云麓智算平台")
        before = present(memory.recall("云麓智算", mode="keyword")[0].explanation).matched_terms
        assert "云麓智算" not in before
        assert memory.add_word("云麓智算") is True
        assert another.add_word("云麓智算") is False
        for opened in (memory, another):
            (hit,) = opened.recall("云麓智算", mode="keyword")
            assert present(hit.explanation).matched_terms == ("云麓智算",)
    with AgentMemory.open(folder, **QUICK) as memory:
        assert present(memory.recall("云麓智算")[0].explanation).matched_terms == ("云麓智算",)


def test_a_chinese_question_finds_an_english_memory_by_meaning(
    tmp_path_factory: pytest.TempPathFactory, bundled_embedder: Embedder
) -> None:
    with AgentMemory.open(tmp_path_factory.mktemp("both"), **{**QUICK, "embedder": bundled_embedder}) as memory:
        memory.store("pet", "My dog is called Rex")
        memory.store("work", "The quarterly report is due on Friday")
        memory.store("天气", "明天北京会下大雨")
        assert memory.recall("我的狗叫什么名字")[0].key == "pet"
        assert memory.recall("季度报告什么时候交")[0].key == "work"
        assert memory.recall("Will it rain tomorrow in Beijing?")[0].key == "天气"
