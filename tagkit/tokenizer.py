"""Raw text -> sentences of tokens that know their place: `text[start:end] == token`, always.

syntok finds the tokens and the sentences (Jurafsky and Martin, "Words and Tokens", on rule-based
tokenization and sentence segmentation).
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from syntok import segmenter
from syntok.tokenizer import Token as SyntokToken
from syntok.tokenizer import Tokenizer

# Without these two settings "-" in words is dropped and "n't" becomes "not".
_TOKENIZER = Tokenizer(emit_hyphen_or_underscore_sep=True, replace_not_contraction=False)

_FIRST_MARK = "\u0300"  # no character before it is a combining mark


@dataclass(frozen=True, slots=True)
class Token:
    """A stretch of a text.

    Attributes:
        text: its characters.
        start: offset of the first of them, in code points.
        end: offset behind the last of them.
    """

    text: str
    start: int
    end: int


def tokenize(text: str) -> list[list[Token]]:
    """Sentences of a text, each with at least one token; none of a blank text.

    Every character that is no white space is in exactly one token.
    """
    sentences = []
    position = 0
    shadow = _without_marks(text)
    for found in segmenter.split(_TOKENIZER.tokenize(shadow)):
        sentence: list[Token] = []
        for token in found:
            if token.value:
                start = _place(shadow, token, position)
                sentence += _skipped(text, position, start)
                position = start + len(token.value)
                sentence.append(Token(text[start:position], start, position))
        if sentence:
            sentences.append(sentence)
    rest = list(_skipped(text, position, len(text)))
    if rest and sentences:
        sentences[-1] += rest
    elif rest:
        sentences.append(rest)
    return sentences


def split_at_blanks(text: str) -> list[list[Token]]:
    """Stretches between white space as the tokens of one sentence; no sentence of a blank text."""
    tokens = list(_skipped(text, 0, len(text)))
    return [tokens] if tokens else []


TOKENIZERS = {"syntok": tokenize, "blanks": split_at_blanks}


def _without_marks(text: str) -> str:
    """The text with a letter in place of each combining mark, offset by offset.

    syntok parts a word before its accents and vowel signs, where they are characters of their own.
    """
    if not text or max(text) < _FIRST_MARK:
        return text
    chars: list[str] = []
    for char in text:
        if unicodedata.category(char)[0] == "M" and chars:
            char = "X" if chars[-1].isupper() else "x"
        chars.append(char)
    return "".join(chars)


def _place(text: str, token: SyntokToken, position: int) -> int:
    """Where a token stands, at or behind `position`."""
    offset: int = token.offset
    if offset >= position and text.startswith(token.value, offset):
        return offset
    return text.index(token.value, position)


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
