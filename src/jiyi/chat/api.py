"""Chat: the running conversation of one session, as callers see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from jiyi.chat.compaction import Compaction
from jiyi.chat.reply import OnText, reply_to
from jiyi.chat.service import ChatService, ChatStatus
from jiyi.chat.session_window import DEFAULT_MAX_WAIT, Reading
from jiyi.chat.window import ChatWindow
from jiyi.errors import ConfigError, InvalidInputError
from jiyi.execution import Run
from jiyi.model import clock
from jiyi.model.chat import Candidate, Epoch, Erased, StoredMessage, Summary
from jiyi.model.limits import check_whole
from jiyi.model.message import Message, MessageLike, check_message, check_messages
from jiyi.ports import ChatModel

_MAX_TOKENS = 1 << 40
_MAX_SECONDS = 1e9


class Chat:
    """One conversation, inside a token limit, with nothing lost. Get one with `memory.chat(session_id)`.

    A light object: any number may stand for one session, in any number of processes.
    """

    def __init__(
        self,
        service: ChatService,
        run: Run,
        write: Run,
        run_slowly: Run,
        written: Callable[[], None],
        model: ChatModel | None = None,
    ) -> None:
        """`run` does blocking work on a thread, `write` one write, `run_slowly` what may ask a model.

        `written` is called after each write.
        """
        self._service = service
        self._model = model
        self._run = run
        self._write = write
        self._run_slowly = run_slowly
        self._written = written

    @property
    def session_id(self) -> str:
        """Which conversation this is."""
        return self._service.session_id

    @property
    def scope(self) -> str:
        """Whose conversation this is."""
        return self._service.scope

    @property
    def answers(self) -> bool:
        """Whether a model is configured that `reply` can ask."""
        return self._model is not None

    @property
    def token_limit(self) -> int:
        """How many tokens the window has at most."""
        return self._service.budget.limit

    async def put(self, message: MessageLike, *, created_at: datetime | None = None) -> str:
        """Add a message; on disk when this returns. Returns its id. No model is asked.

        It was said at `created_at`, at the time in its own `created_at`, `timestamp`, `create_time` or `date`, or now.
        """
        when = None if created_at is None else clock.require_aware(created_at, "created_at")
        ids: list[str] = await self._write(self._service.put, [check_message(message, "message")], when)
        self._written()
        return ids[0]

    async def put_many(self, messages: Sequence[MessageLike], *, created_at: datetime | None = None) -> list[str]:
        """Add messages in one transaction; returns their ids. Each was said when `put` would say so."""
        when = None if created_at is None else clock.require_aware(created_at, "created_at")
        ids: list[str] = await self._write(self._service.put, check_messages(messages), when)
        self._written()
        return ids

    async def insert_message(self, index: int, message: MessageLike) -> None:
        """Put a message before the one at an index of `get_all()`, as `list.insert` does, in one transaction.

        Summaries and candidates of the messages behind it are withdrawn.
        """
        checked = check_message(message, "message")
        await self._write(self._service.insert, check_whole(index, "index", -_MAX_TOKENS, _MAX_TOKENS), checked)
        self._written()

    async def delete_message(self, index: int) -> Message | None:
        """Take the message at an index of `get_all()` out, in one transaction; `None` when there is none.

        Summaries and candidates of the messages behind it are withdrawn.
        """
        place = check_whole(index, "index", -_MAX_TOKENS, _MAX_TOKENS)
        taken: Message | None = await self._write(self._service.remove, place)
        self._written()
        return taken

    async def pop_message(self) -> Message | None:
        """Take the newest message out; `None` when there is none."""
        return await self.delete_message(-1)

    async def reply(self, message: MessageLike, *, on_text: OnText | None = None) -> Message:
        """Add a message, let the configured model answer it, add the answer and return it.

        `on_text` is called with every piece of the answer as it comes, in another thread. The message is kept whatever
        the model does.
        """
        checked = check_message(message, "message")
        if self._model is None:
            raise ConfigError(
                "no model is configured; set llm to openai-compatible with llm_base_url and llm_model, or call put and "
                "get and ask a model of your own"
            )
        answer: Message
        answer, window = await self._run_slowly(reply_to, self._service, self._model, checked, on_text)
        self._written()
        self._continue_in_background(window, 0)
        return answer

    async def get(self, *, initial_tokens: int = 0, max_wait: float | None = DEFAULT_MAX_WAIT) -> ChatWindow:
        """The messages for the next call of a model: system messages, the summary of older ones, the most recent ones.

        Never more than `token_limit` tokens (less `initial_tokens`, which the caller needs for something else), but for
        a newest message that is larger by itself: then `over_limit` is set. When the limit is reached, older messages
        go under a summary first, portion by portion, for about `max_wait` seconds (`None`: until all is done); the rest
        is summarised in the background, and `pending` says how many messages this answer misses and how far that work
        is. If a summary fails, `trouble` says why.
        """
        tokens = check_whole(initial_tokens, "initial_tokens", 0, _MAX_TOKENS)
        seconds = _check_wait(max_wait)
        found: ChatWindow | Reading = await self._run(self._service.look, tokens)
        if isinstance(found, ChatWindow):
            return found
        window: ChatWindow = await self._run_slowly(self._service.get, tokens, found, max_wait=seconds)
        self._continue_in_background(window, tokens)
        return window

    def _continue_in_background(self, window: ChatWindow, initial_tokens: int) -> None:
        if window.pending is None or window.trouble is not None:
            return

        async def compact_portion() -> int:
            moved: int = await self._run_slowly(self._service.compact_portion, initial_tokens)
            return moved

        self._service.background.start((self.scope, self.session_id), compact_portion)
        window.pending = replace(window.pending, running=True)

    async def get_all(self, *, epoch: int | None = None) -> list[Message]:
        """Every message since the last reset, or of an earlier epoch, exactly as it was put."""
        return [stored.message for stored in await self.messages(epoch=epoch)]

    async def messages(self, *, epoch: int | None = None) -> list[StoredMessage]:
        """The same with the id and the position of each message."""
        found: list[StoredMessage] = await self._run(self._service.messages, _epoch(epoch))
        return found

    async def flush(self) -> Compaction:
        """Search what was said and not searched yet for what is worth keeping; `candidates` says how many were found.

        For the end of a session: nothing leaves the window. A failure of the model is recorded, then raised.
        """
        done: Compaction = await self._run_slowly(self._service.flush, "end")
        return done

    async def reset(self, *, flush: bool = True) -> int:
        """Begin a new epoch; returns its number. What was said before stays readable: `get_all(epoch=…)`.

        It is searched for candidates first. If the model that does this fails, the error is raised and nothing has
        changed; without `flush` the search is left out.
        """
        if flush:
            await self._run_slowly(self._service.flush, "reset")
        number: int = await self._write(self._service.reset)
        return number

    async def compact(self) -> Compaction:
        """Move the older half of the window under a summary now.

        A failure of the model is recorded, then raised; nothing has changed then.
        """
        done: Compaction = await self._run_slowly(self._service.compact, "explicit")
        return done

    async def overflowed(self, error: BaseException | None = None) -> Compaction:  # noqa: ARG002 - for callers that hand it over
        """Report that the model has refused the window as too long, whatever our count was: half of it is compacted."""
        done: Compaction = await self._run_slowly(self._service.compact, "overflow")
        return done

    async def epochs(self) -> list[Epoch]:
        """The epochs that are there, oldest first; the last one is the current one."""
        found: list[Epoch] = await self._run(self._service.epochs)
        return found

    async def delete_epoch(self, epoch: int) -> Erased:
        """Delete an epoch before the current one for good, with everything derived from it; returns a receipt."""
        receipt: Erased = await self._write(self._service.delete_epoch, check_whole(epoch, "epoch", 1, _MAX_TOKENS))
        self._written()
        return receipt

    async def summaries(self, *, epoch: int | None = None) -> list[Summary]:
        """The summaries of an epoch, oldest first. Each contains the one before; the last one is in force."""
        found: list[Summary] = await self._run(self._service.summaries, _epoch(epoch))
        return found

    async def expand(self, summary_id: str) -> list[StoredMessage]:
        """The messages that a summary covers, with their ids, those of earlier summaries included."""
        found: list[StoredMessage] = await self._run(self._service.expand, summary_id)
        return found

    async def candidates(self, *, state: str | None = "new") -> list[Candidate]:
        """What compactions of this session propose to keep, oldest first; `None` as state means all."""
        found: list[Candidate] = await self._run(self._service.candidates, state)
        return found

    async def status(self) -> ChatStatus:
        """The state of the session: tokens, the summary in force, the last trouble and when it is tried again."""
        status: ChatStatus = await self._run(self._service.status)
        return status

    def __repr__(self) -> str:
        return f"<Chat {self.session_id!r} scope={self.scope!r} token_limit={self.token_limit}>"


def _check_wait(max_wait: object) -> float | None:
    if max_wait is None:
        return None
    if isinstance(max_wait, bool) or not isinstance(max_wait, int | float) or not 0 <= max_wait <= _MAX_SECONDS:
        raise InvalidInputError(f"max_wait must be a number of seconds from 0 on, or None, not {max_wait!r}")
    return float(max_wait)


def _epoch(epoch: int | None) -> int | None:
    return None if epoch is None else check_whole(epoch, "epoch", 1, _MAX_TOKENS)
