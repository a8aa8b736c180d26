"""Conversations, the long-term room, settings and the diagnosis."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from jiyi.apps.server.console import conversations
from tests.longterm.answers import fact, model
from tests.server.console.browser import Parsed, Served, run

AWKWARD = "a/b?c=d&e #1 <\"'>"
"""A name of a conversation, which may be any text."""


def test_a_conversation_is_listed_and_read_message_by_message(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        chat = it.memory.chat(AWKWARD, scope="alice")
        ids = await chat.put_many(
            [{"role": "user" if number % 2 == 0 else "assistant", "content": f"word{number}."} for number in range(250)]
        )
        browser = await it.logged_in("alice")
        listed = await browser.parsed("/console/conversations")
        address = next(link for link in listed.links if link.startswith("/console/conversation?"))
        last = await browser.parsed(address)
        assert AWKWARD in last.text
        assert "word249." in last.text
        assert "word100." not in last.text
        seen = set(re.findall(r"word\d+\.", last.text))
        page = last
        while previous := [str(found["href"]) for _, found in page.elements if found.get("rel") == "prev"]:
            page = await browser.parsed(previous[0])
            seen |= set(re.findall(r"word\d+\.", page.text))
        assert len(seen) == 250
        asked = await browser.parsed(f"/console/conversation?id={quote(AWKWARD, safe='')}&message={ids[120]}")
        assert "word120." in asked.text
        assert any(found.get("id") == f"m-{ids[120]}" for _, found in asked.elements)

    run(tmp_path, scenario)


def test_the_list_of_conversations_is_paged(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        for number in range(60):
            await it.memory.save_conversation_history(f"s{number}", [{"role": "user", "content": "hi"}], scope="alice")
        browser = await it.logged_in("alice")
        seen: list[str] = []
        address = "/console/conversations"
        while address:
            page = await browser.parsed(address)
            seen += [link for link in page.links if link.startswith("/console/conversation?")]
            following = [str(found["href"]) for _, found in page.elements if found.get("rel") == "next"]
            address = following[0] if following else ""
        assert len(seen) == len(set(seen)) == 60

    run(tmp_path, scenario)


def test_the_window_is_shown_as_the_model_sees_it_and_looking_summarises_nothing(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        chat = it.memory.chat("long", scope="alice")
        await chat.put({"role": "system", "content": "Be brief."})
        await chat.put({"role": "user", "content": "I live in Lyon."})
        browser = await it.logged_in("alice")
        shown = await browser.parsed("/console/conversation/window?id=long")
        assert "Be brief." in shown.text
        assert "I live in Lyon." in shown.text
        for number in range(40):
            await chat.put({"role": "user", "content": f"{number} " + "My sister moved to Oslo last spring. " * 100})
        due = await browser.parsed("/console/conversation/window?id=long")
        assert "summarises older messages first" in due.text
        assert await chat.summaries() == []
        reader = await it.logged_in("alice", "read")
        assert (
            not (await reader.parsed("/console/conversation/window?id=long"))
            .forms[-1]
            .action.endswith("window?id=long")
        )
        made = await browser.send("/console/conversation/window?id=long", "/console/conversation/window")
        assert "up to date" in made.text
        summaries = await chat.summaries()
        assert summaries
        page = await browser.parsed("/console/conversation?id=long")
        link = next(link for link in page.links if "/conversation/summary" in link and summaries[-1].id in link)
        assert "I live in Lyon." in (await browser.parsed(link)).text
        part = await browser.get(link, headers={"HX-Request": "true"})
        assert "I live in Lyon." in part.text
        assert "<html" not in part.text
        missing = await browser.get("/console/conversation/summary?id=long&summary=x", headers={"HX-Request": "true"})
        assert missing.status_code == 404
        assert "<html" not in missing.text

    run(tmp_path, scenario, settings={"token_limit": 4_000})


def test_proposals_are_kept_or_rejected_once(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        chat = it.memory.chat("talk", scope="alice")
        await chat.put({"role": "user", "content": "I am allergic to peanuts."})
        await chat.put({"role": "user", "content": "My birthday is on the third of May."})
        await chat.flush()
        found = await it.memory.candidates(scope="alice")
        assert len(found) >= 2
        browser = await it.logged_in("alice")
        take, reject = found[0], found[1]
        page = "/console/conversation?id=talk"
        kept = await browser.send(page, f"/console/candidates/{take.id}/take")
        assert "Kept as a memory" in kept.text
        stored = await it.memory.get(f"candidate:{take.id}", scope="alice")
        assert stored is not None
        assert stored.content == take.content
        assert "Rejected" in (await browser.send(page, f"/console/candidates/{reject.id}/reject")).text
        states = {each.id: each.state for each in await it.memory.candidates(scope="alice", state=None)}
        assert (states[take.id], states[reject.id]) == ("taken", "rejected")
        fields = {"form_token": await browser.token()}
        for each in (take, reject):
            assert (await browser.post(f"/console/candidates/{each.id}/take", fields)).status_code == 409
        other = await it.logged_in("bob")
        fields = {"form_token": await other.token()}
        assert (await other.post(f"/console/candidates/{take.id}/take", fields)).status_code == 404

    run(tmp_path, scenario)


def test_conflicts_stand_side_by_side_and_are_settled(tmp_path: Path) -> None:
    found = iter([[fact("The user drinks coffee")], [fact("The user drinks tea in the morning", corrects=1)]])

    async def scenario(it: Served) -> None:
        longterm = it.memory.longterm
        browser = await it.logged_in("alice")
        assert "no conflicts to settle" in (await browser.parsed("/console/longterm/conflicts")).text
        for words in ("I drink coffee", "I drink tea in the morning"):
            await longterm.extract_and_store_memories_for_round("alice", "c", words, "")
        (pair,) = await longterm.conflicts("alice")
        page = await browser.parsed("/console/longterm/conflicts")
        assert pair.newer.content in page.text
        assert pair.older.content in page.text
        action = f"/console/longterm/conflicts/{pair.newer.id}"
        refused = await browser.send("/console/longterm/conflicts", action, {"keep": "neither"})
        assert refused.status_code == 400
        done = await browser.send("/console/longterm/conflicts", action, {"keep": "newer"})
        assert "Settled." in done.text
        assert await longterm.conflicts("alice") == []
        assert pair.older.content in (await browser.parsed("/console/longterm/replaced")).text
        address = f"/console/entries/{pair.older.id}"
        assert "no longer recalled" in (await browser.parsed(address)).text
        assert "Restored." in (await browser.send(address, f"{address}/restore")).text
        assert await it.memory.get(id=pair.older.id, scope="alice") is not None

    run(tmp_path, scenario, settings={"llm": model(lambda _: next(found))})


def test_facts_are_listed_by_domain_and_reflections_with_their_facts(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        longterm = it.memory.longterm
        for words in ("I work as a nurse in Lyon.", "I love hiking in the Alps.", "I am allergic to peanuts."):
            await longterm.extract_and_store_memories_for_round("alice", "c", words, "")
        reflection = await longterm.try_generate_reflection("alice", importance_threshold=0.1, cooldown_hours=0.0)
        assert reflection is not None
        browser = await it.logged_in("alice")
        facts = await it.memory.list(scope="alice", memory_types="fact")
        listed = await browser.parsed("/console/longterm")
        assert all(fact.content in listed.text for fact in facts)
        chosen = await browser.parsed(f"/console/longterm?domain={facts[0].domain}")
        assert facts[0].content in chosen.text
        assert (await browser.get("/console/longterm?domain=unknown")).status_code == 400
        page = await browser.parsed("/console/longterm/reflections")
        assert reflection.source.references[0] in "".join(page.links)
        made = await browser.parsed(f"/console/entries/{facts[0].id}")
        assert "What was said" in made.text

    run(tmp_path, scenario)


def test_the_plan_of_forgetting_is_shown_done_and_undone(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.store("tea", "She likes tea", scope="alice", domain="user_preferences")
        browser = await it.logged_in("alice")
        page = await browser.parsed("/console/longterm/forgetting")
        assert "Of 1 memories that were considered, 0 would be forgotten now." in page.text
        assert "She likes tea" in page.text
        address = "/console/longterm/forgetting"
        assert "nothing to forget" in (await browser.send(address, address)).text
        assert "nothing to bring back" in (await browser.send(address, f"{address}/undo")).text

    run(tmp_path, scenario)


def test_settings_and_diagnosis_are_for_administrators_and_show_no_secret(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        assert (await (await it.logged_in("alice", "write,erase")).get("/console/settings")).status_code == 403
        page = await (await it.logged_in("alice", "admin")).parsed("/console/settings")
        assert "All is well" in page.text
        assert "max_content_bytes" in page.text
        assert "sk-very-secret" not in page.text
        assert "•••" in page.text

    run(tmp_path, scenario, settings={"llm_api_key": "sk-very-secret", "llm_base_url": "http://u:sk-very-secret@h/v1"})


def test_the_points_of_a_chart_stay_few_however_long_a_conversation_is(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        chat = it.memory.chat("s", scope="alice")
        await chat.put_many([{"role": "user", "content": "a b c"} for _ in range(1_000)])
        found = conversations._tokens_over_time(await chat.messages())
        assert len(found) <= 201
        assert found[-1][1] == max(total for _, total in found)

    run(tmp_path, scenario)


def test_unknown_names_are_pages_with_404(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        browser = await it.logged_in("alice", "write,erase,admin")
        for address in (
            "/console/conversation",
            "/console/conversation?id=nobody",
            "/console/conversation/window?id=nobody",
            "/console/conversation/summary?id=nobody&summary=x",
            "/console/entries/nobody",
            "/console/entries/nobody/edit",
            "/console/entries/nobody/erase",
            "/console/longterm/nowhere",
        ):
            answer = await browser.get(address)
            assert answer.status_code == 404, address
            assert "That did not work" in Parsed(answer.text).text
        fields = {"form_token": await browser.token()}
        for address in ("/console/entries/nobody/pin", "/console/candidates/nobody/take"):
            assert (await browser.post(address, fields)).status_code == 404

    run(tmp_path, scenario)
