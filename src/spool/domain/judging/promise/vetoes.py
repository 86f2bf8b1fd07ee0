"""The short list of words that veto a promise, in the languages that agents answer in."""
# ruff: noqa: RUF001 - letters and punctuation of other alphabets are the point

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# The sentence says that it is not made …
_NOT = _any(
    r"\b(?:not|never|no|cannot|without|almost|nearly)\b|\b\w+n['’]t\b",
    r"\b(?:nicht|kein\w*|nie|ohne|fast)\b",
    r"\b(?:no|nunca|sin|casi)\b",
    r"\b(?:ne|pas|jamais|sans|presque)\b|\bn['’]",
    r"\b(?:не|нет|без|почти)\b",
    r"不|没|未",
    r"ない|ません|ずに",
    r"않|못",
)
# … or when it would be.
_WHEN = _any(
    r"\b(?:yet|unless|until|if|when(?:ever)?|once|before|after|assuming|provided|would|could|should|todo|pending)\b",
    r"\b(?:noch|wenn|falls|sobald|bevor|bis|würde|wäre|sähe|erst)\b",
    r"\b(?:todavía|aún|si|cuando|hasta|antes|sería)\b",
    r"\b(?:encore|si|quand|lorsque|dès|avant|serait)\b",
    r"\b(?:ещё|еще|если|когда|пока|бы)\b",
    r"如果|一旦|直到|等到|还|若|当[^,，。]*[时后]",
    r"まだ|たら|れば|場合|とき|次第",
    r"아직|하면|때까지",
)
# It stands in an account of the prompt, the documents, the format.
_CITES = _any(
    r"\b(?:prompt|instructions?|docs?|documentation|spec|supported|format|example|template|legend|e\.g\.|says?|tells?)\b",
    r"\b(?:vorgabe|beispiel|format|anweisung\w*|z\.\s?b\.|ejemplo|formato|instrucciones|exemple|consigne\w*|пример\w*|формат\w*)\b",
    r"例如|示例|格式|提示|例えば|例:|形式|指示",
)
# Will, going to: fine right before the promise itself, but not before more words.
_ANNOUNCES = _any(
    r"\b(?:will|shall|going to|must|may)\b|\b\w+['’]ll\b",
    r"\b(?:werde|soll|muss|wird|dann)\b",
    r"\b(?:voy a|debo|escribiré|imprimiré|responderé|entonces)\b",
    r"\b(?:vais|dois|devrai|écrirai|répondrai|alors)\b",
    r"\b(?:буду|должен|нужно|напишу|выведу|тогда)\b",
    r"将|会|要|应|再|完成后",
    r"予定|出力する|書く|後に",
)
_TAKES_BACK = _any(
    r"\A\W*(?:wait\b|hold on|hmm|oops|scratch that|never ?mind|correction|actually,|no,|not (?:yet|quite))",
    r"\btak(?:e|ing) (?:that|this|it) back\b|\b(?:retract|withdraw|disregard|ignore) (?:that|this|it|the)\b",
    r"\A\W*(?:but|although|though|however|except|yet)\b|not complete after all",
    r"\A\W*(?:aber|obwohl|allerdings|moment|halt|stopp|doch nicht|bis auf)\b|(?:nehme|ziehe) (?:das|es|ich)[^.]*zurück",
    r"\A\W*(?:pero|aunque|espera|un momento|perdón)\b|lo retiro|me retracto",
    r"\A\W*(?:mais|sauf|attend\w*|pardon)\b|je (?:le )?retire|je me rétracte",
    r"\A\W*(?:но|хотя|стоп|подожди\w*|погоди\w*)\b|отозвать|беру (?:свои )?слова|отзываю",
    r"\A\W*(?:但|不过|等等|等一下|慢着)|收回|更正",
    r"\A\W*(?:ただし|だが|しかし|待って|いや)|撤回|取り消し",
)


def denies(sentence: str) -> bool:
    """Whether a sentence says not."""
    return _NOT.search(sentence) is not None


def puts_off(sentence: str) -> bool:
    """Whether a sentence says not yet, if or when."""
    return _WHEN.search(sentence) is not None


def cites(sentence: str) -> bool:
    """Whether a sentence quotes the prompt, a document or a format."""
    return _CITES.search(sentence) is not None


def announces(sentence: str) -> bool:
    """Whether a sentence says what will be done."""
    return _ANNOUNCES.search(sentence) is not None


def takes_back(text: str) -> bool:
    """Whether text behind a promise takes it back."""
    return _TAKES_BACK.search(text) is not None
