"""How people ask to forget something or not to keep it, and what the words between name: one part for each language."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["Named", "named_en", "named_zh"]

Verb: TypeAlias = Literal["forget", "delete", "keep", "record"]
"""What is asked: to forget; to delete; not to keep in mind; not to write down.

Only a memory forgets, and whatever is named is meant. Files are deleted, and sports are recorded, as well: there it
must be said that a memory is meant, or what is named must be something that is told of people.
"""


class Named(NamedTuple):
    """The words that name what is to be forgotten, and where they end."""

    text: str
    end: int
    own: bool
    """Whether it is something of the speaker's own."""


# --- English ----------------------------------------------------------------------------------------------------------

_ASK_EN: Final = (
    r"^(?:(?:please|pls|plz|kindly|hey|hi|ok(?:ay)?|oh|no|wait|actually|sorry|and|so|just|also|now|then|well"
    r"|on second thoughts?|(?:can|could|would|will) (?:you|u)|is it ok(?:ay)? if you|you can|you may|you could"
    r"|feel free to|go ahead and"
    r"|(?:i|we) (?:want|need) you to|i(?:'d| would) (?:like|ask|prefer) you to|(?:can|could|may) i ask you to|let's"
    r"|(?:would it be|is it) possible (?:for you )?to|is there (?:a|any) way (?:for you )?to|are you able to"
    r"|would you be able to|i(?:'d| would) (?:appreciate it|be grateful) if you (?:could|would)|make sure (?:that )?"
    r"(?:to|you))[,.!]* )*"
)
_NOT_EN: Final = (
    r"(?:don'?t|do not|never|no need(?: for you)? to|not to|(?:i'?d |i would )?(?:rather|prefer(?: it)?(?: if)?) you"
    r" (?:didn'?t|did not|don'?t|not(?: to)?)"
    r"|(?:can|could|would|will) (?:you|u) (?:please |pls |kindly )?not"
    r"|you (?:don'?t|do not) (?:have|need) to|you (?:shouldn'?t|should not|mustn'?t|must not)"
    r"|i (?:don'?t|do not|wouldn'?t|would not) (?:want|like) you to|i(?:'d| would) like you (?:not to|to not)"
    r"|i(?:'d| would) appreciate it if you (?:didn'?t|did not|don'?t))"
)
_STOP_EN: Final = r"(?:stop|quit|(?:would |do )?you mind not|mind not|without|no more|avoid)"
_EVER_EN: Final = r"(?: ever| please| kindly| actually| even)*"
_VERBS_EN: Final[dict[Verb, str]] = {
    "forget": r"forget|unlearn|unremember",
    "delete": (
        r"delete|erase|remove|wipe|scrub|purge|clear|strike|scratch|drop|take|cross|get rid of|discard|lose|destroy"
    ),
    "keep": r"remember|memori[sz]e|save|store|retain|hold on ?to|hang on ?to|keep track of|keep a record of",
    "record": r"record|keep|take (?:a )?note of|make (?:a )?note of|note|write down|write|log|jot down|put|add|list",
}
_GERUNDS_EN: Final[dict[Verb, str]] = {
    "forget": r"forgetting|unlearning",
    "delete": r"deleting|erasing|removing|wiping|scrubbing|purging|clearing|striking|dropping|taking|getting rid of",
    "keep": r"remembering|memori[sz]ing|saving|storing|retaining|holding on ?to|keeping track of",
    "record": r"recording|keeping|noting|writing down|logging|adding|putting",
}
_GONE_EN: Final = r"(?P<forget>forgotten)|(?P<delete>deleted|erased|removed|wiped|scrubbed|purged|gone)"
_KEPT_EN: Final = r"stored|saved|remembered|recorded|memori[sz]ed|kept|noted(?: down)?|written down|logged|retained"
_CLAUSE_EN: Final = r" (?P<what>[^,.;:!?()–—]{2,100})"


def _any(forms: dict[Verb, str], *verbs: Verb) -> str:
    return "|".join(f"(?P<{verb}>{forms[verb]})" for verb in verbs)


_KEEPING_EN: Final = _any(_GERUNDS_EN, "keep", "record")
_PATTERNS_EN: Final = (
    re.compile(rf"{_ASK_EN}(?:{_any(_VERBS_EN, 'forget', 'delete')})(?: down)?{_CLAUSE_EN}"),
    # "Get my number out of your memory": the place is looked for below.
    re.compile(rf"{_ASK_EN}(?:get|leave|keep|pull) (?P<delete>)(?P<what>[^,.;:!?()–—]{{2,60}} (?:out of|off) .+)"),
    re.compile(rf"{_ASK_EN}{_NOT_EN}{_EVER_EN} (?:{_any(_VERBS_EN, 'keep', 'record')}){_CLAUSE_EN}"),
    re.compile(rf"{_ASK_EN}{_STOP_EN}{_EVER_EN} (?:{_KEEPING_EN}){_CLAUSE_EN}"),
    re.compile(rf"{_ASK_EN}i (?:don'?t|do not|wouldn'?t) (?:want|like) you (?:{_KEEPING_EN}){_CLAUSE_EN}"),
    re.compile(
        rf"{_ASK_EN}(?:(?:would |do )?you mind|mind|how about|what about)"
        rf" (?:{_any(_GERUNDS_EN, 'forget', 'delete')}){_CLAUSE_EN}"
    ),
    re.compile(
        rf"{_ASK_EN}(?:i'?d |i would )?(?:rather|prefer it if|appreciate it if|be happier if|like it if) you"
        rf" (?P<delete>forgot|deleted|erased|removed|wiped){_CLAUSE_EN}"
    ),
    # "I want my PIN gone", "I don't want my address stored".
    re.compile(
        rf"{_ASK_EN}(?:i (?:want|need)|i(?:'d| would) (?:like|prefer)|have|get) (?P<what>[^,.;:!?]{{2,60}}?)"
        rf"(?: to be)? (?:{_GONE_EN})(?= |$)"
    ),
    re.compile(
        rf"{_ASK_EN}i (?:don'?t|do not|wouldn'?t) (?:want|like) (?P<what>[^,.;:!?]{{2,60}}?)"
        rf"(?: to be| being)? (?P<forget>{_KEPT_EN})(?= |$)"
    ),
    # "My PIN shouldn't be saved", "my address should be deleted".
    re.compile(
        rf"{_ASK_EN}(?P<what>(?:my|our|the) [^,.;:!?]{{2,60}}?) (?:(?:should|must|may) (?:not|never)|shouldn'?t"
        rf"|mustn'?t"
        rf"|isn'?t to|is not to|need(?:s)? not|doesn'?t need to) be (?P<forget>{_KEPT_EN})(?= |$)"
    ),
    re.compile(
        rf"{_ASK_EN}(?P<what>(?:my|our|the) [^,.;:!?]{{2,60}}?) (?:should|must|needs to|has to|can) be"
        rf" (?:{_GONE_EN})(?= |$)"
    ),
    # "Pretend I never told you my PIN", "as if you had never heard about my loan".
    re.compile(
        rf"{_ASK_EN}(?:let's )?(?:pretend|act as if|act like|behave as if|make believe)(?: that)? (?:i|we|you)"
        r"(?: have| had|'d|'ve)? (?:never|didn'?t|don'?t|do not|did not|hadn'?t|haven'?t)(?: even)?"
        r" (?P<forget>told you|tell you|said|say|mentioned|mention|know|knew|heard|hear|gave you|give you|shared|share)"
        rf"(?! .* and (?!(?:my|our)\b)){_CLAUSE_EN}"
    ),
)
_MEMORY_EN: Final = (
    r"(?:(?:your |the |this |long[- ]term |chat )*(?:memory|memories|notes?|records?|database|data ?base|system|logs?"
    r"|files|storage|history|mind|brain|head|profile|knowledge)|(?:what|everything|the things) you (?:know|have"
    r"|remember)"
    r"(?: about (?:me|us))?|here|there)"
)
_TAIL_EN: Final = (
    r"(?: (?:down|please|pls|plz|thanks|thank you|ok|okay|now|anymore|any more|anywhere|again|ever|at all"
    r"|for me|then|forever"
    r"|permanently|completely|entirely|altogether|either|if you (?:can|could)))*$"
)
_PLACE_EN: Final = re.compile(rf" (?:from|out of|off|in|into|on|to|inside) {_MEMORY_EN}(?={_TAIL_EN})")
_TAIL_RE_EN: Final = re.compile(rf"(?<=\w){_TAIL_EN}")
_LEAD_EN: Final = re.compile(
    r"^(?:about |of |on |down |out |away |that |the fact that |(?:any|all) of |(?:everything|anything|all"
    r"|(?:all |any |every )?"
    r"(?:the )?(?:stuff|bits?|parts?|things?|mentions?|memory|memories|records?|notes?|facts?|info|information"
    r"|details|data))"
    r" (?:of|about|on|regarding) )+"
)
_SAID_TO_MEMORY_EN: Final = re.compile(
    r"the fact that|\b(?:memory|memories|mentions?|records?|facts?|everything|anything|all) (?:of|about|on|regarding) "
)
_ELSEWHERE_EN: Final = re.compile(r" (?:to|into|onto|in|on|from|off|at) (?:the|an?|my|our|this|that|your) ")
_OWN_EN: Final = re.compile(r"^(?:my|our|i|i'm|im|i've|i'd|we|we're|we've)\b")
_QUESTION_EN: Final = re.compile(r"^(?:where|how|who|what|when) .*\b(?:i|i'm|my|we)\b")
_GIVEN_EN: Final = re.compile(
    r"^(?:the|that|this|those|my) (?P<given>[a-z]+(?: [a-z]+){0,3}?) (?:(?:that|which) )?(?:i|we)(?:'ve| have)?"
    r" (?:gave|given|told|sent|said|mentioned|typed|shared|entered|wrote)(?: (?:you|with you|to you))?"
    r"(?: earlier| before| yesterday| once)?$"
)
_PERSONAL_EN: Final = (
    r"(?:(?:pin|pass ?words?|pass ?codes?|(?:\w+ )?codes?|(?:\w+ )?numbers?|(?:\w+ )?address(?:es)?|post ?code"
    r"|zip(?: code)?"
    r"|e-?mails?|birthday|birth ?date|date of birth|age|salary|income|pay|wages?|debts?|loans?|mortgage|savings|bank"
    r" (?:details|account)|(?:credit |bank |debit )?card(?: details)?|account(?: details)|iban|ssn"
    r"|social security|passport"
    r"|weight|height|diagnos[ei]s|illness|(?:medical |health )?condition|medication|meds|health|medical history"
    r"|pregnancy"
    r"|allerg(?:y|ies)|religion|sexuality|orientation|politics|affair|divorce|ex|relationship|location"
    r"|(?:personal |private |contact )?(?:details|info|information|data)|secret|wifi(?: password)?|login"
    r"|credentials|therapy"
    r"|(?:real |full |last |first |maiden )?name))"
)
_OWN_PERSONAL_EN: Final = re.compile(
    rf"^(?:my|our|the|that) (?:(?:old|new|home|work|phone|wifi|\w+'s|\w+) ){{0,2}}{_PERSONAL_EN}"
    r"(?: (?:of|for|at|with|about) [\w' ]{2,30})?$"
)
# Work of the speaker's that a program keeps, and what holds for now.
_FILES_EN: Final = re.compile(
    r"\b(?:files?|documents?|drafts?|changes|edits|work|code|photos?|images?|pictures?|videos?|progress|settings|cart"
    r"|branch|commits?|folders?|essay|report|spreadsheet|seat|place|spot|calls?|yet|today|tonight|this time|tomorrow)\b"
)


def named_en(folded: str) -> Named | None:
    """What a sentence in English asks to forget by its name; `None` where it asks for nothing of the kind."""
    for pattern in _PATTERNS_EN:
        found = pattern.search(folded)
        if found is None:
            continue
        verb: Verb = next(name for name in _VERBS_EN if found.groupdict().get(name) is not None)
        what, end = found["what"], found.end()
        if end != found.end("what"):
            # "I want my PIN gone from your memory": the rest of the clause has to be a place or a courtesy.
            after = re.match(r"[^,.;:!?()–—]*", folded[end:])
            rest = after[0] if after is not None else ""
            if not _only_tail_en(rest):
                continue
            end += len(rest)
        named = _object_en(verb, what)
        if named is not None:
            return Named(named[0], end, named[1])
    return None


def _only_tail_en(rest: str) -> bool:
    return re.fullmatch(rf"(?:{_PLACE_EN.pattern})?{_TAIL_EN}", rest.rstrip()) is not None


def _object_en(verb: Verb, what: str) -> tuple[str, bool] | None:
    """The name in an object, and whether it is something of the speaker's own."""
    bare = _TAIL_RE_EN.sub("", what.strip())
    place = _PLACE_EN.search(bare)
    told = bare[: place.start()] if place is not None else bare
    text = _LEAD_EN.sub("", told).strip()
    if given := _GIVEN_EN.search(text):
        return given["given"], True
    own = _OWN_EN.search(text) is not None
    if place is not None:
        enough = verb != "record" or own or _is_personal_en(verb, text)
        own = own or _QUESTION_EN.search(text) is not None
    else:
        enough = _means_memory_en(verb, text, of_memory=_SAID_TO_MEMORY_EN.match(told) is not None)
        own = True
    return (text, own) if enough else None


def _is_personal_en(verb: Verb, text: str) -> bool:
    """Whether a text names a datum of a person: "my PIN", "the address"."""
    mine = text.startswith(("my ", "our ")) or (verb in {"forget", "keep"} and not text.startswith("that "))
    return mine and _OWN_PERSONAL_EN.search(text) is not None


def _means_memory_en(verb: Verb, text: str, *, of_memory: bool) -> bool:
    """Whether what is to go can only be something that a memory holds of the speaker."""
    of_mind = verb in {"forget", "keep"}
    if verb != "forget" and _ELSEWHERE_EN.search(f"{text} "):
        return False
    if _QUESTION_EN.search(text) or _is_personal_en(verb, text):
        return of_mind or _QUESTION_EN.search(text) is None
    if _OWN_EN.search(text) is None or _FILES_EN.search(text):
        return False
    # "Forget my brother", "don't note that I smoke"; "delete my notes" is about something else.
    return of_mind or of_memory or (verb == "record" and not text.startswith(("my ", "our ")))


# --- Chinese ----------------------------------------------------------------------------------------------------------

_ASK_ZH: Final = (
    r"^(?:请|麻烦|拜托|求你?|劳驾|你|您|帮我|帮忙|给我|替我|可不可以|可以|能不能|能否|能|是否可以|好了|算了"
    r"|对了|那|就|还是|以后"
    r"|我(?:想|要|希望)(?:请|让)?你|直接|赶紧|快|都|也|,|，| ){0,10}"
)
_FORGET_ZH: Final = r"忘掉|忘记|忘了|忘却|忘光"
_DELETE_ZH: Final = (
    r"删掉|删除|删了|删去|抹掉|抹去|抹除|清掉|清除|清理掉|清空|去掉|移除|擦掉|擦除|拿掉|撤掉|丢掉|扔掉|划掉"
    r"|消掉|销毁|剔除"
)
_NOT_ZH: Final = (
    r"(?:(?<!要)不要|别|甭|不用|不必|不需要|无需|不许|不得|停止|取消|请勿|切勿|勿|少|不希望你|不想让你|不想你"
    r"|不愿意?你|(?<=可以)不|(?<=能)不)"
    r"(?:再|继续|去|来)?(?:帮我|给我|替我|把)?"
)
_INTO_ZH: Final = (
    r"(?:写|记|存|放|录)(?:进|入|到)(?:去)?(?:你|您)?的?(?:记忆|记录|笔记|脑子|数据库|档案|备忘|系统)"
    r"(?:库|本)?(?:里面?|中)?"
)
_KEEP_ZH: Final = (
    rf"{_INTO_ZH}|记录|记住|记下来?|记着|记得|记|保存|存储|存下来?|存着|存起来|存档|存|保留|留存|收录|收集"
)
_MEMORY_ZH: Final = (
    r"(?:从|在)?(?:(?:你|您)(?:那|这)(?:里|儿|边)?|(?:你|您)?的?(?:长期)?(?:记忆|记录|笔记|脑子|脑海|大脑"
    r"|数据库|档案|备忘|资料库|系统|记事本)"
    r"(?:库|本)?(?:里面?|中|内|里头)?)(?:给|全|都)*"
)
_END_ZH: Final = r"(?:都|全都|全部|全|也|给我|给|统统|通通|彻底|一并|直接|就|请|可以|能不能|你|您|帮我|千万|可){0,6}"
_GONE_ZH: Final = (
    r"(?:一下|吧|了|啊|呀|哦|喔|哈|啦|嘛|呢|好吗|好么|行吗|行不行|可以吗|可以么|吗|好不好|可不可以|谢谢|的话|,|，| )*$"
)
_MATTER_ZH: Final = (
    r"(?:的?(?:那些|这些|那件|这件|那个|这个|那条|这条|那|这)?(?:事情?|事儿|话|内容|信息|情况|记忆|记录|消息"
    r"|说法)(?:儿)?"
    r"|(?<!的)(?:那个|这个|那条|这条|这一条|那一条))?"
)
_WHAT_ZH: Final = r"(?P<what>[^,，.。;；:：!！?？]{1,34}?)"
_SAID_ZH: Final = (
    r"(?:我们?|咱们?)?(?:之前|刚才|刚刚|上次|以前|前面|昨天|那天)?(?:跟你|和你|对你)?"
    r"(?:说|讲|提|聊|告诉|发|给)(?:过|到|起|了|给)?(?:你|您)?(?:过|的)+(?:那个|这个)?(?:关于|有关)?"
)
_ABOUT_ZH: Final = r"(?:关于|有关|对于)"
# Whatever is named by 把…忘了 is meant: only a memory forgets.
_FORGET_ALL_ZH: Final = re.compile(
    rf"{_ASK_ZH}(?:把|将){_WHAT_ZH}(?P<matter>{_MATTER_ZH}){_END_ZH}(?P<forget>{_FORGET_ZH}){_GONE_ZH}"
)
_HEARD_ZH: Final = r"(?:听见|听到|听说|听|说|讲|提|告诉|看见|看到|聊)(?:过|到|起)*(?:你|您)?(?:过)?"
_AS_IF_ZH: Final = r"(?:当作?|当做|权当|假装)(?:我|你|咱们)?(?:从来?|根本)?没有?"
_FORMS_ZH: Final[tuple[tuple[Verb, str], ...]] = (
    ("forget", rf"(?P<forget>{_FORGET_ZH}){_WHAT_ZH}(?P<matter>{_MATTER_ZH})"),
    (
        "delete",
        rf"(?:把|将){_WHAT_ZH}(?P<matter>{_MATTER_ZH}){_END_ZH}(?P<place>{_MEMORY_ZH})?(?:{_DELETE_ZH}|删)",
    ),
    ("keep", rf"{_NOT_ZH}(?:把|将)?{_WHAT_ZH}(?P<matter>{_MATTER_ZH})(?:给|都)?(?:{_KEEP_ZH})"),
    ("delete", rf"(?:从(?P<place>{_MEMORY_ZH}))?(?:{_DELETE_ZH}|[删清]一下){_WHAT_ZH}(?P<matter>{_MATTER_ZH})"),
    ("keep", rf"(?:我(?=不))?{_NOT_ZH}(?:{_KEEP_ZH}){_WHAT_ZH}(?P<matter>{_MATTER_ZH})"),
    ("record", rf"{_WHAT_ZH}(?P<matter>{_MATTER_ZH}){_END_ZH}{_NOT_ZH}(?:{_KEEP_ZH})"),
    (
        "delete",
        (
            rf"{_WHAT_ZH}(?P<matter>{_MATTER_ZH}){_END_ZH}(?P<place>从{_MEMORY_ZH})?"
            rf"(?:(?:{_DELETE_ZH}|忘掉|忘了(?=吧)|删(?=了?吧))(?:了?吧|好吗|行吗|可以吗)"
            rf"|(?<=[请烦我])(?:{_DELETE_ZH}))"
        ),
    ),
    ("forget", rf"{_AS_IF_ZH}{_HEARD_ZH}{_WHAT_ZH}(?P<matter>{_MATTER_ZH})"),
    ("forget", rf"{_WHAT_ZH}(?P<matter>{_MATTER_ZH}){_END_ZH}{_AS_IF_ZH}{_HEARD_ZH}"),
)
_PATTERNS_ZH: Final = tuple((verb, re.compile(_ASK_ZH + form + _GONE_ZH)) for verb, form in _FORMS_ZH)
_PERSONAL_ZH: Final = (
    r"(?:密码|口令|pin码?|验证码|身份证|护照|社保号?|银行卡|卡号|账号|帐号|账户|车牌号?|手机号?|电话|号码"
    r"|家庭住址|住址|地址"
    r"|邮箱|微信号?|qq号?|生日|出生日期|年龄|岁数|体重|身高|三围|工资|薪水|薪资|收入|月薪|年薪|存款|贷款|欠款"
    r"|负债|房贷|病情|病史"
    r"|病|诊断|用药|隐私|个人信息|私人信息|信息|资料|真名|姓名|名字|全名|住处|位置|行踪|前任|前男友|前女友|秘密"
    r"|性取向|信仰|宗教"
    r"|怀孕|离婚|感情)(?:号码?|信息|情况)?"
)
_OWN_PERSONAL_ZH: Final = re.compile(
    rf"^(?:我们?|咱们?)?家?(?:[\u3400-\u9fff]{{1,4}}的)?的?(?:那个|这个)?[\u3400-\u9fffa-z]{{0,4}}?{_PERSONAL_ZH}$"
)
_OWN_ZH: Final = re.compile(r"^(?:我|咱|俺)(?!账|帐|名下|头上|手机里|电脑)")
_IN_A_TEXT_ZH: Final = re.compile(
    r"[里中上]的?(?:我|你)|第.{1,3}[段句行章页条]|(?:段|句|行|页)$|文件|文档|草稿|修改|更改|改动|代码|照片|图片"
    r"|视频|进度|设置"
)
_NOTHING_ZH: Final = re.compile(
    r"^(?:[这那](?:个|些|件|条|句)?|它|话|事情?|事儿|消息|内容|我|我们|东西|的|说|讲|刚才|上面|前面|之前|你|都"
    r"|也|请|不|就)*$"
)
_SAID_OR_ABOUT_ZH: Final = re.compile(rf"^(?:所有|全部|一切)?(?:{_SAID_ZH}|{_ABOUT_ZH})+")
_IN_MEMORY_ZH: Final = re.compile(r"(?:从|在)?(?:你|您)?的?(?:记忆|记录|脑子|脑海)(?:里面?|中)?$")
# 把贷款清掉 pays it back.
_PAYS_ZH: Final = re.compile(r"清.*(?:款|贷|债)|(?:款|贷|债).*清")
_MAY_ZH: Final = re.compile(r"^.{0,6}(?:能|可以|可不可以|是否)")
# 忘记我妈生日了 says that the speaker has forgotten it.
_ASKED_ZH: Final = re.compile(r"[请你您]|帮|麻烦|拜托|能|可以|劳驾")


def named_zh(folded: str) -> Named | None:
    """What a sentence in Chinese asks to forget by its name; `None` where it asks for nothing of the kind."""
    found = _FORGET_ALL_ZH.search(folded)
    if found is not None and _is_request_zh(found):
        text = _SAID_OR_ABOUT_ZH.sub("", found["what"]).removesuffix("的")
        return None if _NOTHING_ZH.match(text) else Named(text, found.end(), _OWN_ZH.search(text) is not None)
    for verb, pattern in _PATTERNS_ZH:
        found = pattern.search(folded)
        named = _object_zh(verb, found) if found is not None and _is_request_zh(found) else None
        if found is not None and named is not None:
            return Named(named[0], found.end(), named[1])
    return None


def _is_request_zh(found: re.Match[str]) -> bool:
    """Whether somebody asks for it, and does not tell or ask whether it was forgotten."""
    whole = found[0].rstrip()
    polite = whole.endswith(("吧", "好吗", "行吗", "可以吗", "好不好"))
    verb = found.groupdict().get("forget")
    if verb in {"忘记", "忘了"} and found.end("forget") < found.start("what"):
        return polite or bool(found["matter"]) or _ASKED_ZH.search(whole[: found.start("forget")]) is not None
    return polite or not whole.endswith("吗") or _MAY_ZH.search(whole) is not None


def _object_zh(verb: Verb, found: re.Match[str]) -> tuple[str, bool] | None:
    """The name in an object, and whether it is something of the speaker's own."""
    groups = found.groupdict()
    matter = groups.get("matter") or ""
    bare = _SAID_OR_ABOUT_ZH.sub("", found["what"])
    text = _IN_MEMORY_ZH.sub("", bare)
    place = bool(groups.get("place")) or text != bare or "记忆" in matter
    text = text.removesuffix("的")
    if not text or _NOTHING_ZH.match(text):
        return None
    own = _OWN_ZH.search(text) is not None
    if place or bare != found["what"]:
        return text, own
    if _IN_A_TEXT_ZH.search(text) or (verb == "delete" and _PAYS_ZH.search(found[0])):
        return None
    if _OWN_PERSONAL_ZH.search(text):
        return text, True
    # 密码那个别记了, 删掉我喜欢喝茶这件事: of what is no datum of a person it must be said that it was told.
    enough = {"record": bool(matter), "delete": own and bool(matter), "keep": own, "forget": own}
    return (text, own) if enough[verb] else None
