"""What kind of fact a text states: health, identity, a standing instruction, a preference; alike in both languages.

The kinds decide what is never forgotten and what stands first in a profile. They are read from the words, because the
attribute of a claim is not always known; where it is, it counts as well.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import any_of
from jiyi.text.questions import hands_over_text, is_question, question_share
from jiyi.text.sentences import sentences
from jiyi.text.statements.keeping.smalltalk import is_small_talk
from jiyi.text.statements.keeping.statement_features import REQUEST

__all__ = [
    "HEALTH",
    "IDENTITY",
    "INSTRUCTION",
    "PREFERENCE",
    "begins_with_another_person",
    "fact_kind",
    "is_about_answers",
    "is_request",
    "states_nothing",
    "states_own_name",
]

HEALTH: Final = "health"
IDENTITY: Final = "identity"
INSTRUCTION: Final = "instruction"
PREFERENCE: Final = "preference"

_EN_KIN: Final = (
    r"(?:wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|mother|mom|mum|father|dad|sister|brother|son"
    r"|daughter|kids?|child|children|baby|twins|parents?|grand(?:mother|father|ma|pa|son|daughter|parents?))"
)
_ZH_KIN: Final = (
    r"(?:太太|老婆|妻子|媳妇|老公|丈夫|先生|爱人|对象|(?:女|男)朋友|女友|男友|未婚[夫妻]|爸爸?|父亲|妈妈?|母亲|爹|娘|爸妈|父母"
    r"|老伴儿?|[姐妹哥弟](?:姐|妹|哥|弟)?|儿子|女儿|闺女|孩子|宝宝|双胞胎|爷爷|奶奶|外公|外婆|姥姥|姥爷)"
)
_ZH_JOB: Final = (
    r"(?:师|员|医生|护士|律师|经理|总监|主任|校长|教授|记者|编辑|司机|学生|研究生|博士生?|警察|会计|老板|店长|创始人)"
)


_FOODS: Final = (
    "meat|fish|prawns|shellfish|seafood|nuts|peanuts|eggs|dairy|milk|cheese|pork|beef|gluten|wheat|sugar|salt|alcohol"
    "|wine|coffee"
)
_HEALTH: Final = any_of(
    r"\b(?:allerg\w+|intoleran\w+|c(?:o)?eliac|diabet\w+|asthma\w*|epilep\w+|hypertension|blood pressure|pregnan\w+"
    r"|pacemaker|migraines?|vegetarian|vegan|pescatarian|halal|kosher|gluten|lactose|insulin|warfarin|metformin"
    r"|medication|prescri\w+|blood type|kidney|heart (?:condition|disease|problem)|wheelchair|deaf|blind|surgery"
    r"|diagnosed)\b",
    r"\b(?:i|we|he|she|they) (?:don'?t|do not|doesn'?t|can'?t|cannot|never|no longer) "
    r"(?:eat|drink|smoke|take|tolerate)\b|\b(?:doesn'?t|can'?t|cannot) (?:eat|drink|tolerate)\b",
    r"\btakes? (?:[\w.,-]+ ){0,3}(?:mg|mcg|µg|iu|pills?|tablets?|capsules?|drops|inhaler)\b"
    r"|\b\d+(?:\.\d+)? ?(?:mg|mcg|µg|iu) of\b",
    r"\bi(?:'m| am) (?:on|taking) (?!a (?:trip|train|plane|bus|break|call)|my way|the |holiday|vacation)",
    r"过敏|不耐受|哮喘|糖尿病|高血压|心脏病|癫痫|怀孕|孕期|备孕|哺乳期|起搏器|偏头痛|吃素|素食|清真|忌口|戒(?:糖|酒|烟|口)"
    r"|血型|胰岛素|在吃.{0,6}药|长期(?:吃|服)|服用"
    r"|(?:每天|每晚|每日|早上|饭[前后]|睡前)(?:都|要)?(?:吃|服).{0,8}(?:药|片|粒|毫克|胶囊|mg)|做过.{0,6}手术|痛风|[左右][耳眼][^，。]{0,4}(?:不见|不清|失|瞎|聋)|失聪|失明|耳聋|(?:ab|[abo])型血|甲亢|甲减|胃炎|慢性病",
    r"(?:我|他|她|爸|妈|婆|公|儿子|女儿|孩子|们)(?:现在|一直|从来?|都)?(?:不(?:能)?|从不)(?:吃|喝|沾)",
    r"\b(?:bad|dodgy|sore|weak|injured) (?:back|neck|knees?|hips?|heart|shoulders?|eyesight|hearing)\b"
    r"|\bbroken (?:leg|arm|wrist|ankle|foot|hand|ribs?|hip)\b"
    r"|\b(?:arthritis|gout|ibs|reflux|an(?:a)?emi[ac]|ulcers?|eczema|thyroid|osteoporosis|depression|adhd|autis\w+)\b",
    r"\b(?:on|my|his|her|their) (?:\w+ )?diet\b|\bcalories a day\b"
    r"|\blow[- ](?:carb|salt|sodium|fat|sugar)\b|\bplant[- ]based\b"
    rf"|\b(?:back on|off|gave up|given up|giving up|quit|cut out) (?:the )?(?:{_FOODS}|drink|smoking|caffeine)\b"
    rf"|\b(?:won'?t|can'?t|cannot|mustn'?t) touch (?:[\w-]+ )?(?:{_FOODS})\b",
    r"(?:胃|肠胃|牙|腰|腿|膝盖?|关节|眼睛?|耳朵|心脏|肝|肾|颈椎|腰椎|血脂|尿酸|视力|听力)(?:口|有点|一直|也|都|最近|老是?)*"
    r"(?:不(?:太)?好|疼|痛|偏?高|有(?:点)?(?:问题|毛病)|不行)|[吃喝]不(?:了|得)|不敢[吃喝]",
    r"\b(?:palpitations|hives|inhaler|dementia|epipen|cholesterol|chemo\w*|dialysis)\b"
    r"|\bi(?:'m| am)(?: now)? off (?:coffee|caffeine|alcohol|dairy|sugar|salt|meat|gluten|wheat|red meat)\b",
    r"血糖|血压[高低偏]|降[压糖]药|(?:[加减调]到|改成|睡前|早上|注射|打)\D{0,3}\d+个?单位|都?不能(?:碰|沾)|(?:每天|一天|每日|早上|睡前)[一二两三四半\d]+[片粒]|结节|化疗|透析|戒咖啡",
)
_IDENTITY: Final = any_of(
    r"\bmy (?:full |first |last |real )?name(?:'s| is)\b|^(?:you can )?call me \w+$|\bi go by\b",
    r"\bi(?:'m| am) \d{1,3}(?: years old)?(?=$|[,.!;]| and\b| now\b)",
    r"\b(?:my|our) [\w' ]{0,20}(?:birthday|anniversary)\b|\bi was born\b",
    r"\bi(?:'ve| have)?(?: just| recently| now)? (?:started|got|took|joined|changed)(?: working)?(?: at| as| to)?"
    r"(?: an?| my)?(?: new)? (?:jobs?|position|role)\b|\bi(?:'ve| have| was| got)(?: been| just)? (?:promoted|hired)\b",
    rf"^(?:my|our) (?:\w+ )?{_EN_KIN}(?: has| have)?(?: \w+)? (?:died|passed away)\b",
    r"\b(?:i|we)(?:'m| am| are|'re)? (?:now |currently |still |all )?"
    r"(?:live|living|based|reside) (?:in|at|on|near|by)\b",
    r"\b(?:i|we)(?:'ve| have)?(?: just| recently)? moved (?:in)?to\b",
    r"\bmy (?:home )?address\b",
    r"\bmy (?:phone|mobile|cell)(?: number)?(?:'s| is) [+(]?\d|\bmy (?:phone|mobile|cell) number\b|\bmy e-?mail\b",
    r"\bi(?:'m| am)? (?:now |currently |still )?work(?:ing)? (?:at|for|as|in)\b|\bi (?:teach|study) \w+"
    r"|\bi run (?:an?|my|our|the) (?!marathon|half|\d|race|mile)\w+"
    r"|\bi(?:'m| am) an? (?:[\w-]+ ){0,3}(?:\w+(?:er|ist|ian|eer)|nurse|chef|student|doctor|accountant|architect)\b",
    rf"^(?:my|our) (?:\w+ )?{_EN_KIN}(?:'s name)?(?:'s| is| are| was)\b|\bis my (?:\w+ )?{_EN_KIN}\b"
    rf"|^(?:i|we)(?:'ve got| have| have got| got) (?:an?|one|two|three|four|five|\d) (?:\w+ )?{_EN_KIN}\b",
    r"我(?:的名字)?(?:叫(?!你|他|她|人|车)|姓)|叫我[\w·]{1,6}$|我(?:今年|现在)?\d{1,3}岁|生日|纪念日|忌日",
    rf"我(?:刚刚?|最近|已经|又)?(?:换(?:了)?(?:新|份|个)*工作|跳槽|入职|升职|升任|升为)"
    rf"|我(?:的|家|们)?{_ZH_KIN}.{{0,8}}(?:去世|过世|离世|病逝|不在了)",
    r"我们?家?(?:现在|目前|已经|一直|都|刚)?(?:住|定居|搬(?:到|去|来))|我们?(?:家)?(?:刚|已经|最近)?搬家了|我家(?:在|地址)|我的(?:地址|手机|电话|邮箱)",
    r"\bi(?:'ve| have)? (?:just |recently )?(?:changed jobs|started at)\b",
    rf"我(?:现在|目前)?在.{{1,16}}(?:工作|上班|任职|就职|读书|上学|读研|做.{{1,8}}|当.{{1,8}})$"
    rf"|我(?:现在)?(?:是|当|做)(?:一?[名个位])?.{{0,8}}{_ZH_JOB}",
    rf"(?:我|我们|咱)(?:的|家|们)?{_ZH_KIN}(?:的名字)?(?:叫|是|今年|在|有)|是我(?:的|家)?{_ZH_KIN}"
    rf"|我们?有(?:一|两|俩|三|四|\d)个?{_ZH_KIN}",
    # Chinese leaves out whose: 女儿周敏在重庆当老师.
    rf"^{_ZH_KIN}[\u3400-\u9fff]{{0,3}}?(?:叫(?!我|你|他|她|人|车)|今年\d|在.{{1,16}}(?:工作|上班|上学|读|当|做|教))",
    r"(?:快递|包裹)(?:都)?[寄送]到|收货地址|\bdelivery address\b",
)
_CAPITALISED: Final = r"[A-Z][\w'’-]*[a-z]"
_NAMED: Final = re.compile(
    rf"\bI(?:'m|’m| am) {_CAPITALISED}(?: {_CAPITALISED}){{0,3}}(?=$|[,.!;(]| and\b)"
    rf"|\b(?:[Mm]y|[Oo]ur) {_EN_KIN},? [A-Z][a-z]+\b"
)
"""Read from the text as it was written: a name begins with a capital letter."""
_OWN_NAME: Final = re.compile(
    rf"\b[Mm]y (?:full |first |last |real )?name(?:'s|’s| is) |\bI go by [A-Z]"
    rf"|(?:^|[.!,] |\b[Hh](?:i|ello|ey),? )(?:I'm|I’m|I am) "
    rf"{_CAPITALISED}(?: {_CAPITALISED}){{0,3}}(?=$|[,.!;(]| and\b)"
    r"|(?<!跟)(?<!和)我(?:的名字|的?全名|大名|本名)?(?:叫|是叫|姓)(?![你他她人车了过不])|我的名字是|我是[老小阿][\u3400-\u9fff]"
)
_ANSWERS: Final = any_of(
    r"\b(?:answers?|repl(?:y|ies)|respon(?:d|ses?)|bullet points?|emojis?|emoticons?|headings|markdown|jargon|tone"
    r"|(?:british|american|plain|simple) english|in (?:english|french|german|spanish|italian|chinese|mandarin)"
    r"|sentences?|paragraphs?|concise|verbose|small talk|compliments?|flatter\w*|apologi[sz]e|metric|imperial|celsius"
    r"|fahrenheit|24[- ]hour|exclamation marks?|call me|address me|speak to me|talk to me|write to me)\b",
    r"回答|回复|答复|说话|讲话|称呼|叫我|喊我|叫您|喊您|表情|颜文字|语气|口吻|(?:句|段)话|三句|字以内|长篇大论|啰嗦|罗嗦|客套|列点|要点"
    r"|用(?:中文|英文|英语|普通话|粤语|白话|繁体|简体|敬语)|markdown|emoji|英文单词",
)
"""Words for how the assistant is to speak."""
_FOR_NOW: Final = any_of(
    r"\b(?:this (?:time|once|one)|just (?:for )?(?:now|today|once|this)|today|tonight|right now|for now"
    r"|in this (?:file|text))\b",
    r"这(?:次|回|一次|段|句|篇|封)|今天|今晚|暂时|先别|明天|刚才",
)
_INSTRUCTION: Final = any_of(
    r"^(?:please |pls |and |but |so |also |rule: |convention: |note: )*"
    r"(?:never|always|don'?t|do not|avoid|stop|only|prefer|stick to|keep|make sure|from now on|use|no|ask me|call me"
    r"|address me|answer|reply|respond|speak|write (?:to me )?in)\b",
    r"^when(?:ever)? (?:you|i) (?!was\b|were\b|go\b|get\b)[^?]*"
    r"\b(?:always|never|please|don'?t|use|keep|make sure)\b[^?]*$",
    r"^(?:rule|convention|policy|guideline|standard)s?\b|\b(?:from now on|going forward|in (?:the )?future|by default"
    r"|every time|whenever) ",
    r"\b(?:must(?:n'?t| not| never| always)?|should (?:never|always)|may not|(?:is|are) (?:not allowed|forbidden"
    r"|required|mandatory)|has to|have to be|needs? (?:to be|a|an)) ?\w",
    r"\b(?:never|always) (?:commit|push|use|mock|merge|deploy|write|add|answer|reply|send|call|ask|mocks?)\b",
    r"(?:一律|统一|默认|永远|必须|务必|不允许|不许|不准|禁止|不得|只能|只许|只用|不低于|不超过|不少于|至少要)",
    r"^(?:请|麻烦|拜托)?(?:你)?(?:以后|今后|从现在起|每次)?(?:都|再)?(?:不要|别|不用|请用|尽量|记得|只)",
    r"(?:以后|今后|从现在起|从今天起|往后|每次)(?:都|就|请|别|不要|不用|用|叫|回答|回复|写|先|我)",
    r"(?:回答|回复|说话|解释|注释|提交|代码|变量|命名|接口|测试|文档|格式|日志|分支|界面|称呼|叫我).{0,10}?"
    r"(?:用|要|不要|别|不用|得|请|需)",
    r"(?:规范|约定|规矩|原则)(?:是|：|:)",
    r"(?<!i )\b(?:don'?t|do not|never) (?:bring (?:it|that|this) up|mention (?:it|that|this)|tell any(?:one|body))\b",
    r"谁[也都]别(?:说|告诉)|(?:别|不要)(?:再)?(?:跟.{1,6}提|提(?:这|那|起)|告诉(?:他|她|别人|任何人))|(?:请|要|帮我|替我)保密",
)
_PREFERENCE: Final = any_of(
    r"\b(?:i|we|he|she) (?:really |much |always |usually |also |still |don'?t |do not )*"
    r"(?:prefer|like|love|enjoy|hate|dislike"
    r"|can'?t stand|fear|avoid)\b|\bfavou?rite\b"
    r"|\b(?:loves|hates|likes|dislikes|prefers|(?:doesn'?t|don'?t) like)\b"
    r"|\b(?:i'm|i am) (?:afraid|scared|fond|tired|sick) of\b|\bi'?d rather\b",
    r"喜欢|喜爱|讨厌|偏好|偏爱|习惯|受不了|最爱|爱(?:吃|喝|看|听|玩)|[我他她]怕(?!是)|宁愿|不感兴趣",
)
_NOT_YET: Final = any_of(
    r"\b(?:considering|thinking (?:of|about)|might|may be|planning to|hoping to|view(?:ed|ing)|movers|removals?)\b",
    r"考虑|打算|犹豫|看中|看了|想(?:换|搬|给|送|买)|要搬|搬家公司|改到|约好|预算",
)
"""A plan, or what is arranged once: it says something of a home, a job or a birthday, and not which it is."""
_HEALTH_ATTRIBUTES: Final = frozenset({"allergy", "health", "medication", "doctor", "diet"})
_IDENTITY_ATTRIBUTES: Final = frozenset(
    {
        *("name", "age", "birthday", "contact", "phone", "email", "origin", "belief and identity", "home", "city"),
        *("job", "employer", "emergency contact"),
    }
)
ANSWER_STYLE: Final = "answer style"
_PREFERENCE_ATTRIBUTES: Final = frozenset({ANSWER_STYLE, "like and dislike", "preference"})
# One that is done once and then over.
_TASK: Final = any_of(
    r"^(?:please |pls |ok |hey |now |then |can you |could you |would you |will you )*(?:plan|mind|book|pick|order"
    r"|remind me|schedule|add|fix|create|implement|check|install|deploy|run|refactor|review|rename|update|delete|remove"
    r"|send|post|translate|proof-?read|rewrite|rephrase|polish|correct|look up|search|buy|call (?!me)|prepare"
    r"|set up|convert|calculate|write(?! (?:to me )?in\b)|draft|suggest|recommend|explain|compare|help)\b",
    r"^(?:请|麻烦|那|再|先|周末|今天|今晚|明天)*(?:你)?(?:帮|给|替)(?:我|忙|家里|大家)",
    r"^(?:请|麻烦|再|先)?(?:把|将).{1,30}(?:翻译|润色|改写|改成|发|删|加|写)",
    r"^(?:请|麻烦|再|先)?(?:推荐|安排|对比|比较|总结|翻译|润色|改写|解释|查|算|列|写|新建|创建|加|装|点|选|订|买|画|生成|修|删|改)"
    r"(?:一?下|一?个|一?些|几|一?款|这|那|完|好|份|篇|段|首|张|顿|点)",
    r"注意我的|一下[。！!]?$",
)


_CLAUSE_END: Final = re.compile(r"[,，;；:：。.!！]\s*")
_FIRST_PERSON: Final = re.compile(r"[我咱]|(?<![^\W_])(?:i|i'm|i've|my|we|our)(?![^\W_])")


@lru_cache(maxsize=8_192)
def is_request(text: str) -> bool:
    """Whether a text asks: a question, or something that is to be done once. A standing instruction is no request.

    "I don't eat fish, book a table" states something.
    """
    folded = fold(text).strip()
    if _is_standing(folded):
        return False
    if _TASK.search(folded) is None and REQUEST.search(folded) is None:
        return is_question(text) and question_share(text if folded.endswith("?") else f"{text}?") >= 0.5
    clauses = [clause for clause in _CLAUSE_END.split(text) if clause.strip()]
    if len(clauses) == 1 or hands_over_text(text):
        return True
    return not any(_FIRST_PERSON.search(fold(each)) and not is_request(each) for each in clauses)


@lru_cache(maxsize=8_192)
def fact_kind(text: str, attribute: str = "") -> str:
    """The kind of a fact, the first that fits of health, identity, instruction and preference; empty for others.

    What only asks has no kind, whatever it is about.
    """
    if is_request(text):
        return ""
    folded = fold(text).strip()
    if attribute in _HEALTH_ATTRIBUTES or _HEALTH.search(folded) is not None:
        return HEALTH
    identity = attribute in _IDENTITY_ATTRIBUTES or _IDENTITY.search(folded) or _NAMED.search(text)
    if identity and _NOT_YET.search(folded) is None:
        return IDENTITY
    if _is_standing(folded):
        return INSTRUCTION
    if attribute in _PREFERENCE_ATTRIBUTES or _PREFERENCE.search(folded) is not None:
        return PREFERENCE
    return ""


def states_own_name(text: str) -> bool:
    """Whether somebody says what they are called."""
    return _OWN_NAME.search(text) is not None


@lru_cache(maxsize=8_192)
def is_about_answers(text: str, attribute: str = "") -> bool:
    """Whether a text says how the assistant is to answer, always: "no more than three sentences"."""
    return fact_kind(text, attribute) in {INSTRUCTION, PREFERENCE} and (
        attribute == ANSWER_STYLE or _ANSWERS.search(fold(text)) is not None
    )


_OF_THE_USER: Final = re.compile(r"[我咱俺]|用户|本人|(?<![^\W_])(?:i|i'm|i've|me|my|we|our|us|the user)(?![^\W_])")
_NAME_ZH: Final = re.compile(
    r"^(?:(?:最近|现在|目前|今天|昨天|平时|一直|从小|听说|其实|对了)[，,]?)*"
    r"(?![对不没有在戒吃喝每从已刚只怕最现目今昨平一听其])[\u3400-\u9fff]{2,4}?(?:现在|一直|从小|最近|也|都)?"
    r"(?:对.{1,10}过敏|在(?:吃|服)|不(?:能)?[吃喝]|[乳麸]|不耐受|吃素|有(?:哮喘|糖尿病|高血压|心脏病|痛风|过敏)|怀孕|患)"
)
_NAME_EN: Final = re.compile(
    r"^(?!It\b|This\b|That\b|There\b|No\b|The\b)[A-Z][a-z]+ (?:(?:is|has|was)(?:n'?t)?|can'?t|cannot|doesn'?t"
    r"|never|hates|loves|likes|eats|takes|prefers|lives|works)\b"
)


_PRONOUN: Final = re.compile(r"^(?:he|she|they)(?:'|’| )|^[他她]们?(?!妈的)", re.IGNORECASE)


def begins_with_another_person(text: str) -> bool:
    """Whether a fact begins with somebody's name, or "he" or "she", and has no word for the user: "She's coeliac"."""
    if _OF_THE_USER.search(fold(text)) is not None:
        return False
    return any(begins.match(text.strip()) for begins in (_NAME_EN, _NAME_ZH, _PRONOUN))


def states_nothing(text: str) -> bool:
    """Whether a message states nothing about anybody: requests, bare questions, small talk, or a text to work on.

    "Book a table, I don't eat fish" states something.
    """
    if hands_over_text(text):
        return True
    found = sentences(text)
    return bool(found) and all(is_small_talk(sentence) or is_request(sentence) for sentence in found)


def _is_standing(folded: str) -> bool:
    return _INSTRUCTION.search(folded) is not None and _FOR_NOW.search(folded) is None
