"""How attributes of a person are asked for and stated, in both languages: the table of `stated_attributes`."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["ATTRIBUTES", "AttributeForms", "may_ask_for"]


class AttributeForms(NamedTuple):
    """The forms of one attribute, as patterns for folded text."""

    asked_cues: tuple[str, ...]
    """A question that asks for it has one of these."""
    asked: str
    cues: tuple[str, ...]
    """A text that states it has one of these."""
    stated: str


ATTRIBUTES: Final[dict[str, AttributeForms]] = {
    "name": AttributeForms(
        ("name", "call", "who am i", "叫", "姓", "名", "称呼", "谁"),
        r"\b(?:whats?|do you (?:know|remember)|remember|tell me)\b.{0,24}\b(?:name|called)\b|\bwho am i\b"
        r"|(?:叫|姓|名字是?|称呼)(?:什么|啥|谁)|(?:什么|啥)名字?|(?:知道|记得).{0,4}(?:名字|叫)|我是谁|名字呢"
        r"|(?:怎么|如何)称呼",
        ("name", "call", "i'm ", "i am ", "go by", "my ", "our ", "叫", "姓", "名"),
        r"\bname(?:'s| is| was)\b|\bcall me\b|\bgo by\b|\b(?:named|called) \w"
        r"|(?:名字)?(?:叫|名叫|改名|取名|起名)(?!你|他|她|我|人|车|了?外卖|醒|停)|姓(?!名)|叫我|名字是",
    ),
    "age": AttributeForms(
        ("old", "age", "born", "大", "岁", "年"),
        r"\bhow old\b|\b(?:what|which)\b.{0,8}\bage\b|\b(?:when|what year)\b.{0,6}\bborn\b"
        r"|多大(?:了|年纪|岁数|$|？|\?)|几岁|多少岁|年龄|年纪|哪年生|属什么",
        ("year", "turn", "born", "age", "i'm ", "i am ", "im ", "岁", "生于", "出生", "后", "属", "年生"),
        r"\b(?:i|we)(?:'m|'ve|'re|'d| am| are| have| was|m|ve)?(?: (?:now|just|only|currently|still|recently|also"
        r"|all|finally|actually))* \d{1,3}(?=$|[ ,.!;])(?! (?:minutes|hours|days|weeks|months|km|miles|percent"
        r"|people|min|kg|cm))|\b(?:is|am|'m|'s|who's) \d{1,2}(?=$|[,.!;]| and\b| now\b)|, \d{1,2}(?=$|[,.!;])"
        r"|\byears? old\b|\bturn(?:ed|ing|s)? \w+|\bborn (?:in|on)\b|\bat my age\b"
        r"|\bin my (?:twenties|thirties|forties|fifties|sixties)\b|[\d一二两三四五六七八九十百]+岁"
        r"|(?:19|20)\d\d年?(?:出?生|的)|生于|[0-9]0后|属[鼠牛虎兔龙蛇马羊猴鸡狗猪]|奔[三四五六七]",
    ),
    "home": AttributeForms(
        (
            *("live", "living", "resid", "stay", "home", "based", "house", "flat", "apartment", "address", "city"),
            *("town", "area", "place", "country", "住", "家", "址", "城市", "搬"),
        ),
        r"\bmy (?:home )?address\b"
        r"|\bwhere\b.{0,24}\b(?:live|living|reside|staying|home|based|house|flat|apartment)\b"
        r"|\b(?:what|which)\b.{0,20}\b(?:address|(?:city|town|country|area|neighbou?rhood|place)\b.{0,20}\b(?:live"
        r"|living|home|based|in))\b|住(?:在?哪|在?什么|在?啥|址)|家(?:在|住)哪|地址"
        r"|在哪(?:个|座)?(?:城市|儿)?(?:住|生活|定居)|哪(?:个|座)城市|搬(?:到|去)了?哪",
        (
            *("live", "living", "move", "moving", "based", "settle", "reloc", "home", "house", "flat", "apartment"),
            *("address", "place", "room", "rent", "住", "搬", "家", "租", "定居", "买房", "买了", "落户", "地址"),
        ),
        r"\bliv(?:e|es|ing|ed) (?:in|at|on|near|by|with|just|above|next|out|over|here|alone|across|two|five|ten)\b"
        r"|\bmov(?:ed|ing|e|es) (?:back |out |over |up |down |house |flat )*(?:to|into|in|from|here)\b"
        r"|\bbased (?:in|at|out)\b|\bsettled (?:in|into)\b|\brelocat\w+|\baddress is\b"
        r"|\b(?:my|our|the)(?: \w+)? (?:house|flat|apartment|place|home|studio|bungalow|cottage|condo)\b (?:is|in"
        r"|on|at|near)\b"
        r"|\b(?:bought|rent(?:ed|ing)?|got|found) (?:a|an|our|my)\b(?: \S+){0,3} (?:house|flat|apartment|place|room"
        r"|studio|condo)\b|\bhome (?:is|now)\b|住(?!院|宿舍费|手|嘴)|搬(?:到|去|来|进|家|了|回)|定居"
        r"|家(?:在|住|就在)|租(?:在|了|的|房)|买(?:了)?.{0,6}房|落户|安家|地址(?:是|在|：|:)",
    ),
    "work": AttributeForms(
        (
            *("work", "job", "occupation", "profession", "employ", "company", "career", "do", "上班", "工作", "职"),
            *("做", "干", "公司", "单位", "行业", "高就"),
        ),
        r"\bwhere\b.{0,16}\bwork\b|\bwho\b.{0,8}\bwork(?:ing)? for\b"
        r"|\bwhats?\b.{0,16}\b(?:job|occupation|profession|employer|company|career|line of work)\b"
        r"|\bwhat do(?:es)?\b.{0,20}\bdo(?: for (?:a living|work))?\s*\??$|\bwhat do(?:es)?\b.{0,20}\bwork as\b"
        r"|\bwhat i do for\b"
        r"|(?:在哪|在什么|哪家|什么|哪个|啥)(?:里|儿|个)?(?:地方|公司|单位)?(?:上班|工作|任职|职业|就职|高就)"
        r"|(?:做|干|是做|是干)(?:什么|啥)(?:的|工作|职业|行业)|(?:哪家|什么|哪个)(?:公司|单位|行业)|职业"
        r"|(?:工作|公司|单位)是(?:什么|哪|啥)",
        (
            *("work", "job", "join", "hire", "run ", "own ", "start", "promot", "i'm a", "im a", "i am a", "'s a"),
            *(" is a", "retire", "freelanc", "teach", "shift", "工作", "上班", "入职", "跳槽", "任职", "就职"),
            *("是", "当", "做", "开了", "在", "从事", "退休", "干", "升"),
        ),
        r"\bwork(?:s|ed|ing)? (?:\w+ ){0,2}(?:at|for|as|in|on|with|from|nights|shifts|part|full|remotely)\b"
        r"|\b(?:new |day |first |full-time |part-time )job\b|\bjob (?:is|at|as|in)\b"
        r"|\b(?:got|took|landed|offered) (?:a|the|me a|me the) (?:new )?(?:job|role|position)\b"
        r"|\bjoin(?:ed|ing|s) (?!us|me|the gym|a gym|a choir)\w|\bhired\b"
        r"|\brun(?:s|ning)? (?:a|an|my|our|his|her|the) (?:\w+ ){0,3}(?:bakery|shop|store|business|company|cafe"
        r"|café|restaurant|studio|agency|practice|farm|firm|salon|startup|clinic|bar|pub|stall)\b"
        r"|\b(?:promoted|transferred) to\b|\bretired\b|\bfreelanc\w+|\bself-employed\b"
        r"|\b(?:i'm|im|i am|is|was|'s|as|be|became) (?:an?|the|now an?) (?:[\w-]+ ){0,3}(?:\w+(?:eer|ologist|ician"
        r"|yst|grapher|keeper|smith|wright)|nurse|doctor|teacher|lawyer|solicitor|paralegal|designer|developer"
        r"|programmer|writer|editor|chef|cook|baker|barista|waiter|waitress|bartender|driver|pilot|manager|director"
        r"|consultant|accountant|architect|dentist|vet|pharmacist|therapist|psychologist|counsellor|plumber"
        r"|carpenter|builder|painter|farmer|fisherman|gardener|hairdresser|tailor|cleaner|journalist|reporter"
        r"|translator|interpreter|librarian|researcher|professor|lecturer|tutor|student|intern|trainee|apprentice"
        r"|freelancer|contractor|founder|owner|salesman|saleswoman|salesperson|agent|broker|banker|officer"
        r"|firefighter|paramedic|policeman|policewoman|soldier|midwife|carer|nanny|producer|photographer|musician"
        r"|actor|actress|artist|illustrator|animator|analyst|scientist|economist|planner|surveyor|inspector"
        r"|operator|welder|mechanic|electrician|receptionist|secretary|assistant|administrator|civil servant"
        r"|retired|unemployed|self-employed)\b|\b(?:started|start|starting) (?:at|as|my new)\b|\b(?:i|we) teach\b"
        r"|在.{1,20}(?:工作|上班|任职|就职|当|做|干)"
        r"|(?:是|当|做|干)(?:一?[名个位])?.{0,10}(?:师|医生|大夫|护士|程序员|研究员|公务员|职员|文员|店员|司机|销售"
        r"|会计|出纳|财务|经理|总监|主管|主任|校长|教授|讲师|记者|编辑|翻译|主播|演员|导演|编剧|作家|画家|警察|军人"
        r"|厨子|店长|老板|创始人|合伙人|自由职业者?|学生|研究生|博士生?|实习生|学徒|中介|保安|保姆|快递员|外卖员"
        r"|服务员|咨询顾问|顾问|农民|退休|产品|运营|后端|前端|测试|码农)|入职|跳槽|从事|开了?(?:一?[家间个])|退休"
        r"|升(?:了|为|到|职)|(?:新|换)(?:工作|公司|了工作)|工作是|职业是|做.{0,8}(?:工作|的|行业)",
    ),
    "diet": AttributeForms(
        ("eat", "drink", "food", "allerg", "diet", "intoleran", "avoid", "dish", "吃", "喝", "过敏", "忌", "饮食"),
        r"\bwhats?\b.{0,20}\b(?:can't|cannot|not|n't|avoid|shouldn't)\b.{0,12}\b(?:eat|drink|food|have)\b"
        r"|\ballergic to\b|\b(?:diet|dietary|allerg(?:y|ies)|food restrictions?|intoleran\w+)\b"
        r"|\b(?:foods?|dishes)\b.{0,20}\b(?:avoid|hate|dislike)\b|\bdo i eat\b|\bcan i eat\b"
        r"|(?:不能|不可以|不吃|不喝|不爱)(?:吃|喝)?(?:什么|啥|哪些)|对(?:什么|啥|哪些).{0,4}过敏|忌口"
        r"|过敏(?:史|源|原|的?东西|吗|什么)|饮食(?:上|方面|习惯|禁忌)"
        r"|(?:什么|哪些)(?:东西|食物|菜)?.{0,4}(?:不能|不可以|忌|过敏)",
        (
            *("allerg", "eat", "intoleran", "eliac", "vegetarian", "vegan", "halal", "kosher", "gluten", "lactose"),
            *("dairy", "diet", "hives", "drink", "sober", "pescat", "过敏", "不吃", "不能吃", "忌", "素", "清真"),
            *("不耐", "不喝", "戒", "不沾", "低糖", "低盐", "嘌呤", "碰不得", "不能碰"),
        ),
        r"\ballerg\w+|\bintoleran\w+|\bc?o?eliac\b|\bvegetarian|\bvegan|\bpescatarian|\bhalal\b|\bkosher\b"
        r"|\b(?:gluten|lactose|dairy|sugar|nut)[- ]free\b"
        r"|\b(?:no|avoid|without) (?:gluten|dairy|lactose|meat|pork|nuts|sugar|alcohol|shellfish)\b"
        r"|\b(?:don't|do not|can't|cannot|doesn't|never|stopped|quit|not|no longer|gave up) (?:eat|eating|drink"
        r"|drinking|touch|have)\b|\b(?:keto|diabetic) |\bdiet\b|\bsober\b|\bhives\b|过敏"
        r"|不(?:能|可以|敢|再)?(?:吃|喝|沾|碰)|忌口|忌(?:辣|生冷|海鲜)|吃素|素食|清真|不耐受"
        r"|戒(?:了|糖|酒|烟|咖啡|奶)|低(?:糖|盐|脂|嘌呤)|碰不得|生酮",
    ),
    "health": AttributeForms(
        (
            *("ill", "disease", "condition", "issue", "problem", "medic", "meds", "pill", "tablet", "diagnos"),
            *("taking", "病", "药", "身体", "健康"),
        ),
        r"\bwhats?\b.{0,24}\b(?:illness(?:es)?|disease|(?:medical|health) (?:condition|issue|problem)s?"
        r"|medications?|medicines?|meds|pills|tablets|diagnos\w+)\b|\bam i (?:on|taking)\b|\bmedical history\b"
        r"|(?:什么|啥|哪些|哪种)(?:慢性)?(?:病|毛病|药|疾病)|病史"
        r"|身体.{0,6}(?:什么|怎么|哪).{0,4}(?:问题|毛病|不好|不舒服)|健康(?:状况|问题)"
        r"|在?(?:吃|服)(?:什么|啥|哪种)药",
        (
            *("diagnos", "take", "taking", "mg", "tablet", "pill", "medic", "inhaler", "insulin", "blood pressure"),
            *("diabet", "asthma", "surgery", "condition", "disease", "syndrome", "itis", "migraine", "anxiety"),
            *("depress", "therapy", "injur", "knee", "back", "药", "病", "血压", "血糖", "手术", "炎", "症"),
            *("诊断", "查出", "住院", "复查", "胃", "腰", "膝"),
        ),
        r"\bdiagnos\w+"
        r"|\b(?:on|take|takes|taking|prescribed|took) (?:\S+ ){0,4}(?:mg|tablets?|pills?|statins?|antidepressants?"
        r"|medication|insulin|ibuprofen|metformin|blood thinners?|beta blockers?|inhaler)\b|\bblood pressure\b"
        r"|\bdiabet\w+|\basthma\w*|\bsurgery\b|\b\w{4,}itis\b|\bmigraines?\b"
        r"|\b(?:chronic|autoimmune|heart|kidney|liver|thyroid) \w+|\bsyndrome\b|\bslipped disc\b"
        r"|\b(?:bad|dodgy|torn|broken|injured) (?:knee|back|shoulder|hip|ankle)\b|\bpacemaker\b|\bepilep\w+"
        r"|(?:吃|服|用|开了?|停)(?:着|了)?.{0,10}(?:药|片|胶囊|胰岛素)|(?:高|低)血[压糖脂]"
        r"|血[压糖脂](?:有点|偏|高|低)|糖尿病|哮喘|手术|[\u4e00-\u9fff]炎|诊断|查出|确诊|突出|慢性|偏头痛|抑郁"
        r"|焦虑症|痛风|脂肪肝|结节|住院",
    ),
    "origin": AttributeForms(
        (
            *("from", "grow", "grew", "born", "raised", "origin", "hometown", "home town", "national", "人"),
            *("老家", "籍贯", "家乡", "出生", "长大"),
        ),
        r"\bwhere\b.{0,12}\b(?:from|grow up|grew up|born|raised|originally)\b"
        r"|\b(?:what|which)(?:'s| is)?\b.{0,12}\b(?:hometown|nationality|home town)\b"
        r"|(?:哪里|哪儿|哪|什么地方)的?人(?:$|？|\?|来着|啊|呢|呀)|老家|籍贯|家乡|在哪(?:里|儿)?(?:出生|长大)",
        (
            *("from", "grew", "grow", "born", "raised", "origin", "hometown", "native", "人", "老家", "长大"),
            *("出生", "籍贯", "家乡"),
        ),
        r"\b(?:i'm|im|i am|i come|he's|she's|is|are|was|originally|comes?|family(?:'s| is)) (?:originally "
        r"|actually )?from\b|\bgrew up (?:in|on|near|outside)\b|\bborn (?:and raised )?in\b|\braised in\b"
        r"|\bhome ?town\b|\bnative of\b|\boriginally\b|老家|籍贯|家乡|(?:在|是).{1,8}(?:长大|出生)"
        r"|是(?:地道的?)?[\u4e00-\u9fff]{2,5}人(?!员|才|类|物|生|民|士|家)",
    ),
    "study": AttributeForms(
        (
            *("stud", "school", "universi", "college", "uni", "major", "degree", "course", "学", "读", "念"),
            *("专业", "毕业"),
        ),
        r"\bwhere\b.{0,16}\b(?:study|studied|studying|school|university|college|uni)\b"
        r"|\b(?:what|which)\b.{0,16}\b(?:major|degree|study|studying|studied|school|university|college|course)\b"
        r"|(?:学|读|念)(?:的是|的|了)?(?:什么|啥|哪个)(?:专业)?"
        r"|(?:什么|哪个|哪所|啥)(?:专业|学校|大学|学历|年级|学位)|在哪(?:里|儿|所)?(?:上学|读书|念书|读研|毕业)"
        r"|毕业于|哪(?:里|儿)?毕业",
        (
            *("study", "studied", "universi", "college", "degree", "graduat", "major", "phd", "master", "bachelor"),
            *("uni", "school", "course", "大学", "专业", "毕业", "读", "学", "高中", "博士", "硕士"),
        ),
        r"\bstud(?:y|ies|ied|ying) (?!abroad tip)\w+"
        r"|\b(?:university|college|polytechnic|uni|med school|law school|grad school)\b|\bdegree (?:in|from)\b"
        r"|\bgraduat\w+ (?:from|in|with)\b|\bmajor(?:ed|ing)? in\b|\b(?:phd|master'?s|bachelor'?s|msc|bsc|mba)\b"
        r"|大学|学院|专业|毕业|读(?:研|博|硕|本|大|高|初|小)|在读|上(?:大|高|初|小)[一二三四学中]|研究生|博士|硕士"
        r"|本科|学的是",
    ),
    "commute": AttributeForms(
        ("work", "office", "school", "there", "commut", "上班", "上学", "通勤", "公司", "单位"),
        r"\bhow\b.{0,20}\b(?:get|go|travel|commut\w+)\b.{0,12}\b(?:work|office|school|there)\b"
        r"|\bhow\b.{0,12}\bcommute\b|\b(?:my|the) commute\b"
        r"|(?:怎么|如何|坐什么|用什么)(?:去|来)?(?:上班|上学|通勤|去公司|去单位)"
        r"|上班.{0,6}(?:怎么去|坐什么|多远|多久|多长时间)|通勤",
        (
            *("commut", "train", "bus", "bike", "cycl", "drive", "walk", "tube", "metro", "subway", "tram"),
            *("ferry", "通勤", "地铁", "公交", "骑", "开车", "走路", "班车", "高铁", "打车", "步行"),
        ),
        r"\bcommut\w+"
        r"|\b(?:take|catch|get|ride|drive|walk|cycle|bike|bus|train|tube) (?:\S+ ){0,4}(?:to|into) (?:work"
        r"|the office|school|town|campus)\b|\b(?:to work|to the office) (?:by|on|every|each)\b|通勤"
        r"|(?:坐|乘|骑|开|走|挤|打|换乘).{0,12}(?:上班|上学|去公司|去单位|到公司|去学校)"
        r"|上班.{0,8}(?:坐|骑|开|走|挤|乘|地铁|公交)",
    ),
    "family": AttributeForms(
        (
            *("married", "single", "engaged", "divorced", "dating", "seeing", "relationship", "partner", "spouse"),
            *("half", "significant", "marital", "lives with", "family", "婚", "对象", "单身", "恋爱", "家里"),
            *("伴侣", "另一半", "跟谁"),
        ),
        r"\b(?:am i|are we|is \w+) (?:married|single|engaged|divorced|dating|seeing|in a relationship)\b"
        r"|\bwho(?:'s| is| am)\b.{0,10}\b(?:partner|spouse|married to|other half|significant other)\b"
        r"|\b(?:relationship|marital) status\b|\bwho lives with\b|\bwho'?s? in my family\b"
        r"|\btell me about my family\b|(?:结婚|离婚|对象|单身|恋爱|婚)(?:了吗|了没|吗|没有?$|没有?？|状况|情况)"
        r"|家里(?:有|都有)?(?:几口|哪些|什么|谁)|(?:伴侣|另一半|对象)(?:是|叫)谁|跟谁(?:一起)?住",
        (
            *("wife", "husband", "partner", "girlfriend", "boyfriend", "fianc", "married", "single", "divorc"),
            *("separat", "engaged", "wedding", "anniversary", "kids", "son", "daughter", "老婆", "老公", "妻"),
            *("夫", "太太", "女朋友", "男朋友", "女友", "男友", "对象", "结婚", "离婚", "单身", "订婚", "领证"),
            *("分手", "儿子", "女儿", "孩子"),
        ),
        r"\b(?:my|our) (?:\w+ )?(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|spouse|kids?|children"
        r"|sons?|daughters?|twins|parents)\b"
        r"|\b(?:got|getting|been|am|i'm|we're|happily|newly) (?:\w+ )?(?:married|engaged|divorced|separated"
        r"|single)\b|\bbroke up\b|\bsplit up\b|\bkids\b"
        r"|我(?:的|们家?|家)?(?:老婆|老公|妻子|丈夫|太太|女朋友|男朋友|女友|男友|对象|爱人|儿子|女儿|孩子|娃)|结婚"
        r"|离婚|单身|订婚|领证|分手|一家.口",
    ),
    "children": AttributeForms(
        ("kid", "child", "son", "daughter", "baby", "孩", "娃", "儿子", "女儿"),
        r"\bhow many\b.{0,8}\b(?:kids|children|sons|daughters)\b"
        r"|\bdo (?:i|we) have\b.{0,10}\b(?:kids|children|a (?:son|daughter|child|baby))\b"
        r"|(?:几|多少)个?(?:孩子|娃|小孩|儿子|女儿)|有(?:没有)?(?:孩子|娃|小孩)(?:吗|没|$|？|\?)",
        (
            *("kid", "child", "son", "daughter", "twins", "baby", "boys", "girls", "toddler", "孩子", "娃", "小孩"),
            *("儿子", "女儿", "闺女", "宝宝", "老大", "老二", "双胞胎", "宝妈", "宝爸"),
        ),
        r"\b(?:kids?|child(?:ren)?|(?:my|our|a|two|three|both|the|eldest|youngest) (?:\w+ )?(?:sons?|daughters?"
        r"|boys|girls|twins|bab(?:y|ies)|toddler))\b|孩子|[我俩三个]娃|小孩|儿子|女儿|闺女|宝宝|老大|老二|双胞胎",
    ),
    "pet": AttributeForms(
        ("pet", "animal", "dog", "cat", "养", "宠物", "猫", "狗"),
        r"\b(?:do|did) (?:i|we) (?:have|own|keep|get)\b.{0,10}\b(?:pets?|animals?|dogs?|cats?)\b"
        r"|\b(?:what|which)\b.{0,10}\b(?:pets?|animals?)\b|养(?:了|过|的)?(?:什么|啥|哪些|几|多少)"
        r"|有(?:没有)?(?:养)?宠物|养(?:猫|狗|宠物)(?:了|吗|没)|(?:几|多少)[只条](?:猫|狗)|有(?:猫|狗)吗"
        r"|我的?(?:宠物|猫|狗)(?:是|叫)",
        (
            *("dog", "cat", "pet", "puppy", "kitten", "adopt", "hamster", "rabbit", "parrot", "goldfish"),
            *("tortoise", "hound", "retriever", "terrier", "collie", "养", "猫", "狗", "宠物", "仓鼠", "兔"),
            *("鹦鹉", "乌龟", "金毛", "柯基", "泰迪", "哈士奇", "拉布拉多"),
        ),
        r"\b(?:dogs?|cats?|pets?|pupp(?:y|ies)|kittens?|hamsters?|rabbits?|parrots?|budgie|goldfish|tortoise"
        r"|greyhound|retriever|labrador|terrier|collie|spaniel|corgi|poodle|tabby)\b"
        r"|养(?:了|着|过)?.{0,6}(?:猫|狗|鼠|兔|鸟|鱼|龟|鹦鹉|蛇|只|条)|(?:猫|狗)(?:叫|叫做)|领养|金毛|柯基|泰迪"
        r"|哈士奇|拉布拉多|布偶|橘猫|英短|美短",
    ),
    "hobby": AttributeForms(
        ("hobb", "pastime", "time", "fun", "enjoy", "like", "sport", "爱好", "兴趣", "干", "做", "玩", "运动"),
        r"\b(?:hobb(?:y|ies)|pastimes?)\b|\bwhats?\b.{0,20}\b(?:free|spare) time\b"
        r"|\bwhats?\b.{0,8}\b(?:for fun|enjoy doing|like to do|like doing)\b|\b(?:what|which) sports?\b|爱好|兴趣"
        r"|(?:闲|空闲|业余|周末|下班|平时)(?:的)?(?:时候|时间)?.{0,4}(?:喜欢)?(?:干|做|玩)(?:些|点)?(?:什么|啥|嘛)"
        r"|(?:喜欢|爱)(?:做|干|玩)(?:些)?(?:什么|啥)|(?:做|练|玩|打)(?:什么|啥|哪些)运动|什么运动",
        (
            *("hobby", "hobbies", "love", "enjoy", "into ", "play", "paint", "climb", "run", "swim", "hik", "cycl"),
            *("yoga", "garden", "knit", "guitar", "piano", "choir", "club", "gym", "fish", "read", "weekend"),
            *("spare time", "爱好", "喜欢", "爱", "玩", "打", "跑", "游泳", "爬山", "徒步", "钓鱼", "瑜伽", "健身"),
            *("画", "弹", "唱", "摄影", "骑行", "书法", "周末", "迷上"),
        ),
        r"\bhobb(?:y|ies)\b"
        r"|\b(?:love|loves|enjoy|enjoys|into|started|taken up|took up|took|like|likes|doing|been|go|goes|went"
        r"|do) (?:\w+ )?(?:\w{3,}ing|yoga|pilates|karate|judo|tennis|football|golf|chess|pottery|photography"
        r"|crossfit|ballet)\b|\bplay(?:s|ing|ed)? (?:the |in |for )?\w+"
        r"|\b(?:choir|band|climbing gym|running club|book club|allotment)\b|爱好"
        r"|(?:喜欢|爱|迷上|开始|经常|常|坚持|在学|学了?|每.{1,3})(?:了|去|着)?.{0,4}(?:跑|游泳|爬山|徒步|登山|钓"
        r"|瑜伽|健身|画|弹|唱|拍照|摄影|骑|书法|下棋|围棋|打球|羽毛球|乒乓|篮球|足球|网球|滑雪|攀岩|跳舞|追剧|看书"
        r"|读书|写|做饭|烘焙|露营|养花|织|玩)",
    ),
    "body": AttributeForms(
        ("tall", "heavy", "weigh", "height", "size", "blood type", "高", "重", "码", "血型", "大"),
        r"\bhow (?:tall|heavy)\b|\bhow much\b.{0,10}\bweigh\b"
        r"|\bwhats?\b.{0,14}\b(?:height|weight|(?:shoe|clothes|clothing|shirt|dress|ring) size|blood type)\b"
        r"|\bwhat size\b|多高|身高|体重|多重|(?:鞋|衣服|裤子|穿)(?:码|多大|什么码|几码)|尺码|血型",
        (
            *("tall", "weigh", "cm", "kg", "kilo", "pound", "stone", "size", "feet", "blood type", "身高", "体重"),
            *("公斤", "斤", "米", "码", "血型"),
        ),
        r"\b\d(?:'|ft|\.\d+ ?m\b)|\b\d{2,3} ?(?:cm|kg|kilos?|pounds|lbs|stone)\b|\bweigh(?:s|ed)?\b"
        r"|\b(?:shoe|ring|shirt|dress) size\b|\bsize (?:\d+|small|medium|large|xl|m|l)\b|\bblood type\b|身高|体重"
        r"|\d+(?:公斤|斤|厘米)|一米[\d一二三四五六七八九]|\d{2}码|穿.{0,4}码|血型|[abo]+型血",
    ),
}


def may_ask_for(folded: str) -> list[str]:
    """The attributes of which a folded question has a cue. Most questions have none, and are not looked at further."""
    found = []
    # Loops instead of `any` with a generator, which takes twice as long: every question is looked at.
    for name, forms in ATTRIBUTES.items():
        for cue in forms.asked_cues:
            if cue in folded:
                found.append(name)
                break
    return found
