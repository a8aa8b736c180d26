"""A page of entries in a notebook: a table in which no text of an entry is markup."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.listing import Page
from jiyi.sync import AgentMemory
from tests.support import examples


class Cells(HTMLParser):
    """The elements of a document, and the texts of the cells."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        assert not attrs
        if tag == "td":
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data


def shown(page: Page) -> Cells:
    cells = Cells()
    cells.feed(page._repr_html_())
    cells.close()
    return cells


def test_a_page_is_a_table_and_says_that_more_follows(memory: AgentMemory) -> None:
    for number in range(3):
        memory.store(f"k{number}", "<script>alert(1)</script>" + "x" * 300, tags=['a"b', "<i>"])
    first = memory.list(limit=2)
    cells = shown(first)
    assert cells.elements == {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert cells.texts[0] == "k2"
    assert cells.texts[1].startswith("<script>alert(1)</script>x")
    assert len(cells.texts[1]) == 200
    assert cells.texts[4] == 'a"b, <i>'
    assert "p" not in shown(memory.list()).elements


@settings(max_examples=examples(1))
@given(st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_any_text_is_only_text(text: str) -> None:
    now = clock.EPOCH
    entry = MemoryEntry(
        id="i", scope="s", key=text, content=text, tags=(text,), created_at=now, updated_at=now, last_accessed_at=now
    )
    cells = shown(Page([entry]))
    assert cells.elements == {"table", "thead", "tbody", "tr", "th", "td"}
    assert (cells.texts[0], cells.texts[1], cells.texts[4]) == (text, text, text)
