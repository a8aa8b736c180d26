"""Features of a claim by which its domain is told, after the order of precedence in docs/guides/longterm.md.

What the assistant is to do and whom to call, and tastes, are preferences; a day ahead makes a task; whatever other
people are or do is social; the user's own trade and study are professional; the rest is life. Patterns are searched in
folded text.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import WEEKDAY, any_of

__all__ = ["DOMAIN_FEATURES", "domain_features"]

# How somebody wants to be called; that is not their name.
_ADDRESS: Final = any_of(
    r"(?:叫|喊|称呼)我(?!去|来|做|干|吃|起|开|回|帮)",
    r"\b(?:call me|i go by|pronouns|it's \w+, (?:not|never|nobody)|don'?t call me|address me)\b|\bnobody (?:says"
    r"|calls|uses)\b",
)
_TASTE: Final = any_of(
    r"喜欢|偏[爱好]|最?爱(?:吃|喝|看|听|用)|讨厌|受不了|闻不得|难吃|不爱|吃不(?:惯|来|下)|听不来|看不来|口味|合胃口"
    r"|控$|铁粉"
    r"|只(?:认|吃|喝|听|看|用|要|坐|穿|买)|就认|一口(?:不|都不)|碰都不碰|基本不碰|(?:绝对|打死|死活|坚决)不(?:吃|喝"
    r"|碰|看|用)",
    r"\b(?:prefer\w*|favou?rites?|can'?t (?:stand|bear)|hate|dislike|nothing beats|i(?:'d| would) rather|not for me"
    r"|isn'?t for me"
    r"|only (?:drink|eat|use|read|listen|watch|wear|buy)|i (?:mostly |really |do |just )?(?:like|love|enjoy)"
    r"|big fan|mad about)\b",
)
# Reasons of health or faith: a dislike that has one is no matter of taste.
_FORBIDDEN: Final = any_of(
    r"过敏|医生|大夫|心[脏慌]|拉肚子|起疹|喘|肿|胃(?:不|疼|病|炎)|痛风|血[糖压脂]|尿酸|孕|手术|戒[了掉酒烟奶糖]"
    r"|吃素|素食|信[教佛主]|清真|宗教|斋",
    r"\b(?:allerg\w*|intoleran\w*|doctor\w*|heart|palpitations?|stomach|gout|blood|pregnan\w*|surgery|sober|quit"
    r"|gave up|given up"
    r"|vegan|vegetarian|halal|kosher|religio\w*|faith|hives|rash|swell\w*|throat|coeliac|celiac|upsets?"
    r"|makes me (?:ill|sick))\b",
)
# What somebody works with: the choice of a tool is a preference, the machine itself is a thing.
_TOOL: Final = any_of(
    r"(?:笔记|代码|编辑器|浏览器|输入法|软件|画图|做图|剪辑|绘画|播放器)[^，。]{0,8}(?:用|认)|用(?:的是|惯|着)"
    r"|卸(?:载|了)|朋友圈|不用(?:微信|抖音|微博|qq)",
    r"\b(?:neovim|vim|emacs|vs ?code|obsidian|notion|evernote|firefox|chrome|safari|linux|arch|fedora|ubuntu"
    r"|photoshop|figma"
    r"|procreate|facebook|insta(?:gram)?|tiktok|twitter|whatsapp|spotify)\b|\b(?:my|all my) (?:notes|code|coding"
    r"|writing)\b",
)
# Trades are told by what is done for money, for how long, and where.
_TRADE: Final = any_of(
    r"(?:在|给)[^，。]{1,14}(?:当|做|干|上班|打工|任职|跑|开(?:吊车|叉车|货车|公交|出租|塔吊|挖)|卖)(?!饭|梦|客"
    r"|作业)|干了[^，。]{1,6}年|[做当干][^，。]{1,10}的(?:$|[，。,])"
    r"|开(?:了|着)?(?:一|个|家|间|的)?[家间个]?[^，。]{0,6}(?:店|馆|厂|铺|公司|诊所|民宿|农场|网店|工作室|茶餐厅"
    r"|网约车|出租|货车|大车|滴滴)"
    r"|(?:大夫|医生|护士|兽医|教师|老师|律师|会计|程序员|工程师|设计师|翻译|编辑|记者|司机|厨师|电工|焊工|木匠|修复"
    r"|质检|审计|技师|店员|客服|保安|老板娘?|自由职业|接案|外包|待业|退休)"
    r"|(?:种|养|包)了?[^，。]{0,4}(?:亩|头|只羊|百只|箱)|打工|兼职|值班|夜班|上班|收入|到手|工资|月薪"
    r"|[考读念][^，。]{0,4}(?:研|博|硕|证|级|n[1-5])|博士|硕士|研究(?:的|方向|生)"
    r"|课题|论文|学(?:的是|的)|专业|毕业|不在[^，。]{2,6}(?:了|干|做)",
    r"\b(?:i|we|i'm|i've|we're) (?:fit|sell|sold|run|milk|farm|teach|taught|tutor|manage|lead|edit|translate|invoice)\b"
    r"|\bdrive (?:an? |the )?(?:\w+ )?(?:lorry|bus|taxi|cab|truck|crane|forklift|tram|train|ambulance|tractor|hgv"
    r"|uber)\b"
    r"|\b(?:i'm|i am|im|as|being|work as|working as|used to be|was) (?:an? )(?:[\w-]+ ){0,3}[\w-]+(?:er|or|ist|ian"
    r"|ant|ent|man|woman|nurse|vet|chef|cook|clerk|guard|pilot|physio)\b"
    r"|\b(?:freelanc\w*|self-employed|apprentice\w*|trainee|postdoc|phd|degree|thesis|research|for a living"
    r"|by trade|by day|my own (?:shop|practice|business)"
    r"|shop|clients?|customers?|shifts?|the till|startup|employer|between jobs|retired|salary|take home|backend"
    r"|front ?end|repo|deploy\w*|ci"
    r"|student|pupils|my class|uni|university|college|course|module)\b",
)
_WEEKLY: Final = any_of(
    r"每(?:天|周|晚|早|逢|个?月|年|个?星期|个?礼拜)|周[一二三四五六日末]都|固定|天天|一般|雷打不动",
    rf"\b(?:every|each|weekly|daily|usually|most)\b|\b{WEEKDAY}s\b|\b(?:mornings|evenings|nights|afternoons)\b",
)
_AHEAD: Final = any_of(
    r"下(?:下)?(?:周|个?月|个?星期|个?礼拜|学期|半年)|明[天年早晚]|后[天年]|大后天|月底|年底|年前|\d{1,2}[月号日]"
    r"|[一二三四五六七八九十]{1,3}(?:月|号)|国庆|春节|寒假|暑假|到期|截止|之前|前(?:要|得|必须|交)",
    r"\b(?:next|tomorrow|tonight|due|deadline|booked|by (?:the end|next|christmas|\w+day)|the \d{1,2}(?:st|nd|rd"
    r"|th)|\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:jan|feb|mar|apr|may|jun|jul"
    r"|aug|sep|oct|nov|dec)\w*|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w* \d{1,2}"
    r"|at \d{1,2}(?::\d\d)?(?: ?[ap]m)?|runs out|expires)\b",
)
_PAST: Final = any_of(
    r"去年|前年|上(?:周|个?月|个?星期)|以前|当年|小时候|[多几一二三四五六七八九十\d]年(?:前|了)|\d{4}年|从小|那年",
    r"\b(?:last (?:year|month|week|summer|winter|autumn|spring)|ago|since|used to|in (?:19|20)\d\d"
    r"|for (?:\w+ )?years|as a (?:kid|child))\b",
)
_AIM: Final = any_of(
    r"目标|立个?flag|想(?:在|要?攒|瘦)|攒|争取|(?:降|减|瘦|涨)到|存够",
    r"\b(?:goal|aim(?:ing)?|target|trying to|saving|save up|get down to|hope to)\b",
)
_OTHERS: Final = any_of(
    r"^(?:那个?|还有)?(?:我们?|咱|俺)?(?:家|们?组|公司|班|部门|单位|团队)?的?(?:那个)?(?:[阿小老][\u4e00-\u9fff]"
    r"|[\u4e00-\u9fff]总)(?![师板家公婆爸妈虎鼠实是])"
    r"|^(?:跟我|和我|带我|教我|对门|隔壁|楼[上下]|同[组桌班]|合租)[^，。]{0,10}(?:姑娘|师[傅父]|哥|姐|妹|弟|叔|姨"
    r"|奶奶|爷爷|大爷|大妈|人家|室友|同学|同事|[阿小老][\u4e00-\u9fff])"
    r"|(?:大伯|伯母|婶|姑父|姨父|舅妈|小姑子|小叔子|小舅子|大姨子|妯娌|连襟|表嫂|堂嫂|囡囡|师[兄姐弟妹]|干妈|干爹"
    r"|他爸|他妈|她妈|她爸)",
    r"^(?:the|a) (?:guy|girl|man|woman|lad|lady|bloke|person|family|couple|kid)\b|^(?:mrs?|ms|dr|prof(?:essor)?"
    r"|aunt\w*|uncle|gran\w*|nan\w*) \w+"
    r"|\bin-?laws?\b|\bthey(?:'re| are) both\b|\b(?:across the hall|next door|upstairs|on my team|from work|at work"
    r"|in accounts)\b",
)
_NAME: Final = any_of(
    r"我(?:的名字)?(?:叫|姓|本名|全名)(?!你|他|她|外卖|车)|单名|敝姓|单身|未婚|离异|离婚|已婚",
    r"\bmy name(?:'s| is)\b|\b(?:i'm|i am) (?:single|married|divorced|widowed|engaged)\b|\bnever been married\b"
    r"|^(?:hi,? )?i'm [a-z]+[.!]?$",
)

DOMAIN_FEATURES: Final = (
    *("a form of address", "a taste", "a taste that is forbidden", "a taste that is free", "a tool", "a trade"),
    *("weekly", "ahead", "ahead and not weekly", "past", "an aim", "other people first", "a trade of others"),
    *("ahead, of others", "a name or a status"),
)
"""The names of the features, in their order."""


def domain_features(text: str, *, of_others: bool) -> list[float]:
    """The features of a claim, in the order of `DOMAIN_FEATURES`; `of_others` where its subject is somebody else."""
    folded = fold(text).strip()

    def has(pattern: re.Pattern[str]) -> bool:
        return pattern.search(folded) is not None

    taste, forbidden, weekly, ahead, trade = has(_TASTE), has(_FORBIDDEN), has(_WEEKLY), has(_AHEAD), has(_TRADE)
    others = of_others or has(_OTHERS)
    found = (
        *(has(_ADDRESS), taste, taste and forbidden, taste and not forbidden, has(_TOOL), trade and not others),
        *(weekly, ahead, ahead and not weekly, has(_PAST), has(_AIM), others, trade and others),
        *(ahead and others, has(_NAME)),
    )
    return [float(value) for value in found]
