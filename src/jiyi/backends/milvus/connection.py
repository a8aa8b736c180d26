"""`MilvusConnection`: the requests that jiyi sends to Milvus.

A file (Milvus Lite, inside this process), a standalone server and a cluster speak the same protocol; the differences
between them and between their versions are handled here.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from jiyi.backends.milvus.client import import_pymilvus, prepare_lite, release_lite
from jiyi.backends.milvus.errors import NoAnswerError, NotLoadedError, translated
from jiyi.backends.milvus.expressions import any_of
from jiyi.errors import ConfigError, IndexingError, IndexUnavailableError
from jiyi.file_lock import is_locked

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]

STRONG: dict[str, Any] = {"consistency_level": "Strong"}
"""Reads everything that anybody has written; Milvus waits for its own clock, usually about 0.2 s."""
SESSION: dict[str, Any] = {"consistency_level": "Session"}
"""Reads everything that this process has written."""

MAX_ROWS = 16_384
"""How many rows Milvus returns for one request at the most."""
_MAX_CONNECT_SECONDS, _MAX_PAUSE = 5.0, 30.0
_SLOW_SECONDS = 120.0
"""The timeout for creating and loading a collection."""
_DELETED_AT_ONCE = 2_000

_guard = threading.RLock()
_lite_users: Counter[str] = Counter()


@dataclass(frozen=True, slots=True)
class Server:
    """The kind and version of the server."""

    version: str
    lite: bool
    managed: bool
    """Zilliz Cloud, which chooses the kind of index itself."""

    @property
    def number(self) -> tuple[int, int]:
        """Major and minor version; Milvus Lite counts as the newest."""
        found = re.search(r"(\d+)\.(\d+)", self.version)
        return (int(found[1]), int(found[2])) if found is not None and not self.lite else (99, 0)

    @property
    def upserts(self) -> bool:
        """Whether upserts respect partition keys: before 2.4 they did not (milvus#30607)."""
        return self.number >= (2, 4)

    @property
    def ranks_text(self) -> bool:
        """Whether it has BM25 with the analyzer `jieba`."""
        if self.lite:
            return find_spec("jieba") is not None
        return self.number >= (2, 5)


class MilvusConnection:
    """A connection that is made at the first request. Safe to use from several threads."""

    def __init__(self, uri: str, *, token: str | None = None, timeout: float = 10.0, pause: float = 5.0) -> None:
        """After a failure, requests are refused for `pause` seconds instead of waiting for the server again.

        The pause doubles with each failure, up to half a minute.
        """
        self.lite = uri.endswith(".db")
        self._uri = str(Path(uri).expanduser().absolute()) if self.lite else uri
        if not self.lite and urlsplit(uri).scheme not in {"http", "https", "tcp", "unix"}:
            raise ConfigError(
                f"{_public_address(uri)!r} is no address of Milvus; use http://host:19530, https://… with a token, "
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
        """The address without secrets."""
        return self._uri if self.lite else _public_address(self._uri)

    @property
    def server(self) -> Server:
        """The kind and version of the server."""
        if self._server is None:
            version = str(self._call("return its version", lambda client: client.get_server_version()))
            self._server = Server(version, self.lite, "zilliz" in (urlsplit(self._uri).hostname or ""))
        return self._server

    # --- collections ----------------------------------------------------------------------------------------------

    def has(self, collection: str) -> bool:
        """Whether there is a collection or an alias of this name."""
        return bool(self._call("look for a collection", lambda c: c.has_collection(collection, timeout=self._timeout)))

    def described(self, collection: str) -> dict[str, Any]:
        """The description of a collection."""
        found = self._call("describe a collection", lambda c: c.describe_collection(collection, timeout=self._timeout))
        return dict(found)

    def metric(self, collection: str, field: str) -> str | None:
        """The metric of a vector field; `None` if it has no index."""
        found = self._call("describe an index", lambda c: _index(c, collection, field, self._timeout))
        return None if found is None else str(found.get("metric_type"))

    def create(self, collection: str, schema: Any, indexes: Any, *, partitions: int | None = None) -> None:
        """Create a collection and load it."""
        more = {} if partitions is None else {"num_partitions": partitions}

        def create(client: Any) -> None:
            client.create_collection(
                collection, schema=schema, consistency_level="Bounded", timeout=_SLOW_SECONDS, **more
            )
            # An empty collection has nothing to index: no need to wait.
            client.create_index(collection, indexes, timeout=_SLOW_SECONDS, sync=False)
            client.load_collection(collection, timeout=_SLOW_SECONDS)

        self._call("make a collection", create)

    def drop(self, collection: str) -> None:
        """Delete a collection, if it is there."""
        if self.has(collection):
            self._call("drop a collection", lambda c: c.drop_collection(collection, timeout=self._timeout))

    def set_alias(self, collection: str, alias: str) -> None:
        """Give a collection an alias, which another one may have had."""
        change = "alter_alias" if self.has(alias) else "create_alias"
        self._call("name a collection", lambda c: getattr(c, change)(collection, alias, timeout=self._timeout))

    def collections(self) -> list[str]:
        """The names of all collections."""
        return [str(name) for name in self._call("list the collections", lambda c: c.list_collections())]

    # --- rows -----------------------------------------------------------------------------------------------------

    def rows(
        self, collection: str, where: str, fields: Sequence[str], reading: dict[str, Any], *, limit: int | None = None
    ) -> list[Row]:
        """The rows that meet an expression, vectors as arrays."""
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
        """How many rows meet an expression."""
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
        """The nearest rows with their distance; for a similarity metric the greatest first."""
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
        """Insert rows, or replace those with the same id; returns the timestamp of the change by Milvus's clock."""
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
        """Delete rows by id, if they exist; returns the timestamp of the change."""
        latest = 0
        for start in range(0, len(ids), _DELETED_AT_ONCE):
            where = any_of("id", ids[start : start + _DELETED_AT_ONCE])
            latest = self._change("delete", collection, where)
        return latest

    def close(self) -> None:
        """Close the connection; the last connection to a file closes the file."""
        with _guard:
            client, self._client, self._closed = self._client, None, True
            if client is None:
                return
            client.close()
            if self.lite:
                _lite_users[self._uri] -= 1
                if not _lite_users[self._uri]:
                    release_lite(self._uri)

    # --- requests ------------------------------------------------------------------------------------------

    def _loaded(self, collection: str, action: str, request: Callable[[Any], T]) -> T:
        try:
            return self._call(action, request)
        except NotLoadedError:
            # Somebody has released it, or the server was restarted.
            self._call("load a collection", lambda c: c.load_collection(collection, timeout=_SLOW_SECONDS))
            return self._call(action, request)

    def _change(self, method: str, collection: str, data: Any) -> int:
        """Only the handler below the client returns the timestamp by which other processes can read the change."""

        def write(client: Any) -> Any:
            handler, context = client._get_connection(), client._generate_call_context()  # noqa: SLF001 - see above
            return getattr(handler, method)(collection, data, timeout=self._timeout, context=context)

        return int(getattr(self._call("write", write), "timestamp", 0) or 0)

    def _call(self, action: str, request: Callable[[Any], T]) -> T:
        self._refuse_while_pausing()
        client = self._connected()
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            answer = request(client)
        except (MilvusException, grpc.RpcError, grpc.FutureTimeoutError) as error:
            raise self._translated(action, error) from error
        except ValueError as error:
            if "closed channel" in str(error):
                raise IndexUnavailableError(f"the connection to Milvus at {self.address} was closed") from error
            raise
        self._failed, self._failures = None, 0
        return answer

    def _refuse_while_pausing(self) -> None:
        failed = self._failed
        pause = min(self._pause * 2 ** max(self._failures - 1, 0), max(self._pause, _MAX_PAUSE))
        if failed is not None and time.monotonic() - failed[0] < pause:
            raise IndexUnavailableError(failed[1])

    def _connected(self) -> Any:
        with _guard:
            if self._client is not None:
                return self._client
            if self._closed:
                raise IndexUnavailableError(f"the connection to Milvus at {self.address} was closed")
            # Another thread may have failed to connect while this one waited.
            self._refuse_while_pausing()
            client_class, exceptions = import_pymilvus()
            if self.lite:
                self._prepare_file()
            try:
                timeout = min(self._timeout, _MAX_CONNECT_SECONDS)
                self._client = client_class(self._uri, token=self._token, timeout=timeout)
            except exceptions.MilvusException as error:
                raise self._translated("connect", error) from error
            if self.lite:
                _lite_users[self._uri] += 1
            return self._client

    def _prepare_file(self) -> None:
        folder = Path(self._uri)
        prepare_lite(folder)
        if not _lite_users[self._uri] and is_locked(folder / "LOCK"):
            raise IndexUnavailableError(
                f"another process has {self._uri} open, and Milvus Lite serves one process at a time; end that one, "
                "or use a Milvus server for several (set milvus_uri to http://host:19530)"
            )

    def _translated(self, action: str, error: Exception) -> IndexingError:
        reason = self._without_secrets(str(getattr(error, "message", "") or error))
        found = translated(error, address=self.address, action=action, reason=reason)
        if isinstance(found, NoAnswerError):
            self._failed, self._failures = (time.monotonic(), str(found)), self._failures + 1
        return found

    def _without_secrets(self, text: str) -> str:
        secrets = [self._token, self._token.partition(":")[2], urlsplit(self._uri).password or ""]
        for secret in secrets:
            if secret and not self.lite:
                text = text.replace(secret, "***")
        return text


def _index(client: Any, collection: str, field: str, timeout: float) -> dict[str, Any] | None:
    if not client.list_indexes(collection, field):
        return None
    return dict(client.describe_index(collection, field, timeout=timeout))


def _public_address(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.hostname is None or "@" not in parts.netloc:
        return uri
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
