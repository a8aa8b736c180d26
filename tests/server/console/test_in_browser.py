"""The console in a real Chromium: every page in every form, checked by axe, with keyboard, history and without scripts.

A new page is one line in `PAGES`. Its screenshots are in `build/console`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.console.live import DESKTOP, PHONE, Form, Live, Scheme, Window

PAGES = {
    "overview": "/console",
    "not-found": "/console/nowhere",
}
"""Name -> address; `{entry}`, `{session}` and `{note}` are those of the demonstration."""
FORMS = (
    Form("en", DESKTOP, "light"),
    Form("zh", PHONE, "dark"),
    Form("en", PHONE, "light"),
    Form("zh", DESKTOP, "dark"),
)
SHOTS = Path(__file__).parents[3] / "build" / "console"
_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live")) as found:
        yield found


def address(live: Live, path: str) -> str:
    return path.format(entry=live.demo.entry, session=live.demo.session, note=live.demo.note)


def expected(name: str) -> int:
    return 404 if name == "not-found" else 200


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_sound_in_both_languages_on_desktop_and_phone_in_light_and_dark(live: Live, name: str) -> None:
    async def look(form: Form) -> list[str]:
        window = await live.window(form)
        window.problems.clear()
        assert await window.open(address(live, PAGES[name])) == expected(name)
        assert await window.page.get_attribute("html", "lang") == ("zh-CN" if form.language == "zh" else "en")
        found = await window.violations()
        wider = await window.page.evaluate(_WIDER)
        if wider > 0:
            found.append(f"the page is {wider} pixels wider than the window")
        await window.page.screenshot(path=SHOTS / f"{name}-{form.name}.png", full_page=True)
        other: Scheme = "light" if form.scheme == "dark" else "dark"
        await window.page.emulate_media(color_scheme=other)
        found += await window.violations("color-contrast")
        await window.page.emulate_media(color_scheme=form.scheme)
        # The browser itself reports the answer of a page that is not there.
        heard = [each for each in window.problems if expected(name) == 200 or "status of 404" not in each]
        return [f"{form.name}: {each}" for each in found + heard]

    found = [problem for form in FORMS for problem in live.run(look(form))]
    assert found == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read_without_scripts(live: Live, name: str) -> None:
    async def read() -> None:
        window = await live.window(Form("en", scripts=False))
        assert await window.open(address(live, PAGES[name])) == expected(name)
        assert len(await window.text("main h1")) > 0
        assert "Loading" not in await window.text()

    live.run(read())


def test_the_checks_find_what_is_wrong_with_a_page(live: Live) -> None:
    async def look() -> tuple[list[str], list[str]]:
        window = Window(await (await live.context(Form("en"))).new_page(), live.origin)
        window.listen()
        await window.page.set_content(
            "<html><body><img src=http://elsewhere.example/x.png><a href=#></a><p style='color:#eee'>pale</p>"
            "<script>throw new Error('broken')</script></body></html>"
        )
        return await window.violations(), window.problems

    violations, problems = live.run(look())
    assert {"image-alt", "html-has-lang", "color-contrast", "link-name"} <= {each.split(":")[0] for each in violations}
    assert any("foreign request" in each for each in problems)
    assert any("broken" in each for each in problems)


def test_the_keyboard_reaches_the_search_and_the_help(live: Live) -> None:
    async def press() -> None:
        window = await live.window(Form("en"))
        page = window.page
        await window.open("/console")
        await page.keyboard.press("?")
        assert await page.locator("#keyboard").is_visible()
        await page.keyboard.press("?")
        assert not await page.locator("#keyboard").is_visible()
        await page.keyboard.press("/")
        assert await page.evaluate("document.activeElement.name") == "q"
        await page.keyboard.type("peanuts /?jk")
        assert await page.input_value("#quick") == "peanuts /?jk"

    live.run(press())
