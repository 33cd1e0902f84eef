"""`tagkit.audit`: models that have not seen a sentence contradict its labels.

Each fold of a corpus is predicted by a model that was trained on the others, by the same function
and with the same options as `tagkit train`. Models lie in a temporary folder until the audit ends.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from tagkit.config import Config, as_config, refuse_without_effect, with_options
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.splits import as_corpus, read_scored, read_train
from tagkit.errors import ConfigError, DataError, Interrupted, TrainingError
from tagkit.evaluation.analysis.label_errors import (
    Audit,
    Contradiction,
    FoldsBy,
    What,
    differences,
    place_of,
    rank_doubts,
)
from tagkit.evaluation.reports.report import Report
from tagkit.inference.predict.predictor import Predictor
from tagkit.limits import BATCH_SIZE, check_count
from tagkit.models.base.device import thread_count
from tagkit.models.task_table import task_of
from tagkit.nn.threads import given_threads
from tagkit.storage import scratch_folder, write_remedy
from tagkit.text.records import Prediction, Sentence
from tagkit.text.schemes import SpanTuple, has_spans, span_tuples
from tagkit.training.events.callbacks import Listener, listener_of
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.loop.time_budget import TimeBudget
from tagkit.training.several.fits import Fits, passing, refuse_options
from tagkit.training.several.folds import Fold, cut_into_folds, require_enough
from tagkit.wording import clipped

_LARGEST_SEED = 2**63  # exclusive, as in the configuration
_REMEDY = (
    "correct this, or have TMPDIR name another folder for temporary files, and start the audit "
    "again, as it cannot be resumed"
)
_REFUSED = {
    "train.seeds": "an audit has one seed, train.seed, and repeats",
    "data.train_sentences": "would make models of a part of the corpus alone; leave it out",
    "data.tree_phrases": "phrases of one tree would be in several folds",
}


class AuditListener(Listener):
    """Callbacks of an audit, those of the training runs in it included; these do nothing."""

    def on_fold(self, fold: Fold) -> None:
        """Called before the training run of each fold."""

    def on_fold_end(self, fold: Fold) -> None:
        """Called when its sentences are predicted."""


def audit(
    config: Config | Path | str | Mapping[str, Any],
    *,
    folds: int = 5,
    repeats: int = 1,
    folds_by: FoldsBy = "sentence",
    listener: AuditListener | None = None,
    stop: threading.Event | None = None,
    started_s: float | None = None,
) -> Audit:
    """Find doubtful labels in a training corpus, as `tagkit audit` does.

    Args:
        config: of the models, with the corpus in `data.train_file`; as for `train`. Dev is
            `data.dev_file`, or is split off what each model learns from. A test corpus and the
            output folder are not used; nothing is written.
        folds: parts of the corpus, each of which is predicted by a model of the others.
        repeats: how often, with other folds and other models.
        folds_by: "entity" to leave sentences that share an entity with a fold out of its
            training, which finds entities that are labelled wrong everywhere; or "sentence".
        listener: callbacks of the audit.
        stop: once it is set, the audit ends after the current step of training.
        started_s: the moment, by `time.monotonic()`, from which `train.max_minutes`, the limit of
            all models together, counts; None for the moment of this call.

    Returns:
        A record of the doubtful labels, and how often each sentence was contradicted.

    Raises:
        TagkitError: the corpus cannot be used, or an option has no meaning for an audit.
        Interrupted: `stop` was set; nothing stays.
    """
    config, listener = as_config(config), listener_of(listener, AuditListener, stop)
    budget = TimeBudget(config.train.max_minutes, 1, started_s)
    _refuse_unfit(config, folds, repeats, folds_by)
    task, seed = task_of(config), config.train.seed
    whole = read_train(config, task.needs)
    dev = read_scored(config.data.dev_file, config, task.needs, whole)
    for text in whole.notes:
        listener.on_note(text)
    by_entity = folds_by == "entity"
    if by_entity and not has_spans(whole.scheme):
        raise DataError(f"{whole.path}: holds no spans: folds_by=entity is for entities")
    unit = task.describe(config).unit
    parts = cut_into_folds(
        whole, folds=folds, repeats=repeats, seed=seed, by_entity=by_entity, unit=unit
    )
    found, reports = _cross_validated(config, whole, dev, parts, budget, listener, stop)
    words = tuple(sentence.words for sentence in whole.sentences)
    lines = [sentence.lines for sentence in whole.sentences]
    models = Counter(sentence for sentence, _ in {(each.sentence, each.repeat) for each in found})
    return Audit(
        corpus=whole.path, folds=folds, repeats=repeats, folds_by=folds_by, seed=seed, unit=unit,
        measure=reports[0].measure, agreement=mean(report.headline for report in reports),
        doubts=rank_doubts(found, words, lines, repeats), sentences=words,
        contradicted=tuple(models[index] for index in range(len(words))),
    )  # fmt: skip


def _refuse_unfit(config: Config, folds: int, repeats: int, folds_by: str) -> None:
    """Refuse numbers out of their range, and options that have no meaning here.

    Raises:
        TagkitError: there is one.
    """
    check_count("folds=...", folds, 2)
    check_count("repeats=...", repeats)
    if folds_by not in ("sentence", "entity"):
        wanted = f"expected sentence or entity, found {clipped(repr(folds_by))}"
        raise ConfigError("folds_by", [wanted])
    problem = "an audit is of labels, which it lacks; expected tag, classify or both"
    task_of(config).require_labels(config, ConfigError(f"task={config.task}", [problem]))
    refuse_options("audit", config, _REFUSED)
    if config.data.tag_columns:
        problem = "an audit is of one column; name one with data.tag_column"
        raise ConfigError("data.tag_column", [problem])
    refuse_without_effect(config, "configuration")


def _cross_validated(
    config: Config,
    whole: Split,
    dev: Split | None,
    folds: Iterable[Fold],
    budget: TimeBudget,
    listener: AuditListener,
    stop: threading.Event | None,
) -> tuple[list[Contradiction], list[Report]]:
    """What the models of all folds say against gold, and their scores, one for each repeat."""
    found: list[Contradiction] = []
    reports: list[Report] = []
    predicted: dict[int, Prediction] = {}  # of the current repeat
    threads = given_threads(thread_count(config.train.threads))  # of predictions too
    with scratch_folder("tagkit-audit") as folder, write_remedy(_REMEDY), threads:
        fits = Fits("audit", RunFolder(folder, writes=False), listener.on_note, stop)
        for fold in folds:
            require_enough(fold, whole)
            listener.on_fold(fold)
            predictor = _trained(fits, _config_of(config, fold, budget), fold, whole, dev, listener)
            sentences = [whole.sentences[index] for index in fold.held_out]
            # Nothing is cut into windows: what a model says of gold is of whole sentences too.
            predictions = predictor.predictions_of(
                replace(whole, sentences=sentences),
                batch_size=BATCH_SIZE, max_length=max(map(len, sentences)),
            )  # fmt: skip
            if predictor.task.needs.tags:
                spans = has_spans(whole.scheme)
                found += _of_tags(fold, predictor, sentences, predictions, spans=spans)
            if predictor.task.needs.classes:
                found += _of_classes(fold, predictor, sentences, predictions)
            predicted.update(zip(fold.held_out, predictions, strict=True))
            if len(predicted) == len(whole.sentences):  # the last fold of a repeat
                in_order = [predicted[index] for index in range(len(predicted))]
                reports.append(predictor.report(whole, in_order))
                predicted = {}
            listener.on_fold_end(fold)
    return found, reports


def _config_of(config: Config, fold: Fold, budget: TimeBudget) -> Config:
    """The configuration of one fold's model, with its share of the remaining minutes.

    Raises:
        TrainingError: there are none left.
    """
    done = fold.number - 1
    if done and budget.is_over(0):
        each_s = (time.monotonic() - budget.started) / done
        needed = math.ceil(each_s * fold.count / 6) / 10
        raise TrainingError(
            f"the time limit was over after {done} of {fold.count} models, which took "
            f"{each_s:.1f} s each; nothing is kept of them. Allow {needed:g} minutes or more "
            "(train.max_minutes), or have fewer models"
        )
    own = {
        # Models of one seed would all begin with the same weights, and agree by that.
        "train.seed": (config.train.seed + done) % _LARGEST_SEED,
        "train.max_minutes": budget.left_minutes() / (fold.count - done),
        "train.tracker": "none",
        "data.test_file": "",
    }
    return with_options(config, own)


def _trained(
    fits: Fits, config: Config, fold: Fold, whole: Split, dev: Split | None, listener: AuditListener
) -> Predictor:
    """A model of the sentences that a fold leaves.

    Raises:
        DataError: they have no labels to learn.
        Interrupted: the audit was asked to stop.
    """
    where = f"fold {fold.number} of {fold.count}"
    try:
        corpus = as_corpus(config, task_of(config).needs, whole.part(fold.learnt), dev, None)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    try:
        # Its epochs and findings are of no interest here.
        passed = passing(listener, ("on_step",))
        return fits.fit(str(fold.number), config, passed, corpus=corpus).predictor
    except Interrupted:
        raise Interrupted(f"stopped in {where}; its models are removed") from None


def _of_tags(
    fold: Fold,
    predictor: Predictor,
    sentences: Sequence[Sentence],
    predictions: Sequence[Prediction],
    *,
    spans: bool,
) -> Iterator[Contradiction]:
    """Where a model contradicts spans, or plain labels as stretches of one word."""
    what: What = "span" if spans else "token"
    read = span_tuples if spans else _labels_of_tokens
    known = predictor.labels()
    # A model cannot agree with a label that its part of the corpus lacks.
    found = [
        [
            (gold, said)
            for gold, said in differences(read(one.tags or ()), read(other.tags))
            if known.issuperset(label for _, _, label in gold)
        ]
        for one, other in zip(sentences, predictions, strict=True)
    ]
    places = [[place_of(gold, said) for gold, said in of_sentence] for of_sentence in found]
    theirs = [replace(s, tags=p.tags) for s, p in zip(sentences, predictions, strict=True)]
    probs = [predictor.stretch_probabilities(tagged, places) for tagged in (sentences, theirs)]
    for index, *of_sentence in zip(fold.held_out, found, *probs, strict=True):
        for (gold, said), p_gold, p_said in zip(*of_sentence, strict=True):
            yield Contradiction(what, index, fold.repeat, gold, said, p_gold, p_said)


def _labels_of_tokens(tags: Sequence[str]) -> list[SpanTuple]:
    return [(index, index + 1, tag) for index, tag in enumerate(tags)]


def _of_classes(
    fold: Fold,
    predictor: Predictor,
    sentences: Sequence[Sentence],
    predictions: Sequence[Prediction],
) -> Iterator[Contradiction]:
    """Where a model contradicts the classes of a text."""
    known, several = predictor.classes(), predictor.config.head.several_classes
    for index, sentence, prediction in zip(fold.held_out, sentences, predictions, strict=True):
        sides = {*sentence.labels}, {*prediction.labels}
        if sides[0] == sides[1] or not known.issuperset(sides[0]):
            continue
        probs = {score.label: score.probability for score in prediction.scores}
        gold, said = (
            tuple((0, len(sentence), label) for label in sorted(labels)) for labels in sides
        )
        p_gold, p_said = (_of_exactly(labels, probs, several=several) for labels in sides)
        yield Contradiction("class", index, fold.repeat, gold, said, p_gold, p_said)


def _of_exactly(labels: set[str], probs: Mapping[str, float], *, several: bool) -> float:
    """Probability that a text has exactly these classes."""
    if not several:
        return probs[next(iter(labels))] if labels else 0.0
    # Each class is judged by itself: a product of their sigmoids.
    return math.prod(p if label in labels else 1 - p for label, p in probs.items())
