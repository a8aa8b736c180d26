"""Tokenizers of models that are on this machine as a `tokenizer.json`. Nothing is ever downloaded."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jiyi.ports import TokenCounter

__all__ = ["find_tokenizer"]

# Longer texts are counted in pieces: a tokenizer takes quadratic time for one endless word. A cut adds a token at most.
_PIECE: Final = 20_000


@lru_cache(maxsize=64)
def find_tokenizer(model: str) -> TokenCounter | None:
    """The tokenizer of this model: a path of a `tokenizer.json` or its folder, or a name in Hugging Face's cache."""
    for file in _tokenizer_files(model):
        counter = _from_json(file, model)
        if counter is not None:
            return counter
    return None


def _tokenizer_files(model: str) -> Iterator[Path]:
    if "\x00" in model:
        return
    given = Path(model)
    if given.name == "tokenizer.json":
        yield given
    yield given / "tokenizer.json"
    if re.fullmatch(r"[\w.-]+/[\w.-]+", model):
        home = os.environ.get("HF_HOME")
        hub = os.environ.get("HF_HUB_CACHE") or (Path(home) / "hub" if home else "~/.cache/huggingface/hub")
        snapshots = Path(hub).expanduser() / f"models--{model.replace('/', '--')}" / "snapshots"
        yield from sorted(snapshots.glob("*/tokenizer.json"), key=str, reverse=True)


def _from_json(file: Path, model: str) -> TokenCounter | None:
    try:
        data = file.read_bytes()
    except (OSError, ValueError):
        return None
    if importlib.util.find_spec("tokenizers") is None:
        return None
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:
        if type(error) is not Exception and not isinstance(error, ValueError):  # the package raises bare exceptions
            raise
        return None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _Tokenizers(f"tokenizer.json of {model}", tokenizer)


@dataclass(frozen=True, slots=True)
class _Tokenizers:
    name: str
    tokenizer: Any

    def count(self, text: str) -> int:
        """Tokens of the text, without those that begin and end a prompt."""
        return sum(len(self.tokenizer.encode(piece, add_special_tokens=False)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    if not text.isascii():  # a lone surrogate has no UTF-8 form; two that make a pair become their character
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
