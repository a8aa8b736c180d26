"""What changes nothing hides nothing: neither a replacement nor a conflict comes of it."""

import pytest

from jiyi.longterm.replacement import ReplacementModel
from jiyi.longterm.vetoes import forbids
from jiyi.sync import AgentMemory

OTHER_PERSONS = [
    ("I'm 185 cm tall.", "Max is 120 cm tall."),
    ("Max is 120 cm tall.", "I'm 185 cm tall."),
    ("I wear size 9 shoes.", "Clara wears size 6 shoes."),
    ("I earn 4000 a month.", "Tom earns 5000 a month."),
    ("I moved to Porto last weekend.", "My colleague Sam lives in Porto too, he loves spaces over tabs."),
    ("Anton has two siblings.", "Clara has three siblings."),
    ("我的生日是4月12日。", "乐乐的生日是2月3日。"),
    ("我晚上一般十点半睡", "乐乐晚上九点睡"),
    ("诗远乳糖不耐受。", "诗雨的芒果过敏复查了，医生说已经不过敏了，可以吃。"),
    ("我住在南京", "小李搬到苏州了"),
    ("我在华为上班。", "志强跳槽去了腾讯。"),
    # Whose it is stands at the beginning, without a name.
    ("I live in Exeter with my husband", "My in-laws have just moved to Whitby, right by the harbour"),
    ("I'm 41", "sister turns 38 on Monday, no idea what to get her"),
    ("My own scan is booked for 9 April.", "Dad's knee operation has been moved to 20 April, so we'll both be limping"),
    ("My son Otis goes to Elm Park primary.", "We moved his sister Wanda over to Highfield, she was unhappy there."),
    ("我的医保卡在建行。", "爷爷的退休金改到农行发了，他还不会取。"),
    ("妈妈跳广场舞。", "我爸把渔具送人了，如今只练书法。"),
    ("I'm coeliac.", "The clinic tested Otis: he isn't allergic to cashews after all."),
    ("I park on level 3.", "Otis parks on level 1 now."),
]
MAY_BE_THE_SAME = [
    ("My manager is Colm", "Jo is my manager now"),
    ("My wife is a lawyer", "Clara quit her job"),
    ("I pay 900 rent a month", "Rent is 950 now"),
    ("I drive a Golf", "My sister gave me her old Polo, the Golf is gone"),
    ("我们家住在杭州", "老婆调到宁波，我们全家搬过去了"),
    ("我的目标是年底存五万", "媳妇说太少了，咱家年底定八万"),
    ("I'm six months pregnant", "He's here! Hugo James, 8lb, a week early"),
    ("My daughter is 11", "My daughter turned 12 on Sunday"),
    ("I'm allergic to kiwi", "The allergy test was negative, I can eat kiwi"),
    ("I always get up at 6", "From today I get up at 7"),
    ("My dog Rex eats fish", "We call him Maxi now"),
    ("Max is 5", "Max is 6 now"),
    ("My rent is 900", "The landlord wants 950 now"),
    ("Our meeting is on Monday", "Sam moved our meeting to Friday"),
    ("Tom is 5 and likes Lego", "He turned 6"),
    ("I'm dating Mia", "Mia and I broke up"),
    ("晓晓的生日是10月19号", "记错了，晓晓生日是10月20号"),
    ("我跟小李住", "小李搬走了"),
]

NO_CHANGE = [
    ("晓晓生日是10月19号。", "明天给晓晓过生日，蛋糕订在元祖。"),
    ("Tom's birthday is on 19 October.", "We're celebrating Tom's birthday tomorrow, the cake is from Betty's."),
    ("我妈住在无锡。", "我妈明年想搬来苏州跟我们住。"),
    ("My mum lives in Leeds.", "My mum would like to move to London next year."),
    ("如果诗雨考到八级，我就给她买一架三角钢琴。", "我换工作了，从思必驰跳到了同程，做产品总监。"),
    ("我妈骨折了，现在在无锡二院住院。", "国庆原本要去黄山，现在取消了，要去无锡陪我妈。"),
    ("我一般晚上十一点半睡觉，早上六点半起。", "以后回答我都简短一点，别啰嗦。"),
    ("我的手机号是13800001111。", "以后别给我打电话，发短信就行。"),
    ("Please answer in British English.", "Keep answers under 100 words."),
    ("我们的结婚纪念日是11月20号。", "提醒我明年1月15号交个税。"),
    ("提醒我周五交房租。", "提醒我周六给妈妈打电话。"),
    ("Remind me to call mom on Saturday.", "Remind me to pay rent on Friday."),
    ("Remind me to rotate the AWS keys on August 1.", "The on-call rotation is me, Marcus, Dana, starting August 3."),
    ("I'm on the family plan.", "Please cancel my subscription for the sugar-free food."),
    ("We have 40 seats.", "We need 15 more seats."),
    ("我们有40个座位。", "还需要15个。"),
    ("We decided to upgrade to PostgreSQL 16.", "We dropped Redis, sessions are stored in Postgres now."),
    ("I speak Polish.", "My Italian is getting decent now, I can order dinner."),
    ("I volunteer at the food bank on Mondays.", "I've joined the lifeboat crew, training is on Thursdays."),
    ("I've read all of Austen.", "Just finished Middlemarch, loved it."),
    ("I go to yoga on Mondays.", "I've signed up for spin class on Wednesdays."),
    ("我住在苏州。", "我下周去北京出差，住希尔顿。"),
    ("I live in Leeds.", "I'm going to Paris for a conference next week, staying at the Hilton."),
    # An age asks for a figure, an allergy for a denial, a language for its end.
    ("My cat Biscuit is nearly nine.", "Biscuit no longer sleeps indoors, she prefers the shed."),
    ("Biscuit is a six-year-old terrier.", "Biscuit's now on a special kibble and her coat looks fantastic."),
    ("外公今年七十九。", "外公不再种地了，天天去茶馆。"),
    ("Prawns make my throat close up.", "The rash is from birch pollen, the nurse confirmed it."),
    ("I speak Welsh with my gran.", "Passed my first sign language exam last night!"),
    ("我会说闽南语。", "在大阪待过两年，日语聊天没问题。"),
    ("My daughter Tilly is five", "Little Hugo arrived on Tuesday, 7lb 2, everyone well"),
    # One day, and what was lent.
    ("I always get up at 6", "slept in till eleven today, bliss"),
    ("我一般晚上十点睡", "昨晚看球熬到三点，困死了"),
    ("We drive a Skoda Fabia", "The Fabia's in the garage until Friday, they've lent us a Polo"),
    ("Otis goes to the nursery Sunbeam.", "The nursery is closed from May 4 to 8."),
    ("I've got a Wii U", "moved the Wii into the spare room, the lounge was getting silly"),
    ("Our house has three bathrooms", "we moved the desk into the loft, so much quieter"),
    # Another thing of the same kind.
    ("We use PostgreSQL for the orders service.", "The billing service now uses MySQL."),
    ("I pay 20 pounds for the phone contract.", "The broadband contract now costs 35 pounds."),
    ("The EU cluster uses S3.", "The US cluster moved to GCS."),
    ("Plan A costs 30 euros.", "Plan B now costs 50 euros."),
    ("A方案每月50元。", "B方案涨到80元了。"),
    ("二号仓库放手机。", "三号仓库改放平板了。"),
    ("I like folk music.", "I no longer like techno."),
    ("He drinks coffee.", "He does not drink tea any more."),
    ("我喜欢爵士乐。", "我现在不喜欢摇滚了。"),
    ("I take iron in the morning.", "I now take zinc in the evening."),
    ("我周二在家办公。", "我周四不上班了。"),
]
CHANGES = [
    ("我住在苏州。", "我搬到南京了。"),
    ("My rent is 1200 euros.", "My rent went up to 1300."),
    ("房租3000。", "房租涨到3200了。"),
    ("Remind me to call mom on Saturday.", "Remind me to call mom on Sunday instead."),
    ("提醒我周五交房租。", "不用提醒我交房租了。"),
    ("Please answer in English.", "From now on answer in French."),
    ("I'm on the family plan.", "I cancelled the family plan."),
    ("My birthday party is on Friday.", "The birthday party is moved to Saturday."),
    ("We use Redis for sessions", "We dropped Redis, sessions are stored in Postgres now."),
    ("I go to yoga on Mondays.", "I've signed up for spin class instead."),
    ("I play the viola.", "I took up the oboe, the viola is sold."),
    ("We use Trello", "We dropped Jira, we use Linear now"),
    ("I'm planning to move to London next year.", "I'd like to move to Leeds next year."),
]
ONE_OF_SEVERAL = [
    ("I have two dogs, Rex and Luna.", "Rex died.", "Luna"),
    ("我养了两只猫，花花和豆豆。", "花花去世了。", "豆豆"),
]


def told(room: AgentMemory, *messages: str) -> None:
    for text in messages:
        room.longterm.extract_and_store_memories_for_round("alice", "c", text, "")


@pytest.mark.parametrize(("known", "said"), OTHER_PERSONS)
def test_what_is_said_of_one_person_leaves_that_of_another(room: AgentMemory, known: str, said: str) -> None:
    told(room, known, said)
    assert room.longterm.superseded("alice") == []
    assert room.longterm.conflicts("alice") == []


@pytest.mark.parametrize(("known", "said"), MAY_BE_THE_SAME)
def test_what_may_be_about_the_same_person_is_not_forbidden(known: str, said: str) -> None:
    assert not forbids(said, known)


def test_whose_diagnosis_it_is_stays_with_the_diagnosis(room: AgentMemory) -> None:
    told(room, "Ben isn't lactose intolerant after all, the doctor says it's a milk protein allergy.")
    (fact,) = room.list(scope="alice", memory_types=["fact"])
    assert "Ben" in fact.content
    assert "milk protein" in fact.content


@pytest.mark.parametrize(("known", "said"), NO_CHANGE)
def test_what_is_no_change_neither_replaces_nor_contradicts(room: AgentMemory, known: str, said: str) -> None:
    told(room, known, said)
    assert room.longterm.superseded("alice") == []
    assert room.longterm.conflicts("alice") == []


@pytest.mark.parametrize(("known", "said"), CHANGES)
def test_a_change_is_not_forbidden(known: str, said: str) -> None:
    assert not forbids(said, known)


@pytest.mark.parametrize(("known", "said", "left"), ONE_OF_SEVERAL)
def test_the_death_of_one_leaves_the_other(room: AgentMemory, known: str, said: str, left: str) -> None:
    told(room, known, said)
    assert any(left in fact.content for fact in room.list(scope="alice", memory_types=["fact"]))


def test_a_difference_leaves_the_figure_and_marks_it_as_doubtful(room: AgentMemory) -> None:
    told(room, "My rent is 1200 euros.", "My rent went up by 100.")
    assert room.longterm.superseded("alice") == []
    (conflict,) = room.longterm.conflicts("alice")
    assert "1200" in conflict.older.content


@pytest.mark.parametrize(
    "said", ["如果诗雨考到八级，我就给她买一架三角钢琴。", "If Tom passes the exam, I'll buy him a car."]
)
def test_a_promise_is_kept_with_its_condition(room: AgentMemory, said: str) -> None:
    told(room, said)
    assert [fact.content for fact in room.list(scope="alice", memory_types=["fact"])] == [said]


@pytest.mark.parametrize("request_", ["忘掉我住在成都。", "Please forget my phone number.", "请把我的电话忘掉"])
def test_a_request_to_forget_is_not_kept_as_a_fact(room: AgentMemory, request_: str) -> None:
    told(room, request_)
    assert room.list(scope="alice", memory_types=["fact"]) == []


def test_a_request_to_forget_takes_away_what_it_names_and_adds_nothing(room: AgentMemory) -> None:
    told(room, "我住在成都。", "我对花生过敏。", "忘掉我住在成都。")
    assert [fact.content for fact in room.list(scope="alice", memory_types=["fact"])] == ["我对花生过敏。"]


@pytest.mark.parametrize(
    "pasted",
    [
        "def f(x):\n    # I prefer tabs\n    return x*2\nTraceback: my name is foo",
        "2026-08-01 12:00:00 INFO my name is foo\n2026-08-01 12:00:01 ERROR I live in Rome",
        "ValueError: my name is foo",
    ],
)
def test_pasted_code_and_logs_state_nothing_about_the_user(room: AgentMemory, pasted: str) -> None:
    told(room, f"{pasted}\nI work at Acme.")
    assert [fact.content for fact in room.list(scope="alice", memory_types=["fact"])] == ["I work at Acme."]


def test_a_move_does_not_contradict_a_name(memory: AgentMemory) -> None:
    for number, said in enumerate(("我叫陈立。", "我们搬家了，搬到了相城区。")):
        memory.longterm.extract_and_store_memories_for_round("main", f"c{number}", said, "好的。")
    assert memory.longterm.conflicts("main") == []


def test_the_block_has_what_states_a_home_although_it_shares_no_word_with_the_question(memory: AgentMemory) -> None:
    for number, said in enumerate(("I live in Leeds and I work at Acme", "I moved to Rome")):
        memory.longterm.extract_and_store_memories_for_round("main", f"c{number}", said, "OK.")
    assert "I moved to Rome" in memory.longterm.get_memory_context_for_prompt("main", "Where do I live?")


def test_where_it_is_not_certain_which_part_of_a_fact_is_replaced_all_of_it_stays(
    room: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(room, "My brother Ned is a chef in York, plays the cello and he's seeing Amy")
    monkeypatch.setattr(ReplacementModel, "pieces", lambda _self, _message, parts: [0.0] * len(parts))
    told(room, "Ned no longer works as a chef, he switched to selling insurance")
    assert room.longterm.superseded("alice") == []
    assert any("Ned" in conflict.older.content for conflict in room.longterm.conflicts("alice"))


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("I live on Elm Street 5.", "I live on Oak Avenue 8."),
        ("My address is 12 Elm Street.", "I moved to 8 Oak Avenue."),
        ("我住在人民路12号。", "我住在建设路8号。"),
    ],
)
def test_a_street_address_takes_the_place_of_the_one_before(room: AgentMemory, known: str, said: str) -> None:
    told(room, known, said)
    assert [each.entry.content for each in room.longterm.superseded("alice")] == [known]


def test_a_misread_date_is_corrected(room: AgentMemory) -> None:
    told(room, "My flight home is on the 7th", "Actually my flight is on the 9th, I misread the email")
    assert [each.entry.content for each in room.longterm.superseded("alice")] == ["My flight home is on the 7th"]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("My neighbour Nell walks the dog when we travel", "Nell doesn't walk the dog any more, her hip is bad"),
        ("My son is in Year 4", "My son has started Year 5 and has a new teacher"),
    ],
)
def test_what_is_taken_back_or_a_year_later_replaces_what_was(room: AgentMemory, known: str, said: str) -> None:
    told(room, known, said)
    assert [each.entry.content for each in room.longterm.superseded("alice")] == [known]


def test_a_new_trade_leaves_the_town_in_which_the_old_one_was_done(room: AgentMemory) -> None:
    known = "My friend Nell is a baker in Truro and she's seeing a man called Ivo"
    told(room, known, "Nell quit the bakery, she's selling insurance now")
    assert any("Truro" in fact.content for fact in room.list(scope="alice", memory_types=["fact"]))
