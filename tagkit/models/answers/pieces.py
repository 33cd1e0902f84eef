"""A text and what was predicted of it, as pieces to be shown: plain text, and text with a label.

What shows them decides how: a terminal by colours, a pipe by brackets. Windows of input are
annotated by processes that send lines of text (`chunks.Output`), so a record is a line of JSON on
its way from the model to what shows it.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from tagkit.text.json_text import to_json
from tagkit.text.records import Alignment, LabelScore, TaggedText, node_spans

_SHADES = "\u00b7\u2591\u2592\u2593\u2588"  # of attention: from 0, 0.04, 0.16, 0.36 and 0.64 on


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A stretch of a text.

    Attributes:
        text: its characters.
        label: type of the span that it is, or tag of the token; None of text between them.
        probability: of the label, 0 to 1; None where it was not asked for.
    """

    text: str
    label: str | None = None
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Highlighted:
    """A text in pieces, and its classes.

    Attributes:
        pieces: in the order of the text.
        spans: whether labels are those of spans; otherwise each token has one.
        classes: of the text, the most probable first; None of a model without classes.
        confidence: whether probabilities of classes are to be shown.
    """

    pieces: tuple[TextPiece, ...]
    spans: bool
    classes: tuple[LabelScore, ...] | None
    confidence: bool

    def to_line(self) -> str:
        """A line of JSON, without its end."""
        return to_json(asdict(self))


def from_line(line: str) -> Highlighted:
    """What `Highlighted.to_line` wrote."""
    record = json.loads(line)
    classes = record["classes"]
    return Highlighted(
        tuple(TextPiece(**piece) for piece in record["pieces"]),
        record["spans"],
        None if classes is None else tuple(LabelScore(**score) for score in classes),
        record["confidence"],
    )


def alignment_lines(alignment: Alignment) -> Iterator[str]:
    """A heat map in characters: the symbols, and a line for each unit that looked at them."""
    symbols, *units = (
        [each.strip() or "_" for each in names] for names in (alignment.symbols, alignment.units)
    )
    wide = max(map(len, units[0]), default=0)
    yield " ".join([" " * wide, *symbols])
    for unit, weights in zip(*units, alignment.weights, strict=True):
        shades = (_SHADES[min(int(5 * math.sqrt(each)), 4)] for each in weights)
        drawn = (shade * len(name) for shade, name in zip(shades, symbols, strict=True))
        yield " ".join([unit.ljust(wide), *drawn])


def tree_pieces(answer: TaggedText, *, confidence: bool) -> Iterator[TextPiece]:
    """A line for each node below the text, its children further to the right."""
    nodes, depths = node_spans(answer), answer.tree.depths() if answer.tree else []
    # From left to right: of those that begin with the same word the last first, which is above.
    order = sorted(range(len(nodes)), key=lambda at: (nodes[at].start, -at))
    for at in order[1:]:  # the root stands in the first line
        probability = nodes[at].probability if confidence else None
        yield TextPiece("\n" + "  " * depths[at])
        yield TextPiece(nodes[at].text, nodes[at].label, probability)


def span_pieces(answer: TaggedText) -> Iterator[TextPiece]:
    """The pieces of a text with spans; joined they are the text."""
    end = 0
    for span in answer.spans:  # in the text's order; none overlap
        yield TextPiece(answer.text[end : span.start])
        yield TextPiece(answer.text[span.start : span.end], span.label, span.probability)
        end = span.end
    yield TextPiece(answer.text[end:])


def token_pieces(answer: TaggedText) -> Iterator[TextPiece]:
    """Its tokens with their tags; joined they are the text, but for blanks between tokens."""
    end = 0
    for token in answer.tokens:
        between = answer.text[end : token.start]
        # Tokens such as a word and its full stop stand without a blank: their tags would run
        # together.
        yield TextPiece(between if between or not end else " ")
        yield TextPiece(token.text, token.tag or "", token.probability)
        end = token.end
    yield TextPiece(answer.text[end:])
