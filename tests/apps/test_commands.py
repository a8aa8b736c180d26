"""Every command, as people and scripts use it."""

import json
import shutil
from pathlib import Path

import pytest

from jiyi.sync import AgentMemory
from tests.apps.command_line import CommandLine
from tests.support import QUICK

# --- store and recall --------------------------------------------------------------------------------------------


def test_what_was_stored_is_recalled(jiyi: CommandLine) -> None:
    assert jiyi("store", "pet", "我家的猫叫年糕").code == 0
    found = jiyi("recall", "年糕")
    assert found.code == 0
    assert "pet" in found.out
    assert "我家的猫叫年糕" in found.out


@pytest.mark.date_sensitive
def test_store_keeps_category_tags_importance_scope_and_time(jiyi: CommandLine) -> None:
    words = ["--category", "daily", "--tag", "工作", "--tag", "home", "--importance", "0.9", "--scope", "alice"]
    stored = jiyi("store", "k", "v", *words, "--occurred-at", "2026-05-01 08:00", "--json").data
    assert (stored["category"], stored["tags"], stored["importance_score"]) == ("daily", ["工作", "home"], 0.9)
    assert (stored["scope"], stored["version"]) == ("alice", 1)
    assert stored["occurred_at"] == "2026-05-01T00:00:00.000000Z"


def test_a_dash_reads_the_content_from_standard_input(jiyi: CommandLine) -> None:
    stored = jiyi("store", "letter", "-", "--json", typed="第一行\nsecond line\n")
    assert stored.data["content"] == "第一行\nsecond line"


def test_standard_input_that_is_not_text_is_refused(jiyi: CommandLine) -> None:
    jiyi.make_memory()
    refused = jiyi("store", "letter", "-", typed=b"\xff\xfe\x00")
    assert (refused.code, refused.out) == (2, "")
    assert "not UTF-8" in refused.err
    assert jiyi("count").out.split()[0] == "0"


def test_storing_again_says_which_version_it_is(jiyi: CommandLine) -> None:
    jiyi("store", "city", "柏林")
    assert "version 2 of city" in jiyi("store", "city", "杭州").out


def test_recall_keeps_to_the_limit(jiyi: CommandLine) -> None:
    for number in range(5):
        jiyi("store", f"k{number}", f"apple number {number}")
    assert len(jiyi("recall", "apple", "--limit", "2", "--json").data["hits"]) == 2


def test_recall_keeps_to_category_tag_and_type(jiyi: CommandLine) -> None:
    jiyi("store", "a", "meeting at nine", "--category", "daily", "--tag", "work")
    jiyi("store", "b", "meeting at ten", "--category", "core", "--tag", "home")
    for condition in (["--category", "daily"], ["--tag", "work"], ["-c", "daily", "-t", "work"]):
        hits = jiyi("recall", "meeting", *condition, "--json").data["hits"]
        assert [hit["key"] for hit in hits] == ["a"], condition
    assert jiyi("recall", "meeting", "--type", "message").code == 1


@pytest.mark.date_sensitive
def test_since_and_until_count_a_day_as_a_whole_in_the_users_time_zone(jiyi: CommandLine) -> None:
    jiyi("store", "early", "rain", "--occurred-at", "2026-05-01 00:00")
    jiyi("store", "late", "rain", "--occurred-at", "2026-05-01 23:59")
    jiyi("store", "after", "rain", "--occurred-at", "2026-05-02 00:00")

    def keys(*words: str) -> set[str]:
        return {hit["key"] for hit in jiyi("recall", "rain", "-m", "keyword", "--json", *words).data["hits"]}

    assert keys("--since", "2026-05-01", "--until", "2026-05-01") == {"early", "late"}
    assert keys("--until", "2026-05-01 23:59") == {"early"}
    assert keys("--since", "2026-05-01T15:59:00+00:00") == {"late", "after"}


def test_a_recall_of_one_scope_shows_nothing_of_another(jiyi: CommandLine) -> None:
    jiyi("store", "secret", "the treasure is buried here", "--scope", "alice")
    assert jiyi("recall", "treasure", "--scope", "alice").code == 0
    foreign = jiyi("recall", "treasure", "--scope", "bob")
    assert foreign.code == 1
    assert "buried" not in foreign.out + foreign.err


def test_nothing_found_says_where_was_looked(jiyi: CommandLine) -> None:
    jiyi("store", "k", "v")
    nothing = jiyi("recall", "zebra", "--mode", "keyword")
    assert nothing.code == 1
    assert "1 memories of scope main" in nothing.out
    assert str(jiyi.home) in nothing.out


@pytest.mark.parametrize(
    "query", ["C++ (v2", "key: value", '"x', "a AND", "*", "🙂", "http://a.b/c?d=e", "[bold]", "%s"]
)
def test_any_text_is_a_legal_query(jiyi: CommandLine, query: str) -> None:
    jiyi("store", "k", "anything")
    assert jiyi("recall", "--", query).code in {0, 1}


def test_a_query_that_begins_with_a_dash_follows_two_dashes(jiyi: CommandLine) -> None:
    jiyi("store", "--", "flags", "--verbose shows more")
    assert jiyi("recall", "--json", "--", "--verbose").data["hits"][0]["key"] == "flags"


def test_context_shows_what_was_said_before_and_after(jiyi: CommandLine) -> None:
    with AgentMemory.open(jiyi.home, embedder="none") as memory:
        said = ["shall we order lunch", "pizza with olives please", "it comes at noon"]
        memory.save_conversation_history("lunch", [{"role": "user", "content": text} for text in said])
    shown = jiyi("recall", "olives", "--type", "message", "--context", "1").out
    assert [shown.index(text) for text in said] == sorted(shown.index(text) for text in said)


# --- the rest of keyed memory ------------------------------------------------------------------------------------


def test_forget_removes_and_history_remembers(jiyi: CommandLine) -> None:
    jiyi("store", "city", "柏林")
    jiyi("store", "city", "杭州")
    assert jiyi("forget", "city").code == 0
    assert jiyi("recall", "杭州", "--mode", "keyword").code == 1
    told = jiyi("history", "city").out
    assert told.index("柏林") < told.index("杭州") < told.index("forget")


def test_erase_leaves_no_text_behind(jiyi: CommandLine) -> None:
    jiyi("store", "secret", "暗号是芝麻")
    assert jiyi("forget", "secret", "--erase", "--json").data == {"key": "secret", "forgotten": True, "erased": True}
    assert "芝麻" not in jiyi("history", "secret", "--json").out


def test_count_counts_what_the_scope_sees(jiyi: CommandLine) -> None:
    jiyi("store", "a", "1", "--scope", "alice")
    jiyi("store", "b", "2", "--scope", "public", "--category", "daily")
    jiyi("store", "c", "3", "--scope", "bob")
    assert jiyi("count", "--scope", "alice").out.split()[0] == "2"
    assert jiyi("count", "--scope", "alice", "--category", "daily").out.split()[0] == "1"


def test_list_shows_a_page_and_says_of_how_many(jiyi: CommandLine) -> None:
    for number in range(5):
        jiyi("store", f"k{number}", f"content {number}")
    page = jiyi("list", "--limit", "2", "--offset", "1")
    assert page.out.splitlines()[-1] == "2–3 of 5"
    assert [line.split()[0] for line in page.out.splitlines()[1:-1]] == ["k3", "k2"]


def test_an_empty_list_is_no_failure_and_says_where_was_looked(jiyi: CommandLine) -> None:
    jiyi.make_memory()
    empty = jiyi("list")
    assert (empty.code, empty.out) == (0, f"no memories of scope main in {jiyi.home}\n")
    jiyi("store", "k", "content")
    assert "that meet these conditions" in jiyi("list", "--category", "daily").out
    assert "there are 1 in all, so --offset is too large" in jiyi("list", "--offset", "5").out


LOOKS = {
    "doctor": ("doctor",),
    "verify": ("verify",),
    "repair": ("repair",),
    "rebuild": ("rebuild",),
    "maintain": ("maintain",),
    "jobs": ("jobs",),
    "export": ("export", "out.jsonl"),
    "recall": ("recall", "tea"),
    "recall keyword": ("recall", "tea", "--mode", "keyword"),
    "list": ("list",),
    "count": ("count",),
    "history": ("history", "k"),
    "show": ("show", "k"),
    "update": ("update", "k", "--importance", "0.5"),
    "forget": ("forget", "k"),
    "scopes": ("scopes",),
    "sessions": ("sessions",),
    "changes": ("changes",),
    "forget-scope": ("forget-scope", "alice", "--yes"),
    "longterm recall": ("longterm", "recall", "tea"),
    "longterm forget": ("longterm", "forget"),
    "longterm explain": ("longterm", "explain", "k"),
    "runtime recall": ("runtime", "recall", "tea"),
    "runtime tags": ("runtime", "tags"),
}


@pytest.mark.parametrize("command", LOOKS)
def test_a_command_that_stores_nothing_makes_no_memory_in_a_mistyped_place(
    jiyi: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = jiyi(*LOOKS[command], "--data", "typo")
    assert (refused.code, refused.out) == (2, "")
    assert "there is no memory in typo, and none was made" in refused.err
    assert [path.name for path in tmp_path.iterdir()] == []
    assert jiyi("store", "k", "green tea", "--data", "typo").code == 0
    assert "no memory in" not in jiyi(*LOOKS[command], "--data", "typo").err


def test_a_configured_place_without_a_memory_is_named(jiyi: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "memory.yaml").write_text(f"memory:\n  path: {tmp_path / 'elsewhere'}\n")
    refused = jiyi("count", "--config", str(tmp_path / "memory.yaml"), JIYI_HOME=None)  # type: ignore[arg-type]
    assert refused.code == 2
    assert f"there is no memory in {tmp_path / 'elsewhere'}" in refused.err
    assert not (tmp_path / "elsewhere").exists()


def test_a_temporary_memory_is_made_by_every_command(jiyi: CommandLine) -> None:
    assert jiyi("count", "--data", ":memory:").out.split()[0] == "0"


def test_a_file_is_no_data_directory(jiyi: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    refused = jiyi("store", "k", "content", "--data", str(tmp_path / "file"))
    assert (refused.code, refused.err) == (3, f"error: {tmp_path / 'file'} is a file; name a directory for the data\n")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("command", ["serve", "console"])
def test_a_port_that_does_not_exist_is_refused(jiyi: CommandLine, command: str) -> None:
    refused = jiyi(command, "--port", "70000", "--check")
    assert refused.code == 2
    assert "70000 is not in the range 0<=x<=65535" in refused.err


# --- upkeep ------------------------------------------------------------------------------------------------------


def test_an_export_taken_in_elsewhere_is_the_same_memory(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("store", "city", "柏林", "--tag", "家")
    jiyi("store", "city", "杭州", "--tag", "家")
    file = tmp_path / "all.jsonl"
    assert jiyi("export", str(file), "--json").data["lines"] == len(file.read_text("utf-8").splitlines())
    other = CommandLine(tmp_path / "other")
    assert other("import", str(file), "--json").data["entries"] == 1
    assert other("list", "--json").data == jiyi("list", "--json").data
    assert len(other("history", "city", "--json").data["versions"]) >= 2
    assert other("import", str(file), "--json").data["entries"] == 0


def test_export_of_a_scope_holds_only_that_scope(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("store", "a", "of alice", "--scope", "alice")
    jiyi("store", "b", "of bob", "--scope", "bob")
    file = tmp_path / "alice.jsonl"
    jiyi("export", str(file), "--scope", "alice")
    assert "of alice" in file.read_text("utf-8")
    assert "of bob" not in file.read_text("utf-8")


def test_a_broken_import_file_changes_nothing(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("store", "k", "v")
    file = tmp_path / "all.jsonl"
    jiyi("export", str(file))
    file.write_text(file.read_text("utf-8") + "{broken\n", "utf-8")
    other = CommandLine(tmp_path / "other")
    refused = other("import", str(file))
    assert refused.code == 2
    assert str(file) in refused.err
    assert other("count").out.split()[0] == "0"


def test_verify_finds_a_deleted_index_and_repair_mends_it(jiyi: CommandLine) -> None:
    jiyi("store", "pet", "我家的猫叫年糕")
    jiyi("repair")
    assert jiyi("verify").code == 0
    for file in sorted((jiyi.home / "search_index").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    assert jiyi("verify").lines[1].split()[:3] == ["text", "not", "built"]
    assert jiyi("verify", "--json").data["sound"] is False
    assert jiyi("repair").code == 0
    assert jiyi("verify", "--json").data["sound"] is True
    assert jiyi("recall", "年糕").code == 0


def test_an_index_that_is_only_behind_does_not_differ(jiyi: CommandLine) -> None:
    jiyi("store", "a", "one")
    jiyi("repair")
    jiyi("store", "b", "two")
    report = jiyi("verify", "--json")
    assert (report.code, report.data["agrees"], report.data["sound"]) == (0, True, False)
    assert "behind" in jiyi("verify").out


def test_rebuild_makes_every_index_anew(jiyi: CommandLine) -> None:
    jiyi("store", "a", "one")
    jiyi("repair")
    before = {file.name for file in (jiyi.home / "search_index").iterdir()}
    assert jiyi("rebuild").code == 0
    assert {file.name for file in (jiyi.home / "search_index").iterdir()} != before
    assert jiyi("verify").code == 0


def test_doctor_of_a_new_memory_is_content(jiyi: CommandLine) -> None:
    jiyi.make_memory()
    told = jiyi("doctor")
    assert told.code == 0
    assert told.out.startswith("healthy\n")
    assert "dead jobs: none" in told.out


def test_verify_and_doctor_agree_about_an_index_that_nobody_has_asked_for_yet(jiyi: CommandLine) -> None:
    jiyi("store", "a", "one")
    told = jiyi("verify")
    assert (told.code, jiyi("doctor").code) == (0, 0)
    assert told.lines[1].split()[:3] == ["text", "not", "built"]
    assert told.lines[-1] == "nothing differs; the next recall builds and takes in what is missing"
    (text,) = jiyi("verify", "--json").data["indexes"]
    assert (text["built"], text["behind"], text["records"], text["problems"]) == (False, 1, 1, [])
    jiyi("recall", "one", "--mode", "keyword")
    jiyi("store", "b", "two")
    assert jiyi("verify").lines[1].split()[:2] == ["text", "behind"]
    assert (jiyi("verify").code, jiyi("doctor").code) == (0, 0)


def test_verify_and_doctor_agree_about_an_index_that_was_deleted_and_one_that_is_damaged(jiyi: CommandLine) -> None:
    jiyi("store", "a", "one")
    jiyi("repair")
    shutil.copytree(jiyi.home / "search_index", jiyi.home / "copy")
    shutil.rmtree(jiyi.home / "search_index")
    assert (jiyi("verify").code, jiyi("doctor").code) == (0, 0)
    shutil.move(jiyi.home / "copy", jiyi.home / "search_index")
    assert jiyi("verify").lines[1].split()[:2] == ["text", "agrees"]
    for file in (jiyi.home / "search_index").rglob("*.store"):
        file.write_bytes(b"broken" + file.read_bytes()[6:])
    assert (jiyi("verify").code, jiyi("doctor").code) == (4, 4)


def test_doctor_tells_versions_lag_and_what_to_do(jiyi: CommandLine) -> None:
    jiyi("store", "a", "one")
    jiyi("repair")
    jiyi("store", "b", "two")
    facts = jiyi("doctor", "--json").data
    assert facts["dead_jobs"] == []
    assert facts["packages"]["tantivy"]
    assert [index["behind"] for index in facts["indexes"]] == [1]
    assert any("behind" in note for note in facts["notes"])


def test_doctor_of_a_damaged_index_says_repair(jiyi: CommandLine) -> None:
    jiyi("store", "a", "some text to index")
    jiyi("repair")
    for file in (jiyi.home / "search_index").rglob("*.store"):
        file.write_bytes(b"\x00" * file.stat().st_size)
    told = jiyi("doctor")
    assert told.code == 4
    assert "jiyi repair" in told.out
    assert jiyi("repair").code == 0
    assert jiyi("doctor").code == 0


# --- options of every command ------------------------------------------------------------------------------------


def test_common_options_stand_before_or_after_the_command(jiyi: CommandLine, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    jiyi("--data", elsewhere, "--scope", "alice", "store", "k", "v")
    after = jiyi("count", "--data", elsewhere, "--scope", "alice", "--json")
    before = jiyi("--data", elsewhere, "--scope", "alice", "--json", "count")
    assert after.data == before.data
    assert (after.data["count"], after.data["scope"]) == (1, "alice")
    assert "there is no memory in" in jiyi("count").err


def test_the_option_after_the_command_wins(jiyi: CommandLine) -> None:
    jiyi("--scope", "alice", "store", "k", "v", "--scope", "bob")
    assert jiyi("count", "--scope", "bob").out.split()[0] == "1"
    assert jiyi("count", "--scope", "alice").out.split()[0] == "0"


def test_config_names_the_settings_file(jiyi: CommandLine, tmp_path: Path) -> None:
    config = tmp_path / "my.yaml"
    config.write_text("memory:\n  scope: from-file\n", "utf-8")
    assert jiyi("store", "k", "v", "--config", str(config), "--json").data["scope"] == "from-file"


def test_the_version_is_told(jiyi: CommandLine) -> None:
    from importlib.metadata import version

    assert jiyi("--version").out == f"jiyi {version('jiyi')}\n"
    assert jiyi("--version", "--json").data == {"version": version("jiyi")}


def test_every_json_answer_is_one_line_in_a_pipe(jiyi: CommandLine) -> None:
    jiyi("store", "k", "two\nlines 两行")
    for words in (["recall", "lines"], ["list"], ["count"], ["history", "k"], ["doctor"], ["repair"], ["verify"]):
        out = jiyi(*words, "--json").out
        assert out.count("\n") == 1
        json.loads(out)


def test_count_says_what_it_counted(jiyi: CommandLine) -> None:
    jiyi("store", "pet", "Mochi", "--category", "travel plans", "--scope", "alice")
    counted = jiyi("count", "--scope", "alice", "--category", "travel plans").out
    assert counted.startswith("1 memories of scope alice and of public in the category travel plans, without")


def test_a_list_and_a_recall_show_who_said_it_in_which_session_and_a_short_id(jiyi: CommandLine) -> None:
    entry = jiyi("store", "pet", "Mochi", "--json").data
    assert entry["id"][:13] in jiyi("list").out
    with AgentMemory.open(jiyi.home, **QUICK) as memory:
        memory.save_conversation_history("tea-time", [{"role": "assistant", "content": "Mochi likes tea"}])
    found = jiyi("recall", "tea", "--mode", "keyword").out
    assert "assistant" in found
    assert "tea-time" in found


def test_a_memory_is_shown_and_forgotten_by_the_beginning_of_its_id(jiyi: CommandLine) -> None:
    entry = jiyi("store", "pet", "Mochi", "--json").data
    assert jiyi("show", entry["id"][:18], "--json").data["entry"]["content"] == "Mochi"
    assert jiyi("show", "pet", "--json").data["entry"]["id"] == entry["id"]
    assert jiyi("show", "019a0000-0000").code == 1
    assert jiyi("forget", entry["id"][:18]).code == 0
    assert jiyi("show", "pet").code == 1


def test_scopes_and_sessions_are_listed(jiyi: CommandLine) -> None:
    jiyi("store", "pet", "Mochi", "--scope", "alice")
    with AgentMemory.open(jiyi.home, **QUICK) as memory:
        memory.save_conversation_history("tea-time", [{"role": "user", "content": "tea"}])
    assert [info["scope"] for info in jiyi("scopes", "--json").data["scopes"]] == ["alice", "main"]
    assert "alice" in jiyi("scopes").out
    assert jiyi("sessions", "--json").data["sessions"] == [{"session_id": "tea-time", "messages": 1}]
    assert "no conversations" in jiyi("sessions", "--scope", "alice").out


def test_changes_are_shown_in_order_and_from_a_position_on(jiyi: CommandLine) -> None:
    jiyi("store", "pet", "Mochi")
    jiyi("forget", "pet")
    told = jiyi("changes", "--json").data
    assert [change["operation"] for change in told["changes"]] == ["create", "forget"]
    assert jiyi("changes", "--after", str(told["after"]), "--json").data["changes"] == []
    assert "create" in jiyi("changes").out
