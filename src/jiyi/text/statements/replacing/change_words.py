"""Words that tell how a new statement stands to older ones: it changes, ends, adds, or is only for now.

Patterns are searched in folded text.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.patterns import any_of

__all__ = [
    "adds",
    "changes",
    "ends",
    "ends_life",
    "ends_love",
    "ends_pregnancy",
    "hints_at_change",
    "is_bygone",
    "is_exception",
    "is_mistake",
    "is_strong_change",
    "is_temporary",
    "is_wish",
    "lost_by_name",
    "without_unchanged",
]


_CHANGES: Final = any_of(
    r"换(?!句话|言之|位思考|毛|季|牙)|改(?:成|到|叫|用|订|搭|为|期|去|名|口|了|念|报|在|喝|吃|做|住|约|签|投|练"
    r"|学|坐)|搬(?:到|去|来|进|出|咗|完|家|离)|跳槽|转(?:岗|园|到|去|给|行|学|专业|组|校|会|成|做|投)|变成|变为"
    r"|调(?:到|去|成|岗|整)"
    r"|[推延挪拖提](?:前)?(?:到|至|迟|后|期)|提前|升(?:职|到|了|为|任)|晋升|现在(?:是|在|叫|用|住|做|改|去|就|都"
    r"|才|变|归|归|每|七|八|九|十|[零一二两三四五六]|\d|读|念|养|跟|由|只)|以后(?:就|都|用|算|叫|住|改|不|归)"
    r"|从(?:这个?月|今天|下周|现在|下个?月|明天)(?:起|开始)"
    r"|卸任|退租|离职|辞职|才对|贴错|说错|打错|记错|写错|更正|纠正|刚才说错|上秤|新(?:号|地址|公司|家|工作|岗"
    r"|老师|领导)|回不去|不再|还是(?:喊|叫|改|用|去|选)|原来(?:那|的|写|是)|旧(?:的|手机|号|电脑|软件)"
    r"|就是.{1,10}的人了|搬出|盘出|顶替|接手|接任|交给|由.{1,6}(?:带|接|负责)|入职|报到"
    r"|从.{1,6}(?:涨|降|变|减|加)到|涨到|降到|提高到|提到|上调|下调|增加到|减少到|减到|瘦到|长到|加到|缩到|换人|易主|取代|代替|替换|升级|转正|毕业了"
    r"|改口|上个月.{0,4}搬|又搬|定下来|最后(?:选|定|去|还是)|终于(?:换|搬|定|买|入)|往后|安家|接来"
    r"|别的(?:都)?不(?:动|变)|其他(?:都)?不变|其余照旧|照旧|如今|今年(?:换|改|带|升)|得.{1,6}办了|办了"
    r"|时间(?:又)?变了|又变了|拿到.{0,8}(?:证|绿卡)|外派|派(?:到|去|往)|毕业(?:啦|了)|打上|升上|放宽|收紧|新入|换回|重新(?:选|定|看|租|买)",
    r"\b(?:now|nowadays|these days|instead|moved|moving to|relocat\w*|switch\w*|swap\w*|chang(?:e|ed|ing)"
    r"|replac\w*|renamed|rebrand\w*|from (?:now|here) on|as of|from (?:monday|tuesday|next|today|this)"
    r"|going forward|wrong (?:age|number|name|date)|gave you the wrong|i meant|correction|scrap that"
    r"|promot\w*|made me|back to|deferr?ed|postponed|rescheduled|pushed|brought forward|handed (?:to|over)|go by"
    r"|goes by|upgraded|caved|ditched|dumped|traded|migrated|transferred|cut (?:us|me|back|down)|dropped to"
    r"|up to|down to|went (?:up|down|from)|is home|took over|taken over|new (?:date|job|number|place|address"
    r"|boss|flat|phone|email|time|slot|gig"
    r"|role|name|laptop|car)|bye|start(?:ed|ing)? (?:at|a new|my new|as)|swapped|joined|hit (?:it|\w+ last)"
    r"|no longer|not any ?more|any ?more|used to|actually|oops|finally|gone|is dead|died so|screen died"
    r"|left (?:the|my)|quit|instead of|for good|deleted|moved out|bailed|cancelled on|over to|in future"
    r"|new hours|everything else (?:stands|stays|is the same)|the rest (?:stays|stands)|same \w+ as before"
    r"|otherwise the same|from the (?:first|start|1st|new year|\d+(?:st|nd|rd|th))|given me|taken me off"
    r"|handed back|the next one|lost (?:its|my|our)|posted to|reassigned|redeployed|turned (?:\d+|\w+ty)|graduated"
    r"|upped|raised (?:it|to|the)|doubled|halved|lowered|took (?:up|on) .{1,20} instead)\b",
)
# Words that often stand beside a change, and elsewhere too.
_HINTS: Final = any_of(
    r"重新|现在(?!几|天气)|而家|眼下|都.{1,8}[了啦喽咯]$|大[一二三四]了|到期|[没不]续|涨[咗了]?价|加[咗了]?价"
    r"|起(?:都|就|我|改|收|一律)|升(?:成|一|二|三|金)|还是.{1,6}吧|考上|长住|定居|移居|移民|全(?:走|靠|改|换|切)|[挪迁移](?:到|去|往)"
    r"|切(?:到|换)|拆[了咗]|用回|导进|重(?:装|设|写)|砍到|宽限|敲定|最后.{0,6}定|脱单|官宣|任命|过完?.{0,4}生日"
    r"|满[\d一二两三四五六七八九十]+岁",
    r"\b(?:(?<!been )since (?!(?:i|he|she|they|we) (?:was|were)|childhood|the age|forever)"
    r"|took (?:over|a|the)|took .{1,20} off|came (?:off|back|home)"
    r"|went (?:with|off|home|back)|gave (?:notice|back|in|it|all|the)|put (?:me|us|him|her) on|keys|bumped|retired"
    r"|shifted|after all|any longer|landed|unpacked|packed up|permanent\w*|officially"
    r"|first (?:day|week|night|month|shift)"
    r"|back (?:from|at|in)|got married|turns out|ported|renewed|remortgaged|elected|overtaken|axed|slashed|trimmed"
    r"|it'?s .{1,20} (?:all the way|for me))\b",
)
_ENDS: Final = any_of(
    r"辞掉|结束了|收起来|清给|戒了|戒掉|弃了|弃坑|告别|掰了|退赛|退费|推掉|断掉|说再见|停药|不让再|放弃了?"
    r"|不(?:学|拉|去|练|吃|喝|用|打|做|干|玩|养|考|订|续|跑|写|弹|跳|教|碰|戴|追|抽|看|信|报|办"
    r"|租|想)了|再也不|退(?:了|掉|订|出|社|役|会|群)|走了|没救回来|去世|过世|(?<![困累饿热冷吵烦笑气急忙渴疼痛难美香爽晒冻辣])死了|病死|没了|分手|分了|离婚"
    r"|取消了?|卸任|关(?:店|门|了|张)|不在了|送(?:人|走)了|卖了|卖掉|辞了|停了|停掉|丢了|解散|散了|黄了|泡汤"
    r"|作废|不算数|卸(?:载|了)|没再|不再|吹了|倒闭|停产|停刊|断了|离了|下架|没保住|流产|退休了|转让|盘(?:了|给|出)|关张|歇业"
    r"|封笔|不(?!得|好|错|少|早|小|是|会|能|太|要|知|行).{1,3}[了啦](?!$)|不(?!得|好|错|少|早|小|是|行)[^，。不]{1,3}[了啦]$"
    r"|不用.{0,6}[了啦]|撤了|注销|没续|散咗|弃(?:考|了|坑)|退(?:保|伍)"
    r"|打消|死心|清仓|[^，。不]不(?:了|成)了|没戏",
    r"\b(?:ditched|bailed on|dropped (?!to\b)|stepped down|stood down|resigned|pulled out|wound up|scrapped|fell apart"
    r"|handed in my notice|turned down|moved out|no more|is off|are done|(?:had|have) \w+ put to sleep"
    r"|put \w+ to sleep|said goodbye|died|passed away|rip"
    r"|didn'?t make it|put (?:him|her|it) to sleep|broke up|split up|called it off"
    r"|call(?:ed)? off|that'?s over|it'?s over|is over|withdrew|withdrawn|shut (?:the|it|down)|closed (?:the|my"
    r"|it|down)|gave up|given up|quit|stopped|packed (?:it )?in|dropped out|cancel\w*|no longer"
    r"|not .{1,20} any ?more|don'?t .{1,20} (?:these days|any ?more)"
    r"|dont .{1,20} (?:these days|any ?more)|dont go|haven'?t touched|havent touched|lost my faith|sold (?:the"
    r"|my|it)|rehomed|ended|deleted|unsubscribed|let (?:it|my .{1,12}) lapse|over and done|left the|ran away"
    r"|disbanded|folded|went bust|done with|parted ways|retired from|bye bye|taken (?:me|him|her) off|came off"
    r"|off it (?:altogether|now)|handed back|put to sleep|binned|chucked|any longer|fell through|called it a day"
    r"|isn'?t happening|gave (?:\w+ )?notice|ran out|packed up|took (?:me|him|her) off|slipped away|given .{1,20} up"
    r"|not (?:had|touched) .{1,20} since|haven'?t .{1,20} since)\b|\b(?:is|has|'s) (?:now )?closed\b"
    r"|\bfor the last time\b",
)
_ENDS_LIFE: Final = any_of(
    r"(?:昨晚|昨天|上周|上个?月|今早|前天|没救|已经|前年|去年)(?:走|没)了|走了[，…。]|没救回来|去世|过世|病死"
    r"|(?<![困累饿热冷吵烦笑气急忙渴疼痛难美香爽晒冻辣])死了|不在了|没[挺熬]过|去(?:了)?(?:喵|汪)星|安乐死|离世|病逝|闭的?眼|埋在|[昨今前][晚天夜早].{0,4}没了",
    r"\b(?:put \w+ to sleep|\w+ put to sleep|said goodbye to \w+ at"
    r"|died(?! so)|passed away|rip|didn'?t make it|put to sleep|slipped away|buried|no longer with us"
    r"|(?:went|gone) to (?:his|her) rest|crossed the rainbow|is gone now|(?:had to |we )(?:say|said) goodbye)\b",
)
_ENDS_LOVE: Final = any_of(
    r"分手|(?:跟|和|同)(?:她|他|佢|[^，。]{1,4})分了|分了[，。]|上(?:周|週|个?月)分了|离婚|吹了|掰了|退婚"
    r"|我(?:俩|们|[跟和][^，。]{1,4})(?:已经|刚|上周|上个?月|前几天|最近|昨天|去年)*(?:分开|分|散|断)了(?=$|[，。！!…])|(?:恢复|回归|又是?)单身",
    r"\b(?:broke up|split up|broken up|called it off|divorc\w+|separated|that'?s over|dumped (?:me|him|her)"
    r"|we'?re done|ended things|it'?s over (?:with|between)|back the ring|ring back|wedding'?s off|no wedding"
    r"|(?:newly|i'?m|me|officially) single now|single again)\b",
)
_ENDS_PREGNANCY: Final = any_of(
    r"没保住|流产|孩子没了|生了|出生|落地",
    r"\b(?:miscarr\w+|lost (?:the|our|my) baby|gave birth|is here|was born|arrived)\b",
)
_ADDS: Final = any_of(
    r"也(?:不行|不能|碰不得|过敏)|现在(?:能|会)|最近(?:又|也|迷|发现|开始)"
    r"|也(?!没|不|好|行|许|就|是|罢)|(?<![改换搬])又(?!改|换|搬|推)|还(?:有|会|养|喜|爱|对|学|打|想|能)(?!是)"
    r"|另外(?:一|还|又|有)|再(?:养|加|来|添)|加了|多了(?:一|个|只)|二宝|二胎|第二[只个条]|仲(?:识|有)|同时|除了"
    r"|新添|领养了|添了|出生|我也",
    r"^and (?!i'm done|that's)|\b(?:too|also|another|a pair of|as well|a second|on top of|plus"
    r"|second (?:cat|dog|kid|child|one)|other (?:brother"
    r"|sister|friend|cat|dog)|inherited|adopted|meet|picked up|added"
    r"|joined (?:the|our) (?:household|family|gang)|additionally|oh and|and also"
    r"|joined .{0,30} too|born)\b",
)
_TEMPORARY: Final = any_of(
    r"(?:这|這)(?:周|週|个?礼拜|个?星期|两天|几天|次|趟|会儿?)|呢个礼拜|今晚|昨天|昨晚|前天|破例|凑合|暂时"
    r"|临时(?!不方便)|先(?:在|住|借|用).{0,10}(?:几天|凑合|顶|一阵)|(?:几|两|三)天(?:而已|就)?$|故障|卖完|请客"
    r"|停电|罢工|台风|只此一次|过渡|代班|顶班|出差(?:到|去|中)|今天.{0,12}(?:没|卖完|故障|堵|停|打车|换了杯|请"
    r"|休|不在)|请假|休假|回(?:咗)?大陆|探亲|例外|先(?:凑|将就)|休息一天",
    r"\b(?:tonight|this (?:friday|monday|tuesday|wednesday|thursday|saturday|sunday|week|morning|afternoon"
    r"|evening|once|time)|for now|(?:off|away|out|here|there|staying|covering|sitting|at my"
    r"|stay up)\b.{0,25}\b(?:till|til|until)|for the (?:week|weekend|day|moment|time being)|temporar\w*|covering"
    r"|cat-?sitting|house-?sitting|dog-?sitting|strike|out on (?:monday|tuesday|wednesday|thursday|friday)"
    r"|off (?:till|til|until|today|sick|this)|one sip|just (?:this )?once|letting (?:them|him|her) stay"
    r"|exception|while (?:my|the|she|he)|filling in"
    r"|today so|had one|on holiday|on leave|off work|back (?:on|next)|this weekend only|visiting|borrowed"
    r"|borrowing|in the shop|being repaired|last night|yesterday)\b",
)
# These make a change lasting even where a word such as "today" stands beside them.
_LASTING: Final = any_of(
    r"以后|从(?:这个?月|今天|现在)|换成|搬(?:到|去|完|进|出)|跳槽|转岗|入职|买了|提了|上秤|改订|改叫|推到|延到"
    r"|改到|卸了|退租|不再|永久|正式|开始去|转园|变成",
    r"\b(?:for good|hit|started|from this|from now on|these days|as of|bought|permanent\w*|every|each|went in"
    r"|switched|moved (?:to|out|in)|started at|is home now|new job|deferred|replaced|swapped)\b",
)
_CLAUSE: Final = re.compile(r"(?:[^.!?。！？；;，,]|[.,](?=\S))+[.!?。！？；;，,]*\s*")
_UNCHANGED: Final = re.compile(
    r"其他|其它|其余|别的[都倒]|照旧|照样|照常|不变|没(?:变|动)|依然|仍然|还是老样子|倒(?:是|还)|照[喝吃做干去用住上学练]"
    r"|还[干做喝吃上用住养玩练学跑打去教开写]着|继续"
    r"|\b(?:still|i'?m keeping|we'?re keeping|keeping (?:the|my|it)|same \w+ as before"
    r"|(?:the )?rest (?:is|of it|stays|stands)|everything else|otherwise the same|hasn'?t changed|unchanged)\b"
)
_ONLY_ONCE: Final = any_of(
    r"[就只仅]?(?:这|這|此)一?(?:次|回)(?:而已)?[。！!]*$|只此一次|仅此一次|就(?:这|這)一?次|下(?:周|次)(?:照旧|照常|恢复)"
    r"|请假|放假|住[一两三几]晚|歇一?[天晚]|(?:后天|明天|过两天|下周)就?回来|顺延.{0,8}(?:一次|后天|明天)",
    r"\b(?:just (?:this|the) (?:once|one time)|one-?off|only this (?:once|week|time)|back to normal (?:after|next)"
    r"|for (?:one|two|three|a few|a couple of) (?:days?|nights?|weeks?)|the (?:day|weekend) off"
    r"|while we'?re away)\b",
)
# Where somebody comes from and where somebody has been: no later home or journey changes that.
_BYGONE: Final = any_of(
    r"^(?:以前[:：]|earlier: )",
    r"老家|祖籍|籍贯|家乡|出生(?:在|于)|生在|生于|(?:在|从小).{1,8}长大|去过|(?:走|跑)(?:了)?(?:一)?[趟遍]|玩过|爬过",
    r"\b(?:born (?:and raised )?in|born on|grew up|raised in|hometown|originally from|i come from|i'?m from"
    r"|(?:i'?ve|we'?ve|have|has) been to|visited|backpacked|i went to \w+ (?:in|last|once))\b",
)
# What somebody would like, considers or imagines is not so yet.
_WISH: Final = any_of(
    r"好想|真想|要是.{0,10}(?:就|立马|的话)|如果|假如|(?<!不)考虑|立个?flag|心动|说不定|哪天|将来|再说吧|还没定",
    r"\b(?:thinking (?:of|about)|tempted|might|may (?:well )?(?:move|switch|change|replace|sell|quit)"
    r"|i'?d (?:like|love)"
    r"|would (?:like|love)|one day|some ?day|considering|hoping to|i wish|if (?:i|we) (?:ever|win|won|had|could|get)"
    r"|told myself|dream of|keep meaning to)\b",
)
_PAST_DAY: Final = re.compile(r"昨天|昨晚|前天|\b(?:yesterday|last night)\b")
_STRONG: Final = any_of(
    r"换|改|搬|跳槽|转(?:岗|园|到)|[推延挪]到|变成|不再",
    r"\b(?:switch\w*|swap\w*|replac\w*|moved (?:to|out)|instead|changed|no longer|deferred|used to)\b",
)
_MISTAKE: Final = any_of(
    r"才对|(?:贴|说|讲|講|打|记|記|写|寫|搞|弄|看|算|报)(?:错|錯|漏|岔)|选错|選錯|拿错|误诊|误会|更正|纠正|应该是|不对[，,]|先啱|口误|手误"
    r"|当我[没沒](?:说|說|讲|講)|(?:瞎|乱|亂|胡)(?:说|說|编|編|发|發|扯|讲|講)的|(?:开|開)玩笑的|逗你玩?的|骗你的|騙你的|别当真|別當真",
    r"\b(?:oops|typo|wait,? (?:no|that'?s|thats)|no wait|scratch that|my bad|my mistake|i lied"
    r"|should(?: have been| read)"
    r"|correction|i meant|gave you the wrong|(?:typed|wrote|said|put|spelled) (?:that|it) wrong"
    r"|(?:forget|ignore|disregard) (?:what|that|everything) i (?:said|told|wrote)|just kidding"
    r"|i was (?:only |just )?(?:joking|kidding)|was (?:just |only )?a joke|made (?:that|it) up"
    r"|i(?:'?m| am| do| did)?(?: not|n'?t) [^,.;!?]{1,30} after all"
    r"|(?:got|had|read) (?:that|it|the \w+) wrong|mixed (?:them|the two|it|that) up"
    r"|i misspoke|i (?:misread|misremembered|misheard|got (?:confused|muddled))|wrong (?:age"
    r"|number|name|date|email|address)|scrap that|sorry,? (?:it'?s|its|i meant)|not \w+,? it'?s)\b",
)


def changes(folded: str) -> bool:
    """Whether a statement says that something is different from now on."""
    return _CHANGES.search(folded) is not None


def hints_at_change(folded: str) -> bool:
    """Whether a statement has words that often stand beside a change: 现在, "since", "after all"."""
    return _HINTS.search(folded) is not None


def ends(folded: str) -> bool:
    """Whether a statement says that something is no longer so."""
    return _ENDS.search(folded) is not None


def ends_life(folded: str) -> bool:
    """Whether somebody or an animal has died."""
    return _ENDS_LIFE.search(folded) is not None


def ends_love(folded: str) -> bool:
    """Whether a couple has parted."""
    return _ENDS_LOVE.search(folded) is not None


def ends_pregnancy(folded: str) -> bool:
    """Whether a pregnancy is over: by a loss, or because the child is there."""
    return _ENDS_PREGNANCY.search(folded) is not None


def lost_by_name(folded: str, name: str) -> bool:
    """Whether a statement says of an animal with this name that it is gone: "We lost Rex", "Juno is gone", 豆豆没了."""
    this = re.escape(name)
    pattern = (
        rf"\b(?:lost|buried) {this}\b|\b{this}(?:'s| is| has| was)? (?:gone|passed)\b|\b(?:have|had) {this} put down\b"
        rf"|\bput {this} down\b|\bgoodbye to {this}\b|{this}.{{0,5}}(?:没了|走了|不在了|没救)"
    )
    return re.search(pattern, folded) is not None


def adds(folded: str) -> bool:
    """Whether a statement adds to what there is."""
    return _ADDS.search(folded) is not None


def is_temporary(folded: str) -> bool:
    """Whether a statement is an exception that passes."""
    lasting = _LASTING.search(folded) or _ENDS.search(folded) or _ENDS_LIFE.search(folded) or _ENDS_LOVE.search(folded)
    return _TEMPORARY.search(folded) is not None and lasting is None


def is_exception(folded: str) -> bool:
    """Whether a statement is plainly an exception: not only because it tells of yesterday."""
    return is_temporary(_PAST_DAY.sub(" ", folded)) or _ONLY_ONCE.search(folded) is not None


def is_wish(folded: str) -> bool:
    """Whether a statement only wishes, considers or imagines a change."""
    return _WISH.search(folded) is not None


def is_bygone(folded: str) -> bool:
    """Whether a statement tells of what was so, of an origin or a journey, which nothing said later can change."""
    return _BYGONE.search(folded) is not None


def is_mistake(folded: str) -> bool:
    """Whether a statement takes back what was said wrongly."""
    return _MISTAKE.search(folded) is not None


def without_unchanged(message: str) -> str:
    """A message without the clauses that say what has not changed: "still doing the newsletter", 其他不变."""
    parts = [match[0] for match in _CLAUSE.finditer(message)]
    left = "".join(part for part in parts if not _UNCHANGED.search(part.lower()))
    return left.strip() or message


def is_strong_change(folded: str) -> bool:
    """Whether a statement changes something in words that are used for nothing else."""
    return _STRONG.search(folded) is not None
