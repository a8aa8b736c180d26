# ruff: noqa: E501 - each fact stands on one line, in both languages
"""A memory with something in every room, for the tests in a browser and for the screenshots of the documents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from jiyi import AgentMemory
from jiyi.model import clock
from jiyi.model.job import JobDraft

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


TOPICS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "en": (
        (
            "For dinner there was {} at home",
            (
                "mushroom soup",
                "fried rice",
                "tofu with beans",
                "tomato noodles",
                "pumpkin curry",
                "dumplings with leek",
                "a salad of lentils",
                "spinach pancakes",
                "rice with eggplant",
                "a bowl of ramen",
                "vegetable pie",
                "roasted potatoes",
            ),
        ),
        (
            "Ran along the river for {}",
            (
                "four kilometres",
                "an hour",
                "six kilometres in the rain",
                "the first time in weeks",
                "ten kilometres",
                "half an hour before work",
                "five kilometres with Lin",
                "eight kilometres",
                "a slow three kilometres",
                "seven kilometres in the heat",
            ),
        ),
        (
            "The PostgreSQL migration: {}",
            (
                "the users table is done",
                "an index on orders is missing",
                "the backup takes two hours",
                "foreign keys are checked",
                "the replica lags by a minute",
                "dates had the wrong zone",
                "the billing schema is next",
                "vacuum runs at night",
                "the last MySQL query is gone",
                "rollback was tried",
            ),
        ),
        (
            "Read in the evening: {}",
            (
                "a chapter of The Dark Forest",
                "a story by Ken Liu",
                "The Left Hand of Darkness",
                "half of Solaris",
                "essays about translation",
                "a history of Hangzhou",
                "Death's End",
                "a novel about bridges",
                "poems of Li Bai",
                "The Dispossessed",
            ),
        ),
        (
            "The band played {}",
            (
                "a new song",
                "at the school fair",
                "without a drummer",
                "three covers",
                "the old set",
                "in the garage",
                "until midnight",
                "for Wei's birthday",
                "with a violin",
                "too loud for the neighbours",
            ),
        ),
        (
            "Mochi the cat {}",
            (
                "slept on the keyboard",
                "caught a moth",
                "was at the vet",
                "hid in a box",
                "does not like the new food",
                "knocked over the tea",
                "sat at the window all day",
                "got a red collar",
                "scratched the sofa",
                "weighs four kilos",
            ),
        ),
    ),
    "zh": (
        (
            "晚饭在家吃了{}",
            (
                "蘑菇汤",
                "炒饭",
                "豆腐烧豆角",
                "番茄面",
                "南瓜咖喱",
                "韭菜饺子",
                "扁豆沙拉",
                "菠菜饼",
                "茄子饭",
                "拉面",
                "蔬菜派",
                "烤土豆",
            ),
        ),
        (
            "沿河跑步，{}",
            (
                "四公里",
                "一小时",
                "雨中六公里",
                "几周来第一次",
                "十公里",
                "上班前半小时",
                "和小林跑了五公里",
                "八公里",
                "慢跑三公里",
                "大热天七公里",
            ),
        ),
        (
            "PostgreSQL 迁移：{}",
            (
                "用户表已完成",
                "订单表缺一个索引",
                "备份要两小时",
                "外键已检查",
                "副本落后一分钟",
                "日期的时区不对",
                "接下来是账单库",
                "夜里清理",
                "最后一条 MySQL 查询没了",
                "试过回滚",
            ),
        ),
        (
            "晚上读书：{}",
            (
                "《黑暗森林》一章",
                "刘宇昆的小说",
                "《黑暗的左手》",
                "半本《索拉里斯星》",
                "谈翻译的文章",
                "杭州史",
                "《死神永生》",
                "一本写桥的小说",
                "李白的诗",
                "《一无所有》",
            ),
        ),
        (
            "乐队演奏了{}",
            (
                "一首新歌",
                "学校的活动曲目",
                "没有鼓手的一场",
                "三首翻唱",
                "老曲目",
                "车库里的一场",
                "直到半夜的一场",
                "小伟生日的一场",
                "加了小提琴的一场",
                "太吵的一场",
            ),
        ),
        (
            "猫咪麻糬{}",
            (
                "睡在键盘上",
                "抓到一只飞蛾",
                "去看了兽医",
                "躲在箱子里",
                "不喜欢新猫粮",
                "打翻了茶",
                "整天坐在窗边",
                "有了红项圈",
                "抓了沙发",
                "四公斤重",
            ),
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Demo:
    """What a page needs in its address."""

    entry: str
    session: str
    note: str
    day: str
    """Today's note, with lines by an agent and by hand."""


def workspace_in(folder: Path, language: str = "en") -> Path:
    """A folder of notes, made before the memory is opened."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text(NOTE[language], "utf-8")
    return folder


def more_memories(language: str, scope: str = SCOPE) -> list[dict[str, object]]:
    """Memories about a few things, for a map and a timeline with something on them."""
    found: list[dict[str, object]] = []
    for topic, (sentence, ends) in enumerate(TOPICS[language]):
        for place, end in enumerate(ends):
            moment = BEGIN + timedelta(days=(7 * place * (topic + 2)) % 96, hours=topic)
            text = sentence.format(end)
            found.append({"key": text, "content": text, "scope": scope, "occurred_at": moment})
    return found


async def fill(memory: AgentMemory, workspace: Path, language: str = "en", scope: str = SCOPE) -> Demo:
    """Store facts, versions, a conversation, feedback and jobs."""
    zh = language == "zh"
    await memory.store_many(
        {
            "key": key,
            "content": chinese if zh else english,
            "scope": scope,
            "memory_type": "fact",
            "domain": domain,
            "occurred_at": BEGIN + timedelta(days=place * place // 3 + place, hours=place % 7),
            "tags": [domain.split("_", maxsplit=1)[0]],
        }
        for place, (key, english, chinese, domain) in enumerate(FACTS)
    )
    changed = "素食，对花生和芝麻过敏" if zh else "Vegetarian, allergic to peanuts and sesame"
    entry = await memory.store("diet", changed, scope=scope)
    chat = memory.chat("dinner", scope=scope)
    await chat.put_many([{"role": role, "content": chinese if zh else english} for role, english, chinese in TALK])
    told = (
        ("我决定新服务用 Rust 来写。", "请记住我对花生过敏。")
        if zh
        else ("I decided to write the new service in Rust.", "Remember that I am allergic to peanuts.")
    )
    said = f"chat:dinner#{(await chat.messages())[2].position}"
    written, *_ = [await memory.notes.memory_append(text, source=said) for text in told]
    day = workspace / written.path
    day.write_text(day.read_text("utf-8") + ("\n手写的一行\n" if zh else "\nA line by hand\n"), "utf-8")
    proposal = await memory.notes.curate()
    await memory.notes.accept(proposal, items=[proposal.items[0].number])
    jobs = memory._components.longterm.jobs
    jobs.add(JobDraft("learn", scope, {"conversation_id": "dinner"}))
    jobs.add(JobDraft("reflect", scope, {}))
    now = clock.utc_now()
    job = jobs.claim("demo", now=now, lease_until=now + timedelta(minutes=1), scopes=(scope,))
    assert job is not None
    jobs.dead_letter(
        job, now=now, reason="ModelError: the model did not answer within 60 seconds (http://127.0.0.1:8080/v1)"
    )
    return Demo(entry.id, "dinner", "MEMORY.md", written.path)
