"""Features of a message by which a classifier tells statements worth keeping from the rest. Each is 0, 1 or in between.

They name the kinds of text that hold no fact about the user: questions without a fact, requests, fiction and role play,
quoted or pasted text, sarcasm, general knowledge, passing states. Patterns are searched in folded text.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import any_of, has_han
from jiyi.text.statements.about.topics import TOPICS, topics_of
from jiyi.text.statements.keeping.momentary import MOMENTARY, momentary_features
from jiyi.text.statements.keeping.smalltalk import is_small_talk

__all__ = [
    "FEATURES",
    "WORTH_KEEPING",
    "asking_features",
    "asks",
    "asks_for_confirmation",
    "asks_the_memory",
    "features_of",
    "is_invented",
    "is_quoted_text",
    "is_role_play",
    "tells_by_name",
    "tells_in_asking",
    "topic_features",
    "without_announcement",
    "writes_fiction",
]


WORTH_KEEPING: Final = -0.55
"""From this value of the classifier on a text is worth keeping. Precision allows it: a lost fact costs more than a line
that nobody needs."""


FIRST_PERSON: Final = any_of(
    r"我|咱|俺|本人|(?<!大)家里|\b(?:i|i'm|im|i've|ive|i'd|id|i'll|my|me|mine|myself|we|we're|we've|were|our|ours|us)\b"
)
# Somebody states something about themselves or their own people and things.
OWN_STATEMENT: Final = any_of(
    r"我(?:是|有|在|叫|姓|住|做|干|对|不|没|从来|从小|每|平时|一直|今年|最近|刚|正在|打算|想|要|会|喜|讨|怕|爱"
    r"|用|吃|喝|念|学|读|养|得|患|尿|血|乳|爸"
    r"|开|骑|戴|玩|练|教|卖|租|买|怀|腰|胃|鼻|牙|心脏|膝"
    r"|妈|老|姐|哥|弟|妹|儿|女|公|婆|奶|爷|家|的|们|同|那|跟|和|喺|識|未|屋|識|仲|坐|早|都|上|下|只|最|女|男|媽|爸)",
    r"\b(?:i'm|im|i am|i've|ive|i have|i had|i got|i keep|i work|i live|i use|i play|i do|i don'?t|i dont"
    r"|i can'?t|i cant|i never|i always|i only"
    r"|i hate|i love|i like|i prefer|i quit|i left|i run|i sing|i teach|i tutor|i main|i want|i go|i get|i take"
    r"|i was|i wear|i study|i sell|i carry"
    r"|we're|we are|we have|we've|we keep|we live|we moved|we bank|my|our)\b(?! (?:ask|wonder|question)\b)",
)
# Whom it is asked for is told beside what is asked: "for my dad who collects stamps", 给我爱钓鱼的爸爸.
_PERSON_EN: Final = (
    r"(?:daughters?|sons?|wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|sisters?|brothers?|mum|mom|dad"
    r"|mother|father"
    r"|parents?|gran(?:dma|dpa|ny|dad)?|grandm?other|grandfather|grandparents?|grandsons?|granddaughters?|uncle"
    r"|aunt|boss"
    r"|manager|neighbou?rs?|nephews?|nieces?|cousins?|flatmates?|roommates?|housemates?|colleagues?|coworkers?"
    r"|friends?|kids?"
    r"|child(?:ren)?|toddler|baby|twins|teenagers?|dogs?|cats?|horse|rabbit|puppy|kitten|parrot|tortoise"
    r"|in-laws|\w+-in-law)"
)
_RELATIVE: Final = any_of(
    r"(?:给|送|为|带|帮|陪|替|请|教|让|和|跟|适合)(?:我|咱|我们|咱们|俺)(?:家|们)?(?:那个|这个|的)?"
    r"(?=爱|喜欢|热爱|痴迷|讨厌|怕|害怕|不|在|住|有|患|得了|学|练|会|对|收藏|养|玩|吃|喝|刚|正|即将|快|马上|要"
    r"|每|刚|退休|怀孕|失眠|素食|戒|高|初|\d"
    r"|[一二三四五六七八九十]+(?:岁|个月)|左撇子)[^，。？?]{1,14}?的(?:[大小老二三]|[\u4e00-\u9fff]{0,2})?"
    r"(?:爸爸?|妈妈?|父亲|母亲|爷爷|奶奶|外公|外婆|姥姥|姥爷|老公|老婆|丈夫|妻子|太太|媳妇|对象|男友|女友"
    r"|男朋友|女朋友|儿子|女儿|闺女|孩子|娃"
    r"|宝宝|哥哥?|姐姐?|弟弟?|妹妹?|侄[子女]|外甥女?|孙[子女]|舅舅?|姑姑?|姨妈?|叔叔?|朋友|闺蜜|室友|同事|老板"
    r"|领导|同学|老师|邻居|公公|婆婆|岳父"
    r"|岳母|父母|爸妈|狗|猫|狗狗|猫咪)(?!的)",
    r"\b(?:for|to|with|about|take|help|bring|suits?|cook|give|get|buy|teach|entertain|convince|visit|send|feed"
    r"|train|surprise)"
    rf" (?:my|our) (?:[\w'-]+ ){{0,3}}{_PERSON_EN},? (?:who|that|whose|with an?)\b",
)
QUESTION: Final = any_of(
    r"[?？]",
    r"(?:吗|嗎|么|麼|呢|来着|不|没|沒|对吧|是吧|没错吧)[\W_]*$",
    # A choice: 我报的南大还是武大.
    r"对[^，。]{1,8}还是对|[的是][^，。]{1,12}还是(?!改|换|叫|用|喊|决定|选|想|很|得|要|会|那|老)[^，。了]{1,10}$",
    r"(?!动不动|时不时)(?<!不)(?P<verb>[\u4e00-\u9fff])不(?P=verb)|应该.{1,12}还是|咩(?!都)"
    r"|哪(?!怕|吒)|(?<![好十有这那])几(?:点|号|岁|时|月|楼|口)(?!了)"
    r"|多(?:大|久|长|高|重|远|深|快|宽|厚)(?:了|呢|啊|来着)?$|有多[\u4e00-\u9fff]|何时|该不该|要不要"
    r"|记(?:不记)?得.{0,12}[吗么不]"
    r"|什么(?!都|也)|什麼(?!都|也)|为什么|為什麼|怎么(?!也|都)|怎麼(?!也|都)|怎样|如何|咋|多少|啥(?!都|也"
    r"|样的[^，。]{1,4}没)|哪(?:里|个|些|位|儿|种|家"
    r"|部|一)|能不能|是不是|有没有|会不会|算不算|点解|點搬"
    r"|好不好|可不可以|真的假的|有招没|谁(?!一|都|也|料|知|让|叫)",
    r"^(?:(?:so|and|ok|hey|quick q|but|wait|hang on|um|hmm),? )*(?:what|whats|what's|who|whos|whose|which|where"
    # "When you give me prices, always use pounds" asks nothing.
    r"|when(?! (?:you|i|we)\b[^?]*\b(?:always|never|please|don'?t|use|keep|make sure|i'?d like|i want|i prefer)\b)"
    r"|why|how|hows|is|am (?:i|we)|ought|shall|may (?:i|we)|might (?:i|we)|ha(?:ve|d) (?:i|we|you)"
    r"|are|was|were|do|does|did|can|could"
    r"|would|will|should (?:i|we|he|she|they|it|the|my)|has|any|anyone)\b",
    r"\b(?:what'?s|how (?:do|can|should|would|many|much|long|early|old)|which (?:one|of)|can (?:i|you|we)"
    r"|should (?:i|we)"
    r"|is it|any (?:tips|ideas|recs))\b",
    r"\bright$",
    r"^(?:(?:hey|so|ok|and|please|can you|could you),? )*(?:remind me|tell me|do you (?:know|remember|recall))"
    r" (?:again )?(?:what|when|where|who|which|how|whether|if|of|about|my)\b",
)
# "My thesis is on glaciers, right?" asks for a confirmation: nothing is stated.
_CONFIRM: Final = re.compile(
    r"(?:,|，)?\s*(?:right|correct|yes|no|yeah|isn'?t (?:it|he|she)|aren'?t (?:they|i|we)|don'?t i|doesn'?t (?:he|she)"
    r"|wasn'?t it|didn'?t i|对吧|对吗|对不对|是吧|是吗|没错吧|是不是)\s*[?？]+\s*$"
    r"|(?:对|是|没错)吧[\W_]*$"
)
# Questions about what was said before.
_OF_THE_MEMORY: Final = any_of(
    r"我.{0,8}(?:还|是不是还).{1,12}[吗么]|(?:对|没错|是)(?:吧|吗|不对)[\W_]*$|来着|记不记得|记得.{0,16}[吗么不没]"
    r"|我(?:刚才|之前|上次|以前).{0,8}(?:说|提|讲|告诉)|(?:说|提|讲)过",
    r"\b(?:do|did|can|could) you (?:still )?(?:remember|recall|know)\b|\bremind me\b|\bdid i (?:say|tell|mention)\b"
    r"|\bhave i (?:told|said|mentioned)\b|^(?:(?:so|and|wait|hang on),? )*(?:do|does|am|is|are)\b.{1,30}\bstill\b"
    r"|\b(?:can|could) you (?:check|look up|tell me) (?:what|when|where|who|which|how|whether|if|my)\b",
)
# What is asked for is something of the speaker's own: the memory knows it, or nobody does.
_ASKED_OF_MINE: Final = re.compile(
    r"^(?:so |and |ok,? )*(?:what|when|where|who|which|how (?:much|many|long|often))(?: \w+){0,2} did (?:i|we)\b|"
    r"^(?:(?:and|so|hey|ok),? )*(?:what'?s|whats|what (?:is|are|was|about|time|day)|where'?s?|when(?:'s)?|who(?:'s)?"
    r"|which of|is there anything|how (?:old|long have|many|much) )[\w' ]{0,25}\b(?:my|our|i|we)\b[^,;]{0,30}[?.!]*$"
    r"|^(?:draft|write|list|show|find|forget)\b|\bwhat i said\b"
)
_OWN_DEEDS: Final = re.compile(
    r"\b(?:did|have|had|was|were|do) (?:i|we)\b|我.{0,6}(?:给|送)?.{0,12}(?:了|过)(?:什么|啥|哪)"
)
_DETAIL: Final = re.compile(r"\d")
# What is told inside of an asking clause: with, for or as something of the speaker's own that is described.
_TOLD_IN_ASKING: Final = any_of(
    r"给(?:我|咱)?(?:家|们)?的?.{0,3}(?:\d|[一二两三四五六七八九十]+)(?:岁|个月)"
    r"|(?:像我|我)这(?:样|种)|作为|身为|(?:对|跟).{1,6}过敏的"
    r"|我(?:家|们家|这台|这个|那台|那只|那条).{2,}(?:能|会|要|怎|咋|得|用|可)"
    r"|的(?:话|人)[，,]|跑得动|带着.{1,6}(?:娃|狗|猫)|"
    r"(?:孕|术后|产后|糖尿病|高血压|过敏|哺乳).{0,12}(?:能|可|要|会|行)"
    r"|我(?:住|在|用|养|开|学|做|是).{2,}(?:怎么|如何|能|会|要|得|该|咋)",
    r"\b(?:as an?|being an?|coming from|someone (?:who|with|like me)|a (?:boss|friend|partner|kid|child) who)\b"
    r"|\b(?:with|on|for|to|after|during|because of|from|given|without|about|in|of|around|near)"
    r" (?:my|our) (?:\w+[ -]?){1,4}"
    r"|\b(?:when|if|since|that|while|now)"
    r" (?:i'm|im|i am|i have|i've|i already|i take|my|our|we're|we are|you freelance)\b"
    r"|\b(?:my|our) (?:\w+ )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten)[ -]?(?:year|month|week)"
    r"|\b(?:my|our) [\w', -]{3,40}?\b(?:hasn'?t|has|had|keeps?|won'?t|doesn'?t"
    r"|is (?:from|a|an|on|in|allergic)|who|which|died|left)\b"
    r"|\b\d+ (?:year|month|week)s? (?:old|pregnant)\b",
)
# Who is named, and what is compared with one's own, is told whatever is asked.
_TOLD_BY_NAME: Final = re.compile(
    r"\b(?:to|for|with|from|about|without|and) (?:my|our) (?:(?!best|good|old)\w+ )?"
    r"(?:daughter|son|wife|husband|partner|girlfriend|boyfriend|sister|brother|mum|mom|dad|boss|manager|neighbou?r"
    r"|nephew|niece|cousin|flatmate|roommate|colleague|dog|cat|horse|rabbit|puppy|kitten),? [A-Z][a-z]+\b(?!'s)"
    r"|(?i:\b(?:someone|somebody|anyone|people|a person) like (?:me|us)\b|\blike (?:mine|ours)\b"
    # "for vegans like me", "a student nurse like me"
    r"|\b(?:an?|for|to|of) (?:[\w'-]+ ){1,4}like (?:me|us)\b(?! to\b)"
    r"|\bthat i (?:got|was|had) (?:divorced|married|fired|diagnosed|promoted|pregnant|made redundant|laid off)\b)"
)
REQUEST: Final = any_of(
    r"^(?:请|請|麻烦|那就|再|先)?(?:帮我|幫我|替我|帮忙|给我|給我|给个|來個|来个|想(?:十|几|个)|編個|编个"
    r"|写(?:一|个|段|首|篇)|推荐|推薦|讲|講|翻译|總結|总结|列)",
    r"帮我(?:写|想|编|改|翻|查|算|看|列|做|起|取)|(?:写|编|起|取|想)(?:个|段|篇|首|几个|十个)|的做法|推荐(?:几"
    r"|个|一)|给(?:个|点)建议|再来一个|再短一点|再講",
    r"^(?:please |pls |ok |kindly |can you |could you |would you |would you kindly )*(?:write|give|gimme|suggest"
    r"|explain|translate|make|rate|summari[sz]e|list|generate|draft|rewrite"
    r"|tell me|show me|find|compare|turn (?:this|that|it|these) into|pick an?"
    r"|choose an?|recommend|name|proofread|put (?:this|these)|sort|set (?:it|this) out|fix"
    r"|shorten|convert|calculate|define|describe|help me)\b",
    r"\bcan you (?:make|write|give|help|explain|suggest|check|tell)\b|\bhow do i\b",
)
FICTION: Final = any_of(
    r"(?:如果|假如|要是|假使|倘若)(?:我|有一天|哪天|能|是|生在|有来世|让我|给我|中了|会(?:飞|隐身|魔法)|一个人"
    r"|可以)|来世|假设|假設|假定|设想|扮演?|角色|跑团|跑團|开演|開演"
    r"|剧本|劇本|小说|小說|故事|主角|第一人称|第一人稱|童话"
    r"|假设我|续写|續寫|接龙|台词|穿越|要是能|就好了|梦到|梦见|夢到|设定|情景|随便举例|模拟(?:面试|对话)|假装|假裝|npc"
    r"|同人文?",
    r"\bif (?:i|we) (?:were|was|won|had|could|ever|owned|became|lived)\b|\bif i'?d\b|\brole ?-?play\w*|\brp\b"
    r"|\bpretend\b|\bimagine\b|\bsuppose\b|\blet'?s say\b"
    r"|\bsay i (?:had|was|were|won|found|lost|inherited|owned)\b|\bwere i (?:an?|the|to)\b|\bhypothetic\w*"
    r"|\bmy character\b|\bcharacter is\b|\bstory (?:about|where"
    r"|in which)\b|\bshort story\b|\bnovel\b|\bprotagonist\b"
    r"|\bcontinue (?:the|this|my) (?:story|tale)\b|\bcarry on the story\b|\bthe hero of\b"
    r"|\bfirst person\b|\bpoint of view\b|\bpov\b|\bin the voice of\b|\bmonologue\b|\bi dreamt\b|\bi dreamed\b"
    r"|\bin (?:my|a) dream\b|\bi wish i (?:were|was|had|could)\b"
    r"|\bscreenplay\b|\bcampaign\b|\bthe narrator\b|\bact as\b|\byou(?:'re| are) (?:a|the"
    r"|my) (?:\w+ ){0,3}(?:detective|wizard|king|queen|captain|pirate|dragon|ghost|patient)\b"
    r"|\bact like\b|\bfanfic\b|\bwhat if i\b|\bin (?:her|his|their|its) own voice\b"
    r"|\bspeech (?:please )?for the\b|\bplay (?:that|a|the) game\b|\bi begin:|\bopening (?:line|paragraph"
    r"|scene)?\b.{0,30}:|\bdrags\b|\bpanto\b|\bvillain\b|\bwicked\b|\bonce upon\b",
)
_ROLE_PLAY: Final = any_of(
    r"角色扮演|开演|開演|演[一个](?:段|出|场)|咱[俩们]演|车卡|扮演一|来演|假装(?:你|我)|(?:写|编)(?:个|一个|段"
    r"|篇).{0,4}(?:故事|小说)",
    r"\brole ?-?play\b(?! (?:every|on|group|with my|night))|\blet'?s pretend\b|\bmy character\b"
    r"|\blet'?s play(?::|\b[^.!?]{0,30}\b(?:you'?re|you are|i'?ll be|i'?m)\b)"
    r"|\bwrite (?:me )?a (?:\w+ )?(?:story|scene|tale)\b",
)
# Who writes a novel tells of themselves; what its hero does is invented.
_WRITES_FICTION: Final = any_of(
    r"^(?:我|本人|咱)(?!们)(?:平时|最近|正|一直|还|也|业余|现在|已经|刚|去年|今年|打算)*(?:在写|写了|写过|写完"
    r"|出版|发表|开始写|喜欢写|会写)[^，。]{0,16}"
    r"(?:小说|故事|剧本|童话|同人)",
    r"^(?:(?:so|and|also|oh|btw),? )*i(?:'m| am|'ve| have)?(?: been| also| just| still| currently| always| once)*"
    r" (?:writing|written|write|wrote|working on|work on|published|publishing|publish|finished|finishing|sold|edited"
    r"|editing|edit)(?: (?:an?|my|the|another|his|her|short|first|second|third|\w+))*? "
    r"(?:novels?|stor(?:y|ies)|screenplays?|fanfics?|monologues?)\b",
)
FOREIGN_TEXT: Final = any_of(
    r"诈骗|是不是骗|骗子|阅读题|中心思想|主旨"
    r"|后面(?:一|两|几)句|翻(?:译|譯|成)|译成|譯成|润色|潤飾|潤色|改写|改寫|修改(?:一?下)?这|歌词|歌詞|这歌|這首"
    r"|这首|帖子|网友|網友|网上(?:有|看|说)|刷到|課本|课本|范文|範文|这句|這句|这段|這段|台词"
    r"|病句|语病|改错|教辅|试题|这道题|客户留言|用户留言|投诉如下|留言如下|谁唱|誰唱|谁说的|语法|原文|朗读|课文"
    r"|簡歷範本|评论区|热评|小红书上|文案|招租|有人(?:问|说|发)|某人|作文",
    r"\bscam\b|\btone of\b|\b(?:sticker|sign|poster|billboard|banner|advert|t-?shirt|podcast|radio)\b"
    r"[^.!?]{0,40}\b(?:says?|said|reads?)\b"
    r"|\bthe theme\b|\bopening work\b"
    r"|\btranslat\w*|\bproof-?read\b|\brephrase\b|\bparaphrase\b|\bsummari[sz]e (?:this|the)|\breddit\b|\baita\b"
    r"|\bpost title\b|\bsaw (?:this|a post|on)\b|\blyrics?\b|\bthat song\b"
    r"|\bwho (?:sang|sings|said|wrote)\b|\bwhat does .{0,30} mean\b|\bgrammar\b|\bthis (?:review|email|text"
    r"|paragraph|essay|sentence|line|quote|tweet|caption|bio)\b|\btweet\w*"
    r"|\bin (?:spanish|french|german|japanese|chinese|mandarin|italian|korean)\b|\bto (?:spanish|french|german"
    r"|japanese|chinese|mandarin|italian|korean)\b|\bquote\b|\binto (?:spanish|french|german|japanese|chinese"
    r"|welsh|italian|english|polish)\b|\btidy up the (?:spelling|grammar)\b|\bfound this (?:under|on|in)\b"
    r"|\bold diary\b|\bsample\b|\bleaflet\b|\bheadstone\b|\bsong (?:goes|says)\b|\bthe hymn\b|\bsomeone (?:on"
    r"|wrote|posted|said)\b"
    r"|\bworksheet\b|\btextbook\b|\bexam question\b|\bmark this\b|\brewrite\b|\bcorrect the\b"
    r"|\b(?:cover letter|this draft|headline|caption|the line|poem|famous line|opening line)\b",
)
QUOTED: Final = re.compile(
    r"[“\"][^”\"]{6,}[”\"]|「[^」]{4,}」|『[^』]{4,}』|(?<!\w)'[^']{10,}'(?!\w)|[:：] ?(?:我|i\b|i'm)", re.IGNORECASE
)
# "so that you know: I have a pacemaker" announces the speaker's own words.
_OWN_WORDS: Final = re.compile(
    r"\b(?:know|tell you|told you|fyi|note|update|news|somewhere|reminder|the record|correction|confession|about me"
    r"|thing is|truth is|background|context)\b[^:]{0,25}:"
    r"|(?:告诉|说一下|汇报|补充|更新|备注|坦白|老实说|背景|记一下|提一嘴)[^:：]{0,8}[:：]",
    re.IGNORECASE,
)
_ANNOUNCED: Final = re.compile(r"[:：]\s*\S")
SARCASM: Final = any_of(
    r"可不(?:是)?嘛|爆棚|家里有矿|呵呵|呵[，,]|对对对|對對對|可太(?:爱|喜欢|会|棒|好)|恨不得|真是太.{1,8}了(?:呢|呀"
    r"|吧)?|人生巅峰|我谢谢您?"
    r"|就爱给|爱到想|简直是?.{0,6}(?:典范|天才|福音)|真棒[呢呀]?|又(?:要|双|叒)"
    r"|太幸福了|可真行|厉害了我|做慈善|最喜欢.{0,8}(?:排队|加班|开会|堵车|早八)|神笔|(?:可|真)会(?:安排|玩|挑)"
    r"|感动哭了|感动得|可真懂我|锦旗|真体贴|是是是|浑身不舒服|太懂我",
    r"\b(?:oh|ah|wow|well),? (?:brilliant|great|wonderful|fantastic|lovely|joy|perfect|good|yeah|sure|yes|nice"
    r"|how)\b|\byeah,? (?:sure|right)\b|^(?:yeah|right|sure),? because\b|\bi'?m (?:obviously|clearly)\b"
    r"|\bsure,? (?:i'm|im|because|let)|\btruly (?:the|my|a)\b|\bi live for\b"
    r"|\b(?:just )?love (?:it )?when\b|\bso enjoy\b|\bmade of money\b|\bbasically a\b|\btotally (?:an?|the"
    r"|not)\b|\bhighlight of my\b|\bmy passion\b|\bwhat a (?:treat|joy|surprise|time)\b"
    r"|\bexactly what i (?:needed|wanted)\b|\bbecause (?:obviously|clearly|of course)\b|\bcouldn'?t be happier\b"
    r"|\blucky me\b|\bcan'?t wait to (?:spend|sit|stand|pay|be)\b|\bjust what i\b|\bliving the dream\b"
    r"|\bsimply adore\b|\bbrilliant\.|\bhow delightful\b|\bi do love (?:being|waiting|it when|a good queue)\b"
    r"|\bmy favou?rite (?:thing|part|hobby) (?:is|in)\b.{0,40}\b(?:cancel|queue|wait|delay|meeting|traffic|3am"
    r"|2am|broken)\w*|^(?:fantastic|brilliant|great|wonderful|lovely|perfect|love that for me)\b[,.!]",
)
PASSING: Final = any_of(
    r"等会儿?|这会儿?|刚刚|剛剛|刚才|好困|好睏|好累|好饿|没信号|沒信號|信号不好|眼皮|快到站|在(?:电梯|地铁|排队"
    r"|路上|开会|楼下|高铁)[里上]?(?:呢|了)?|马上(?:到|回)|有点(?:困|饿|冷|热|累)|先不聊|回头(?:聊|说)"
    r"|手机(?:快)?没电"
    r"|外面(?:下|在)|下雨了|今天(?:好|真|太)",
    r"\bhang on\b|\bbrb\b|\brn\b|\bright now\b|\bstuck (?:on|in|at|behind)\b|\bwaiting (?:on|for)\b"
    r"|\bso (?:hungry|tired|sleepy|cold|hot|bored)\b|\bone sec\b|\bon the (?:bus|train|tube|phone)\b.{0,12}$"
    r"|\bgtg\b|\bafk\b"
    r"|\bat the door\b|\bbattery\b|\bkettle\b|\bsneez\w*|\byawn\w*|\bback in (?:a|five|ten)\b|\bjust (?:woke|sat"
    r"|got (?:in|home|back))\b|\bit'?s raining\b|\bneed a (?:coffee|nap)\b|\bin the lift\b|\bbear with me\b"
    r"|\bback in a (?:minute|sec|bit)\b|\bat the till\b.{0,30}queue",
)
GENERAL: Final = any_of(
    r"大部分人|大多数人|多数人|人们|人家说|听说|聽說|据说|據說|新闻|新聞|为什么(?!我)|历史上|世界上|一般来说"
    r"|是谁(?:发明|提出|写)|最早|原理|区别|區別|定义|意思|世界第|全长|[涨长]知识|冷知识|的首都|亚洲人|中国人"
    r"|年轻人|真能|是真的",
    r"\bmost (?:people|devs|dogs|cats|adults|kids)\b|\bpeople (?:in|who|say)\b|\bapparently\b|\bdid they\b"
    r"|\bscientists\b|\bdifference between\b|\bwhat (?:is|are|was|were)\b|\bwho (?:won|invented|is|was)\b"
    r"|\bhow (?:does|did|do (?:they|planes|bees))\b"
    r"|\bwhy (?:do|does|did|is|are)\b|\bfacts? about\b|\bthe (?:government|president|capital|population"
    r"|average)\b|\bhistory of\b|\bin general\b|\bso i read\b|\bsupposedly\b|\baccording to\b|\bcentral bank\b"
    r"|\binterest rates?\b|\bcut rates\b|\bi read that\b|\bthey say\b",
)
LASTING: Final = any_of(
    r"每(?!次都)|一直|从来|从小|平时|多年|年了|常年|天天|都(?:是|用|去|在)|以后|戒了|再也不|不再|从不|固定|永远"
    r"|长期|快.{1,2}年",
    r"\b(?:every|always|never|usually|since|for (?:\w+ )?years|used to|no longer|anymore|any more|from now on"
    r"|these days|most (?:days|mornings)|strictly|only|for good|weekly|daily)\b",
)
YOU: Final = any_of(r"你|您|\b(?:you|u|ur|your)\b")


def asks(folded: str) -> bool:
    """Whether a text asks something."""
    return QUESTION.search(folded) is not None


def asks_for_confirmation(folded: str) -> bool:
    """Whether a text ends with a question such as ", right?" or 对吧: all of it is asked then."""
    return _CONFIRM.search(folded) is not None


def tells_in_asking(text: str) -> bool:
    """Whether an asking clause tells something: "with my blood thinner", "if I'm freelance", 给我家三岁的猫."""
    return _TOLD_IN_ASKING.search(fold(text)) is not None


def tells_by_name(text: str) -> bool:
    """Whether an asking clause surely tells something: "to my daughter Saoirse", "for my dad who collects stamps"."""
    return _TOLD_BY_NAME.search(text) is not None or _RELATIVE.search(fold(text)) is not None


def asks_the_memory(text: str) -> bool:
    """Whether a question asks for what was said before, or for something of the speaker's own: it tells nothing."""
    folded = fold(text)
    # What the speaker said or did is still asked for: "What did I get for my wife who loves orchids?".
    if _RELATIVE.search(folded) and not _OF_THE_MEMORY.search(folded) and not _OWN_DEEDS.search(folded):
        return False
    of_others = _ASKS_WHETHER.search(folded) is not None and FIRST_PERSON.search(folded) is None
    return (
        asks_for_confirmation(folded)
        or (of_others and _TOLD_IN_ASKING.search(folded) is None)
        or any(pattern.search(folded) for pattern in (_OF_THE_MEMORY, _ASKED_OF_MINE))
    )


def without_announcement(text: str) -> str:
    """What follows on "just so you know:" or 补充一下：, where a text begins so."""
    found = _OWN_WORDS.search(text)
    return text if found is None else text[found.end() :].strip() or text


def _is_fiction(folded: str) -> bool:
    """Whether a text imagines, plays a role or orders fiction."""
    return FICTION.search(folded) is not None and not writes_fiction(folded)


def writes_fiction(folded: str) -> bool:
    """Whether a text tells that the speaker writes fiction: "I'm writing a novel about a nurse"."""
    return _WRITES_FICTION.search(folded) is not None


def is_invented(folded: str) -> bool:
    """Whether a text is imagined or meant ironically: what it says is not so."""
    return _is_fiction(folded) or SARCASM.search(folded) is not None


def is_role_play(folded: str) -> bool:
    """Whether a text announces a role play or a story: everything in it is imagined."""
    return _ROLE_PLAY.search(folded) is not None and not writes_fiction(folded)


def is_quoted_text(text: str) -> bool:
    """Whether a text quotes somebody else's words, to be translated, corrected or explained."""
    return _is_foreign_text(fold(text)) and (QUOTED.search(text) is not None or _ANNOUNCED.search(text) is not None)


def _is_foreign_text(folded: str) -> bool:
    """Whether a text is about words of somebody else: to be translated, corrected, explained."""
    return FOREIGN_TEXT.search(folded) is not None


def _share(folded: str, zh: int, en: int) -> float:
    """How long a text is against what is long in its language, at most 1."""
    return min(len(folded) / (zh if has_han(folded) else en), 1.0)


_FIGURES: Final = re.compile(r"\d|[一二两三四五六七八九十]")

_ASKS_FOR: Final = re.compile(
    r"^(?:(?:and|so|hey|ok|but),? )*(?:what|whats|what's|who|whos|who's|whose|which|when|when's|where|where's)\b"
    r"|谁|什么|哪|几(?:点|号|岁)|多少|何时"
)
_ASKS_WHETHER: Final = re.compile(
    r"^(?:(?:and|so|hey|ok|but),? )*(?:can|could|should|may|do|does|did|is|are|am|will|would|have|has)\b"
    r"|(?:吗|么|嗎|不|没)[\W_]*$|(?P<verb>[\u4e00-\u9fff])不(?P=verb)|有没有"
)
_ASKS_HOW: Final = re.compile(
    r"\b(?:how (?:do|can|should|to)|any (?:tips|ideas|recs|advice)|best way|worth)\b|怎么|咋|如何|怎样|推荐|建议"
)
_CLAUSES: Final = re.compile(r"[,，;；:：]|\s-\s")
# How the speaker wants to be answered, from now on.
_INSTRUCTS: Final = any_of(
    r"(?:以后|往后|从现在起|今后|每次).{0,12}(?:回|答|给我|用|别|写|说)"
    r"|(?:回答|回复|解释|说话|推荐|举例).{0,10}(?:要|别|用|短|简|一点|不要)|别(?:再|用|给我|跟我|总|老)|不要(?:用"
    r"|加|给|再)|请?(?:叫|喊|称呼)我|跟我说话|用.{1,8}(?:回|跟我|语气|单位)",
    r"\b(?:from (?:now|here) on|in future|always|never|every time|whenever|when you)\b.{0,40}\b(?:me|my|you|your"
    r"|answers?|repl(?:y|ies)|units?|use|give)\b"
    r"|^(?:please |pls |and |just |kindly )*(?:stop|don'?t|dont|no|never|avoid|skip|drop|keep|call me|answer|reply"
    r"|talk|speak|explain (?:stuff|things|everything)|use|spell|stick to|write to me|show me)\b"
    r"|\b(?:make|keep) (?:it|them|your \w+|answers|replies) (?:short|brief|simple|plain|formal|casual|\w+er)\b",
)
FEATURES: Final = (
    *("first person", "own statement", "asks", "asks without the first person", "asks and states", "request"),
    *("request without a statement", "fiction", "foreign text", "quotation", "quoted foreign text", "sarcasm"),
    *("passing", "general", "general without the first person", "lasting", "addressed", "figures", "small talk"),
    *("topics", "no topic", "short", "long", "instruction", "instruction without a topic of life"),
    *MOMENTARY,
)
"""The names of the features, in their order."""


def features_of(text: str) -> list[float]:
    """The features of a text, in the order of `FEATURES`."""
    folded = fold(text)

    def has(pattern: re.Pattern[str]) -> bool:
        return pattern.search(folded) is not None

    first, own, question, request = has(FIRST_PERSON), has(OWN_STATEMENT), has(QUESTION), has(REQUEST)
    foreign, general = has(FOREIGN_TEXT), has(GENERAL)
    quoted = QUOTED.search(text) is not None and _OWN_WORDS.search(text) is None
    topics = topics_of(folded)
    found = (
        *(first, own, question, question and not first, question and own, request),
        *(request and not own, has(FICTION), foreign, quoted, quoted and foreign, has(SARCASM)),
        *(has(PASSING), general, general and not first, has(LASTING), has(YOU), has(_FIGURES), is_small_talk(text)),
        *(min(len(topics), 3) / 3, not topics, _share(folded, 6, 16) < 1, _share(folded, 60, 150)),
        *(has(_INSTRUCTS), has(_INSTRUCTS) and (not topics or "answer style" in topics)),
        *momentary_features(text, folded),
    )
    return [float(value) for value in found]


ASKING: Final = (
    *("of the memory", "of the speaker's own", "told in asking", "a figure of the speaker's", "asks for"),
    *("asks whether", "asks how", "several clauses", "long question"),
)
"""The names of the features of a question, in their order."""


def asking_features(text: str) -> list[float]:
    """The features that matter in questions alone, in the order of `ASKING`; all 0 where nothing is asked."""
    folded = fold(text)
    if not asks(folded):
        return [0.0] * len(ASKING)
    found = (
        *(pattern.search(folded) is not None for pattern in (_OF_THE_MEMORY, _ASKED_OF_MINE, _TOLD_IN_ASKING)),
        _DETAIL.search(folded) is not None and FIRST_PERSON.search(folded) is not None,
        *(pattern.search(folded) is not None for pattern in (_ASKS_FOR, _ASKS_WHETHER, _ASKS_HOW, _CLAUSES)),
        _share(folded, 40, 100),
    )
    return [float(value) for value in found]


def topic_features(text: str) -> list[float]:
    """For every topic whether the text speaks of it (a half for one word, 1 for several)."""
    found = topics_of(fold(text))
    return [min(found.get(topic.name, 0), 2) / 2 for topic in TOPICS]
