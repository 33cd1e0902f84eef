"""Labels in doubt: where cross-validated models contradict gold annotation, ranked for review.

A model that has not seen a sentence predicts it. Where its prediction differs from gold, one of the
two is wrong; the surer the model is of its own labels and against gold, the earlier a person should
look. The score of a place is

    the mean of p(predicted) - p(gold) there over all models, with 0 for those that agree with gold

Each p is exact: that of all taggings of the sentence which have just these tags there. It is the
normalised margin of confident learning (Northcutt, Jiang and Chuang 2021); Klie, Webber and
Gurevych 2023 compare such methods on text. By 1 - p(gold) alone, their "self-confidence", long
spans that a weak model merely does not find come first: of the first 20 doubts of CoNLL-2003 with
planted errors 65 % were right, by the margin 95 % (benchmarks/audit.py).

Sentence weights are those of CrossWeigh (Wang et al. 2019): epsilon to the power of how many models
contradict the sentence, where epsilon is 0.7.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Literal

from tagkit.evaluation.analysis.analysis_text import NAME, side_lines
from tagkit.evaluation.reports.report_text import label_cell
from tagkit.limits import EPSILON, check_probability
from tagkit.text.json_text import INTERNAL, Record
from tagkit.text.schemes import SpanTuple
from tagkit.wording import plural, shortened, shown_name, visible

What = Literal["span", "token", "class"]
FoldsBy = Literal["sentence", "entity"]

# Of an audit in lines of text: the width of a file, and the places of labels.
_WIDTH = 80
_INDENT = " " * 6
_CONTEXT = 6  # words on either side of a doubt
# Score below which a contradiction more often says something of the models than of gold.
_WEAK = 0.5


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A place where one model's prediction differs from gold.

    Attributes:
        what: kind of label.
        sentence: number of the sentence, from 0.
        repeat: number of the cross-validation that the model belongs to, from 0.
        gold: gold labels there, in order; empty where gold has no span.
        predicted: predicted labels there, likewise.
        gold_probability: of the gold labels by this model, 0 to 1.
        predicted_probability: of the predicted ones.
    """

    what: What
    sentence: int
    repeat: int
    gold: tuple[SpanTuple, ...]
    predicted: tuple[SpanTuple, ...]
    gold_probability: float
    predicted_probability: float

    @property
    def place(self) -> tuple[int, int]:
        """Its first word, and the word after its last one."""
        return place_of(self.gold, self.predicted)


@dataclass(frozen=True, slots=True)
class Doubt(Record):
    """A gold annotation that models contradict.

    Attributes:
        what: "span", "token" (a plain label) or "class" (of the whole text).
        line: of its first word in the corpus, from 1; 0 where it is not known.
        sentence: number of its sentence, from 0.
        gold: gold labels there as (first word, word after the last one, label); empty where gold
            has no span. A class is of all words.
        predicted: what most of the contradicting models predict there, likewise.
        gold_probability: of the gold labels, 0 to 1, the mean of the contradicting models.
        predicted_probability: of the predicted ones, the mean of the models that predict them.
        contradicted: how many models contradict it.
        repeats: of how many.
        score: by which doubts are ranked, at most 1; see `tagkit.evaluation.analysis.label_errors`.
        words: of the whole sentence.
    """

    what: What
    line: int
    sentence: int
    gold: tuple[SpanTuple, ...]
    predicted: tuple[SpanTuple, ...]
    gold_probability: float
    predicted_probability: float
    contradicted: int
    repeats: int
    score: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit(Record):
    """What cross-validated models say of a corpus.

    Attributes:
        corpus: name of its file.
        folds: into which it was cut.
        repeats: how often, differently each time.
        folds_by: "sentence", or "entity" where models had not seen the entities either.
        seed: of the folds and of the models.
        measure: name of `agreement`: F1 of spans, or accuracy.
        agreement: score of the predictions against gold, 0 to 1, the mean of all repeats. Where it
            is low, models are often wrong, and so are doubts.
        doubts: the most doubtful first.
        contradicted: of each sentence, how many models contradict some of its labels.
        sentences: words of each sentence; not in `to_dict`.
        unit: what a sentence of it is called: "sentence" or "text".
    """

    corpus: str
    folds: int
    repeats: int
    folds_by: FoldsBy
    seed: int
    measure: str
    agreement: float
    doubts: tuple[Doubt, ...]
    contradicted: tuple[int, ...]
    sentences: tuple[tuple[str, ...], ...] = field(
        default=(), repr=False, metadata={INTERNAL: True}
    )
    unit: str = "sentence"

    def weights(self, epsilon: float = EPSILON) -> tuple[float, ...]:
        """A weight for each sentence: `epsilon` to the power of how many models contradict it.

        Raises:
            DataError: `epsilon` is not from 0 to 1.
        """
        check_probability("epsilon", epsilon)
        return tuple(epsilon**count for count in self.contradicted)


def place_of(gold: Sequence[SpanTuple], predicted: Sequence[SpanTuple]) -> tuple[int, int]:
    """The first word of some labels, and the word after their last one."""
    both = (*gold, *predicted)
    return min(each[0] for each in both), max(each[1] for each in both)


def differences(
    gold: Sequence[SpanTuple], predicted: Sequence[SpanTuple]
) -> Iterator[tuple[tuple[SpanTuple, ...], tuple[SpanTuple, ...]]]:
    """Gold and predicted labels of each place where they differ, in order.

    Labels that share a word are of one place, and so are those that share one with another of it.
    """
    sides = [(each, 0) for each in gold] + [(each, 1) for each in predicted]
    for group in _groups(sides, lambda side: side[0][:2]):
        ours, theirs = (tuple(each for each, side in group if side == which) for which in (0, 1))
        if ours != theirs:
            yield ours, theirs


def rank_doubts(
    contradictions: Iterable[Contradiction],
    sentences: Sequence[tuple[str, ...]],
    lines: Sequence[Sequence[int]],
    repeats: int,
) -> tuple[Doubt, ...]:
    """The places that models contradict, the most doubtful first.

    Args:
        contradictions: of all models.
        sentences: words of each.
        lines: number of each word's line, from 1; empty where it is not known.
        repeats: how many models have judged each sentence.
    """
    by_sentence: dict[tuple[int, What], list[Contradiction]] = defaultdict(list)
    for each in contradictions:
        by_sentence[each.sentence, each.what].append(each)
    found = []
    for (sentence, _), of_sentence in by_sentence.items():
        # Models may differ in where a span ends: what overlaps is one place.
        for group in _groups(of_sentence, lambda each: each.place):
            found.append(_doubt(group, sentences[sentence], lines[sentence], repeats))
    # Ties in the order of the corpus, so that the same audit gives the same list.
    return tuple(sorted(found, key=lambda each: (-each.score, each.sentence, each.what, each.gold)))


def _doubt(
    group: Sequence[Contradiction], words: tuple[str, ...], lines: Sequence[int], repeats: int
) -> Doubt:
    """One place, from what each model says of it."""
    models: dict[int, list[Contradiction]] = defaultdict(list)
    for each in group:
        models[each.repeat].append(each)
    gold = {label for each in group for label in each.gold}
    said = [_predicted(of_model, gold) for of_model in models.values()]
    counts = Counter(said)
    # The most frequent one; of several, the first in order, which does not depend on the repeats.
    predicted = min(counts, key=lambda labels: (-counts[labels], labels))
    # A model that contradicts two parts of the place is as sure as of the part that it doubts less.
    gold_probs = [min(e.gold_probability for e in of_model) for of_model in models.values()]
    margins = [
        min(e.predicted_probability - e.gold_probability for e in of_model)
        for of_model in models.values()
    ]
    predicted_probs = [
        min(e.predicted_probability for e in of_model)
        for of_model, labels in zip(models.values(), said, strict=True)
        if labels == predicted
    ]
    start = min(each.place for each in group)[0]
    return Doubt(
        what=group[0].what,
        line=lines[start] if lines else 0,
        sentence=group[0].sentence,
        gold=tuple(sorted(gold)),
        predicted=predicted,
        gold_probability=mean(gold_probs),
        predicted_probability=mean(predicted_probs),
        contradicted=len(models),
        repeats=repeats,
        score=sum(margins) / repeats,
        words=words,
    )


def _predicted(of_model: Sequence[Contradiction], gold: set[SpanTuple]) -> tuple[SpanTuple, ...]:
    """What a model predicts at a place: gold labels of it that it does not contradict are right."""
    contradicted = {label for each in of_model for label in each.gold}
    said = {label for each in of_model for label in each.predicted}
    return tuple(sorted(said | (gold - contradicted)))


def _groups(items: Iterable[Any], place: Any) -> Iterator[list[Any]]:
    """Items whose places (first word, word after the last one) overlap, in chains."""
    group: list[Any] = []
    reach = 0
    for item in sorted(items, key=place):
        start, end = place(item)
        if group and start >= reach:
            yield group
            group = []
        group.append(item)
        reach = max(end, reach) if len(group) > 1 else end
    if group:
        yield group


def audit_lines(audit: Audit, top: int, width: int | None = None) -> Iterator[str]:
    """What `tagkit audit` prints of an audit: the most doubtful labels, each with its sentence.

    Args:
        audit: of a corpus.
        top: how many.
        width: cells of a terminal; None for a file.
    """
    room = width or _WIDTH
    repeats = f", {audit.repeats} times" if audit.repeats > 1 else ""
    agreement = f"{audit.measure} {audit.agreement:.4f}"
    if audit.measure == "mean":
        agreement = f"{audit.agreement:.4f}, the mean of all that is learnt"
    yield (
        f"{plural(audit.folds, 'fold')} by {audit.folds_by}{repeats}: models agree with gold at "
        f"{agreement}"
    )
    contradicted = sum(map(bool, audit.contradicted))
    yield (
        f"{plural(len(audit.doubts), 'doubt')} in {contradicted:,} of "
        f"{plural(len(audit.contradicted), audit.unit)}"
    )
    if audit.doubts and audit.agreement < _WEAK:
        yield "the models agree with gold so little that most doubts are their own mistakes"
    if not audit.doubts or not top:
        return
    yield ""
    yield f"{'':4}  score  p(gold)  p(predicted)  models  line"
    for number, doubt in enumerate(audit.doubts[:top], 1):
        models = f"{doubt.contradicted}/{doubt.repeats}"
        place = f":{doubt.line}" if doubt.line else f", {audit.unit} {doubt.sentence + 1:,}"
        line = (
            f"{number:>4}  {doubt.score:.3f}  {doubt.gold_probability:>7.3f}  "
            f"{doubt.predicted_probability:>12.3f}  {models:>6}  "
        )
        yield line + shortened(f"{shown_name(audit.corpus)}{place}", max(8, room - len(line)))
        yield from _label_lines(doubt, room)
    if len(audit.doubts) > top:
        yield f"and {len(audit.doubts) - top:,} more"


def _label_lines(doubt: Doubt, room: int) -> Iterator[str]:
    sides = {"gold": doubt.gold, "predicted": doubt.predicted}
    if doubt.what != "class":
        yield from side_lines(doubt.words, sides, room, _INDENT, _CONTEXT)
        return
    texts = {
        name: ", ".join(label_cell(label) for _, _, label in labels) or "(no class)"
        for name, labels in sides.items()
    }
    texts["text"] = " ".join(map(visible, doubt.words))
    for name, text in texts.items():
        yield f"{_INDENT}{name:<{NAME}}{shortened(text, room - len(_INDENT) - NAME)}"
