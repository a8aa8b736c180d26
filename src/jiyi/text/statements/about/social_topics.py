"""The topics of work, study, dates, preferences and people."""

from __future__ import annotations

from typing import Final

from jiyi.text.statements.about.topic_table import LIFE, PREFERENCES, SOCIAL, TASKS, WORK, Topic, topic

_RUNS_A_BUSINESS: Final = (
    r"run(?:s|ning)? (?:an?|the|my|our|his|her|their|this) (?:[a-z-]+ ){0,2}?(?:bakery|shop|store|caf[eé]|business"
    r"|company|hotel|restaurant|farm|salon|studio|pub|bar|b&b|guesthouse|agency|practice|clinic|gallery|nursery|school"
    r"|team|firm|garage|kiosk|stall|startup|workshop)\b"
)
SOCIAL_TOPICS: Final[tuple[Topic, ...]] = (
    # --- work and study ---------------------------------------------------------------------------------------------
    topic(
        "work",
        WORK,
        r"上班|工作(?!室)|公司|单位|集团|厂里|工地|职业|行业|当(?:了)?(?:个)?(?:老师|医生|护士|律师|会计|司机"
        r"|柜员|客服|教练)|是(?:一?[个名位])?"
        r"[^，。]{0,6}(?:老师|医生|护士|律师|会计|司机|工程师|设计师|程序员|画师|编辑|记者|厨师|警察|公务员|经理"
        r"|销售|主管|店长)"
        r"|做(?:后端|前端|开发|测试|设计|运营|销售|外贸|保险|hr|财务|会计|物流|仓储|检修|客户经理|产品)"
        r"|干(?:前端|后端|it)"
        r"|跳槽|入职|离职|辞职|转岗|升职|调去|调到|失业|被裁|创业|开(?:了)?(?:家|个).{0,6}(?:店|公司|工作室)"
        r"|合开|打印店"
        r"|小卖部|物业|税务局|银行|铁路|消防队|设计院|医院|字节|腾讯|阿里|华为上班|米哈游|实习|兼职|外包|接稿"
        r"|自由职业|副业"
        r"|柜员|客户经理|仓储|封装测试|传感器|saas|offer|退休|夜班|岗|教(?:会计|英语|语文|数学"
        r"|[一二三四五六]年级)|做设计|开大货",
        rf"\b(?:{_RUNS_A_BUSINESS}|"
        r"work(?:s|ed|ing)? (?:as|at|for|in|on|with|from|part|the|remotely|nights)|job|employer|company"
        r"|office|startup"
        r"|firm|agency|self-?employed|freelanc\w*|contractor|promot\w*|hired|laid off|redundan\w*|retire\w*|intern\w*"
        r"|apprentice\w*|shifts?|payroll|manager|engineer|developer|dev|designer|nurse|midwife|doctor|lawyer|solicitor"
        r"|teacher|teach(?:es|ing)?|lecturer|accountant|accounts|barista|waitress|waiter|chef|plumber"
        r"|electrician|carpenter"
        r"|pharmacist|paramedic|librarian|journalist|editor|writer|analyst|consultant|architect|technician|receptionist"
        r"|drives for|driver|hr|sales|marketing|finance|recruit\w*|fintech|costa|kmart|till at|tutor\w*|assistant|vfx"
        r"|runner|print shop|storyboards?|florist|fits kitchens|army|marines|navy|etsy|side (?:hustle|thing|gig)"
        r"|day job"
        r"|three days|four (?:long )?days|part-?time|full-?time|library|fire service|day shift|colleagues?|our team)\b",
        single=True,
    ),
    topic(
        "study",
        WORK,
        r"大[一二三四]|研[一二三]|读(?:博|研|书|大学|护理|紧)|念(?:电机|资工|兽医|书|的)|学(?:护理|数媒|的是?"
        r"|计算机|法|医|号)|专业|本科|硕士"
        r"|博士|考研|二战|上财|大学|学院|港大|浙大|毕业|毕设|论文|备考|转园|转学|中班|大班|小班|住校|雅思|托福"
        r"|考级|建造师|考证|学号|公务员考试|在读"
        r"|自学|日语|德语|法语|西班牙语|n[1-5](?!\d)|课题|实验室|中专|高三|初[一二三]|幼儿园"
        r"|上[一二三四五六]年级|小学|中学",
        r"\b(?:uni(?:versity)?|college|school|degree|major(?:ing)?|minor|thesis|dissertation|phd|mba|masters?"
        r"|bachelor\w*"
        r"|undergrad\w*|second year|first year|third year|final year|freshman|sophomore|student|study|studying|course"
        r"|comp sci|exam|certificate|cert|a-?levels?|gcses?|grad school|primary|grammar|nursery|secondary"
        r"|medicine|law|reception|sixth form|animation|physics|philosophy"
        r"|biology|sheridan|scholarship|apprenticeship|bootcamp|learning|tutor)\b",
        single=True,
    ),
    topic(
        "farming and trade",
        WORK,
        r"种(?:了|的|着)?.{0,6}(?:亩|花生|猕猴桃|草莓|葡萄|玉米|水稻|小麦|蔬菜|果树|茶)"
        r"|[一二三四五六七八九十百\d]亩|大棚|果园|葡萄园|园子|地里|合作社|除草剂|养(?:猪|鸡|牛|羊|蜂|殖)"
        r"|卖(?:包子|菜|水果|卤味|衣服|货)|(?:裁缝|水果|杂货|理发|早餐|面|药|花|书|茶|五金|文具)(?:铺|店|馆|摊)"
        r"|铺面|铺子|小店|伙计|熟客|批发|赊|生意|开(?:了|的)?(?:家|间|个)?.{0,4}(?:店|馆|铺|厂|诊所|工作室)|木匠"
        r"|裁缝|厨子|修复|纺织厂|退休前|跑船|护士|icu|做字幕|字幕[组员]|翻译|审计|校史|班主任|毕业班|教(?:物理|化学|语文|数学"
        r"|小学|书)",
        r"\b(?:farm\w*|hardware|(?:book|sweet|corner|hardware|coffee|barber|charity)[ -]?shop|haberdashery"
        r"|bakery|salon|pub|stall|milk(?:ing)? (?:\w+ )?(?:jerseys|cows|goats)|herd|acres|hives|organic"
        r"|glyphosate|invoic\w*|clients?|customers?|bookkeeping|an hour|quotes?"
        r"|ward|nights on|post office|civil servant|taught|professor|research\w*|institute|lab|botanist"
        r"|manuscript|publisher|viva|subtitling|subtitles|interpret\w*|court|courts|illustrator|translator"
        r"|carpenter|seamstress|tailor|butcher|baker|mechanic|welder|pilot|firefighter|police|soldier|charge)\b",
    ),
    topic(
        "doctor",
        LIFE,
        r"家庭医生|主治医生|牙医",
        r"\b(?:gp|my (?:doctor|dentist|therapist|physio|vet|optician)|is my dentist)\b",
        single=True,
    ),
    topic(
        "opening hours",
        WORK,
        r"营业(?:时间)?|开门|打烊|几点关",
        r"\b(?:we open|opening hours|new hours|closed on|we close|hours)\b",
        single=True,
    ),
    topic(
        "advisor",
        WORK,
        r"导师|班主任|老师带|带我的老师|教练",
        r"\b(?:advisor|adviser|supervisor|dr|professor|prof|coach|mentor|line manager)\b",
        single=True,
    ),
    topic(
        "role in a club",
        LIFE,
        r"社长|社员|干部|会长|部长|班长|队长|团长|主席",
        r"\b(?:captain|treasurer|chair(?:person|man)?|president of|secretary of|committee)\b",
        single=True,
    ),
    topic(
        "business",
        WORK,
        r"开店|店(?:铺|面|里)?(?:关|盘|开|转)|网店|小卖部|摆摊",
        r"\b(?:sell(?:ing)?|shop|etsy|my business|market stall|vinted|ebay)\b",
        single=True,
    ),
    topic(
        "lodging",
        LIFE,
        r"民宿|酒店|宾馆|青旅|住.{1,6}家(?!里)|住(?:大阪|东京|京都)",
        r"\b(?:hostel|airbnb|hotel|b&b|staying (?:at|in|with)|campsite)\b",
        single=True,
    ),
    topic(
        "rank",
        LIFE,
        r"段位|钻石|铂金|白金|王者\d|青铜|大师段",
        r"\b(?:plat(?:inum)?|diamond|gold \d|silver \d|bronze|elo|mmr|ranked|grandmaster|belt)\b",
        single=True,
    ),
    topic(
        "skill",
        WORK,
        r"会(?:一点)?(?:python|java|c\b|c\+\+|go|rust|kotlin|日语|英语|法语|西班牙语|开车|游泳|做饭|弹)|写(?:go"
        r"|java|rust|python|c\+\+|代码)"
        r"|过了n\d|[四六]级|编程|rust|python|kotlin|golang|证书|熟练",
        r"\b(?:can code|code in|python|rust|typescript|javascript|java|golang|lua|zig|c\+\+|sql|fluent|certified"
        r"|third language"
        r"|speaks?|bilingual|licen[cs]ed|qualified|picked up|portuguese|spanish|french|german|tagalog|polish"
        r"|mandarin)\b",
    ),
    topic(
        "project",
        WORK,
        r"项目|上线|客户|甲方|需求|系统|发版|站会|jira|排期|独立游戏|数据库|服务器|部署|代码库|团队|小组|班级"
        r"|带.{1,3}个班|程序|美术",
        r"\b(?:project|relocation project|launch|client|deadline for work|sprint|standup|stand-up|codebase|repo"
        r"|deploy\w*"
        r"|server|database|game jam|metroidvania|godot|indie game|prototype|our app|product|release|team of"
        r"|team for)\b",
    ),
    # --- dates ------------------------------------------------------------------------------------------------------
    topic(
        "appointment",
        TASKS,
        r"约了|预约|定在|订在|改到|改期|延到|延期|推到|推迟|提前到|考试|面试|期中|期末|考级|答辩|体检|复查|复诊"
        r"|拔牙|拔智齿|照胃镜|手术(?:定|在)"
        r"|开会|婚礼|领证|发布会|出差|机票|车票|出发|飞|到期|截止|交(?:稿|总结|报告|提案|作业|房)|上线|成发|演出"
        r"|聚餐|搬家公司"
        r"|提醒我|别忘|记得(?:提醒|去|交|买)|下(?:周|週|个?月)[一二三四五六日天]?|(?:周|週"
        r"|星期)[一二三四五六日天].{0,6}(?:点|要|交|陪|去|考|有)|明天|后天"
        r"|[一二三四五六七八九十\d]+月[一二三四五六七八九十\d]+[号日]|\d+/\d+|月底|国庆|五一|春节"
        r"|初[一二三四五六七八九十]",
        r"\b(?:appointments?|booked|flying to|flight|fly to|wedding|interview|exam on|driving test|due|deadline"
        r"|meeting|check-?up"
        r"|dentist|physio|delivery|moving (?:in|out|house) (?:on|next)|starts? (?:on|next|monday)|closing (?:on"
        r"|date)|rsvp|surgery (?:on|in)"
        r"|hand back|lease|signed up for|ends in|expires?|renew\w*|by next|by the end of|ships out|remind me"
        r"|don'?t forget"
        r"|the \d{1,2}(?:st|nd|rd|th)|\d{1,2}(?:st|nd|rd|th) of|(?:jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov"
        r"|dec)\w* \d{1,2}"
        r"|\d{1,2} (?:jan|feb|mar|apr|may|june?|july?|aug|sep|sept|oct|nov|dec)\w*|tomorrow|next (?:week|month"
        r"|monday|tuesday"
        r"|wednesday|thursday|friday|saturday|sunday)|having \w+ people (?:round|over))\b",
    ),
    topic(
        "plan",
        TASKS,
        r"打算|计划|准备(?:去|在|换|考)|目标(?!是?n)|明年(?:要|就|打算)?|年底(?:前)?",
        r"\b(?:plan(?:ning)? to|going to|hoping to|aim(?:ing)? to|goal|this year|by christmas|new year|in june"
        r"|in august)\b",
    ),
    # --- preferences ------------------------------------------------------------------------------------------------
    topic(
        "answer style",
        PREFERENCES,
        r"回(?:我|答|复)|别(?:再)?给我|给我(?:写|推|讲|解释)|注释|变量名|用中文|用英文|表格|字以内|简短|简洁"
        r"|语气|按人民币|叫我|喊我"
        r"|称呼|改叫|规矩|推荐.{0,6}别|以后.{0,10}(?:用|别|都|给)|别用|请用",
        r"\b(?:bullet points?|with me|for me|use metric|metric|british spelling|spelling|analog(?:y|ies)"
        r"|explain (?:stuff|things)|idioms?|call me"
        r"|pronouns?|emoji|short answers?|no jargon|tables?|leave it out|recs?|from (?:now|here) on|tl;?dr"
        r"|formal|casual|in celsius"
        r"|reply|replies|answers?|text or email|phone calls|spoilers?)\b",
    ),
    topic(
        "like and dislike",
        PREFERENCES,
        r"喜欢|最爱|超爱|爱(?:吃|喝|看|听|玩|用)|讨厌|受不了|死敌|反胃|偏爱|不碰|铁粉|粉丝|迷(?:上|恋)|怕(?!是)"
        r"|只(?:吃|喝|用|听|看)|口味|戒了(?!烟|酒)|顺手",
        r"\b(?:love|loves|like|likes|enjoy|prefer\w*|hate|hates|can'?t stand|cannot stand|dislike|favou?rite|fav"
        r"|adore|obsessed|decaf|big fan"
        r"|not a fan|into|rather|allergic to small talk|annoys me|terrified|scared of|afraid of|listen to"
        r"|top tier|my jam)\b",
    ),
    # --- people -----------------------------------------------------------------------------------------------------
    topic(
        "name",
        SOCIAL,
        r"(?:狗|猫|儿子|女儿|孩子|乐队|店)(?:名)?(?:就)?叫|改叫|名字|我(?:的名字)?(?:叫|姓|本名|全名|大名)(?!你"
        r"|他|她|车|外卖)|(?:叫|喊|称呼)我|英文名|网名|小名|名叫|改叫",
        r"\b(?:is|'s|was) (?:called|named)\b|\bband name\b|\bwe go by\b|\bmy name\b|\bcall me\b|\bi go by\b"
        r"|\bgoes by\b|\bnickname\b|\bback to \w+ \w+\b|\bi'?m called\b",
        single=True,
    ),
    topic(
        "age",
        LIFE,
        r"\d{1,3}岁|今年\d{1,2}(?!\d)|[一二三四五六七八九十]+岁",
        r"\b\d{1,2} years? old\b|\b(?:is|she's|he's|shes|hes) (?:now )?\d{1,2}\b(?! ?(?:am|pm|o'clock|:|%|miles"
        r"|km))|\bage\b|\bi'?m \d{2}\b|\bturn(?:s|ed)? \w+\b",
        single=True,
    ),
    topic(
        "relationship",
        SOCIAL,
        r"女朋友|男朋友|对象|单身|在一起|分手|分了|结婚|离婚|订婚|恋爱|处了",
        r"\b(?:girlfriend|boyfriend|bf|gf|partner|engaged|married|single|divorced?|dating|seeing (?:a|someone)"
        r"|broke up|split up"
        r"|long[- ]distance|called it off|fianc\w+|widow\w*)\b",
        single=True,
    ),
    topic(
        "family",
        SOCIAL,
        r"老婆|太太|妻子|老公|丈夫|爸|妈|爷爷|奶奶|外公|外婆|姥|公公|婆婆|岳|哥|姐|弟|妹|儿子|女儿|闺女|孩子"
        r"|俩娃|二宝|老大|老二|男孩|女孩"
        r"|舅|姑|姨|叔|伯|侄|外甥|孙|堂|表[哥姐弟妹]",
        r"\b(?:wife|husband|mum|mom|mother|dad|father|parents|sister|brother|siblings?|son|daughter|kids?"
        r"|child(?:ren)?|twins|boys|girls|baby|toddler"
        r"|youngest|eldest|oldest|gran|grandma|grandad|grandfather|grandmother|nan|aunt\w*|uncle|cousin|niece"
        r"|nephew|in-?law|step\w+|ex|godson)\b",
    ),
    topic(
        "friends and colleagues",
        SOCIAL,
        r"朋友|同学|室友|舍友|同事|邻居|组长|老板|领导|头儿|上司|班主任|老师(?:说|姓)|同桌|闺蜜|哥们|发小|搭档|房东",
        r"\b(?:friend|mate|roommate|roomie|flatmate|housemate|colleague|coworker|boss|neighbou?r|childminder"
        r"|landlord|drummer|dm|teammate|pa)\b",
    ),
    topic(
        "contact",
        SOCIAL,
        r"手机(?:号|尾号)|尾号|电话(?:号|是)|微信号|邮箱|换号",
        r"\b(?:phone number|mobile number|number is|number \d+|e-?mail me|my e-?mail|email (?:address|is))\b|\S+@\S+",
        single=True,
    ),
)
