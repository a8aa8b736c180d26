"""Settings: the file, over it the environment, over that the arguments; what is unknown or wrong is named."""

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jiyi import create_memory, load_memory_config
from jiyi.config import Settings, load_settings
from jiyi.config.machine_language import machine_language
from jiyi.errors import ConfigError
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from jiyi.testing.models import ScriptedModel
from jiyi.wiring import chat_model
from tests.support import QUICK, present

OpenMemory = Callable[..., AgentMemory]


def write(folder: Path, text: str, name: str = "memory.yaml") -> Path:
    """A settings file with this text."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, "utf-8")
    return file


# --- precedence ---------------------------------------------------------------------------------------------------


def test_later_wins_the_file_the_environment_the_arguments(tmp_path: Path) -> None:
    write(tmp_path, "memory:\n  scope: from-file\n  actor: from-file\n  max_results: 7\n")
    environment = {"JIYI_ACTOR": "from-environment", "JIYI_MAX_RESULTS": "8"}
    settings = load_settings(tmp_path, environment=environment, max_results=9)
    assert (settings.scope, settings.actor, settings.max_results) == ("from-file", "from-environment", 9)
    assert settings.max_query_characters == 32_768


def test_the_environment_of_the_process_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIYI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JIYI_SCOPE", "ada")
    with AgentMemory.open(**QUICK) as memory:
        memory.store("k", "text")
        assert present(memory.get("k")).scope == "ada"
        assert memory.settings.path == tmp_path / "home"
    assert (tmp_path / "home/memory.db").is_file()


def test_a_path_given_to_open_stands_above_jiyi_home(tmp_path: Path) -> None:
    settings = load_settings(tmp_path / "given", environment={"JIYI_HOME": str(tmp_path / "home")})
    assert settings.path == tmp_path / "given"


def test_without_a_path_the_home_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert load_settings(environment={}).path == tmp_path / ".jiyi/data"
    assert load_settings("~/elsewhere", environment={}).path == tmp_path / "elsewhere"
    write(tmp_path / ".jiyi/data", "memory: {actor: found-at-home}")
    assert load_settings(environment={}).actor == "found-at-home"


def test_the_file_is_the_one_named_or_the_one_in_the_data_directory(tmp_path: Path) -> None:
    write(tmp_path / "data", "memory: {actor: beside}")
    named = write(tmp_path, "memory: {actor: named}", "named.yaml")
    variable = write(tmp_path, "memory: {actor: variable}", "variable.yaml")
    environment = {"JIYI_CONFIG": str(variable)}
    assert load_settings(tmp_path / "data", environment={}).actor == "beside"
    assert load_settings(tmp_path / "data", environment=environment).actor == "variable"
    assert load_settings(tmp_path / "data", environment=environment, config=named).actor == "named"


def test_a_file_may_name_the_data_directory(tmp_path: Path) -> None:
    file = write(tmp_path, f"memory:\n  path: {tmp_path / 'data'}\n", "agent.yaml")
    assert load_settings(config=file, environment={}).path == tmp_path / "data"
    assert load_settings(config=file, environment={"JIYI_HOME": str(tmp_path)}).path == tmp_path


def test_a_file_without_settings_changes_nothing(tmp_path: Path) -> None:
    for number, text in enumerate(["", "# nothing\n", "memory:\n", "memory: {}\n"]):
        write(tmp_path / str(number), text)
        assert load_settings(tmp_path / str(number), environment={}) == Settings(path=tmp_path / str(number))


# --- what is wrong ------------------------------------------------------------------------------------------------


def test_an_unknown_key_is_named_with_file_line_and_suggestion(tmp_path: Path) -> None:
    file = write(tmp_path, "# mine\nmemory:\n  scope: main\n  max_resultz: 5\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path, environment={})
    assert str(caught.value) == (
        f"{file}, line 4: max_resultz: unknown setting 'max_resultz'; did you mean 'max_results'?"
    )


def test_an_unknown_key_that_resembles_nothing_gets_the_list(tmp_path: Path) -> None:
    write(tmp_path, "memory: {qqqq: 1}")
    with pytest.raises(ConfigError, match=r"known are .*busy_timeout.*time_zone"):
        load_settings(tmp_path, environment={})


def test_whoever_looks_for_the_data_directory_among_the_settings_is_told_where_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"JIYI_DATA: unknown setting 'data'; .*JIYI_HOME"):
        load_settings(tmp_path, environment={"JIYI_DATA": "x"})


def test_an_unknown_variable_and_an_unknown_argument_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"environment variable JIYI_SCOPES: .*did you mean 'scope'"):
        load_settings(tmp_path, environment={"JIYI_SCOPES": "x"})
    with pytest.raises(ConfigError, match=r"argument actr: .*did you mean 'actor'"):
        load_settings(tmp_path, environment={}, actr="x")


def test_other_variables_are_none_of_our_business(tmp_path: Path) -> None:
    assert load_settings(tmp_path, environment={"HOME": "/", "XJIYI_SCOPE": "x", "jiyi_scope": "y"}).scope == "main"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("max_results", "many", "a whole number from 1 to 1000000"),
        ("max_results", 0, "a whole number from 1 to 1000000"),
        ("max_results", 2.5, "a whole number"),
        ("max_results", True, "a whole number"),
        ("max_results", None, "a whole number"),
        ("max_content_bytes", "64KiB", "a whole number"),
        ("busy_timeout", "soon", "a number from 0.001 to 3600"),
        ("busy_timeout", -1, "a number from"),
        ("busy_timeout", "nan", "a number from"),
        ("freshness_seconds", [1], "a number from 0 to 3600"),
        ("background_indexing", "perhaps", "true or false"),
        ("background_indexing", 2, "true or false"),
        ("embedder", "gpt", "one of bundled, none"),
        ("embedder", 5, "one of bundled, none"),
        ("storage", "mysql", "embedded, or the address of a PostgreSQL database"),
        ("storage", 5, "embedded, or the address of a PostgreSQL database"),
        ("storage", "postgresql://ada@db:port/jiyi", "the port is no number"),
        ("storage", "postgresql://ada@db/one/two", "one name of a database"),
        ("storage", "postgresql://a@b@db/jiyi", "as %40"),
        ("storage", "postgresql://db1,db2/jiyi", "one host"),
        ("storage", "postgresql://db/my jiyi", "no blanks"),
        ("vectors", "faiss", "one of auto, milvus"),
        ("milvus_uri", "localhost:19530", "http://localhost:19530, or a file"),
        ("milvus_uri", "tcp://localhost:19530", "http://localhost:19530, or a file"),
        ("milvus_memory_collection", "my vectors", "letters, digits and _"),
        ("pool_size", 0, "a whole number from 1 to 1000"),
        ("statement_timeout", 0, "a number from 0.001"),
        ("llm", "some", "one of none"),
        ("llm_base_url", "localhost:8080", "an address such as http"),
        ("llm_timeout", 0, "a number from 0.1"),
        ("llm_max_reply_bytes", 3, "a whole number from 1024"),
        ("time_zone", "Mars/Olympus", "Asia/Shanghai"),
        ("time_zone", 8, "Asia/Shanghai"),
        ("time_zone", "../../etc/passwd", "Asia/Shanghai"),
        ("scope", "public ", "white space"),
        ("scope", "", "empty"),
        ("actor", " ", "some text"),
        ("path", 5, "a path"),
        ("path", "", "a path"),
        ("user_dictionary", 5, "a path"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_needed(tmp_path: Path, name: str, value: object, words: str) -> None:
    arguments: dict[str, Any] = {"path": tmp_path, "environment": {}, name: value}
    with pytest.raises(ConfigError) as caught:
        load_settings(**arguments)
    message = str(caught.value)
    assert f"argument {name}" in message
    assert repr(value) in message
    assert words in message
    assert "could not convert" not in message


def test_a_wrong_value_in_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = write(tmp_path, "memory:\n\n  max_results: lots\n")
    with pytest.raises(ConfigError, match=re.escape(f"{file}, line 3: max_results: 'lots'")):
        load_settings(tmp_path, environment={})


@pytest.mark.parametrize("value", ["true", "Yes", "on", "1", " TRUE "])
def test_words_for_yes_are_understood_in_the_environment(tmp_path: Path, value: str) -> None:
    environment = {"JIYI_BACKGROUND_INDEXING": value, "JIYI_BUSY_TIMEOUT": "2.5", "JIYI_MAX_RESULTS": " 12 "}
    settings = load_settings(tmp_path, environment=environment)
    assert (settings.background_indexing, settings.busy_timeout, settings.max_results) == (True, 2.5, 12)
    environment["JIYI_BACKGROUND_INDEXING"] = "off"
    assert load_settings(tmp_path, environment=environment).background_indexing is False


@pytest.mark.parametrize("word", ["none", "null", ""])
def test_nothing_and_none_both_mean_without_an_embedder(tmp_path: Path, word: str) -> None:
    write(tmp_path, f"memory:\n  embedder: {word}\n")
    assert load_settings(tmp_path, environment={}).embedder == "none"


def test_a_missing_user_dictionary_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "words.txt"
    with pytest.raises(ConfigError, match=re.escape(str(missing))):
        AgentMemory.open(tmp_path / "data", **QUICK, user_dictionary=missing)


def test_a_wrong_setting_makes_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        asyncio.run(create_memory(tmp_path / "data", colour="red"))
    assert not (tmp_path / "data").exists()


# --- the file by itself -------------------------------------------------------------------------------------------


def test_load_memory_config_gives_what_the_file_says_and_the_defaults_for_the_rest(tmp_path: Path) -> None:
    file = write(tmp_path, "memory:\n  scope: ada\n  max_results: '12'\n  background_indexing: no\n")
    said: dict[str, Any] = {"scope": "ada", "max_results": 12, "background_indexing": False}
    assert load_memory_config(file, defaults=False) == said
    whole: dict[str, Any] = load_memory_config(file)
    usual = {"token_limit": 64_000, "persistence": {"enabled": False, "backend": "sqlite", "connection_string": None}}
    assert {name: whole[name] for name in (*said, *usual)} == {**said, **usual}
    # It is what a memory is opened with.
    assert load_settings(**whole, environment={}) == load_settings(
        environment={}, **said, persistence={"enabled": False}
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scope: main\n", ["line 1", "unknown key 'scope'", "'memory'"]),
        ("memory: {}\nother: 1\n", ["line 2", "unknown key 'other'"]),
        ("- memory\n", ["line 1", "'memory:'"]),
        ("just text\n", ["line 1", "'memory:'"]),
        ("\nmemory: 5\n", ["line 2", "int"]),
        ("memory: [scope]\n", ["line 1", "list"]),
        ("memory:\n  scope: 'main\n", ["YAML", "line 3"]),
        ("memory:\n\tscope: main\n", ["YAML", "line 2"]),
        ("memory: !!python/object/apply:os.system ['true']\n", ["YAML", "line 1"]),
        ("memory: &a [*a]\n", ["line 1", "list"]),
    ],
)
def test_a_file_that_is_not_in_order_is_named_with_the_line(tmp_path: Path, text: str, words: list[str]) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_memory_config(file)
    for word in [str(file), *words]:
        assert word in str(caught.value)


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.yaml does not exist.*'memory:'"):
        load_memory_config(tmp_path / "missing.yaml")
    (tmp_path / "latin.yaml").write_bytes("memory: {actor: é}".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.yaml cannot be read"):
        load_memory_config(tmp_path / "latin.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_memory_config(tmp_path)


# --- secrets ------------------------------------------------------------------------------------------------------

ADDRESSES = [
    "postgresql://ada:s3cr3t@db.example.org/jiyi",
    "postgresql://ada:s3cr3t@with@signs@db.example.org/jiyi",
    "postgresql://ada:s3cr3t/with/slashes@db.example.org",
    "https://ada:s3cr3t@example.org:8080/?a=b@c",
    "redis://:s3cr3t@localhost",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("name", ["storage", "embedder", "max_results", "time_zone", "path", "busy_timeout", "scope"])
def test_a_password_in_an_address_is_never_shown(tmp_path: Path, name: str, address: str) -> None:
    scope_like = f" {address}" if name == "scope" else address
    for given in (
        {"environment": {}, name: scope_like},
        {"environment": {("JIYI_HOME" if name == "path" else f"JIYI_{name.upper()}"): scope_like}},
    ):
        arguments: dict[str, Any] = {"path": tmp_path, **given}
        if name in {"storage", "path"} and address == ADDRESSES[0] and "JIYI_HOME" not in given["environment"]:
            assert "s3cr3t" not in repr(load_settings(**arguments))  # this one is right
            continue
        if name == "path" and "JIYI_HOME" in arguments["environment"]:
            del arguments["path"]
        with pytest.raises(ConfigError) as caught:
            load_settings(**arguments)
        assert "s3cr3t" not in str(caught.value)
        assert "***" in str(caught.value)


@pytest.mark.parametrize("address", ADDRESSES[1:])
def test_a_broken_file_does_not_show_its_passwords(tmp_path: Path, address: str) -> None:
    file = write(tmp_path, f"memory:\n  storage: {address}\n  actor: '{address}\n")
    with pytest.raises(ConfigError) as caught:
        load_memory_config(file)
    assert "s3cr3t" not in str(caught.value)
    write(tmp_path, f"memory:\n  storage: {address}\n")
    with pytest.raises(ConfigError) as caught:
        load_memory_config(file)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_settings_do_not_show_a_password(tmp_path: Path, address: str) -> None:
    settings = load_settings(tmp_path, environment={}, actor=address)
    assert settings.actor == address
    assert "s3cr3t" not in repr(settings)
    assert "s3cr3t" not in str(settings)


@pytest.mark.parametrize("address", ["https://ada:s3cr3t@example.org/jiyi", Path("postgresql://ada@db/jiyi")])
def test_an_address_is_not_taken_for_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str | Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="directory"):
        AgentMemory.open(address, **QUICK)
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def test_a_memory_shows_where_it_is_and_whose(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(scope="ada")
    assert str(tmp_path / "data") in repr(memory)
    assert "'ada'" in repr(memory)
    assert "open" in repr(memory)
    memory.close()
    assert "closed" in repr(memory)


# --- an embedder of one's own -------------------------------------------------------------------------------------


def test_an_embedder_may_be_an_object_of_ones_own(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder(32))
    assert memory.settings.embedder == "hash-ngrams@1/32"
    memory.store("k", "lighthouse keeper")
    assert [hit.key for hit in memory.recall("lighthouse", mode="semantic")] == ["k"]
    assert memory.doctor()["indexes"][1]["model"] == "hash-ngrams@1/32"


def test_what_is_no_embedder_is_refused(open_memory: OpenMemory) -> None:
    with pytest.raises(ConfigError, match="argument embedder"):
        open_memory(embedder=object())


# --- the chat room --------------------------------------------------------------------------------------------------

CHAT = """\
memory:
  # Token 限制
  token_limit: 64000

  summarize_prompt: |
    请总结以下对话的关键信息，保留重要的上下文和结论。

  persistence:
    enabled: false
    backend: redis
    connection_string: redis://localhost:6379
"""


def test_the_settings_file_of_the_chat_design_is_read(tmp_path: Path) -> None:
    assert load_memory_config(write(tmp_path / "configs", CHAT), defaults=False) == {
        "token_limit": 64_000,
        "summarize_prompt": "请总结以下对话的关键信息，保留重要的上下文和结论。\n",
        "persistence": {"enabled": False, "backend": "redis", "connection_string": "redis://localhost:6379"},
    }
    settings = load_settings(tmp_path / "configs", environment={})
    assert settings.token_limit == 64_000
    assert settings.persistence is not None
    assert settings.persistence.backend == "redis"


def test_the_settings_file_of_the_chat_design_is_looked_for_where_the_design_puts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=re.escape("configs/memory.yaml does not exist")):
        load_memory_config()
    write(tmp_path / "configs", "memory:\n  token_limit: 5\n")
    assert load_memory_config(defaults=False) == {"token_limit": 5}


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("64000", "0", "line 3: token_limit: 0 is not valid"),
        ("64000", "many", "line 3: token_limit: 'many' is not valid"),
        (
            "token_limit",
            "token_limits",
            "line 3: token_limits: unknown setting 'token_limits'; did you mean 'token_limit'?",
        ),
        (
            "|\n    请总结以下对话的关键信息，保留重要的上下文和结论。",
            "[1]",
            "line 5: summarize_prompt: [1] is not valid",
        ),
        ("enabled: false", "enabled: perhaps", "line 9: persistence.enabled: 'perhaps' is not valid"),
        (
            "backend: redis",
            "backend: floppy",
            "line 10: persistence.backend: 'floppy' is not valid: one of sqlite, redis",
        ),
        ("backend", "backand", "line 10: persistence.backand: unknown setting 'backand'; did you mean 'backend'?"),
        (
            "    connection_string: redis://localhost:6379\n",
            "",
            "line 10: persistence.backend: redis needs a connection",
        ),
        ("redis://localhost:6379", "[5]", "line 11: persistence.connection_string: [5] is not valid"),
    ],
)
def test_what_is_wrong_in_the_chat_settings_is_named_with_file_line_and_key(
    tmp_path: Path, old: str, new: str, named: str
) -> None:
    file = write(tmp_path, CHAT.replace(old, new, 1))
    for load in (load_memory_config, lambda path: load_settings(path.parent, environment={})):
        with pytest.raises(ConfigError) as caught:
            load(file)
        assert f"{file}, {named}" in str(caught.value)


def test_persistence_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "memory:\n  persistence: redis\n")
    with pytest.raises(ConfigError, match=re.escape(f"{file}, line 2: persistence: 'redis' is not valid: a mapping")):
        load_memory_config(file)


def test_the_chat_settings_come_from_the_environment_too(tmp_path: Path) -> None:
    environment = {
        "JIYI_TOKEN_LIMIT": "900",
        "JIYI_SOFT_THRESHOLD": "0.5",
        "JIYI_RESERVE_TOKENS": "",
        "JIYI_PERSISTENCE": '{"enabled": true, "backend": "sqlite"}',
    }
    settings = load_settings(tmp_path, environment=environment)
    assert (settings.token_limit, settings.soft_threshold, settings.reserve_tokens) == (900, 0.5, None)
    assert settings.persistence is not None
    assert settings.persistence.enabled
    for name, value in (
        ("SOFT_THRESHOLD", "0"),
        ("RESERVE_TOKENS", "-1"),
        ("PERSISTENCE", "{"),
        ("TOKEN_LIMIT", "1.5"),
    ):
        with pytest.raises(ConfigError, match=f"JIYI_{name}"):
            load_settings(tmp_path, environment={f"JIYI_{name}": value})


def test_the_password_of_a_connection_is_not_shown(tmp_path: Path) -> None:
    address = "redis://jiyi:geheim@localhost:6379"
    settings = load_settings(
        tmp_path, environment={}, persistence={"enabled": True, "backend": "redis", "connection_string": address}
    )
    assert "geheim" not in repr(settings)
    assert "geheim" not in repr(settings.persistence)
    file = write(tmp_path, f"memory:\n  persistence:\n    backend: {address}\n")
    with pytest.raises(ConfigError) as caught:
        load_memory_config(file)
    assert "geheim" not in str(caught.value)


# --- the chat model -----------------------------------------------------------------------------------------------


def test_a_model_may_be_an_object_of_ones_own(open_memory: OpenMemory) -> None:
    model = ScriptedModel(["hello"], name="my own")
    assert open_memory(llm=model).settings.llm == "my own"
    assert open_memory().settings.llm == "none"


def test_a_model_server_is_named_by_settings_and_not_contacted_before_it_is_asked(tmp_path: Path) -> None:
    settings = load_settings(
        tmp_path, environment={}, llm="openai-compatible", llm_base_url="http://nowhere.invalid/v1", llm_model="m"
    )
    model = chat_model(settings)
    assert model is not None
    assert model.name == "m"
    assert chat_model(load_settings(tmp_path, environment={})) is None


def test_a_model_server_needs_an_address_and_a_name(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"needs llm_base_url and llm_model; set JIYI_LLM_BASE_URL and JIYI_LLM_MODEL"
    ):
        load_settings(tmp_path, environment={}, llm="openai-compatible")
    with pytest.raises(ConfigError, match=r"needs llm_model;"):
        load_settings(tmp_path, environment={"JIYI_LLM_BASE_URL": "http://h/v1"}, llm="openai-compatible")


def test_the_key_of_a_model_is_not_shown(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, environment={"JIYI_LLM_API_KEY": "sk-secret"})
    assert settings.llm_api_key == "sk-secret"
    assert "sk-secret" not in repr(settings)
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path, environment={}, llm_api_key=["sk-secret"])
    assert "sk-secret" not in str(caught.value)


def test_what_is_no_model_is_refused(open_memory: OpenMemory) -> None:
    with pytest.raises(ConfigError, match="llm"):
        open_memory(llm=5)


# --- the services of the long-term design -----------------------------------------------------------------------------


def test_the_variables_of_the_design_set_up_its_services(tmp_path: Path) -> None:
    env = {
        "JIYI_LLM": "deepseek",
        "JIYI_EMBEDDER": "qwen",
        "DEEPSEEK_API_KEY": "sk-deep",
        "QWEN_API_KEY": "sk-qwen",
        "MEMORY_SCORER_MODEL": "deepseek-reasoner",
    }
    settings = load_settings(tmp_path, environment=env)
    assert settings.llm_base_url == "https://api.deepseek.com/v1"
    assert (settings.llm_model, settings.scorer_model, settings.router_model) == (
        "deepseek-chat",
        "deepseek-reasoner",
        None,
    )
    assert settings.embedding_base_url == "https://dashscope.aliyuncs.com/compatible-mode/v1"
    assert settings.embedding_model == "text-embedding-v4"
    assert (settings.llm_api_key, settings.embedding_api_key) == ("sk-deep", "sk-qwen")
    assert "sk-" not in repr(settings)
    moved = {**env, "DEEPSEEK_API_BASE": "http://localhost:1/v1", "MEMORY_EMBEDDING_MODEL": "text-embedding-v3"}
    settings = load_settings(tmp_path, environment=moved)
    assert (settings.llm_base_url, settings.embedding_model) == ("http://localhost:1/v1", "text-embedding-v3")
    assert load_settings(tmp_path, environment=moved, llm_model="other").llm_model == "other"


def test_a_service_without_its_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY"):
        load_settings(tmp_path, environment={"JIYI_LLM": "deepseek"})
    with pytest.raises(ConfigError, match="QWEN_API_KEY"):
        load_settings(tmp_path, environment={"JIYI_EMBEDDER": "qwen"})


def test_a_key_goes_only_to_the_service_it_is_for(tmp_path: Path) -> None:
    env = {"DEEPSEEK_API_KEY": "sk-deep", "QWEN_API_KEY": "sk-qwen"}
    settings = load_settings(
        tmp_path,
        environment=env,
        llm="openai-compatible",
        llm_base_url="http://localhost:1/v1",
        llm_model="m",
        embedder="none",
    )
    assert (settings.llm_api_key, settings.embedding_api_key) == (None, None)


@pytest.mark.parametrize(
    ("environment", "language"),
    [({}, "en"), ({"LANG": ""}, "en"), ({"LANG": "de_DE.UTF-8"}, "en"), ({"LANG": "zh_CN.UTF-8"}, "zh")],
)
def test_the_language_of_the_machine_is_that_of_its_locale(environment: dict[str, str], language: str) -> None:
    assert machine_language(environment) == language
