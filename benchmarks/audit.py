"""Does `tagkit.audit` find errors that were planted, and do its sentence weights help?

    python benchmarks/audit.py                       # folds by sentence and by entity, and the F1s
    python benchmarks/audit.py --by sentence --repeats 3 --no-train

The first sentences of CoNLL-2003's train get errors in some of their entities, at random: another
type, a boundary moved, an entity removed, or one invented. An audit ranks what it doubts. A planted
error is found by a doubt that shares a word with it. Printed are precision among the first 20, 50
and all doubts, and the recall of all of them, beside those of a random order of all entities; then
the F1 on testa of models trained on the clean corpus, the corrupted one, and that with weights.

Nothing is written but temporary files.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora import DATA, VECTORS

from tagkit import audit, train
from tagkit.config import DataConfig
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.source.pieces import Writing
from tagkit.corpus.splits.splits import read_split
from tagkit.corpus.splits.weights import write_weights
from tagkit.evaluation.analysis.label_errors import Audit, Doubt
from tagkit.text.records import Sentence, Span
from tagkit.text.schemes import SpanTuple, from_spans, span_tuples
from tagkit.training.several.audit import AuditListener
from tagkit.training.several.folds import Fold

TYPES = ("LOC", "MISC", "ORG", "PER")
KINDS = ("type", "boundary", "removed", "invented")
# A small model: what is compared is found within minutes.
OPTIONS = {
    "embeddings.char_dim": 16, "embeddings.char_hidden": 16, "encoder.hidden": 64,
    "train.batch_size": 8, "train.lr": 0.005, "train.max_epochs": 8, "train.patience": 0,
    "train.device": "cpu", "train.workers": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planted:
    """One error: its sentence, its words, and its kind."""

    sentence: int
    start: int
    end: int
    kind: str


def corrupted(
    sentences: Sequence[Sentence], share: float, seed: int
) -> tuple[list[Sentence], list[Planted]]:
    """The sentences in IOB2, with errors in a share of their entities."""
    chance = random.Random(seed)
    spans = [span_tuples(sentence.tags or ()) for sentence in sentences]
    entities = [(row, span) for row, found in enumerate(spans) for span in found]
    planted = []
    for row, span in chance.sample(entities, round(share * len(entities))):
        kind = chance.choice(KINDS)
        error = _plant(kind, len(sentences[row]), spans[row], span, chance)
        if error:
            planted.append(Planted(row, *error, kind))
    found = [
        Sentence(
            sentence.words,
            from_spans([Span(*each) for each in of_sentence], len(sentence), "iob2"),
        )
        for sentence, of_sentence in zip(sentences, spans, strict=True)
    ]
    return found, planted


def _plant(
    kind: str, length: int, spans: list[SpanTuple], span: SpanTuple, chance: random.Random
) -> tuple[int, int] | None:
    """Change the spans of a sentence; the words of the error, None where there is no room."""
    if span not in spans:  # an earlier error has changed it
        return None
    start, end, label = span
    free = [at for at in range(length) if not any(a <= at < b for a, b, _ in spans)]
    if kind == "type":
        new = (start, end, chance.choice([each for each in TYPES if each != label]))
    elif kind == "boundary":
        ways = [(start, end + 1)] * (end in free) + [(start - 1, end)] * (start - 1 in free)
        ways += [(start + 1, end), (start, end - 1)] * (end - start > 1)
        if not ways:
            return None
        new = (*chance.choice(ways), label)
    elif kind == "invented":
        if not free:
            return None
        at = chance.choice(free)
        spans.append((at, at + 1, chance.choice(TYPES)))
        return at, at + 1
    else:
        spans.remove(span)
        return start, end
    spans[spans.index(span)] = new
    return min(start, new[0]), max(end, new[1])


def hits(doubts: Sequence[Doubt], planted: Sequence[Planted]) -> list[set[Planted]]:
    """The planted errors that each doubt is about."""
    return [{each for each in planted if _is_about(doubt, each)} for doubt in doubts]


def _is_about(doubt: Doubt, error: Planted) -> bool:
    both = (*doubt.gold, *doubt.predicted)
    start, end = min(each[0] for each in both), max(each[1] for each in both)
    return doubt.sentence == error.sentence and start < error.end and error.start < end


SCORES: dict[str, Callable[[Doubt], float]] = {
    "score": lambda d: d.score,
    "1 - p(gold)": lambda d: d.contradicted / d.repeats * (1 - d.gold_probability),
    "p(predicted)": lambda d: d.contradicted / d.repeats * d.predicted_probability,
    "margin": lambda d: d.contradicted / d.repeats * (d.predicted_probability - d.gold_probability),
}


def show(found: Audit, planted: Sequence[Planted], entities: int) -> None:
    """Precision and recall of the doubts, by several scores."""
    print(f"agreement {100 * found.agreement:.2f} {found.measure}, {len(found.doubts)} doubts")
    for name, score in SCORES.items():
        about = hits(sorted(found.doubts, key=score, reverse=True), planted)
        cells = []
        for most in (20, 50, len(about)):
            first = about[:most]
            cells.append(f"P@{most} {100 * sum(map(bool, first)) / len(first):.1f}")
        recall = [
            len(set().union(*about[:most])) / len(planted)
            for most in (len(planted), 2 * len(planted), len(about))
        ]
        cells += [
            f"R@{each} {100 * r:.1f}" for each, r in zip(("n", "2n", "all"), recall, strict=True)
        ]
        print(f"  {name:<14} {'  '.join(cells)}", flush=True)
    print(f"  {'random order':<14} P {100 * len(planted) / entities:.1f}", flush=True)


class _Folds(AuditListener):
    def __init__(self) -> None:
        self.learnt: list[int] = []

    def on_fold(self, fold: Fold) -> None:
        self.learnt.append(len(fold.learnt))
        print(f"fold {fold.number}: {len(fold.learnt)} sentences", flush=True)


def main() -> None:
    """Plant, audit, train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--by", choices=("sentence", "entity", "both"), default="both")
    parser.add_argument("--no-train", action="store_true")
    parser.add_argument("--train-seeds", type=int, default=1)
    given = parser.parse_args()
    corpus = given.data / "conll2003"
    kinds = LabelKinds(tags=True, classes=False)
    whole = read_split(str(corpus / "eng.train"), DataConfig(), kinds, None)
    clean = whole.sentences[: given.sentences]
    broken, planted = corrupted(clean, given.share, given.seed)
    entities = sum(len(span_tuples(sentence.tags or ())) for sentence in broken)
    print(f"{len(planted)} errors planted among {entities} entities", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = {"clean": Path(folder, "clean.conll"), "corrupted": Path(folder, "broken.conll")}
        write = FORMATS["columns"].write
        for path, sentences in zip(files.values(), (clean, broken), strict=True):
            plain = [Sentence(s.words, s.tags) for s in sentences]
            pieces = write(plain, Writing(plain=False, single=True, note=print))
            path.write_text("".join(piece.text for piece in pieces), encoding="utf-8")
        options = {**OPTIONS, "embeddings.vectors": str(given.data / VECTORS)}
        config: dict[str, Any] = {**options, "data.train_file": str(files["corrupted"])}
        weights = {}
        for by in ("sentence", "entity") if given.by == "both" else (given.by,):
            began, listener = time.perf_counter(), _Folds()
            found = audit(
                config, folds=given.folds, repeats=given.repeats, folds_by=by, listener=listener
            )
            seconds, mean = time.perf_counter() - began, sum(listener.learnt) / len(listener.learnt)
            print(f"by {by}: {seconds:.0f} s, {mean:.0f} sentences to learn from", flush=True)
            show(found, planted, entities)
            weights[by] = Path(folder, f"{by}.jsonl")
            write_weights(weights[by], found.sentences, found.weights(), force=False)
        if not given.no_train:
            tests = {"data.test_file": str(corpus / "eng.testa"), "output.dir": f"{folder}/model"}
            runs = {name: {"data.train_file": str(path)} for name, path in files.items()}
            runs |= {f"weights by {by}": {**runs["corrupted"], "data.weights": str(path)}
                     for by, path in weights.items()}  # fmt: skip
            for name, changes in runs.items():
                scores = []
                for seed in range(1, given.train_seeds + 1):
                    more = {**changes, "train.seed": seed}
                    trained = train({**options, **tests, **more}, force=True)
                    assert trained.test
                    scores.append(100 * trained.test.headline)
                shown = ", ".join(f"{score:.2f}" for score in scores)
                print(f"{name}: F1 on testa {sum(scores) / len(scores):.2f} ({shown})", flush=True)


if __name__ == "__main__":
    main()
