"""A small set of memories and questions in two languages, made up for the guard in test_guard.py.

Two people's lives: facts that have no time, records of things that happened, and conversations. Every question names
the memories that answer it. `keyword` questions use the words of the answer; `paraphrase` questions say it differently,
ask for a day, or are answered by the turn after the one that sounds like them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2025, 6, 18, 21, 30, tzinfo=ZONE)  # a Wednesday


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the keys of the memories that answer it."""

    text: str
    gold: frozenset[str]
    language: str
    kind: str


_ENGLISH_FACTS = """
e01 My sister Imogen is allergic to shellfish and carries an injector in her handbag.
e02 The spare key to the allotment shed hangs behind the water meter.
e03 I take my coffee with oat milk and no sugar.
e04 Our landlord, Mr Okafor, wants the rent by bank transfer on the 28th.
e05 The wifi at the studio is called heron-5g and the password is on the fridge.
e06 Dad had a hip replacement and walks with a stick now.
e07 I never fly with the budget carrier from Luton since they lost my cello.
e08 Priya is the only one on the team who can sign off invoices above five thousand pounds.
e09 My running shoes are a wide fit, size 44.
e10 The boiler has to be topped up when the needle falls below one bar.
e11 Tomas proposed to Greta on top of the lighthouse.
e12 I passed the grade six cello exam with merit.
e13 Our cat Biscuit only eats the turkey pouches.
e14 The project is called Lantern and its budget code is LX-4471.
e15 I am learning Portuguese because my grandmother came from Porto.
e16 Back pain starts whenever I sit for longer than two hours.
e17 The bakery on Mill Lane keeps a rye loaf for us on Fridays.
e18 Mum's birthday is the second of November and she loves peonies.
e19 I voted for moving the stand-up to ten because of the school run.
e20 The dentist said the crown on the left molar will last another five years.
e21 Biscuit's vet is Doctor Lindqvist in Harbour Street.
e22 My passport runs out next spring and the form needs two photos.
e23 The car is insured with Albion Mutual, policy AM-20931-K.
e24 I get migraines from red wine, white is fine.
e25 Greta plays goalkeeper for the works team.
e26 We keep the tent, the stove and the sleeping bags in the loft above the garage.
e27 The old laptop's screen flickers when the lid is half closed.
e28 My favourite film is a black and white one about a lighthouse keeper's daughter.
e29 Uncle Fergus left me his stamp collection.
e30 I'd rather get a phone call than a long email.
e31 The neighbours upstairs have a newborn, so no drilling before nine.
e32 For headaches I take ibuprofen because paracetamol does nothing.
e33 I owe Callum forty pounds for the concert tickets.
e34 The staging server restarts itself every Sunday at four in the morning.
e35 My blood type is O negative.
e36 The choir rehearses in the chapel by the canal.
e37 I am afraid of heights, ladders included.
e38 The deposit for the wedding venue is not refundable.
e39 Our bins go out on Tuesday evening, recycling every other week.
e40 I want to retire to a small island and keep goats.
"""

_ENGLISH_RECORDS = """
e41 2025-06-17T08:10 Ran eight kilometres along the canal before work, knee felt fine.
e42 2025-06-17T19:30 Cooked mushroom risotto for Callum and Priya.
e43 2025-06-14T11:00 Bought a second-hand kayak from a man in Portishead for 220 pounds.
e44 2025-06-10T14:00 Presented the Lantern prototype to the board; they asked for a cheaper casing.
e45 2025-06-12T09:40 Dentist appointment, one filling, no anaesthetic.
e46 2025-06-03T18:20 Picked up the repaired bicycle, new chain and brake pads.
e47 2025-05-24T15:00 Imogen's graduation, lunch at the Italian place afterwards.
e48 2025-05-11T10:00 Planted tomatoes and runner beans at the allotment.
e49 2025-05-02T21:15 Choir concert in the chapel, about ninety people came.
e50 2025-04-20T13:00 Easter lunch at Mum's with lamb and far too much cake.
e51 2025-04-08T16:45 Signed the lease for the new studio, two years, break clause after one.
e52 2025-03-29T07:30 Drove to the coast with Tomas, saw dolphins off the headland.
e53 2025-03-14T12:10 Paid the car insurance, 412 pounds for the year.
e54 2025-02-22T20:00 Watched the rugby at the Anchor with Callum, we lost.
e55 2025-02-14T19:00 Dinner at the Lebanese restaurant with Sam, shared the meze.
e56 2025-01-31T17:30 Handed in the tax return with two hours to spare.
e57 2025-01-12T14:00 Took Biscuit to the vet, she has to lose half a kilo.
e58 2025-01-01T00:20 Fireworks from the bridge, then home because of the rain.
e59 2024-12-25T13:30 Christmas dinner at Dad's; the oven broke and we ate sandwiches.
e60 2024-12-18T18:00 Office party on the boat, Priya won the quiz.
e61 2024-12-03T08:30 Snow, the trains were cancelled and I worked from home.
e62 2024-11-16T10:30 Repaired the shed roof with felt and new nails.
e63 2024-11-02T16:00 Mum's seventieth: peonies, a string quartet and a speech.
e64 2024-10-31T19:00 Carved three pumpkins with the neighbours' children.
e65 2024-10-20T09:00 Half marathon in 1 hour 58, blisters on both heels.
e66 2024-10-05T15:20 Sold the old sofa to a student for thirty pounds.
e67 2024-09-21T22:00 Flight home from Porto delayed by four hours.
e68 2024-09-18T11:00 Visited the house where grandmother was born, blue tiles all over the front.
e69 2024-09-15T20:30 First evening in Porto, grilled sardines by the river.
e70 2024-08-30T17:00 Last day at the old office, they gave me a barometer.
"""

_ENGLISH_TALKS = """
# 2025-06-08T20:00
e71 Sam: Have you decided where to go in August?
e72 Me: Probably the Hebrides, ten days, with the new kayak if I find one by then.
e73 Sam: Who is looking after the cat meanwhile?
e74 Me: Greta offered, she lives two doors down.
e75 Sam: And how do you get there?
e76 Me: Night train to Inverness and then a hire car.
# 2025-03-05T18:00
e77 Me: Did the hospital call back about the position?
e78 Imogen: Yes, they gave it to somebody with more years on the ward.
e79 Me: I'm sorry. What now?
e80 Imogen: I asked for feedback and applied to the hospice instead.
e81 Me: That might even suit you better.
e82 Imogen: The hours are shorter, that is true.
# 2024-11-28T12:00
e83 Ron: The worktop you picked is out of stock until February.
e84 Me: Then let's take the slate one, I don't want to wait.
e85 Ron: Slate is eighty more per metre.
e86 Me: Fine. What about the tap?
e87 Ron: Brushed brass, arrives on Monday.
e88 Me: Good, and please leave the old cupboards for Tomas, he wants them for his workshop.
# 2025-05-20T09:30
e89 Priya: Why was the site down last night?
e90 Me: The certificate had expired, nobody had renewed it.
e91 Priya: How do we stop that from happening again?
e92 Me: I set up an automatic renewal and an alarm thirty days ahead.
e93 Priya: Did customers notice?
e94 Me: Eleven tickets, mostly from Norway.
# 2024-12-10T19:00
e95 Callum: Any idea what to get Dad for Christmas?
e96 Me: He keeps talking about a telescope.
e97 Callum: How much are those?
e98 Me: A decent one is about three hundred, we could split it three ways with Imogen.
e99 Callum: Done, I'll order it tonight.
e100 Me: Have it sent to the studio so that he doesn't see the box.
"""

_CHINESE_FACTS = """
z01 我女儿叫豆豆，在实验小学读三年级。
z02 老婆对花粉过敏，春天出门要戴口罩。
z03 车位在地下二层B区217号，月租三百五。
z04 我早上只喝豆浆，不喝牛奶，喝了会拉肚子。
z05 家里宽带是电信的，账号尾号8826，每年九月到期。
z06 岳父退休前是中学物理老师，喜欢修收音机。
z07 公司报销要先找小田贴票，再给财务何姐签字。
z08 我的血压偏高，医生让每天吃半片氨氯地平。
z09 空调遥控器放在电视柜第二个抽屉里。
z10 奶奶的老家在绍兴柯桥，会说一口地道的绍兴话。
z11 健身房的私教姓郑，周二周四晚上有课。
z12 项目代号叫「青鸟」，合同编号QN-2024-088。
z13 我不吃香菜，也不吃折耳根。
z14 豆豆的班主任是柳老师，教数学。
z15 房贷每个月十五号扣款，从招行卡里扣。
z16 家里的猫叫年糕，怕打雷，一打雷就钻床底。
z17 表弟在深圳做跨境电商，主要卖宠物用品。
z18 我的驾照明年三月要换证，得先去体检。
z19 买菜一般去河坊菜场，靠门第三家的豆腐最好。
z20 小区物业电话是0571-8899-0123，保安队长姓熊。
z21 我以前学过五年小提琴，现在只会拉一首。
z22 妈妈的膝盖做过手术，不能爬楼梯。
z23 打印机卡纸的时候要从后盖把纸抽出来。
z24 老同学阿彪开了家烧烤店，在体育馆对面。
z25 我睡眠很浅，有一点声音就会醒。
z26 公司的VPN每九十天要改一次密码。
z27 爸爸最喜欢的球队是山东队，输了就不说话。
z28 豆豆的钢琴是租的，一个月一百八。
z29 我想在四十岁之前学会游泳。
z30 家里的备用钥匙放在隔壁孙阿姨那里。
z31 热水器是燃气的，打不着火多半是电池没电。
z32 我和老婆是在西安读研究生时认识的。
z33 我的羽毛球拍是尤尼克斯的，拉到二十六磅。
z34 舅舅家种了三亩杨梅，每到初夏就忙不过来。
z35 体检报告说我尿酸高，要少吃海鲜和动物内脏。
z36 小田老家在贵州，做的酸汤鱼特别好吃。
z37 地铁五号线早高峰要排两趟才能上车。
z38 我的护照放在保险箱里，密码是豆豆的生日。
z39 家里的垃圾要分类，厨余必须晚上八点前投放。
z40 我最怕的是在很多人面前讲话。
"""

_CHINESE_RECORDS = """
z41 2025-06-17T20:15 带豆豆去游泳馆，她第一次自己游了二十五米。
z42 2025-06-17T12:30 中午和何姐吃了兰州拉面，聊了涨工资的事。
z43 2025-06-16T09:10 给年糕打了第三针疫苗，花了一百二。
z44 2025-06-11T15:00 青鸟项目评审通过，客户要求月底前上线。
z45 2025-06-09T19:40 和老婆去看了新开的楼盘，单价四万二，嫌贵。
z46 2025-06-01T10:00 儿童节带豆豆去科技馆看机器人表演。
z47 2025-05-31T11:20 端午节回绍兴，奶奶包了咸蛋黄粽子。
z48 2025-05-18T14:30 洗衣机漏水，师傅换了排水管，收了八十块。
z49 2025-05-09T18:00 豆豆数学考了九十八分，奖励她一套积木。
z50 2025-05-02T08:00 五一去黄山，凌晨四点爬起来看日出，云海特别壮观。
z51 2025-04-13T16:00 参加阿彪的婚礼，随了两千块份子钱。
z52 2025-04-04T09:30 清明给爷爷扫墓，山上的杜鹃开了。
z53 2025-03-22T13:00 换了四条轮胎，米其林的，一共三千六。
z54 2025-03-15T10:40 把旧手机卖给回收平台，得了七百五。
z55 2025-02-27T21:00 加班到九点，修好了支付接口重复扣款的问题。
z56 2025-02-12T19:30 元宵节去西湖看花灯，人挤人，豆豆的鞋被踩掉一只。
z57 2025-01-29T00:10 大年初一零点放烟花，年糕吓得一天没出来。
z58 2025-01-28T18:30 年夜饭在舅舅家吃的，有十二个菜，爸爸喝多了。
z59 2025-01-16T17:20 公司年会抽奖抽中一台空气炸锅。
z60 2024-12-21T20:00 冬至包了羊肉饺子，寄了一份给表弟。
z61 2024-12-08T08:00 跑了杭州十公里健康跑，五十八分钟。
z62 2024-11-11T00:30 双十一买了扫地机器人和两箱猫粮，花了两千三。
z63 2024-10-26T15:10 陪妈妈去医院复查膝盖，恢复得不错。
z64 2024-10-03T12:00 带豆豆看了西安的兵马俑，排队排了两个钟头。
z65 2024-09-17T20:00 一家人在阳台赏月，吃了五仁月饼。
z66 2024-09-02T07:40 豆豆开学第一天，书包比人还大。
z67 2024-08-20T22:10 台风来了，阳台的花盆全搬进了客厅。
z68 2024-08-06T19:00 和小田他们去阿彪店里撸串，喝了四瓶啤酒。
z69 2024-07-14T16:30 学会了换水龙头，省了一百块人工费。
z70 2024-06-15T10:00 去舅舅家摘杨梅，装了满满六筐。
"""

_CHINESE_TALKS = """
# 2025-06-15T21:00
z71 老婆：暑假到底去哪儿玩？
z72 我：青海湖吧，不热，豆豆也没去过。
z73 老婆：怎么去，飞还是坐火车？
z74 我：飞到西宁，再租一辆七座的车。
z75 老婆：那年糕谁管？
z76 我：让孙阿姨每天过来喂一次。
# 2025-05-27T10:00
z77 老赵：青鸟上线之后你愿不愿意带新团队？
z78 我：愿意，不过我想先休两个星期的假。
z79 老赵：可以，新团队主要做什么你清楚吗？
z80 我：听说是给药店做库存系统。
z81 老赵：对，第一家客户在宁波，有两百多家门店。
z82 我：那我下个月先去现场看看。
# 2025-04-22T09:00
z83 医生：最近头晕是什么时候开始的？
z84 我：大概两个星期了，早上起床的时候最厉害。
z85 医生：降压药有没有按时吃？
z86 我：出差那几天忘了带。
z87 医生：先查个颈椎片子，药不要停。
z88 我：好的，片子什么时候能拿结果？
# 2024-11-20T19:00
z89 小林：儿童房的墙面想要什么颜色？
z90 我：豆豆喜欢浅绿色，不要粉的。
z91 小林：书桌靠窗还是靠墙？
z92 我：靠窗，光线好，对眼睛也好。
z93 小林：预算大概多少？
z94 我：连家具在内不超过三万五。
# 2025-03-08T20:00
z95 表弟：哥，手头紧，能不能周转一下？
z96 我：要多少，什么时候还？
z97 表弟：五万，年底货款回来就还你。
z98 我：行，不过得打个借条，你嫂子要看。
z99 表弟：没问题，我让律师朋友写一份。
z100 我：转到你工行卡上了，收到说一声。
"""

_QUESTIONS = """
# en keyword
budget code of project Lantern | e14
policy number Albion Mutual | e23
oat milk coffee | e03
ibuprofen or paracetamol | e32
kayak from Portishead price | e43
half marathon time | e65
Doctor Lindqvist Harbour Street | e21
brushed brass tap | e87
tax return January | e56
stamp collection Uncle Fergus | e29
staging server restart | e34
night train Inverness | e76
LX-4471 | e14
tent and sleeping bags | e26
telescope for Christmas | e96
# en paraphrase
What food could be dangerous for my sibling? | e01
Who is authorised to approve big bills? | e08
Which alcoholic drink makes my head hurt? | e24
When does the rubbish get collected? | e39
Why did the website stop working? | e90
What did we eat last night? | e42
How did the board react to the demo last week? | e44
Who will feed Biscuit while I am on holiday? | e74
Which foreign language am I studying, and what for? | e15
What went wrong with the meal on Christmas Day 2024? | e59
What animals did we spot at the seaside in March? | e52
Why wasn't Imogen hired? | e78
Where is the other key for the garden hut? | e02
Can my father still walk without help? | e06
What did I grow in May? | e48
# zh keyword
QN-2024-088 | z12
车位B区217 | z03
氨氯地平吃多少 | z08
豆豆的班主任 | z14
羽毛球拍磅数 | z33
物业电话 | z20
VPN密码多久改一次 | z26
阿彪的烧烤店在哪 | z24
扫地机器人多少钱 | z62
空气炸锅 | z59
咸蛋黄粽子 | z47
青海湖 | z72
儿童房颜色 | z90
米其林轮胎 | z53
借条 | z98
# zh paraphrase
我爱人对什么东西会有过敏反应？ | z02
我家宠物害怕什么样的天气？ | z16
医生建议我控制哪些饮食？ | z35
发票要交给谁才能拿回钱？ | z07
昨天晚上陪孩子做了什么？ | z41
上周三项目有什么进展？ | z44
去年国庆我们去哪儿旅游了？ | z64
今年除夕的团圆饭是在谁家吃的？ | z58
去年六月中旬我去干了什么农活？ | z70
五月份家里什么电器坏了？ | z48
我们出门旅行的时候谁来照顾猫？ | z76
亲戚向我借了多少钱？ | z97
新部门的业务方向是什么？ | z80
写字台为什么摆在窗户边上？ | z92
钥匙丢了可以找谁拿？ | z30
"""


def memories() -> Iterator[dict[str, Any]]:
    """All memories as arguments of `store`."""
    for facts in (_ENGLISH_FACTS, _CHINESE_FACTS):
        for line in facts.strip().splitlines():
            key, content = line.split(" ", 1)
            yield {"key": key, "content": content}
    for records in (_ENGLISH_RECORDS, _CHINESE_RECORDS):
        for line in records.strip().splitlines():
            key, moment, content = line.split(" ", 2)
            yield {"key": key, "content": content, "occurred_at": _local(moment)}
    for talks in (_ENGLISH_TALKS, _CHINESE_TALKS):
        yield from _turns(talks)


def _turns(talks: str) -> Iterator[dict[str, Any]]:
    for talk in talks.strip().removeprefix("# ").split("\n# "):
        moment, *turns = talk.splitlines()
        for position, line in enumerate(turns):
            key, content = line.split(" ", 1)
            yield {
                "key": key,
                "content": content,
                "category": "conversation",
                "conversation_id": f"talk of {moment}",
                "position": position,
                "occurred_at": _local(moment) + timedelta(minutes=position),
            }


def questions() -> Iterator[Question]:
    """All questions."""
    for section in _QUESTIONS.strip().removeprefix("# ").split("\n# "):
        heading, *lines = section.splitlines()
        language, kind = heading.split()
        for line in lines:
            text, gold = line.rsplit(" | ", 1)
            yield Question(text, frozenset(gold.split()), language, kind)


def _local(moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=ZONE)
