"""Single characters and identifiers find their text; another identifier of the same form is no answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from jiyi.errors import InvalidInputError
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from jiyi.text.identifiers import has_another, identifiers
from jiyi.text.plain_values import plain_values
from tests.support import present

OpenMemory = Callable[..., AgentMemory]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_a_single_character_finds_every_text_that_has_it(
    open_memory: OpenMemory, bundled_embedder: Embedder, mode: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("a", "周岚负责书画装裱")
    memory.store("b", "盐放在左边柜子里")
    memory.store("c", "我爱喝茶")
    for character, key in {"书": "a", "裱": "a", "岚": "a", "盐": "b", "柜": "b", "茶": "c"}.items():
        best = memory.recall(character, 1, mode=mode)[0]
        assert best.key == key, character
        assert present(best.relevance_score) >= MIN_RELEVANCE, character
    assert not memory.recall("鲸", mode=mode, min_relevance=MIN_RELEVANCE)


FACTS = {
    "flight": "航班CA1857",
    "router": "The router is an AX3000",
    "part": "The part number is CN-A10293",
    "isbn": "ISBN 978-3-16-148410-0",
    "version": "Version v2.3.1 is live",
    "address": "The IP is 10.20.8.15",
    "language": "C++ is my main language",
}


@pytest.fixture
def codes(open_memory: OpenMemory, bundled_embedder: Embedder) -> AgentMemory:
    memory = open_memory(embedder=bundled_embedder)
    memory.store_many({"key": key, "content": content} for key, content in FACTS.items())
    return memory


def test_an_identifier_is_found_by_its_parts_and_with_other_joints(codes: AgentMemory) -> None:
    for question, key in {
        "ca 1857": "flight",
        "1857": "flight",
        "ax 3000": "router",
        "3000": "router",
        "10293": "part",
        "cn a10293": "part",
        "9783161484100": "isbn",
        "2.3.1": "version",
        "10.20.8": "address",
    }.items():
        best = codes.recall(question, 1, min_relevance=MIN_RELEVANCE)[0]
        assert best.key == key, question


@pytest.mark.parametrize("question", ["CA1858", "CN-A10294", "v2.3.2", "10.20.8.16", "C#", "what is CN-A10294?"])
def test_another_identifier_of_the_same_form_is_no_answer(codes: AgentMemory, question: str) -> None:
    assert not codes.recall(question, min_relevance=MIN_RELEVANCE)


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("Is v2.3.1 newer than v2.3.0?", "v2.3.1 is live", False),
        ("INV-2026-0098", "Invoice INV_2026_0098", False),
        ("does my phone have 5G?", "My phone has 4G", False),
        ("when does BA2491 leave?", "BA2490 leaves at nine", True),
        ("发票INV_2026_0099", "INV_2026_0098没付", True),
        ("2026-05-14", "2026-05-15", False),
    ],
)
def test_only_another_thing_of_the_same_form_is_another_thing(question: str, text: str, other: bool) -> None:
    assert has_another(text, identifiers(question)) == other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rent is 1,200 euros", "Rent is 1200 euros"),
        ("房租每月三千八百元", "房租每月3800元"),
        ("The class starts at 8 pm", "The class starts at 20:00"),
        ("例会在下午三点", "例会在15:00"),
        ("Ben's birthday is on 4 May", "Ben's birthday is on May 4"),
        ("生日是五月四号", "生日是5月4日"),
        ("两万三千元", "23000元"),
    ],
)
def test_the_same_value_in_another_spelling_is_one_hit(open_memory: OpenMemory, one: str, other: str) -> None:
    assert plain_values(one) == plain_values(other)
    memory = open_memory()
    memory.add(one)
    memory.add(other)
    assert len(memory.recall(one)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("早上八点", "晚上八点"),
        ("at 8 am", "at 8 pm"),
        ("1,200 euros", "1,201 euros"),
        ("三千八", "三千零八"),
        ("4 May", "5 May"),
        ("万一", "10001"),
        ("一起去", "1起去"),
    ],
)
def test_other_values_and_words_stay_apart(one: str, other: str) -> None:
    assert plain_values(one) != plain_values(other)


def test_a_line_below_a_heading_and_the_same_fact_are_one_hit(open_memory: OpenMemory, tmp_path: Path) -> None:
    notes = tmp_path / "ws" / "memory"
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("# Health\n\n## Allergies\n\n- Lena is allergic to walnuts\n", encoding="utf-8")
    (notes / "b.md").write_text("# Anna\n\n- likes olives\n\n# Ben\n\n- likes olives\n", encoding="utf-8")
    memory = open_memory(workspace=tmp_path / "ws")
    memory.store("lena", "Lena is allergic to walnuts")
    assert len(memory.recall("What is Lena allergic to?")) == 1
    assert len(memory.recall("Who likes olives?")) == 2


def test_a_domain_or_type_that_nothing_has_is_named_in_the_notes(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.store("tea", "Lena likes tea", domain="work")
    assert "no entry here has the memory type 'mesage'" in memory.recall("tea", memory_types="mesage").notes
    assert "no entry here has the domain 'foo'" in memory.recall("tea", domains="foo").notes
    assert not any("domain" in note for note in memory.recall("kayak", domains="work").notes)


def test_a_flag_is_true_or_false_and_one_weight_is_above_zero(open_memory: OpenMemory) -> None:
    memory = open_memory()
    with pytest.raises(InvalidInputError, match="duplicates must be True or False"):
        memory.recall("tea", duplicates="yes")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="all 0"):
        memory.recall("tea", weights=(0, 0, 0))


def test_a_word_with_accents_is_matched_once(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.store("sister", "My sister Réka runs a bakery")
    assert memory.recall("Réka")[0].matched == ("réka",)
    assert memory.recall("Reka")[0].matched == ("reka",)
