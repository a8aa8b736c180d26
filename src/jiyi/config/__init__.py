"""Settings. Only this package reads the environment and memory.yaml.

In order of precedence, lowest first: the defaults below, the file, the environment, the arguments.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from jiyi.config import parse
from jiyi.config.key_lines import DuplicateKeyError, lines_of
from jiyi.config.parse import NestedError, Persistence, setting
from jiyi.config.services import SERVICES
from jiyi.errors import ConfigError
from jiyi.model.address import EMBEDDED, IN_MEMORY, is_postgres_url, mask_passwords
from jiyi.model.limits import DEFAULT_TOKEN_LIMIT, MAX_MODEL_REPLY_BYTES, Limits, RecallLimits
from jiyi.model.scope import DEFAULT_SCOPE

ROOT_KEY = "memory"
PREFIX = "JIYI_"
CONFIG_VARIABLE = "JIYI_CONFIG"
HOME_VARIABLE = "JIYI_HOME"
DEFAULT_HOME = "~/.jiyi/data"
FILE_NAME = "memory.yaml"
_LIMITS = Limits()
_RECALL = RecallLimits()

# Read under these names too, which other programs with a long-term memory use.
_MODEL_VARIABLES = {
    "MEMORY_EMBEDDING_MODEL": "embedding_model",
    "MEMORY_SCORER_MODEL": "scorer_model",
    "MEMORY_ROUTER_MODEL": "router_model",
}
# Read only if Milvus is used: they may belong to other programs.
_MILVUS_VARIABLES = {
    f"milvus_{name}": f"MILVUS_{name.upper()}" for name in ("host", "port", "uri", "token", "memory_collection")
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings:
    """Everything that can be configured. Made by `load_settings`."""

    path: Path = setting(Path(DEFAULT_HOME), parse.data_path, "the data directory; :memory: keeps nothing")
    scope: str = setting(DEFAULT_SCOPE, parse.scope, "the scope that is meant when a call names none")
    actor: str = setting("user", parse.text, "who is named in the change log")
    storage: str = setting(
        EMBEDDED,
        parse.storage,
        "where records are kept: embedded, or the address of a PostgreSQL database (postgresql://…)",
    )
    pool_size: int = setting(
        8,
        parse.whole(1, 1_000),
        "connections to PostgreSQL that a memory keeps; in a rush it opens up to twice as many",
    )
    statement_timeout: float = setting(
        60.0, parse.number(0.001, 86_400), "how long PostgreSQL may work on one statement, in seconds"
    )
    pg_search: bool = setting(
        True, parse.flag, "in PostgreSQL: find words by the extension pg_search where the server has it"
    )
    vectors: str = setting(
        "auto", parse.choice("auto", "milvus"), "where vectors are kept: auto (with the profile) or milvus"
    )
    milvus_uri: str | None = setting(
        None,
        parse.milvus_uri,
        "the address of Milvus, or a file for Milvus Lite; milvus_host and milvus_port when not set",
    )
    milvus_host: str = setting("localhost", parse.text, "the host of Milvus")
    milvus_port: int = setting(19530, parse.whole(1, 65_535), "the port of Milvus")
    milvus_token: str | None = setting(None, parse.optional_text, "the token for Milvus, or user:password", secret=True)
    milvus_memory_collection: str = setting(
        "agent_memories_vectors", parse.collection, "the name of the collection in Milvus"
    )
    embedder: str = setting(
        "bundled",
        parse.choice("bundled", "none", "qwen", "openai-compatible", "fastembed", "sentence-transformers"),
        "the embedder: bundled, none, qwen, openai-compatible, fastembed or sentence-transformers",
    )
    embedding_base_url: str | None = setting(None, parse.web_address, "the address of the embedding server")
    embedding_model: str | None = setting(None, parse.optional_text, "the name of the embedding model")
    embedding_api_key: str | None = setting(None, parse.optional_text, "the key for the embedding server", secret=True)
    embedding_dimension: int | None = setting(
        None, parse.optional_whole(1, 1 << 16), "the length of the vectors; needed for models that are not well known"
    )
    embedding_batch: int = setting(10, parse.whole(1, 10_000), "how many texts are embedded in one request")
    reranker: str = setting(
        "none",
        parse.choice("none", "openai-compatible", "cohere-style", "fastembed", "sentence-transformers"),
        "the reranker: none, openai-compatible, cohere-style, fastembed or sentence-transformers",
    )
    reranker_base_url: str | None = setting(None, parse.web_address, "the address of the reranking server")
    reranker_model: str | None = setting(None, parse.optional_text, "the name of the reranking model")
    reranker_api_key: str | None = setting(None, parse.optional_text, "the key for the reranking server", secret=True)
    reranker_timeout: float = setting(
        _RECALL.rerank_seconds, parse.number(0.001, 3_600), "how long a recall waits for the reranker, in seconds"
    )
    rerank_candidates: int = setting(
        _RECALL.rerank_candidates, parse.whole(1, 1_000), "how many of the best hits are reranked"
    )
    enable_simple_memory: bool = setting(
        False, parse.flag, "records and tags only: no index, no vectors; an embedder only to judge long-term facts"
    )
    llm: str = setting(
        "none",
        parse.choice("none", "deepseek", "openai-compatible"),
        "the chat model: none (rules), deepseek or openai-compatible",
    )
    llm_base_url: str | None = setting(None, parse.web_address, "the address of the model server")
    llm_model: str | None = setting(None, parse.optional_text, "the name of the model")
    llm_api_key: str | None = setting(None, parse.optional_text, "the key for the model server", secret=True)
    llm_timeout: float = setting(60.0, parse.number(0.1, 3600), "how long a reply may take, in seconds")
    llm_max_reply_bytes: int = setting(MAX_MODEL_REPLY_BYTES, parse.whole(1024, 1 << 30), "the longest reply, in bytes")
    llm_retries: int = setting(2, parse.whole(0, 20), "how often a model that cannot be reached is asked again at once")
    llm_concurrency: int = setting(4, parse.whole(1, 1_000), "how many questions a model is asked at the same time")
    llm_input_price: float = setting(0.0, parse.number(0, 1e6), "what a million tokens sent to the model cost")
    llm_output_price: float = setting(0.0, parse.number(0, 1e6), "what a million tokens of its replies cost")
    scorer_model: str | None = setting(
        None, parse.optional_text, "the model that scores rounds; llm_model when not set"
    )
    router_model: str | None = setting(None, parse.optional_text, "the model that routes; llm_model when not set")
    reflection_model: str | None = setting(None, parse.optional_text, "the model that reflects; llm_model when not set")
    compression_model: str | None = setting(
        None, parse.optional_text, "the model that compresses memories; llm_model when not set"
    )
    summarizer_model: str | None = setting(
        None, parse.optional_text, "the model that summarises chats; llm_model when not set"
    )
    background_indexing: bool = setting(True, parse.flag, "keep the indexes up to date in a thread")
    background_jobs: bool = setting(True, parse.flag, "do background work in a thread")
    maintain_hours: int = setting(
        24, parse.whole(0, 24), "jiyi serve maintains the memory every so many hours from 4 in the morning on; 0: never"
    )
    job_attempts: int = setting(6, parse.whole(1, 100), "how often background work is begun before it is given up")
    forgetting_exempt: tuple[str, ...] = setting(
        ("health", "identity", "safety", "instruction", "requested", "pinned"),
        parse.some_of("health", "identity", "safety", "instruction", "requested", "decision", "pinned"),
        "kinds of facts that are not forgotten: some of health, identity, safety, instruction, requested, decision, "
        "pinned; or none",
    )
    strict_scope: bool = setting(
        False, parse.flag, "calls that name no scope are refused, unless scope is set: for hosts with many chats"
    )
    freshness_seconds: float = setting(
        _RECALL.freshness_seconds, parse.number(0, 3600), "how long a recall waits for the indexes"
    )
    recall_messages: bool = setting(True, parse.flag, "what is said in conversations can be recalled")
    token_limit: int = setting(
        DEFAULT_TOKEN_LIMIT, parse.whole(1, 1 << 40), "how many tokens a chat's window has at most"
    )
    profile_tokens: int = setting(
        1_000,
        parse.whole(0, 1 << 24),
        "tokens of a turn's prompt for the user's profile, at most a tenth of the prompt; 0 turns it off",
    )
    summarize_prompt: str | None = setting(None, parse.optional_text, "your own words for asking a model for summaries")
    soft_threshold: float = setting(0.8, parse.share, "the share of token_limit from which a chat is looked through")
    reserve_tokens: int | None = setting(
        None,
        parse.optional_whole(0, 1 << 40),
        "tokens that a compaction leaves free; a quarter of token_limit when not set",
    )
    session_idle_minutes: float = setting(
        30.0, parse.number(0, 1e6), "after so long without a word a session is searched for what is worth keeping"
    )
    persistence: Persistence | None = setting(
        None, parse.persistence, "where integrations keep chats: enabled, backend (sqlite or redis), connection_string"
    )
    word_candidates: int = setting(_RECALL.word_candidates, parse.whole(1, 10_000), "candidates by words")
    bigram_candidates: int = setting(_RECALL.bigram_candidates, parse.whole(1, 10_000), "candidates by character pairs")
    dense_candidates: int = setting(_RECALL.dense_candidates, parse.whole(1, 10_000), "candidates by meaning")
    dated_candidates: int = setting(
        _RECALL.dated_candidates, parse.whole(1, 10_000), "candidates inside the dates a question names"
    )
    busy_timeout: float = setting(30.0, parse.number(0.001, 3600), "how long to wait for another process, in seconds")
    vector_cache_mb: int = setting(512, parse.whole(1, 1 << 20), "memory for vectors of scopes in use")
    index_metadata: tuple[str, ...] | None = setting(
        None,
        parse.metadata_fields,
        "names of metadata fields that are searched as well as the content, kept in the store; as before when not set",
    )
    user_dictionary: Path | None = setting(None, parse.optional_path, "a file of words for the segmenter, one a line")
    time_zone: str | None = setting(None, parse.zone, "the user's time zone; the machine's when not set")
    max_content_bytes: int = setting(
        _LIMITS.max_content_bytes, parse.whole(1, 1 << 30), "the longest content, in bytes of UTF-8"
    )
    max_key_characters: int = setting(_LIMITS.max_key_characters, parse.whole(1, 10_000), "the longest key")
    max_query_characters: int = setting(_LIMITS.max_query_characters, parse.whole(1, 1 << 24), "the longest query")
    max_results: int = setting(_LIMITS.max_results, parse.whole(1, 1_000_000), "the largest limit of a recall")
    workspace: Path | None = setting(None, parse.optional_path, "the directory of notes: MEMORY.md and memory/")
    recall_notes: bool = setting(True, parse.flag, "recall finds the notes of the workspace as well")
    note_candidates: bool = setting(True, parse.flag, "what chats propose to keep goes into the daily notes by itself")
    max_note_entry_bytes: int = setting(64 * 1024, parse.whole(1, 1 << 24), "the longest entry of a daily note")
    max_note_day_bytes: int = setting(1 << 20, parse.whole(1, 1 << 28), "how large a daily note may grow by appending")
    max_note_file_bytes: int = setting(4 << 20, parse.whole(1, 1 << 30), "the largest note that is read and searched")
    context_file_tokens: int = setting(2_000, parse.whole(1, 1 << 24), "of each context file in a prompt, in tokens")
    long_term_tokens: int = setting(4_000, parse.whole(1, 1 << 24), "of MEMORY.md in a prompt, in tokens")
    daily_note_tokens: int = setting(4_000, parse.whole(1, 1 << 24), "of each day's notes in a prompt, in tokens")

    def __repr__(self) -> str:
        shown = (f"{f.name}={_shown(f.name, getattr(self, f.name))}" for f in dataclasses.fields(self))
        return f"Settings({', '.join(shown)})"

    @property
    def limits(self) -> Limits:
        """The limits of what callers may pass in."""
        return Limits(
            max_content_bytes=self.max_content_bytes,
            max_key_characters=self.max_key_characters,
            max_query_characters=self.max_query_characters,
            max_results=self.max_results,
        )

    @property
    def place(self) -> str:
        """Where the memories are, for messages: the data directory, or the address without its password."""
        return str(self.path) if self.storage == EMBEDDED else mask_passwords(self.storage)

    @property
    def milvus_address(self) -> str:
        """The address of Milvus."""
        return self.milvus_uri or f"http://{self.milvus_host}:{self.milvus_port}"

    @property
    def has_notes(self) -> bool:
        """Whether there is a workspace whose notes are read: simple mode has none."""
        return self.workspace is not None and not self.enable_simple_memory

    @property
    def zone(self) -> tzinfo:
        """The user's time zone."""
        from jiyi.config.machine_zone import zone_of_name

        return zone_of_name(self.time_zone)

    def user_words(self) -> list[str]:
        """The words of the user dictionary: the first word of each line; `#` begins a comment."""
        if self.user_dictionary is None:
            return []
        try:
            lines = self.user_dictionary.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"user_dictionary {self.user_dictionary} cannot be read: {error}") from error
        return [line.split()[0] for line in lines if line.strip() and not line.lstrip().startswith("#")]


_FIELDS = {f.name: f for f in dataclasses.fields(Settings)}


def load_settings(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    **arguments: Any,
) -> Settings:
    """Settings from the file, the environment and the arguments.

    The file is `config`, or what JIYI_CONFIG names, or memory.yaml in the data directory if there is one. The address
    of a database given as `path` becomes the setting `storage`.
    """
    env = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    from_environment = _from_environment(env)
    if is_postgres_url(path):
        if arguments.setdefault("storage", path) != path:
            raise ConfigError("the records have two addresses: one given as the path, another one as storage")
    elif path is not None:
        arguments["path"] = path
    given = _checked(arguments, "argument {}")
    home: Path | None = given.get("path") or from_environment.get("path")
    named = config if config is not None else env.get(CONFIG_VARIABLE)
    if named is not None:
        values.update(_from_file(Path(named).expanduser()))
        home = home or values.get("path")
    else:
        beside = (home or parse.path(DEFAULT_HOME)) / FILE_NAME
        if home != IN_MEMORY and _is_file(beside):
            values.update(_from_file(beside))
    if {**values, **from_environment, **given}.get("vectors") == "milvus":
        named_for_milvus = {name: env[variable] for name, variable in _MILVUS_VARIABLES.items() if env.get(variable)}
        values.update(_checked(named_for_milvus, "environment variable {}", name_of=_MILVUS_VARIABLES.__getitem__))
    merged = {"path": parse.path(DEFAULT_HOME), **values, **from_environment, **given}
    return _check_combinations(Settings(**_with_services(merged, env)))


def _with_services(values: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Fill in the defaults of a named service: its address, its usual model, and its key from the environment."""
    for (chosen, service), (key, variables, defaults) in SERVICES.items():
        if values.get(chosen) != service:
            continue
        named = {name: env[variable] for name, variable in variables.items() if env.get(variable)}
        checked = _checked(named, "environment variable {}", name_of=variables.__getitem__)
        values = {**defaults, **checked, **{name: value for name, value in values.items() if value is not None}}
        secret = next(name for name in variables if name.endswith("api_key"))
        if values.get(secret) is None:
            raise ConfigError(f"{chosen} is {service}, which needs a key; set {key} or {PREFIX}{secret.upper()}")
    return values


def _check_combinations(settings: Settings) -> Settings:
    """Raises `ConfigError` if a setting needs another one that is not set."""
    needed: dict[str, dict[str, tuple[str, ...]]] = {
        "llm": {"openai-compatible": ("llm_base_url", "llm_model")},
        "embedder": {
            "openai-compatible": ("embedding_base_url", "embedding_model"),
            "fastembed": ("embedding_model",),
            "sentence-transformers": ("embedding_model",),
        },
        "reranker": {
            "openai-compatible": ("reranker_base_url", "reranker_model"),
            "cohere-style": ("reranker_base_url", "reranker_model"),
            "fastembed": ("reranker_model",),
            "sentence-transformers": ("reranker_model",),
        },
    }
    for name, choices in needed.items():
        chosen = getattr(settings, name)
        missing = [other for other in choices.get(chosen, ()) if getattr(settings, other) is None]
        if missing:
            raise ConfigError(
                f"{name} is {chosen}, which needs {' and '.join(missing)}; "
                f"set {' and '.join(PREFIX + other.upper() for other in missing)} or the same names in {FILE_NAME}"
            )
    return settings


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except PermissionError as error:
        raise ConfigError(
            f"{path} cannot be looked at ({error.strerror}); check the permissions of the data directory {path.parent}"
        ) from error


def load_memory_config(
    config_path: str | os.PathLike[str] = "configs/memory.yaml", *, defaults: bool = True
) -> dict[str, Any]:
    """The settings of a memory.yaml as a dictionary, checked. Without `defaults` only those that the file has."""
    found = _from_file(Path(config_path).expanduser())
    if defaults:
        usual = {f.name: f.default for f in _FIELDS.values()} | {"persistence": Persistence()}
        found = {**usual, "path": parse.path(DEFAULT_HOME), **found}
    return {name: value.to_dict() if isinstance(value, Persistence) else value for name, value in found.items()}


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {name: env[variable] for variable, name in _MODEL_VARIABLES.items() if env.get(variable)}
    for variable, value in env.items():
        if variable == HOME_VARIABLE:
            found["path"] = value
        elif variable.startswith(PREFIX) and variable != CONFIG_VARIABLE:
            found[variable.removeprefix(PREFIX).lower()] = value
    return _checked(
        found,
        "environment variable {}",
        name_of=lambda key: HOME_VARIABLE if key == "path" else PREFIX + key.upper(),
    )


def _from_file(path: Path) -> dict[str, Any]:
    import yaml

    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; create it with the root key '{ROOT_KEY}:'") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        # Not the text of the error: it quotes the file, which may contain a password.
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        raise ConfigError(f"{path}{line}: not valid YAML: {mask_passwords(reason)}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}, line 1: the root key '{ROOT_KEY}:' is needed")
    try:
        lines = lines_of(node)
    except DuplicateKeyError as error:
        raise ConfigError(f"{path}, {error}") from None
    for key in data:
        if key != ROOT_KEY:
            raise ConfigError(
                f"{path}, line {lines.get((str(key),), 1)}: unknown key {key!r}; the root key is '{ROOT_KEY}'"
            )
    section = data.get(ROOT_KEY)
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise ConfigError(
            f"{path}, line {lines[(ROOT_KEY,)]}: '{ROOT_KEY}' must hold settings, not {type(section).__name__}"
        )
    settings = {str(key): value for key, value in section.items()}
    where = {key: f"{path}, line {lines.get((ROOT_KEY, key), 1)}: {key}" for key in settings}
    where.update(
        {
            f"{above}.{below}": f"{path}, line {line}: {above}.{below}"
            for (*_, above, below), line in ((place, line) for place, line in lines.items() if len(place) == 3)
        }
    )
    return _checked(settings, "{}", name_of=lambda key: where.get(key, key))


def _checked(values: Mapping[str, Any], place: str, name_of: Callable[[str], str] = lambda key: key) -> dict[str, Any]:
    found = {}
    for key, value in values.items():
        if key not in _FIELDS:
            raise ConfigError(f"{place.format(name_of(key))}: unknown setting {key!r}; {_hint(key)}")
        try:
            found[key] = _FIELDS[key].metadata["parse"](value)
        except NestedError as error:
            raise ConfigError(f"{place.format(name_of(f'{key}.{error.key}'))}: {error}") from None
        except ValueError as error:
            raise ConfigError(f"{place.format(name_of(key))}: {_shown(key, value)} is not valid: {error}") from None
    return found


def _hint(key: str) -> str:
    """What may have been meant."""
    if key in ("data", "data_dir", "home"):
        return "the data directory is named by JIYI_HOME, by --data, or when opening"
    near = difflib.get_close_matches(key, _FIELDS, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(_FIELDS))}"


def _shown(name: str, value: Any) -> str:
    """A value for a message: secrets are not shown."""
    if value is not None and _FIELDS[name].metadata["secret"]:
        return "'***'"
    return mask_passwords(repr(value))
