"""Puts together what all chats of a memory share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from jiyi.chat.by_model import ModelMaker
from jiyi.chat.making import Maker
from jiyi.chat.room import RoomParts, SessionLocks, TokenCounts
from jiyi.chat.rules import RuleMaker
from jiyi.chat.window import Budget
from jiyi.model import clock
from jiyi.ports import ChatModel, ChatStore
from jiyi.text.token_count import count_message, counter_for


def room_parts(
    store: ChatStore,
    model: ChatModel | None,
    *,
    actor: str,
    recallable: bool,
    now: Callable[[], datetime] = clock.utc_now,
) -> RoomParts:
    """With a model it makes summaries and candidates, and tokens are counted as it counts them; else rules do."""
    counter = counter_for(model.name if model is not None else None)

    def maker(budget: Budget, prompt: str | None) -> Maker:
        if model is None:
            return RuleMaker(counter)
        return ModelMaker(model, counter, prompt=prompt, most_input=budget.portion)

    return RoomParts(
        store=store,
        maker=maker,
        counts=TokenCounts(lambda message: count_message(message, counter)),
        now=now,
        actor=actor,
        recallable=recallable,
        locks=SessionLocks(),
    )
