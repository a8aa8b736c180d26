"""What stands beside a known fact leaves it as it is: other appointments, contacts, services, papers and people."""

import pytest

from jiyi.longterm.vetoes import forbids
from jiyi.sync import AgentMemory
from jiyi.text.statements.keeping.crowds import tells_of_crowd

APPOINTMENTS = [
    ("Meeting with Ann on Monday at 2.", "Meeting with Bea on Tuesday at 3."),
    ("I have a call with Sam at 3 on Monday.", "I have a call with Lou at 5 on Monday."),
    ("Lunch with Anna on Friday.", "Dinner with Bob on Friday."),
    ("周一三点跟小陈打电话。", "周一五点跟老林打电话。"),
    ("周五和Anna吃午饭。", "周五和Bob吃晚饭。"),
    ("周五两点和王总开会。", "周五四点和李总开会。"),
    ("Coffee with Priya on Wednesday at 10.", "Coffee with Marcus on Thursday at 11."),
    ("I'm having breakfast with Lena on Saturday.", "I'm having drinks with Lena on Saturday."),
    ("Interview with Siemens on Monday at 9.", "Interview with Bosch on Wednesday at 9."),
    ("Piano lesson on Tuesday at 5.", "Swimming lesson on Tuesday at 6."),
    ("I'm seeing my lawyer on Thursday at 4.", "I'm seeing my accountant on Friday at 4."),
    ("Zoom with the Berlin team on Monday at 8.", "Zoom with the Tokyo team on Monday at 6."),
    ("Dinner at Rosa's on Friday at 7.", "Haircut on Friday at 5."),
    ("周三和小李喝咖啡。", "周四和阿强喝咖啡。"),
    ("周六跟爸妈吃早饭。", "周六跟爸妈看电影。"),
    ("周一上午九点去腾讯面试。", "周三上午九点去字节面试。"),
    ("周二五点上钢琴课。", "周二七点上游泳课。"),
    ("明天下午三点见律师。", "明天下午五点见会计。"),
    ("周一晚上跟柏林团队视频。", "周二早上跟东京团队视频。"),
    ("周五中午约了张姐吃饭。", "周六中午约了刘哥吃饭。"),
    ("Dentist with Emma on Monday at 10.", "Vet with Rex on Monday at 4."),
    ("I'm meeting Omar for coffee on Thursday at 9.", "I'm meeting Julia for coffee on Friday at 9."),
    ("Skype with grandma every Sunday at 6.", "Skype with Leo every Saturday at 6."),
    ("Drinks with the rugby lads on Friday night.", "Drinks with work on Thursday night."),
    ("I have a phone call with the bank at 11 tomorrow.", "I have a phone call with the landlord at 3 tomorrow."),
    ("lunch with ana on tuesday", "lunch with pedro on wednesday"),
    ("Rehearsal on Monday at 7.", "Book club on Wednesday at 7."),
    ("Brunch with Sue on Sunday.", "Dinner with Sue on Sunday."),
    ("周四晚上约了阿杰打球。", "周五晚上约了小敏看电影。"),
    ("下周一跟产品组开会。", "下周三跟设计组开会。"),
    ("明天上午见房东。", "明天下午见中介。"),
    ("周六跟老同学聚餐。", "周日跟丈母娘吃饭。"),
    ("周二十点和客户通话。", "周二三点和供应商通话。"),
    ("8号去阿里面试。", "12号去美团面试。"),
]
CHANGED_APPOINTMENTS = [
    ("I have a meeting with Ann on Monday.", "My meeting with Ann is on Tuesday now."),
    ("I have a call with Sam at 3 on Monday.", "The call with Sam has been moved to Wednesday at 4."),
    ("Dentist appointment on Tuesday at 4.", "The dentist appointment is on Thursday now."),
    ("Piano lesson is on Tuesday at 5.", "Piano lesson is on Wednesday at 5 from now on."),
    ("Dinner with Bob is on Friday.", "Dinner with Bob is on Saturday instead."),
    ("Meeting with Ann on Monday at 2.", "Meeting with Bea instead of Ann on Monday at 2."),
    ("周五两点和王总开会。", "和王总的会改到周一了。"),
    ("周三和小李喝咖啡。", "和小李喝咖啡改到周四了。"),
    ("周二五点上钢琴课。", "钢琴课改到周三了。"),
    ("周五和Anna吃午饭。", "和Anna的午饭改到周六了。"),
    ("周一上午九点去腾讯面试。", "腾讯的面试改到周三了。"),
    ("明天下午三点见律师。", "见律师改到后天了。"),
    ("Lunch with Anna on Friday.", "Lunch with Anna is on Saturday instead."),
    ("My dentist appointment is on Tuesday at 4pm.", "My dentist appointment is on Thursday at 4pm now."),
    ("Meeting with the auditors on Monday at 2.", "The meeting with the auditors has been postponed to Wednesday."),
    ("Our standup is at 9:30.", "Our standup is at 10 now."),
    ("周五和王总开会。", "和王总的会推到下周了。"),
    ("周六跟老同学聚餐。", "跟老同学的聚餐改到周日了。"),
    ("牙医约在周三。", "牙医改约周四了。"),
]
CONTACTS = [
    ("My email is dana@example.com.", "My work email is dana@corp.example."),
    ("我的邮箱是zt@example.com。", "工作邮箱是zhou@corp.example。"),
    ("我手机号是13500001111。", "办公室座机是02155556666。"),
    ("My phone number is 07700 900123.", "My office number is 020 7946 0123."),
    ("My number is 555-0134.", "The landline is 555-0188."),
    ("My address is 12 Elm Road.", "My office address is 4 King Street."),
    ("My personal email is liz@example.com.", "My university email is liz@uni.example."),
    ("My mobile is 07700 900555.", "My emergency contact number is 07700 900666."),
    ("我的地址是中山路12号。", "公司地址是人民路88号。"),
    ("我的微信号是tina88。", "工作微信是tina_work。"),
    ("我电话是13911112222。", "家里座机是01066667777。"),
    ("私人邮箱是li@example.com。", "学校邮箱是li@uni.example。"),
    ("我的手机号是13700003333。", "备用手机号是13700004444。"),
    ("My phone number is 555-0100.", "My office phone is 555-0200."),
    ("my email is a@b.example", "my school email is a@uni.example"),
    ("My delivery address is 4 Oak Road.", "My office address is 9 Hill Street."),
    ("我的电话是13900000001。", "公司电话是02100000002。"),
    ("我邮箱是q@a.example。", "我的工作邮箱是q@b.example。"),
    ("家庭地址是长江路1号。", "收货地址是黄河路2号。"),
]
CHANGED_CONTACTS = [
    ("My email is dana@example.com.", "My email is dana@newmail.example now."),
    ("My work email is dana@corp.example.", "My work email is now dana@other.example."),
    ("My phone number is 07700 900123.", "My phone number is 07700 900456."),
    ("My office number is 020 7946 0123.", "The office number changed to 020 7946 0999."),
    ("My address is 12 Elm Road.", "My new address is 7 Oak Lane."),
    ("我的邮箱是zt@example.com。", "我的邮箱换成zt@new.example了。"),
    ("工作邮箱是zhou@corp.example。", "工作邮箱现在是zhou@other.example。"),
    ("我手机号是13500001111。", "我的手机号换成13600002222了。"),
    ("办公室座机是02155556666。", "办公室座机换成02177778888了。"),
    ("我的地址是中山路12号。", "我的新地址是解放路5号。"),
    ("My work number is 555-0200.", "My work number is 555-0300 now."),
    ("公司地址是人民路88号。", "公司地址改成解放路9号了。"),
    ("My mobile number is 07700 900111.", "I have a new mobile number: 07700 900222."),
    ("My school email is a@uni.example.", "My school email changed to b@uni.example."),
]
SERVICES_AND_PAPERS = [
    ("Our paediatrician is Dr. Nowak.", "Our dentist is Dr. Lewandowska."),
    ("Our plumber is Mr. Osowski.", "Our electrician is Mr. Bell."),
    ("Our vet is Dr. Ruiz.", "Our doctor is Dr. Stone."),
    ("水管工是欧师傅。", "电工是白师傅。"),
    ("护照2028年到期。", "驾照2030年到期。"),
    ("My passport expires in 2027.", "My driving licence expires in 2030."),
    ("My gardener is Luis.", "My cleaner is Marta."),
    ("Our babysitter is Chloe.", "Our dog walker is Jonas."),
    ("Our notary is Mrs. Weber.", "Our estate agent is Mr. Klein."),
    ("My mechanic is Pete.", "My barber is Sal."),
    ("My dermatologist is Dr. Chen.", "My gynaecologist is Dr. Okoro."),
    ("My visa expires in June.", "My work permit expires in October."),
    ("The MOT is due in March.", "The road tax is due in August."),
    ("My gas provider is Octopus.", "My internet provider is BT."),
    ("My ID card runs out in 2026.", "My health card runs out in 2029."),
    ("园丁是老周。", "保洁是王阿姨。"),
    ("我的皮肤科医生是陈医生。", "我的妇科医生是吴医生。"),
    ("签证六月到期。", "工作证十月到期。"),
    ("身份证2026年到期。", "社保卡2029年到期。"),
    ("宽带是电信的。", "手机卡是移动的。"),
    ("我家保姆是张姨。", "我家司机是小赵。"),
    ("车险三月到期。", "房贷八月到期。"),
    ("My optician is Mr. Fell.", "My hairdresser is Mrs. Grant."),
    ("Our solicitor is Ms. Achebe.", "Our accountant is Mr. Boyle."),
    ("My physio is Mr. Tan.", "My GP is Dr. Shah."),
    ("保洁是刘阿姨。", "月嫂是陈姐。"),
    ("我的理发师是Tony。", "我的健身教练是Leo。"),
    ("家里的司机是老李。", "家里的园丁是老孙。"),
    ("港澳通行证9月到期。", "护照11月到期。"),
]
CHANGED_SERVICES_AND_PAPERS = [
    ("Our dentist is Dr. Nowak.", "Our dentist is Dr. Lewandowska now."),
    ("Our plumber is Mr. Osowski.", "Our new plumber is Mr. Bell."),
    ("My passport expires in 2027.", "I renewed my passport, it expires in 2037."),
    ("My doctor is Dr. Stone.", "We switched doctors, my doctor is Dr. Ruiz now."),
    ("My gardener is Luis.", "Our gardener is Tom now, Luis retired."),
    ("My internet provider is BT.", "We changed our internet provider to Sky."),
    ("牙医是贺医生。", "现在牙医是谭医生。"),
    ("水管工是欧师傅。", "我们换了水管工，现在是白师傅。"),
    ("护照2028年到期。", "护照续了，2038年到期。"),
    ("我家保姆是张姨。", "保姆换成李姨了。"),
    ("宽带是电信的。", "宽带换成联通的了。"),
    ("My GP is Dr. Stone.", "My doctor is Dr. Ruiz now."),
    ("My physio is Mr. Tan.", "My physio is Ms. Lee now."),
    ("月嫂是陈姐。", "月嫂换成王姐了。"),
    ("护照11月到期。", "护照换新的了，2035年到期。"),
]
OTHERS = [
    ("My manager is Olivia.", "Grace is the manager of the team next door."),
    ("I'm a vegetarian.", "Everyone at the party was eating steak and loving it."),
    ("I don't drink alcohol.", "At the wedding everyone was drinking champagne."),
    ("My friend Tom is great.", "Tom moved to Bath."),
    ("我有两个妹妹，小雪和小雨。", "小雪搬到大连去了。"),
    ("我开车上班。", "昨天车送修了，坐的公交。"),
    ("My landlord is Mr. Kerr.", "Ms. Diaz is the landlord of the house opposite."),
    ("My teacher is Ms. Hale.", "Rob is the teacher of the other class."),
    ("I'm vegan.", "Half the office was having burgers yesterday."),
    ("I don't smoke.", "People outside the bar were all smoking."),
    ("My colleague Nadia is lovely.", "Nadia bought a flat in Porto."),
    ("My cousin Petra is a painter.", "Petra broke her leg."),
    ("I cycle to work.", "On Monday the bike had a flat, so I took the tram."),
    ("I live in Cork.", "Lots of people are moving to Dublin."),
    ("I go to bed at ten.", "Last night I stayed up till two because of the neighbours."),
    ("我们经理是赵敏。", "孙浩是隔壁部门的经理。"),
    ("我不喝酒。", "婚礼上大家都在喝白酒。"),
    ("我吃素。", "旁边桌的人都在吃烤鸭。"),
    ("我有两个弟弟，大宝和二宝。", "大宝去了新疆当兵。"),
    ("我同事老周人很好。", "老周买房了。"),
    ("我骑车上班。", "周一车胎爆了，打的车。"),
    ("我住在长沙。", "好多人都搬到深圳去了。"),
    ("Our manager is Priya.", "Tom is the manager of another branch."),
    ("I don't eat meat.", "At the barbecue everybody was eating sausages."),
    ("I go to bed early.", "The guests were dancing until three."),
    ("My neighbour Olga is very kind.", "Olga bought a new car."),
    ("I have two brothers, Sam and Max.", "Sam started university."),
    ("我们组长是王磊。", "隔壁组的组长是赵敏。"),
    ("我不抽烟。", "饭局上所有人都在抽烟。"),
    ("我有两个女儿，诗涵和雨涵。", "诗涵考上复旦了。"),
    ("I take the bus to work.", "Yesterday I walked because the buses were on strike."),
    ("我坐地铁上班。", "今天地铁停运，打车去的。"),
]
CHANGED_OTHERS = [
    ("My manager is Olivia.", "Grace is my manager now."),
    ("I'm a vegetarian.", "I'm not a vegetarian anymore, I eat meat again."),
    ("I cycle to work.", "I take the tram to work now."),
    ("I don't drink alcohol.", "I've started drinking again."),
    ("My landlord is Mr. Kerr.", "Ms. Diaz is our new landlord."),
    ("我们经理是赵敏。", "孙浩现在是我们经理。"),
    ("我骑车上班。", "我现在坐地铁上班了。"),
    ("我有个妹妹叫小雪，住在沈阳。", "小雪搬到大连去了。"),
    ("我吃素。", "我不吃素了，又开始吃肉了。"),
    ("Our manager is Priya.", "Our manager is Tom now."),
    ("My brother Sam lives in York.", "Sam moved to Bath."),
    ("I take the bus to work.", "I cycle to work these days."),
    ("我们组长是王磊。", "我们组长换成赵敏了。"),
]
CROWDS = [
    "Everyone at the party was eating steak and loving it.",
    "At the wedding everyone was drinking champagne.",
    "Half the office was having burgers yesterday.",
    "People outside the bar were all smoking.",
    "Lots of people are moving to Dublin.",
    "The guests were dancing until three.",
    "婚礼上大家都在喝白酒。",
    "旁边桌的人都在吃烤鸭。",
    "好多人都搬到深圳去了。",
    "饭局上所有人都在抽烟。",
    "昨天聚餐大家都在吃羊排，吃得可香了。",
]
WITH_THE_SPEAKER = [
    "Everyone at work calls me Kat.",
    "Everyone in my family has asthma.",
    "Our neighbours were all moving out, so we did too.",
    "我们家人都不吃辣。",
    "大家都叫我小琪。",
    "The kids are vegetarian.",
]


def tell(room: AgentMemory, *messages: str) -> list[str]:
    for message in messages:
        room.longterm.extract_and_store_memories_for_round("alice", "c", message, "OK.")
    return [found.entry.content for found in room.longterm.superseded("alice")]


@pytest.mark.parametrize(("known", "said"), APPOINTMENTS + CONTACTS + SERVICES_AND_PAPERS + OTHERS)
def test_what_stands_beside_a_fact_leaves_it_as_it_is(room: AgentMemory, known: str, said: str) -> None:
    assert tell(room, known, said) == []
    assert not room.longterm.conflicts("alice")


@pytest.mark.parametrize(
    ("known", "said"), CHANGED_APPOINTMENTS + CHANGED_CONTACTS + CHANGED_SERVICES_AND_PAPERS + CHANGED_OTHERS
)
def test_what_has_changed_of_the_same_thing_replaces_it(room: AgentMemory, known: str, said: str) -> None:
    assert not forbids(said, known)
    assert known in tell(room, known, said)


@pytest.mark.parametrize("text", CROWDS)
def test_what_people_around_the_user_do_is_no_fact_of_the_user(room: AgentMemory, text: str) -> None:
    tell(room, text)
    assert room.count(scope="alice", category="core") == 0


@pytest.mark.parametrize("text", WITH_THE_SPEAKER)
def test_a_group_to_which_the_user_belongs_is_no_crowd(text: str) -> None:
    assert not tells_of_crowd(text)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Mum's birthday is 12 November and dad's is 3 March.", "Whoops, dad's birthday is 13 March, not 3 March."),
        ("My brother lives in Hull.", "Oops, my brother lives in Leeds, not Hull."),
        ("我妈生日是3月3号。", "哎呀，我妈生日是3月13号，不是3号。"),
        ("我哥住在长沙。", "哦对了，我哥住在株洲，不是长沙。"),
    ],
)
def test_a_word_before_a_correction_does_not_hide_whom_it_is_about(room: AgentMemory, known: str, said: str) -> None:
    assert tell(room, known, said)
