"""A report on predicted tags: scores by type, with their averages.

The default mode counts spans as conlleval does, strict mode only spans that are well-formed in the
scheme; a report always says which. Plain labels are scored token by token. The numbers are equal to
seqeval's in both modes (`evaluation.verify` compares them).

Tags of files are counted as they are read: nothing else is kept. A report needs the schemes of both
sides, which only a whole file shows. So the tags are reduced to counts of distinct pieces as they
come, and judged at the end. Side by side, the tags of a corpus are cut before every token where a
span of neither side can continue: both tags are O, or begin a span. The same pieces occur again and
again, so that a corpus of a million tokens has some thousand different ones: memory does not grow
with its length, and every number of a report can be counted once a piece, in any scheme.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise, repeat
from operator import itemgetter

from tagkit.config import DataConfig
from tagkit.corpus.source.options import silent
from tagkit.errors import DataError, FormatError
from tagkit.evaluation.reports.report import LabelScores
from tagkit.evaluation.scores.metrics import Comparison, Kind
from tagkit.evaluation.scores.pairing import same_tokens
from tagkit.evaluation.scores.scores import (
    Counts,
    Labels,
    Score,
    count_spans,
    count_tokens,
    token_accuracy,
)
from tagkit.evaluation.scores.spans import well_formed_spans
from tagkit.text.json_text import INTERNAL
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Step, first_line_of, scheme_of_steps
from tagkit.text.scheme_detection import scheme_beside as scheme_beside
from tagkit.text.schemes import (
    ALL_PREFIXES,
    DISPLAY,
    INSIDE,
    OUTSIDE,
    SPAN_SCHEMES,
    convert,
    has_spans,
    is_span_tag,
    own_inside,
    span_tuples,
    split_tag,
)

# As reports show them, and as metadata.json has them: never to be renamed.
CONLLEVAL = "conlleval-compatible"
STRICT = "strict"
TOKENS = "per token"


@dataclass(frozen=True, slots=True)
class TagReport(LabelScores):
    """Scores of predicted tags against gold.

    Attributes:
        scheme: as `schemes.DISPLAY` names it.
        mode: `CONLLEVAL`, `STRICT` or `TOKENS`.
        sentences: how many.
        tokens: how many.
        accuracy: share of tokens whose tag is right.
        micro: over all spans, or tokens.
        macro: mean over types.
        weighted: mean over types, weighted by support.
        types: by label, in alphabetical order; "_" is that of a bare prefix, as seqeval calls it
            ("__", and so on, where "_" is a label).
        unknown: gold labels that the model does not know, each with its support; they count as
            errors.
        comparison: what was scored; not part of the JSON.
    """

    scheme: str
    mode: str
    sentences: int
    tokens: int
    accuracy: float
    micro: Score
    macro: Score
    weighted: Score
    types: Mapping[str, Score]
    unknown: Mapping[str, int]
    comparison: Comparison = field(compare=False, repr=False, metadata={INTERNAL: True})


def make_tag_report(
    gold: Labels,
    predicted: Labels,
    scheme: str,
    *,
    strict: bool = False,
    known: Collection[str] | None = None,
) -> TagReport:
    """Scores by type and their averages.

    Args:
        gold: one sequence of tags a sentence.
        predicted: as long as `gold`, each sequence too.
        scheme: of both, one of `schemes.SCHEMES`.
        strict: only spans that are well-formed in the scheme count.
        known: labels that the model can predict, "" of a bare prefix; None where that is not
            known.
    """
    mode = mode_of(scheme, strict=strict)
    counts = counts_of(gold, predicted, scheme, mode)
    # Of plain labels it is their micro recall, which has been counted already.
    alike = with_own_inside(gold, scheme), with_own_inside(predicted, scheme)
    accuracy = None if mode == TOKENS else token_accuracy(*alike)
    tokens = sum(map(len, gold))
    return report_of(scheme, mode, counts, len(gold), tokens, accuracy, known, gold, predicted)


def with_own_inside(sequences: Labels, scheme: str) -> Labels:
    """Tags of BMES and IOBES in the letters of one, as which a tag is right in either."""
    if scheme not in INSIDE:
        return sequences
    return [tuple(own_inside(tag, scheme) for tag in tags) for tags in sequences]


def with_sentences(report: TagReport, sentences: Sequence[Sentence], name: str) -> TagReport:
    """The report with the words of its tags, which analyses need.

    Args:
        report: with all tags.
        sentences: that it is on, in order.
        name: of the corpus.
    """
    comparison = replace(report.comparison, sentences=sentences, name=name)
    return replace(report, comparison=comparison)


def mode_of(scheme: str, *, strict: bool) -> str:
    """How the tags of a scheme are counted: `CONLLEVAL`, `STRICT` or `TOKENS`."""
    if not has_spans(scheme):
        return TOKENS
    return STRICT if strict else CONLLEVAL


def report_of(
    scheme: str,
    mode: str,
    counts: Counts,
    sentences: int,
    tokens: int,
    accuracy: float | None,
    known: Collection[str] | None = None,
    gold: Labels = (),
    predicted: Labels = (),
) -> TagReport:
    """The report that follows from counts; an `accuracy` of None is the micro recall."""
    kind = Kind.TOKENS if mode == TOKENS else Kind.SPANS
    table = counts.table()
    accuracy = table.micro.recall if accuracy is None else accuracy
    # Of plain labels "" is no bare prefix; a tag is never empty.
    bare = name_of_bare(table.types) if kind is Kind.SPANS else ""
    unknown = {label or bare: support for label, support in table.unknown(known).items()}
    return TagReport(
        scheme=DISPLAY[scheme],
        mode=mode,
        sentences=sentences,
        tokens=tokens,
        accuracy=accuracy,
        # Sorted again: "" came first, and its name "_" need not.
        types=dict(sorted((label or bare, score) for label, score in table.types.items())),
        unknown=dict(sorted(unknown.items())),
        micro=table.micro,
        macro=table.macro,
        weighted=table.weighted,
        comparison=Comparison(kind, gold, predicted, accuracy, table),
    )


def name_of_bare(labels: Collection[str]) -> str:
    """What the label of a bare prefix is called in a report: a name that no other label has."""
    name = "_"
    while name in labels:
        name += "_"
    return name


def counts_of(gold: Labels, predicted: Labels, scheme: str, mode: str) -> Counts:
    """The decisions of tags by label, counted in a mode."""
    if mode == TOKENS:
        return count_tokens(gold, predicted)
    # Strict mode drops the ill-formed spans of a sentence and keeps its others.
    spans_of = partial(well_formed_spans, scheme=scheme) if mode == STRICT else span_tuples
    return count_spans(gold, predicted, spans_of)


_TOKENS = 20_000  # counted in one go: a few megabytes
Pair = tuple[Sentence, Sentence]  # a gold sentence and the predicted one
_MISTAKES = 0.05  # share of the transitions; beyond it tags are of a scheme that is not known
TagPair = tuple[str, str]  # the gold tag of a token and its predicted one

_CUT = " "  # between pieces; no tag's character is white space
_FIRST, _LAST = 0x3001, 0x10FFFF  # characters that stand for tags: none of them is white space
_EDGE = (OUTSIDE,)  # an edge of a sentence counts as O
_last_token = itemgetter(slice(-2, None))


@dataclass(frozen=True, slots=True)
class TagPiece:
    """Tags of tokens in a row, which no span crosses the ends of.

    Attributes:
        before: the tags of the token before, O at the beginning of a sentence.
        gold: gold tags.
        predicted: as many.
        times: how often the corpus has this piece behind this token.
    """

    before: TagPair
    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    times: int


class TagPieces:
    """Counts of the pieces of a corpus.

    Attributes:
        sentences: how many there have been.
        tokens: how many.
    """

    def __init__(self, *, strict: bool) -> None:
        """For `strict` scores, pieces end at O alone.

        Whether a B is well-formed in IOB1 depends on the tag before it, and whether that one ends
        a span depends on the B.
        """
        self.sentences = 0
        self.tokens = 0
        self._codes = _Codes({OUTSIDE} if strict else {OUTSIDE, *"BSU"})
        self._pieces: Counter[tuple[str, str]] = Counter()  # with the token before them
        self._labels: Counter[TagPair] = Counter()  # of plain labels

    def add(self, gold: Labels, predicted: Labels) -> list[TagPair]:
        """Count the tags of sentences.

        Args:
            gold: of each sentence.
            predicted: as long as `gold`, each sequence too.

        Returns:
            The pairs of tags that occur for the first time.
        """
        lengths = list(map(len, gold))
        if lengths != list(map(len, predicted)):
            raise ValueError("expected as many predicted tags as gold ones in each sentence")
        self.sentences += len(lengths)
        self.tokens += sum(lengths)
        codes = self._codes
        codes.new.clear()
        text = codes.outside + "".join(map(codes.__getitem__, _tokens(gold, predicted)))
        # A step from O to O is legal in all schemes, so that one O stands for all in a row.
        twice = codes.outside * 2
        while twice in text:
            text = text.replace(twice, codes.outside)
        _, *pieces = text.split(_CUT)
        before = chain((codes.outside[1:],), map(_last_token, pieces))
        self._pieces.update(zip(before, pieces, strict=False))  # the last one is before no other
        if codes.labels:
            self._labels.update(filter(codes.labels.__contains__, _tokens(gold, predicted)))
        return list(codes.new)

    def pieces(self) -> Iterator[TagPiece]:
        """The different pieces; tokens that are O on both sides make up one."""
        outside = self.tokens
        for before, gold, predicted, times in self._decoded():
            # The O that a piece may begin with stands for any number of them.
            start = 1 if gold[0] == predicted[0] == OUTSIDE else 0
            if len(gold) > start:
                first = (OUTSIDE, OUTSIDE) if start else before
                yield TagPiece(first, gold[start:], predicted[start:], times)
                outside -= times * (len(gold) - start)
        for (ours, theirs), times in self._labels.items():
            yield TagPiece((OUTSIDE, OUTSIDE), (ours,), (theirs,), times)
            outside -= times
        if outside:
            yield TagPiece((OUTSIDE, OUTSIDE), _EDGE, _EDGE, outside)

    def steps(self) -> tuple[Counter[Step], Counter[Step]]:
        """The steps of the gold tags and of the predicted ones, both edges of a sentence as O.

        Not all steps from O to O are counted, and beside plain labels there are some to O in place
        of others: no scheme depends on them.
        """
        found: tuple[Counter[Step], Counter[Step]] = (Counter(), Counter())
        for before, *sides, times in self._decoded():
            for steps, first, tags in zip(found, before, sides, strict=True):
                for step in pairwise((first, *tags)):
                    steps[step] += times
        for pair, times in self._labels.items():
            for steps, tag in zip(found, pair, strict=True):
                steps[tag, OUTSIDE] += times
        return found

    def _decoded(self) -> Iterator[tuple[TagPair, tuple[str, ...], tuple[str, ...], int]]:
        tags = self._codes.tags
        for (before, piece), times in self._pieces.items():
            row = [tags[char] for char in piece]
            yield (tags[before[0]], tags[before[1]]), tuple(row[::2]), tuple(row[1::2]), times


class _Codes(dict[TagPair, str]):
    """What a token becomes: a character for each of its tags, behind a cut where one is allowed.

    Attributes:
        outside: the code of O beside O.
        tags: by their characters.
        labels: pairs of plain labels, which are counted by themselves: no span is near them.
        new: pairs that have been met since this was last cleared.
    """

    def __init__(self, beginnings: set[str]) -> None:
        super().__init__()
        self.tags: dict[str, str] = {}
        self.labels: set[TagPair] = set()
        self.new: list[TagPair] = []
        self._chars: dict[str, str] = {}
        self._beginnings = beginnings
        self.outside = self[OUTSIDE, OUTSIDE]

    def __missing__(self, pair: TagPair) -> str:
        """The code of a pair that has not been met before."""
        self.new.append(pair)
        if all(map(_is_label, pair)):
            self.labels.add(pair)
            self[pair] = self.outside
        else:
            begins = all(_is_label(tag) or split_tag(tag)[0] in self._beginnings for tag in pair)
            self[pair] = (_CUT if begins else "") + "".join(map(self._char, pair))
        return self[pair]

    def _char(self, tag: str) -> str:
        if tag not in self._chars:
            if _FIRST + len(self._chars) > _LAST:
                raise DataError(f"expected at most {_LAST - _FIRST + 1:,} different tags")
            self._chars[tag] = char = chr(_FIRST + len(self._chars))
            self.tags[char] = tag
        return self._chars[tag]


def _is_label(tag: str) -> bool:
    """Whether a tag is a plain label in any corpus; B alone may be the tag of a span."""
    return not is_span_tag(tag) and tag not in ALL_PREFIXES


def _tokens(gold: Labels, predicted: Labels) -> Iterator[TagPair]:
    """The tags of all tokens side by side, with an O behind each sentence."""
    rows = (
        chain.from_iterable(zip(side, repeat(_EDGE), strict=False)) for side in (gold, predicted)
    )
    return zip(*map(chain.from_iterable, rows), strict=True)


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
        data: names the scheme of both files, perhaps.
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
    for both in _portions(same_tokens(names[0], sides[0], names[1], sides[1])):
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
    named = scheme_beside(data.scheme, {tag for step in theirs for tag in step})
    other = scheme_of_steps(
        theirs, names[1], named, scheme, lambda _: odd[1].line, remedies[1]
    ).scheme
    # The same spans, but the accuracy of tokens compares tags. Strict mode must not see tags that
    # were made well-formed.
    converted = other != scheme and not strict
    return make_pieces_report(pieces, scheme, strict=strict, converted=converted)


def _portions(pairs: Iterable[Pair]) -> Iterator[tuple[list[Sentence], list[Sentence]]]:
    """Gold and predicted sentences, some thousand tokens at a time."""
    both: tuple[list[Sentence], list[Sentence]] = [], []
    tokens = 0
    for gold, predicted in pairs:
        both[0].append(gold)
        both[1].append(predicted)
        tokens += len(gold)
        if tokens >= _TOKENS:
            yield both
            tokens = 0
            for side in both:  # before the next ones are read: one portion is held at a time
                side.clear()
    if both[0]:
        yield both


def _tags_of(sentence: Sentence, name: str) -> Sequence[str]:
    if sentence.tags is None:
        line = sentence.lines[0] if sentence.lines else 1
        raise FormatError(name, line, "expected tags, found none")
    return sentence.tags


def make_pieces_report(
    pieces: TagPieces, scheme: str, *, strict: bool, converted: bool
) -> TagReport:
    """The report of `make_tag_report` on tags that were reduced to pieces; they are not kept.

    Args:
        pieces: of a corpus.
        scheme: of the gold tags, one of `schemes.SCHEMES`.
        strict: as the pieces are.
        converted: whether predicted tags are in another scheme, and compared in that of gold.
    """
    mode = mode_of(scheme, strict=strict)
    counts, tokens = Counts(), Counts()
    for times, gold, predicted in _by_times(pieces, scheme if converted else None):
        counts.add(counts_of(gold, predicted, scheme, mode), times)
        if mode != TOKENS:
            alike = with_own_inside(gold, scheme), with_own_inside(predicted, scheme)
            tokens.add(count_tokens(*alike), times)
    right = tokens.correct.total()
    accuracy = None if mode == TOKENS else right / pieces.tokens if pieces.tokens else 0.0
    return report_of(scheme, mode, counts, pieces.sentences, pieces.tokens, accuracy)


def _by_times(pieces: TagPieces, target: str | None) -> Iterator[tuple[int, Labels, Labels]]:
    """Gold and predicted tags of the pieces that occur equally often."""
    groups: dict[int, list[TagPiece]] = defaultdict(list)
    for piece in pieces.pieces():
        groups[piece.times].append(piece)
    for times, group in groups.items():
        predicted = [
            # With the tag before, as it decides what a span of IOB1 begins with.
            piece.predicted
            if target is None
            else convert((piece.before[1], *piece.predicted), target)[1:]
            for piece in group
        ]
        yield times, [piece.gold for piece in group], predicted
