"""What syntok splits, in languages that it has no rules for, and what raw text keeps whole.

syntok knows English, German and Spanish. Of other languages it begins a word with an apostrophe
(`d` and `'Italie` for d'Italie), and it ends sentences behind ordinals and abbreviations before
names: spans that begin or end at a word, or hold such a full stop, could not be found in a text.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import regex

from tagkit.text.token import Token

_ELIDED = regex.compile(r"['\u2019]\p{L}")
_LETTER = regex.compile(r"[\p{L}\p{M}]")
# What stands behind an apostrophe in English, as the Penn Treebank splits it.
_ENGLISH = frozenset({"s", "m", "d", "re", "ve", "ll", "t", "em"})
# Before names, and of o'clock, which corpora of English keep whole.
_WHOLE = "Oo"
# An apostrophe is a part of the word in Ukrainian and Belarusian.
_IN_WORDS = regex.compile(r"\p{Script=Cyrillic}")
# Joiners, flags and tags of emoji, and soft hyphens: without them no token is parted wrongly.
_JOINED = regex.compile("[\xad\u200d\U0001f1e6-\U0001f1ff\U000e0020-\U000e007f]")
# Grapheme clusters of UAX #29, and words with soft hyphens.
_CLUSTER = regex.compile(r"[\p{L}\p{M}]++(?:\xad++[\p{L}\p{M}]++)++|\X")

_ORDINAL = regex.compile(r"[0-9]{1,2}")
# Months of German, in which nouns have a capital letter; syntok knows their abbreviations. Other
# languages with ordinals of this kind write them without one.
_MONTHS = frozenset(
    "Januar Jänner Februar Feber März April Mai Juni Juli August September Oktober November "
    "Dezember".split()
)
# Articles of German, and prepositions with one, none of which ends a clause before a number.
_BEFORE_ORDINALS = frozenset("der des dem das vom zum zur beim im".split())
# Of Spanish plurals, such as EE. UU. and FF. AA.; by itself it may be World War II, and end one.
_DOUBLED = regex.compile(r"(\p{Lu})\1")
# Titles and parts of addresses that stand before a name: of Italian, Portuguese, French, Dutch,
# Polish, Czech and Russian. None is a word in any of the languages here, or a unit: Italian "on."
# and Dutch "mw." are not among them.
_BEFORE_NAMES = frozenset(
    "dott prof dr avv geom sra sr exmo mme mlle mgr dhr mevr drs św ks ul nám ул пл просп "
    "пер".split()
)
_NONE = Token("", -1, -1)


def rejoined(text: str, sentences: Sequence[Sequence[Token]]) -> list[list[Token]]:
    """The tokens of a text, with what belongs together in one word and one sentence.

    Args:
        text: that they are of.
        sentences: none of them empty, in order.
    """
    found: list[list[Token]] = []
    for sentence in sentences:
        if found and _goes_on(found[-1], sentence[0]):
            found[-1] += sentence
        else:
            found.append([*sentence])
    within = _undivided(text)
    if not within and "'" not in text and "\u2019" not in text:  # most lines of most texts
        return found
    return [[*_words(text, sentence, within)] for sentence in found]


def _goes_on(before: Sequence[Token], after: Token) -> bool:
    """Whether a sentence goes on behind what syntok took for its end."""
    if len(before) < 2 or before[-1].text != "." or before[-2].end != before[-1].start:
        return False
    word = before[-2].text
    if before[-1].end == after.start:  # S.p.A., but not the end of "so it is.Then"
        return "." in word or len(word) == 1
    if _ORDINAL.fullmatch(word):
        article = before[-3].text.lower() if len(before) > 2 else ""
        return after.text in _MONTHS or article in _BEFORE_ORDINALS
    is_plural = _DOUBLED.fullmatch(word) and _DOUBLED.fullmatch(after.text)
    return bool(is_plural) or word.lower() in _BEFORE_NAMES


def _undivided(text: str) -> frozenset[int]:
    """Offsets within emoji of several parts, and within words that have soft hyphens."""
    if text.isascii() or not _JOINED.search(text):
        return frozenset()
    clusters = (found.span() for found in _CLUSTER.finditer(text))
    return frozenset(at for start, end in clusters for at in range(start + 1, end))


def _words(text: str, sentence: Sequence[Token], within: frozenset[int]) -> Iterator[Token]:
    """The words of a sentence: apostrophes where they belong, and parts of one word as one."""
    place = sentence[0].start
    for token, after in pairwise([*sentence, _NONE]):
        cut = token.end
        if token.end == after.start:
            cut = _cut(text, place, after, within)
        if cut > place:  # or else the next token goes on with this one
            is_same = (place, cut) == (token.start, token.end)
            yield token if is_same else Token(text[place:cut], place, cut)
            place = cut if token.end == after.start else after.start


def _cut(text: str, place: int, after: Token, within: frozenset[int]) -> int:
    """Where the word that begins at `place` and touches a token ends; `place` if they are one."""
    end = after.start
    if end in within:
        return place
    if not (_ELIDED.match(after.text) and _LETTER.match(text[end - 1])):
        return end
    if after.text[1:].lower() in _ENGLISH:
        return end
    if _IN_WORDS.match(text[end - 1]) or (end - place == 1 and text[place] in _WHOLE):
        return place
    return end + 1
