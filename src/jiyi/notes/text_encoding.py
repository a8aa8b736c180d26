"""From bytes to text: UTF-8, what says by itself that it is UTF-16, and GB18030 where that is beyond doubt."""

from __future__ import annotations

import codecs
from typing import Final

UTF_8: Final = "utf-8"
_BOMS: Final = (
    # The marks of UTF-32 begin like those of UTF-16: they come first.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_GB18030: Final = "gb18030"
# The characters that Chinese text is made of: a fifth of any of it and more. Bytes of another encoding that happen to
# be legal GB18030 give characters at random, of which these are one in thirty.
_COMMON: Final = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"
    "用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
    "日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政"
    "美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员"
    "解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件"
    "计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象"
    "完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运笔吃早晚昨"
    "午周六七八九零会议杭州茶早饭喜欢买卖猫狗爱岁元钱号码址"
)
_PUNCTUATION: Final = frozenset("，。、；：？！“”‘’（）《》【】—…·「」『』　％￥")
_MAX_OTHERS: Final = 0.05
_MIN_COMMON: Final = 0.2


class UndecodableError(ValueError):
    """Bytes that are no text in an encoding that can be told for sure; the message says why."""


def decode(data: bytes) -> tuple[str, str]:
    """The text and the name of its encoding, without the byte order mark; `UndecodableError` when there is doubt."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), encoding
            except UnicodeDecodeError as error:
                raise UndecodableError(f"it begins as {encoding.upper()} and is not ({_where(error)})") from None
    if b"\x00" in data:
        raise UndecodableError(f"it is no text: there is a NUL byte at {data.index(0)}")
    try:
        return data.decode(UTF_8), UTF_8
    except UnicodeDecodeError as error:
        text = _chinese(data)
        if text is None:
            raise UndecodableError(
                f"it is not UTF-8 ({_where(error)}), and which other encoding it has is not certain; save it as UTF-8"
            ) from None
        return text, _GB18030


def ends_in_partial_write(data: bytes) -> bool:
    """Whether what cannot be decoded would be, but for its last line: as if somebody were just writing there."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return len(data) % 2 == 1
    try:
        decode(data[: data.rfind(b"\n") + 1])
    except UndecodableError:
        return False
    return True


def _where(error: UnicodeDecodeError) -> str:
    return f"byte {error.object[error.start]:#04x} at {error.start}"


def _chinese(data: bytes) -> str | None:
    """The text, if it is Chinese in GB18030 and cannot well be anything else."""
    try:
        text = data.decode(_GB18030)
    except UnicodeDecodeError:
        return None
    beyond_ascii = [character for character in text if not character.isascii()]
    marks = sum(character in _PUNCTUATION for character in beyond_ascii)
    han = [character for character in beyond_ascii if "\u4e00" <= character <= "\u9fff"]
    # Letters with accents take one byte: in GB18030 they swallow the letter after them, which gives characters whose
    # second byte is ASCII. The two thousand characters that people write have two high bytes.
    usual = sum(all(byte >= 0xA1 for byte in character.encode(_GB18030)) for character in han)
    others = len(beyond_ascii) - marks - usual
    if len(han) < 2 or others > _MAX_OTHERS * len(beyond_ascii):
        return None
    common = sum(character in _COMMON for character in han)
    return text if common >= _MIN_COMMON * len(han) else None
