"""Timeline, notes, runtime, jobs, scopes and keys: what a person does there, and what a key does not allow."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jiyi.model import clock
from jiyi.model.job import JobDraft
from jiyi.testing.models import ScriptedModel
from tests.server.console.attacks import ATTACKS
from tests.server.console.browser import Parsed, Served, run
from tests.server.console.demo_store import workspace_in
from tests.server.console.test_attacks import check_harmless

TOKEN = re.compile(r"jy_[0-9a-f]{12}_[A-Za-z0-9_-]{43}")


# --- timeline -------------------------------------------------------------------------------------------------------


def test_the_timeline_counts_by_period_and_leads_to_the_memories_of_one(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        begin = datetime(2026, 3, 2, 12, tzinfo=UTC)
        for day in (0, 1, 40, 41, 42, 300):
            domain = "user_preferences" if day % 2 else "tasks_and_schedules"
            moment = begin + timedelta(days=day)
            await it.memory.store(f"day{day}", f"day {day}", scope="alice", occurred_at=moment, domain=domain)
        await it.memory.store("foreign", "of bob", scope="bob", occurred_at=begin)
        browser = await it.logged_in("alice")
        months = await browser.parsed("/console/timeline")
        assert re.search(r"2026-03\s+2\s", months.text)
        assert re.search(r"2026-04\s+3\s", months.text)
        march = next(link for link in months.links if "from=2026-03-01" in link)
        shown = await browser.parsed(march)
        assert "day1" in shown.text
        assert "day40" not in shown.text
        assert "foreign" not in shown.text
        closer = next(link for link in months.links if "by=week" in link and "end=2026-04-30" in link)
        weeks = await browser.parsed(closer)
        assert re.search(r"2026-04-06 – 04-12\s+2\s", weeks.text), weeks.text
        only = await browser.parsed("/console/timeline?domain=user_preferences")
        assert re.search(r"2026-04\s+1\s", only.text)

    run(tmp_path, scenario, settings={"time_zone": "UTC"})


def test_a_long_timeline_goes_back_page_by_page_to_its_first_memory(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        begin = datetime(2020, 1, 15, tzinfo=UTC)
        for month in range(0, 70, 3):
            await it.memory.store(f"m{month}", "text", scope="alice", occurred_at=begin + timedelta(days=30 * month))
        browser = await it.logged_in("alice")
        address, total = "/console/timeline", 0
        while address:
            page = await browser.parsed(address)
            total += sum(int(found) for found in re.findall(r"\d{4}-\d\d\s+(\d+)\s", page.text))
            earlier = [link for link in page.links if "end=" in link and "from=" not in link and "by=" not in link]
            older = [link for link in earlier if link != address and _end(link) < (_end(address) or "9999")]
            address = min(older, key=_end) if older and "Earlier" in page.text else ""
        assert total == 24

    def _end(link: str) -> str:
        found = re.search(r"end=([0-9-]+)", link)
        return found.group(1) if found else ""

    run(tmp_path, scenario, settings={"time_zone": "UTC"})


@pytest.mark.parametrize(
    "query", ["by=year", "from=yesterday", "end=0001-01-01", "domain=x", "room=note", "from=9999-12-31"]
)
def test_a_timeline_that_cannot_be_says_what_is_wrong(tmp_path: Path, query: str) -> None:
    async def scenario(it: Served) -> None:
        answer = await (await it.logged_in("alice")).get(f"/console/timeline?{query}")
        assert answer.status_code == 400
        assert "must be" in answer.text

    run(tmp_path, scenario)


# --- notes ----------------------------------------------------------------------------------------------------------


def test_notes_are_read_with_their_authors_and_proposals_settled_item_by_item(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path / "notes")

    async def scenario(it: Served) -> None:
        written = await it.memory.notes.memory_append("I decided to write the service in Rust.")
        await it.memory.notes.memory_append("Remember that I am allergic to peanuts.")
        day = workspace / written.path
        day.write_text(day.read_text("utf-8") + "\nA line by hand <b>bold</b>\n", "utf-8")
        browser = await it.logged_in("main")
        lines = await browser.parsed(f"/console/notes/files/{written.path}?raw=yes")
        assert "agent" in lines.text
        assert "by hand" in lines.text
        assert "<b>bold</b>" in lines.text
        made = await browser.send("/console/notes", "/console/notes/propose")
        assert "No file was changed" in made.text
        page = await browser.parsed("/console/notes")
        form = page.form("/console/notes/settle")
        items = [value for name, value in form.values if name == "item"]
        assert len(items) == 2
        base = [(name, value) for name, value in form.values if name != "item"]
        await browser.post(form.action, [*base, ("item", items[1]), ("verdict", "reject")])
        accepted = await browser.post(form.action, [*base, ("item", items[0]), ("verdict", "accept")])
        assert "in MEMORY.md now" in accepted.text
        text = (workspace / "MEMORY.md").read_text("utf-8")
        assert "Rust" in text
        assert "peanuts" not in text
        again = await browser.post(form.action, [*base, ("item", items[0]), ("verdict", "accept")])
        assert again.status_code == 409

    run(tmp_path, scenario, settings={"workspace": workspace})


AUTHOR = re.compile(r'<li id="line-(\d+)"[^>]*>.*?<span class="author"[^>]*>(.*?)</span>', re.DOTALL)


def authors_on(page: str) -> dict[int, str]:
    """What the page says about the author of each line, without its markup."""
    return {
        int(number): re.sub(r"<[^>]+>", "", text.replace("<br>", " ")).strip() for number, text in AUTHOR.findall(page)
    }


@pytest.mark.parametrize(
    ("language", "labels"),
    [
        ("en", ("by hand", "accepted proposal (rules): agent", "promoted: user", "from a conversation")),
        ("zh", ("手写", "已接受的提议 (规则): 智能体", "提升: 用户", "来自对话")),
    ],
)
def test_every_line_of_memory_md_says_who_wrote_it(
    tmp_path: Path, language: str, labels: tuple[str, str, str, str]
) -> None:
    workspace = workspace_in(tmp_path / "notes")
    hand, proposed, promoted, from_conversation = labels

    async def scenario(it: Served) -> None:
        chat = it.memory.chat("dinner & more", scope="main")
        await chat.put_many([{"role": "user", "content": f"message {number}"} for number in range(3)])
        place = (await chat.messages())[1]
        said = f"chat:dinner%20%26%20more#{place.position}"
        await it.memory.notes.memory_append("I decided to write the service in Rust.", source=said)
        kept = await it.memory.notes.memory_append("Lin plays the violin", by="user", source="chat:erased#4")
        await it.memory.notes.accept(await it.memory.notes.curate())
        await it.memory.notes.promote(kept.id, section="People")
        browser = await it.logged_in("main")
        page = await browser.get(f"/console/notes/files/MEMORY.md?raw=yes&lang={language}")
        authors = authors_on(page.text)
        lines = {line: authors[n] for n, line in enumerate((workspace / "MEMORY.md").read_text().split("\n")[:-1], 1)}
        assert lines["- Wei visits in spring"] == hand
        assert lines[""] == ""
        rust = next(text for line, text in lines.items() if "Rust" in line)
        assert rust.startswith(proposed)
        assert from_conversation in rust
        assert lines["- Lin plays the violin"].startswith(promoted)
        links = [link for link in Parsed(page.text).links if "/conversation/position" in link]
        assert len(links) == 1, "a conversation that is not there any more is named, not linked"
        message = await browser.get(links[0])
        assert f'id="m-{place.id}"' in message.text
        assert "selected" in message.text
        daily = next(link for link in Parsed(page.text).links if "/notes/files/memory/" in link)
        assert "Rust" in (await browser.get(daily)).text

    run(tmp_path, scenario, settings={"workspace": workspace})


def test_attacks_in_the_names_of_authors_stay_text(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path / "notes")
    attack = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    reply = '{"additions": [{"section": "Food", "text": "Likes tea"}], "removals": []}'

    async def scenario(it: Served) -> None:
        for source in (attack, f"chat:{attack}#1", "chat:%22%3E%3Cscript%3E#1"):
            await it.memory.notes.memory_append("tea again", source=source)
        written = await it.memory.notes.memory_append("tea again", source="javascript:alert(1)")
        await it.memory.notes.promote(written.id, section=attack)
        await it.memory.notes.accept(await it.memory.notes.curate())
        browser = await it.logged_in("main")
        for path in ("MEMORY.md", written.path):
            page = await browser.get(f"/console/notes/files/{path}?raw=yes")
            check_harmless(page.text, path)
        assert "accepted proposal" in (await browser.get("/console/notes/files/MEMORY.md?raw=yes")).text

    run(tmp_path, scenario, settings={"workspace": workspace, "llm": ScriptedModel([reply], name=attack)})


def test_notes_are_closed_to_other_scopes_and_in_part_to_groups(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path / "notes")

    async def scenario(it: Served) -> None:
        await it.memory.notes.memory_append("a private word")
        shared = await it.memory.notes.memory_append("a shared word", kind="group")
        private = (await it.memory.notes.memory_append("another")).path
        bob = await it.logged_in("bob")
        assert "belong to the scope" in (await bob.parsed("/console/notes")).text
        assert (await bob.get(f"/console/notes/files/{private}")).status_code == 403
        team = await it.logged_in("group:team", kind="group")
        listed = await team.parsed("/console/notes")
        assert shared.path in listed.text
        assert "MEMORY.md" not in listed.text
        assert "a shared word" in (await team.parsed(f"/console/notes/files/{shared.path}")).text
        assert (await team.get(f"/console/notes/files/{private}")).status_code == 404
        reader = await it.logged_in("main", "read")
        refused = await reader.post("/console/notes/propose", {"form_token": await reader.token()})
        assert refused.status_code == 403
        for path in ("../../etc/passwd", "%2e%2e/secret.md", "memory/%00.md", "/etc/passwd"):
            assert (await (await it.logged_in("main")).get(f"/console/notes/files/{path}")).status_code in {400, 404}

    run(tmp_path, scenario, settings={"workspace": workspace})


def test_attacks_in_notes_stay_text(tmp_path: Path) -> None:
    workspace = tmp_path / "notes"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "<img src=x onerror=alert(1)>.md").write_text("x\n", "utf-8")
    text = "\n\n".join(ATTACKS).replace("\x00", "")
    (workspace / "MEMORY.md").write_text(text, "utf-8", errors="replace")

    async def scenario(it: Served) -> None:
        for attack in ATTACKS[::9]:
            if attack.strip():
                await it.memory.notes.memory_append(f"I decided: {attack}".replace("\x00", ""))
        await it.memory.notes.curate()
        browser = await it.logged_in("main")
        listed = await browser.get("/console/notes")
        check_harmless(listed.text, "notes")
        files = [link for link in Parsed(listed.text).links if "/notes/files/" in link]
        assert len(files) == 3
        for address in files:
            for more in ("", "?raw=yes"):
                answer = await browser.get(address + more)
                assert answer.status_code == 200, address
                check_harmless(answer.text, address + more)

    run(tmp_path, scenario, settings={"workspace": workspace})


# --- runtime --------------------------------------------------------------------------------------------------------


def test_feedback_strengthens_a_memory_and_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        runtime = it.memory.runtime
        name = await runtime.remember("preference", "likes green tea", "said so", ["tea"], memory_scope="alice")
        await runtime.remember("preference", "of bob", "", ["secret-tag"], memory_scope="bob")
        browser = await it.logged_in("alice")
        page = await browser.parsed("/console/runtime?tag=tea")
        assert "likes green tea" in page.text
        assert "secret-tag" not in page.text
        form = page.form("/console/runtime/feedback")
        done = await browser.post(form.action, {**dict(form.values), "verdict": "useful"})
        assert "The feedback is kept" in done.text
        found = await runtime.get(name, memory_scope="alice")
        assert found is not None
        assert found.strength == 2
        plan = await browser.parsed("/console/runtime?plan=yes")
        assert "nothing was done" in plan.text
        assert await runtime.get(name, memory_scope="alice") == found
        wrong = await browser.post(form.action, {**dict(form.values), "memory": "unknown", "verdict": "useful"})
        assert wrong.status_code == 409

    run(tmp_path, scenario)


# --- jobs -----------------------------------------------------------------------------------------------------------


def test_a_dead_job_shows_its_reason_and_is_tried_again_by_its_own_scope_only(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        jobs, now = it.memory._components.longterm.jobs, clock.utc_now()
        jobs.add(JobDraft("learn", "alice", {}))
        job = jobs.claim("w", now=now + timedelta(seconds=5), lease_until=now + timedelta(minutes=1))
        assert job is not None
        jobs.dead_letter(job, now=now, reason="the model <b>said</b> nothing")
        browser, other = await it.logged_in("alice"), await it.logged_in("bob")
        page = await browser.parsed("/console/jobs")
        assert "the model <b>said</b> nothing" in page.text
        assert "said" not in (await other.parsed("/console/jobs")).text
        form = page.form("/console/jobs/retry")
        stolen = await other.post(form.action, {**dict(form.values), "form_token": await other.token()})
        assert stolen.status_code == 409
        done = await browser.post(form.action, dict(form.values))
        assert "queued again" in done.text
        assert [each.state for each in await it.memory.jobs(scope="alice", states="queued")] == ["queued"]
        reader = await it.logged_in("alice", "read")
        assert "/console/jobs/retry" not in [each.action for each in (await reader.parsed("/console/jobs")).forms]

    run(tmp_path, scenario)


# --- scopes and keys ------------------------------------------------------------------------------------------------


def test_a_key_is_made_shown_once_rotated_and_revoked_by_an_administrator(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice", "read,write,admin")
        form = (await browser.parsed("/console/keys")).form("/console/keys/add")
        kept = [(name, value) for name, value in form.values if name not in {"name", "scope"}]
        made = await browser.post(form.action, [*kept, ("name", "robot <i>"), ("scope", "bob")])
        (token,) = set(TOKEN.findall(made.text))
        access = it.keys.access_of(token)
        assert access is not None
        assert access.scope == "bob"
        assert access.rights == {"read", "write"}
        page = await browser.get("/console/keys")
        assert not TOKEN.search(page.text), "a key is shown once"
        assert "robot <i>" in Parsed(page.text).text
        chosen = {"form_token": await browser.token(), "id": access.key_id}
        rotated = TOKEN.findall((await browser.post("/console/keys/rotate", chosen)).text)[0]
        assert it.keys.access_of(token) is None
        assert it.keys.access_of(rotated) is not None
        assert (await browser.post("/console/keys/revoke", chosen)).status_code == 400, "it has to be confirmed"
        await browser.post("/console/keys/revoke", {**chosen, "sure": "yes"})
        assert it.keys.access_of(rotated) is None
        assert (await browser.post("/console/keys/revoke", {**chosen, "sure": "yes"})).status_code == 409
        await it.audit.write()
        logged = {line.action for line in it.keys.logged()}
        assert {"POST /console/keys/add", "POST /console/keys/rotate", "POST /console/keys/revoke"} <= logged

    run(tmp_path, scenario)


@pytest.mark.parametrize("rights", ["read", "read,write,erase"])
def test_without_the_right_to_administer_there_are_no_keys(tmp_path: Path, rights: str) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice", rights)
        assert "/console/keys" not in (await browser.parsed("/console")).links
        assert (await browser.get("/console/keys")).status_code == 403
        token = await browser.token()
        for action in ("add", "rotate", "revoke"):
            fields = {"form_token": token, "name": "x", "scope": "alice", "right": "admin", "id": "x", "sure": "yes"}
            assert (await browser.post(f"/console/keys/{action}", fields)).status_code == 403
        assert len(it.keys.all()) == 1

    run(tmp_path, scenario)


@pytest.mark.parametrize("change", [{"name": ""}, {"scope": ""}, {"kind": "crowd"}, {"expires": "2001-01-01"}])
def test_a_key_that_cannot_be_is_refused_in_words(tmp_path: Path, change: dict[str, str]) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice", "admin")
        fields = {"form_token": await browser.token("/console/keys"), "name": "x", "scope": "alice", "right": "read"}
        answer = await browser.post("/console/keys/add", {**fields, **change})
        assert answer.status_code == 400
        assert len(it.keys.all()) == 1

    run(tmp_path, scenario)


# --- map ------------------------------------------------------------------------------------------------------------


def test_without_an_embedder_the_map_says_what_to_set(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.store("k", "text", scope="alice")
        assert "Set embedder to bundled" in (await (await it.logged_in("alice")).parsed("/console/map")).text

    run(tmp_path, scenario)
