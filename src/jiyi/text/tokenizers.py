"""Tokenizers of model families that are on this machine already. Nothing is ever downloaded.

OpenAI's and Qwen's vocabularies are files that other packages carry or have fetched; a file counts only if its hash is
the known one. Other models bring a `tokenizer.json`, which is looked for where Hugging Face keeps its downloads.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import re
import tempfile
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


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """A vocabulary in tiktoken's form, and where its file may lie."""

    name: str
    digest: str
    """SHA-256 of the file."""
    file: str
    """Its name in a tiktoken cache: the SHA-1 of the address it is fetched from."""
    package_file: tuple[str, str]
    """(package, path inside it) of a package that carries it."""
    words: str
    """How text is cut before merging."""


_LETTERS: Final = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_SIGNS_AND_SPACE: Final = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_TAILS: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_CAPITALS: Final = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_SMALL: Final = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"

_CL100K: Final = _Vocabulary(
    "cl100k_base",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    ("llama_index", "core/_static/tiktoken_cache"),
    rf"{_TAILS}|{_LETTERS}|\p{{N}}{{1,3}}|{_SIGNS_AND_SPACE}",
)
_O200K: Final = _Vocabulary(
    "o200k_base",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    ("llama_index", "core/_static/tiktoken_cache"),
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_CAPITALS}]*[{_SMALL}]+{_TAILS}?|[^\r\n\p{{L}}\p{{N}}]?[{_CAPITALS}]+[{_SMALL}]*{_TAILS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
_QWEN: Final = _Vocabulary(
    "qwen",
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
    "qwen.tiktoken",
    ("dashscope", "resources"),
    rf"{_TAILS}|{_LETTERS}|\p{{N}}|{_SIGNS_AND_SPACE}",
)

# The first that matches a model's name, which may stand behind a provider's ("openai/gpt-4o").
_FAMILIES: Final[tuple[tuple[str, _Vocabulary], ...]] = (
    (r"(?:chatgpt|gpt)-(?:4o|4\.1|4\.5|5|oss)|o[134](?![a-z0-9])", _O200K),
    (r"gpt-4|gpt-3\.?5|text-embedding-(?:ada|3)", _CL100K),
    (r"qwen|qwq", _QWEN),
)


@lru_cache(maxsize=64)
def find_tokenizer(model: str) -> TokenCounter | None:
    """The tokenizer of this model (or of this `tokenizer.json`, or of the folder that holds one), if it is here."""
    for file in _tokenizer_files(model):
        counter = _from_json(file, model)
        if counter is not None:
            return counter
    name = model.lower()
    for pattern, vocabulary in _FAMILIES:
        if re.search(rf"(?:^|/)(?:{pattern})", name):
            return _from_vocabulary(vocabulary)
    return None


# --- tiktoken ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _from_vocabulary(vocabulary: _Vocabulary) -> TokenCounter | None:
    if importlib.util.find_spec("tiktoken") is None:
        return None
    for folder in _vocabulary_folders(vocabulary):
        try:
            data = (folder / vocabulary.file).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(data).hexdigest() == vocabulary.digest:
            return _Tiktoken(f"tiktoken {vocabulary.name}", _encoding(vocabulary, data))
    return None


def _vocabulary_folders(vocabulary: _Vocabulary) -> Iterator[Path]:
    package, inside = vocabulary.package_file
    for root in _package_roots(package):
        yield root / inside
    # Where tiktoken keeps what it has fetched.
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if folder := os.environ.get(variable):
            yield Path(folder)
    yield Path(tempfile.gettempdir()) / "data-gym-cache"


def _package_roots(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    return [Path(place) for place in (spec.submodule_search_locations or [])] if spec is not None else []


def _encoding(vocabulary: _Vocabulary, data: bytes) -> Any:
    import tiktoken

    pairs = (line.split() for line in data.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    return tiktoken.Encoding(vocabulary.name, pat_str=vocabulary.words, mergeable_ranks=ranks, special_tokens={})


@dataclass(frozen=True, slots=True)
class _Tiktoken:
    name: str
    encoding: Any

    def count(self, text: str) -> int:
        """Tokens of the text; what looks like a special token is text."""
        return sum(len(self.encoding.encode_ordinary(piece)) for piece in _pieces(text))


# --- tokenizer.json ---------------------------------------------------------------------------------------------------


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
