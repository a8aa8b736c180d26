"""Versions as ETags: which version of something a caller has, and which one it means."""

from __future__ import annotations

from jiyi.apps.server.problems import ProblemError
from jiyi.errors import VersionConflictError


def tag_of(version: int) -> str:
    """The ETag of a version."""
    return f'"{version}"'


def version_meant(version: int, if_match: str | None) -> int | None:
    """The version that the caller means: checked again by the store, in the transaction that makes the change."""
    if if_match is None or if_match.strip() == "*":
        return None
    if if_match.strip() != tag_of(version):
        raise ProblemError(412, "changed_meanwhile", f"it is at version {version}, not {if_match[:40]!a}")
    return version


def changed_meanwhile(error: VersionConflictError) -> ProblemError:
    """The answer when the entry was changed meanwhile."""
    return ProblemError(412, "changed_meanwhile", str(error))
