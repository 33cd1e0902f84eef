"""Folds of a corpus, for cross-validation: which sentences a model learns from and which it judges.

By entity, a model learns from no sentence that holds an entity of the fold that it judges. Else an
entity that is labelled wrong everywhere would be learnt so, and never be contradicted (Wang et al.
2019, "CrossWeigh: Training Named Entity Tagger from Imperfect Annotations", section 3.2).
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError
from tagkit.text.records import Sentence
from tagkit.text.schemes import span_tuples
from tagkit.wording import plural, plural_of


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold of one cross-validation.

    Attributes:
        number: of this fold among all of all repeats, from 1.
        count: how many these are.
        repeat: number of its cross-validation, from 0.
        held_out: indices of the sentences that the model judges.
        learnt: of those that it learns from.
        left_out: number of sentences that are neither, as they hold an entity of `held_out`.
        unit: what a sentence is called: "sentence" or "text".
    """

    number: int
    count: int
    repeat: int
    held_out: tuple[int, ...]
    learnt: tuple[int, ...]
    left_out: int
    unit: str = "sentence"


def cut_into_folds(
    split: Split, *, folds: int, repeats: int, seed: int, by_entity: bool, unit: str = "sentence"
) -> Iterator[Fold]:
    """The folds of each repeat; each sentence is held out once in each.

    Sentences of the same words are in one fold: a model would have learnt the others' labels. Each
    class has its share in each fold.

    Args:
        split: the corpus.
        folds: into how many parts it is cut.
        repeats: how often, differently each time.
        seed: of chance.
        by_entity: whether sentences that share an entity with the fold are left out of training.
        unit: what a sentence is called.

    Raises:
        DataError: there are fewer different sentences than folds.
    """
    same: dict[tuple[str, ...], list[int]] = {}
    for index, sentence in enumerate(split.sentences):
        same.setdefault(sentence.words, []).append(index)
    if len(same) < folds:
        raise DataError(
            f"{split.path}: expected {folds} different {plural_of(unit)} or more, one for each "
            f"fold (folds=...), found {len(same)}"
        )
    entities = [_entities(sentence) if by_entity else frozenset() for sentence in split.sentences]
    for repeat in range(repeats):
        groups = list(same.values())
        # Python's generator: folds are the same whatever else is drawn. A text seeds it as well.
        random.Random(f"{seed} {repeat}").shuffle(groups)
        groups.sort(key=lambda group: split.sentences[group[0]].labels)  # stable: still random
        for fold in range(folds):
            held_out = sorted(index for group in groups[fold::folds] for index in group)
            forbidden = frozenset().union(*(entities[index] for index in held_out))
            others = sorted({*range(len(split.sentences))} - {*held_out})
            learnt = [index for index in others if forbidden.isdisjoint(entities[index])]
            yield Fold(
                number=repeat * folds + fold + 1,
                count=repeats * folds,
                repeat=repeat,
                held_out=tuple(held_out),
                learnt=tuple(learnt),
                left_out=len(others) - len(learnt),
                unit=unit,
            )


def require_enough(fold: Fold, split: Split) -> None:
    """Refuse a fold that leaves too little to learn from.

    Raises:
        DataError: it does.
    """
    found = plural(len(fold.learnt), fold.unit)
    if len(fold.learnt) >= 2:  # one to learn from, and one to choose the best epoch by
        return
    problem = f"{split.path}: fold {fold.number} leaves {found} to learn from"
    remedy = "use more folds (folds=...)"
    if fold.left_out:
        problem += f", {fold.left_out:,} share an entity with it"
        remedy += " or folds_by=sentence"
    raise DataError(f"{problem}; {remedy}")


def _entities(sentence: Sentence) -> frozenset[tuple[str, ...]]:
    """The words of each span, whatever its label: that may be the mistake."""
    found = span_tuples(sentence.tags or ())
    return frozenset(sentence.words[start:end] for start, end, _ in found)
