"""Stop words of English and Chinese, in folded form.

Documents keep them as uncounted terms; queries drop them unless there are no other terms. Single letters except `a`
and `i` are not stop words, because people search for C, T and X.
"""

from typing import Final

__all__ = ["CHINESE", "CONTRACTION_TAILS", "ENGLISH"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH: Final = _words(
    """
    a an the this that these those such same other another each every either neither both all any some no none
    many much more most few fewer less least several enough own

    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one ones someone somebody something anyone anybody
    anything everyone everybody everything nobody nothing

    who whom whose which what when where why how whoever whatever whichever whenever wherever however

    am is are was were be been being do does did doing done have has had having can could may might must shall
    should will would ought cannot

    aint arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt mightnt mustnt neednt shouldnt wasnt werent
    wont wouldnt im ive id youre youve youll youd hes shes theyre theyve theyll theyd weve thats whats theres
    heres lets wheres whos hows

    and or but nor so yet if unless because since although though while whereas whether than as until till

    of in on at by for from to with without within into onto upon out off over under above below up down about
    across after again against along among around before behind beside besides between beyond during except
    inside near outside per through throughout toward towards via

    not only just also too very really quite rather almost even ever never still already always often sometimes
    maybe perhaps then there here now once well else instead therefore thus hence otherwise anyway indeed

    yes yeah yep ok okay oh hey hi hello hmm um uh wow please thanks thank
    etc eg ie vs
    """
)

CONTRACTION_TAILS: Final[frozenset[str]] = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})
"""Endings after the apostrophe of an English word that are not terms."""

CHINESE: Final = _words(
    """
    的 了 着 过 得 地 之 和 与 及 或 而 且 但 是 在 有 也 都 就 还 又 很 把 被 给 对 从 向 到 于 以 为 因 所
    这 那 哪 个 些 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 自己 这个 那个 这些 那些 这样 那样 这里 那里
    什么 怎么 怎样 如何 哪个 哪些 哪里 谁 几 多少 为什么 啥 咋 为啥 吗 呢 吧 啊 呀 嘛 哦 嗯
    一个 一下 一些 没有 不 没 要 会 能 可以 如果 因为 所以 但是 而且 或者 以及 还是 就是 不是
    """
)
