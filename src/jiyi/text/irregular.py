"""Irregular English forms that the stemmer does not reduce: went, gone → go; children → child.

Forms that are more often another word are left out (left, ground, rose, lay, leaves, better).
"""

from __future__ import annotations

from typing import Final

_FORMS: Final = """
arise arose arisen|awake awoke awoken|bear borne|beat beaten|become became|begin began begun|bend bent|bite bitten
bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt|buy bought|catch caught
choose chose chosen|cling clung|come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found
flee fled|fly flew flown flies|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven
freeze froze frozen|give gave given|go went gone goes|grow grew grown|hang hung|hear heard|hide hid hidden|hold held
keep kept|kneel knelt|know knew known|lay laid|lead led|lean leant|leap leapt|learn learnt|lend lent|lie lain lying
light lit|lose lost|make made|mean meant|meet met|mistake mistook mistaken|overcome overcame|pay paid|prove proven
ride rode ridden|ring rang rung|rise risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|sew sewn
shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat
sleep slept|slide slid|speak spoke spoken|speed sped|spend spent|spin spun|spring sprung|stand stood
steal stole stolen|stick stuck|sting stung|strike struck stricken|strive strove striven|swear swore sworn|sweep swept
swell swollen|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought
throw threw thrown|understand understood|undertake undertook undertaken|wake woke woken|wear wore worn
weave wove woven|weep wept|win won|withdraw withdrew withdrawn|write wrote written|child children|person people
man men|woman women|foot feet|tooth teeth|mouse mice|goose geese|wife wives|knife knives|shelf shelves|half halves
wolf wolves|loaf loaves|die dying|tie tying
"""

BASE_FORMS: Final[dict[str, str]] = {
    form: base
    for line in _FORMS.replace("\n", "|").split("|")
    if line
    for base, *forms in [line.split()]
    for form in forms
}
"""Irregular form -> base form."""
