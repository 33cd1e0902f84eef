"""Raw text -> sentences of tokens with their offsets: `text[start:end] == token`, always.

syntok finds the tokens and the sentences (Jurafsky and Martin, "Words and Tokens", on rule-based
tokenization and sentence segmentation). It takes a stretch between two blanks for a word, which
fails for scripts without blanks between words; `split_multilingual` makes each letter of these a
token, together with its marks. Public corpora of Chinese do the same (MSRA, Weibo NER), and no
annotated span can begin or end inside a token; words would need a dictionary for each language.

syntok knows English, German and Spanish. Of other languages it begins a word with an apostrophe
(`d` and `'Italie` for d'Italie), and it ends sentences behind ordinals and abbreviations before
names: spans that begin or end at a word, or hold such a full stop, could not be found in a text.
What raw text keeps whole is therefore joined again (`_rejoined`).
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex
from syntok import segmenter
from syntok.tokenizer import Token as SyntokToken
from syntok.tokenizer import Tokenizer

# Without these two settings "-" in words is dropped and "n't" becomes "not".
_TOKENIZER = Tokenizer(emit_hyphen_or_underscore_sep=True, replace_not_contraction=False)

_FIRST_MARK = "\u0300"  # no character before it is a combining mark
# White space for `str.isspace`, and so for everything else here, but not for \s of syntok.
_SEPARATOR = regex.compile("[\x1c-\x1f]")

# Scripts without blanks between words: those of East Asia, and those whose line breaks need a
# dictionary (class SA of UAX #14). Korean has blanks; Tibetan separates syllables with a dot.
_SCRIPTS = ("Han Hiragana Katakana Bopomofo Thai Lao Khmer Myanmar "
            "Tai_Le New_Tai_Lue Tai_Tham Tai_Viet").split()  # fmt: skip
# Letters and marks, not digits: a number is one token in every script. The others are the marks of
# a long vowel and of repetition, which the standard gives to no single script.
_LETTER = (
    r"(?:(?=[\p{L}\p{M}\p{Nl}])["
    + "".join(rf"\p{{Script={name}}}" for name in _SCRIPTS)
    + r"\u3006\u303c\u30fc\uff70])"
)
# What belongs to the letter before it: marks, joiners, the Thai and Lao vowel AM, voicing marks of
# half width, skin tones. No grapheme cluster of UAX #29 is divided.
_MARK = r"[\p{M}\u200c\u200d\u0e33\u0eb3\uff9e\uff9f\U0001f3fb-\U0001f3ff]"
# A letter with its marks; in Khmer, Burmese and Tai Tham also the letters stacked below it.
_STACKED = rf"(?:(?<=[\u17d2\u1039\u1a60]{_MARK}*){_LETTER}{_MARK}*+)"
_UNIT = rf"(?:{_LETTER}{_MARK}*+{_STACKED}*+)"
# Ends of sentences for certain: those that no blank follows, and those of Devanagari and other
# scripts of India, Urdu, Arabic, Armenian and Ethiopic.
_END = (
    r"[\u3002\uff61\uff01\uff1f\u17d4\u17d5\u104b"
    r"\u0964\u0965\u06d4\u061f\u0589\u1362\u1367]"
)
# Punctuation of East Asian width: each of it is a token.
_WIDE = (
    r"[\u3001-\u3003\u3008-\u3011\u3014-\u301f\u30fb"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)
_ANY_LETTER = regex.compile(_LETTER)
_WITHOUT_BLANKS = regex.compile(rf"{_LETTER}|{_END}")
_PARTS = regex.compile(rf"(?P<run>{_UNIT}++)|{_END}|{_WIDE}")
_UNITS = regex.compile(_UNIT)
_ENDS = regex.compile(_END)
_CLUSTERS = regex.compile(r"\X")
_REPEATED = regex.compile(r"(\X)\1*+")
# Punctuation that belongs to the sentence whose end it follows.
_CLOSING = frozenset(
    "\u3002\uff61\uff01\uff1f\u17d4\u17d5\u104b!?"
    "\u0964\u0965\u06d4\u061f\u0589\u1362\u1367\u00bb"
    "\"'\u2019\u201d\u300d\u300f\u3011\u300b\u3009\u3015\u3017\uff63\uff09\uff3d\uff5d)]}"
)
# syntok decides on sentence ends by the letters of the words around: after a bracket or an
# abbreviation, no sentence begins with a lower-case word such as this one.
_ANY_WORD = "word"
_ANY_SYMBOL = "\u2764"

_ELIDED = regex.compile(r"['\u2019]\p{L}")
_LETTER_OR_MARK = regex.compile(r"[\p{L}\p{M}]")
# What stands behind an apostrophe in English, as the Penn Treebank splits it.
_ENGLISH = frozenset({"s", "m", "d", "re", "ve", "ll", "t", "em"})
# Before names, and of o'clock, which corpora of English keep whole.
_WHOLE = "Oo"
# An apostrophe is a part of the word in Ukrainian and Belarusian.
_IN_WORDS = regex.compile(r"\p{Script=Cyrillic}")
# Joiners, flags and tags of emoji, and soft hyphens: without them no token is parted wrongly.
_JOINED = regex.compile("[\xad\u200d\U0001f1e6-\U0001f1ff\U000e0020-\U000e007f]")
# Grapheme clusters of UAX #29, and words with soft hyphens.
_WORD_OR_CLUSTER = regex.compile(r"[\p{L}\p{M}]++(?:\xad++[\p{L}\p{M}]++)++|\X")

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


@dataclass(frozen=True, slots=True)
class Token:
    """A run of a text.

    Attributes:
        text: its characters.
        start: offset of the first of them, in code points.
        end: offset after the last of them.
    """

    text: str
    start: int
    end: int


_NO_TOKEN = Token("", -1, -1)


def tokenize(text: str) -> list[list[Token]]:
    """Sentences of a text, each with at least one token; none of a blank text.

    Every character that is no white space is in exactly one token.
    """
    return _placed(text, [_TOKENIZER.tokenize(_shadow_of(text))])


def split_multilingual(text: str) -> list[list[Token]]:
    """As `tokenize`, with what further languages and scripts need.

    Scripts without blanks come in characters. A sentence ends behind a full stop, exclamation or
    question mark of these and other scripts that have their own, and behind what closes there. What
    belongs to one word or one sentence is one again (`_rejoined`).
    """
    # Most texts have none of these scripts: they must not pay for them.
    if not text.isascii() and _WITHOUT_BLANKS.search(text):
        return _rejoined(text, _placed(text, _runs(text, _shadow_of(text))))
    return _rejoined(text, tokenize(text))


def lacks_blanks(text: str) -> bool:
    """Whether a text has letters of scripts that are written without blanks between words."""
    return not text.isascii() and _ANY_LETTER.search(text) is not None


class _Letters(SyntokToken):  # type: ignore[misc]
    """Letters of scripts without blanks, which look like one word to syntok."""

    def __init__(self, text: str, offset: int) -> None:
        super().__init__(" ", _ANY_WORD, offset)
        self.text = text


def _runs(text: str, shadow: str) -> Iterator[list[SyntokToken]]:
    """Syntok's tokens, cut where a sentence ends for certain.

    Args:
        text: to be read.
        shadow: the same as syntok is to see it.
    """
    run: list[SyntokToken] = []
    end = -1  # after the sentence's end and what closes there; -1 before it
    for token in _mixed(text, shadow):
        value = token.value
        if end == token.offset and _CLOSING.issuperset(value):
            end += len(value)
        elif end >= 0:
            yield run
            run, end = [], -1
        if end < 0 and (_ENDS.match(value) or (value[0] in "!?" and _touches(run, token))):
            end = token.offset + len(value)
        run.append(token)
    yield run


def _touches(before: list[SyntokToken], token: SyntokToken) -> bool:
    """Whether a token stands right behind a run."""
    last = before[-1] if before else None
    return isinstance(last, _Letters) and last.offset + len(last.text) == token.offset


def _mixed(text: str, shadow: str) -> Iterator[SyntokToken]:
    """Runs of letters without blanks, their punctuation, and syntok's tokens of all else."""
    done = 0
    for found in _PARTS.finditer(text):
        start, end = found.span()
        yield from _between(shadow, done, start)
        is_run = found.lastgroup == "run"
        yield (
            _Letters(text[start:end], start) if is_run else SyntokToken("", text[start:end], start)
        )
        done = end
    yield from _between(shadow, done, len(text))


def _between(shadow: str, start: int, end: int) -> Iterator[SyntokToken]:
    """Syntok's tokens of what is between two runs; punctuation that touches one is split."""
    for token in _TOKENIZER.tokenize(shadow[start:end]):
        token.update(start)
        last = token.offset + len(token.value)
        touches = (0 < start == token.offset) or (last == end < len(shadow))
        if not touches or any(map(str.isalnum, token.value)):
            if token.value:
                yield token
        else:
            for same in _REPEATED.finditer(token.value):
                yield SyntokToken(token.spacing, same.group(), token.offset + same.start())


def _placed(text: str, runs: Iterable[Iterable[SyntokToken]]) -> list[list[Token]]:
    """Sentences of the text from syntok's tokens of it; what these leave out is added."""
    sentences: list[list[Token]] = []
    position = 0
    for run in runs:
        # syntok drops zero-width spaces, for one: `_skipped` adds what is missing.
        for found in segmenter.split(iter(run)):
            sentence: list[Token] = []
            for token in found:
                if token.value:
                    sentence += _skipped(text, position, token.offset)
                    before = sentence or (sentences[-1] if sentences else sentence)
                    start = _behind_marks(text, token)
                    if start > token.offset:
                        first = before[-1].start
                        before[-1] = Token(text[first:start], first, start)
                    sentence += _units(text, token, start)
                    position = (sentence or before)[-1].end
            if sentence:
                sentences.append(sentence)
    rest = list(_skipped(text, position, len(text)))
    if rest and sentences:
        sentences[-1] += rest
    elif rest:
        sentences.append(rest)
    return sentences


def _behind_marks(text: str, token: SyntokToken) -> int:
    """Where the token begins without marks of the character before it, such as an emoji.

    In their place syntok saw letters or symbols, which it parts from a symbol before them.
    """
    start: int = token.offset
    if text[start] < _FIRST_MARK or isinstance(token, _Letters):  # whose letters have their marks
        return start
    if start == 0 or text[start - 1].isspace():  # marks of no character
        return start
    end = start + len(token.value)
    while start < end and _is_mark(text[start]):
        start += 1
    return start


def _units(text: str, token: SyntokToken, start: int) -> Iterator[Token]:
    """The token from `start` on, if anything is left of it; of a run, one a letter."""
    # From the text itself, as syntok saw a copy without combining marks.
    if isinstance(token, _Letters):
        for unit in _UNITS.finditer(token.text):
            yield Token(unit.group(), start + unit.start(), start + unit.end())
    elif start < (end := token.offset + len(token.value)):
        yield Token(text[start:end], start, end)


def split_at_blanks(text: str) -> list[list[Token]]:
    """Stretches between white space as the tokens of one sentence; no sentence of a blank text."""
    tokens = list(_skipped(text, 0, len(text)))
    return [tokens] if tokens else []


def split_into_characters(text: str) -> list[list[Token]]:
    """The sentences of `split_multilingual`, each grapheme cluster of UAX #29 a token.

    For spans that end within words: Korean names before a particle, Hebrew ones behind a prefix.
    """
    return [
        [
            Token(found.group(), token.start + found.start(), token.start + found.end())
            for token in sentence
            for found in _CLUSTERS.finditer(token.text)
        ]
        for sentence in split_multilingual(text)
    ]


def _shadow_of(text: str) -> str:
    """The text as syntok is to see it, offset by offset: its white space is that of `isspace`."""
    return _without_marks(_SEPARATOR.sub(" ", text))


def _without_marks(text: str) -> str:
    """The text with another character in place of each combining mark, offset by offset.

    syntok splits a word before its accents and vowel signs, where they are characters of their own.
    """
    if not text or max(text) < _FIRST_MARK:
        return text
    chars: list[str] = []
    in_word = False  # whether a letter or a digit stands between the last blank and here
    for char in text:
        if _is_mark(char) and chars:
            # Behind the symbols at the end of a word a letter would make them a part of it.
            is_symbol = in_word and not chars[-1].isalnum()
            # In the case of the letter before it: syntok looks at capitals.
            char = _ANY_SYMBOL if is_symbol else "X" if chars[-1].isupper() else "x"
        chars.append(char)
        in_word = char.isalnum() or (in_word and not char.isspace() and char != "\u200b")
    return "".join(chars)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _skipped(text: str, start: int, end: int) -> Iterator[Token]:
    """Tokens of what syntok has left out between two tokens, white space apart."""
    while start < end:
        if text[start].isspace():
            start += 1
            continue
        stop = start
        while stop < end and not text[stop].isspace():
            stop += 1
        yield Token(text[start:stop], start, stop)
        start = stop


def _rejoined(text: str, sentences: Sequence[Sequence[Token]]) -> list[list[Token]]:
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
    clusters = (found.span() for found in _WORD_OR_CLUSTER.finditer(text))
    return frozenset(at for start, end in clusters for at in range(start + 1, end))


def _words(text: str, sentence: Sequence[Token], within: frozenset[int]) -> Iterator[Token]:
    """The words of a sentence: apostrophes where they belong, and parts of one word as one."""
    place = sentence[0].start
    for token, after in pairwise([*sentence, _NO_TOKEN]):
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
    if not (_ELIDED.match(after.text) and _LETTER_OR_MARK.match(text[end - 1])):
        return end
    if after.text[1:].lower() in _ENGLISH:
        return end
    if _IN_WORDS.match(text[end - 1]) or (end - place == 1 and text[place] in _WHOLE):
        return place
    return end + 1


TOKENIZERS = {
    "multilingual": split_multilingual,
    "syntok": tokenize,
    "blanks": split_at_blanks,
    "characters": split_into_characters,
}
