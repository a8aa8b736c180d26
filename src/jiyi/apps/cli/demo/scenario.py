"""The steps of the demo: each uses a real memory and checks the outcome. Nothing is drawn here."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from jiyi.config import load_settings
from jiyi.memory import AgentMemory
from jiyi.text import Analyzer
from jiyi.wiring import assemble

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

MEMORIES = (
    ("allergy", "我对花生过敏，吃一点就会起疹子"),
    ("violin", "女儿每周二晚上学小提琴"),
    ("weekend", "周末喜欢带着狗去爬山"),
    ("news", "早报每天七点发到工作群"),
    ("meeting", "早上的例会改到九点半"),
    ("car", "The car is parked on level three of the garage"),
    ("anniversary", "Our wedding anniversary is on the ninth of June"),
    ("server", "The backup server runs every night at two"),
)
QUESTIONS = (
    ("孩子在练什么乐器？", "violin"),
    ("Where did I leave my vehicle?", "car"),
    ("What food could make me ill?", "allergy"),
    ("哪天是结婚纪念日？", "anniversary"),
)
"""(question, key of the answer): no word in common, and twice not even the language."""
KEYWORD, KEYWORD_ANSWER = "早报", "news"
CITY_BEFORE = "我住在柏林"
CITY_AFTER = "我搬到杭州了"
CITY_QUESTION = "Which city do I live in now?"
UNSAVED = ("spare-key", "The spare key is under the third flowerpot")
UNSAVED_QUESTION = "备用钥匙在哪里？"
SECRET = ("salary", "下个月起工资涨到两万")
SHARED = ("office", "公司在西湖边的三号楼")
INDEXES = "search_index"
_CHILD_SECONDS = 60


class DemoFailedError(Exception):
    """Raised when a step of the demo has another outcome than it should."""


@dataclass(slots=True)
class DemoStep:
    """What was done in one step and what came of it, in both languages."""

    chinese: str
    english: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    """(Chinese, English) sentences, all of them checked."""
    rows: list[tuple[str, ...]] = field(default_factory=list)
    """Things to show as they are: questions and answers, versions."""

    def fact(self, chinese: str, english: str) -> None:
        """Add a sentence that has just been checked."""
        self.facts.append((chinese, english))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "title": {"zh": self.chinese, "en": self.english},
            "facts": [{"zh": chinese, "en": english} for chinese, english in self.facts],
            "rows": [list(row) for row in self.rows],
        }


class Observer(Protocol):
    """Is notified of each step."""

    def show(self, number: int, step: DemoStep) -> None:
        """A step has passed."""
        ...


def expect(condition: bool, what: str) -> None:
    """Raise `DemoFailedError` unless the condition holds."""
    if not condition:
        raise DemoFailedError(f"a step of the demo failed: {what}")


async def play(path: Path, passed: list[DemoStep], observer: Observer) -> None:
    """Play all steps in this new data directory; each is appended to `passed` when it has passed."""

    async def show(scene: Coroutine[Any, Any, DemoStep]) -> None:
        step = await scene
        passed.append(step)
        observer.show(len(passed), step)

    async with _open(path) as memory:
        await show(_store(memory))
        await show(_ask(memory))
        await show(_keyword(memory))
        await show(_correct(memory))
        await show(_crash(memory, path))
    _delete_indexes(path)
    async with _open(path) as memory:
        await show(_recall_without_indexes(memory, path))
        await show(_isolate(memory))
        await show(_compare(memory))


def _open(path: Path) -> AgentMemory:
    """A memory with the default settings: the demo must not depend on the settings of the user."""
    return AgentMemory(assemble(load_settings(path, environment={}, background_indexing=False)))


async def _store(memory: AgentMemory) -> DemoStep:
    step = DemoStep("存入", "Store")
    for key, content in MEMORIES:
        entry = await memory.store(key, content)
        expect(entry.content == content, f"{key!r} came back as {entry.content!r}")
        step.rows.append((key, content))
    count = await memory.count()
    expect(count == len(MEMORIES), f"{len(MEMORIES)} memories were stored and {count} are there")
    step.fact(
        f"{count} 条记忆已写入磁盘，每条都是先落盘再确认",
        f"{count} memories are on disk; each was durable before it was acknowledged",
    )
    return step


async def _ask(memory: AgentMemory) -> DemoStep:
    step = DemoStep("换一种说法提问", "Ask with other words")
    analyzer = Analyzer()
    for question, key in QUESTIONS:
        best = await _best(memory, question)
        expect(best.key == key, f"{question!r} found {best.key!r}, not {key!r}")
        common = set(analyzer.query(question).words) & set(analyzer.analyze(best.content).words)
        expect(not common, f"{question!r} shares {common} with its answer")
        step.rows.append((question, best.content))
    step.fact(
        "问题和答案没有一个词相同，其中两问还跨了语言：靠的是内置模型，不需要密钥和网络",
        "No question shares a word with its answer, and two cross the language: "
        "the bundled model found them, with no key and no network",
    )
    return step


async def _keyword(memory: AgentMemory) -> DemoStep:
    step = DemoStep("两个字的关键词", "A keyword of two characters")
    hits = await memory.recall(KEYWORD, mode="keyword")
    keys = [hit.key for hit in hits]
    expect(keys[:1] == [KEYWORD_ANSWER], f"the keyword {KEYWORD} found {keys}")
    expect("meeting" not in keys, f"the keyword {KEYWORD} also found 早上, which is another word")
    step.rows.append((KEYWORD, hits[0].content))
    step.fact(
        "“早报”只找到早报，没有把“早上”混进来",
        "早报 (the morning paper) is found, and 早上 (the morning) is not mistaken for it",
    )
    return step


async def _correct(memory: AgentMemory) -> DemoStep:
    step = DemoStep("更正", "Correct")
    before = await memory.store("city", CITY_BEFORE)
    after = await memory.store("city", CITY_AFTER)
    best = await _best(memory, CITY_QUESTION)
    versions = await memory.history("city")
    expect(best.content == CITY_AFTER, f"{CITY_QUESTION!r} found {best.content!r}")
    expect(after.created_at == before.created_at, "the correction changed the creation time")
    contents = [version.entry.content if version.entry is not None else None for version in versions]
    expect(contents == [CITY_BEFORE, CITY_AFTER], f"the history is {contents}")
    step.rows.append((CITY_QUESTION, best.content))
    step.rows += [
        (f"v{version.version} {version.operation}", content or "")
        for version, content in zip(versions, contents, strict=True)
    ]
    step.fact(
        "同一个键再存一次就是更正；旧的说法仍在历史里",
        "Storing under the same key corrects it; what was said before stays in the history",
    )
    return step


async def _crash(memory: AgentMemory, path: Path) -> DemoStep:
    step = DemoStep("崩溃", "Crash")
    key, content = UNSAVED
    entry_id, ended = await asyncio.to_thread(_store_and_kill, path, key, content)
    lag = min(index["behind"] for index in (await memory.doctor())["indexes"])
    kept = await memory.get(key)
    best = await _best(memory, UNSAVED_QUESTION)
    expect(lag > 0, "an index already had what the killed process wrote")
    expect(kept is not None and kept.id == entry_id and kept.content == content, "the acknowledged memory is lost")
    expect(best.key == key, f"after the crash {UNSAVED_QUESTION!r} found {best.key!r}")
    step.rows.append((UNSAVED_QUESTION, best.content))
    step.fact(
        f"另一个进程刚确认写入就被强行杀死（{ended}），索引还没跟上；什么也没丢",
        f"Another process was killed ({ended}) right after its acknowledgement, "
        "before any index had it; nothing is lost",
    )
    return step


def _delete_indexes(path: Path) -> None:
    folder = path / INDEXES
    expect(folder.is_dir() and any(folder.iterdir()), f"there is no index in {folder}")
    shutil.rmtree(folder)


async def _recall_without_indexes(memory: AgentMemory, path: Path) -> DemoStep:
    step = DemoStep("删掉索引", "Delete the indexes")
    question, key = QUESTIONS[0]
    best = await _best(memory, question)
    words = await memory.recall(KEYWORD, mode="keyword")
    expect(best.key == key, f"without indexes {question!r} found {best.key!r}")
    expect([hit.key for hit in words][:1] == [KEYWORD_ANSWER], f"without indexes {KEYWORD} was not found")
    expect(any((path / INDEXES).iterdir()), "the indexes were not built again")
    step.rows += [(question, best.content), (KEYWORD, words[0].content)]
    step.fact(
        "search_index/ 整个删掉，下一次提问就从记录里重建好了",
        "search_index/ was deleted as a whole; the next question built it again from the records",
    )
    return step


async def _isolate(memory: AgentMemory) -> DemoStep:
    step = DemoStep("隔离", "Keep apart")
    question = SECRET[1]
    await memory.store(*SECRET, scope="alice")
    await memory.store(*SHARED, scope="public")
    own = await memory.recall(question, scope="alice")
    foreign = await memory.recall(question, scope="bob")
    foreign_get = await memory.get(SECRET[0], scope="bob")
    shared = await memory.recall(SHARED[1], scope="bob")
    expect([hit.key for hit in own][:1] == [SECRET[0]], "alice does not find her own memory")
    expect(foreign_get is None and all(hit.scope != "alice" for hit in foreign), "bob can read alice")
    expect([hit.key for hit in shared][:1] == [SHARED[0]], "bob does not see what is public")
    step.rows += [("alice", SECRET[1]), ("bob", "—"), ("bob, public", shared[0].content)]
    step.fact(
        "alice 存的只有 alice 看得到；bob 用原文去问也问不到，公开的两人都能看",
        "What alice stores only alice sees: bob asks with the very text and gets none of it; both see what is public",
    )
    return step


async def _compare(memory: AgentMemory) -> DemoStep:
    step = DemoStep("对账", "Compare")
    await memory.drain()
    reports = await memory.verify()
    for report in reports:
        expect(report.sound, f"index {report.index} differs from the records: {report.to_dict()}")
        step.rows.append((report.index, f"{report.held} = {report.records}"))
    step.fact(
        "逐条核对编号和内容摘要：记录、文本索引、向量完全一致",
        "Every id and content hash was compared: records, text index and vectors agree",
    )
    return step


async def _best(memory: AgentMemory, question: str) -> MemoryEntry:
    hits: Sequence[MemoryEntry] = await memory.recall(question, 3)
    expect(bool(hits), f"{question!r} found nothing")
    return hits[0]


def _store_and_kill(path: Path, key: str, content: str) -> tuple[str, str]:
    """Let a child process store and kill it after its acknowledgement; returns the entry's id and how it ended."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JIYI_")}
    command = [sys.executable, "-m", "jiyi.apps.cli.demo.killed_process", str(path), key, content]
    with subprocess.Popen(  # noqa: S603 - our own module in our own interpreter
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
        start_new_session=True,  # Ctrl-C is for this process, not for the child
    ) as child:
        acknowledged = child.stdout.readline() if child.stdout is not None else ""
        child.kill()
        code = child.wait(_CHILD_SECONDS)
    expect(acknowledged.strip() != "", "the child process did not acknowledge its memory")
    expect(code != 0, "the child process ended by itself")
    entry_id = acknowledged.split()[0]
    return entry_id, "SIGKILL" if code == -9 else f"exit code {code}"
