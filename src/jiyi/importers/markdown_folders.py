"""Folders of Markdown: those of basic-memory, of OpenClaw, and of Claude Code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final

import yaml

from jiyi.errors import ImportFormatError
from jiyi.importers.records import ImportedEntry, LeftOut, Stream, digest, entries_of_text, origin, time_of
from jiyi.importers.sources import Source
from jiyi.model.daily_note import DAY_FORMAT, NOTES_FOLDER, day_of, is_daily, moment_of
from jiyi.model.storable import storable

_OPENCLAW_FILES: Final = ("MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md", "AGENTS.md")
BASIC_MEMORY: Final = (
    "a folder of basic-memory: Markdown files with front matter (title, type, permalink), observations "
    "'- [category] text #tag (context)' and relations '- relation [[Other]]'"
)
OPENCLAW: Final = f"an OpenClaw workspace: {', '.join(_OPENCLAW_FILES)}, {NOTES_FOLDER}/{DAY_FORMAT}.md"
CLAUDE_CODE: Final = "a folder of Claude Code: CLAUDE.md, .claude/rules/*.md, memory/MEMORY.md and memory/*.md"

_FRONT: Final = re.compile(r"\A---\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_OBSERVATION: Final = re.compile(r"^[ \t]*[-*] \[([^\[\]\n]{2,40})\] (.+?)[ \t]*$", re.MULTILINE)
_RELATION: Final = re.compile(r"^[ \t]*[-*] ([^\[\]\n]+?) \[\[([^\]\n]+)\]\][^\n]*$", re.MULTILINE)
_TAG: Final = re.compile(r"(?<!\S)#([\w/-]+)")
_CONTEXT: Final = re.compile(r" \(([^()]*)\)$")
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$")
_CLAUDE_CODE_FILE: Final = re.compile(r"(.*/)?CLAUDE(\.local)?\.md|(.*/)?\.claude/rules/.+\.md|(.*/)?memory/[^/]+\.md")


def read_basic_memory(source: Source) -> Stream:
    """Observations and relations as memories of their own, and the other text of each note."""
    names = [name for name in _markdown(source, BASIC_MEMORY) if not _is_hidden(name)]
    known = False
    for name in names:
        front, body = _split(source.read(name), name)
        known = known or bool({"title", "permalink", "type"} & front.keys())
        if not known and name == names[-1]:
            raise ImportFormatError(f"no file of {source.path} has front matter; expected is {BASIC_MEMORY}")
        yield from _note(name, front, body)


def _note(name: str, front: dict[str, Any], body: str) -> Stream:
    title = str(front.get("title") or PurePosixPath(name).stem)
    link = str(front.get("permalink") or name)
    when = time_of(front.get("created") or front.get("date"))
    tags = _tags(front.get("tags"))
    for found in _OBSERVATION.finditer(body):
        category, text = found.groups()
        context = _CONTEXT.search(text)
        own = _TAG.findall(text)
        said = _TAG.sub("", _CONTEXT.sub("", text)).strip()
        if not said:
            yield LeftOut("an observation without text")
            continue
        about = origin(
            "basic-memory", permalink=link, title=title, category=category, context=context[1] if context else None
        )
        yield ImportedEntry(
            f"basic-memory/{digest(link, category, text)}",
            storable(said if title.casefold() in said.casefold() else f"{title}: {said}"),
            tags=tuple(dict.fromkeys((*tags, *own, category))),
            metadata=about,
            occurred_at=when,
        )
    for found in _RELATION.finditer(body):
        relation, other = found.groups()
        yield ImportedEntry(
            f"basic-memory/{digest(link, relation, other)}",
            storable(f"{title} {relation.replace('_', ' ')} {other}"),
            tags=tuple(dict.fromkeys((*tags, title, other))),
            metadata=origin("basic-memory", permalink=link, title=title, relation=relation, object=other),
            occurred_at=when,
        )
    rest = _RELATION.sub("", _OBSERVATION.sub("", body))
    words = "\n".join(line for line in rest.splitlines() if not _HEADING.match(line)).strip()
    words = re.sub(r"\n{3,}", "\n\n", words)
    if words:
        about = origin("basic-memory", permalink=link, title=title)
        yield from entries_of_text(
            f"basic-memory/{digest(link)}", f"{title}\n{words}", tags=tags, metadata=about, occurred_at=when
        )


def read_openclaw(source: Source) -> Stream:
    """A memory for each section of each file; those of a day have its date."""
    names = [name for name in _markdown(source, OPENCLAW) if _is_of_openclaw(name)]
    if not names:
        raise ImportFormatError(f"{source.path} has none of the files; expected is {OPENCLAW}")
    for name in names:
        yield from _sections("openclaw", name, source.read(name), moment_of(day_of(name), UTC))


def _is_of_openclaw(name: str) -> bool:
    return name in _OPENCLAW_FILES or (is_daily(name) and name.rpartition("/")[0] == NOTES_FOLDER)


def read_claude_code(source: Source) -> Stream:
    """A memory for each section of the instructions, and one for each file of the memory folder."""
    names = [name for name in _markdown(source, CLAUDE_CODE) if _CLAUDE_CODE_FILE.fullmatch(name)]
    if not names:
        raise ImportFormatError(f"{source.path} has none of the files; expected is {CLAUDE_CODE}")
    for name in names:
        front, body = _split(source.read(name), name)
        if not front:
            yield from _sections("claude-code", name, body, None)
            continue
        about = front.get("metadata")
        kind = about.get("type") if isinstance(about, dict) else None
        heading = "\n".join(str(front[each]) for each in ("name", "description") if front.get(each))
        yield from entries_of_text(
            f"claude-code/{digest(name)}",
            f"{heading}\n{body}",
            tags=_tags(kind),
            metadata=origin("claude-code", file=name, kind=kind),
        )


def _sections(kind: str, name: str, text: str, when: datetime | None) -> Stream:
    _, body = _split(text, name)
    for path, words in _split_at_headings(body):
        heading = " > ".join(path)
        yield from entries_of_text(
            f"{kind}/{digest(name, heading, words)}",
            f"{heading}\n{words}" if heading else words,
            metadata=origin(kind, file=name, section=heading),
            occurred_at=when,
        )


def _split_at_headings(body: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The text below each heading, with the headings above it. Lines inside code are no headings."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    fenced = False
    for line in [*body.splitlines(), None]:
        heading = None if line is None or fenced else _HEADING.match(line)
        if line is not None and line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if line is not None and heading is None:
            lines.append(line)
            continue
        words = "\n".join(lines).strip()
        if words:
            yield tuple(each for _, each in path), words
        lines = []
        if heading is not None:
            level = len(heading[1])
            path = [each for each in path if each[0] < level] + [(level, heading[2])]


def _markdown(source: Source, expected: str) -> list[str]:
    if source.is_file:
        raise ImportFormatError(f"{source.path} is a file; expected is {expected}")
    names = source.names(lambda name: name.endswith(".md"))
    if not names:
        raise ImportFormatError(f"{source.path} has no Markdown files; expected is {expected}")
    return names


def _split(text: str, name: str) -> tuple[dict[str, Any], str]:
    """Front matter and the rest."""
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    try:
        front = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError) as error:
        raise ImportFormatError(f"the front matter of {name} is not YAML: {error}") from None
    return (front if isinstance(front, dict) else {}), text[found.end() :]


def _tags(value: object) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(str(each).strip().lstrip("#") for each in given if str(each).strip().lstrip("#")))


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(name).parts)


__all__ = ["BASIC_MEMORY", "CLAUDE_CODE", "OPENCLAW", "read_basic_memory", "read_claude_code", "read_openclaw"]
