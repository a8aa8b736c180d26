"""RedisChatStore: conversations in Redis, for programs that keep theirs there already.

A key is a list of messages; its summary, and what was said before each reset, are kept beside it. Redis decides how
durable that is: with `appendonly yes` and `appendfsync always` an acknowledged message survives a crash of the server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.storage.chat_store import BaseChatStore
from llama_index.core.storage.chat_store.loading import RECOGNIZED_CHAT_STORES

from jiyi.errors import HistoryUnreadableError, InvalidInputError, MissingDependencyError, StorageError
from jiyi.integrations.llama_index.messages import to_chat_message, to_message
from jiyi.integrations.llama_index.stores import refuse_unknown
from jiyi.model.message import Message, decode_message, encode_message
from jiyi.model.scope import check_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis

# Scripts are atomic: Redis runs nothing else meanwhile.
_RESET = """
local said = redis.call('LRANGE', KEYS[1], 0, -1)
if #said == 0 then return nil end
local epoch = redis.call('INCR', KEYS[3])
redis.call('RENAME', KEYS[1], KEYS[1] .. ':epoch:' .. epoch)
redis.call('DEL', KEYS[2])
redis.call('SREM', KEYS[4], ARGV[1])
return said
"""
_SET = """
redis.call('DEL', KEYS[1])
for place = 2, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[place]) end
if #ARGV > 1 then redis.call('SADD', KEYS[2], ARGV[1]) else redis.call('SREM', KEYS[2], ARGV[1]) end
"""
_INSERT = """
local said = redis.call('LRANGE', KEYS[1], 0, -1)
local place = tonumber(ARGV[2])
if place < 0 then place = math.max(0, #said + place) end
table.insert(said, math.min(place, #said) + 1, ARGV[3])
redis.call('DEL', KEYS[1])
for _, message in ipairs(said) do redis.call('RPUSH', KEYS[1], message) end
redis.call('SADD', KEYS[2], ARGV[1])
"""
_TAKE = """
local count = redis.call('LLEN', KEYS[1])
local place = tonumber(ARGV[2])
if place < 0 then place = count + place end
if place < 0 or place >= count then return nil end
local taken = redis.call('LINDEX', KEYS[1], place)
redis.call('LSET', KEYS[1], place, ARGV[3])
redis.call('LREM', KEYS[1], 1, ARGV[3])
if count == 1 then redis.call('SREM', KEYS[2], ARGV[1]) end
return taken
"""
_SAVE_SUMMARY = """
local known = redis.call('GET', KEYS[1])
local generation = 0
if known then generation = cjson.decode(known)['generation'] end
if generation ~= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
"""
_TAKEN = "\x00taken"


class RedisChatStore(BaseChatStore):
    """Conversations in Redis, isolated by scope and key."""

    connection_string: str = Field(repr=False)
    scope: str = Field(default="main")
    prefix: str = Field(default="jiyi:chat")

    _client: redis.Redis = PrivateAttr()

    def __init__(
        self, connection_string: str, *, scope: str | None = None, prefix: str = "jiyi:chat", **unknown: Any
    ) -> None:
        """Connect to a server, e.g. redis://localhost:6379/0; nothing is sent before the first use."""
        refuse_unknown("RedisChatStore", unknown, ("connection_string", "scope", "prefix"))
        try:
            import redis
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                "conversations in Redis need the package redis; install it with: pip install 'jiyi[redis]'"
            ) from error
        checked = "main" if scope is None else check_scope(scope)
        fields: dict[str, Any] = {"connection_string": connection_string, "scope": checked, "prefix": prefix}
        super().__init__(**fields)
        try:
            self._client = redis.Redis.from_url(connection_string, decode_responses=True, socket_timeout=30)
        except ValueError as error:
            raise InvalidInputError(f"the connection_string for Redis is not valid: {error}") from None

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex finds it when it loads a saved memory."""
        return "RedisChatStore"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Connect again to what `to_dict` has named."""
        known: dict[str, Any] = {name: data[name] for name in ("connection_string", "scope", "prefix") if name in data}
        known.update(kwargs)
        return cls(**known)

    def __getstate__(self) -> dict[str, Any]:
        """Where it is, not the open connections."""
        return {"connection_string": self.connection_string, "scope": self.scope, "prefix": self.prefix}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Connect again."""
        self.__init__(**state)  # type: ignore[misc]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # --- BaseChatStore ----------------------------------------------------------------------------------------------

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Make these the conversation of the key."""
        with _translated_errors():
            self._run(_SET, [self._name(key), self._keys], key, *map(_encoded, messages))

    def get_messages(self, key: str) -> list[ChatMessage]:
        """The conversation of the key; empty when there is none."""
        with _translated_errors():
            return _decoded(key, self._client.lrange(self._name(key), 0, -1))

    def add_message(self, key: str, message: ChatMessage, idx: int | None = None) -> None:
        """Add a message at the end, or before the one at `idx`."""
        with _translated_errors():
            if idx is not None:
                self._run(_INSERT, [self._name(key), self._keys], key, idx, _encoded(message))
                return
            with self._client.pipeline(transaction=True) as together:
                together.rpush(self._name(key), _encoded(message))
                together.sadd(self._keys, key)
                together.execute()

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Begin a new conversation of the key; what was said is returned, and kept as an epoch."""
        name = self._name(key)
        with _translated_errors():
            rows = self._run(_RESET, [name, f"{name}:summary", f"{name}:epochs", self._keys], key)
        return None if rows is None else _decoded(key, rows)

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Take one message out of the conversation; `None` when there is no such place."""
        with _translated_errors():
            row = self._run(_TAKE, [self._name(key), self._keys], key, idx, _TAKEN)
        return None if row is None else _decoded(key, [row])[0]

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Take the last message out of the conversation; `None` when there is none."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """The conversations that are not empty."""
        with _translated_errors():
            return sorted(map(str, self._client.smembers(self._keys)))

    # --- what LlamaIndex does not know ------------------------------------------------------------------------------

    def epoch(self, key: str, number: int) -> list[ChatMessage]:
        """What was said before the reset with this number, 1 for the first."""
        with _translated_errors():
            return _decoded(key, self._client.lrange(f"{self._name(key)}:epoch:{number}", 0, -1))

    def delete_epoch(self, key: str, number: int) -> bool:
        """Delete what was said before a reset, for good; whether there was anything."""
        with _translated_errors():
            return bool(self._client.delete(f"{self._name(key)}:epoch:{number}"))

    def load_summary(self, key: str) -> dict[str, Any] | None:
        """How far the conversation is summarised."""
        with _translated_errors():
            kept = self._client.get(f"{self._name(key)}:summary")
        return None if kept is None else dict(json.loads(kept))

    def save_summary(self, key: str, expected: int, state: Mapping[str, Any]) -> bool:
        """Keep it unless another process has changed it since it was read; whether it was kept."""
        with _translated_errors():
            return bool(self._run(_SAVE_SUMMARY, [f"{self._name(key)}:summary"], expected, json.dumps(dict(state))))

    @property
    def _keys(self) -> str:
        return f"{self.prefix}:{_escaped(self.scope)}:keys"

    def _name(self, key: str) -> str:
        if not isinstance(key, str) or not key.strip():
            raise InvalidInputError(f"a conversation needs a key, not {key!r}")
        return f"{self.prefix}:{_escaped(self.scope)}:said:{_escaped(key)}"

    def _run(self, script: str, keys: Sequence[str], *arguments: Any) -> Any:
        return self._client.eval(script, len(keys), *keys, *arguments)


def _escaped(text: str) -> str:
    """The text without the separator of key parts, so that two names never make the same Redis key."""
    return text.replace("%", "%25").replace(":", "%3A")


def _encoded(message: ChatMessage) -> str:
    return encode_message(to_message(message))


def _decoded(key: str, rows: Sequence[str | bytes]) -> list[ChatMessage]:
    readable: list[tuple[int, Message]] = []
    unreadable: list[tuple[int, str]] = []
    for place, row in enumerate(rows):
        try:
            readable.append((place, decode_message(str(row))))
        except (TypeError, ValueError) as error:
            unreadable.append((place, str(error)))
    if unreadable:
        raise HistoryUnreadableError(
            f"{len(unreadable)} of {len(rows)} messages of {key!r} in Redis cannot be read (place {unreadable[0][0]}: "
            f"{unreadable[0][1]}); the others are in .readable",
            readable=readable,
            unreadable=unreadable,
        )
    return [to_chat_message(message) for _, message in readable]


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raises errors of the server as `StorageError`."""
    import redis

    try:
        yield
    except redis.exceptions.RedisError as error:
        raise StorageError(
            f"Redis has failed ({type(error).__name__}: {error}); try again when the server is available"
        ) from error


RECOGNIZED_CHAT_STORES[RedisChatStore.class_name()] = RedisChatStore  # type: ignore[assignment]
