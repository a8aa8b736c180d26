"""Which sessions are group sessions: their candidates go into shared notes, and never into private ones."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from jiyi.errors import NotesError
from jiyi.notes.visibility import check_kind


class SessionKinds:
    """A small file that every process of the data directory appends to; the last line about a session counts."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def set(self, session_id: str, kind: str, scope: str | None = None) -> None:
        """Record the kind of a session, and the scope of a group, if that is not recorded yet."""
        check_kind(kind)
        if self.all(scope).get(session_id, "main") == kind and (scope is None or scope in self.group_scopes()):
            return
        about = {"session": session_id, "kind": kind} | ({} if scope is None else {"scope": scope})
        # The last line of a process that was killed may be incomplete: this one begins a line of its own.
        line = f"\n{json.dumps(about, ensure_ascii=False)}\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                data = line.encode("utf-8")
                if os.write(descriptor, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise NotesError(f"the kind of session {session_id!a} cannot be recorded: {error.strerror}") from error

    def all(self, scope: str | None) -> dict[str, str]:
        """The recorded kinds in a scope, by session: a group with another scope may have a session of the same name."""
        return {data["session"]: data["kind"] for data in self._lines() if data.get("scope") in {None, scope}}

    def group_scopes(self) -> list[str]:
        """The scopes that groups have of their own."""
        found = (data.get("scope") for data in self._lines() if data["kind"] == "group")
        return list(dict.fromkeys(scope for scope in found if isinstance(scope, str)))

    def _lines(self) -> list[dict[str, Any]]:
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            # Without it a candidate of a group could go into private notes, or the other way round.
            raise NotesError(f"the kinds of sessions cannot be read: {error.strerror}") from error
        found: list[dict[str, Any]] = []
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                data = json.loads(line)
                found.append({**data, "session": data["session"], "kind": data["kind"]})
        return found
