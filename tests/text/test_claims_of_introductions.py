"""People who introduce themselves tell several facts in a row, and each is kept for itself."""

import pytest

from jiyi.text.statements.parts.claims import split_claims

EACH_FOR_ITSELF = [
    ("你好，我叫郭砚秋，在绵阳一所初中教物理。", ["你好，我叫郭砚秋", "我在绵阳一所初中教物理。"]),
    ("我叫彭立群，58岁，在武汉开公交。", ["我叫彭立群", "我58岁", "我在武汉开公交。"]),
    ("我是台南人，現在在新竹的半導體廠當設備工程師", ["我是台南人", "我現在在新竹的半導體廠當設備工程師"]),
    ("我屋头在宜宾，这几年都在东莞电子厂头上班", ["我屋头在宜宾", "我这几年都在东莞电子厂头上班"]),
    ("我属牛，老婆属兔，我俩2016年国庆结的婚", ["我属牛", "老婆属兔", "我俩2016年国庆结的婚"]),
    ("我喜欢拍星云，家里两台望远镜", ["我喜欢拍星云", "我家里两台望远镜"]),
    ("我住在成都，养了一只猫叫团团。", ["我住在成都", "我养了一只猫叫团团。"]),
    ("我今年35岁，是护士，有两个孩子", ["我今年35岁", "我是护士", "我有两个孩子"]),
    ("I'm Sam, 34, a nurse in Leeds", ["I'm Sam", "I'm 34", "I'm a nurse in Leeds"]),
    ("I'm Declan, joiner by trade", ["I'm Declan", "I'm joiner by trade"]),
    ("我叫林晓东，在苏州一家药厂做质检。", ["我叫林晓东", "我在苏州一家药厂做质检。"]),
    ("大家好，我叫周敏，41岁，在昆明开出租。", ["大家好，我叫周敏", "我41岁", "我在昆明开出租。"]),
    ("我是哈尔滨人，现在在深圳做后端开发。", ["我是哈尔滨人", "我现在在深圳做后端开发。"]),
    ("我老家在赣州，现在在佛山一家陶瓷厂上班。", ["我老家在赣州", "我现在在佛山一家陶瓷厂上班。"]),
    ("我属虎，老公属马，我们2019年五一结的婚。", ["我属虎", "老公属马", "我们2019年五一结的婚。"]),
    ("我住在厦门，养了两条狗。", ["我住在厦门", "我养了两条狗。"]),
    ("我今年28岁，是小学老师，有一个女儿。", ["我今年28岁", "我是小学老师", "我有一个女儿。"]),
    ("我是四川人，对海鲜过敏。", ["我是四川人", "我对海鲜过敏。"]),
    ("我叫陈昊，今年26岁，住在南京。", ["我叫陈昊", "我今年26岁", "我住在南京。"]),
    ("我在杭州做会计，养了一只乌龟。", ["我在杭州做会计", "我养了一只乌龟。"]),
    ("我是素食者，住在大理。", ["我是素食者", "我住在大理。"]),
    ("我叫王蕾，是儿科医生，有两个儿子。", ["我叫王蕾", "我是儿科医生", "我有两个儿子。"]),
    ("I'm Priya, 29, a teacher in Bristol.", ["I'm Priya", "I'm 29", "I'm a teacher in Bristol."]),
    ("I'm Tom, plumber by trade.", ["I'm Tom", "I'm plumber by trade."]),
    ("I'm Hannah, 52, a bus driver in Hull.", ["I'm Hannah", "I'm 52", "I'm a bus driver in Hull."]),
    ("我今年40岁，离异，有一个女儿，跟我住", ["我今年40岁", "我离异", "我有一个女儿，跟我住"]),
    ("我属狗，今年18岁，在读高三", ["我属狗", "我今年18岁", "我在读高三"]),
    ("我在宠物店上班，养了一只鹦鹉", ["我在宠物店上班", "我养了一只鹦鹉"]),
    ("我叫陳怡君，今年29歲，在台中當護理師", ["我叫陳怡君", "我今年29歲", "我在台中當護理師"]),
    ("我是广东人，老婆是湖南人", ["我是广东人", "老婆是湖南人"]),
    ("我住在成都，是四川人", ["我住在成都", "我是四川人"]),
    ("I'm Anna, a vegetarian, 41", ["I'm Anna", "I'm a vegetarian", "I'm 41"]),
    ("I'm Ray, retired, 70", ["I'm Ray", "I'm retired", "I'm 70"]),
    (
        "Hi, I'm Olu, 31, from Lagos, living in Leeds",
        ["Hi, I'm Olu", "I'm 31", "I'm from Lagos", "I'm living in Leeds"],
    ),
    ("I'm Sam, 34, my wife is Jo, 36", ["I'm Sam", "I'm 34", "my wife is Jo, 36"]),
]
MORE_OF_THE_SAME = [
    "Hi, I'm based in Boston",
    "健身卡退了，离家太远",
    "我开一家奶茶店，开了三年了，生意一般",
    "我有个女儿，对花生过敏",
    "我养了一只猫，三岁，叫团团",
    "我姐生了，是个男孩，叫豆包",
    "我在医院上班，做护士",
    "大三狗，学水产养殖的",
    "我住在成都，离公司很近",
    "我有高血压，天天吃药",
    "我开了一家面馆，开了五年了，生意还行",
    "我有个儿子，对牛奶过敏",
    "我养了一条狗，五岁，叫旺财",
    "我妹生了，是个女孩，叫小米",
    "我在学校上班，当保安",
    "研二狗，学材料的",
    "我住在苏州，离地铁站不远",
    "我有糖尿病，每天打胰岛素",
    "我买了辆车，是白色的，花了二十万",
    "我在银行工作，做柜员",
    "我有个哥哥，在北京开出租",
    "我喜欢跑步，每天跑五公里",
    "I have a sister, a nurse in Leeds",
    "I'm a nurse, mostly nights",
    "I'm tired, hungry and cold",
    "我妈是护士，58岁",
    "我同事是护士，30岁",
    "我外婆属狗，80岁",
    "我有一只猫，3岁",
    "我跟我妈住，58岁",
    "我儿子叫豆豆，5岁，属狗",
    "他叫王强，40岁，在深圳开公司",
    "我是老师，教数学的",
    "我是护士，在急诊科",
    "我对海鲜过敏，吃了就起疹子",
    "我住在二楼，是老小区",
    "我有糖尿病，在协和看的",
    "我买了只股票，涨了",
    "我在医院工作，三班倒",
    "我叫外卖，30块",
    "I'm from Leeds, a city in Yorkshire",
    "I'm sorry, a bit late",
    "I'm Jo, a colleague of Tim",
    "I'm with Sam, 34, a nurse in Leeds",
    "I'm seeing Anna, 34, a nurse",
    "My brother is Sam, 34, a nurse in Leeds",
    "I'm Bob, a name I hate",
]


@pytest.mark.parametrize(("text", "facts"), EACH_FOR_ITSELF)
def test_each_fact_that_people_tell_of_themselves_is_a_claim_with_its_subject(text: str, facts: list[str]) -> None:
    assert [claim.text for claim in split_claims(text)] == facts


@pytest.mark.parametrize("text", MORE_OF_THE_SAME)
def test_what_says_more_of_the_same_or_of_an_uncertain_subject_stays_in_one_claim(text: str) -> None:
    assert [claim.text for claim in split_claims(text)] == [text]
