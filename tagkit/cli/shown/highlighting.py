"""`--format show`: a text with its labels, for people to read.

    in colours         spans on a background of their label's colour, the label behind them
    without colours    [Oslo LOC], word/TAG, class | text

On a terminal lines are wrapped between words; a file or a pipe gets a line for each line of a text.
`console`, which knows rich, applies the colours.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from tagkit.cli.program.messages import filled, has_colours, width_of
from tagkit.models.answers.pieces import Highlighted, TextPiece, from_line
from tagkit.text.records import LabelScore
from tagkit.wording import visible

# Of a terminal's sixteen; of more labels several share one.
_PALETTE = (
    "cyan", "yellow", "green", "magenta", "bright_blue", "bright_red", "bright_cyan",
    "bright_yellow", "bright_green", "bright_magenta",
)  # fmt: skip
_OTHER = "white"  # of a label that the model does not name
_BARE = "_"  # a label without a name
# A blank at which no line is broken. Texts that are safe to display have no control characters.
_GLUE = "\x01"
_INDENT = "  "  # of what continues a line
_WORD = re.compile(r" *[^ ]+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a line.

    Attributes:
        text: safe to display.
        style: in the words of rich; empty for none.
    """

    text: str
    style: str = ""


Line = list[Segment]


def colours_of(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label, which depends on the model and not on the text."""
    return {
        label: _PALETTE[number % len(_PALETTE)] for number, label in enumerate(sorted({*labels}))
    }


def plain_segments(shown: Highlighted) -> Iterator[Segment]:
    """Labels in brackets or behind a slash."""
    if shown.classes is not None:
        yield Segment(f"{', '.join(_classes(shown, shown.classes)) or '-'} | ")
    for piece in shown.pieces:
        if piece.label is None:
            yield Segment(_lines(piece.text))
        elif shown.spans:
            yield Segment(f"[{_one_line(piece.text)}{_GLUE}{_label(piece)}]")
        else:
            yield Segment(f"{_one_line(piece.text)}/{_label(piece, '/')}")


def coloured_segments(shown: Highlighted, colours: Mapping[str, str]) -> Iterator[Segment]:
    """Spans and classes on a background of their colour; tags in it."""
    classes = shown.classes or ()
    for each, text in zip(classes, _classes(shown, classes), strict=True):
        colour = colours.get(each.label, _OTHER)
        yield Segment(f"{_GLUE}{text}{_GLUE}", f"bold black on {colour}")
        yield Segment(" ")
    if shown.classes is not None and not classes:
        yield Segment("- ", "dim")
    for piece in shown.pieces:
        if piece.label is None:
            yield Segment(_lines(piece.text))
            continue
        colour = colours.get(piece.label, _OTHER)
        if shown.spans:
            yield Segment(f"{_GLUE}{_one_line(piece.text)}{_GLUE}", f"black on {colour}")
            yield Segment(f"{_label(piece)}{_GLUE}", f"bold black on {colour}")
        else:
            yield Segment(_one_line(piece.text))
            yield Segment(f"/{_label(piece, '/')}", colour)


def _classes(shown: Highlighted, classes: Iterable[LabelScore]) -> list[str]:
    return [
        _with_probability(visible(each.label), each.probability if shown.confidence else None)
        for each in classes
    ]


def _label(piece: TextPiece, separator: str = _GLUE) -> str:
    return _with_probability(visible(piece.label or _BARE), piece.probability, separator)


def _with_probability(label: str, probability: float | None, separator: str = _GLUE) -> str:
    return label if probability is None else f"{label}{separator}{probability:.2f}"


def _lines(text: str) -> str:
    """A text safe to display, whose line ends stay."""
    return "\n".join(map(visible, text.replace("\r\n", "\n").split("\n")))


def _one_line(text: str) -> str:
    return _lines(text).replace("\n", " ")


def lines_of(segments: Iterable[Segment], width: int | None) -> list[Line]:
    """The lines of a text; wrapped between words, and indented from the second one on.

    Args:
        segments: of the text; a line end in them ends a line.
        width: cells of a line; None where lines stay whole. A longer word is not broken.
    """
    segments, lines, at = list(segments), list[Line](), 0
    for whole in "".join(segment.text for segment in segments).split("\n"):
        found = [(0, len(whole))] if width is None else filled(whole, width, len(_INDENT), _WORD)
        for begin, end in found:
            indent = [Segment(_INDENT)] if begin else []
            lines.append([*indent, *_part(segments, at + begin, at + end)])
        at += len(whole) + 1
    return lines


def _part(segments: Iterable[Segment], begin: int, end: int) -> Iterator[Segment]:
    """What lies between two places of a text."""
    for segment in segments:
        if text := segment.text[max(0, begin) : max(0, end)]:
            yield replace(segment, text=text)
        begin, end = begin - len(segment.text), end - len(segment.text)


def shown_by(
    write: Callable[[str], None], output: Path | None, labels: Iterable[str]
) -> Callable[[str], None]:
    """A function that writes lines of `Highlighted` as people read them.

    Args:
        write: writes to the output.
        output: a file; None for standard output, which may be a terminal.
        labels: that the model predicts, for the colours.
    """
    stream = sys.stdout if output is None else None
    width = width_of(stream)
    colours = colours_of(labels) if has_colours(stream) else None

    def write_shown(lines: str) -> None:
        write("".join(_rendered(line, width, colours) for line in lines.split("\n")[:-1]))

    return write_shown


def _rendered(line: str, width: int | None, colours: Mapping[str, str] | None) -> str:
    """One record, with its line ends."""
    if not line:  # a blank line of the input
        return "\n"
    shown = from_line(line)
    if colours is None:
        found = lines_of(plain_segments(shown), width)
        texts = ["".join(part.text for part in each) for each in found]
    else:
        from tagkit.cli.program.console import styled

        found = lines_of(coloured_segments(shown, colours), width)
        texts = [styled(_joined(each)) for each in found]
    # A text of several lines would run into the next one.
    has_lines = any(piece.label is None and "\n" in piece.text for piece in shown.pieces)
    texts += [""] * has_lines
    return "".join(f"{text}\n" for text in texts).replace(_GLUE, " ")


def _joined(line: Line) -> Iterator[tuple[str, str]]:
    """The texts of a line, those of one style that follow each other as one."""
    for style, parts in groupby(line, lambda part: part.style):
        yield "".join(part.text for part in parts), style
