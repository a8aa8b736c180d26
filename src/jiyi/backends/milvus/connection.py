"""MilvusConnection: the few things that are asked of Milvus, with errors that say what to do.

A file (Milvus Lite, inside this process), a standalone server and a cluster speak the same protocol; what differs
between them and between their versions is known here and nowhere else.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from jiyi.errors import ConfigError, IndexingError, IndexUnavailableError, MissingDependencyError

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]

STRONG: dict[str, Any] = {"consistency_level": "Strong"}
"""Everything that anybody has written; Milvus waits for its own clock, usually about 0.2 s."""
SESSION: dict[str, Any] = {"consistency_level": "Session"}
"""Everything that this process has written."""

MAX_ROWS = 16_384
"""How many rows Milvus gives for one question at the most."""
# The numbers of Milvus's errors (pkg/util/merr in its source).
_NO_COLLECTION, _NOT_LOADED, _RATE_LIMIT = 100, 101, 8
_REFUSED = frozenset({1400, 1401, 1402})
# Not ready, no memory, no replica, no channel, no node: while it starts, moves data or is overloaded.
_PASSING = frozenset({1, 2, 3, 4, 5, 6, 7, _RATE_LIMIT, 103, *range(400, 406), *range(500, 506), *range(901, 906)})
_CONNECT_SECONDS, _LONGEST_PAUSE = 5.0, 30.0
_SLOW_SECONDS = 120.0
"""Making and loading a collection takes longer than reading from it."""

_guard = threading.RLock()
_lite_users: Counter[str] = Counter()


@dataclass(frozen=True, slots=True)
class Server:
    """What answers."""

    version: str
    lite: bool
    managed: bool
    """Zilliz Cloud, where the kind of index is not ours to choose."""

    @property
    def number(self) -> tuple[int, int]:
        """Major and minor version; a file has those of the newest."""
        found = re.search(r"(\d+)\.(\d+)", self.version)
        return (int(found[1]), int(found[2])) if found is not None and not self.lite else (99, 0)

    @property
    def upserts(self) -> bool:
        """Whether an upsert goes to the partition of its key: before 2.4 it did not (milvus#30607)."""
        return self.number >= (2, 4)

    @property
    def ranks_text(self) -> bool:
        """Whether it has BM25 with the analyzer `jieba`."""
        if self.lite:
            return find_spec("jieba") is not None
        return self.number >= (2, 5)


class MissingCollectionError(IndexingError):
    """There is no such collection (any more)."""


class MilvusConnection:
    """One Milvus, connected when it is first asked. Safe to use from several threads."""

    def __init__(self, uri: str, *, token: str | None = None, timeout: float = 10.0, pause: float = 5.0) -> None:
        """After it could not be reached, questions are refused for `pause` seconds instead of waiting again.

        The pause doubles with each failure, up to half a minute.
        """
        self.lite = uri.endswith(".db")
        self._uri = str(Path(uri).expanduser().absolute()) if self.lite else uri
        if not self.lite and urlsplit(uri).scheme not in {"http", "https", "tcp", "unix"}:
            raise ConfigError(
                f"{_without_secrets(uri)!r} is no address of Milvus; use http://host:19530, https://… with a token, "
                "or the path of a file that ends with .db (Milvus Lite)"
            )
        self._token = token or ""
        self._timeout = timeout
        self._pause = pause
        self._client: Any = None
        self._server: Server | None = None
        self._failed: tuple[float, str] | None = None
        self._failures = 0
        self._closed = False

    def __repr__(self) -> str:
        return f"MilvusConnection({self.address!r})"

    @property
    def address(self) -> str:
        """Where it is, without what must not be shown."""
        return self._uri if self.lite else _without_secrets(self._uri)

    @property
    def server(self) -> Server:
        """What answers there."""
        if self._server is None:
            version = str(self._ask("say its version", lambda client: client.get_server_version()))
            self._server = Server(version, self.lite, "zilliz" in (urlsplit(self._uri).hostname or ""))
        return self._server

    # --- collections ----------------------------------------------------------------------------------------------

    def has(self, collection: str) -> bool:
        """Whether there is a collection, or another name of one."""
        return bool(self._ask("look for a collection", lambda c: c.has_collection(collection, timeout=self._timeout)))

    def described(self, collection: str) -> dict[str, Any]:
        """How a collection was made, as Milvus tells it."""
        found = self._ask("describe a collection", lambda c: c.describe_collection(collection, timeout=self._timeout))
        return dict(found)

    def metric(self, collection: str, field: str) -> str | None:
        """By what its vectors are compared; `None` when they have no index."""
        found = self._ask("describe an index", lambda c: _index(c, collection, field, self._timeout))
        return None if found is None else str(found.get("metric_type"))

    def create(self, collection: str, schema: Any, indexes: Any, *, partitions: int | None = None) -> None:
        """Make a collection and load it."""
        more = {} if partitions is None else {"num_partitions": partitions}

        def work(client: Any) -> None:
            client.create_collection(
                collection, schema=schema, consistency_level="Bounded", timeout=_SLOW_SECONDS, **more
            )
            # An empty collection has nothing to index yet: there is nothing to wait for.
            client.create_index(collection, indexes, timeout=_SLOW_SECONDS, sync=False)
            client.load_collection(collection, timeout=_SLOW_SECONDS)

        self._ask("make a collection", work)

    def drop(self, collection: str) -> None:
        """Delete a collection, if it is there."""
        if self.has(collection):
            self._ask("drop a collection", lambda c: c.drop_collection(collection, timeout=self._timeout))

    def name_also(self, collection: str, alias: str) -> None:
        """Give a collection a second name, which another one may have had."""
        change = "alter_alias" if self.has(alias) else "create_alias"
        self._ask("name a collection", lambda c: getattr(c, change)(collection, alias, timeout=self._timeout))

    def collections(self) -> list[str]:
        """The names of all of them."""
        return [str(name) for name in self._ask("list the collections", lambda c: c.list_collections())]

    # --- rows -----------------------------------------------------------------------------------------------------

    def rows(
        self, collection: str, where: str, fields: Sequence[str], reading: dict[str, Any], *, limit: int | None = None
    ) -> list[Row]:
        """Rows that meet a condition, vectors as arrays."""
        more = reading if limit is None else {**reading, "limit": limit}
        found = self._loaded(
            collection,
            "read",
            lambda c: c.query(
                collection,
                filter=where,
                output_fields=list(fields),
                timeout=self._timeout,
                strict_float32=True,
                **more,
            ),
        )
        return list(found)

    def count(self, collection: str, where: str, reading: dict[str, Any]) -> int:
        """How many rows meet a condition."""
        found = self.rows(collection, where, ["count(*)"], reading)
        return int(found[0]["count(*)"]) if found else 0

    def search(
        self,
        collection: str,
        field: str,
        data: Any,
        where: str,
        fields: Sequence[str],
        reading: dict[str, Any],
        *,
        limit: int,
        params: dict[str, Any],
    ) -> list[tuple[float, Row]]:
        """The nearest rows with what Milvus calls their distance; of a similarity, the greatest first."""
        found = self._loaded(
            collection,
            "search",
            lambda c: c.search(
                collection,
                data=[data],
                anns_field=field,
                filter=where,
                limit=limit,
                output_fields=list(fields),
                search_params=params,
                timeout=self._timeout,
                **reading,
            ),
        )
        return [(float(hit["distance"]), dict(hit["entity"])) for hit in found[0]] if found else []

    def put(self, collection: str, rows: Sequence[Row]) -> int:
        """Insert rows, or replace those with the same id; returns the time of the change by Milvus's clock."""
        if not rows:
            return 0
        if self.server.upserts:
            return self._change("upsert_rows", collection, list(rows))
        self.delete(collection, [row["id"] for row in rows])
        return self._change("insert_rows", collection, list(rows))

    def put_row(self, collection: str, row: Row) -> None:
        """Replace one row of a collection without partitions."""
        self._change("upsert_rows", collection, [row])

    def delete(self, collection: str, ids: Sequence[str]) -> int:
        """Delete rows by id; those that are not there do no harm."""
        latest = 0
        for start in range(0, len(ids), 2_000):
            where = f"id in [{', '.join(map(quoted, ids[start : start + 2_000]))}]"
            latest = self._change("delete", collection, where)
        return latest

    def close(self) -> None:
        """Let go of the connection; the last one to a file closes the file."""
        with _guard:
            client, self._client, self._closed = self._client, None, True
            if client is None:
                return
            client.close()
            if self.lite:
                _lite_users[self._uri] -= 1
                if not _lite_users[self._uri]:
                    from milvus_lite.server_manager import server_manager_instance

                    server_manager_instance.release_server(self._uri)

    # --- how it is asked ------------------------------------------------------------------------------------------

    def _loaded(self, collection: str, what: str, work: Callable[[Any], T]) -> T:
        try:
            return self._ask(what, work)
        except _NotLoadedError:
            # Somebody has released it, or the server has just come back.
            self._ask("load a collection", lambda c: c.load_collection(collection, timeout=_SLOW_SECONDS))
            return self._ask(what, work)

    def _change(self, how: str, collection: str, what: Any) -> int:
        """Only the handler below the client tells the time of a change, by which other processes can ask for it."""

        def work(client: Any) -> Any:
            handler, context = client._get_connection(), client._generate_call_context()  # noqa: SLF001
            return getattr(handler, how)(collection, what, timeout=self._timeout, context=context)

        return int(getattr(self._ask("write", work), "timestamp", 0) or 0)

    def _ask(self, what: str, work: Callable[[Any], T]) -> T:
        self._refuse_while_pausing()
        client = self._connected()
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            answer = work(client)
        except (MilvusException, grpc.RpcError, grpc.FutureTimeoutError) as error:
            raise self._translated(what, error) from error
        except ValueError as error:
            if "closed channel" in str(error):
                raise IndexUnavailableError(f"the connection to Milvus at {self.address} was closed") from error
            raise
        self._failed, self._failures = None, 0
        return answer

    def _refuse_while_pausing(self) -> None:
        failed = self._failed
        pause = min(self._pause * 2 ** max(self._failures - 1, 0), max(self._pause, _LONGEST_PAUSE))
        if failed is not None and time.monotonic() - failed[0] < pause:
            raise IndexUnavailableError(failed[1])

    def _connected(self) -> Any:
        with _guard:
            if self._client is not None:
                return self._client
            if self._closed:
                raise IndexUnavailableError(f"the connection to Milvus at {self.address} was closed")
            # Who has waited for another thread to connect need not find out once more that it cannot be done.
            self._refuse_while_pausing()
            client_class, exceptions = _pymilvus()
            if self.lite:
                self._prepare_file()
            try:
                patience = min(self._timeout, _CONNECT_SECONDS)
                self._client = client_class(self._uri, token=self._token, timeout=patience)
            except exceptions.MilvusException as error:
                raise self._translated("connect", error) from error
            if self.lite:
                _lite_users[self._uri] += 1
            return self._client

    def _prepare_file(self) -> None:
        try:
            import milvus_lite.server_manager  # noqa: F401
        except ImportError:
            raise MissingDependencyError(
                "vectors in a file by Milvus Lite need a package that is not installed; "
                "install it: pip install 'jiyi[milvus-lite]'"
            ) from None
        if find_spec("jieba") is not None:
            import jieba

            # It tells on standard error that it reads its dictionary.
            jieba.setLogLevel(logging.WARNING)
        folder = Path(self._uri)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not _lite_users[self._uri] and _held_by_another(folder / "LOCK"):
            raise IndexUnavailableError(
                f"another process has {self._uri} open, and Milvus Lite serves one process at a time; end that one, "
                "or use a Milvus server for several (set milvus_uri to http://host:19530)"
            )

    def _translated(self, what: str, error: Exception) -> IndexingError:
        import grpc
        from pymilvus.exceptions import MilvusException

        code = error.code if isinstance(error, MilvusException) else None
        status = _status(error)
        reason = self._scrubbed(str(getattr(error, "message", "") or error))
        if code == _NO_COLLECTION or "can't find collection" in reason:
            return MissingCollectionError(f"Milvus at {self.address} has no such collection: {reason}")
        if code == _NOT_LOADED:
            return _NotLoadedError(reason)
        if code in _REFUSED or status == grpc.StatusCode.UNAUTHENTICATED or "auth check failure" in reason:
            return IndexingError(
                f"Milvus at {self.address} refuses the token; set milvus_token (MILVUS_TOKEN) to a token of it, or to "
                "user:password of a user who may make and write collections"
            )
        if code in _PASSING or isinstance(status, grpc.StatusCode) or _is_silence(error, reason):
            message = (
                f"Milvus at {self.address} does not answer ({what}: {_first_line(reason)}); start it or check "
                "milvus_uri (milvus_host and milvus_port). What it has missed is taken in when it is back"
            )
            if code != _RATE_LIMIT:
                self._failed, self._failures = (time.monotonic(), message), self._failures + 1
            return IndexUnavailableError(message)
        return IndexingError(f"Milvus at {self.address} could not {what}: {_first_line(reason)}")

    def _scrubbed(self, text: str) -> str:
        secrets = [self._token, self._token.partition(":")[2], urlsplit(self._uri).password or ""]
        for secret in secrets:
            if secret and not self.lite:
                text = text.replace(secret, "***")
        return text


class _NotLoadedError(IndexUnavailableError):
    """The collection is not in the server's memory."""


def quoted(text: str) -> str:
    """A text as a literal of Milvus's expressions. Whatever it holds, it stays a text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def _pymilvus() -> tuple[Any, Any]:
    """The package, imported without letting it read the environment: its older half takes MILVUS_URI for its own."""
    first = "pymilvus" not in sys.modules
    with _environment(MILVUS_URI="", PYTHON_DOTENV_DISABLED="1") if first else _environment():
        try:
            from pymilvus import MilvusClient, exceptions
        except ImportError:
            raise MissingDependencyError(
                "vectors in Milvus need a package that is not installed; install it: pip install 'jiyi[milvus]'"
            ) from None
    if first:
        # It prints every error with its stack and the question; each is raised as well, and told without the question.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return MilvusClient, exceptions


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _index(client: Any, collection: str, field: str, timeout: float) -> dict[str, Any] | None:
    if not client.list_indexes(collection, field):
        return None
    return dict(client.describe_index(collection, field, timeout=timeout))


def _held_by_another(file: Path) -> bool:
    """Whether another process has the file locked; where that cannot be found out, opening it will tell."""
    if sys.platform == "win32" or not file.exists():
        return False
    import fcntl

    with file.open("rb") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        fcntl.flock(opened, fcntl.LOCK_UN)
    return False


def _status(error: BaseException | None) -> Any:
    """What gRPC said, which pymilvus often keeps behind an error of its own."""
    import grpc

    # It also raises errors from themselves.
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, grpc.RpcError):
            code = getattr(error, "code", None)
            return code() if callable(code) else None
        seen.add(id(error))
        error = error.__cause__
    return None


def _is_silence(error: Exception, reason: str) -> bool:
    """Whether it is about the connection; pymilvus has no error of its own for most of these."""
    named = type(error).__name__ in {"MilvusUnavailableException", "ConnectError", "FutureTimeoutError"}
    words = ("Retry timeout", "Retry run out", "Fail connecting", "UNAVAILABLE", "DEADLINE_EXCEEDED", "not ready")
    return named or any(word in reason for word in words)


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= 300 else line[:299] + "…"


def _without_secrets(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.hostname is None or "@" not in parts.netloc:
        return uri
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
