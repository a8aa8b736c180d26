"""What a statement is about: topics with their words in both languages, whether they have one value, and their domain.

Patterns are searched in folded text (lower case, simplified characters). A topic is `single` when a person has one
value of it at a time: a home, an employer, a wake-up time. A later statement about the same subject and topic can then
replace an earlier one. What people have several of (allergies, pets, likes) is not single.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from jiyi.text.cue_rules import Domain

__all__ = ["TOPICS", "Topic", "topics_of"]

_LIFE: Final[Domain] = "lifestyle_and_interests"
_WORK: Final[Domain] = "professional_and_academic"
_TASK: Final[Domain] = "tasks_and_schedules"
_PREF: Final[Domain] = "user_preferences"
_SOCIAL: Final[Domain] = "social_and_relationships"


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that statements are about."""

    name: str
    domain: Domain
    single: bool
    pattern: re.Pattern[str]


def _topic(name: str, domain: Domain, *patterns: str, single: bool = False) -> Topic:
    return Topic(name, domain, single, re.compile("|".join(patterns)))


TOPICS: Final[tuple[Topic, ...]] = (
    # --- health ---------------------------------------------------------------------------------------------------
    _topic(
        "allergy",
        _LIFE,
        r"过敏|不耐受|乳糖不耐|蚕豆病|起疹子?|休克|过敏原",
        r"\ballerg\w*|\bintoleran\w*|\bepi-?pen\b|\bhives\b|\banaphyla\w*|\bc(?:o)?eliac\b",
    ),
    _topic(
        "health",
        _LIFE,
        r"糖尿病|血压|血糖|尿酸|痛风|哮喘|心脏|心律|癫痫|抑郁|焦虑症|失眠|怀孕|孕期|备孕|胃病|胃炎|鼻炎|贫血|近视"
        r"|散光|颈椎|腰椎|腰间盘|膝盖|半月板|髌骨|韧带|骨折|手术|确诊|查出|复发|结节|肿瘤|化疗|慢性|旧伤|腱鞘炎"
        r"|牙套|智齿|拔牙|隐形眼镜|角膜|助听器|耳背|耳朵|轮椅|色盲|色弱|左撇子|血型|rh|偏头痛|湿疹|皮炎|甲状腺"
        r"|脂肪肝|幽门|胃镜|晕车|恐高|多动症|自闭|老花",
        r"\b(?:diabet\w*|asthma\w*|hypertension|blood (?:pressure|type)|epilep\w*|migraine\w*|insomnia|adhd|autis\w*"
        r"|dyslexi\w*|dyspraxi\w*|anxiety|depress\w*|bipolar|pregnan\w*|arthritis|tinnitus|deaf\w*|blind|colou?r-?blind\w*"
        r"|hearing aids?|wheelchair|braces|surgery|knees?|hip|herniated|disc|back (?:pain|injury)|slipped disc|injur\w*"
        r"|fracture\w*|broke my|chronic|disorder|syndrome|pcos|ibs|crohn'?s|endometriosis|anaemi\w|anemi\w|left-?handed"
        r"|insulin|pump|chickenpox|cancer|chemo|therapy|therapist|diagnos\w*|lungs?|wrist|vision|glasses|contact lenses)\b",
    ),
    _topic(
        "medication",
        _LIFE,
        r"吃药|服药|二甲双胍|他汀|降压药|胰岛素|避孕药|中药|抗抑郁|布洛芬|每天吃.{0,6}(?:片|粒|药)",
        r"\b(?:warfarin|metformin|statins?|insulin|medication|meds|antidepressants?|pills?|prescri\w*|inhaler|sertraline"
        r"|ritalin|blood thinners?)\b",
    ),
    _topic(
        "weight",
        _LIFE,
        r"体重|\d+(?:\.\d+)? ?(?:斤|公斤|kg)|上秤",
        r"\bi weigh\b|\b\d+(?:\.\d+)? ?(?:kg|kilos|lbs?|pounds|stone)\b|\bscales?\b",
        single=True,
    ),
    _topic("height", _LIFE, r"身高", r"\bi'?m \d'\d|\bmy height\b|\b\d{3} ?cm tall\b", single=True),
    _topic(
        "diet",
        _LIFE,
        r"吃素|素食|不吃(?:肉|荤|猪|牛|羊|鱼|海鲜|香菜|辣|甜)|忌口|清真|无肉不欢|减脂餐|生酮|戒糖|戒奶茶|一口不碰",
        r"\b(?:vegan|vegetarian|pescatarian|halal|kosher|keto|plant-?based|gluten|dairy|lactose|no sugar|diet)\b"
        r"|\b(?:don'?t|do not|dont|can'?t|cant|never|won'?t|no longer) (?:eat|do) \w+",
    ),
    _topic(
        "smoking and drinking",
        _LIFE,
        r"抽烟|吸烟|戒烟|烟戒|戒了烟|喝酒|戒酒|酒戒|滴酒|以茶代酒|电子烟",
        r"\b(?:smok\w+|vap(?:e|es|ing)|cigs?|cigarettes?|alcohol|sober|teetotal\w*|booze|drink(?:ing)?|beer|wine)\b",
    ),
    # --- living ---------------------------------------------------------------------------------------------------
    _topic(
        "home",
        _LIFE,
        r"(?<!记)住(?:在|到|进|了|校|宿舍|埋)?|搬(?:家|到|去|来|进|出|咗|完)|租(?:了|的|房|在|住|间)|合租|退租|定居|坐标"
        r"|落户|安家|买(?:的|了)?房|屋企|公寓|宿舍|套房|小区|楼上|人住|家在|房子",
        r"\b(?:live|lives|living|lived|based|reside\w*|moved? (?:to|out|in|into|back)|relocat\w*|flat|apartment|flatshare"
        r"|house share|room in|is home|home is|settled in|renting|rented|landlord|houseboat|bungalow|mortgage|neighbou?rhood"
        r"|born and based|postcode)\b",
        single=True,
    ),
    _topic(
        "origin",
        _LIFE,
        r"老家|出生(?:在|于)?|籍贯|家乡|长大|(?:北京|上海|广东|四川|湖北|湖南|河南|东北|台湾|香港|泰国|日本)人|回族|土生土长",
        r"\b(?:born in|grew up|from|originally|hometown|raised|native of|came over|australian|polish|irish|scottish|german"
        r"|nationality|citizen)\b",
        single=True,
    ),
    _topic(
        "rent and money",
        _LIFE,
        r"房租|房贷|月供|车贷|存款|攒钱|工资|月薪|年薪|预算|贷款|信用卡|理财|基金|股票|欠",
        r"\b(?:rent'?s?|mortgage|salary|savings?|saving (?:for|up)|budget|debt|credit card|loan|pension|invest\w*|a month"
        r"|paid off|bank with|paycheck|wage)\b",
    ),
    _topic(
        "bank", _LIFE, r"(?:银行|工行|建行|招行|农行)卡|开户", r"\bbank(?:ing)? with\b|\bcurrent account\b", single=True
    ),
    _topic(
        "household",
        _LIFE,
        r"地暖|壁挂炉|空调|暖气|装修|阳台|厨房|车位|车库|电梯|几楼|[一二三四五六七八九十\d]+楼|小院|花园|燃气|电磁炉|洗衣机",
        r"\b(?:boiler|hob|oven|kitchen|garden|garage|loft|balcony|heating|cook on|microwave|air ?fryer|lift|floor|parking"
        r"|fridge|washing machine|allotment)\b",
    ),
    _topic(
        "vehicle",
        _LIFE,
        r"开车|驾照|买了?车|车险|电动车|摩托|自行车|科[一二三]",
        r"\b(?:car|bike|motorbike|driving licen[cs]e|drive a|cargo bike|scooter|van|campervan|sailboat|boat|ev)\b",
    ),
    _topic(
        "commute",
        _LIFE,
        r"上班(?:坐|骑|开|走)|(?:骑|坐|开|走路)[^，。]{0,6}上班|坐.{1,6}(?:号线|地铁|公交|高铁|班车)|通勤|返学",
        r"\b(?:commute|the \d+:\d\d (?:bus|train)|bus to|train to work|cycle to)\b",
        single=True,
    ),
    _topic(
        "wake and sleep",
        _LIFE,
        r"起床|早起|[点半][^，。]{0,3}起|睡觉|熬夜|午睡|作息|点睡|才睡",
        r"\b(?:wake up|get up|bedtime|night owl|early bird|go to bed|sleep)\b",
        single=True,
    ),
    _topic(
        "pet",
        _LIFE,
        r"(?<!熊)猫(?!粮)|狗(?!粮)|柯基|金毛|哈士奇|泰迪|拉布拉多|英短|布偶|三花|橘猫|仓鼠|兔子|鹦鹉|乌龟|龟|热带鱼|孔雀鱼"
        r"|养了?.{0,4}[只条缸]|宠物|龙猫|蜥蜴",
        r"\b(?:dogs?|pupp(?:y|ies)|cats?|kittens?|rabbits?|hamsters?|gecko|ferrets?|tortoise|parrots?|budgie|horses?|pon(?:y|ies)"
        r"|hens?|chickens|goldfish|fish tank|snake|bearded dragon|rats?|guinea pigs?|beagle|labrador|lurcher|whippet|poodle"
        r"|terrier|corgi|greyhound|pets?|bees|spaniel|collie|axolotl)\b",
    ),
    _topic(
        "sport and fitness",
        _LIFE,
        r"跑步|夜跑|马拉松|健身|私教|卧推|深蹲|游泳|羽毛球|乒乓|篮球|足球|网球|排球|瑜伽|普拉提|爬山|徒步|骑行|攀岩|滑雪"
        r"|跆拳道|拳击|太极|校队|撸铁|飞盘|跳舞|跳绳",
        r"\b(?:gym|run(?:s|ning)?|marathon|half|5k|10k|parkrun|swim\w*|climb\w*|boulder\w*|yoga|pilates|football|five-?a-?side"
        r"|soccer|rugby|cricket|tennis|badminton|squash|netball|hockey|cycl\w+|triathlon|judo|karate|boxing|dance|ballet"
        r"|ski\w*|snowboard\w*|surf\w*|row(?:ing)?|goalie|golf|skat\w+|lift(?:ing)?|deadlift|crossfit|hik\w+|kayak\w*)\b",
    ),
    _topic(
        "hobby",
        _LIFE,
        r"爱好|弹|琴|吉他|钢琴|小提琴|贝斯|bass|打鼓|架子鼓|古筝|乐团|乐队|唱歌|画画|书法|练字|摄影|相机|富士|钓鱼|露营|烘焙"
        r"|园艺|种(?:菜|花|了)|君子兰|多肉|手账|拼图|乐高|下棋|围棋|象棋|桌游|跑团|剧本杀|打游戏|游戏|lol|原神|王者|steam"
        r"|追剧|看书|读书会|动漫|漫画|cosplay|infp|mbti|收藏|模型|演唱会|彩票|集邮|编织|裁缝",
        r"\b(?:hobb(?:y|ies)|guitar|piano|cello|violin|drums?|bass|keys|sax\w*|choir|sing|alto|band|dj|paint(?:ing)?|draw(?:ing)?"
        r"|pottery|ceramics|knit\w*|crochet|sew\w*|quilt\w*|bak(?:e|es|ing)|sourdough|brew\w*|garden(?:ing)?|photograph\w*"
        r"|camera|film camera|chess|board games?|d&d|dnd|gam(?:e|es|ing)|league|minecraft|main \w+|speedrun\w*|cosplay"
        r"|book club|reading|novels?|poetry|podcasts?|collect\w*|vinyl|lego|fishing|birdwatch\w*|volunteer\w*|webcomic"
        r"|life drawing|improv|theatre|woodwork\w*|junkrat|bridge|pta|club)\b",
    ),
    _topic(
        "belief and identity",
        _LIFE,
        r"信(?:佛|教|主|基督|伊斯兰)|佛教|基督|天主|穆斯林|拜观音|无神论|党员|单亲|独生|同性恋",
        r"\b(?:church|mosque|synagogue|temple|quaker\w*|catholic|christian|muslim|jewish|buddhist|hindu|agnostic|atheist|faith|religio\w*|gay|lesbian|queer|trans"
        r"|non-?binary|\bbi\b|straight|zodiac|infj|intj)\b",
    ),
    _topic(
        "travel",
        _LIFE,
        r"旅游|旅行|自驾|出国|护照|签证|出境|环岛",
        r"\b(?:travel\w*|holiday|vacation|trip|passport|abroad|interrail\w*|backpack\w*)\b",
    ),
    _topic(
        "device",
        _LIFE,
        r"手机|iphone|小米|华为|三星|ipad|平板|笔记本|电脑|macbook|\bair\b|台式|显卡|显存|耳机|手表|显示器|键盘|kindle|switch"
        r"|ps5|主力机|thinkpad|\d{4}ti|30[56789]0|40[56789]0",
        r"\b(?:phone|iphone|pixel|galaxy|android|ipad|tablet|laptop|macbook|mac ?mini|thinkpad|pc|gpu|monitors?|screens?"
        r"|keyboard|headphones?|kindle|steam deck|switch|ps5|xbox|watch|cintiq|printer|\d{4}x3d|\d{4}xt|router)\b",
    ),
    _topic(
        "software",
        _LIFE,
        r"win(?:dows)?1[01]|windows|linux|ubuntu|fedora|macos|输入法|五笔|拼音|浏览器|edge|chrome|vscode|neovim|vim|emacs|wps"
        r"|office|飞书|钉钉|企业微信|notion|抖音|微博|小红书",
        r"\b(?:windows|win1[01]|linux|ubuntu|fedora|arch|debian|macos|ios|chrome|firefox|browser|vs ?code|neovim|vim|emacs"
        r"|notion|obsidian|excel|google docs|facebook|insta(?:gram)?|tiktok|twitter|whatsapp|discord|telegram|spotify|app)\b",
    ),
    # --- work and study ---------------------------------------------------------------------------------------------
    _topic(
        "work",
        _WORK,
        r"上班|工作(?!室)|公司|单位|集团|厂里|工地|职业|行业|当(?:了)?(?:个)?(?:老师|医生|护士|律师|会计|司机|柜员|客服|教练)|是(?:一?[个名位])?"
        r"[^，。]{0,6}(?:老师|医生|护士|律师|会计|司机|工程师|设计师|程序员|画师|编辑|记者|厨师|警察|公务员|经理|销售|主管|店长)"
        r"|做(?:后端|前端|开发|测试|设计|运营|销售|外贸|保险|hr|财务|会计|物流|仓储|检修|客户经理|产品)|干(?:前端|后端|it)"
        r"|跳槽|入职|离职|辞职|转岗|升职|调去|调到|失业|被裁|创业|开(?:了)?(?:家|个).{0,6}(?:店|公司|工作室)|合开|打印店"
        r"|小卖部|物业|税务局|银行|铁路|消防队|设计院|医院|字节|腾讯|阿里|华为上班|米哈游|实习|兼职|外包|接稿|自由职业|副业"
        r"|柜员|客户经理|仓储|封装测试|传感器|saas|offer|退休|夜班|岗|教(?:会计|英语|语文|数学|[一二三四五六]年级)|做设计|开大货",
        r"\b(?:work(?:s|ed|ing)? (?:as|at|for|in|on|with|from|part|the|remotely|nights)|job|employer|company|office|startup"
        r"|firm|agency|self-?employed|freelanc\w*|contractor|promot\w*|hired|laid off|redundan\w*|retire\w*|intern\w*"
        r"|apprentice\w*|shifts?|payroll|manager|engineer|developer|dev|designer|nurse|midwife|doctor|lawyer|solicitor"
        r"|teacher|teach(?:es|ing)?|lecturer|accountant|accounts|barista|waitress|waiter|chef|plumber|electrician|carpenter"
        r"|pharmacist|paramedic|librarian|journalist|editor|writer|analyst|consultant|architect|technician|receptionist"
        r"|drives for|driver|hr|sales|marketing|finance|recruit\w*|fintech|costa|kmart|till at|tutor\w*|assistant|vfx"
        r"|runner|print shop|storyboards?|florist|fits kitchens|army|marines|navy|etsy|side (?:hustle|thing|gig)|day job"
        r"|three days|four (?:long )?days|part-?time|full-?time|library|fire service|day shift|colleagues?|our team)\b",
        single=True,
    ),
    _topic(
        "study",
        _WORK,
        r"大[一二三四]|研[一二三]|读(?:博|研|书|大学|护理|紧)|念(?:电机|资工|兽医|书|的)|学(?:护理|数媒|的是?|计算机|法|医|号)|专业|本科|硕士"
        r"|博士|考研|二战|上财|大学|学院|港大|浙大|毕业|毕设|论文|备考|转园|转学|中班|大班|小班|住校|雅思|托福|考级|建造师|考证|学号|公务员考试|在读"
        r"|自学|日语|德语|法语|西班牙语|n[1-5](?!\d)|课题|实验室|中专|高三|初[一二三]|幼儿园|上[一二三四五六]年级|小学|中学",
        r"\b(?:uni(?:versity)?|college|school|degree|major(?:ing)?|minor|thesis|dissertation|phd|mba|masters?|bachelor\w*"
        r"|undergrad\w*|second year|first year|third year|final year|freshman|sophomore|student|study|studying|course"
        r"|comp sci|exam|certificate|cert|a-?levels?|gcses?|grad school|primary|grammar|nursery|secondary|medicine|law|reception|sixth form|animation|physics|philosophy"
        r"|biology|sheridan|scholarship|apprenticeship|bootcamp|learning|tutor)\b",
        single=True,
    ),
    _topic(
        "farming and trade",
        _WORK,
        r"种(?:了|的|着)?.{0,6}(?:亩|花生|猕猴桃|草莓|葡萄|玉米|水稻|小麦|蔬菜|果树|茶)|[一二三四五六七八九十百\d]亩|大棚|果园|葡萄园|园子|地里|合作社|除草剂|养(?:猪|鸡|牛|羊|蜂|殖)|卖(?:包子|菜|水果|卤味|衣服|货)|(?:裁缝|水果|杂货|理发|早餐|面|药|花|书|茶|五金|文具)(?:铺|店|馆|摊)"
        r"|铺面|铺子|小店|伙计|熟客|批发|赊|生意|开(?:了|的)?(?:家|间|个)?.{0,4}(?:店|馆|铺|厂|诊所|工作室)|木匠|裁缝|厨子|修复|纺织厂|退休前|跑船|护士|icu|字幕|翻译|审计|校史|班主任|毕业班|教(?:物理|化学|语文|数学|小学|书)",
        r"\b(?:farm\w*|hardware|(?:book|sweet|corner|hardware|coffee|barber|charity)[ -]?shop|haberdashery|bakery|salon|pub|stall|milk(?:ing)? (?:\w+ )?(?:jerseys|cows|goats)|herd|acres|hives|organic|glyphosate|invoic\w*|clients?|customers?|bookkeeping|an hour|quotes?"
        r"|ward|nights on|post office|civil servant|taught|professor|research\w*|institute|lab|botanist|manuscript|publisher|viva|subtitling|subtitles|interpret\w*|court|courts|illustrator|translator|carpenter|seamstress|tailor|butcher|baker|mechanic|welder|pilot|firefighter|police|soldier|charge)\b",
    ),
    _topic(
        "doctor",
        _LIFE,
        r"家庭医生|主治医生|牙医",
        r"\b(?:gp|my (?:doctor|dentist|therapist|physio|vet|optician)|is my dentist)\b",
        single=True,
    ),
    _topic(
        "opening hours",
        _WORK,
        r"营业(?:时间)?|开门|打烊|几点关",
        r"\b(?:we open|opening hours|new hours|closed on|we close|hours)\b",
        single=True,
    ),
    _topic(
        "advisor",
        _WORK,
        r"导师|班主任|老师带|带我的老师|教练",
        r"\b(?:advisor|adviser|supervisor|dr|professor|prof|coach|mentor|line manager)\b",
        single=True,
    ),
    _topic(
        "role in a club",
        _LIFE,
        r"社长|社员|干部|会长|部长|班长|队长|团长|主席",
        r"\b(?:captain|treasurer|chair(?:person|man)?|president of|secretary of|committee)\b",
        single=True,
    ),
    _topic(
        "business",
        _WORK,
        r"开店|店(?:铺|面|里)?(?:关|盘|开|转)|网店|小卖部|摆摊",
        r"\b(?:sell(?:ing)?|shop|etsy|my business|market stall|vinted|ebay)\b",
        single=True,
    ),
    _topic(
        "lodging",
        _LIFE,
        r"民宿|酒店|宾馆|青旅|住.{1,6}家(?!里)|住(?:大阪|东京|京都)",
        r"\b(?:hostel|airbnb|hotel|b&b|staying (?:at|in|with)|campsite)\b",
        single=True,
    ),
    _topic(
        "rank",
        _LIFE,
        r"段位|钻石|铂金|白金|王者\d|青铜|大师段",
        r"\b(?:plat(?:inum)?|diamond|gold \d|silver \d|bronze|elo|mmr|ranked|grandmaster|belt)\b",
        single=True,
    ),
    _topic(
        "skill",
        _WORK,
        r"会(?:一点)?(?:python|java|c\b|c\+\+|go|rust|kotlin|日语|英语|法语|西班牙语|开车|游泳|做饭|弹)|写(?:go|java|rust|python|c\+\+|代码)"
        r"|过了n\d|[四六]级|编程|rust|python|kotlin|golang|证书|熟练",
        r"\b(?:can code|code in|python|rust|typescript|javascript|java|golang|lua|zig|c\+\+|sql|fluent|certified|third language"
        r"|speaks?|bilingual|licen[cs]ed|qualified|picked up|portuguese|spanish|french|german|tagalog|polish|mandarin)\b",
    ),
    _topic(
        "project",
        _WORK,
        r"项目|上线|客户|甲方|需求|系统|发版|站会|jira|排期|独立游戏|数据库|服务器|部署|代码库|团队|小组|班级|带.{1,3}个班|程序|美术",
        r"\b(?:project|relocation project|launch|client|deadline for work|sprint|standup|stand-up|codebase|repo|deploy\w*"
        r"|server|database|game jam|metroidvania|godot|indie game|prototype|our app|product|release|team of|team for)\b",
    ),
    # --- dates ------------------------------------------------------------------------------------------------------
    _topic(
        "appointment",
        _TASK,
        r"约了|预约|定在|订在|改到|改期|延到|延期|推到|推迟|提前到|考试|面试|期中|期末|考级|答辩|体检|复查|复诊|拔牙|拔智齿|照胃镜|手术(?:定|在)"
        r"|开会|婚礼|领证|发布会|出差|机票|车票|出发|飞|到期|截止|交(?:稿|总结|报告|提案|作业|房)|上线|成发|演出|聚餐|搬家公司"
        r"|提醒我|别忘|记得(?:提醒|去|交|买)|下(?:周|週|个?月)[一二三四五六日天]?|(?:周|週|星期)[一二三四五六日天].{0,6}(?:点|要|交|陪|去|考|有)|明天|后天"
        r"|[一二三四五六七八九十\d]+月[一二三四五六七八九十\d]+[号日]|\d+/\d+|月底|国庆|五一|春节|初[一二三四五六七八九十]",
        r"\b(?:appointments?|booked|flying to|flight|fly to|wedding|interview|exam on|driving test|due|deadline|meeting|check-?up"
        r"|dentist|physio|delivery|moving (?:in|out|house) (?:on|next)|starts? (?:on|next|monday)|closing (?:on|date)|rsvp|surgery (?:on|in)"
        r"|hand back|lease|signed up for|ends in|expires?|renew\w*|by next|by the end of|ships out|remind me|don'?t forget"
        r"|the \d{1,2}(?:st|nd|rd|th)|\d{1,2}(?:st|nd|rd|th) of|(?:jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\w* \d{1,2}"
        r"|\d{1,2} (?:jan|feb|mar|apr|may|june?|july?|aug|sep|sept|oct|nov|dec)\w*|tomorrow|next (?:week|month|monday|tuesday"
        r"|wednesday|thursday|friday|saturday|sunday)|having \w+ people (?:round|over))\b",
    ),
    _topic(
        "plan",
        _TASK,
        r"打算|计划|准备(?:去|在|换|考)|目标(?!是?n)|明年(?:要|就|打算)?|年底(?:前)?",
        r"\b(?:plan(?:ning)? to|going to|hoping to|aim(?:ing)? to|goal|this year|by christmas|new year|in june|in august)\b",
    ),
    # --- preferences ------------------------------------------------------------------------------------------------
    _topic(
        "answer style",
        _PREF,
        r"回(?:我|答|复)|别(?:再)?给我|给我(?:写|推|讲|解释)|注释|变量名|用中文|用英文|表格|字以内|简短|简洁|语气|按人民币|叫我|喊我"
        r"|称呼|改叫|规矩|推荐.{0,6}别|以后.{0,10}(?:用|别|都|给)|别用|请用",
        r"\b(?:bullet points?|with me|for me|use metric|metric|british spelling|spelling|analog(?:y|ies)|explain (?:stuff|things)|idioms?|call me"
        r"|pronouns?|emoji|short answers?|no jargon|tables?|leave it out|recs?|from (?:now|here) on|tl;?dr|formal|casual|in celsius"
        r"|reply|replies|answers?|text or email|phone calls|spoilers?)\b",
    ),
    _topic(
        "like and dislike",
        _PREF,
        r"喜欢|最爱|超爱|爱(?:吃|喝|看|听|玩|用)|讨厌|受不了|死敌|反胃|偏爱|不碰|铁粉|粉丝|迷(?:上|恋)|怕(?!是)|只(?:吃|喝|用|听|看)|口味|戒了(?!烟|酒)|顺手",
        r"\b(?:love|loves|like|likes|enjoy|prefer\w*|hate|hates|can'?t stand|cannot stand|dislike|favou?rite|fav|adore|obsessed|decaf|big fan"
        r"|not a fan|into|rather|allergic to small talk|annoys me|terrified|scared of|afraid of|listen to|top tier|my jam)\b",
    ),
    # --- people -----------------------------------------------------------------------------------------------------
    _topic(
        "name",
        _SOCIAL,
        r"(?:狗|猫|儿子|女儿|孩子|乐队|店)(?:名)?(?:就)?叫|改叫|名字|我(?:的名字)?(?:叫|姓|本名|全名|大名)(?!你|他|她|车|外卖)|(?:叫|喊|称呼)我|英文名|网名|小名|名叫|改叫",
        r"\b(?:is|'s|was) (?:called|named)\b|\bband name\b|\bwe go by\b|\bmy name\b|\bcall me\b|\bi go by\b|\bgoes by\b|\bnickname\b|\bback to \w+ \w+\b|\bi'?m called\b",
        single=True,
    ),
    _topic("age", _LIFE, r"\d{1,3}岁|今年\d{1,2}(?!\d)|[一二三四五六七八九十]+岁", r"\b\d{1,2} years? old\b|\b(?:is|she's|he's|shes|hes) (?:now )?\d{1,2}\b(?! ?(?:am|pm|o'clock|:|%|miles|km))|\bage\b|\bi'?m \d{2}\b|\bturn(?:s|ed)? \w+\b", single=True),
    _topic(
        "relationship",
        _SOCIAL,
        r"女朋友|男朋友|对象|单身|在一起|分手|分了|结婚|离婚|订婚|恋爱|处了",
        r"\b(?:girlfriend|boyfriend|bf|gf|partner|engaged|married|single|divorced?|dating|seeing (?:a|someone)|broke up|split up"
        r"|long[- ]distance|called it off|fianc\w+|widow\w*)\b",
        single=True,
    ),
    _topic(
        "family",
        _SOCIAL,
        r"老婆|太太|妻子|老公|丈夫|爸|妈|爷爷|奶奶|外公|外婆|姥|公公|婆婆|岳|哥|姐|弟|妹|儿子|女儿|闺女|孩子|俩娃|二宝|老大|老二|男孩|女孩"
        r"|舅|姑|姨|叔|伯|侄|外甥|孙|堂|表[哥姐弟妹]",
        r"\b(?:wife|husband|mum|mom|mother|dad|father|parents|sister|brother|siblings?|son|daughter|kids?|child(?:ren)?|twins|boys|girls|baby|toddler"
        r"|youngest|eldest|oldest|gran|grandma|grandad|grandfather|grandmother|nan|aunt\w*|uncle|cousin|niece|nephew|in-?law|step\w+|ex|godson)\b",
    ),
    _topic(
        "friends and colleagues",
        _SOCIAL,
        r"朋友|同学|室友|舍友|同事|邻居|组长|老板|领导|头儿|上司|班主任|老师(?:说|姓)|同桌|闺蜜|哥们|发小|搭档|房东",
        r"\b(?:friend|mate|roommate|roomie|flatmate|housemate|colleague|coworker|boss|neighbou?r|childminder|landlord|drummer|dm|teammate|pa)\b",
    ),
    _topic(
        "contact",
        _SOCIAL,
        r"手机(?:号|尾号)|尾号|电话(?:号|是)|微信号|邮箱|换号",
        r"\b(?:phone number|mobile number|number is|e-?mail me|my e-?mail|email (?:address|is))\b|\S+@\S+",
        single=True,
    ),
)


def topics_of(folded: str) -> dict[str, int]:
    """The topics that a folded text speaks of, each with how many of its words stand there."""
    found: dict[str, int] = {}
    for topic in TOPICS:
        count = len({match if isinstance(match, str) else match[0] for match in topic.pattern.findall(folded)})
        if count:
            found[topic.name] = count
    return found
