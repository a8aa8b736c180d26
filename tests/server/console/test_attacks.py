"""Stored text never becomes markup, and two keys never see one another, on any page."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from jiyi.apps.server.console.markdown import ATTRIBUTES, ELEMENTS, to_html
from jiyi.apps.server.console.texts import CATALOGUE, LANGUAGES
from tests.server.console.attacks import ATTACKS
from tests.server.console.browser import Browser, Parsed, Served, run

OWN_ELEMENTS = {
    *("html", "head", "meta", "title", "link", "script", "body", "a", "header", "form", "input", "button", "div"),
    *(
        "span",
        "nav",
        "ul",
        "ol",
        "li",
        "main",
        "p",
        "h1",
        "h2",
        "h3",
        "footer",
        "noscript",
        "dialog",
        "dl",
        "dt",
        "dd",
        "kbd",
    ),
    *("section", "article", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "label", "select"),
    *(
        "canvas",
        "caption",
        "fieldset",
        "legend",
        "circle",
        "option",
        "textarea",
        "time",
        "bdi",
        "svg",
        "rect",
        "mark",
        "pre",
        "code",
        "blockquote",
        "del",
    ),
}
SCRIPTED = re.compile(r"^(on|style$|srcdoc$|formaction$|xlink)")
OWN_ATTRIBUTES = {
    *("lang", "charset", "name", "content", "rel", "href", "src", "defer", "type", "class", "id", "title", "action"),
    *("method", "value", "role", "aria-label", "aria-labelledby", "aria-current", "aria-live", "aria-hidden", "scope"),
    *("placeholder", "dir", "autocomplete", "maxlength", "hreflang", "tabindex", "datetime", "for", "rows", "required"),
    *("data-live", "data-table", "data-time", "data-value", "hx-get", "hx-trigger", "hx-swap", "hx-target", "readonly"),
    *("data-map", "data-reload", "data-zoom", "data-group", "cx", "cy", "r", "min", "max"),
    *("spellcheck", "selected", "checked", "open", "inputmode", "viewbox", "preserveaspectratio", "width", "height"),
}
LOCAL = ("/console", "#", "http://", "https://", "mailto:")


def check_harmless(html: str, where: str) -> None:
    """Only elements and attributes that the templates and the Markdown renderer write, and no script of a stranger."""
    for tag, attributes in Parsed(html).elements:
        assert tag in OWN_ELEMENTS | ELEMENTS, (where, tag, attributes)
        for name, value in attributes.items():
            assert name in OWN_ATTRIBUTES | ATTRIBUTES, (where, tag, name, value)
            assert not SCRIPTED.match(name), (where, tag, name)
        if tag == "script":
            assert (attributes.get("src") or "").startswith("/console/static/"), (where, attributes)
        for name in ("href", "action", "src"):
            address = (attributes.get(name) or "").strip().lower()
            assert not address or address.startswith(LOCAL), (where, address)


async def fill(it: Served, scope: str, texts: list[str]) -> list[str]:
    """Put texts into every place that a page may show, and return the addresses of the pages."""
    memory = it.memory
    pages = ["/console", "/console/changes", "/console/numbers", "/console/entries", "/console/conversations"]
    pages += ["/console/longterm", "/console/longterm/conflicts", "/console/longterm/replaced"]
    pages += ["/console/timeline", "/console/timeline?by=day&from=2026-11-16", "/console/map", "/console/jobs"]
    pages += ["/console/notes", "/console/runtime", "/console/keys"]
    pages += ["/console/longterm/reflections", "/console/longterm/forgetting", "/console/search"]
    for number, text in enumerate(texts):
        key = f"{number} {text}"[:500].strip()
        entry = await memory.store(
            key,
            text + " teapot",
            scope=scope,
            tags=[text[:60]] if text.strip() else None,
            metadata={re.sub(r'["\\\x00-\x1f]', "", text)[:60]: text},
            domain="user_preferences",
        )
        if number % 10 == 0:
            await memory.update(entry.id, content=f"{text}\n<b>{text}</b> teapot", scope=scope)
            pages += [f"/console/entries/{entry.id}/edit", f"/console/entries/{entry.id}/erase"]
        pages += [f"/console/entries/{entry.id}"]
        if number % 5 == 0:
            session = text[:200].strip() or "empty"
            chat = memory.chat(session, scope=scope)
            await chat.put({"role": "user", "name": "x", "content": f"{text} teapot"})
            await chat.put(
                {"role": "assistant", "content": None, "tool_calls": [{"id": text, "function": {"name": text}}]}
            )
            pages += [f"/console/conversation{part}?id={quote(session, safe='')}" for part in ("", "/window")]
            pages += [f"/console/search?q={quote(text[:300] + ' teapot', safe='')}&mode=keyword"]
            pages += [f"/console/entries?tags={quote(text[:60], safe='')}&cursor={quote(text[:60], safe='')}"]
            pages += [f"/console/{quote(text[:60], safe='')}", f"/console/notes/files/{quote(text[:60], safe='')}"]
            pages += [
                f"/console/runtime?q={quote(text[:60], safe='')}",
                f"/console/runtime?tag={quote(text[:60], safe='')}",
            ]
            pages += [f"/console/{page}={quote(text[:60], safe='')}" for page in ("timeline?from", "jobs?state")]
    return pages


def test_two_hundred_attacks_stay_text_on_every_page(tmp_path: Path) -> None:
    assert len(set(ATTACKS)) >= 200

    async def scenario(it: Served) -> None:
        pages = await fill(it, "main", list(ATTACKS))
        browser = await it.logged_in("main", "write,erase,admin")
        statuses: Counter[int] = Counter()
        for address in [*pages, "/console/settings"]:
            answer = await browser.get(address)
            statuses[answer.status_code] += 1
            check_harmless(answer.text, address)
        assert statuses[200] >= 200
        assert not {status for status in statuses if status >= 500}, statuses

    run(tmp_path, scenario)


def test_every_attack_can_be_read_as_it_was_written(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("main")
        for text in ATTACKS[::7]:
            entry = await it.memory.store("k", text, scope="main")
            page = await browser.parsed(f"/console/entries/{entry.id}/edit")
            typed = dict(page.form(f"/console/entries/{entry.id}/edit").values)["content"]
            assert typed == entry.content.replace("\r\n", "\n").replace("\r", "\n"), text
            await it.memory.forget("k", scope="main", erase=True)

    run(tmp_path, scenario)


@pytest.mark.parametrize("text", ATTACKS, ids=range(len(ATTACKS)))
def test_markdown_of_an_attack_has_only_elements_of_the_list(text: str) -> None:
    for form in (
        text,
        f"- {text}\n\n> {text}\n\n```{text}\n{text}\n```\n",
        f"[{text}]({text})",
        f"# {text}\n|{text}|b|\n|-|-|\n",
    ):
        for tag, attributes in Parsed(str(to_html(form))).elements:
            assert tag in ELEMENTS, (tag, form)
            assert set(attributes) <= ATTRIBUTES, (attributes, form)
            address = (attributes.get("href") or "http:").lower()
            assert address.startswith(("http:", "https:", "mailto:")), form


def test_keys_with_look_alike_scopes_never_see_one_another(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        pages = await fill(it, "alice", ["canary one", "canary two"])
        await it.memory.longterm.extract_and_store_memories_for_round("alice", "c", "I love my canary in Lyon.", "")
        await it.memory.chat("canary one", scope="alice").flush()
        own = await it.logged_in("alice")
        assert "canary" in (await own.get("/console/entries")).text
        for scope in ("bob", "alic", "alice2", "ALICE", "group:alice"):
            kind: dict[str, Any] = {"kind": "group"} if scope.startswith("group:") else {}
            browser = await it.logged_in(scope, "write,erase", **kind)
            questions = [f"/console/search?q=teapot&mode={mode}" for mode in ("keyword", "tags", "longterm")]
            for address in [*pages, *questions]:
                answer = await browser.get(address)
                if "canary" not in address:
                    assert "canary" not in answer.text, (scope, address)
                elif address.startswith("/console/conversation"):
                    assert answer.status_code == 404, (scope, address)
            token = await browser.token()
            fields = {"form_token": token, "content": "stolen", "version": "1", "confirmed": "yes", "pinned": "yes"}
            for entry in await it.memory.list(scope="alice"):
                for action in ("edit", "pin", "forget", "restore", "erase"):
                    answer = await browser.post(f"/console/entries/{entry.id}/{action}", fields)
                    assert answer.status_code == 404, (scope, action)
                    assert await it.memory.get(id=entry.id, scope="alice") == entry

    run(tmp_path, scenario)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_shown_in_both_languages_without_a_script(tmp_path: Path, language: str) -> None:
    async def scenario(it: Served) -> None:
        pages = await fill(it, "main", ["plain words"])
        browser = await it.logged_in("main", "write,erase,admin", language=language)
        for address in [*pages, "/console/settings", "/console/login", "/console/health"]:
            answer = await browser.get(address)
            if answer.status_code == 200 and "<html" in answer.text:
                assert f'<html lang="{"zh-CN" if language == "zh" else "en"}"' in answer.text
                assert len(re.findall(r"<h1[ >]", answer.text)) == 1, address
                assert await _links_lead_somewhere(browser, answer.text), address

    run(tmp_path, scenario)


async def _links_lead_somewhere(browser: Browser, html: str) -> bool:
    """Every link of a page leads to a page."""
    for link in {each for each in Parsed(html).links if each.startswith("/console") and "lang=" not in each}:
        answer = await browser.client.get(link)
        assert answer.status_code in {200, 303}, (link, answer.status_code)
    return True


def test_every_text_is_there_in_both_languages_with_the_same_values() -> None:
    for name, texts in CATALOGUE.items():
        assert len(texts) == len(LANGUAGES), name
        assert all(text.strip() for text in texts), name
        fields = [sorted(re.findall(r"\{(\w+)\}", text)) for text in texts]
        assert fields[0] == fields[1], name


def test_no_template_marks_a_text_as_safe_and_every_text_that_it_names_exists() -> None:
    root = Path(__file__).parents[3] / "src/jiyi/apps/server/console"
    for file in [*root.glob("templates/*.html"), *root.glob("*.py")]:
        source = file.read_text("utf-8")
        assert not re.search(r"\|\s*safe\b|autoescape false", source), file.name
        if file.name != "markdown.py":
            assert not re.search(r"Markup\([^\"']", source), file.name
        for name in re.findall(r"""\bt\(["']([a-z_.]+)["']\s*[,)]""", source):
            assert name in CATALOGUE, (file.name, name)
