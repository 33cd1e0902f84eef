"""Gold and predicted tags of the same tokens, counted as they are read: nothing else is kept.

A report needs the schemes of both sides, which only a whole file shows. So the tags are counted in
a form from which the numbers of all schemes follow (`tag_pieces`), and judged at the end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tagkit.config import DataConfig
from tagkit.corpus.source.options import silent
from tagkit.errors import FormatError
from tagkit.evaluation.reports.tag_pieces import TagPieces
from tagkit.evaluation.reports.tag_report import TagReport, make_pieces_report
from tagkit.evaluation.scores.pairing import same_tokens
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import scheme_of_steps
from tagkit.text.schemes import DISPLAY, PLAIN, SPAN_SCHEMES, is_span_tag

_TOKENS = 20_000  # counted in one go: a few megabytes
_MISTAKES = 0.05  # share of the transitions; beyond it tags are of a scheme that is not known


@dataclass(slots=True)
class _Side:
    """What is known of the tags of one side.

    Attributes:
        name: of the file.
        tags: of the sentences that are not counted yet.
        lines: the numbers of their lines.
        odd: the lowest tag without a prefix and its first line; None where there is none.
    """

    name: str
    tags: list[Sequence[str]] = field(default_factory=list)
    lines: list[Sequence[int]] = field(default_factory=list)
    odd: tuple[str, int] | None = None

    def add(self, tags: Sequence[str] | None, lines: Sequence[int]) -> None:
        """Take a sentence.

        Raises:
            FormatError: it has no tags.
        """
        if tags is None:
            raise FormatError(self.name, lines[0] if lines else 1, "expected tags, found none")
        self.tags.append(tags)
        self.lines.append(lines)

    def look_at(self, new: Iterable[str]) -> None:
        """Note the lowest tag without a prefix, and its line, which an error would name.

        Args:
            new: tags of the sentences at hand; those that no sentence before had are among them.
        """
        tag = min((tag for tag in new if not is_span_tag(tag)), default=None)
        if tag is None or (self.odd is not None and self.odd[0] <= tag):
            return
        row, lines = next(
            (row, lines) for row, lines in zip(self.tags, self.lines, strict=True) if tag in row
        )
        self.odd = tag, lines[row.index(tag)] if lines else 1

    def line_of(self, _: str) -> int:
        """The first line with the lowest tag that has no prefix."""
        return self.odd[1] if self.odd else 1


class TagTally:
    """Counts of gold and predicted tags, for one report at the end."""

    def __init__(self, gold_name: str, predicted_name: str, *, strict: bool) -> None:
        """Nothing has been counted yet.

        Args:
            gold_name: of the file, for messages.
            predicted_name: likewise.
            strict: count well-formed spans only.
        """
        self._sides = _Side(gold_name), _Side(predicted_name)
        self._strict = strict
        self._pieces = TagPieces(strict=strict)
        self._waiting = 0  # tokens of sentences that are not counted yet

    def add(
        self,
        gold: Sequence[str] | None,
        predicted: Sequence[str] | None,
        gold_lines: Sequence[int],
        predicted_lines: Sequence[int],
    ) -> None:
        """Count the tags of a sentence.

        Raises:
            FormatError: there are none.
        """
        for side, tags, lines in zip(
            self._sides, (gold, predicted), (gold_lines, predicted_lines), strict=True
        ):
            side.add(tags, lines)
        self._waiting += len(gold or ())
        if self._waiting >= _TOKENS:
            self._count()

    def report(
        self, data: DataConfig, remedy: str = "", note: Callable[[str], None] = silent
    ) -> TagReport | None:
        """The report on all sentences so far; None of none.

        Args:
            data: names the scheme of the gold tags, perhaps.
            remedy: the end of a message on gold tags that are not of this scheme.
            note: called with a sentence on gold tags that fit into no scheme.

        Raises:
            FormatError: most tags of a side are those of a span scheme, and some are not.
            DataError: tags are plain labels on one side alone, or where spans are named.
        """
        self._count()
        if not self._pieces.sentences:
            return None
        (gold, predicted), (ours, theirs) = self._sides, self._pieces.steps()
        detection = scheme_of_steps(ours, gold.name, data.scheme, None, gold.line_of, remedy)
        scheme = detection.scheme
        if detection.illegal > _MISTAKES * detection.transitions:
            known = ", ".join(DISPLAY[each] for each in SPAN_SCHEMES)
            why = f", which fits its tags best of {known}" if data.scheme == "auto" else ""
            lost = "; strict mode counts no span that has one" if self._strict else ""
            note(
                f"{gold.name}: {detection.illegal:,} of {detection.transitions:,} transitions are "
                f"illegal in {DISPLAY[scheme]}{why}{lost}"
            )
        named = PLAIN if data.scheme == PLAIN else "auto"
        found = scheme_of_steps(theirs, predicted.name, named, scheme, predicted.line_of, "").scheme
        # The same spans, but the accuracy of tokens compares tags. Strict mode must not see tags
        # that were made well-formed.
        converted = found != scheme and not self._strict
        return make_pieces_report(self._pieces, scheme, strict=self._strict, converted=converted)

    def _count(self) -> None:
        gold, predicted = self._sides
        new = self._pieces.add(gold.tags, predicted.tags)
        for number, side in enumerate(self._sides):
            side.look_at(pair[number] for pair in new)
            side.tags.clear()
            side.lines.clear()
        self._waiting = 0


def score_sentences(
    names: tuple[str, str],
    sides: Iterable[Iterable[Sentence]],
    data: DataConfig,
    *,
    strict: bool,
    remedy: str = "",
    note: Callable[[str], None] = silent,
) -> TagReport | None:
    """The report on sentences of two files, which are read side by side; None of no sentence.

    Args:
        names: of the gold file and of the predicted one, for messages.
        sides: gold sentences and predicted ones.
        data: as for `TagTally.report`.
        strict: count well-formed spans only.
        remedy: as for `TagTally.report`.
        note: as for `TagTally.report`.

    Raises:
        DataError: the files hold different tokens, or tags of different kinds.
    """
    tally = TagTally(*names, strict=strict)
    gold, predicted = sides
    for ours, theirs in same_tokens(names[0], gold, names[1], predicted):
        tally.add(ours.tags, theirs.tags, ours.lines, theirs.lines)
    return tally.report(data, remedy, note)
