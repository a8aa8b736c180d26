"""Chat: the running conversation of one session, as callers see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jiyi.chat.compaction import Compaction
from jiyi.chat.reply import OnText, answer
from jiyi.chat.service import ChatService, ChatStatus
from jiyi.chat.window import ChatWindow
from jiyi.errors import ConfigError
from jiyi.execution import Run
from jiyi.model.chat import Candidate, Epoch, Erased, StoredMessage, Summary
from jiyi.model.limits import check_whole
from jiyi.model.message import Message, MessageLike, check_message, check_messages
from jiyi.ports import ChatModel

_MAX_TOKENS = 1 << 40


class Chat:
    """One conversation, inside a token limit, with nothing lost. Get one with `memory.chat(session_id)`.

    A light object: any number may stand for one session, in any number of processes.
    """

    def __init__(
        self,
        room: ChatService,
        run: Run,
        run_short: Run,
        run_slowly: Run,
        written: Callable[[], None],
        model: ChatModel | None = None,
    ) -> None:
        """`run` does blocking work on a thread, `run_short` one small write, `run_slowly` what may ask a model."""
        self._room = room
        self._model = model
        self._run = run
        self._run_short = run_short
        self._run_slowly = run_slowly
        self._written = written

    @property
    def session_id(self) -> str:
        """Which conversation this is."""
        return self._room.session_id

    @property
    def scope(self) -> str:
        """Whose conversation this is."""
        return self._room.scope

    @property
    def answers(self) -> bool:
        """Whether a model is configured that `reply` can ask."""
        return self._model is not None

    @property
    def token_limit(self) -> int:
        """How many tokens the window has at most."""
        return self._room.budget.limit

    async def put(self, message: MessageLike) -> str:
        """Add a message; on disk when this returns. Returns its id. No model is asked."""
        ids: list[str] = await self._run_short(self._room.put, [check_message(message, "message")])
        self._written()
        return ids[0]

    async def put_many(self, messages: Sequence[MessageLike]) -> list[str]:
        """Add messages in one transaction; returns their ids."""
        ids: list[str] = await self._run(self._room.put, check_messages(messages))
        self._written()
        return ids

    async def reply(self, message: MessageLike, *, on_text: OnText | None = None) -> Message:
        """Add a message, let the configured model answer it, add the answer and return it.

        `on_text` is called with every piece of the answer as it comes, in another thread. The message is kept whatever
        the model does.
        """
        checked = check_message(message, "message")
        if self._model is None:
            raise ConfigError(
                "no model is configured, so nobody can answer; set llm to openai-compatible with llm_base_url and "
                "llm_model, or call put and get and ask a model of your own"
            )
        said: Message = await self._run_slowly(answer, self._room, self._model, checked, on_text)
        self._written()
        return said

    async def get(self, *, initial_tokens: int = 0) -> ChatWindow:
        """The messages for the next call of a model: prompts, the summary as a system message, the most recent ones.

        Never more than `token_limit` tokens (less `initial_tokens`, which the caller needs for something else), but for
        a newest message that is larger by itself: then `over_limit` is set. When the limit is reached, older messages
        go under a summary first; if that fails, the oldest are left out of this answer only, and `trouble` says why.
        """
        checked = check_whole(initial_tokens, "initial_tokens", 0, _MAX_TOKENS)
        window: ChatWindow | None = await self._run(self._room.look, checked)
        if window is None:
            window = await self._run_slowly(self._room.get, checked)
        return window

    async def get_all(self, *, epoch: int | None = None) -> list[Message]:
        """Every message since the last reset, or of an earlier epoch, exactly as it was put."""
        return [stored.message for stored in await self.messages(epoch=epoch)]

    async def messages(self, *, epoch: int | None = None) -> list[StoredMessage]:
        """The same with the id and the position of each message."""
        found: list[StoredMessage] = await self._run(self._room.messages, _epoch(epoch))
        return found

    async def reset(self) -> int:
        """Begin anew; returns the number of the new epoch. What was said before stays readable: `get_all(epoch=…)`."""
        number: int = await self._run(self._room.reset)
        return number

    async def compact(self) -> Compaction:
        """Move the older half of the window under a summary now.

        A failure of the model is raised, after it was written down; nothing has changed then.
        """
        done: Compaction = await self._run_slowly(self._room.compact, "explicit")
        return done

    async def overflowed(self, error: BaseException | None = None) -> Compaction:  # noqa: ARG002
        """Tell that the model has refused the window as too long, whatever our count said: half of it is compacted."""
        done: Compaction = await self._run_slowly(self._room.compact, "overflow")
        return done

    async def epochs(self) -> list[Epoch]:
        """The epochs that are there, oldest first; the last one is the current one."""
        found: list[Epoch] = await self._run(self._room.epochs)
        return found

    async def delete_epoch(self, epoch: int) -> Erased:
        """Delete an epoch before the current one for good, with everything that was made of it; returns a receipt."""
        receipt: Erased = await self._run(self._room.delete_epoch, check_whole(epoch, "epoch", 1, _MAX_TOKENS))
        self._written()
        return receipt

    async def summaries(self, *, epoch: int | None = None) -> list[Summary]:
        """The summaries of an epoch, oldest first. Each takes up the one before; the last one is in force."""
        found: list[Summary] = await self._run(self._room.summaries, _epoch(epoch))
        return found

    async def expand(self, summary_id: str) -> list[StoredMessage]:
        """The messages that a summary stands for, with their ids, also those that came to it by earlier summaries."""
        found: list[StoredMessage] = await self._run(self._room.expand, summary_id)
        return found

    async def candidates(self, *, state: str | None = "new") -> list[Candidate]:
        """What compactions of this session propose to keep, oldest first; `None` as state means all."""
        found: list[Candidate] = await self._run(self._room.candidates, state)
        return found

    async def status(self) -> ChatStatus:
        """How the session stands: tokens, the summary in force, the last trouble and when it is tried again."""
        status: ChatStatus = await self._run(self._room.status)
        return status

    def __repr__(self) -> str:
        return f"<Chat {self.session_id!r} scope={self.scope!r} token_limit={self.token_limit}>"


def _epoch(epoch: int | None) -> int | None:
    return None if epoch is None else check_whole(epoch, "epoch", 1, _MAX_TOKENS)
