"""One part of a corpus, and how a smaller part is held out of it."""

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from tagkit.corpus.formats.columns.layout import Layout
from tagkit.errors import DataError
from tagkit.text.records import Sentence
from tagkit.text.schemes import OUTSIDE, Detection, stretches
from tagkit.wording import Message, Setting, listed, plural_of


@dataclass(frozen=True)
class Split:
    """One corpus file, or the part of it that one is made of.

    Attributes:
        path: of the file.
        sentences: with the tags of the file, its classes, or both, as the task has them.
        detection: the scheme that the tags are in; None where the task is to classify.
        notes: what there is to say of it, such as what its format cannot hold.
        layout: where things are in the lines of a column file; None for other formats.
    """

    path: str
    sentences: tuple[Sentence, ...]
    detection: Detection | None
    notes: tuple[str, ...] = ()
    layout: Layout | None = field(default=None, compare=False)

    @property
    def scheme(self) -> str | None:
        """That of the tags; None where there are none."""
        return self.detection.scheme if self.detection else None

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return sum(len(sentence) for sentence in self.sentences)

    def labels(self) -> set[str]:
        """Types of the spans, or plain labels."""
        if self.scheme == "labels":
            return {tag for sentence in self.sentences for tag in sentence.tags or ()}
        return {label for label, _ in self.entities()}

    def classes(self) -> Counter[str]:
        """Classes of the texts, each with the number of these; empty where there are none."""
        return Counter(label for sentence in self.sentences for label in sentence.labels)

    def entities(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Label and words of each span."""
        if self.scheme in (None, "labels"):
            return
        for sentence in self.sentences:
            for start, end, label in stretches(sentence.tags or ()):
                yield label, sentence.words[start:end]


def with_label_notes(split: Split, known: Set[str], known_classes: Set[str], where: str) -> Split:
    """The split, with a note where nothing of it can be found.

    Args:
        split: a corpus that a model is scored on.
        known: types of spans, or plain labels, that the model learns.
        known_classes: classes that it learns.
        where: what has these, for the note.
    """
    notes = []
    labels = {label or "_" for label in split.labels()} - {OUTSIDE}  # "_": a bare prefix
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


def hold_out(train: Split, fraction: float, seed: int) -> tuple[Split, Split]:
    """Train without a random part of its sentences, and that part.

    Each class has its share of that part, as near as whole texts allow.

    Raises:
        DataError: there is but one sentence.
    """
    total = len(train.sentences)
    if total < 2:
        raise DataError(
            Message(
                f"{train.path}: one sentence is not enough to split off a dev corpus; name one "
                "with ",
                Setting("data.dev_file"),
            )
        )
    # At least one sentence is held out, and at least one kept.
    count = min(max(1, round(total * fraction)), total - 1)
    order = list(range(total))
    random.Random(seed).shuffle(order)
    chosen = set(_evenly([train.sentences[i].labels for i in order], order, count))
    kept = tuple(s for i, s in enumerate(train.sentences) if i not in chosen)
    held_out = tuple(s for i, s in enumerate(train.sentences) if i in chosen)
    name = f"{Path(train.path).name} (split off)"
    # What there is to say of the file is said of train.
    dev = replace(train, path=name, sentences=held_out, notes=())
    return replace(train, sentences=kept), dev


def _evenly(labels: Sequence[Hashable], items: Sequence[int], count: int) -> list[int]:
    """`count` of the items, of each label as near to its share as can be, the first of each."""
    groups: dict[Hashable, list[int]] = {}
    for label, item in zip(labels, items, strict=True):
        groups.setdefault(label, []).append(item)
    # The k-th item of a group of n stands at (k - 1/2) / n of the way through all: those that
    # stand first are taken, so that no group is more than one item away from its share.
    places = [
        ((place + 0.5) / len(group), turn, item)
        for turn, group in enumerate(groups.values())
        for place, item in enumerate(group)
    ]
    return [item for _, _, item in sorted(places)[:count]]
