"""What goes wrong: each error of a tagger in exactly one of seven kinds, and what each costs.

    boundary           one gold and one predicted span overlap; the types are the same
    type               the same boundaries, another type
    boundary and type  they overlap; both boundaries and types differ
    split              several predicted spans overlap one gold span
    merged             one predicted span overlaps several gold spans
    missed             a gold span that no predicted one overlaps
    spurious           a predicted span that overlaps no gold one

Several gold and several predicted spans may overlap in a chain. It is cut where the fewest tokens
are shared, until each part is of one kind.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tagkit.evaluation.scores.scores import score_of
from tagkit.evaluation.scores.spans import Aligned, overlap, overlapping
from tagkit.text.json_text import Record
from tagkit.text.schemes import SpanTuple

KINDS = ("boundary", "type", "boundary and type", "missed", "spurious", "split", "merged")
NOTHING = "-"  # in the confusion of types: no span


@dataclass(frozen=True, slots=True)
class Error(Record):
    """One error.

    Attributes:
        kind: one of `KINDS`.
        gold: the gold spans in it: several of "merged", none of "spurious".
        predicted: the predicted spans in it: several of "split", none of "missed".
        sentence: number of its sentence, from 0.
    """

    kind: str
    gold: tuple[SpanTuple, ...]
    predicted: tuple[SpanTuple, ...]
    sentence: int


@dataclass(frozen=True, slots=True)
class Example(Record):
    """An error with the sentence that it is in.

    Attributes:
        gold: the gold spans in it.
        predicted: the predicted spans in it.
        words: of the whole sentence.
        line: of the first word of these spans in the gold file, from 1; 0 where it is not known.
        sentence: number of the sentence, from 0.
    """

    gold: tuple[SpanTuple, ...]
    predicted: tuple[SpanTuple, ...]
    words: tuple[str, ...]
    line: int
    sentence: int


@dataclass(frozen=True, slots=True)
class KindOfError(Record):
    """How often a kind of error occurs, and what it costs.

    Attributes:
        count: number of errors.
        gain: by how much micro F1 would rise if all errors of this kind were mended, 0 to 1.
        examples: the first errors of the kind, at most as many as were asked for.
    """

    count: int
    gain: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class ErrorReport(Record):
    """All errors of a corpus.

    Attributes:
        kinds: by name, in the order of `KINDS`.
        types: errors by gold label, or by the predicted one of "spurious", the most first.
        confusion: how often a gold label (first) was predicted as another (second), of pairs of
            one gold and one predicted span, and of missed and spurious ones with `NOTHING`; the
            most frequent first.
        errors: number of all.
    """

    kinds: Mapping[str, KindOfError]
    types: Mapping[str, int]
    confusion: Sequence[tuple[str, str, int]]
    errors: int


def find_errors(sentence: Aligned, number: int = 0) -> Iterator[Error]:
    """The errors of a sentence, in order of the text.

    Args:
        sentence: with its spans.
        number: of the sentence, from 0.
    """
    if sentence.gold == sentence.predicted:
        return
    right = set(sentence.gold) & set(sentence.predicted)
    # A span that is right overlaps no other, as spans of one side do not overlap each other.
    gold = [span for span in sentence.gold if span not in right]
    predicted = [span for span in sentence.predicted if span not in right]
    for ours, theirs in _groups(gold, predicted):
        yield Error(_kind(ours, theirs), tuple(ours), tuple(theirs), number)


Side = list[SpanTuple]


def _groups(gold: Side, predicted: Side) -> list[tuple[Side, Side]]:
    """Spans that belong to one error, gold and predicted."""
    edges = {(i, j): overlap(gold[i], predicted[j]) for i, j in overlapping(gold, predicted)}
    of_gold = Counter(i for i, _ in edges)
    of_predicted = Counter(j for _, j in edges)
    # An edge joins two groups that both stay without it as long as each of its spans has another
    # one: an error is one to one, one to several or several to one. What has no other edge left
    # gets none, so that each edge is looked at once.
    for i, j in sorted(edges, key=lambda edge: (edges[edge], edge)):
        if of_gold[i] > 1 and of_predicted[j] > 1:
            del edges[i, j]
            of_gold[i] -= 1
            of_predicted[j] -= 1
    partners: dict[int, list[int]] = defaultdict(list)  # of a gold span
    others: dict[int, list[int]] = defaultdict(list)  # of a predicted one
    for i, j in edges:
        partners[i].append(j)
        others[j].append(i)
    groups: list[tuple[Side, Side]] = []
    for i, ours in enumerate(gold):
        if len(partners[i]) == 1 and of_predicted[partners[i][0]] > 1:
            continue  # one of several gold spans of one prediction, below
        groups.append(([ours], [predicted[j] for j in partners[i]]))
    for j, theirs in enumerate(predicted):
        if of_predicted[j] != 1:  # 0 is spurious; 1 is in a group already
            groups.append(([gold[i] for i in others[j]], [theirs]))
    return sorted(groups, key=lambda group: min((*group[0], *group[1])))


def _kind(gold: Side, predicted: Side) -> str:
    if not predicted:
        return "missed"
    if not gold:
        return "spurious"
    if len(predicted) > 1:
        return "split"
    if len(gold) > 1:
        return "merged"
    (start, end, label), (other_start, other_end, other_label) = gold[0], predicted[0]
    if (start, end) == (other_start, other_end):
        return "type"
    return "boundary" if label == other_label else "boundary and type"


def error_report(sentences: Iterable[Aligned], examples: int = 5) -> ErrorReport:
    """Every error of a corpus by its kind, with what each kind costs.

    Args:
        sentences: of the corpus.
        examples: how many errors of a kind to keep.
    """
    gold = predicted = correct = 0
    counts: Counter[str] = Counter()
    gold_in: Counter[str] = Counter()  # gold spans in the errors of a kind
    predicted_in: Counter[str] = Counter()
    types: Counter[str] = Counter()
    confusion: Counter[tuple[str, str]] = Counter()
    kept: dict[str, list[Example]] = defaultdict(list)
    for number, sentence in enumerate(sentences):
        gold += len(sentence.gold)
        predicted += len(sentence.predicted)
        correct += len(sentence.gold)
        for error in find_errors(sentence, number):
            correct -= len(error.gold)
            counts[error.kind] += 1
            gold_in[error.kind] += len(error.gold)
            predicted_in[error.kind] += len(error.predicted)
            if len(kept[error.kind]) < examples:
                kept[error.kind].append(_example(error, sentence))
            types.update(label for _, _, label in error.gold or error.predicted)
            if len(error.gold) <= 1 and len(error.predicted) <= 1:
                labels = [spans[0][2] if spans else NOTHING
                          for spans in (error.gold, error.predicted)]  # fmt: skip
                if labels[0] != labels[1]:
                    confusion[labels[0], labels[1]] += 1
    now = score_of(correct, predicted, gold).f1
    kinds = {
        kind: KindOfError(
            counts[kind],
            # Mended, the gold spans of the errors are predicted, and what was predicted is not.
            score_of(
                correct + gold_in[kind], predicted - predicted_in[kind] + gold_in[kind], gold
            ).f1
            - now,
            tuple(kept[kind]),
        )
        for kind in KINDS
    }
    ordered = sorted(confusion.items(), key=lambda pair: (-pair[1], pair[0]))
    return ErrorReport(
        kinds,
        dict(sorted(types.items(), key=lambda pair: (-pair[1], pair[0]))),
        [(*labels, count) for labels, count in ordered],
        counts.total(),
    )


def _example(error: Error, sentence: Aligned) -> Example:
    line = sentence.line_of(min((*error.gold, *error.predicted))[0])
    return Example(error.gold, error.predicted, tuple(sentence.words), line, error.sentence)
