"""`tagkit.audit`: models that have not seen a sentence contradict its labels.

Each fold of a corpus is predicted by a model that was trained on the others, by the same function
and with the same options as `tagkit train`. Models lie in a temporary folder until the audit ends.
"""

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any

from tagkit.config import Config, as_config, refuse_without_effect
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.splits import as_corpus, read_scored, read_train
from tagkit.errors import ConfigError, DataError, Interrupted, TrainingError
from tagkit.evaluation.analysis.label_errors import (
    Audit,
    Contradiction,
    FoldsBy,
    What,
    differences,
    rank_doubts,
)
from tagkit.inference.predict.predictor import Predictor
from tagkit.limits import BATCH_SIZE, MAX_LENGTH
from tagkit.models.base.device import thread_count
from tagkit.models.task_table import task_of
from tagkit.nn.threads import given_threads
from tagkit.storage import scratch_folder, write_remedy
from tagkit.text.records import Prediction, Sentence
from tagkit.text.schemes import SpanTuple, has_spans, span_tuples
from tagkit.training.events.callbacks import Listener, listener_of
from tagkit.training.processes.launcher import is_alone
from tagkit.training.several.folds import Fold, cut_into_folds, require_enough
from tagkit.training.trainer import train
from tagkit.wording import clipped

_LARGEST_SEED = 2**63  # exclusive, as in the configuration
_REMEDY = (
    "correct this, or have TMPDIR name another folder for temporary files, and start the audit "
    "again, as it cannot be resumed"
)


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
    started_s = time.monotonic() if started_s is None else started_s
    config, listener = as_config(config), listener_of(listener, AuditListener, stop)
    _refuse_unfit(config, folds, repeats, folds_by)
    kinds = task_of(config).needs
    whole = read_train(config, kinds)
    dev = read_scored(config.data.dev_file, config, kinds, whole.scheme)
    for text in whole.notes:
        listener.on_note(text)
    by_entity = folds_by == "entity"
    if by_entity and not has_spans(whole.scheme):
        raise DataError(f"{whole.path}: holds no spans: folds_by=entity is for entities")
    seed = config.train.seed
    found = _Contradictions(whole, repeats)
    unit = task_of(config).describe(config).unit
    parts = cut_into_folds(
        whole, folds=folds, repeats=repeats, seed=seed, by_entity=by_entity, unit=unit
    )
    threads = given_threads(thread_count(config.train.threads))  # of predictions too
    with scratch_folder("tagkit-audit") as folder, write_remedy(_REMEDY), threads:
        for fold in parts:
            require_enough(fold, whole)
            listener.on_fold(fold)
            place = folder / str(fold.number)
            predictor = _train(config, fold, whole, dev, place, listener, stop, started_s)
            found.add(fold, predictor)
            listener.on_fold_end(fold)
    return replace(found.audit(folds, folds_by, seed), unit=unit)


def _refuse_unfit(config: Config, folds: int, repeats: int, folds_by: str) -> None:
    """Refuse numbers out of their range, and options that have no meaning here.

    Raises:
        ConfigError: there is one.
    """
    _check_count("folds=...", folds, 2)
    _check_count("repeats=...", repeats, 1)
    if folds_by not in ("sentence", "entity"):
        wanted = f"expected sentence or entity, found {clipped(repr(folds_by))}"
        raise ConfigError("folds_by", [wanted])
    if not task_of(config).annotates:
        problem = "an audit is of labels, which plain text lacks; expected tag, classify or both"
        raise ConfigError(f"task={config.task}", [problem])
    if not is_alone():
        raise ConfigError("audit", ["is one process; start it without a launcher"])
    if config.train.seeds:
        raise ConfigError("train.seeds", ["an audit has one seed, train.seed, and repeats"])
    if config.data.train_sentences:
        problem = "would make models of a part of the corpus alone; leave it out"
        raise ConfigError("data.train_sentences", [problem])
    if config.data.tree_phrases:
        raise ConfigError("data.tree_phrases", ["phrases of one tree would be in several folds"])
    if config.data.tag_columns:
        problem = "an audit is of one column; name one with data.tag_column"
        raise ConfigError("data.tag_column", [problem])
    refuse_without_effect(config, "configuration")


def _check_count(setting: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        found = clipped(repr(value))
        raise ConfigError(setting, [f"expected a whole number, at least {least}, found {found}"])


def _train(
    config: Config,
    fold: Fold,
    whole: Split,
    dev: Split | None,
    place: Path,
    listener: AuditListener,
    stop: threading.Event | None,
    started_s: float,
) -> Predictor:
    """A model of the sentences that a fold leaves.

    Raises:
        DataError: they have no labels to learn.
        Interrupted: `stop` was set.
    """
    one = _of_fold(config, fold, place, started_s)
    where = f"fold {fold.number} of {fold.count}"
    try:
        kinds = task_of(config).needs
        corpus = as_corpus(one, kinds, whole.part(fold.learnt), dev, None)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    try:
        return train(one, _Training(listener), stop=stop, corpus=corpus).predictor
    except Interrupted:
        raise Interrupted(f"stopped in {where}; its models are removed") from None


def _of_fold(config: Config, fold: Fold, place: Path, started_s: float) -> Config:
    """The configuration of one fold's model, with its share of the remaining minutes."""
    minutes, done = config.train.max_minutes, fold.number - 1
    if minutes:  # 0 means no limit: a share that is used up must stay above it
        used = (time.monotonic() - started_s) / 60
        if done and used > minutes:
            each = used / done
            needed = math.ceil(10 * each * fold.count) / 10
            raise TrainingError(
                f"the time limit was over after {done} of {fold.count} models, which took "
                f"{60 * each:.1f} s each; nothing is kept of them. Allow {needed:g} minutes or "
                "more (train.max_minutes), or have fewer models"
            )
        minutes = max(minutes - used, 1e-6) / (fold.count - done)
    # Models of one seed would all begin with the same weights, and agree by that.
    seed = (config.train.seed + fold.number - 1) % _LARGEST_SEED
    changes = {"seed": seed, "max_minutes": minutes, "tracker": "none"}
    # The test corpus is not read; weights of sentences are in the corpus already.
    return config.model_copy(
        update={
            "train": config.train.model_copy(update=changes),
            "output": config.output.model_copy(update={"dir": str(place)}),
            "data": config.data.model_copy(update={"test_file": ""}),
        }
    )


class _Training(Listener):
    """Passes on how far a training run is; its epochs and findings are of no interest here."""

    def __init__(self, listener: AuditListener) -> None:
        self.on_step = listener.on_step  # type: ignore[method-assign]


@dataclass
class _Contradictions:
    """What the models say against the gold labels of a corpus, fold by fold."""

    split: Split
    repeats: int
    contradictions: list[Contradiction] = field(default_factory=list)
    predicted: dict[int, Prediction] = field(default_factory=dict)  # of the current repeat
    scores: list[float] = field(default_factory=list)
    measure: str = ""

    def add(self, fold: Fold, predictor: Predictor) -> None:
        """Predict the sentences of a fold, and keep what contradicts gold."""
        sentences = [self.split.sentences[index] for index in fold.held_out]
        # Nothing is cut into windows: what a model says of gold is of whole sentences too.
        longest = MAX_LENGTH if predictor.task.is_whole else max(map(len, sentences))
        predictions = predictor.annotate(
            sentences, batch_size=BATCH_SIZE, confidence=False, max_length=longest
        )
        if predictor.task.gives.tags:
            self._add_tags(fold, predictor, sentences, predictions)
        if predictor.task.gives.classes:
            self._add_classes(fold, predictor, sentences, predictions)
        self.predicted.update(zip(fold.held_out, predictions, strict=True))
        if len(self.predicted) == len(self.split.sentences):  # the last fold of a repeat
            whole = [self.predicted[index] for index in range(len(self.split.sentences))]
            report = predictor.report(self.split, whole)
            self.scores.append(report.headline)
            self.measure = report.measure
            self.predicted = {}

    def _add_tags(
        self,
        fold: Fold,
        predictor: Predictor,
        sentences: Sequence[Sentence],
        predictions: Sequence[Prediction],
    ) -> None:
        is_spans = has_spans(self.split.scheme)
        read = span_tuples if is_spans else _of_tokens
        known = predictor.labels()
        # A model cannot agree with a label that its part of the corpus lacks.
        found = [
            [
                (gold, theirs)
                for gold, theirs in differences(read(one.tags or ()), read(other.tags))
                if known.issuperset(label for _, _, label in gold)
            ]
            for one, other in zip(sentences, predictions, strict=True)
        ]
        places = [[_hull(*both) for both in of_sentence] for of_sentence in found]
        theirs = [
            replace(sentence, tags=prediction.tags)
            for sentence, prediction in zip(sentences, predictions, strict=True)
        ]
        of_gold, of_predicted = (
            predictor.stretch_probabilities(each, places) for each in (sentences, theirs)
        )
        for index, of_sentence, ours, others in zip(
            fold.held_out, found, of_gold, of_predicted, strict=True
        ):
            for (gold, said), p_gold, p_said in zip(of_sentence, ours, others, strict=True):
                what: What = "span" if is_spans else "token"
                self.contradictions.append(
                    Contradiction(what, index, fold.repeat, gold, said, p_gold, p_said)
                )

    def _add_classes(
        self,
        fold: Fold,
        predictor: Predictor,
        sentences: Sequence[Sentence],
        predictions: Sequence[Prediction],
    ) -> None:
        known, several = predictor.classes(), predictor.config.head.several_classes
        for index, sentence, prediction in zip(fold.held_out, sentences, predictions, strict=True):
            gold, said = {*sentence.labels}, {*prediction.labels}
            if gold == said or not known.issuperset(gold):
                continue
            probs = {score.label: score.probability for score in prediction.scores}
            whole = len(sentence)
            self.contradictions.append(
                Contradiction(
                    "class", index, fold.repeat,
                    tuple((0, whole, label) for label in sorted(gold)),
                    tuple((0, whole, label) for label in sorted(said)),
                    _of_classes(gold, probs, several=several),
                    _of_classes(said, probs, several=several),
                )
            )  # fmt: skip

    def audit(self, folds: int, folds_by: FoldsBy, seed: int) -> Audit:
        """All of it, ranked."""
        models: list[set[int]] = [set() for _ in self.split.sentences]
        for each in self.contradictions:
            models[each.sentence].add(each.repeat)
        words = tuple(sentence.words for sentence in self.split.sentences)
        lines = [sentence.lines for sentence in self.split.sentences]
        return Audit(
            corpus=self.split.path,
            folds=folds,
            repeats=self.repeats,
            folds_by=folds_by,
            seed=seed,
            measure=self.measure,
            agreement=mean(self.scores),
            doubts=rank_doubts(self.contradictions, words, lines, self.repeats),
            contradicted=tuple(map(len, models)),
            sentences=words,
        )


def _of_tokens(tags: Sequence[str]) -> list[SpanTuple]:
    """Plain labels as stretches of one word."""
    return [(index, index + 1, tag) for index, tag in enumerate(tags)]


def _hull(gold: Sequence[SpanTuple], predicted: Sequence[SpanTuple]) -> tuple[int, int]:
    both = (*gold, *predicted)
    return min(each[0] for each in both), max(each[1] for each in both)


def _of_classes(labels: set[str], probs: Mapping[str, float], *, several: bool) -> float:
    """Probability that a text has exactly these classes."""
    if not several:
        return probs[next(iter(labels))] if labels else 0.0
    # Each class is judged by itself: a product of their sigmoids.
    product = 1.0
    for label, probability in probs.items():
        product *= probability if label in labels else 1 - probability
    return product
