"""The tokenizer and the word lists of the English date grammar."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from jiyi.text.dates import periods
from jiyi.text.dates.holidays import HOLIDAYS
from jiyi.text.dates.periods import DateValue, Yearly, months

if TYPE_CHECKING:
    from jiyi.text.dates.periods import Hours, Unit


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}

# Also names, verbs or other words: a month only with further evidence next to it.
DOUBTFUL_MONTHS: Final = frozenset({"march", "april", "may", "june", "august"} | {n for n in MONTHS if len(n) < 5})

# In lower case these are rarely months.
VERBS_LIKE_MONTHS: Final = frozenset({"march", "may", "mar"})

WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("monday", "mon"),
            ("tuesday", "tue", "tues"),
            ("wednesday", "wed"),
            ("thursday", "thu", "thur", "thurs"),
            ("friday", "fri"),
            ("saturday", "sat"),
            ("sunday", "sun"),
        )
    )
    for name in names
}

SEASONS: Final = {
    "spring": DateValue(Yearly(months, (3, 5)), "season"),
    "summer": DateValue(Yearly(months, (6, 8)), "season"),
    "autumn": DateValue(Yearly(months, (9, 11)), "season"),
    "fall": DateValue(Yearly(months, (9, 11)), "season"),
    "winter": DateValue(Yearly(months, (12, 2)), "season"),
}

QUARTERS: Final = {f"q{n}": DateValue(Yearly(months, (3 * n - 2, 3 * n)), "quarter") for n in range(1, 5)} | {
    "h1": DateValue(Yearly(months, (1, 6)), "part"),
    "h2": DateValue(Yearly(months, (7, 12)), "part"),
}

TENS: Final = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}

_TO_NINETEEN: Final = (
    ("one", "first"),
    ("two", "second"),
    ("three", "third"),
    ("four", "fourth"),
    ("five", "fifth"),
    ("six", "sixth"),
    ("seven", "seventh"),
    ("eight", "eighth"),
    ("nine", "ninth"),
    ("ten", "tenth"),
    ("eleven", "eleventh"),
    ("twelve", "twelfth"),
    ("thirteen", "thirteenth"),
    ("fourteen", "fourteenth"),
    ("fifteen", "fifteenth"),
    ("sixteen", "sixteenth"),
    ("seventeen", "seventeenth"),
    ("eighteen", "eighteenth"),
    ("nineteen", "nineteenth"),
)
NUMBERS: Final = {word: number for number, (word, _) in enumerate(_TO_NINETEEN, start=1)} | TENS
ORDINALS: Final = {word: number for number, (_, word) in enumerate(_TO_NINETEEN, start=1)} | {
    "twentieth": 20,
    "thirtieth": 30,
}

UNITS: Final[dict[str, tuple[int, Unit]]] = {
    "day": (1, "day"),
    "days": (1, "day"),
    "week": (1, "week"),
    "weeks": (1, "week"),
    "fortnight": (2, "week"),
    "fortnights": (2, "week"),
    "month": (1, "month"),
    "months": (1, "month"),
    "year": (1, "year"),
    "years": (1, "year"),
    "decade": (10, "year"),
    "decades": (10, "year"),
}

PARTS_OF_DAY: Final[dict[str, Hours]] = {
    "morning": periods.MORNING,
    "noon": periods.NOON,
    "lunchtime": periods.NOON,
    "afternoon": periods.AFTERNOON,
    "evening": periods.EVENING,
    "night": periods.NIGHT,
}

THROUGH: Final = frozenset({"to", "through", "thru", "until", "till", "-", "~"})
OFFSETS: Final = {"last": -1, "this": 0, "next": 1}
THIRDS: Final = {"early": 1, "mid": 2, "late": 3}
EDGES: Final = {"beginning": 1, "start": 1, "middle": 2, "end": 3}

# After these a time follows. After the loose ones it may also be a person ("before June left").
TIME_PREPOSITIONS: Final = _set(
    "in during since until till throughout around early mid late last next past every each between month"
)
LOOSE_PREPOSITIONS: Final = _set("of by from to for before after through about on")
YEAR_PREPOSITIONS: Final = _set(
    "in during since until till by of from for before after year around about through throughout early mid late between"
)
SEASON_PREPOSITIONS: Final = _set("in during over since until till throughout around before after")
DETERMINERS: Final = _set("the my our his her their your this that whole entire")

# A season or year followed by one of these is a time: "in spring we …", not "in spring water".
FUNCTION_WORDS: Final = _set(
    "a about after all also an and any are as at because been before being both but by can could did "
    "do does during for from had has have he her his how i if in into is it its me my near no not of "
    "on or our over she should so than that the their them then there they this to together too until "
    "up us was we were what when where which while who whom whose why will with without would you "
    "your"
)

# A number before one of these is a count.
COUNTED: Final = _set("people percent men women children kids km kg mg ml am pm usd eur rmb yuan x")
# "May" before one of these is a verb.
AFTER_MODAL: Final = _set("be have not also seem sound help take cause look well i we you he she they it the")
NOT_PLURAL: Final = _set("was is has does this us as his its yes across always sometimes besides")

# A holiday before one of these is not a date: "Christmas tree".
HOLIDAY_THINGS: Final = _set(
    "tree trees carol carols song songs movie movies film films card cards light lights decoration "
    "decorations ornament ornaments sweater sweaters jumper stocking stockings gift gifts present "
    "presents shopping market markets costume costumes candy pie pudding turkey cookie cookies cake "
    "island bunny egg eggs story music list wish spirit wreath themed theme special recipe recipes "
    "resolution resolutions"
)

# `(s)` and `( -)` are optional.
_PHRASES: Final = {
    "christmas": "christmas",
    "xmas": "christmas",
    "thanksgiving": "thanksgiving",
    "halloween": "halloween",
    "easter": "easter",
    "juneteenth": "juneteenth",
    "qingming": "qingming",
    "qixi": "qixi",
    "chongyang": "double ninth festival",
    "new year(s)": "new year",
    "new year(s) day": "new year's day",
    "new year(s) eve": "new year's eve",
    "christmas day": "christmas",
    "christmas eve": "christmas eve",
    "xmas eve": "christmas eve",
    "boxing day": "boxing day",
    "thanksgiving day": "thanksgiving",
    "black friday": "black friday",
    "cyber monday": "cyber monday",
    "valentine(s) day": "valentine's day",
    "st patrick day": "st patrick's day",
    "st . patrick day": "st patrick's day",
    "saint patrick day": "st patrick's day",
    "mardi gras": "mardi gras",
    "ash wednesday": "ash wednesday",
    "palm sunday": "palm sunday",
    "good friday": "good friday",
    "easter sunday": "easter",
    "easter monday": "easter monday",
    "easter weekend": "easter weekend",
    "mother(s) day": "mother's day",
    "father(s) day": "father's day",
    "memorial day": "memorial day",
    "labor day": "labor day",
    "labour day": "may day",
    "international workers day": "may day",
    "may day": "may day",
    "independence day": "independence day",
    "martin luther king day": "martin luther king day",
    "mlk day": "martin luther king day",
    "president(s) day": "presidents' day",
    "veteran(s) day": "veterans day",
    "columbus day": "columbus day",
    "groundhog day": "groundhog day",
    "april fool(s) day": "april fools' day",
    "april fools": "april fools' day",
    "earth day": "earth day",
    "cinco de mayo": "cinco de mayo",
    "canada day": "canada day",
    "bastille day": "bastille day",
    "bonfire night": "bonfire night",
    "women(s) day": "women's day",
    "children day": "children's day",
    "teacher(s) day": "teachers' day",
    "singles day": "singles' day",
    "double eleven": "singles' day",
    "national day": "national day",
    "golden week": "golden week",
    "chinese new year": "spring festival",
    "chinese new year eve": "lunar new year's eve",
    "lunar new year": "spring festival",
    "lunar new year eve": "lunar new year's eve",
    "spring festival": "spring festival",
    "lantern festival": "lantern festival",
    "qingming festival": "qingming",
    "tomb( -) sweeping day": "qingming",
    "dragon boat festival": "dragon boat festival",
    "qixi festival": "qixi",
    "mid( -) autumn festival": "mid-autumn festival",
    "mid( -) autumn day": "mid-autumn festival",
    "moon festival": "mid-autumn festival",
    "double ninth festival": "double ninth festival",
    "chongyang festival": "double ninth festival",
    "winter solstice": "winter solstice",
}


def _spellings(phrase: str) -> set[str]:
    without = phrase.replace("(s)", "").replace("( -)", "")
    return {without, phrase.replace("(s)", "s").replace("( -)", " -")}


# The phrases by their first word, the longest first.
HOLIDAY_PHRASES: Final[dict[str, list[tuple[tuple[str, ...], DateValue]]]] = {}
for _words, _name in sorted(
    ((tuple(spelling.split()), name) for phrase, name in _PHRASES.items() for spelling in sorted(_spellings(phrase))),
    key=lambda item: -len(item[0]),
):
    HOLIDAY_PHRASES.setdefault(_words[0], []).append((_words, DateValue(HOLIDAYS[_name], "holiday")))


class Token(NamedTuple):
    """A word, a number or a sign of the text."""

    base: str
    """In lower case, without a possessive ending."""
    raw: str
    begin: int
    finish: int
    number: int | None
    """The value of up to four digits."""
    ordinal: bool
    """Whether the digits end in st, nd, rd or th."""

    @property
    def capital(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.raw[0].isupper()

    @property
    def possessive(self) -> bool:
        """Whether it ends in 's."""
        return self.raw.endswith("'s")


_TOKEN: Final = re.compile(
    r"""
      [A-Za-z_\u00C0-\u024F][A-Za-z0-9_\u00C0-\u024F]*(?:'[A-Za-z]*)?
    | (?<![\w./-])\d{4}(?:-\d{1,2}-|/\d{1,2}/|\.\d{2}\.)\d{1,2}(?!(?!T\d)\w|[-/.]\d)
    | (?<![\w./-])\d{1,2}/\d{1,2}/\d{4}(?!\w|[-/.]\d)
    | (?<![\w./-])\d{1,2}\.\d{1,2}\.(?:19|20)\d{2}(?!\w|[-/.]\d)
    | (?<![\w./-])\d{1,2}/\d{1,2}(?!\w|[-/.]\d)
    | (?<![\w./-])\d{4}-(?:0[1-9]|1[0-2])(?!\w|[-/.]\d)
    | \d+(?:[.:]\d+)+ | \d{1,3}(?:,\d{3}){1,4}(?!\d)
    | [A-Za-z0-9_\u00C0-\u024F]+(?:'[A-Za-z]*)?
    | [\u4E00-\u9FFF]+
    | \S
    """,
    re.VERBOSE | re.ASCII,
)
_ORDINAL: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)", re.IGNORECASE)


def tokenize(text: str) -> list[Token]:
    """The words, numbers and signs of a text."""
    tokens = []
    for match in _TOKEN.finditer(text):
        raw = match.group()
        begin, finish = match.span()
        base, number, ordinal = raw.lower(), None, None
        if "'" in base:
            base = base.removesuffix("'s").rstrip("'") or raw
        if raw[0].isdigit():
            ordinal = _ORDINAL.fullmatch(raw)
            digits = ordinal[1] if ordinal else raw
            number = int(digits) if len(digits) <= 4 and digits.isascii() and digits.isdigit() else None
        tokens.append(Token(base, raw, begin, finish, number, ordinal is not None))
    return tokens
