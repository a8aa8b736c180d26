"""The list of memories, one memory, the search, and the forms that change a memory."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.server.console.browser import Parsed, Served, run


def test_the_overview_counts_what_the_scope_holds_and_names_the_last_changes(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        for number in range(12):
            await it.memory.store(f"tea-{number}", f"tea {number}", scope="alice", domain="user_preferences")
        browser = await it.logged_in("alice", "admin")
        page = await browser.parsed("/console")
        assert "12Memories" in page.text
        assert "Preferences12" in page.text.replace("\n", "").replace(" ", "")
        assert "All is well" in page.text
        assert [f"tea-{number}" in page.text for number in range(12)] == [True] * 12
        assert any(tag == "table" and found.get("id") == "growth" for tag, found in page.elements)
        await it.memory.store("coffee", "coffee", scope="alice")
        assert "13Memories" in (await browser.parsed("/console")).text
        assert "coffee" in (await browser.parsed("/console/changes")).text

    run(tmp_path, scenario)


def test_an_empty_scope_is_told_in_words_on_every_list(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice")
        for address in ("/console", "/console/entries"):
            assert "This scope has no memories yet" in (await browser.parsed(address)).text
        assert "Nothing was found" in (await browser.parsed("/console/search?q=tea")).text

    run(tmp_path, scenario)


def test_the_search_marks_words_and_draws_every_part_of_the_score(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.store("tea", "She drinks green tea every morning", scope="alice", tags=["drinks"])
        await it.memory.store("cat", "The cat sleeps", scope="alice")
        browser = await it.logged_in("alice")
        answer = await browser.get("/console/search?q=what+tea+does+she+drink&mode=keyword")
        page = Parsed(answer.text)
        assert "<mark>tea</mark>" in answer.text
        assert any(tag == "svg" and (found.get("aria-label") or "").startswith("words") for tag, found in page.elements)
        assert "text index: answered" in page.text
        for mode in ("hybrid", "tags", "longterm"):
            assert (await browser.get(f"/console/search?q=tea&mode={mode}")).status_code == 200

    run(tmp_path, scenario)


def test_the_search_says_when_nothing_fits_and_keeps_a_wrong_form(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.store("tea", "She drinks green tea in the big white house with many friends", scope="alice")
        browser = await it.logged_in("alice")
        unsure = await browser.parsed(
            "/console/search?q=Which+friends+play+chess+at+the+harbour+in+winter&mode=keyword"
        )
        assert "Nothing fits" in unsure.text or "Nothing was found" in unsure.text
        wrong = await browser.get("/console/search?q=tea&since=yesterday")
        assert wrong.status_code == 400
        assert "must be a date" in wrong.text
        assert 'value="tea"' in wrong.text

    run(tmp_path, scenario)


def test_dates_of_a_filter_are_days_of_the_user(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        evening = datetime(2026, 3, 4, 20, 0, tzinfo=UTC)  # the fifth of March in Shanghai
        await it.memory.store("tea", "green tea", scope="alice", occurred_at=evening)
        browser = await it.logged_in("alice")
        for days, shown in ((("2026-03-05", "2026-03-05"), True), (("2026-03-04", "2026-03-04"), False)):
            query = f"since={days[0]}&until={days[1]}"
            for address in (f"/console/entries?{query}", f"/console/search?q=green&mode=keyword&{query}"):
                page = await browser.parsed(address)
                assert ("green tea" in page.text) == shown, address

    run(tmp_path, scenario, settings={"time_zone": "Asia/Shanghai"})


def test_the_list_is_paged_by_cursor_and_filtered(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.store_many(
            [{"key": f"k{number:03}", "content": f"text {number}", "scope": "alice"} for number in range(120)]
        )
        await it.memory.store("tagged", "with a tag", scope="alice", tags=["rare"])
        browser = await it.logged_in("alice")
        seen: set[str] = set()
        address = "/console/entries?sort=key"
        while address:
            page = await browser.parsed(address)
            seen |= {link for link in page.links if link.startswith("/console/entries/")}
            following = [str(found["href"]) for tag, found in page.elements if found.get("rel") == "next"]
            address = following[0] if following else ""
        assert len(seen) == 121
        tagged = await browser.parsed("/console/entries?tags=rare")
        assert "with a tag" in tagged.text
        assert "text 1" not in tagged.text
        assert (await browser.get("/console/entries?cursor=nonsense")).status_code == 400

    run(tmp_path, scenario)


def test_an_edit_makes_a_version_and_the_page_shows_the_difference(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        text = "first line\n\n  second <line>\n"
        entry = await it.memory.store("tea", text, scope="alice", tags=["a", "b"], metadata={"n": 1})
        browser = await it.logged_in("alice")
        address = f"/console/entries/{entry.id}"
        unchanged = await browser.send(f"{address}/edit", f"{address}/edit")
        assert unchanged.status_code == 200
        assert (await it.memory.get("tea", scope="alice")) == entry, "saving without a change makes no version"
        changes = {
            "content": "first line\nthird line",
            "tags": "b, c",
            "domain": "user_preferences",
            "importance": "0.9",
            "metadata": '{"n": 2}',
            "expires_at": "2099-01-31T12:00",
        }
        shown = Parsed((await browser.send(f"{address}/edit", f"{address}/edit", changes)).text)
        now = await it.memory.get("tea", scope="alice")
        assert now is not None
        assert (now.content, now.tags, now.domain) == ("first line\nthird line", ("b", "c"), "user_preferences")
        assert (now.importance_score, dict(now.metadata), now.version) == (0.9, {"n": 2}, 2)
        assert "Saved." in shown.text
        assert "third line" in shown.text
        assert "second <line>" in shown.text
        await browser.send(f"{address}/edit", f"{address}/edit", {"tags": "", "expires_at": "", "domain": ""})
        now = await it.memory.get("tea", scope="alice")
        assert now is not None
        assert (now.tags, now.expires_at, now.domain) == ((), None, None)

    run(tmp_path, scenario)


def test_an_edit_of_a_version_that_is_over_saves_nothing_and_keeps_the_text(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        entry = await it.memory.store("tea", "green", scope="alice")
        browser = await it.logged_in("alice")
        address = f"/console/entries/{entry.id}/edit"
        form = (await browser.parsed(address)).form(address)
        await it.memory.update(entry.id, content="black", scope="alice")
        mine = {**dict(form.values), "content": "white, with sugar"}
        refused = await browser.post(address, mine)
        assert refused.status_code == 412
        again = Parsed(refused.text)
        assert "changed meanwhile" in again.text
        assert "black" in again.text
        assert dict(again.form(address).values)["content"] == "white, with sugar"
        current = await it.memory.get("tea", scope="alice")
        assert current is not None
        assert current.content == "black"
        saved = await browser.post(address, dict(again.form(address).values))
        assert saved.status_code == 200
        current = await it.memory.get("tea", scope="alice")
        assert current is not None
        assert current.content == "white, with sugar"

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("field", "value"),
    [("importance", "much"), ("metadata", "[1]"), ("metadata", "{"), ("expires_at", "soon"), ("category", "a/b")],
)
def test_a_value_that_cannot_be_is_told_and_what_was_typed_stays(tmp_path: Path, field: str, value: str) -> None:
    async def scenario(it: Served) -> None:
        entry = await it.memory.store("tea", "green", scope="alice")
        browser = await it.logged_in("alice")
        address = f"/console/entries/{entry.id}/edit"
        refused = await browser.send(address, address, {field: value, "content": "kept words"})
        assert refused.status_code == 400
        page = Parsed(refused.text)
        assert field in page.text
        assert dict(page.form(address).values)["content"] == "kept words"
        assert (await it.memory.get("tea", scope="alice")) == entry

    run(tmp_path, scenario)


def test_pin_forget_restore_and_erase_do_what_they_say(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        keyed = await it.memory.store("tea", "green tea", scope="alice", domain="user_preferences")
        loose = await it.memory.add("black tea", scope="alice")
        browser = await it.logged_in("alice", "write,erase")
        for entry in (keyed, loose):
            address = f"/console/entries/{entry.id}"
            assert "Pinned." in (await browser.send(address, f"{address}/pin")).text
            pinned = await it.memory.get(id=entry.id, scope="alice")
            assert pinned is not None
            assert pinned.pinned
            assert "No longer pinned" in (await browser.send(address, f"{address}/pin")).text
            assert "Forgotten; it can be brought back" in (await browser.send(address, f"{address}/forget")).text
            assert await it.memory.get(id=entry.id, scope="alice") is None
            restored = await browser.send(address, f"{address}/restore")
            assert "Restored." in restored.text
            back = str(restored.url).partition("?")[0].rpartition("/")[2]
            again = await it.memory.get(id=back, scope="alice")
            assert again is not None
            assert (again.content, again.key, again.domain) == (entry.content, entry.key, entry.domain)
            erase = f"/console/entries/{back}/erase"
            refused = await browser.send(erase, erase)
            assert refused.status_code == 400
            assert await it.memory.get(id=back, scope="alice") is not None
            assert "Erased for good" in (await browser.send(erase, erase, {"confirmed": "yes"})).text
            assert (await browser.get(f"/console/entries/{back}")).status_code == 404
            assert not [version for version in await it.memory.history(id=back, scope="alice") if version.entry]

    run(tmp_path, scenario)


def test_a_form_for_an_old_version_does_not_forget_the_new_one(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        entry = await it.memory.store("tea", "green tea", scope="alice")
        browser = await it.logged_in("alice")
        address = f"/console/entries/{entry.id}"
        form = (await browser.parsed(address)).form(f"{address}/forget")
        await it.memory.update(entry.id, content="black tea", scope="alice")
        refused = await browser.post(form.action, dict(form.values))
        assert refused.status_code == 412
        assert await it.memory.get(id=entry.id, scope="alice") is not None

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("rights", "read_only", "statuses"),
    [
        ("read", False, {"edit": 403, "pin": 403, "forget": 403, "restore": 403, "erase": 403}),
        ("read,write", False, {"erase": 403, "edit": 200}),
        ("erase", False, {"erase": 403, "forget": 403}),
        ("write,erase,admin", True, {"edit": 403, "pin": 403, "forget": 403, "erase": 403}),
    ],
)
def test_what_the_key_does_not_allow_is_neither_offered_nor_done(
    tmp_path: Path, rights: str, read_only: bool, statuses: dict[str, int]
) -> None:
    async def scenario(it: Served) -> None:
        entry = await it.memory.store("tea", "green tea", scope="alice")
        browser = await it.logged_in("alice", rights)
        address = f"/console/entries/{entry.id}"
        page = await browser.parsed(address)
        token = await browser.token()
        for action, status in statuses.items():
            offered = [*page.links, *(form.action for form in page.forms)]
            assert (f"{address}/{action}" in offered) == (status == 200), action
            fields = {"form_token": token, "confirmed": "yes", "version": "1", "content": "x", "category": "core"}
            more = {"memory_type": "fact", "importance": "0.5"}
            answer = await browser.post(f"{address}/{action}", {**fields, **more})
            assert answer.status_code == status, (action, answer.text[-600:])
        if 200 not in statuses.values():
            assert await it.memory.get("tea", scope="alice") == entry

    run(tmp_path, scenario, read_only=read_only)


def test_public_memories_are_shown_and_cannot_be_changed_with_the_key_of_another_scope(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        entry = await it.memory.store("rule", "The office opens at nine", scope="public")
        browser = await it.logged_in("alice", "write,erase")
        address = f"/console/entries/{entry.id}"
        page = await browser.parsed(address)
        assert "The office opens at nine" in page.text
        assert not [form.action for form in page.forms if form.action.startswith(address)]
        fields = {"form_token": await browser.token(), "confirmed": "yes", "version": "1", "pinned": "yes"}
        for action in ("pin", "forget", "erase"):
            assert (await browser.post(f"{address}/{action}", fields)).status_code == 403
        assert await it.memory.get("rule", scope="public") == entry

    run(tmp_path, scenario)
