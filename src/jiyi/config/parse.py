"""Parsers of settings: each takes the value as it was given and returns the setting, or raises `ValueError`."""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from jiyi.errors import InvalidInputError, InvalidScopeError
from jiyi.model.address import EMBEDDED, IN_MEMORY, check_postgres_url, is_postgres_url, mask_passwords
from jiyi.model.scope import check_scope, scope_problem

Parse: TypeAlias = Callable[[Any], Any]

# At least two letters: one letter is a Windows drive. One slash only: a Path of an address keeps one of two.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_LIKE_IN_MEMORY = re.compile(r"file:+memory:*(\?.*)?|:+memory:*(\?.*)?|memory:+", re.IGNORECASE)
_DATA_PATHS = (
    "a data directory is ./data (in the current directory), ~/data (in the home directory), a path from the root, "
    f"or {IN_MEMORY}, which keeps nothing"
)


def setting(default: Any, parser: Parse, about: str, *, secret: bool = False) -> Any:
    """A field of the settings: its default, its parser, and its description."""
    return field(default=default, metadata={"parse": parser, "about": about, "secret": secret})


def whole(minimum: int, maximum: int) -> Parse:
    """A whole number in these bounds."""

    def parse(value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise ValueError(f"a whole number from {minimum} to {maximum} is needed")
        return value

    return parse


def number(minimum: float, maximum: float) -> Parse:
    """A number in these bounds."""

    def parse(value: Any) -> float:
        if isinstance(value, str) and re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)", value.strip()):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
            raise ValueError(f"a number from {minimum:g} to {maximum:g} is needed")
        return float(value)

    return parse


def share(value: Any) -> float:
    """A share above 0 and at most 1."""
    found = float(number(0, 1)(value))
    if found == 0:
        raise ValueError("a share above 0 and at most 1 is needed")
    return found


def flag(value: Any) -> bool:
    """True or false, in the usual words."""
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


def choice(*allowed: str) -> Parse:
    """One of these words."""

    def parse(value: Any) -> str:
        # YAML reads `none` as text, but `null` and an empty value as None; both mean "without".
        word = "none" if value is None and "none" in allowed else value
        if word not in allowed:
            raise ValueError(f"one of {', '.join(allowed)} is needed")
        return str(word)

    return parse


def some_of(*allowed: str) -> Parse:
    """A parser of a list of some of these words, also as one text with commas; "none" for none of them."""

    def parse(value: Any) -> tuple[str, ...]:
        given = [word.strip() for word in value.split(",")] if isinstance(value, str) else value
        if given in (["none"], [""]):
            return ()
        if not isinstance(given, list | tuple) or any(word not in allowed for word in given):
            raise ValueError(f"some of {', '.join(allowed)} are needed, or none")
        return tuple(dict.fromkeys(given))

    return parse


def path(value: Any) -> Path:
    """A path of this machine."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ValueError("a path is needed")
    if _ADDRESS.match(os.fspath(value)):
        raise ValueError("a path of this machine is needed, not an address: a file or a directory")
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise ValueError("'~' is the home directory, and this one is not known; write the path in full") from None


def data_path(value: Any) -> Path:
    """The data directory, or `:memory:`."""
    if isinstance(value, str) and value != str(IN_MEMORY) and _LIKE_IN_MEMORY.fullmatch(value):
        raise ValueError(f"a memory that keeps nothing is written {IN_MEMORY}; a directory of this name ./{value}")
    try:
        return path(value)
    except ValueError as error:
        raise ValueError(f"{error}; {_DATA_PATHS}") from None


def optional_path(value: Any) -> Path | None:
    """A path, or nothing."""
    return None if value is None or value == "" else path(value)


def text(value: Any) -> str:
    """Some text."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("some text is needed")
    return value


def metadata_fields(value: Any) -> tuple[str, ...] | None:
    """Names of metadata fields, also as one text with commas; "none" or an empty list for none."""
    from jiyi.model.searched_text import check_fields

    if value is None or value == "":
        return None
    given = [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value
    try:
        return check_fields([] if given == ["none"] else given)
    except InvalidInputError as error:
        raise ValueError(str(error)) from None


def optional_text(value: Any) -> str | None:
    """Some text, or nothing."""
    return None if value is None or value == "" else text(value)


def storage(value: Any) -> str:
    """The embedded profile, or the address of a database."""
    if value in (None, "", EMBEDDED):
        return EMBEDDED
    if not is_postgres_url(value):
        raise ValueError(
            f"{EMBEDDED}, or the address of a PostgreSQL database such as postgresql://user@host/database, is needed"
        )
    return check_postgres_url(value)


def milvus_uri(value: Any) -> str | None:
    """The address of a Milvus server, or a file for Milvus Lite."""
    found = optional_text(value)
    if found is None:
        return None
    if re.fullmatch(r"https?://[^/\s]+\S*", found.strip()):
        return found.strip()
    if _ADDRESS.match(found) or not found.endswith(".db"):
        raise ValueError(
            "an address such as http://localhost:19530, or a file for Milvus Lite that ends in .db, is needed"
        )
    return str(Path(found).expanduser())


def collection(value: Any) -> str:
    """The name of a collection of Milvus."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,200}", value):
        raise ValueError("a name of letters, digits and _ that does not begin with a digit is needed")
    return value


def optional_whole(minimum: int, maximum: int) -> Parse:
    """A whole number in these bounds, or nothing."""
    parse = whole(minimum, maximum)
    return lambda value: None if value is None or value == "" else parse(value)


def persistence(value: Any) -> Persistence | None:
    """Where chats of other frameworks are kept: a mapping, or JSON of one in the environment."""
    if value is None or value == "" or isinstance(value, Persistence):
        return value or None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError("a mapping is needed: enabled, backend, connection_string") from None
    if not isinstance(value, Mapping):
        raise ValueError("a mapping is needed: enabled, backend, connection_string")  # noqa: TRY004 - what parsers raise
    found: dict[str, Any] = {}
    for key, part in value.items():
        if key not in _PERSISTENCE:
            near = difflib.get_close_matches(str(key), _PERSISTENCE, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(_PERSISTENCE)}"
            raise NestedError(str(key), f"unknown setting {str(key)!r}; {hint}")
        try:
            found[key] = _PERSISTENCE[key](part)
        except ValueError as error:
            raise NestedError(key, f"{mask_passwords(repr(part))} is not valid: {error}") from None
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
        address = None if self.connection_string is None else mask_passwords(self.connection_string)
        return f"Persistence(enabled={self.enabled}, backend={self.backend!r}, connection_string={address!r})"

    def to_dict(self) -> dict[str, Any]:
        """As it stands in memory.yaml."""
        return dataclasses.asdict(self)


def zone(value: Any) -> str | None:
    """The name of a time zone, or nothing."""
    if value is None or value == "":
        return None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, TypeError, ValueError, OSError):
        raise ValueError("a time zone such as Asia/Shanghai or UTC is needed") from None
    return str(value)


def scope(value: Any) -> str:
    """The name of a scope."""
    try:
        return check_scope(value)
    except InvalidScopeError:
        raise ValueError(f"a scope {scope_problem(value)}; a name such as main is needed") from None


_PERSISTENCE: dict[str, Parse] = {
    "enabled": flag,
    "backend": choice("sqlite", "redis"),
    "connection_string": optional_text,
}


def web_address(value: Any) -> str | None:
    """The address of a server on the web, or nothing."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not re.fullmatch(r"https?://[^/\s]+\S*", value.strip()):
        raise ValueError("an address such as http://localhost:8080/v1 is needed")
    return value.strip()
