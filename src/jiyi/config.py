"""Settings: the only reader of the environment and of memory.yaml.

Later wins: the defaults below, the file, the environment, the arguments.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from jiyi.errors import ConfigError, InvalidScopeError
from jiyi.model.limits import Limits
from jiyi.model.scope import check_scope, scope_problem

ROOT_KEY = "memory"
PREFIX = "JIYI_"
CONFIG_VARIABLE = "JIYI_CONFIG"
HOME_VARIABLE = "JIYI_HOME"
DEFAULT_HOME = "~/.jiyi/data"
FILE_NAME = "memory.yaml"

Parse = Callable[[Any], Any]

# The variables of the long-term design. A key is only sent to the server that it is for, whatever else is set.
_MODEL_VARIABLES = {
    "MEMORY_EMBEDDING_MODEL": "embedding_model",
    "MEMORY_SCORER_MODEL": "scorer_model",
    "MEMORY_ROUTER_MODEL": "router_model",
}
_SERVICES = {
    ("llm", "deepseek"): (
        "DEEPSEEK_API_KEY",
        {"llm_api_key": "DEEPSEEK_API_KEY", "llm_base_url": "DEEPSEEK_API_BASE"},
        {"llm_base_url": "https://api.deepseek.com/v1", "llm_model": "deepseek-chat"},
    ),
    ("embedder", "qwen"): (
        "QWEN_API_KEY",
        {"embedding_api_key": "QWEN_API_KEY", "embedding_base_url": "QWEN_API_BASE"},
        {
            "embedding_base_url": "https://dashscope.aliyuncs.com/compatible-mode/v1",
            "embedding_model": "text-embedding-v4",
        },
    ),
}

# Two letters at least: one letter is a drive of Windows. One slash is left of two when an address was made a Path.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_PASSWORD = re.compile(r"(:/{1,2}[^/@:\s]*):\S*@")


def _whole(least: int, most: int) -> Parse:
    def parse(value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"a whole number from {least} to {most} is needed")
        return value

    return parse


def _number(least: float, most: float) -> Parse:
    def parse(value: Any) -> float:
        if isinstance(value, str) and re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)", value.strip()):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise ValueError(f"a number from {least:g} to {most:g} is needed")
        return float(value)

    return parse


def _share(value: Any) -> float:
    share = _number(0, 1)(value)
    if share == 0:
        raise ValueError("a share above 0 and at most 1 is needed")
    return float(share)


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = {
        "true": True,
        "yes": True,
        "on": True,
        "1": True,
        "false": False,
        "no": False,
        "off": False,
        "0": False,
    }
    if isinstance(value, str) and value.strip().lower() in known:
        return known[value.strip().lower()]
    raise ValueError("true or false is needed")


def _choice(*allowed: str) -> Parse:
    def parse(value: Any) -> str:
        # YAML reads a bare `none` as text but `null` and an empty value as nothing; both mean "without".
        word = "none" if value is None and "none" in allowed else value
        if word not in allowed:
            raise ValueError(f"one of {', '.join(allowed)} is needed")
        return str(word)

    return parse


def _path(value: Any) -> Path:
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ValueError("a path is needed")
    if _ADDRESS.match(os.fspath(value)):
        raise ValueError("a path of this machine is needed, not an address: a file or a directory")
    return Path(value).expanduser()


def _optional_path(value: Any) -> Path | None:
    return None if value is None or value == "" else _path(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("some text is needed")
    return value


def _optional_text(value: Any) -> str | None:
    return None if value is None or value == "" else _text(value)


def _optional_whole(least: int, most: int) -> Parse:
    parse = _whole(least, most)
    return lambda value: None if value is None or value == "" else parse(value)


def _persistence(value: Any) -> Persistence | None:
    """Where chats of other frameworks are kept: a mapping, or JSON of one in the environment."""
    if value is None or value == "" or isinstance(value, Persistence):
        return value or None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError("a mapping is needed: enabled, backend, connection_string") from None
    if not isinstance(value, Mapping):
        raise ValueError("a mapping is needed: enabled, backend, connection_string")  # noqa: TRY004
    found: dict[str, Any] = {}
    for key, part in value.items():
        if key not in _PERSISTENCE:
            near = difflib.get_close_matches(str(key), _PERSISTENCE, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(_PERSISTENCE)}"
            raise NestedError(str(key), f"unknown setting {str(key)!r}; {hint}")
        try:
            found[key] = _PERSISTENCE[key](part)
        except ValueError as error:
            raise NestedError(key, f"{masked(repr(part))} will not do: {error}") from None
    if found.get("backend") == "redis" and not found.get("connection_string"):
        raise NestedError("backend", "redis needs a connection_string such as redis://localhost:6379")
    return Persistence(**found)


class NestedError(ValueError):
    """A setting inside a setting is wrong; `key` names it."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(problem)
        self.key = key


@dataclass(frozen=True, slots=True)
class Persistence:
    """Where integrations keep their chats: `sqlite` is this memory itself."""

    enabled: bool = False
    backend: str = "sqlite"
    connection_string: str | None = None

    def __repr__(self) -> str:
        address = None if self.connection_string is None else masked(self.connection_string)
        return f"Persistence(enabled={self.enabled}, backend={self.backend!r}, connection_string={address!r})"

    def to_dict(self) -> dict[str, Any]:
        """As it stands in memory.yaml."""
        return dataclasses.asdict(self)


def _zone(value: Any) -> str | None:
    if value is None or value == "":
        return None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, TypeError, ValueError, OSError):
        raise ValueError("a time zone such as Asia/Shanghai or UTC is needed") from None
    return str(value)


def _scope(value: Any) -> str:
    try:
        return check_scope(value)
    except InvalidScopeError:
        raise ValueError(f"a scope {scope_problem(value)}; a name such as main is needed") from None


_PERSISTENCE: dict[str, Parse] = {
    "enabled": _flag,
    "backend": _choice("sqlite", "redis"),
    "connection_string": _optional_text,
}


def _web_address(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not re.fullmatch(r"https?://[^/\s]+\S*", value.strip()):
        raise ValueError("an address such as http://localhost:8080/v1 is needed")
    return value.strip()


def _setting(default: Any, parse: Parse, about: str, *, secret: bool = False) -> Any:
    return field(default=default, metadata={"parse": parse, "about": about, "secret": secret})


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings:
    """Everything that can be set. Made by `load_settings`; frozen."""

    path: Path = _setting(Path(DEFAULT_HOME), _path, "the data directory")
    scope: str = _setting("main", _scope, "the scope that is meant when a call names none")
    actor: str = _setting("user", _text, "who is named in the change log")
    storage: str = _setting("embedded", _choice("embedded"), "the profile: embedded")
    embedder: str = _setting(
        "bundled",
        _choice("bundled", "none", "qwen", "openai-compatible", "fastembed", "sentence-transformers"),
        "the embedder: bundled, none, qwen, openai-compatible, fastembed or sentence-transformers",
    )
    embedding_base_url: str | None = _setting(None, _web_address, "the address of the embedding server")
    embedding_model: str | None = _setting(None, _optional_text, "the name of the embedding model")
    embedding_api_key: str | None = _setting(None, _optional_text, "the key for the embedding server", secret=True)
    embedding_dimension: int | None = _setting(
        None, _optional_whole(1, 1 << 16), "the length of the vectors; needed for models that are not well known"
    )
    embedding_batch: int = _setting(10, _whole(1, 10_000), "how many texts are embedded in one request")
    enable_simple_memory: bool = _setting(False, _flag, "records and tags only: no embedder, no text index, no vectors")
    llm: str = _setting(
        "none",
        _choice("none", "deepseek", "openai-compatible"),
        "the chat model: none (rules), deepseek or openai-compatible",
    )
    llm_base_url: str | None = _setting(None, _web_address, "the address of the model server")
    llm_model: str | None = _setting(None, _optional_text, "the name of the model")
    llm_api_key: str | None = _setting(None, _optional_text, "the key for the model server", secret=True)
    llm_timeout: float = _setting(60.0, _number(0.1, 3600), "how long a reply may take, in seconds")
    llm_max_reply_bytes: int = _setting(4 << 20, _whole(1024, 1 << 30), "the longest reply, in bytes")
    llm_retries: int = _setting(2, _whole(0, 20), "how often a model that cannot be reached is asked again at once")
    llm_concurrency: int = _setting(4, _whole(1, 1_000), "how many questions a model is asked at the same time")
    llm_input_price: float = _setting(0.0, _number(0, 1e6), "what a million tokens sent to the model cost")
    llm_output_price: float = _setting(0.0, _number(0, 1e6), "what a million tokens of its replies cost")
    scorer_model: str | None = _setting(None, _optional_text, "the model that scores rounds; llm_model when not set")
    router_model: str | None = _setting(None, _optional_text, "the model that routes; llm_model when not set")
    reflection_model: str | None = _setting(None, _optional_text, "the model that reflects; llm_model when not set")
    compression_model: str | None = _setting(
        None, _optional_text, "the model that compresses memories; llm_model when not set"
    )
    summarizer_model: str | None = _setting(
        None, _optional_text, "the model that summarises chats; llm_model when not set"
    )
    background_indexing: bool = _setting(True, _flag, "keep the indexes up to date in a thread")
    background_jobs: bool = _setting(True, _flag, "do background work in a thread")
    job_attempts: int = _setting(6, _whole(1, 100), "how often background work is begun before it is given up")
    freshness_seconds: float = _setting(10.0, _number(0, 3600), "how long a recall waits for the indexes")
    recall_messages: bool = _setting(True, _flag, "what is said in conversations can be recalled")
    token_limit: int = _setting(64_000, _whole(1, 1 << 40), "how many tokens a chat's window has at most")
    summarize_prompt: str | None = _setting(None, _optional_text, "your own words for asking a model for summaries")
    soft_threshold: float = _setting(0.8, _share, "the share of token_limit from which a chat is looked through")
    reserve_tokens: int | None = _setting(
        None, _optional_whole(0, 1 << 40), "tokens that a compaction leaves free; a quarter of token_limit when not set"
    )
    persistence: Persistence | None = _setting(
        None, _persistence, "where integrations keep chats: enabled, backend (sqlite or redis), connection_string"
    )
    word_candidates: int = _setting(50, _whole(1, 10_000), "candidates by words")
    bigram_candidates: int = _setting(20, _whole(1, 10_000), "candidates by character pairs")
    dense_candidates: int = _setting(50, _whole(1, 10_000), "candidates by meaning")
    dated_candidates: int = _setting(30, _whole(1, 10_000), "candidates inside the dates a question names")
    busy_timeout: float = _setting(30.0, _number(0.001, 3600), "how long to wait for another process, in seconds")
    vector_cache_mb: int = _setting(512, _whole(1, 1 << 20), "memory for vectors of scopes in use")
    user_dictionary: Path | None = _setting(None, _optional_path, "a file of words for the segmenter, one a line")
    time_zone: str | None = _setting(None, _zone, "the user's time zone; the machine's when not set")
    max_content_bytes: int = _setting(64 * 1024, _whole(1, 1 << 30), "the longest content, in bytes of UTF-8")
    max_key_characters: int = _setting(512, _whole(1, 10_000), "the longest key")
    max_query_characters: int = _setting(32_768, _whole(1, 1 << 24), "the longest query")
    max_results: int = _setting(1_000, _whole(1, 1_000_000), "the largest limit of a recall")
    workspace: Path | None = _setting(None, _optional_path, "the directory of notes: MEMORY.md and memory/")
    recall_notes: bool = _setting(True, _flag, "recall finds the notes of the workspace as well")
    note_candidates: bool = _setting(True, _flag, "what chats propose to keep goes into the daily notes by itself")
    max_note_entry_bytes: int = _setting(64 * 1024, _whole(1, 1 << 24), "the longest entry of a daily note")
    max_note_day_bytes: int = _setting(1 << 20, _whole(1, 1 << 28), "how large a daily note may grow by appending")
    max_note_file_bytes: int = _setting(4 << 20, _whole(1, 1 << 30), "the largest note that is read and searched")
    context_file_tokens: int = _setting(2_000, _whole(1, 1 << 24), "of each context file in a prompt, in tokens")
    long_term_tokens: int = _setting(4_000, _whole(1, 1 << 24), "of MEMORY.md in a prompt, in tokens")
    daily_note_tokens: int = _setting(4_000, _whole(1, 1 << 24), "of each day's notes in a prompt, in tokens")

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
    def zone(self) -> tzinfo:
        """The user's time zone."""
        if self.time_zone is not None:
            from zoneinfo import ZoneInfo

            return ZoneInfo(self.time_zone)
        return datetime.now(UTC).astimezone().tzinfo or UTC

    def user_words(self) -> list[str]:
        """The words of the user dictionary: one a line; `#` begins a comment; what follows a blank is ignored."""
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

    The file is `config`, or what JIYI_CONFIG names, or memory.yaml in the data directory if there is one.
    """
    env = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    from_environment = _from_environment(env)
    if path is not None:
        arguments["path"] = path
    given = _checked(arguments, "argument {}")
    home = given.get("path") or from_environment.get("path")
    named = config if config is not None else env.get(CONFIG_VARIABLE)
    if named is not None:
        values.update(_from_file(Path(named).expanduser()))
        home = home or values.get("path")
    else:
        beside = (home or _path(DEFAULT_HOME)) / FILE_NAME
        if beside.is_file():
            values.update(_from_file(beside))
    merged = {"path": _path(DEFAULT_HOME), **values, **from_environment, **given}
    return _agreeing(Settings(**_with_services(merged, env)))


def _with_services(values: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Fill in what a named service brings with it: its address, its usual model, and its key from the environment."""
    for (setting, service), (key, variables, defaults) in _SERVICES.items():
        if values.get(setting) != service:
            continue
        named = {name: env[variable] for name, variable in variables.items() if env.get(variable)}
        checked = _checked(named, "environment variable {}", name_of=variables.__getitem__)
        values = {**defaults, **checked, **{name: value for name, value in values.items() if value is not None}}
        secret = next(name for name in variables if name.endswith("api_key"))
        if values.get(secret) is None:
            raise ConfigError(f"{setting} is {service}, which needs a key; set {key} or {PREFIX}{secret.upper()}")
    return values


def _agreeing(settings: Settings) -> Settings:
    """Settings that do not make sense without each other."""
    needed: dict[str, dict[str, tuple[str, ...]]] = {
        "llm": {"openai-compatible": ("llm_base_url", "llm_model")},
        "embedder": {
            "openai-compatible": ("embedding_base_url", "embedding_model"),
            "fastembed": ("embedding_model",),
            "sentence-transformers": ("embedding_model",),
        },
    }
    for setting, kinds in needed.items():
        chosen = getattr(settings, setting)
        missing = [name for name in kinds.get(chosen, ()) if getattr(settings, name) is None]
        if missing:
            raise ConfigError(
                f"{setting} is {chosen}, which needs {' and '.join(missing)}; "
                f"set {' and '.join(PREFIX + name.upper() for name in missing)} or the same names in {FILE_NAME}"
            )
    return settings


def load_memory_config(config_path: str | os.PathLike[str] = "configs/memory.yaml") -> dict[str, Any]:
    """The settings of a memory.yaml as a dictionary, checked; what the file leaves out is left out."""
    found = _from_file(Path(config_path).expanduser())
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
        # Not the error's own text: it quotes the file, and there may be a password in it.
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        raise ConfigError(f"{path}{line}: not valid YAML: {masked(reason)}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}, line 1: the root key '{ROOT_KEY}:' is needed")
    lines = _lines(node)
    for key in data:
        if key != ROOT_KEY:
            raise ConfigError(
                f"{path}, line {lines.get((str(key),), 1)}: unknown key {key!r}; the root key is '{ROOT_KEY}'"
            )
    section = data[ROOT_KEY]
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


def _lines(node: Any, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    """Line numbers of the keys of a composed YAML document."""
    found: dict[tuple[str, ...], int] = {}
    if type(node).__name__ == "MappingNode":
        for key, value in node.value:
            place = (*above, str(key.value))
            found[place] = key.start_mark.line + 1
            found.update(_lines(value, place))
    return found


def _checked(values: Mapping[str, Any], place: str, name_of: Callable[[str], str] = lambda key: key) -> dict[str, Any]:
    found = {}
    for key, value in values.items():
        if key not in _FIELDS:
            near = difflib.get_close_matches(key, _FIELDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(_FIELDS))}"
            raise ConfigError(f"{place.format(name_of(key))}: unknown setting {key!r}{hint}")
        try:
            found[key] = _FIELDS[key].metadata["parse"](value)
        except NestedError as error:
            raise ConfigError(f"{place.format(name_of(f'{key}.{error.key}'))}: {error}") from None
        except ValueError as error:
            raise ConfigError(f"{place.format(name_of(key))}: {_shown(key, value)} will not do: {error}") from None
    return found


def _shown(name: str, value: Any) -> str:
    """A value fit for a message: a secret is not shown, whatever it is."""
    if value is not None and _FIELDS[name].metadata["secret"]:
        return "'***'"
    return masked(repr(value))


def masked(text: str) -> str:
    """A text fit for a message: the passwords of addresses in it are not shown."""
    return _PASSWORD.sub(r"\1:***@", text)
