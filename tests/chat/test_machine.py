"""Anything in any order: a session keeps every message, inside its limit, through failures, resets and restarts."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from jiyi import Message
from jiyi.errors import ModelTimeoutError
from jiyi.sync import AgentMemory
from tests.chat.support import Clock, Model, call, check_whole, found, result, use
from tests.support import QUICK, examples

words = st.sampled_from(["tea", "harbour", "北京的天气", "下雨了。", "remember this", "请记住", "", "x" * 400])
roles = st.sampled_from(["user", "assistant", "user", "assistant", "system"])


class ChatMachine(RuleBasedStateMachine):
    """One session, opened again and again, against a list."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="jiyi-chat-")
        self.clock = Clock()
        self.model: Model | None = None
        self.epochs: list[list[dict[str, Any]]] = [[]]
        self.ids: list[str] = []
        self.calls = 0
        self.memory = self._opened()
        self.limit = 200

    def _opened(self) -> AgentMemory:
        memory = AgentMemory.open(Path(self._folder.name, "data"), **QUICK)
        return use(memory, self.model, now=self.clock)

    def teardown(self) -> None:
        for number, messages in enumerate(self.epochs, start=1):
            known = {epoch.epoch for epoch in self.chat.epochs()}
            if number in known:
                assert [m.to_dict() for m in self.chat.get_all(epoch=number)] == messages
        self.memory.close()
        self._folder.cleanup()

    @property
    def chat(self) -> Any:
        return self.memory.chat("s", token_limit=self.limit)

    @initialize(by_model=st.booleans())
    def choose(self, by_model: bool) -> None:
        if by_model:
            self.model = Model(candidates=found("kept"))
            use(self.memory, self.model, now=self.clock)

    # --- what users do --------------------------------------------------------------------------------------------

    @rule(role=roles, text=words)
    def put(self, role: str, text: str) -> None:
        message = {"role": role, "content": f"{text} {len(self.epochs[-1])}"}
        self.ids.append(self.chat.put(message))
        self.epochs[-1].append(message)

    @rule(answers=st.integers(0, 2), then=st.booleans())
    def use_tools(self, answers: int, then: bool) -> None:
        self.calls += 1
        names = [f"{self.calls}-{n}" for n in range(2)]
        messages = [call("f", *names), *(result(name) for name in names[:answers])]
        if then:
            messages.append({"role": "assistant", "content": "done"})
        self.ids += self.chat.put_many(messages)
        self.epochs[-1] += messages

    @rule(limit=st.sampled_from([40, 90, 150, 200, 400, 2_000]), initial=st.sampled_from([0, 0, 30]))
    def get(self, limit: int, initial: int) -> None:
        self.limit = limit
        window = self.chat.get(initial_tokens=initial)
        assert window.tokens <= limit - initial or window.over_limit
        check_whole(self.chat, window)

    @rule()
    def compact(self) -> None:
        pointer = self._pointer()
        try:
            done = self.chat.compact()
        except ModelTimeoutError:
            assert self._pointer() == pointer
        else:
            assert (self._pointer() != pointer) == done.compacted

    @rule()
    def reset(self) -> None:
        number = self.chat.reset()
        if self.epochs[-1]:
            self.epochs.append([])
        assert number == len(self.epochs)
        assert self.chat.get() == []

    @rule(keep=st.integers(0, 6), more=words)
    def rewrite(self, keep: int, more: str) -> None:
        messages = [*self.epochs[-1][: -keep or None], {"role": "user", "content": more}]
        self.memory.save_conversation_history("s", messages)
        self.epochs[-1] = messages

    # --- what happens to them -------------------------------------------------------------------------------------

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self._opened()

    @rule(broken=st.booleans(), later=st.booleans())
    def break_or_mend_the_model(self, broken: bool, later: bool) -> None:
        if self.model is not None:
            self.model.summary = _slow if broken else "what was said so far"
        if later:
            self.clock.pass_(5_000)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert [m.to_dict() for m in self.chat.get_all()] == self.epochs[-1]
        check_whole(self.chat)

    def _pointer(self) -> Any:
        return [summary.id for summary in self.chat.summaries()][-1:]


def _slow(_messages: Sequence[Message]) -> str:
    raise ModelTimeoutError("too slow")


TestChatMachine = ChatMachine.TestCase
TestChatMachine.settings = settings(max_examples=examples(2), stateful_step_count=25)
