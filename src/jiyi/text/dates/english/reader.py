"""Reader: the token stream of an English text, with the helpers that all rules use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from jiyi.text.dates.english import words
from jiyi.text.dates.periods import DateValue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jiyi.text.dates.reference_time import ReferenceTime

Hit: TypeAlias = tuple[DateValue, int]
"""What was read, and the index of the token after it."""

Rule: TypeAlias = Callable[["Reader", int], Hit | None]
"""Reads an expression at a token."""

# The limit on nesting ("the day before the day before …") keeps parsing linear.
_MAX_DEPTH = 4


class Reader:
    """The tokens of a text, with the rules to read dates from them."""

    def __init__(
        self, text: str, reference: ReferenceTime, rules: Mapping[str, Sequence[Rule]], digits: Sequence[Rule]
    ) -> None:
        self.tokens = words.tokenize(text)
        self.reference = reference
        self._rules = rules
        self._digits = digits
        self._depth = 0
        self.sure = False
        """Whether the context requires a date, so that a rule needs no further evidence."""

    def atom(self, index: int, *, sure: bool = False) -> Hit | None:
        """One expression at a token. `sure`: the context requires a date."""
        if not 0 <= index < len(self.tokens) or self._depth >= _MAX_DEPTH:
            return None
        token = self.tokens[index]
        rules = self._digits if token.raw[0].isdigit() else self._rules.get(token.base, ())
        outer = self.sure
        self._depth += 1
        for rule in rules:
            self.sure = sure
            hit = rule(self, index)
            if hit is not None:
                break
        else:
            hit = None
        self._depth -= 1
        self.sure = outer
        return None if hit is None else self._with_hours(hit)

    def after_the(self, index: int) -> Hit | None:
        """The expression that must come next, perhaps after "the"."""
        return self.atom(index + (self.word(index) == "the"), sure=True)

    def word(self, index: int) -> str:
        """The word at an index in lower case, "" beyond the ends."""
        return self.tokens[index].base if 0 <= index < len(self.tokens) else ""

    def phrase(self, index: int, *phrase: str) -> bool:
        """Whether these words stand at an index."""
        return all(self.word(index + offset) == word for offset, word in enumerate(phrase))

    def number(self, index: int) -> tuple[int, int] | None:
        """A number in digits or words, and the index after it."""
        if not 0 <= index < len(self.tokens):
            return None
        token = self.tokens[index]
        if token.number is not None and not token.ordinal:
            return token.number, index + 1
        value = words.NUMBERS.get(token.base)
        if value is None:
            return None
        if token.base in words.TENS:
            rest = index + 1 + (self.word(index + 1) == "-")
            small = words.NUMBERS.get(self.word(rest), 0)
            if 0 < small < 10:
                return value + small, rest + 1
        return value, index + 1

    def ordinal(self, index: int) -> tuple[int, int] | None:
        """An ordinal in digits or words, and the index after it."""
        if not 0 <= index < len(self.tokens):
            return None
        token = self.tokens[index]
        if token.ordinal and token.number is not None:
            return token.number, index + 1
        if token.base in words.TENS:
            rest = index + 1 + (self.word(index + 1) == "-")
            small = words.ORDINALS.get(self.word(rest), 0)
            return (words.TENS[token.base] + small, rest + 1) if 0 < small < 10 else None
        value = words.ORDINALS.get(token.base)
        return None if value is None else (value, index + 1)

    def year(self, index: int) -> tuple[int, int] | None:
        """A year after something that lacks one: "2023", ", 2023", "of 2023", "'23", "last year"."""
        if self.word(index) in {",", "of", "in"}:
            index += 1
        token = self.tokens[index] if index < len(self.tokens) else None
        if token is None:
            return None
        if token.number is not None and not token.ordinal:
            named = 1900 <= token.number <= 2100 and not self.counted(index + 1)
            return (token.number, index + 1) if named else None
        following = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
        if following is None:
            return None
        if token.raw == "'" and following.number is not None and len(following.raw) == 2:
            return (2000 if following.number < 50 else 1900) + following.number, index + 2
        if following.base == "year" and token.base in words.OFFSETS:
            return self.reference.today.year + words.OFFSETS[token.base], index + 2
        return None

    def dated(self, when: DateValue, index: int) -> Hit | None:
        """The expression in the year that follows it, if any; None if that year does not have such a day."""
        year = self.year(index)
        if year is None:
            return when, index
        in_year = when.in_year(year[0])
        return None if in_year is None else (in_year, year[1])

    def counted(self, index: int) -> bool:
        """Whether the word is a plural, so that the number before it is a count."""
        if index >= len(self.tokens):
            return False
        token = self.tokens[index]
        if token.capital:
            return False
        plural = token.base.endswith("s") and not token.possessive and token.base not in words.NOT_PLURAL
        return token.base in words.COUNTED or token.base == "%" or (plural and len(token.base) > 2)

    def closed(self, index: int) -> bool:
        """Whether what follows cannot be the noun of a compound ("spring" before "water")."""
        if index >= len(self.tokens):
            return True
        token = self.tokens[index]
        return not token.raw[0].isalpha() or token.capital or token.base in words.FUNCTION_WORDS

    def ends(self, index: int) -> bool:
        """Whether the text or the clause ends here."""
        return index >= len(self.tokens) or self.tokens[index].raw[0] in ",.;:!?)\"'，。；：！？）”"

    def preceded(self, index: int, prepositions: frozenset[str]) -> bool:
        """Whether one of the prepositions stands before, perhaps with "the" or "my" between."""
        before = index - 1
        while before > index - 3 and self.word(before) in words.DETERMINERS:
            before -= 1
        return self.word(before) in prepositions

    def _with_hours(self, hit: Hit) -> Hit:
        """The part of the day that follows a single day: "yesterday morning", "on Friday in the evening"."""
        when, index = hit
        if when.kind not in {"day", "holiday"}:
            return hit
        if self.word(index) == "in" and self.word(index + 1) == "the":
            part = index + 2
        else:
            part = index + (self.word(index) == "at" and self.word(index + 1) in {"night", "noon", "lunchtime"})
        hours = words.PARTS_OF_DAY.get(self.word(part))
        return hit if hours is None else (when.at(hours), part + 1)
