"""JSON read piece by piece: the elements of an array and the members of an object, never the whole file at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, TextIO

from jiyi.errors import ImportFormatError

_CHUNK: Final = 1 << 16
MAX_ELEMENT: Final = 128 << 20
"""How many characters one element may have."""
_SPACE: Final = " \t\r\n\ufeff"


class JsonReader:
    """Reads one JSON document from a stream. Only one element at a time is decoded."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if not self._fill(_CHUNK):
                return ""

    def take(self, wanted: str) -> None:
        """Step over a character that must come next."""
        found = self.peek()
        if found != wanted:
            what = "the file ends" if not found else f"there is {found!r}"
            raise ImportFormatError(f"{self._name}: {what} where {wanted!r} is expected; the file may be cut off")
        self._at += 1

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        step = _CHUNK
        while True:
            try:
                found, end = self._decoder.raw_decode(self._buffer, self._at)
            except (json.JSONDecodeError, RecursionError) as error:
                if isinstance(error, RecursionError) or self._ended:
                    raise ImportFormatError(f"{self._name} is not JSON, or is cut off: {error}") from None
            else:
                # A number at the end of the buffer may go on in the next piece.
                if end < len(self._buffer) or self._ended:
                    self._at = end
                    return found
            if len(self._buffer) - self._at > MAX_ELEMENT:
                raise ImportFormatError(f"{self._name} has an element of more than {MAX_ELEMENT:,} characters")
            self._fill(step)
            step *= 2

    def elements(self) -> Iterator[Any]:
        """The elements of the array that comes next."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if self.peek() == "]":
                self.take("]")
                return
            self.take(",")

    def members(self) -> Iterator[str]:
        """The names of the members of the object that comes next. The value of each has to be read before the next."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise ImportFormatError(f"{self._name}: an object has the name {name!r}, which is no text")
            self.take(":")
            yield name
            if self.peek() == "}":
                self.take("}")
                return
            self.take(",")

    def end(self) -> None:
        """Nothing may follow."""
        if self.peek():
            raise ImportFormatError(f"{self._name}: there is more behind the end of the JSON document")

    def _fill(self, size: int) -> bool:
        try:
            more = self._stream.read(size)
        except UnicodeDecodeError as error:
            raise ImportFormatError(f"{self._name} is not UTF-8: {error}; convert it first") from None
        self._buffer = self._buffer[self._at :] + more
        self._at = 0
        self._ended = not more
        return bool(more)


def objects_of_array(stream: TextIO, name: str, expected: str) -> Iterator[dict[str, Any]]:
    """The objects of a document that is an array of objects."""
    reader = JsonReader(stream, name)
    if reader.peek() != "[":
        raise ImportFormatError(f"{name} is no array; expected is {expected}")
    for index, element in enumerate(reader.elements()):
        if not isinstance(element, dict):
            raise ImportFormatError(f"{name}: element {index} is no object; expected is {expected}")
        yield element
    reader.end()
