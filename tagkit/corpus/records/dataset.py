"""One part of a corpus (train, dev or test), and how a dev part is held out of train."""

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.layout import Layout
from tagkit.errors import DataError
from tagkit.text.notation import USUAL, Notation
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Detection
from tagkit.text.schemes import OUTSIDE, has_spans, span_tuples
from tagkit.wording import listed, plural_of


@dataclass(frozen=True, slots=True)
class LabelKinds:
    """Which labels a corpus must have; others that it has are left out or ignored.

    Attributes:
        tags: a tag for each word.
        classes: classes of each sentence or text as a whole, which is then one sequence of tokens.
    """

    tags: bool
    classes: bool


@dataclass(frozen=True)
class Split:
    """One corpus file, or the part of one that was held out.

    Attributes:
        path: of the file.
        sentences: with the kinds of labels that were asked for.
        detection: the scheme that the tags are in; None where no tags were asked for.
        notes: what a person should know about it, such as what its format cannot hold.
        layout: where things are in the lines of a column file; None for other formats.
        format: name of the format that the file was read in; empty where it is not known.
        weights: of the sentences in the loss, at least 0; None where all weigh the same.
        digest: SHA-256 of what was read; None of a part that was held out, and of records of a
            program.
        notation: that the tags are spelled in by the file; here they are in the usual one.
    """

    path: str
    sentences: Sequence[Sentence]
    detection: Detection | None
    notes: tuple[str, ...] = ()
    layout: Layout | None = field(default=None, compare=False)
    format: str = field(default="", compare=False)
    weights: tuple[float, ...] | None = field(default=None, compare=False)
    digest: str | None = field(default=None, compare=False)
    notation: Notation = field(default=USUAL, compare=False)

    @property
    def scheme(self) -> str | None:
        """Scheme of the tags; None where there are none."""
        return self.detection.scheme if self.detection else None

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        if isinstance(self.sentences, UnitLines):
            return self.sentences.units  # counted already
        return sum(len(sentence) for sentence in self.sentences)

    def labels(self) -> set[str]:
        """Types of the spans, or plain labels; empty where there are no tags."""
        if self.scheme is None or has_spans(self.scheme):
            return {label for label, _ in self.entities()}
        return {tag for sentence in self.sentences for tag in sentence.tags or ()}

    def classes(self) -> Counter[str]:
        """Number of texts of each class; empty where there are none."""
        return Counter(label for sentence in self.sentences for label in sentence.labels)

    def part(self, indices: Sequence[int]) -> "Split":
        """The sentences at `indices`, in that order, with their weights."""
        weights = self.weights and tuple(self.weights[i] for i in indices)
        return replace(self, sentences=tuple(self.sentences[i] for i in indices), weights=weights)

    def entities(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Label and words of each span."""
        if not has_spans(self.scheme):
            return
        for sentence in self.sentences:
            for start, end, label in span_tuples(sentence.tags or ()):
                yield label, sentence.words[start:end]


def with_label_notes(split: Split, known: Set[str], known_classes: Set[str], where: str) -> Split:
    """The split, with a note where the model knows none of its labels.

    Such a corpus scores zero in every epoch, which looks like a model that does not learn.

    Args:
        split: a corpus that a model is scored on.
        known: types of spans, or plain labels, that the model learns.
        known_classes: classes that it learns.
        where: name of what has these, for the note.
    """
    notes = []
    # A bare prefix has an empty label; "_" is how conlleval shows it.
    labels = {label or "_" for label in split.labels()} - {OUTSIDE}
    known = {label or "_" for label in known} - {OUTSIDE}
    if split.detection and not labels:
        notes.append(f"{split.path}: every tag is O, so that scores on it mean nothing")
    classes = set(split.classes())
    for found, expected, what in ((labels, known, "label"), (classes, known_classes, "class")):
        if found and expected and not found & expected:
            notes.append(
                f"{split.path}: {where} has none of its {plural_of(what)} "
                f"({listed(sorted(found), 5)}), so that none of them can be found"
            )
    return replace(split, notes=(*split.notes, *notes))


def draw(train: Split, count: int, seed: int, *, by_document: bool = False) -> Split:
    """A random part of `count` sentences, in their order; with one seed a smaller part is within.

    Each class has its share of it, as in `hold_out`. Every tag that is learnt may not occur in it.
    By document, whole documents are drawn until they have at least so many sentences.

    Raises:
        DataError: there are fewer sentences.
    """
    total = len(train.sentences)
    if count > total:
        raise DataError(f"data.train_sentences={count}: {train.path} has {total:,} to train on")
    if by_document:
        drawn: list[int] = []
        for sentences in _shuffled_documents(train, seed):
            if len(drawn) < count:  # whatever their length, so that parts are nested
                drawn += sentences
        return train.part(sorted(drawn))
    order = list(range(total))
    random.Random(seed).shuffle(order)
    # `_evenly` takes the first of one ranking, whatever the count: parts are nested.
    chosen = set(_evenly([train.sentences[i].labels for i in order], order, count))
    return train.part(sorted(chosen))


def hold_out(
    train: Split, fraction: float, seed: int, *, by_document: bool = False
) -> tuple[Split, Split]:
    """Train without a random part of its sentences, and that part.

    Each class has its share of that part, as near as whole texts allow: a rare class would often be
    missing in a part that is drawn without regard to classes. Where its share is less than a text,
    it has one all the same as long as that leaves each other class within one text of its share. Of
    tags, that part has some that are not O if train has two sentences with such. By document, whole
    documents are held out, with as many sentences as is near to that share.

    Raises:
        DataError: there is only one sentence, or by document only one document.
    """
    total = len(train.sentences)
    if total < 2:
        unit = "text" if train.sentences and train.sentences[0].labels else "sentence"
        raise DataError(
            f"{train.path}: one {unit} is not enough to split off a dev corpus; name one with "
            "data.dev_file"
        )
    # At least one sentence is held out, and at least one kept.
    count = min(max(1, round(total * fraction)), total - 1)
    if by_document:
        chosen = set(_documents_near(train, count, seed))
        if not chosen:
            raise DataError(
                f"{train.path}: one document is not enough to split off a dev corpus of whole "
                "documents; name one with data.dev_file"
            )
    else:
        order = list(range(total))
        # Python's generator, not torch's: the part is the same whatever else the run draws.
        random.Random(seed).shuffle(order)
        labels = [sentence.labels for sentence in train.sentences]
        ranking = _evenly([labels[i] for i in order], order, total)
        if not any(labels):  # of tags: a part in which all are O would say nothing
            labels = [("tagged",) * _is_tagged(sentence) for sentence in train.sentences]
        chosen = _with_rare_classes(labels, ranking, count)
    kept = train.part([i for i in range(total) if i not in chosen])
    held_out = train.part([i for i in range(total) if i in chosen])
    name = f"{Path(train.path).name} (split off)"
    # The notes are about the file, and are shown once, with train. Weights are for learning.
    return kept, replace(held_out, path=name, notes=(), weights=None, digest=None)


def _is_tagged(sentence: Sentence) -> bool:
    return any(tag != OUTSIDE for tag in sentence.tags or ())


def _shuffled_documents(split: Split, seed: int) -> list[list[int]]:
    """The sentences of each document, documents in random order."""
    documents = [
        [index for index, _ in group]
        for _, group in groupby(enumerate(split.sentences), lambda each: _document(*each))
    ]
    random.Random(seed).shuffle(documents)
    return documents


def _documents_near(split: Split, count: int, seed: int) -> list[int]:
    """The sentences of random documents, `count` or a few more.

    A document that is longer than that is passed over if it would take them further from `count`
    than they are. Where all are, the shortest one is chosen, and none where there is no other.
    """
    documents = _shuffled_documents(split, seed)
    chosen: list[int] = []
    for sentences in documents:
        missing = count - len(chosen)
        if missing <= 0:
            break
        is_near = len(sentences) <= count or len(sentences) < 2 * missing
        # Something has to be left for the other part.
        if is_near and len(chosen) + len(sentences) < len(split.sentences):
            chosen += sentences
    if not chosen and len(documents) > 1:
        chosen = min(documents, key=len)
    return chosen


def _document(index: int, sentence: Sentence) -> tuple[int | None, int]:
    """A key that sentences of one document share."""
    # One without a document is one of its own, as no other has its index.
    return (None, index) if sentence.document is None else (sentence.document, -1)


def _evenly(labels: Sequence[Hashable], items: Sequence[int], count: int) -> list[int]:
    """The first items of each label, `count` in all; each label as near to its share as can be."""
    groups: dict[Hashable, list[int]] = {}
    for label, item in zip(labels, items, strict=True):
        groups.setdefault(label, []).append(item)
    # Item k of a group of n is placed at (k - 1/2) / n, between 0 and 1. Of all groups together the
    # `count` lowest places are taken, so that no group is more than one item away from its share.
    places = [
        ((place + 0.5) / len(group), turn, item)
        for turn, group in enumerate(groups.values())
        for place, item in enumerate(group)
    ]
    return [item for _, _, item in sorted(places)[:count]]


def _with_rare_classes(
    labels: Sequence[tuple[str, ...]], ranking: Sequence[int], count: int
) -> set[int]:
    """The first `count` items of a ranking, some replaced by later ones of classes that they lack.

    A class gets a place where an item of it is left for the other part. That place is one of
    labels that then have a little less than their share: with more such classes than places the
    part is still like the whole, and the classes with most items come first.

    Args:
        labels: of each item, which are its classes.
        ranking: all items, as `_evenly` ranks them.
        count: of places.
    """
    chosen = set(ranking[:count])
    groups = Counter(labels)
    share = {group: size * count / len(labels) for group, size in groups.items()}
    taken = Counter(labels[item] for item in chosen)
    held = Counter(label for item in chosen for label in labels[item])
    kept = Counter(label for item in ranking[count:] for label in labels[item])

    def is_spare(item: int) -> bool:
        group = labels[item]
        return taken[group] >= share[group] and all(held[label] > 1 for label in group)

    spare = (item for item in reversed(ranking[:count]) if is_spare(item))
    for item in ranking[count:]:
        group = labels[item]
        lacks_one = any(not held[label] for label in group)
        if not lacks_one or not all(kept[label] > 1 for label in group):
            continue
        given_up = next(spare, None)
        if given_up is None:
            break
        for moved, step in ((given_up, -1), (item, 1)):
            taken[labels[moved]] += step
            for label in labels[moved]:
                held[label] += step
                kept[label] -= step
        chosen ^= {given_up, item}
    return chosen
