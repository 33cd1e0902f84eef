"""Gold and predicted tags of the same tokens, counted as they are read: nothing else is kept.

A report needs the schemes of both sides, which only a whole file shows. So the tags are counted in
a form from which the numbers of all schemes follow (`tag_pieces`), and judged at the end.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tagkit.config import DataConfig
from tagkit.corpus.source.options import silent
from tagkit.errors import DataError, FormatError
from tagkit.evaluation.reports.tag_pieces import TagPieces
from tagkit.evaluation.reports.tag_report import TagReport, make_pieces_report
from tagkit.evaluation.scores.pairing import same_tokens
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import first_line_of, scheme_of_steps
from tagkit.text.schemes import DISPLAY, PLAIN, SPAN_SCHEMES, is_span_tag

_TOKENS = 20_000  # counted in one go: a few megabytes
Pair = tuple[Sentence, Sentence]  # a gold sentence and the predicted one
_MISTAKES = 0.05  # share of the transitions; beyond it tags are of a scheme that is not known


@dataclass(slots=True)
class _Odd:
    """The lowest tag without a prefix of one side, and its first line: an error names both."""

    tag: str = ""
    line: int = 1

    def look(self, new: Iterable[str], sentences: Iterable[Sentence]) -> None:
        """Look for a lower one.

        Args:
            new: tags that no sentence before these had are among them.
            sentences: with their tags and lines.
        """
        tag = min((tag for tag in new if not is_span_tag(tag)), default=None)
        if tag is not None and (not self.tag or tag < self.tag):
            self.tag, self.line = tag, first_line_of(tag, sentences)


def score_sentences(
    names: tuple[str, str],
    sides: tuple[Iterable[Sentence], Iterable[Sentence]],
    data: DataConfig,
    *,
    strict: bool,
    remedies: tuple[str, str] = ("", ""),
    note: Callable[[str], None] = silent,
) -> TagReport:
    """The report on sentences of two files, which are read side by side.

    Args:
        names: of the gold file and of the predicted one, for messages.
        sides: gold sentences and predicted ones.
        data: names the scheme of the gold tags, perhaps.
        strict: count well-formed spans only.
        remedies: the ends of messages on tags that are not the expected ones.
        note: called with a sentence on gold tags that fit into no scheme.

    Raises:
        FormatError: the files hold different tokens, a sentence has no tags, or most tags of a
            side are those of a span scheme, and some are not.
        DataError: tags are plain labels on one side alone, or where spans are named; or there is
            no sentence.
    """
    pieces = TagPieces(strict=strict)
    odd = _Odd(), _Odd()
    for portion in _portions(same_tokens(names[0], sides[0], names[1], sides[1])):
        both = list(zip(*portion, strict=True))
        gold, predicted = (
            [_tags_of(each, name) for each in side] for side, name in zip(both, names, strict=True)
        )
        new = list(zip(*pieces.add(gold, predicted), strict=True))
        for each, tags, sentences in zip(odd, new, both, strict=False):
            each.look(tags, sentences)
    if not pieces.sentences:
        raise DataError(f"{names[0]}: holds no sentence")
    ours, theirs = pieces.steps()
    found = scheme_of_steps(ours, names[0], data.scheme, None, lambda _: odd[0].line, remedies[0])
    scheme = found.scheme
    if found.illegal > _MISTAKES * found.transitions:
        known = ", ".join(DISPLAY[each] for each in SPAN_SCHEMES)
        why = f", which fits its tags best of {known}" if data.scheme == "auto" else ""
        lost = "; strict mode counts no span that has one" if strict else ""
        note(
            f"{names[0]}: {found.illegal:,} of {found.transitions:,} transitions are illegal in "
            f"{DISPLAY[scheme]}{why}{lost}"
        )
    named = PLAIN if data.scheme == PLAIN else "auto"
    other = scheme_of_steps(
        theirs, names[1], named, scheme, lambda _: odd[1].line, remedies[1]
    ).scheme
    # The same spans, but the accuracy of tokens compares tags. Strict mode must not see tags that
    # were made well-formed.
    converted = other != scheme and not strict
    return make_pieces_report(pieces, scheme, strict=strict, converted=converted)


def _portions(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Pairs of sentences, some thousand tokens at a time."""
    portion: list[Pair] = []
    tokens = 0
    for pair in pairs:
        portion.append(pair)
        tokens += len(pair[0])
        if tokens >= _TOKENS:
            yield portion
            portion, tokens = [], 0
    if portion:
        yield portion


def _tags_of(sentence: Sentence, name: str) -> Sequence[str]:
    if sentence.tags is None:
        line = sentence.lines[0] if sentence.lines else 1
        raise FormatError(name, line, "expected tags, found none")
    return sentence.tags
