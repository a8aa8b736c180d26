"""Made-up memories and questions in English and Chinese: the same ones for the same seed.

A few words are frequent and many are rare, as in real text: each slot of a template is filled by rank with Zipf's law,
and names, places of work and order numbers give the long tail.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate


def _words(*lines: str) -> list[str]:
    return " ".join(lines).split()


def _phrases(*lines: str) -> list[str]:
    return "|".join(lines).split("|")


_EN_NAMES = _words(
    "Anna Ben Carla David Elena Felix Grace Hassan Irene Jonas Kira Liam Maya Noah Olga Peter Quinn Rosa",
    "Simon Tessa Umar Vera Walter Xenia Yusuf Zoe Amir Bianca Cedric Dora Emil Fatima Gideon Helga Ivan",
    "Judith Karim Leonie Marco Nadia Oscar Paula Ravi Sofia Tobias Ursula Victor Wanda Yara Zachary",
)
_EN_NOUNS = _words(
    "meeting project report budget invoice schedule garden kitchen bicycle passport doctor appointment",
    "laptop server contract holiday train ticket dinner recipe coffee guitar violin novel painting museum",
    "concert marathon treadmill sourdough allergy medicine insurance mortgage landlord apartment",
    "neighbour birthday wedding anniversary present puppy kitten aquarium telescope camera tripod",
    "backpack tent campsite glacier lighthouse harbour ferry airport suitcase visa embassy scholarship",
    "thesis professor lecture seminar exam classroom library bookshop newspaper podcast microphone",
    "headphones keyboard monitor printer router password backup database migration deployment release",
    "roadmap customer supplier warehouse shipment pallet forklift spreadsheet forecast audit tax pension",
    "salary promotion interview candidate onboarding workshop prototype sensor battery charger windmill",
    "greenhouse tomato basil pumpkin orchard beehive honey cheese vineyard bakery butcher market fountain",
    "bridge tunnel tram subway dentist crown vaccine physiotherapy knee shoulder migraine insomnia",
    "meditation yoga swimming sauna chess puzzle crossword ukulele choir rehearsal theatre costume",
    "sculpture pottery kiln knitting scarf",
)
_EN_ADJECTIVES = _words(
    "new old small large quiet noisy cheap expensive early late red blue green yellow wooden broken",
    "favourite second annual weekly monthly final first urgent secret shared vegetarian spicy sweet",
    "bitter gluten-free waterproof wireless second-hand handmade electric solar open-source encrypted",
    "bilingual temporary",
)
_EN_PLACES = _words(
    "Lisbon Oslo Kyoto Hamburg Toronto Nairobi Lima Dublin Prague Seoul Bergen Porto Geneva Austin Denver",
    "Glasgow Krakow Valencia Montreal Adelaide Wellington Bologna Utrecht Tampere Salzburg Malaga Ghent",
    "Aarhus Leeds Quito",
)
_EN_VERBS = _words(
    "booked cancelled finished repaired bought sold lost found promised forgot planned moved painted",
    "cooked tested reviewed signed delivered returned recommended borrowed cleaned recorded translated",
    "postponed",
)
_EN_TIMES = _phrases(
    "on Monday|on Tuesday evening|last week|in March|in the summer|two days ago|before lunch|after work",
    "next month|at the weekend|in 2021|in the morning|on the first of May|every Thursday",
    "during the holidays",
)
_EN_MEMORIES = (
    "{name} {verb} the {adjective} {noun} {time}.",
    "{name} told me that the {noun} in {place} is too {adjective}.",
    "The {adjective} {noun} belongs to {name}, who lives in {place}.",
    "I prefer a {adjective} {noun} to a {adjective2} {noun2}.",
    "{name} works at {firm} in {place} and looks after the {noun}.",
    "We {verb} the {noun} for {firm}; the order number is {code}.",
    "{name} and {name2} will bring the {noun} and the {noun2} to {place} {time}.",
    "The password hint for the {noun} is the name of {name}'s {noun2}.",
    "{firm} wants the {adjective} {noun} delivered to {place} {time}, reference {code}.",
    "Since the {noun} broke, {name} takes the {noun2} to work.",
    "{name} is allergic to {noun} but loves the {adjective} {noun2} from {place}.",
    "Remember to ask {name} about the {noun} and the ticket {code} {time}.",
    "The team at {firm} {verb} the {adjective} {noun} after {name} had found a problem with the {noun2}.",
    "My {noun} costs {number} euros a month, which {name} thinks is {adjective}.",
    "{name}'s sister moved to {place} {time} and opened a small {noun} shop called {firm}.",
)
_EN_QUESTIONS = (
    "What did {name} do with the {noun}?",
    "Who lives in {place} and owns a {adjective} {noun}?",
    "Which {noun} did {firm} order?",
    "Where does {name} work?",
    "What is {name} allergic to?",
    "When will {name} and {name2} go to {place}?",
    "How much does the {adjective} {noun} cost?",
    "Tell me about the {noun} and the {noun2} in {place}.",
)

_ZH_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏"
)
_ZH_GIVEN = (
    "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉兰红建国志文辉梅鑫雪琳晨宇浩然子轩梓涵欣怡佳慧思雨嘉琪若曦"
)
_ZH_NOUNS = _words(
    "会议 项目 报告 预算 发票 日程 花园 厨房 自行车 护照 医生 预约 笔记本电脑 服务器 合同 假期 火车票",
    "晚饭 菜谱 咖啡 吉他 小提琴 小说 油画 博物馆 音乐会 马拉松 跑步机 面包 过敏 药 保险 房贷 房东 公寓",
    "邻居 生日 婚礼 纪念日 礼物 小狗 小猫 鱼缸 望远镜 相机 三脚架 背包 帐篷 营地 冰川 灯塔 港口 轮渡 机场",
    "行李箱 签证 大使馆 奖学金 论文 教授 讲座 研讨会 考试 教室 图书馆 书店 报纸 播客 麦克风 耳机 键盘",
    "显示器 打印机 路由器 密码 备份 数据库 迁移 部署 发布 路线图 客户 供应商 仓库 货物 叉车 表格 预测",
    "审计 税 养老金 工资 升职 面试 候选人 培训 样机 传感器 电池 充电器 风车 温室 番茄 罗勒 南瓜 果园 蜂箱",
    "蜂蜜 奶酪 葡萄园 面包店 市场 喷泉 大桥 隧道 电车 地铁 牙医 疫苗 理疗 膝盖 肩膀 偏头痛 失眠 冥想 瑜伽",
    "游泳 桑拿 象棋 拼图 合唱团 排练 剧院 戏服 雕塑 陶艺 毛衣 围巾 火锅 饺子",
)
_ZH_ADJECTIVES = _words(
    "新的 旧的 小的 很大的 安静的 吵闹的 便宜的 昂贵的 红色的 蓝色的 绿色的 木头的 坏掉的 最喜欢的 第二个",
    "每年的 每周的 最后的 紧急的 秘密的 共用的 素食的 很辣的 很甜的 防水的 无线的 二手的 手工的 电动的",
    "太阳能的 开源的 加密的 双语的 临时的",
)
_ZH_PLACES = _words(
    "北京 上海 杭州 成都 西安 南京 武汉 广州 深圳 苏州 青岛 厦门 大连 昆明 桂林 拉萨 哈尔滨 长沙 重庆",
    "天津 宁波 无锡 济南 福州 合肥 洛阳 敦煌 大理 丽江 台北",
)
_ZH_VERBS = _words(
    "预订了 取消了 完成了 修好了 买了 卖掉了 弄丢了 找到了 答应了 忘记了 计划了 搬走了 画了 测试了 审核了",
    "签了 交付了 退回了 推荐了 借走了 打扫了 录制了 翻译了 推迟了",
)
_ZH_TIMES = _words(
    "周一 周二晚上 上周 三月 夏天 两天前 午饭前 下班后 下个月 周末 2021年 早上 五月一日 每周四 春节期间",
)
_ZH_MEMORIES = (
    "{name}{time}{verb}{adjective}{noun}。",
    "{name}告诉我，{place}的{noun}太贵了。",
    "{adjective}{noun}是{name}的，他住在{place}。",
    "比起{adjective}{noun}，我更喜欢{adjective2}{noun2}。",
    "{name}在{place}的{firm}公司工作，负责{noun}。",
    "我们给{firm}公司{verb}{noun}，订单号是{code}。",
    "{name}和{name2}{time}会把{noun}和{noun2}带到{place}。",
    "{noun}的密码提示是{name}家{noun2}的名字。",
    "{firm}公司要求{time}把{adjective}{noun}送到{place}，编号{code}。",
    "自从{noun}坏了以后，{name}每天带着{noun2}上班。",
    "{name}对{noun}过敏，但是很喜欢{place}的{adjective}{noun2}。",
    "记得{time}问一下{name}关于{noun}和工单{code}的事情。",
    "{firm}的团队{verb}{adjective}{noun}，因为{name}发现{noun2}有问题。",
    "我的{noun}每个月要花{number}块钱，{name}觉得不划算。",
    "{name}的妹妹{time}搬到了{place}，开了一家叫{firm}的{noun}店。",
)
_ZH_QUESTIONS = (
    "{name}的{noun}怎么样了？",
    "谁住在{place}，还有一个{adjective}{noun}？",
    "{firm}公司订了哪个{noun}？",
    "{name}在哪里工作？",
    "{name}对什么过敏？",
    "{name}和{name2}什么时候去{place}？",
    "{adjective}{noun}要花多少钱？",
    "说说{place}的{noun}和{noun2}。",
)

_SYLLABLES_EN = _words(
    "ve lo ra ni ka mo tu sa zen dor pli ga hu bel mir ton",
)
_SYLLABLES_ZH = "宏远华泰金诺安信博瑞天盛达康利源恒丰创维科鼎"
_RARE = 20_000


class _Zipf:
    """Draws words of a list by Zipf's law: the first ones most often."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))

    def draw(self, chance: random.Random) -> str:
        return chance.choices(self._words, cum_weights=self._weights)[0]


def _coined(parts: Sequence[str], count: int) -> list[str]:
    """Invented names that are in no dictionary, all different."""
    names = []
    for number in range(count):
        rest, name = number + len(parts), ""
        while rest:
            rest, place = divmod(rest, len(parts))
            name += parts[place]
        names.append(name)
    return names


class Texts:
    """Generates memories and questions."""

    def __init__(self, seed: int = 7) -> None:
        self._chance = random.Random(seed)
        people = [
            surname + first + second
            for first in _ZH_GIVEN
            for second in ("", *_ZH_GIVEN[:20])
            for surname in _ZH_SURNAMES
        ]
        random.Random(1).shuffle(people)
        self._words = {
            "en": {
                "name": _Zipf(_EN_NAMES),
                "noun": _Zipf(_EN_NOUNS),
                "adjective": _Zipf(_EN_ADJECTIVES),
                "place": _Zipf(_EN_PLACES),
                "verb": _Zipf(_EN_VERBS),
                "time": _Zipf(_EN_TIMES),
                "firm": _Zipf([name.capitalize() for name in _coined(_SYLLABLES_EN, _RARE)]),
            },
            "zh": {
                "name": _Zipf(people),
                "noun": _Zipf(_ZH_NOUNS),
                "adjective": _Zipf(_ZH_ADJECTIVES),
                "place": _Zipf(_ZH_PLACES),
                "verb": _Zipf(_ZH_VERBS),
                "time": _Zipf(_ZH_TIMES),
                "firm": _Zipf(_coined(_SYLLABLES_ZH, _RARE)),
            },
        }

    def memory(self, language: str) -> str:
        """One memory of one to three sentences."""
        templates = _EN_MEMORIES if language == "en" else _ZH_MEMORIES
        count = self._chance.choices((1, 2, 3), (6, 3, 1))[0]
        between = " " if language == "en" else ""
        return between.join(self._filled(self._chance.choice(templates), language) for _ in range(count))

    def memories(self, count: int) -> Iterator[str]:
        """`count` memories, English and Chinese in turn."""
        return (self.memory("zh" if number % 2 else "en") for number in range(count))

    def questions(self, count: int, language: str) -> list[str]:
        """`count` different questions about such memories."""
        templates = _EN_QUESTIONS if language == "en" else _ZH_QUESTIONS
        found: dict[str, None] = {}
        while len(found) < count:
            found[self._filled(self._chance.choice(templates), language)] = None
        return list(found)

    def _filled(self, template: str, language: str) -> str:
        words, chance = self._words[language], self._chance
        return template.format_map(_Slots(words, chance))


class _Slots(dict[str, str]):
    """Draws the value of each slot of a template on access."""

    def __init__(self, words: dict[str, _Zipf], chance: random.Random) -> None:
        super().__init__()
        self._words = words
        self._chance = chance

    def __missing__(self, slot: str) -> str:
        if slot == "code":
            first, second = self._chance.choice("ABCDEFGH"), self._chance.choice("KLMNPQRS")
            return f"{first}{second}-{self._chance.randrange(100_000):05}"
        if slot == "number":
            return str(self._chance.randrange(5, 2_000))
        return self._words[slot.removesuffix("2")].draw(self._chance)
