"""The tables behind `find_statements`: by which words people state something worth remembering, in both languages.

Patterns are searched in folded text: lower case, simplified characters, half-width letters, straight quotes. To teach a
new way of saying something, add it to the alternatives of its rule. Rules are tried in order and the first that
matches names the kind, so what is surer or more important stands first. Importance follows the scale of the
long-term memory: 0.7 and more is worth keeping.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from jiyi.model.domain import DOMAINS, Domain
from jiyi.text.patterns import WEEKDAY, any_of

__all__ = [
    "DOMAINS",
    "DOMAIN_WORDS",
    "RULES",
    "Domain",
    "Kind",
    "Rule",
]

Kind: TypeAlias = Literal[
    "instruction", "preference", "identity", "relation", "health", "fact", "decision", "date", "plan"
]


@dataclass(frozen=True, slots=True)
class Rule:
    """A way of stating something."""

    kind: Kind
    domain: Domain | None
    """`None`: the words of the sentence decide."""
    importance: float
    confidence: float
    pattern: re.Pattern[str]
    lasting: bool = True
    """Whether it holds for longer than today whatever else is said; `False` gives way to words like "just now"."""


_EN_I: Final = r"\bi(?:'m| am|'ve| have|'ve been| have been)?\b"
_EN_SOFT: Final = (
    r"(?: (?:really|much|absolutely|honestly|just|also|still|generally|usually|definitely|personally|do|would))*"
)
_EN_KIN: Final = (
    r"(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]+|ex(?:-\w+)?|mother|father|mom|mum|dad"
    r"|parents?|sisters?"
    r"|brothers?|sons?|daughters?|step\w+|kids?|child(?:ren)?|twins?|uncle|aunt|cousin|niece|nephew|grand\w+"
    r"|\w+-in-law"
    r"|(?:best |old |close )?friends?|boss|manager|colleague|co-?worker|team ?mate|room ?mate|flat ?mate|house ?mate"
    r"|neighbou?rs?|landlord|teacher|advisor|adviser|supervisor|mentor|business partner|co-?founder|therapist|baby"
    r"|family)"
)
_ZH_KIN: Final = (
    r"(?:太太|老婆|妻子|媳妇|爱人|老公|丈夫|先生|男朋友|女朋友|男友|女友|对象|未婚[夫妻]|前[夫妻任]|爸妈|父母"
    r"|爸爸?|妈妈?|父亲|母亲|爷爷|奶奶|姥姥|姥爷"
    r"|外公|外婆|公公|婆婆|岳父|岳母|丈母娘|哥哥?|姐姐?|弟弟?|妹妹?|表[哥姐弟妹]|堂[哥姐弟妹]|儿子|女儿|闺女|孩子"
    r"|娃|侄[子女]|外甥女?|孙[子女]"
    r"|叔叔?|舅舅?|姑姑?|姨妈?|伯伯?|嫂子|姐夫|妹夫|家人|闺蜜|发小|朋友|同学|室友|舍友|同事|老板|领导|上司|组长"
    r"|主管|导师|老师|邻居|房东|合伙人|搭档)"
)
_ZH_WHEN: Final = (
    r"(?:每(?:天|周|晚|早|个?月|年|次|逢|到|个?星期|个?礼拜|个?周末)|周[一二三四五六日末天]都|天天|常年|平时|从小"
    r"|一直)"
)

RULES: Final[tuple[Rule, ...]] = (
    # --- health -----------------------------------------------------------------------------------------------------
    Rule(
        "health",
        "lifestyle_and_interests",
        0.95,
        0.95,
        any_of(
            r"过敏|不耐受|哮喘|糖尿病|高血压|低血糖|心脏病|癫痫|抑郁症|焦虑症|痛风|失眠症|孕期|怀孕|[甲乙]肝|鼻炎"
            r"|胃病|胃炎|贫血|近视\d|晕车|晕船|恐高",
            r"(?:一碰|一吃|吃了|喝了|闻到).{0,8}(?:起疹|拉肚子|吐|休克|难受|头晕|发痒)",
            r"医生(?:让|叫|要求|建议|说|嘱咐|开)|(?:摔|扭|拉|受|骨折|摔断).{0,3}伤了?.{0,4}(?:膝|腰|腿|脚|手|肩|背"
            r"|韧带)|做过.{0,6}手术|腰椎|颈椎病",
            r"\ballerg(?:y|ic|ies)\b|\bintoleran(?:t|ce)\b|gives? me (?:hives|a rash|migraines?|cramps)"
            r"|\bdiagnosed with\b",
            r"\bi(?:'ve| have|'m|'ve got| am)?(?: got| on)? .{0,20}\b(?:diabet\w+|asthma\w*|hypertension|epilep\w+"
            r"|celiac|coeliac|migraines)\b",
            r"\bmy (?:\w+ )?(?:insomnia|asthma|diabetes|blood pressure|migraines?|epilepsy|arthritis|condition"
            r"|medication)\b",
            r"\b(?:doctor|gp|physio\w*|therapist|dentist) (?:\w+ )?(?:put|told|says|said|prescribed|wants|advised)\b",
            r"\bi (?:broke|injured|tore|sprained|hurt) my\b|\bi(?:'m| am) pregnant\b|\bi(?:'m| am) on (?:insulin"
            r"|antidepressants)\b",
        ),
    ),
    # --- names and who is who ---------------------------------------------------------------------------------------
    Rule(
        "identity",
        "social_and_relationships",
        0.9,
        0.95,
        any_of(
            r"我(?:的名字)?(?:叫|姓|本名|全名|大名)(?!你|他|她|它|人|外卖|车)|(?:都)?(?:叫|喊|称呼)我(?!去|来|做"
            r"|干|吃|起|开|回|帮)",
            r"我的?(?:英文名|网名|昵称|笔名|生日|属相|星座|血型)|我(?:今年)?\d{1,3}岁"
            r"|我(?:今年)?[一二三四五六七八九十]{1,3}岁|我是\d{2,4}年(?:出生|生)|我(?:是)?[^，。]{1,6}人(?:$"
            r"|[，。,])",
            r"\bmy (?:full |real |nick|pen |middle |last |first )?name(?:'s| is)\b|\bcall me\b|\bi go by\b"
            r"|\bi'm called\b|\bon paper\b",
            r"\bi(?:'m| am) \d{1,3}(?: years old)?(?=$|[.,!;]| and\b| now\b)|\bmy (?:birthday|star sign|blood type"
            r"|pronouns)\b|\bi was born\b",
            r"\bi(?:'m| am) (?:originally )?from\b",
        ),
    ),
    Rule(
        "identity",
        "lifestyle_and_interests",
        0.8,
        0.9,
        any_of(
            r"我(?:现在|目前|们|家)?(?:就|都|一直)?住(?:在|[^，。]{0,6}(?:区|路|小区|镇|村))|我(?:刚|们|家"
            r"|已经)?搬(?:到|去|来|进|家)|我(?:在|从)[^，。]{1,8}(?:定居|长大|出生)|老家(?:在|是)|我家(?:在|就在)",
            r"\bi(?:'m| am)? (?:currently |now |still )?(?:live|living|based|reside) (?:in|at|near|on)\b"
            r"|\bwe live (?:in|at|near)\b",
            r"\b(?:i|we)(?:'ve| have)?(?: just| recently)? moved (?:to|into|back)\b|\bmy (?:home ?town|address"
            r"|flat|apartment|house) is\b",
        ),
    ),
    Rule(
        "identity",
        "social_and_relationships",
        0.85,
        0.9,
        any_of(
            r"我的?(?:手机|电话|微信|邮箱|qq)(?:号码?|地址)?(?:是|为|:|：|换成|改成)",
            r"\bmy (?:new )?(?:phone|mobile|cell|e-?mail|number|wechat)(?: (?:number|address|id))?(?: is|'s"
            r"|:) ?\S*[\d@]",
        ),
    ),
    # --- what is to be done and when, on request --------------------------------------------------------------------
    Rule(
        "instruction",
        "tasks_and_schedules",
        0.85,
        0.9,
        any_of(
            r"(?:提醒|催|通知|叫醒)(?:我|一下我|大家)|别(?:让我)?忘(?:了|记)|不要忘(?:了|记)|记得(?:帮我|提醒|要"
            r"|在|把|去|给|带|交|买)",
            r"\bremind me\b(?! (?:what|how|who|why|where|when|again))|\bdon'?t (?:let me )?forget\b|\bnudge me\b"
            r"|\bping me\b|\bwake me\b",
        ),
    ),
    # --- decisions --------------------------------------------------------------------------------------------------
    Rule(
        "decision",
        None,
        0.85,
        0.9,
        any_of(
            r"(?:决定|敲定|拍板|商定|议定|约定|约好|说好|谈妥|定下来|定了(?:用|下|要|在)|定为|改用|选用|采用|选定"
            r"|选型|确定(?:用|采用|选|了|在|为)|弃用|不再用)",
            r"我们(?:最终|最后|还是)?(?:选择|选了|决定|打算用|会用|将使用|用的是)|(?:最终|最后)(?:选|定|用)了?"
            r"|(?:方案|项目|数据库|框架|技术栈|版本|架构).{0,6}(?:定了|定在|改为|改成|换成|用)",
            r"(?:董事会|老板|领导|甲方|公司|评审).{0,4}(?:批准|批了|通过了|同意了)",
            r"\b(?:decided|settled|agreed|opted|voted|committed) (?:to|on|for|that|against|not)\b|\bwe(?:'ve"
            r"| have)? (?:chosen|chose|picked|went with)\b",
            r"\bwe(?:'re| are) (?:going with|switching|migrating|moving (?:to|from)|dropping)\b|\bwe(?:'ll"
            r"| will) (?:use|go with|stick with|be using|adopt|keep|drop)\b",
            r"\b(?:final decision|it's decided|lost the vote|won the vote|signed off on)\b|\b(?:board|team|client"
            r"|management|committee|boss|cto|ceo|we)(?: has| have)? approved\b",
        ),
    ),
    # --- deadlines, appointments, plans -----------------------------------------------------------------------------
    Rule(
        "date",
        "tasks_and_schedules",
        0.85,
        0.9,
        any_of(
            r"截止|截稿|最后期限|期限|到期|过期|ddl|(?:之前|以前|前)(?:必须|要|得|一定)?(?:交|提交|完成|搞定|做完"
            r"|上线|发|给|办|还|付|寄|报名|缴)",
            r"(?:必须|一定要|务必|得)(?:在|赶在)?.{1,12}(?:之前|以前|前)|(?:定在|改到|挪到|推迟到|提前到|延期到"
            r"|安排在|约在|约了)",
            r"\bdeadline\b|\b(?:is|are|'s) due\b|\bdue (?:on|by|date|in|next|this|tomorrow)\b|\bno extensions?\b"
            r"|\b(?:expires?|runs out|is up) (?:in|on|next|this|at)\b",
            rf"\b(?:by|before|no later than) (?:the end of|end of|next|this|tomorrow|eod|noon|midnight|{WEEKDAY}"
            rf"|\d|the \d)",
            r"\b(?:moves?|moved|postponed?|pushed|rescheduled|brought forward|scheduled) (?:\w+ ){0,3}?(?:to|for"
            r"|until) (?=\d|the \d|next|mon|tue|wed|thu|fri|sat|sun)",
        ),
    ),
    # --- people -----------------------------------------------------------------------------------------------------
    Rule(
        "relation",
        "social_and_relationships",
        0.8,
        0.85,
        any_of(
            rf"(?:我|咱|俺)(?:们|家|的|有个|有一个|大学|高中|小学|以前|前){{0,3}}(?:的)?{_ZH_KIN}",
            rf"(?:^|[，,。;；、])(?:家里)?{_ZH_KIN}(?:叫|是|在|今年|刚|[\d一二三四五六七八九十]+|住|快|下|已经"
            rf"|最近|对|上|一碰|特别|身体)",
            rf"是我(?:的|们|大学|高中|以前的?)?{_ZH_KIN}|结婚(?:纪念日|了|证|\d)|离婚|订婚|领证|分手了|纪念日|忌日"
            rf"|(?:单身|丁克)",
            rf"\b(?:my|our) (?:\w+ ){{0,2}}?{_EN_KIN}(?:'s)?\b|\bis my (?:\w+ ){{0,2}}?{_EN_KIN}\b"
            rf"|\b{_EN_KIN} of mine\b",
            r"\bgot (?:engaged|married|divorced)\b|\b(?:i'm|we're|i am|we are) (?:engaged|married|divorced|single"
            r"|separated|expecting)\b|\banniversary\b",
        ),
        lasting=False,
    ),
    # --- standing wishes about how things are done ------------------------------------------------------------------
    Rule(
        "instruction",
        None,
        0.85,
        0.9,
        any_of(
            r"(?:记住|记下|记一下|请记|帮我记|备忘)|(?:以后|今后|从现在起|从今天起|从今往后|往后|下次)(?!再说|吧"
            r"|聊|见)|(?:从下(?:周|个?月)|从明天)(?:开始|起)",
            r"(?:永远|千万|绝对|一律|统统|默认|统一)(?:都|别|不要|不准|用|给|按)|(?:别|不要|不用)(?:再)?(?:给我"
            r"|跟我|对我|在我|叫我|那么)|(?:不用|别)(?:太|那么|这么)(?:客气|啰嗦|长|正式)",
            r"(?:回答|回复|说话|写|解释|推荐|翻译|代码|示例|文档|标点|格式|界面|称呼).{0,12}(?:就行|即可|就好|统一"
            r"|都用|只用|不要|别|尽量|换成|一点)|备注一下",
            r"\b(?:please )?(?:remember|note|keep in mind|bear in mind)\b(?! (?:when|how|the time|that time|what))"
            r"|\b(?:from now on|going forward|henceforth|in (?:the )?future)\b",
            r"\bstarting (?:from |with )?(?:next|this|today|tomorrow|now|in|on)\b|\b(?:whenever|every time"
            r"|each time|any time|anytime) (?:you|i|we)\b|\b(?:for (?:future )?reference|for the record|fyi"
            r"|note for later)\b",
            r"\b(?:never|always)\b.{0,30}\b(?:me|my|us|our|you|use|send|ask|write|call|reply|answer|include|say)\b"
            r"|\b(?:should|must|may) (?:never|always|not ever)\b",
            r"(?:^|[.,;!] ?|\bplease |\bcould you |\bcan you )(?:stick to|use|give me|write|keep|avoid|skip|stop"
            r"|don'?t|answer|reply|address|speak)\b.{0,60}?\b(?:with me|for me|to me|everything|anything|always"
            r"|by default|in general|from me|any|whenever|all my)\b",
            r"\b(?:stop|quit) (?:calling|sending|asking|using|telling)\b|\bdon'?t (?:ring|call|phone|text|email"
            r"|message|address|ask|tell|send|show|recommend|suggest|use|ever)\b",
        ),
    ),
    # --- likes and dislikes -----------------------------------------------------------------------------------------
    Rule(
        "preference",
        "user_preferences",
        0.8,
        0.9,
        any_of(
            r"我?(?:最|很|特别|超|非常|挺|比较|真的?|都|就|还是|一直|更|不太?|从来?不?|只){0,2}(?:喜欢|偏爱|偏好"
            r"|讨厌|厌恶|热爱|受不了|烦(?!死)|反感|钟爱|中意|爱(?:吃|喝|看|听|玩|用|穿))",
            r"我?(?:习惯|宁愿|宁可|倾向于?|不习惯|吃不惯|看不惯|喝不惯|不能接受|接受不了|不敢(?:看|吃|坐))"
            r"|合我(?:的)?(?:口味|胃口)|口味(?:比较|偏)|(?:我|只)(?:只|从来?不|从不|一般不|基本不)(?:吃|喝|看|用"
            r"|穿|听|坐|买)",
            r"我(?:总是|通常|一般|向来|老是)|(?:看着|看久了|听着|用着).{0,4}(?:费劲|难受|眼睛疼|别扭)|有事尽量"
            r"|尽量.{0,6}(?:找我|联系我)",
            rf"\bi{_EN_SOFT} (?:prefer|like|love|enjoy|adore|hate|dislike|detest|loathe|can'?t stand|can'?t bear"
            rf"|don'?t like|don'?t enjoy|don'?t eat|don'?t drink)\b(?! (?:it|that|this)\b)",
            r"\b(?:i'd|i would|would) rather\b|\bmy (?:\w+ )?favou?rite\b|\bis my (?:all-time )?favou?rite\b"
            r"|\bnot my (?:thing|cup of tea|style)\b|\bdoes it for me\b|\bi'm into\b",
            r"\bi(?:'m| am) (?:not )?(?:a|an|much of a|big on|more of a) (?:\w+ ){0,3}(?:person|fan|lover|guy|girl"
            r"|eater|drinker)\b|\b(?:works|is) best(?: for me)?\b|\bdrives me (?:up the wall|crazy|nuts|mad)\b",
            r"\bi (?:only|never|always|hardly ever|rarely|usually|normally|tend to|can'?t think in|don'?t do)\b"
            r"|\bgets on my nerves\b|\b(?:my eyes glaze over|makes me cringe)\b",
        ),
    ),
    # --- work and study ---------------------------------------------------------------------------------------------
    Rule(
        "fact",
        "professional_and_academic",
        0.78,
        0.85,
        any_of(
            r"我(?:现在|目前|之前|以前)?(?:在|是|当|做|从事|负责|带|管|教|任职|就职|就读|毕业|考|学的?是?"
            r"|读).{0,20}(?:工作|上班|公司|集团|大学|学院|专业|工程师|医生|护士|老师|律师|设计师|会计|经理|程序员"
            r"|司机|厨师|研究|博|硕|研[一二三]|组|团队|部门|项目|校|中学|初中|高中|小学|的$)",
            r"(?:我(?:们)?|^)(?:上?个?月|上周|去年|今年|刚|最近|前年|已经|明年)?(?:跳槽|入职|离职|辞职|转行|升职|晋升"
            r"|升了|毕业|创业|被裁|转正|退休|考上|换工作)|(?:裁员|在职)",
            r"(?:正在|在|要)?(?:准备|备考|复习).{0,10}(?:考|证|师|雅思|托福|gre|司法|注册|公务员|研究生|级)"
            r"|(?:过了|通过了|考了|拿了?) ?(?:n[1-5]|[四六]级|雅思|托福|cpa|证)|在读[博硕研大]|我(?:的)?(?:专业"
            r"|方向|课题|职业|工号"
            r"|岗位|论文)",
            r"(?:生产|测试|预发|线上|开发)环境|(?:服务器|端口|域名|仓库|分支|接口|账号|工位|预算|客户"
            r"|供应商)[^，。？]{0,8}(?:是|在|为|叫|有)|(?:导师|老师|学校|公司|部门|甲方|客户)(?:要求|规定|让我)"
            r"|我们(?:部门|公司|团队|组|项目)",
            rf"{_EN_I}(?: currently| now| mostly| also)? (?:work|working|freelanc\w*|employed|stud(?:y|ying)"
            rf"|major(?:ing)?|teach(?:ing)?|research\w*|intern\w*|manage|managing|lead|leading|own|run"
            rf"|running) (?:a |an |the |as|at|for|in|on|my|our|nights?|night|\w+ at|with|from|remotely|part)",
            r"\bi(?:'ve| have) been (?:with|at|working|teaching|coding|studying)\b|\bi (?:quit|left|joined|founded"
            r"|co-?founded|graduated|got promoted|was promoted|got hired|got laid off|was laid off|retired"
            r"|started at|was hired|passed|failed)\b",
            r"\bi(?:'m| am) (?:a|an|the) (?:\w+[ -]){0,3}(?:engineer|developer|designer|teacher|nurse|doctor"
            r"|lawyer|student|manager|accountant|scientist|researcher|writer|editor|consultant|analyst|architect"
            r"|chef|driver|pilot|illustrator|photographer|professor|founder|freelancer|translator|programmer"
            r"|administrator|librarian|carpenter|electrician|farmer|dentist|pharmacist|veterinarian|musician"
            r"|journalist|electrician|plumber)\b",
            r"\bmy (?:\w+'?s? )?(?:job|thesis|dissertation|research|phd|doctorate|degree|major|startup|company"
            r"|employer|field|profession|career|office|team|department|salary|gpa)\b|\bi(?:'m| am) (?:sitting"
            r"|preparing for|studying for|taking|retaking) (?:the |my )?\w+ ?(?:exam|bar|test|course|certif\w+)?",
            r"\b(?:our|the) (?:\w+ )?(?:staging|production|prod|server|stack|repo(?:sitory)?|codebase|database"
            r"|backend|frontend|api|pipeline|sprint|budget|client|vendor)\b.{0,40}\b(?:is|are|runs?|uses?|was|has"
            r"|lives?|wipes?)\b|\bbudget (?:of|is)\b|\bwe (?:use|run|deploy|host|build)\b",
            r"\bi (?:know|speak|write|code in) \w+(?: \w+)? (?:well|fluently)\b|\bi(?:'ve| have) never (?:touched"
            r"|used|written|learned)\b|\bi(?:'m| am) (?:fluent|proficient|certified)\b",
        ),
        lasting=False,
    ),
    # --- plans ------------------------------------------------------------------------------------------------------
    Rule(
        "plan",
        "tasks_and_schedules",
        0.75,
        0.8,
        any_of(
            r"(?:我|我们|咱们)?(?:打算|计划|准备|预计|安排好|想好了|决心|立志|目标是)(?:在|要|去|把|带|明年|下"
            r"|今年|月底|年底|周末|[^，。？]{1,10})|(?:票|酒店|机票|车票)(?:已经|都)?(?:买|订)(?:了|好)",
            r"(?:明天|后天|下周|下个?月|明年|周[一二三四五六日末天]"
            r"|[一二三四五六七八九十\d]+[号日])[^，。？]{0,10}(?:要去|要交|要开|得去|出差|开会|面试|考试|体检|手术"
            r"|搬家|飞|出发|复查|答辩|验收|到货|上线|出院|聚餐)",
            r"\b(?:i|we)(?:'m|'re| am| are)? (?:plan(?:ning)?|intend(?:ing)?|hop(?:e|ing)|aim(?:ing)?|sav(?:e"
            r"|ing) up) (?:to|on|for)\b|\bmy (?:goal|plan|resolution|aim|dream) (?:is|for)\b",
            r"\b(?:i|we)(?:'m|'re| am| are) (?:flying|travell?ing|moving|getting married|visiting|going|heading"
            r"|driving|hosting|launching|leaving|having)\b(?! crazy| nuts| mad| out of my)",
            rf"\b(?:is|are|'s|'re) (?:coming|arriving|visiting|happening|scheduled|booked)\b.{{0,30}}(?:{WEEKDAY}"
            rf"|tomorrow|next|\d|tonight|weekend)",
            r"\bi (?:have|'ve got|have got) (?:a|an|my|the) (?:\w+ ){0,2}(?:appointment|meeting|interview|exam"
            r"|flight|surgery|check-?up|call|presentation)\b",
        ),
    ),
    # --- how somebody lives -----------------------------------------------------------------------------------------
    Rule(
        "fact",
        "lifestyle_and_interests",
        0.74,
        0.75,
        any_of(
            rf"(?:我|我们|家里|咱)[^。？]{{0,12}}{_ZH_WHEN}|{_ZH_WHEN}[^。？]{{0,10}}(?:我|我们)?(?:都|会|要)"
            rf"|(?:养了|养着|养的).{{0,8}}|我(?:有|养)(?:一|两|三|[\d几])?[只条个](?:猫|狗|兔|鸟|鱼|仓鼠)",
            r"(?:吃素|素食|戒(?:烟|酒|糖)|减肥|健身|跑步|马拉松|瑜伽|游泳|钓鱼|爬山|徒步|露营|摄影|胶片|画画|书法"
            r"|下棋|打球|羽毛球|乒乓球|篮球|足球|网球|吉他|钢琴|小提琴|收藏|手账|烘焙|园艺).{0,12}(?:了|年|次|一直"
            r"|每|喜|迷|学|坚持|爱好)",
            r"(?:迷上|爱上|沉迷|入坑|坚持|学(?:了|过|会)|爱好|业余|开始(?:学|练|跑|健身|吃))|我(?:会|能)(?:弹|拉"
            r"|说|做|打|游|开)",
            rf"\bevery (?:day|week|weekend|morning|evening|night|month|year|summer|winter|other|{WEEKDAY})\b"
            rf"|\b{WEEKDAY}s?(?: (?:nights?|mornings?|evenings?|afternoons?))? (?:i|we)\b|\bon {WEEKDAY}s\b"
            rf"|\b(?:once|twice|three times) a (?:day|week|month|year)\b|\ba week\b",
            r"\b(?:i|we)(?:'ve| have) been (?:a |an )?\w+.{0,40}\b(?:for|since)\b|\b(?:i|we)(?:'ve"
            r"| have)? (?:started|taken up|took up|gave up|given up|got into|gotten into|switched to) \w+",
            r"\b(?:i|we) (?:play|bake|collect|practi[cs]e|volunteer|swim|climb|knit|paint|garden|cycle|hike|surf"
            r"|sing|dance|meditate|brew|fish|sew|do (?:yoga|pottery|pilates|karate))\b|\bi(?:'m| am) (?:vegan"
            r"|vegetarian|pescatarian|sober|teetotal)\b",
            r"\b(?:my|our) (?:\w+ ){0,2}(?:dog|cat|puppy|kitten|rabbit|parrot|horse|hamster|tortoise|pet|hobby"
            r"|hobbies|garden|car|bike|starter)\b|\b(?:i|we) have (?:a|an|two|three|four|\d) (?:\w+ ){0,2}(?:dog"
            r"|cat|puppy|rabbit|horse|kid|child)",
        ),
        lasting=False,
    ),
)

# How much each word speaks for a domain, where the rule leaves it open.
DOMAIN_WORDS: Final[tuple[tuple[Domain, re.Pattern[str]], ...]] = (
    (
        "tasks_and_schedules",
        any_of(
            r"\d+[号日点]|[一二三四五六七八九十]+[号点]|(?:周|星期|礼拜)[一二三四五六日天]|上午|下午|晚上|早上"
            r"|月底|年底|周会|例会|会议|提醒|闹钟|推迟|延期|提前|验收|上线日期|日程|行程|催我|每天",
            r"\b(?:\d{1,2}(?:am|pm|:\d\d)|schedule\w*|meeting|standup|appointment|release|postpone\w*|calendar"
            rf"|remind\w*|o'clock|deadline|nudge|sprint review)\b|\b{WEEKDAY}\b"
            r"|\bthe \d+(?:st|nd|rd|th)\b",
        ),
    ),
    (
        "professional_and_academic",
        any_of(
            r"数据库|框架|架构|前端|后端|接口|部署|服务器|端口|环境|代码库|技术|方案|项目|客户|合同|预算|公司|团队"
            r"|部门|论文|导师|课程|考试|学校|专业|产品|需求|版本|mysql|postgres|redis|python|java|vue|react"
            r"|typescript|docker|kafka",
            r"\b(?:database|framework|architecture|backend|frontend|server|staging|production|deploy\w*"
            r"|infrastructure|api|team|project|client|contract|budget|company|thesis|course|exam|kafka|terraform"
            r"|docker|kubernetes|postgres\w*|mysql|redis|react|vue|typescript|rust|python|repo\w*|platform"
            r"|event bus|vendor|quarter)\b",
        ),
    ),
    (
        "user_preferences",
        any_of(
            r"回答|回复|简短|简洁|语气|称呼|格式|标点|全角|字体|界面|深色|座位|靠窗|示例|代码的?时候|备注|口味"
            r"|推荐|订(?:票|高铁|机票|酒店)|点菜|别放|不要放|默认|客气|中文|英文",
            r"\b(?:bullet\w*|paragraphs?|metric|spelling|tone|format|font|slides?|seat|aisle|window seat|draft"
            r"|replies|answers?|email works|phone|units|concise|short answers|spoilers?|recommend\w*"
            r"|book (?:flights|hotels)|dark mode)\b",
        ),
    ),
    (
        "social_and_relationships",
        any_of(_ZH_KIN, rf"\b{_EN_KIN}\b|\b(?:wedding|birthday|anniversary)\b"),
    ),
    (
        "lifestyle_and_interests",
        any_of(
            r"运动|健身|跑步|吃|喝|睡|药|猫|狗|旅游|电影|音乐|游戏|爱好|装修|搬家|菜",
            r"\b(?:diet|food|meal|recipe|gym|run|running|sleep|dog|cat|movie|music|game|hobby|garden|travel)\b",
        ),
    ),
)
