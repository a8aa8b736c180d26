"""Database URLs: recognizing, checking and masking them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

EMBEDDED: Final = "embedded"
"""The storage setting of a store in a data directory."""
IN_MEMORY: Final = Path(":memory:")
"""The data directory of a memory that keeps nothing."""
POSTGRES_SCHEMES: Final = ("postgresql", "postgres")

# The password between the user name and the last @, and the values of secret query parameters.
_PASSWORD = re.compile(r"(:/{1,2}[^/@:\s]*):\S*@")
_SECRET_PARAMETER = re.compile(r"([?&](?:password|passfile|sslpassword|token|secret)=)[^&#\s'\"]*", re.IGNORECASE)


def mask_passwords(text: str) -> str:
    """The text with the passwords of all URLs in it replaced by `***`."""
    return _SECRET_PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))


def is_postgres_url(text: object) -> bool:
    """Whether the text has the scheme of a PostgreSQL URL. The rest may be invalid."""
    return isinstance(text, str) and text.strip().lower().startswith(tuple(f"{name}://" for name in POSTGRES_SCHEMES))


def check_postgres_url(text: str) -> str:
    """Returns the URL with the scheme `postgresql`. Raises `ValueError`, which shows no password, if it is invalid."""
    address = text.strip()
    if not is_postgres_url(address):
        raise ValueError("an address such as postgresql://user@host:5432/database is needed")
    # Nothing of such an address is quoted in the message, because it could be a part of the password.
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
