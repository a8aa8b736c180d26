"""The console in a real Chromium: every page in every form, checked by axe, with keyboard, history and without scripts.

A new page is one line in `PAGES`. Its screenshots are in `build/console`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jiyi.apps.server.access import RIGHTS, Access
from tests.server.console.live import DESKTOP, PHONE, Form, Live, Scheme, Window

PAGES = {
    "overview": "/console",
    "search": "/console/search?q=peanuts",
    "entries": "/console/entries",
    "entry": "/console/entries/{entry}",
    "entry-edit": "/console/entries/{entry}/edit",
    "entry-erase": "/console/entries/{entry}/erase",
    "conversations": "/console/conversations",
    "conversation": "/console/conversation?id={session}",
    "window": "/console/conversation/window?id={session}",
    "longterm": "/console/longterm",
    "conflicts": "/console/longterm/conflicts",
    "replaced": "/console/longterm/replaced",
    "reflections": "/console/longterm/reflections",
    "forgetting": "/console/longterm/forgetting",
    "settings": "/console/settings",
    "timeline": "/console/timeline",
    "timeline-days": "/console/timeline?by=week&from=2026-08-03",
    "map": "/console/map",
    "notes": "/console/notes",
    "note": "/console/notes/files/{note}",
    "note-lines": "/console/notes/files/{day}?raw=yes",
    "note-authors": "/console/notes/files/{note}?raw=yes",
    "runtime": "/console/runtime?q=tea&plan=yes",
    "jobs": "/console/jobs",
    "keys": "/console/keys",
    "not-found": "/console/nowhere",
}
"""Name -> address; `{entry}`, `{session}`, `{note}` and `{day}` are those of the demonstration."""
FORMS = (
    Form("en", DESKTOP, "light"),
    Form("zh", PHONE, "dark"),
    Form("en", PHONE, "light"),
    Form("zh", DESKTOP, "dark"),
)
SHOTS = Path(__file__).parents[3] / "build" / "console"
_DRAG = """async () => {
  const canvas = document.querySelector("canvas");
  const at = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, {pointerId: 1, clientX: x, clientY: y}));
  canvas.setPointerCapture = () => {};
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  at("pointerdown", 300, 300);
  const begun = performance.now();
  for (let step = 0; step < 20; step += 1) {
    at("pointermove", 300 + step * 5, 300 + step * 3);
    await frame();
  }
  const mean = (performance.now() - begun) / 20;
  at("pointerup", 400, 360);
  return mean;
}"""
_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live")) as found:
        yield found


def address(live: Live, path: str) -> str:
    return path.format(entry=live.demo.entry, session=live.demo.session, note=live.demo.note, day=live.demo.day)


def expected(name: str) -> int:
    return 404 if name == "not-found" else 200


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_sound_in_both_languages_on_desktop_and_phone_in_light_and_dark(live: Live, name: str) -> None:
    async def look(form: Form) -> list[str]:
        window = await live.window(form)
        window.problems.clear()

        def heard() -> list[str]:
            # The browser itself reports the answer of a page that is not there.
            return [each for each in window.problems if expected(name) == 200 or "status of 404" not in each]

        assert await window.open(address(live, PAGES[name])) == expected(name)
        assert await window.page.get_attribute("html", "lang") == ("zh-CN" if form.language == "zh" else "en")
        found = await window.violations()
        wider = await window.page.evaluate(_WIDER)
        if wider > 0:
            found.append(f"the page is {wider} pixels wider than the window")
        await window.page.screenshot(path=SHOTS / f"{name}-{form.name}.png", full_page=True)
        if form in FORMS[2:]:
            return [f"{form.name}: {each}" for each in found + heard()]
        other: Scheme = "light" if form.scheme == "dark" else "dark"
        await window.page.emulate_media(color_scheme=other)
        found += await window.violations("color-contrast")
        await window.page.emulate_media(color_scheme=form.scheme)
        return [f"{form.name}: {each}" for each in found + heard()]

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


def test_who_wrote_a_line_is_told_without_scripts_and_leads_to_the_conversation(live: Live) -> None:
    async def read() -> None:
        window = await live.window(Form("en", scripts=False))
        await window.open(address(live, PAGES["note-authors"]))
        assert "accepted proposal (rules): agent" in await window.text()
        await window.page.click("text=from a conversation")
        assert "nothing with peanuts please" in await window.text(".selected")

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


def test_j_k_and_enter_walk_through_a_list_and_back_returns_to_it(live: Live) -> None:
    async def walk() -> None:
        window = await live.window(Form("en"))
        page = window.page
        await window.open("/console/entries")
        for key in ("j", "j", "k"):
            await page.keyboard.press(key)
        chosen = page.locator(".item.selected")
        assert await chosen.count() == 1
        first = await page.locator(".item").first.inner_text()
        assert await chosen.inner_text() == first
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/console/entries/*")
        assert await page.locator("main h1").count() == 1
        await page.go_back()
        assert page.url == f"{live.origin}/console/entries"
        assert await page.locator(".item").count() > 1

    live.run(walk())


def test_the_map_is_drawn_zoomed_and_opens_the_memory_that_is_clicked(live: Live) -> None:
    async def wander() -> None:
        window = await live.window(Form("en"))
        page = window.page
        await window.open("/console/map")
        drawn = page.locator("[data-map][data-drawn]")
        await drawn.wait_for()
        count = int(await drawn.get_attribute("data-drawn") or "0")
        assert count == await live.memory.count()
        answer = await page.evaluate("fetch('/console/map/points').then((answer) => answer.json())")
        x, y, _ = answer["points"][0]
        box = await page.locator("canvas").bounding_box()
        assert box is not None
        left = box["x"] + box["width"] / 2 + x / 1000 * box["width"] / 2.2
        top = box["y"] + box["height"] / 2 - y / 1000 * box["height"] / 2.2
        await page.mouse.move(left, top)
        tip = page.locator(".map-tip")
        await tip.wait_for(state="visible")
        assert await tip.inner_text() in answer["labels"]
        before = await page.evaluate("document.querySelector('canvas').toDataURL()")
        await page.locator("canvas").focus()
        await page.keyboard.press("+")
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert await page.evaluate("document.querySelector('canvas').toDataURL()") != before
        await page.keyboard.press("0")
        await page.mouse.click(left, top)
        await page.wait_for_url("**/console/entries/*")
        assert page.url.rsplit("/", 1)[1] in answer["ids"]

    live.run(wander())


def test_twenty_thousand_points_are_drawn_and_moved_without_a_long_pause(live: Live) -> None:
    async def wander() -> float:
        context = await live.context(Form("en"))
        window = Window(await context.new_page(), live.origin)
        window.listen()
        ticket = live.logins.ticket(Access("alice", frozenset(RIGHTS)))
        await window.open(f"/console/open?ticket={ticket}")
        points = [[(n * 7919) % 2000 - 1000, (n * 104_729) % 2000 - 1000, n % 12] for n in range(20_000)]
        many = {
            "points": points,
            "ids": [f"id{n}" for n in range(20_000)],
            "labels": [f"memory {n}" for n in range(20_000)],
            "groups": [f"group {n}" for n in range(12)],
        }
        await window.page.route("**/console/map/points", lambda route: route.fulfill(json=many))
        await window.open("/console/map")
        await window.page.locator("[data-map][data-drawn='20000']").wait_for()
        milliseconds: float = await window.page.evaluate(_DRAG)
        assert window.problems == []
        await context.close()
        return milliseconds

    # A frame of 60 in a second has 16 ms. This leaves room for a machine without a graphics card under load.
    assert live.run(wander()) < 250
