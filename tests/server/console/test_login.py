"""Getting into the console, staying out of it, and the checks of every form."""

from __future__ import annotations

from pathlib import Path

import pytest

from jiyi.apps.server.access import RIGHTS, Access
from jiyi.apps.server.logins import IDLE_SECONDS, LIFE_SECONDS, Logins
from tests.server.console.browser import ORIGIN, Parsed, Served, run


def test_a_key_opens_the_console_and_logging_out_closes_it(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = it.browser()
        shown = await browser.get("/console")
        assert str(shown.url).startswith(f"{ORIGIN}/console/login")
        before = dict(browser.client.cookies)
        answer = await browser.log_in(it.keys.add("laptop", "alice")[1])
        assert "Overview" in Parsed(answer.text).text
        assert dict(browser.client.cookies) != before, "the cookie is new after the login"
        out = await browser.send("/console", "/console/logout")
        assert "You are logged out" in out.text
        assert str((await browser.get("/console")).url).startswith(f"{ORIGIN}/console/login")

    run(tmp_path, scenario)


def test_after_the_login_the_page_that_was_asked_for_is_shown(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = it.browser()
        token = it.keys.add("laptop", "alice")[1]
        answer = await browser.send("/console/changes?x=1", "/console/login", {"key": token})
        assert str(answer.url) == f"{ORIGIN}/console/changes?x=1"
        for evil in (
            "https://evil.example/",
            "//evil.example",
            "/console/../v1",
            "/consolex",
            "\\\\evil",
            "javascript:1",
        ):
            other = it.browser()
            shown = await other.send("/console/login", "/console/login", {"key": token, "next": evil})
            assert str(shown.url).startswith(f"{ORIGIN}/console"), evil

    run(tmp_path, scenario)


def test_the_cookie_cannot_be_read_by_scripts_or_sent_by_other_sites(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        answer = await it.browser().client.get("/console/login")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "path=/console" in cookie

    run(tmp_path, scenario)


def test_wrong_keys_are_refused_and_then_have_to_wait(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = it.browser()
        good = it.keys.add("laptop", "alice")[1]
        statuses = [(await browser.log_in(wrong)).status_code for wrong in (good[:-1] + "!", "x", "", good + "x")]
        assert statuses == [403, 403, 403, 429]
        assert (await browser.log_in(good)).status_code == 429

    run(tmp_path, scenario, failures=3)


@pytest.mark.parametrize("end", ["revoked", "rotated"])
def test_a_login_ends_with_its_key(tmp_path: Path, end: str) -> None:
    async def scenario(it: Served) -> None:
        key, token = it.keys.add("laptop", "alice")
        browser = it.browser()
        await browser.log_in(token)
        assert str((await browser.get("/console")).url) == f"{ORIGIN}/console"
        assert it.keys.revoke(key.id) if end == "revoked" else it.keys.rotate(key.id)
        assert "/console/login" in str((await browser.get("/console")).url)

    run(tmp_path, scenario)


def test_a_login_ends_when_it_is_not_used_and_after_half_a_day(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        now = 0.0
        logins = Logins(it.keys, now=lambda: now)

        async def enters(session_id: str) -> bool:
            cookie = f"jiyi_session_80={session_id}".encode()
            return await logins.access_of({"headers": [(b"cookie", cookie)], "server": ("", 80)}) is not None

        access = Access("alice", frozenset(RIGHTS))
        idle = logins.use_ticket(logins.ticket(access), "here")
        busy = logins.use_ticket(logins.ticket(access), "here")
        assert idle is not None
        assert busy is not None
        while now < LIFE_SECONDS:
            assert await enters(busy[0])
            now += IDLE_SECONDS / 2
        assert not await enters(idle[0])
        now += 1
        assert not await enters(busy[0])

    run(tmp_path, scenario)


def test_the_one_time_link_works_once(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        ticket = it.logins.ticket(Access("main", frozenset(RIGHTS)))
        first, second = it.browser(), it.browser()
        assert str((await first.get(f"/console/open?ticket={ticket}")).url) == f"{ORIGIN}/console"
        assert (await second.get(f"/console/open?ticket={ticket}")).status_code == 403
        assert "/console/login" in str((await second.get("/console")).url)

    run(tmp_path, scenario)


def test_on_loopback_without_keys_no_login_is_needed(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        parsed = await it.browser().parsed("/console")
        assert "Overview" in parsed.text
        assert "/console/logout" not in [form.action for form in parsed.forms]

    run(tmp_path, scenario, anonymous=Access("main", frozenset(RIGHTS)))


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:9999", "Sec-Fetch-Site": "same-site"},
        {"Origin": "null"},
        {"Origin": "", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "", "Sec-Fetch-Site": "none"},
        {"Origin": "", "Sec-Fetch-Site": ""},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
    ],
)
def test_forms_of_other_origins_are_refused_even_with_the_right_token(tmp_path: Path, headers: dict[str, str]) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice")
        token = await browser.token()
        refused = await browser.post("/console/logout", {"form_token": token}, **headers)
        assert refused.status_code == 403
        assert str((await browser.get("/console")).url) == f"{ORIGIN}/console", "still logged in"

    run(tmp_path, scenario)


def test_a_form_needs_the_token_of_its_own_browser(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser, other = await it.logged_in("alice"), await it.logged_in("alice")
        for token in ("", "x", "0" * 64, await other.token(), "é"):
            refused = await browser.post("/console/logout", {"form_token": token})
            assert refused.status_code == 403, token
            assert "too old" in refused.text
        wrong_type = await browser.client.post("/console/logout", json={}, headers={"Origin": ORIGIN})
        assert wrong_type.status_code == 415
        assert (await browser.post("/console/logout", {"form_token": await browser.token()})).status_code == 200

    run(tmp_path, scenario)


def test_what_was_typed_is_shown_again_when_a_form_is_refused_but_never_a_key(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice")
        fields = {"form_token": "old", "key": "jy_secret", "content": "a long <text>\nthat took an hour"}
        refused = await browser.post("/console/logout", fields)
        parsed = Parsed(refused.text)
        assert "a long <text>\nthat took an hour" in parsed.text
        assert "jy_secret" not in refused.text

    run(tmp_path, scenario)


def test_every_answer_carries_the_headers_that_keep_pages_safe(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice")
        for address in ("/console", "/console/login", "/console/nowhere", "/console/static/console.js"):
            headers = (await browser.client.get(address)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["x-frame-options"] == "DENY"
            assert headers["cache-control"] == "no-store"
        versioned = [str(each["src"]) for tag, each in (await browser.parsed("/console")).elements if tag == "script"]
        assert all(src.startswith("/console/static/") for src in versioned)
        for src in versioned:
            assert "immutable" in (await browser.client.get(src)).headers["cache-control"]

    run(tmp_path, scenario)


def test_logins_and_changes_stand_in_the_access_log(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        key, token = it.keys.add("laptop", "alice")
        browser = it.browser()
        await browser.log_in(token)
        await browser.send("/console", "/console/logout")
        await it.audit.write()
        lines = [(line.action, line.key_id, line.scope) for line in it.keys.logged()]
        assert lines == [
            ("POST /console/logout", key.id, "alice"),
            ("POST /console/login", key.id, "alice"),
        ]

    run(tmp_path, scenario)


def test_an_address_that_leads_nowhere_is_a_page_in_both_languages(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        for language, words in (("en", "There is no such page"), ("zh-CN,zh;q=0.9", "没有这个页面")):
            answer = await (await it.logged_in("alice", language=language)).get("/console/nowhere/<script>")
            assert answer.status_code == 404
            assert words in answer.text

    run(tmp_path, scenario)


def test_the_language_is_that_of_the_browser_until_another_is_chosen(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice", language="fr, zh-CN;q=0.8, en;q=0.2")
        assert "概览" in (await browser.get("/console")).text
        assert "Overview" in (await browser.get("/console?lang=en")).text
        assert "Overview" in (await browser.get("/console")).text
        assert "Overview" in (await browser.get("/console?lang=xx")).text

    run(tmp_path, scenario)


def test_strange_cookies_of_other_programs_and_absurd_addresses_harm_nobody(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice")
        name, value = next((each.name, each.value) for each in browser.client.cookies.jar if "session" in each.name)
        strange = f'a={{"b":[1,2]}}; =; ;;; c"d=e; {name}={value}; x=\\'
        answer = await it.browser().client.get("/console", headers={"Cookie": strange})
        assert answer.status_code == 200
        many = "&".join(f"a{number}=1" for number in range(5_000))
        assert (await browser.get(f"/console?{many}")).status_code == 200
        assert (await browser.get("/console?%FF%00=%C3&q=%80")).status_code == 200
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            lost = await browser.client.request(method, "/console/entries", headers={"Origin": ORIGIN})
            assert lost.status_code == 404
            assert "There is no such page" in lost.text

    run(tmp_path, scenario)
