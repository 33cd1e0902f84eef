"""How tags of spans are spelled: `B-PER` and `O` in here, and as a corpus has it in its files.

| spelling                  | data.notation | where it occurs                                   |
| ------------------------- | ------------- | ------------------------------------------------- |
| B-PER, I-PER, O           | B-PER O       | the CoNLL shared tasks, and most corpora since    |
| B_PER, I_PER, 0           | B_PER 0       | other separators, other tags of what is no span   |
| PER-B, PER-I, O           | PER-B O       | clinical and Asian corpora                        |
| b-per, i-per, o           | b-PER o       | exports of annotation tools                       |
| B-PER, M-PER, E-PER, W-PER | W-PER O      | BMEWO, which has M for I and W for S of IOBES     |
| PER, PER, O               | PER O         | CoNLL's IO without prefixes: CoreNLP, Few-NERD    |

Tags are read into the first spelling and written back from it. Which one a corpus has is decided in
`scheme_detection`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

OUTSIDE = "O"
ALL_PREFIXES = frozenset("BIESLUM")
SEPARATORS = "-_/:.|#+~"
_PREFIX = "[BIESLUMWbieslumw]"
_SEPARATOR = f"[{re.escape(SEPARATORS)}]"
_EXAMPLE = re.compile(
    rf"(?:(?P<first>{_PREFIX})(?P<behind>{_SEPARATOR})\S+"
    rf"|\S+(?P<before>{_SEPARATOR})(?P<last>{_PREFIX})|\S+) (?P<outside>.+)",
    re.DOTALL,
)
# The usual letter for each one, by whether they are those of BMEWO, and in lower case.
_LETTERS: Mapping[tuple[bool, bool], Mapping[str, str]] = {
    (bmewo, lower): {own.lower() if lower else own: usual for own, usual in letters.items()}
    for bmewo, letters in (
        (False, {each: each for each in ALL_PREFIXES}),
        (True, {"B": "B", "M": "I", "E": "E", "W": "S"}),
    )
    for lower in (False, True)
}


def split_tag(tag: str) -> tuple[str, str]:
    """Prefix and label of a tag of a span scheme: 'B-LOC-GPE' is ('B', 'LOC-GPE'), 'O' ('O', '').

    Split at the first '-' only; labels may hold more of them.
    """
    # rpartition would take 'GPE' of 'B-LOC-GPE' for the label, and so does a split at every '-'.
    prefix, _, label = tag.partition("-")
    return prefix, label


def join_tag(prefix: str, label: str) -> str:
    """The tag of a prefix and a label; a bare prefix for an empty label."""
    return f"{prefix}-{label}" if label else prefix


@dataclass(frozen=True, slots=True)
class Notation:
    """A spelling of the tags of spans.

    Attributes:
        outside: the tag of a word in no span.
        separator: between prefix and type; empty where a tag is its type alone.
        type_first: whether the prefix stands behind the type.
        lower: whether prefixes are in lower case.
        bmewo: whether letters are those of BMEWO.
    """

    outside: str = OUTSIDE
    separator: str = "-"
    type_first: bool = False
    lower: bool = False
    bmewo: bool = False

    def __str__(self) -> str:
        """As `data.notation` names it: a first tag of a span, and the tag of what is none."""
        return f"{self.example} {self.outside}"

    @property
    def example(self) -> str:
        """A tag that begins a span."""
        return self._spelled("W" if self.bmewo else "B", "PER")

    @property
    def letters(self) -> Mapping[str, str]:
        """The usual prefix for each prefix of this notation."""
        return _LETTERS[self.bmewo, self.lower]

    def parts(self, tag: str) -> tuple[str, str] | None:
        """The usual prefix and the type of a tag; None of one that is none of spans."""
        if not self.separator:
            return None if tag == self.outside else ("I", tag)
        if self.type_first:
            label, separator, own = tag.rpartition(self.separator)
        else:
            own, separator, label = tag.partition(self.separator)
        prefix = self.letters.get(own)
        # A prefix may stand alone, as in corpora of one type, but not with half of a type.
        return None if prefix is None or (separator and not label) else (prefix, label)

    def read(self, tag: str) -> str:
        """The tag in the usual notation; one that is none of this notation stays as it is."""
        if tag in (self.outside, OUTSIDE):
            return OUTSIDE
        parts = self.parts(tag)
        return tag if parts is None else join_tag(*parts)

    def written(self, tag: str) -> str:
        """The tag, which is in the usual notation, in this one."""
        if tag == OUTSIDE:
            return self.outside
        prefix, label = split_tag(tag)
        own = next((own for own, usual in self.letters.items() if usual == prefix), None)
        return tag if own is None else self._spelled(own.upper(), label)

    def read_all(self, tags: Iterable[str]) -> tuple[str, ...]:
        """As `read`, of each."""
        return tuple(tags) if self == USUAL else tuple(map(self.read, tags))

    def written_all(self, tags: Iterable[str]) -> tuple[str, ...]:
        """As `written`, of each."""
        return tuple(tags) if self == USUAL else tuple(map(self.written, tags))

    def _spelled(self, prefix: str, label: str) -> str:
        own = prefix.lower() if self.lower else prefix
        if not (label and self.separator):
            return label or own
        parts = (label, own) if self.type_first else (own, label)
        return self.separator.join(parts)


USUAL = Notation()


def notation_named(text: str) -> Notation | None:
    """The notation that an example names, such as "B_PER 0"; None of "auto".

    Raises:
        ValueError: it is no example.
    """
    if text == "auto":
        return None
    found = _EXAMPLE.fullmatch(text)
    if found is None:
        raise ValueError(
            "expected 'auto', or the first tag of a span and the tag of what is none with a blank "
            "between them, such as 'B_PER 0'"
        )
    own = found["first"] or found["last"] or "B"
    return Notation(
        outside=found["outside"],
        separator=found["behind"] or found["before"] or "",
        type_first=found["last"] is not None,
        lower=own.islower(),
        bmewo=own in "Ww",
    )
