"""Addresses of databases: which are meant, and how they may be shown."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

EMBEDDED: Final = "embedded"
"""The place of a store that is a data directory."""
POSTGRES_SCHEMES: Final = ("postgresql", "postgres")

# What stands between the user's name and the last @, and what a parameter of the address says.
_PASSWORD = re.compile(r"(:/{1,2}[^/@:\s]*):\S*@")
_SECRET_PARAMETER = re.compile(r"([?&](?:password|passfile|sslpassword|token|secret)=)[^&#\s'\"]*", re.IGNORECASE)


def masked(text: str) -> str:
    """A text fit for a message: the passwords of addresses in it are not shown."""
    return _SECRET_PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))


def is_postgres(text: object) -> bool:
    """Whether this is meant to be the address of a PostgreSQL database, right or wrong."""
    return isinstance(text, str) and text.strip().lower().startswith(tuple(f"{name}://" for name in POSTGRES_SCHEMES))


def check_postgres(text: str) -> str:
    """The address with the scheme `postgresql`; a ValueError that shows no password says what is wrong with it."""
    address = text.strip()
    if not is_postgres(address):
        raise ValueError("an address such as postgresql://user@host:5432/database is needed")
    # What a message would show of such an address could be a part of the password.
    if re.search(r"[\s\x00-\x1f\x7f]", address):
        raise ValueError("an address has no blanks; write a blank in a password as %20")
    rest = address.partition("://")[2]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if rest.count("@") > 1 or (rest.count("@") == 1 and "@" not in authority):
        raise ValueError("write @ in a user's name or password as %40, / as %2F, ? as %3F and # as %23")
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:
        raise ValueError(
            "the port is no number from 0 to 65535; in a password write : as %3A, / as %2F, ? as %3F and # as %23"
        ) from None
    if "," in (parts.hostname or ""):
        raise ValueError("one host is needed, not several")
    if parts.path.count("/") > 1:
        raise ValueError("one name of a database is needed after the host")
    return f"postgresql://{rest}"
