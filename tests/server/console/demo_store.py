# ruff: noqa: E501 - each fact stands on one line, in both languages
"""A memory with something in every room, for the tests in a browser and for the screenshots of the documents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from jiyi import AgentMemory

SCOPE = "alice"
BEGIN = datetime(2026, 8, 3, 9, 0, tzinfo=UTC)
FACTS: tuple[tuple[str, str, str, str], ...] = (
    # key, English, Chinese, domain
    ("diet", "Vegetarian, allergic to peanuts", "吃素，对花生过敏", "user_preferences"),
    ("tea", "Drinks green tea in the morning, never coffee after noon", "早上喝绿茶，中午以后不喝咖啡", "user_preferences"),
    ("language", "Wants answers short, with the code first", "回答要短，先给代码", "user_preferences"),
    ("theme", "Uses the dark theme in every editor", "所有编辑器都用深色主题", "user_preferences"),
    ("employer", "Works at Northwind as a data engineer", "在北风公司做数据工程师", "professional_and_academic"),
    ("project", "Leads the migration from MySQL to PostgreSQL", "负责从 MySQL 迁移到 PostgreSQL", "professional_and_academic"),
    ("stack", "Writes Python and SQL, learns Rust in the evenings", "写 Python 和 SQL，晚上学 Rust", "professional_and_academic"),
    ("degree", "Studied statistics in Hangzhou until 2019", "2019 年毕业于杭州，统计学专业", "professional_and_academic"),
    ("running", "Runs ten kilometres along the river on Sundays", "每周日沿河跑十公里", "lifestyle_and_interests"),
    ("guitar", "Plays the guitar in a small band", "在一个小乐队弹吉他", "lifestyle_and_interests"),
    ("books", "Reads science fiction, last the Three-Body Problem", "爱看科幻小说，最近在看《三体》", "lifestyle_and_interests"),
    ("cat", "Has a grey cat called Mochi", "养了一只灰猫，叫麻糬", "lifestyle_and_interests"),
    ("brother", "Brother Wei lives in Shanghai and builds bridges", "弟弟小伟住在上海，修桥", "social_and_relationships"),
    ("partner", "Partner Lin teaches at a primary school", "伴侣小林是小学老师", "social_and_relationships"),
    ("mentor", "Asks Professor Chen for advice on papers", "写论文时请教陈教授", "social_and_relationships"),
    ("dentist", "Dentist on 12 November at 15:30", "11 月 12 日 15:30 看牙医", "tasks_and_schedules"),
    ("report", "The migration report is due on the last Friday of each month", "每月最后一个周五交迁移报告", "tasks_and_schedules"),
    ("trip", "Flies to Chengdu on 20 December for a week", "12 月 20 日飞成都，住一周", "tasks_and_schedules"),
)  # fmt: skip
TALK = (
    ("user", "Can you book a table for tonight?", "帮我订今晚的餐厅？"),
    ("assistant", "For how many, and is a vegetarian place right?", "几位？要素食餐厅吗？"),
    ("user", "For two, vegetarian, and nothing with peanuts please.", "两位，素食，不要花生。"),
    ("assistant", "Booked at Green Leaf for 19:00, and I told them about the peanuts.", "订好了绿叶餐厅 19:00，已说明花生过敏。"),
    ("user", "I moved to Hangzhou last week, so pick places there from now on.", "我上周搬到杭州了，以后订杭州的。"),
    ("assistant", "Noted: you live in Hangzhou now.", "记住了：你现在住在杭州。"),
)  # fmt: skip
NOTE = {
    "en": "# Notes\n\n## People\n\n- **Lin** likes jasmine tea\n- Wei visits in spring\n\n## Ideas\n\n1. A map of all memories\n2. `SELECT` less, index more\n",
    "zh": "# 笔记\n\n## 人\n\n- **小林**喜欢茉莉花茶\n- 小伟春天来\n\n## 想法\n\n1. 所有记忆的地图\n2. 少 `SELECT`，多建索引\n",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Demo:
    """What a page needs in its address."""

    entry: str
    session: str
    note: str


def workspace_in(folder: Path, language: str = "en") -> Path:
    """A folder of notes, made before the memory is opened."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text(NOTE[language], "utf-8")
    return folder


async def fill(memory: AgentMemory, language: str = "en", scope: str = SCOPE) -> Demo:
    """Store facts, versions, a conversation, feedback and jobs."""
    zh = language == "zh"
    await memory.store_many(
        {
            "key": key,
            "content": chinese if zh else english,
            "scope": scope,
            "memory_type": "fact",
            "domain": domain,
            "occurred_at": BEGIN + timedelta(days=5 * place, hours=place % 7),
            "tags": [domain.split("_", maxsplit=1)[0]],
        }
        for place, (key, english, chinese, domain) in enumerate(FACTS)
    )
    changed = "素食，对花生和芝麻过敏" if zh else "Vegetarian, allergic to peanuts and sesame"
    entry = await memory.store("diet", changed, scope=scope)
    chat = memory.chat("dinner", scope=scope)
    await chat.put_many([{"role": role, "content": chinese if zh else english} for role, english, chinese in TALK])
    return Demo(entry.id, "dinner", "MEMORY.md")
