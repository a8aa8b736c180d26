"""Which sentences ask, or say that something is not known, and which state something; letters that are no words."""

import pytest

from jiyi.text import Analyzer, question_share
from jiyi.text.gibberish import is_gibberish
from jiyi.text.interrogatives import without_interrogatives
from jiyi.text.questions import is_question

ANALYZER = Analyzer()


@pytest.mark.parametrize(
    "text",
    [
        "I don't know where I parked the car.",
        "Sorry, I don't know your blood type.",
        "You haven't told me your blood type yet.",
        "I don't have any record of that.",
        "I don't have any information about your dentist.",
        "Not sure.",
        "I'm not sure when the exam is.",
        "Can't remember the name.",
        "I have no note of that, sorry.",
        "I can't find anything about your sister in my notes.",
        "You haven't told me yet, but I can note it down.",
        "You haven't mentioned where you parked.",
        "I couldn't find it.",
        "Dunno.",
        "抱歉，我没有相关记录。",
        "这个我不知道",
        "你没告诉过我",
        "我没查到相关信息。",
        "我不知道护照放哪儿了",
        "没找到",
        "暂时没有这方面的信息",
        "不好意思，你还没告诉我你的血型。",
        "我忘了",
    ],
)
def test_a_sentence_that_only_says_that_something_is_not_known_says_nothing(text: str) -> None:
    assert question_share(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "Not sure about the colour, but the sofa is 2.4 m wide.",
        "I don't know how to swim.",
        "我这个月没收到工资",
        "I can't tell red from green.",
        "I'm not sure I ever told you, but I was born in Lima.",
        "不知道说过没有，我是素食者",
        "我不会游泳，也不知道怎么骑车",
        "我没找到工作",
        "I don't know anyone in Oslo.",
        "I don't remember my grandfather.",
        "I can't find my keys.",
        "I don't have a car.",
        "I don't have any siblings.",
        "I don't have any allergies.",
        "I haven't seen the sea.",
        "I couldn't find a flat in Leeds.",
        "You never told me you were married.",
        "Nobody told Anna that the office moved.",
        "I can't see without glasses.",
        "I have no memory of my father.",
        "I don't know why, but I hate cilantro.",
        "We don't know the neighbours.",
        "No idea where he went, but Ben left on Monday.",
        "My son can't tell the time.",
        "He doesn't know that I'm pregnant.",
        "I can't remember faces.",
        "我不记得人脸",
        "我没有车",
        "我没收到快递",
        "他不知道我怀孕了",
        "我看不清远处",
        "我没定酒店",
        "我不知道怎么开车",
        "我不太清楚，不过护照应该在抽屉里",
        "我还没跟妈妈说我辞职了",
        "我没有过敏史",
        "小明没找到钥匙",
        "我没告诉过她我离婚了",
        "我不了解股票",
        "我记不住名字",
    ],
)
def test_what_is_denied_of_somebody_and_what_another_clause_tells_is_a_statement(text: str) -> None:
    assert question_share(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "My sister's birthday, when is it again?",
        "my sister's birthday, when is it again",
        "do you remember my locker code",
        "Do you remember my locker code?",
        "我的护照呢",
        "查查我的血型",
        "I wonder where my passport is",
        "I'd like to know what my blood type is.",
        "I need to know when my exam is",
        "I forgot where I put the keys.",
        "Let me know when dinner is.",
        "Find out when the bus leaves",
        "My passport - where is it?",
        "My passport - where is it",
        "my passport where is it",
        "护照呢",
        "护照呢？",
        "你知道我护照在哪不",
        "我血型是什么，帮我看下",
        "I was wondering what my landlord is called",
        "I've forgotten what my PIN is",
        "help me remember who fixed the boiler",
        "The spare key: where did I put it?",
        "our wifi password, what was that again?",
        "When is it again, my sister's birthday?",
        "Any idea about my shoe size",
        "where's my passport, I can't find it",
        "I'm trying to remember where we stayed in Rome",
        "show me where my bike is",
        "I want to know how old my car is",
        "did i mention my locker code",
        "帮我查一下我的护照号",
        "帮我找找护照在哪",
        "看下我什么时候体检",
        "想知道我的车停哪了",
        "我忘了密码是多少",
        "那我的钥匙呢",
        "我的充电器呢，帮我找找",
        "你还记得我的鞋码不",
        "记不记得我车停哪了",
        "我护照号是多少来着，告诉我一下",
        "我家wifi密码是啥",
        "我为啥失眠",
        "咋联系房东",
        "麻烦查一下我的航班号",
        "我上次体检是哪天，想不起来了",
        "找找我的医保卡",
        "What's my blood type, do you know?",
    ],
)
def test_a_question_in_everyday_wording_is_a_bare_question(text: str) -> None:
    assert question_share(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "My sister moved, when did she tell me?",
        "My flight leaves Monday, when should I be there?",
        "Let me know when you need the van, I have it until Friday.",
        "I forgot my umbrella at Ben's.",
        "I forgot how to swim.",
        "I wonder at the beauty of Oslo.",
        "I need to know my limits.",
        "I'm flying to Oslo, I wonder what to pack",
        "我正在吃饭呢",
        "外面下雨呢",
        "我开会呢",
        "查出我有糖尿病",
        "我看看书就睡了",
        "看看我妈",
        "我知道你不",
        "周末去看看我妈",
        "我查了血型，是A型",
        "帮我查完了作业",
        "我忘了带护照",
        "我在找工作",
        "I'm looking for a job in Oslo.",
        "Check the oven when it beeps.",
        "I see what you mean",
        "I remember my grandmother's garden.",
        "See you when I'm back",
        "Find out more at the library.",
        "I have to check my blood sugar daily.",
        "I want to remember my trip.",
        "My watch broke, it is at the repair shop.",
        "I don't drink, I'm not sure why.",
        "Our cat ran away, where could he be?",
        "你知道我对花生过敏，别放花生",
        "我不知道他为什么辞职",
        "我没提过加薪",
        "没想到他是素食者",
        "我找不到工作",
        "我姐的生日是五月三号，别忘了",
        "找一下工作",
        "我想想就开心",
    ],
)
def test_a_sentence_that_looks_like_such_a_question_states_something(text: str) -> None:
    assert question_share(text) == 0.0


@pytest.mark.parametrize("text", ["跟小李看的哪吒", "呢子外套在衣柜里", "妈妈对吗啡过敏", "茶几在客厅", "几乎天天加班"])
def test_a_character_inside_a_word_asks_nothing(text: str) -> None:
    assert question_share(text) == 0.0
    assert not is_question(text)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("跟谁看的哪吒？", ("跟", "看", "哪吒")),
        ("哪吒在哪看的", ("哪吒", "看")),
        ("谁对吗啡过敏？", ("吗啡", "过敏")),
        ("呢子外套在哪", ("呢子", "外套")),
        ("花呢西装多少钱", ("花呢", "西装", "钱")),
        ("几内亚在哪", ("几内亚",)),
        ("他咋舌了吗", ("咋舌",)),
        ("我大衣呢", ("大衣",)),
        ("宽带账号是啥", ("宽带", "账号")),
        ("咋联系房东", ("联系", "房东")),
        ("为啥要去北京", ("去", "北京")),
        ("我们家有几口人？", ("家有", "人")),
        ("去过几趟北京", ("去过", "北京")),
        ("买了几双鞋", ("买", "鞋")),
        ("打了几针疫苗", ("打", "疫苗")),
        ("第几次体检", ("体检",)),
    ],
)
def test_words_that_ask_leave_a_question_and_words_that_contain_them_stay(
    question: str, words: tuple[str, ...]
) -> None:
    analysis = ANALYZER.query(question)
    kept, pairs = without_interrogatives(question, analysis.words, analysis.bigrams)
    assert kept == words
    assert {word for word in words if len(word) == 2} <= set(pairs)


@pytest.mark.parametrize(
    "question",
    [
        *("lkjsdf98234", "x9q7z2k4", "q1w2e3r4t5", "asdf 98765", "9f8h3k2jd0"),
        *("фывапролдж", "йцукен", "ывапрол?", "锟斤拷烫烫", "锟斤拷锟斤拷", "浣犲ソ涓栫晫"),
    ],
)
def test_random_letters_are_no_words(question: str) -> None:
    assert is_gibberish(question, ANALYZER.query(question).words)


@pytest.mark.parametrize(
    "question",
    [
        *(
            "CN-A10293",
            "WH-1000XM4",
            "iphone15",
            "b12",
            "rtx4090",
            "ISO27001",
            "windows11",
            "12345",
            "order lkjsdf98234",
        ),
        *("привет", "где ключ", "пропал", "שלום", "Γειά", "联通电话", "买了什么", "烫发", "屯门", "世界你好啊"),
    ],
)
def test_identifiers_and_words_of_other_scripts_are_words(question: str) -> None:
    assert not is_gibberish(question, ANALYZER.query(question).words)
