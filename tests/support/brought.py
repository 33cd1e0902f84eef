"""Corpora of tagged words, rewritten in the notations that people bring them in.

The spelling of each row is written by a template, not by `tagkit.text.notation`, which it tests.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagkit.text.records import Span
from tagkit.text.schemes import from_spans

Tagged = tuple[Sequence[str], Sequence[Span]]  # the words of a sentence, and its spans
_BMEWO = str.maketrans("IS", "MW")


@dataclass(frozen=True)
class Spelling:
    """How a file of words and tags is written.

    Attributes:
        scheme: of its tags, before they are spelled.
        tag: template of a tag, with {p} for its prefix and {t} for its type.
        outside: the tag of what is no span.
        prefix: what becomes of a prefix.
        row: template of a line.
        options: of [data] that reading it takes; none, as a rule.
    """

    scheme: str
    tag: str
    outside: str
    prefix: Callable[[str], str] = str
    row: str = "{word} {tag}"
    options: tuple[str, ...] = ()

    def spelled(self, tag: str) -> str:
        prefix, _, label = tag.partition("-")
        return self.outside if tag == "O" else self.tag.format(p=self.prefix(prefix), t=label)

    def text(self, sentences: Iterable[Tagged]) -> str:
        blocks = []
        for words, spans in sentences:
            scheme = "iob1" if self.scheme == "io" else self.scheme
            tags = map(self.spelled, from_spans(spans, len(words), scheme))
            rows = (self.row.format(word=w, tag=t) for w, t in zip(words, tags, strict=True))
            blocks.append("\n".join(rows) + "\n\n")
        return "".join(blocks)

    def spans(self, sentence: Tagged) -> list[tuple[int, int, str]]:
        """Those of a sentence after reading; IO cannot tell two neighbours of a type apart."""
        found: list[tuple[int, int, str]] = []
        for span in sorted(sentence[1], key=lambda span: span.start):
            start = span.start
            if self.scheme == "io" and found and found[-1][1:] == (start, span.label):
                start = found.pop()[0]
            found.append((start, span.end, span.label))
        return found


IO = ("scheme=io",)
SPELLINGS = {
    "0 for O": Spelling("iob2", "{p}-{t}", "0"),
    "OTHER for O": Spelling("iob1", "{p}-{t}", "OTHER"),
    "_ for O": Spelling("bilou", "{p}-{t}", "_"),
    "- for O": Spelling("iobes", "{p}-{t}", "-"),
    "a word for O": Spelling("iob2", "{p}-{t}", "nothing"),
    "B_PER": Spelling("iob2", "{p}_{t}", "O"),
    "B_PER and 0": Spelling("iobes", "{p}_{t}", "0"),
    "B/PER": Spelling("iob2", "{p}/{t}", "O"),
    "B:PER": Spelling("bmes", "{p}:{t}", "NONE"),
    "PER-B": Spelling("iob2", "{t}-{p}", "O"),
    "PER_S": Spelling("iobes", "{t}_{p}", "0"),
    "PER/L": Spelling("bilou", "{t}/{p}", "OTHER"),
    "b-PER": Spelling("iob2", "{p}-{t}", "o", str.lower),
    "b_PER and O": Spelling("iobes", "{p}_{t}", "O", str.lower),
    "PER-b": Spelling("iob2", "{t}-{p}", "0", str.lower),
    "BMEWO": Spelling("iobes", "{p}-{t}", "O", lambda p: p.translate(_BMEWO)),
    "PER_w": Spelling("iobes", "{t}_{p}", "_", lambda p: p.translate(_BMEWO).lower()),
    "PER": Spelling("io", "{t}", "O", options=IO),
    "PER and 0": Spelling("io", "{t}", "0", options=IO),
    "PER and OTHER": Spelling("io", "{t}", "OTHER", options=IO),
    "tag, word": Spelling("iob2", "{p}-{t}", "O", row="{tag}\t{word}"),
    "tag, word by blanks": Spelling("bilou", "{p}-{t}", "O", row="{tag} {word}"),
    "PER_I, word": Spelling("iob1", "{t}_{p}", "0", row="{tag}\t{word}"),
}


def sample() -> list[Tagged]:
    """Ten sentences with spans of one, two and three words, neighbours among them."""
    names = [("Ana Lee", "PER"), ("New York City", "LOC"), ("Lima", "LOC"), ("Bo", "PER")]
    found: list[Tagged] = []
    for number in range(10):
        words, spans = ["Today"], []
        for text, label in (names[number % 4], names[(number + 1) % 4], names[(number + 1) % 4]):
            spans.append(Span(len(words), len(words) + len(text.split()), label))
            words += [*text.split(), *["met"] * (len(spans) == 1)]
        found.append(([*words, "again", "."], spans))
    return found


def written(folder: Path, name: str, sentences: Iterable[Tagged]) -> Path:
    path = folder / "corpus.txt"
    path.write_text(SPELLINGS[name].text(sentences), encoding="utf-8")
    return path
