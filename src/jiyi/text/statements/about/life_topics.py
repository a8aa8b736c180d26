"""The topics of how people live: health, home, pets, sport, hobbies, things they own."""

from __future__ import annotations

from typing import Final

from jiyi.text.statements.about.topic_table import LIFE, Topic, topic

# Who runs a bakery does no sport.
_RUN: Final = (
    r"run(?:s|ning)?(?! (?:an?|the|my|our|his|her|their|this|that) "
    r"(?!half|marathon|race|\d+k?\b|mile|lap|relay|ultra|few|couple|lot|bit))"
)
LIFE_TOPICS: Final[tuple[Topic, ...]] = (
    # --- health ---------------------------------------------------------------------------------------------------
    topic(
        "allergy",
        LIFE,
        r"过敏|不耐受|乳糖不耐|蚕豆病|起疹子?|休克|过敏原",
        r"\ballerg\w*|\bintoleran\w*|\bepi-?pen\b|\bhives\b|\banaphyla\w*|\bc(?:o)?eliac\b",
    ),
    topic(
        "health",
        LIFE,
        r"糖尿病|血压|血糖|尿酸|痛风|哮喘|心脏|心律|癫痫|抑郁|焦虑症|失眠|怀孕|孕期|备孕|胃病|胃炎|鼻炎|贫血|近视"
        r"|散光|颈椎|腰椎|腰间盘|膝盖|半月板|髌骨|韧带|骨折|手术|确诊|查出|复发|结节|肿瘤|化疗|慢性|旧伤|腱鞘炎"
        r"|牙套|智齿|拔牙|隐形眼镜|角膜|助听器|耳背|耳朵|[左右][耳眼]|失聪|失明|耳聋|听力|视力|(?:ab|[abo])型血|轮椅|色盲|色弱|左撇子|血型|rh|偏头痛|湿疹|皮炎|甲状腺"
        r"|脂肪肝|幽门|胃镜|晕车|恐高|多动症|自闭|老花",
        r"\b(?:diabet\w*|asthma\w*|hypertension|blood (?:pressure|type)|epilep\w*|migraine\w*|insomnia|adhd|autis\w*"
        r"|dyslexi\w*|dyspraxi\w*|anxiety|depress\w*|bipolar|pregnan\w*|arthritis|tinnitus|deaf\w*|blind"
        r"|colou?r-?blind\w*"
        r"|hearing aids?|wheelchair|braces|surgery|knees?|hip|herniated|disc|back (?:pain|injury)|slipped disc|injur\w*"
        r"|fracture\w*|broke my|chronic|disorder|syndrome|pcos|ibs|crohn'?s|endometriosis|anaemi\w|anemi\w|left-?handed"
        r"|insulin|pump|chickenpox|cancer|chemo|therapy|therapist|diagnos\w*|lungs?|wrist|vision|glasses"
        r"|contact lenses)\b",
    ),
    topic(
        "medication",
        LIFE,
        r"吃药|服药|二甲双胍|他汀|降压药|胰岛素|避孕药|中药|抗抑郁|布洛芬|每天吃.{0,6}(?:片|粒|药)",
        r"\b(?:warfarin|metformin|statins?|insulin|medication|meds|antidepressants?|pills?|prescri\w*|inhaler"
        r"|sertraline"
        r"|ritalin|blood thinners?)\b",
    ),
    topic(
        "weight",
        LIFE,
        r"体重|\d+(?:\.\d+)? ?(?:斤|公斤|kg)|上秤",
        r"\bi weigh\b|\b\d+(?:\.\d+)? ?(?:kg|kilos|lbs?|pounds|stone)\b|\bscales?\b",
        single=True,
    ),
    topic("height", LIFE, r"身高", r"\bi'?m \d'\d|\bmy height\b|\b\d{3} ?cm tall\b", single=True),
    topic(
        "diet",
        LIFE,
        r"吃素|素食|不能吃(?!了|完|饭|亏|苦|透|准|到|喝|早|午|晚|东西)|不吃(?:肉|荤|猪|牛|羊|鱼|海鲜|香菜|辣|甜)|忌口|清真|无肉不欢|减脂餐|生酮|戒糖|戒奶茶|一口不碰",
        r"\b(?:vegan|vegetarian|pescatarian|halal|kosher|keto|plant-?based|gluten|dairy|lactose|no sugar|diet)\b"
        r"|\b(?:don'?t|do not|dont|can'?t|cant|never|won'?t|no longer) (?:eat|do) \w+",
    ),
    topic(
        "smoking and drinking",
        LIFE,
        r"抽烟|吸烟|戒烟|烟戒|戒了烟|喝酒|戒酒|酒戒|滴酒|以茶代酒|电子烟",
        r"\b(?:smok\w+|vap(?:e|es|ing)|cigs?|cigarettes?|alcohol|sober|teetotal\w*|booze|drink(?:ing)?|beer|wine)\b",
    ),
    # --- living ---------------------------------------------------------------------------------------------------
    topic(
        "home",
        LIFE,
        r"(?<!记)住(?:在|到|进|了|校|宿舍|埋)?|搬(?:家|到|去|来|进|出|咗|完)|租(?:了|的|房|在|住|间)|合租|退租"
        r"|定居|坐标"
        r"|落户|安家|买(?:的|了)?房|屋企|公寓|宿舍|套房|小区|楼上|人住|家在|房子",
        r"\b(?:live|lives|living|lived|based|reside\w*|moved? (?:to|out|in|into|back)|relocat\w*|flat|apartment"
        r"|flatshare"
        r"|house share|room in|is home|home is|settled in|renting|rented|houseboat|bungalow|mortgage"
        r"|neighbou?rhood"
        r"|born and based|postcode)\b",
        single=True,
    ),
    topic(
        "origin",
        LIFE,
        r"老家|出生(?:在|于)?|籍贯|家乡|长大|(?:北京|上海|广东|四川|湖北|湖南|河南|东北|台湾|香港|泰国|日本)人"
        r"|回族|土生土长",
        r"\b(?:born in|grew up|from|originally|hometown|raised|native of|came over|australian|polish|irish"
        r"|scottish|german"
        r"|nationality|citizen)\b",
        single=True,
    ),
    topic(
        "rent and money",
        LIFE,
        r"房租|房贷|月供|车贷|存款|攒钱|工资|月薪|年薪|预算|贷款|信用卡|理财|基金|股票|欠",
        r"\b(?:rent'?s?|mortgage|salary|savings?|saving (?:for|up)|budget|debt|credit card|loan|pension"
        r"|invest\w*|a month"
        r"|paid off|bank with|paycheck|wage)\b",
    ),
    topic(
        "bank", LIFE, r"(?:银行|工行|建行|招行|农行)卡|开户", r"\bbank(?:ing)? with\b|\bcurrent account\b", single=True
    ),
    topic(
        "household",
        LIFE,
        r"地暖|壁挂炉|空调|暖气|装修|阳台|厨房|车位|车库|电梯|几楼|[一二三四五六七八九十\d]+楼|小院|花园|燃气"
        r"|电磁炉|洗衣机",
        r"\b(?:boiler|hob|oven|kitchen|garden|garage|loft|balcony|heating|cook on|microwave|air ?fryer|lift"
        r"|floor|parking"
        r"|fridge|washing machine|allotment)\b",
    ),
    topic(
        "vehicle",
        LIFE,
        r"开车|驾照|买了?车|车险|电动车|摩托|自行车|科[一二三]",
        r"\b(?:car|bike|motorbike|driving licen[cs]e|drive a|cargo bike|scooter|van|campervan|sailboat|boat|ev)\b",
    ),
    topic(
        "commute",
        LIFE,
        r"上班(?:坐|骑|开|走)|(?:骑|坐|开|走路)[^，。]{0,6}上班|坐.{1,6}(?:号线|地铁|公交|高铁|班车)|通勤|返学",
        r"\b(?:commute|the \d+:\d\d (?:bus|train)|bus to|train to work|cycle to)\b",
        single=True,
    ),
    topic(
        "wake and sleep",
        LIFE,
        r"起床|早起|[点半][^，。]{0,3}起|睡觉|熬夜|午睡|作息|点睡|才睡",
        r"\b(?:wake up|get up|bedtime|night owl|early bird|go to bed|sleep)\b",
        single=True,
    ),
    topic(
        "pet",
        LIFE,
        r"(?<!熊)猫(?!粮)|狗(?!粮)|柯基|金毛|哈士奇|泰迪|拉布拉多|英短|布偶|三花|橘猫|仓鼠|兔子|鹦鹉|乌龟|龟"
        r"|热带鱼|孔雀鱼"
        r"|养了?.{0,4}[只条缸]|宠物|龙猫|蜥蜴",
        r"\b(?:dogs?|pupp(?:y|ies)|cats?|kittens?|rabbits?|hamsters?|gecko|ferrets?|tortoise|parrots?|budgie"
        r"|horses?|pon(?:y|ies)"
        r"|hens?|chickens|goldfish|fish tank|snake|bearded dragon|rats?|guinea pigs?|beagle|labrador|lurcher"
        r"|whippet|poodle"
        r"|terrier|corgi|greyhound|pets?|bees|spaniel|collie|axolotl)\b",
    ),
    topic(
        "sport and fitness",
        LIFE,
        r"跑步|夜跑|马拉松|健身|私教|卧推|深蹲|游泳|羽毛球|乒乓|篮球|足球|网球|排球|瑜伽|普拉提|爬山|徒步|骑行"
        r"|攀岩|滑雪"
        r"|跆拳道|拳击|太极|校队|撸铁|飞盘|跳舞|跳绳",
        rf"\b(?:gym|{_RUN}|marathon|half|5k|10k|parkrun|swim\w*|climb\w*|boulder\w*|yoga|pilates|football"
        r"|five-?a-?side"
        r"|soccer|rugby|cricket|tennis|badminton|squash|netball|hockey|cycl\w+|triathlon|judo|karate|boxing"
        r"|dance|ballet"
        r"|ski\w*|snowboard\w*|surf\w*|row(?:ing)?|goalie|golf|skat\w+|lift(?:ing)?|deadlift|crossfit|hik\w+"
        r"|kayak\w*)\b",
    ),
    topic(
        "hobby",
        LIFE,
        r"爱好|弹|琴|吉他|钢琴|小提琴|贝斯|bass|打鼓|架子鼓|古筝|乐团|乐队|唱歌|画画|书法|练字|摄影|相机|富士"
        r"|钓鱼|露营|烘焙"
        r"|园艺|种(?:菜|花|了)|君子兰|多肉|手账|拼图|乐高|下棋|围棋|象棋|桌游|跑团|剧本杀|打游戏|游戏|lol|原神"
        r"|王者|steam"
        r"|追剧|看书|读书会|动漫|漫画|cosplay|infp|mbti|收藏|模型|演唱会|彩票|集邮|编织|裁缝",
        r"\b(?:hobb(?:y|ies)|guitar|piano|cello|violin|drums?|bass|keys|sax\w*|choir|sing|alto|band|dj"
        r"|paint(?:ing)?|draw(?:ing)?"
        r"|pottery|ceramics|knit\w*|crochet|sew\w*|quilt\w*|bak(?:e|es|ing)|sourdough|brew\w*|garden(?:ing)?"
        r"|photograph\w*"
        r"|camera|film camera|chess|board games?|d&d|dnd|gam(?:e|es|ing)|league|minecraft|main \w+|speedrun\w*|cosplay"
        r"|book club|reading|novels?|poetry|podcasts?|collect\w*|vinyl|lego|fishing|birdwatch\w*|volunteer\w*|webcomic"
        r"|life drawing|improv|theatre|woodwork\w*|junkrat|bridge|pta|club)\b",
    ),
    topic(
        "belief and identity",
        LIFE,
        r"信(?:佛|教|主|基督|伊斯兰)|佛教|基督|天主|穆斯林|拜观音|无神论|党员|单亲|独生|同性恋",
        r"\b(?:church|mosque|synagogue|temple|quaker\w*|catholic|christian|muslim|jewish|buddhist|hindu|agnostic"
        r"|atheist|faith|religio\w*|gay|lesbian|queer|trans"
        r"|non-?binary|\bbi\b|straight|zodiac|infj|intj)\b",
    ),
    topic(
        "travel",
        LIFE,
        r"旅游|旅行|自驾|出国|护照|签证|出境|环岛",
        r"\b(?:travel\w*|holiday|vacation|trip|passport|abroad|interrail\w*|backpack\w*)\b",
    ),
    topic(
        "device",
        LIFE,
        r"手机|iphone|小米|华为|三星|ipad|平板|笔记本|电脑|macbook|\bair\b|台式|显卡|显存|耳机|手表|显示器|键盘"
        r"|kindle|switch"
        r"|ps5|主力机|thinkpad|\d{4}ti|30[56789]0|40[56789]0",
        r"\b(?:phone|iphone|pixel|galaxy|android|ipad|tablet|laptop|macbook|mac ?mini|thinkpad|pc|gpu|monitors?"
        r"|screens?"
        r"|keyboard|headphones?|kindle|steam deck|switch|ps5|xbox|watch|cintiq|printer|\d{4}x3d|\d{4}xt|router)\b",
    ),
    topic(
        "software",
        LIFE,
        r"win(?:dows)?1[01]|windows|linux|ubuntu|fedora|macos|输入法|五笔|拼音|浏览器|edge|chrome|vscode|neovim"
        r"|vim|emacs|wps"
        r"|office|飞书|钉钉|企业微信|notion|抖音|微博|小红书",
        r"\b(?:windows|win1[01]|linux|ubuntu|fedora|arch|debian|macos|ios|chrome|firefox|browser|vs ?code|neovim"
        r"|vim|emacs"
        r"|notion|obsidian|excel|google docs|facebook|insta(?:gram)?|tiktok|twitter|whatsapp|discord|telegram"
        r"|spotify|app)\b",
    ),
)
