"""Who does another kind of work for somebody, and papers of another kind: 水管工 and 电工, 护照 and 驾照.

English names such things by the noun before the verb (`about/subject_phrases`). The segmenter does not know all of
these Chinese words as nouns, and they are told by how they end.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.statements.about.phrase_words import LEAD_ZH
from jiyi.text.statements.parts.claims import clauses_of
from jiyi.text.statements.replacing.change_words import is_mistake

__all__ = ["is_another_provider_or_paper"]

_PROVIDER: Final = re.compile(
    r"^(?:我们?|咱们?)?(?:家里?|这边|这里)?的?(?P<of>[\u3400-\u9fff]{0,3}(?:工|[牙兽中西]医|医生|大夫|律师|会计|园丁|保洁"
    r"|保姆|司机|管家|中介|教练|月嫂|药师|匠|设计师|理发师|化妆师|按摩师|营养师|咨询师|快递员|送奶工|师傅))"
    r"(?:现在)?(?:是|叫|姓|找的?是?|请的?是?|用的?是?)"
)
_PAPER: Final = re.compile(
    r"^(?:我们?|咱们?)?(?:家里?)?的?(?P<of>[\u3400-\u9fff]{0,4}(?:护照|签证|[证照卡险贷]|合同|会员|租约|保修|年检|社保|通行证))"
    r"(?:的?有效期)?(?:是|到|要|在|就|将|今年|明年|后年|[下这]个?月|\d|[一二三四五六七八九十]+[月号])"
    r"(?=.{0,12}(?:到期|过期|截止|失效|换证|续|满|为止|$))"
)
_SAME: Final = tuple(
    frozenset(group.split())
    for group in (
        "牙医 牙科医生 牙科大夫",
        "医生 大夫 家庭医生 主治医生 师傅",
        "兽医 宠物医生",
        "保姆 住家保姆 保洁",
        "护照 因私护照",
        "驾照 驾驶证",
        "车险 汽车保险",
        "房贷 贷款",
        "车贷 贷款",
        "水管工 水工 管道工",
    )
)


def is_another_provider_or_paper(message: str, fact: str) -> bool:
    """Whether a message is about somebody who does another kind of work than the one of a fact, or another paper."""
    if is_mistake(fold(message)):
        return False
    return any(_other(_named(message, form), _named(fact, form)) for form in (_PROVIDER, _PAPER))


def _named(text: str, form: re.Pattern[str]) -> set[str] | None:
    """What the clauses of a text are about, where all that name anything do so in this form."""
    found = {
        match["of"]
        for clause in map(fold, clauses_of(text))
        if (match := form.match(LEAD_ZH.sub("", clause).strip())) is not None
    }
    return found or None


def _other(new: set[str] | None, old: set[str] | None) -> bool:
    if new is None or old is None:
        return False
    # 医生 may be any doctor: only two full names tell them apart.
    return not any(
        one == other or one.endswith(other) or other.endswith(one) or any({one, other} <= group for group in _SAME)
        for one in new
        for other in old
    )
