"""Builds what all chats of a memory share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from jiyi.chat.background import BackgroundCompactions
from jiyi.chat.model_summarizer import ModelSummarizer
from jiyi.chat.rule_summarizer import RuleSummarizer
from jiyi.chat.service import ChatDeps
from jiyi.chat.session_window import SessionLocks, TokenCounts, WindowDeps
from jiyi.chat.summarizers import Summarizer
from jiyi.chat.window import Budget
from jiyi.model import clock
from jiyi.ports import ChatModel, ChatStore
from jiyi.text.token_count import count_message, counter_for


def chat_deps(
    store: ChatStore,
    model: ChatModel | None,
    *,
    actor: str,
    recallable: bool,
    now: Callable[[], datetime] = clock.utc_now,
) -> ChatDeps:
    """The dependencies: a model, if there is one, makes summaries and candidates; otherwise rules do."""
    counter = counter_for(model.name if model is not None else None)

    def make_summarizer(budget: Budget, prompt: str | None) -> Summarizer:
        if model is None:
            return RuleSummarizer(counter)
        return ModelSummarizer(model, counter, prompt=prompt, max_input=budget.portion)

    return ChatDeps(
        store=store,
        make_summarizer=make_summarizer,
        window=WindowDeps(
            counts=TokenCounts(lambda message: count_message(message, counter)),
            now=now,
            locks=SessionLocks(),
            background=BackgroundCompactions(),
        ),
        actor=actor,
        recallable=recallable,
    )
