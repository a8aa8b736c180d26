"""How many tokens a text has for a model: exact for a local `tokenizer.json`, otherwise an estimate from above.

The estimate is made for tokenizers of the size that current models use (a hundred thousand tokens and more). It was
fitted to the largest count of five of them (cl100k, o200k, Qwen, DeepSeek, Claude 2) over chat, documents and code in
both languages; small old vocabularies such as GPT-2's need about twice as many tokens for Chinese.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from unicodedata import category

if TYPE_CHECKING:
    from jiyi.model.message import Message
    from jiyi.ports import TokenCounter

__all__ = [
    "ESTIMATE",
    "IMAGE_TOKENS",
    "MESSAGE_TOKENS",
    "EstimatedTokens",
    "count_message",
    "counter_for",
    "cut_to_tokens",
    "estimate_tokens",
]

MESSAGE_TOKENS: Final = 5
"""The tokens of a message besides its content: its role and delimiters."""
IMAGE_TOKENS: Final = 1_100
"""The assumed tokens of an image: a photo at high detail. Models differ and count by size, which is not known here."""

# --- the estimate -----------------------------------------------------------------------------------------------------
#
# Each character gets a class, the classes are counted, and the sum of their weights is the estimate. Words of Latin
# letters cost something for the word and a little for each letter; a Han character costs one, two or three.

# Han characters that are one token in cl100k_base, the vocabulary with the fewest of them. The others are two, or three
# where not even the first two bytes of their UTF-8 form are a token: one bit for each block of 64 from U+4E00 on.
_ONE_TOKEN: Final = frozenset(
    "一万三上下不与专业东两个中串为主么义之也书了事二于五些交产享京人亿今介从他付代以们件价任份企优会传但位体何余作"
    "你使例供価保信修倍值停像元先入全公共关其具内円册再写出击分列则初利别到制前力功加务动動包化北区十午华单南即历原"
    "去县参及友反发取变口只可台右号司合同名后向否含听启告员周命和品哈商問器四回因国图土在地场址型城基報場填增声处备"
    "复外多大天失头女好如始子字存学安宋完定实审客家容密对导将小少尔就局展山岁州工左已市布常平年并广序库应店度建开异"
    "式引张当录形影径待後得微心必志态思性总息您情意感成我或户所手打找技投报拉持指按换据排接推提播支收改放政效数整文"
    "料断新方族无日时明易星是時景更最月有服期木未本机权束条来板构析果查标样核格案检模次款止正此步歳段每比民気水求江"
    "汽没治法注活流海消清游源火点無然片版物特率环现球理生用由电男画界番登的监目直相省看県真知码确示社票私种科秒称移"
    "程稍税稿空立站章端笑符第等签简算管箱米类系素索约级线组经结给络统编网置美老考者而联能自至色节英藏行表装西要見见"
    "规视角解言計記話読计认议记论设证评试话询该详语误说请读调象责败账货购费资起超路身车转软载辑输达过运近还这进连述"
    "退送选通速造連道邮部都配释里重量金钟钮链销错键长開間関门闭问间队阳陆限院除雅集雷需非面音页项预频题额首验高黑"
)
_THREE_TOKEN_BLOCKS: Final = int(
    ("b7fffdb0c003ef701f001831fdfe407083c90009c1ce3cede0000fd4000900e400781f404784001400"), 16
)
# Punctuation of Chinese text and a few signs that are one token everywhere.
_ONE_TOKEN_SIGNS: Final = frozenset("，。！？、；：“”‘’（）【】…—～·「」　→↑↓×°–•￥€£©®")

_LOWER, _UPPER, _DIGIT, _SPACE, _BREAK, _SIGN, _ONE, _TWO, _THREE, _FOUR = "aA0 \n.1234"

_RANGES: Final = (
    (0x0370, 0x0530, _ONE),  # Greek, Cyrillic
    (0x0080, 0x0700, _TWO),  # accents, Hebrew, Arabic
    (0x0900, 0x0980, _TWO),  # Devanagari
    (0x0E00, 0x0E80, _TWO),  # Thai
    (0x2010, 0x2600, _TWO),  # signs, arrows, boxes
    (0x3000, 0x3100, _TWO),  # CJK signs, kana
    (0xFE0F, 0xFE10, _ONE),  # the emoji form of the sign before
    (0xFF00, 0xFFF0, _TWO),  # full-width forms
)

# Weights in hundredths of a token.
_PER_WORD: Final = 76
_PER_LOWER: Final = 9
_PER_UPPER: Final = 36
_PER_DIGIT: Final = 100  # Qwen makes a token of each digit, others of three
_PER_SPACE_RUN: Final = 100
_PER_SIGN_RUN: Final = 75
_PER_SIGN: Final = 30
_PER_RARE: Final = 70  # long words and names are cut in pieces
_PER_TEXT: Final = 100

_WORDS: Final = re.compile("A?a+|A+")
_RARE: Final = re.compile("a{11,}|Aa{5,}")
_SIGNS: Final = re.compile(r"\.+")
_SPACES: Final = re.compile("  +|\n+| (?=[0123])")  # a single space belongs to the word after it, not to a number


class _Classes(dict[int, str]):
    """The class of each character, computed on first use; a table for `str.translate`."""

    def __missing__(self, code: int) -> str:
        found = _class_of(chr(code))
        if len(self) < 1 << 17:
            self[code] = found
        return found


_CLASSES: Final = _Classes()


def _class_of(character: str) -> str:
    code = ord(character)
    if code < 0x80:
        return _ascii_class(character)
    if 0x4E00 <= code < 0xA000:
        return _han_class(character)
    if character in _ONE_TOKEN_SIGNS:
        return _ONE
    for start, end, found in _RANGES:
        if start <= code < end:
            return found
    return _THREE if code < 0x20000 else _FOUR  # a byte is the smallest token


def _han_class(character: str) -> str:
    if character in _ONE_TOKEN:
        return _ONE
    return _THREE if _THREE_TOKEN_BLOCKS >> ((ord(character) - 0x4E00) >> 6) & 1 else _TWO


def _ascii_class(character: str) -> str:
    if character.islower():
        return _LOWER
    if character.isupper():
        return _UPPER
    if character.isdigit():
        return _DIGIT
    if character in "\n\r\v\f":
        return _BREAK
    if character in " \t":
        return _SPACE
    return _SIGN


def estimate_tokens(text: str) -> int:
    """An upper estimate of the tokens of the text for any current model; 0 for an empty text."""
    if not text:
        return 0
    classes = text.translate(_CLASSES)
    count = classes.count
    total = (
        _PER_TEXT
        + _PER_WORD * len(_WORDS.findall(classes))
        + _PER_RARE * len(_RARE.findall(classes))
        + _PER_LOWER * count(_LOWER)
        + _PER_UPPER * count(_UPPER)
        + _PER_DIGIT * count(_DIGIT)
        + _PER_SPACE_RUN * len(_SPACES.findall(classes))
        + _PER_SIGN_RUN * len(_SIGNS.findall(classes))
        + _PER_SIGN * count(_SIGN)
        + 100 * count(_ONE)
        + 200 * count(_TWO)
        + 300 * count(_THREE)
        + 400 * count(_FOUR)
    )
    return math.ceil(total / 100)


@dataclass(frozen=True, slots=True)
class EstimatedTokens:
    """A `TokenCounter` for models whose tokenizer is not available."""

    name: str = "estimate"

    def count(self, text: str) -> int:
        """`estimate_tokens`."""
        return estimate_tokens(text)


ESTIMATE: Final = EstimatedTokens()
"""The counter for any model: an upper estimate."""


def counter_for(model: str | None) -> TokenCounter:
    """The counter of a model: its `tokenizer.json` if there is one on this machine, otherwise the estimate.

    `model` is a name as servers use it (`gpt-4o`, `Qwen/Qwen3-8B`), or the path of a `tokenizer.json` or of the folder
    that holds one. Nothing is downloaded. `name` of the result says which counter it is.
    """
    if model is None:
        return ESTIMATE
    from jiyi.text.tokenizers import find_tokenizer

    return find_tokenizer(model) or ESTIMATE


# --- messages ---------------------------------------------------------------------------------------------------------


# Besides role and content: what is never sent to a model.
_NOT_COUNTED: Final = frozenset({"role", "content", "turn"})


def count_message(message: Message, counter: TokenCounter) -> int:
    """The tokens of a whole message: content, parts, tool calls and every other field."""
    total = MESSAGE_TOKENS
    if isinstance(message.content, str):
        total += counter.count(message.content)
    elif message.content is not None:
        total += sum(_count_part(part, counter) for part in message.content)
    others = {name: value for name, value in message.to_dict().items() if name not in _NOT_COUNTED}
    if others:
        total += counter.count(_as_json(others))
    return total


def _count_part(part: Any, counter: TokenCounter) -> int:
    if isinstance(part, str):
        return counter.count(part)
    if isinstance(part, Mapping):
        if isinstance(part.get("text"), str):
            return counter.count(part["text"]) + 1
        if "image" in str(part.get("type", "")):
            return IMAGE_TOKENS
    return counter.count(_as_json(part))


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- cutting ----------------------------------------------------------------------------------------------------------


def cut_to_tokens(text: str, max_tokens: int, counter: TokenCounter) -> str:
    """The longest prefix of the text, cut between whole characters, that has at most `max_tokens` tokens."""
    if max_tokens <= 0:
        return ""
    # Start with a short prefix: the text may be much longer than the result.
    high = min(len(text), 8 * max_tokens + 16)
    while high < len(text) and counter.count(text[:high]) <= max_tokens:
        high = min(len(text), 2 * high)
    if high == len(text) and counter.count(text) <= max_tokens:
        return text
    low = 0  # fits; `high` does not
    while high - low > 1:
        middle = (low + high) // 2
        if counter.count(text[:middle]) <= max_tokens:
            low = middle
        else:
            high = middle
    end = _character_start(text, low)
    # Rarely, a shorter text has more tokens than a longer one, because the last word is cut.
    while end and counter.count(text[:end]) > max_tokens:
        end = _character_start(text, end - 1)
    return text[:end]


_JOINER: Final = "\u200d"


def _character_start(text: str, place: int) -> int:
    """The last position, not after `place`, at which a grapheme begins."""
    while 0 < place < len(text) and _continues(text, place):
        place -= 1
    return place


def _continues(text: str, place: int) -> bool:
    """Whether the code point at `place` belongs to the grapheme before it."""
    before, here = text[place - 1], text[place]
    if "\udc00" <= here <= "\udfff":
        return "\ud800" <= before <= "\udbff"
    if here.isascii():
        return before == "\r" and here == "\n"
    if _JOINER in {here, before} or "\U0001f3fb" <= here <= "\U0001f3ff":
        return True
    if "\U0001f1e6" <= here <= "\U0001f1ff":  # two regional letters are one flag
        start = place
        while start and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
            start -= 1
        return (place - start) % 2 == 1
    return category(here).startswith("M") or "\u1160" <= here <= "\u11ff"
