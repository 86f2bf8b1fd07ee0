"""The words that tell a sentence which makes a promise from one that speaks about it; `wording` holds the rules."""

import re


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


PAUSES = frozenset(",:(-\u2013\u2014\u2192")
LINKS = PAUSES | _words("so and but because since")
"""What begins another clause."""
OPENERS = PAUSES | _words("and but so then or just even")
"""What may stand before a condition that opens a sentence."""

IF = _words("if unless until once when whenever provided assuming")
NOT = _words("not never cannot without instead rather before until avoid almost nearly would could should might i'd")
LATER = _words("will shall must can may to going please then you i'll we'll")
"""What puts a verb off, or makes it somebody else's; `now` cancels it."""
GLAD = _words("happy glad pleased proud able")
"""`Happy to report` puts nothing off."""
NOW = _words("now hereby herewith here")
WE = _words("i we")
BEING = _words("am i'm are we're")

SAY = _words("print output say write emit send issue type echo printf post return give show declare claim report")
SAYS = _words("prints outputs says writes emits sends issues types echoes posts returns gives shows declares claims")
SAID = _words("printing outputting saying writing emitting sending issuing declaring claiming printed said wrote")
AFTER_A_VERB = _words("with as")
"""`End with`, `mark as`: the verb stands further ahead."""
GOVERNING = SAY | SAYS | SAID | AFTER_A_VERB
ORDERS = SAY | _words("end finish reply respond answer conclude close use add put include")

ARTICLES = _words("the a an this your his her their its any another each every")
PREPOSITIONS = _words("of for from to before about than via per toward towards")
NAMES = _words("tag tags marker string token sentinel keyword word words line signal phrase message handling")
REFERS = _words(
    "expects contains matches means needs requires sees finds detects mentions documents describes explains",
    "expect contain match need require see find detect mention document describe explain",
    "concerning regarding how whether like e.g i.e",
)
MAKES_A_NOUN = ARTICLES | NAMES | REFERS
"""Right before a tag, one of these makes it a noun."""
FILLER = _words(
    "my our final last closing literal exact exactly just simply only following completion promise out yet : ("
)
BETWEEN = ARTICLES | PREPOSITIONS | NAMES | FILLER | _words(": (")
"""What may stand between a tag and the word that governs it."""
DENIALS = _words("no not never until without almost nearly withholding todo pending")
PREDICATES = _words(
    "is was will would should must can cannot could may might has means goes comes ends stops",
    "appears depends requires needs",
)
"""Right behind a tag, one of these makes it the subject."""
TIES = _words("from into to in inside at on with by above below too although but and which while")
"""Behind a tag that touches the word before it, these tie it into the sentence …"""
CLOSES = _words("is are now it as so done complete completed finished ready green pass passes passed left over all")
"""… unless the sentence was whole before it."""
TAKES_BACK = _words("yet later soon pending eventually never")
NOT_MET = _words("yet met done ready reached before until now there possible")
"""Behind the tag, `not` and one of these."""

IF_ELSEWHERE = _words(
    "wenn falls sobald solange quand lorsque dès si cuando hasta quando zodra wanneer если когда пока",
)
NOT_ELSEWHERE = _words("nicht werde würde pas jamais vais todavía aún voy puedo não ainda vou non ancora niet не буду")
UNSPACED = re.compile(r"如果|一旦|直到|当[^\uff0c。]*[时后]|还[没不]|尚未|たら|場合|하면|때까지|완료 시")
"""Conditions and denials of languages that put no spaces between words."""
