"""What is wrong with a run at its end, by its history and the best model's predictions for dev.

Its losses are compared with that of a model that has learnt nothing (`loss_of_guessing`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tagkit.config import Config, fixed
from tagkit.config.embeddings_section import EmbeddingsConfig
from tagkit.config.option import options_of
from tagkit.evaluation.reports.class_report import ClassReport, label_reports
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.criterion import LOSS, rank, score_text
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.metrics import Kind
from tagkit.text.schemes import OUTSIDE
from tagkit.training.events.callbacks import Check, Epoch, Finding, Statement
from tagkit.training.loop.run import Ending
from tagkit.training.setup.run_settings import is_closed_form
from tagkit.training.setup.setup import Prepared
from tagkit.wording import listed, plural, quoted, shown_name

_FEW = 5  # with fewer examples in dev, or texts, a score is chance
_NOTHING = 0.02  # F1 or accuracy of a model that is of no use
_HARDLY_FOUND = 0.2  # F1 of a label, far below ...
_GOOD = 0.8  # ... a micro F1 or accuracy of all labels above this
_FAIR = 0.5  # below this not the rare labels are the problem, but all of them
_MOST_SHOWN = 5  # labels in a sentence
# What the support of a report is a number of.
_COUNTED = {Kind.SPANS: "span", Kind.TOKENS: "token", Kind.CLASS: "text", Kind.CLASSES: "class"}

# What has to be raised for a run to be longer, by what has ended it.
_LIMITS = {
    "time": "train.max_minutes",
    "patience": "train.patience",
    "epochs": "train.max_epochs",
}

# Overfitting. Early stopping ends most runs some epochs after the best one, while the loss still
# falls a little: only a loss that has halved since then, and a score that leaves something to gain,
# say that the model learns train by heart.
_LAST_SHARE, _LEAST_EPOCHS = 1 / 3, 3  # of the epochs, after the best one
_LOSS_FALLS = 0.5
_NOTHING_TO_GAIN = 0.95

# The learning rate. The mean loss of the first epoch includes that of fresh weights: a later epoch
# should be far below it.
_ABOVE_FIRST = 1.25
_ABOVE_LOWEST = 2.0  # the last epoch, where it is not low beside the first one either
_NOT_LOW = 0.5
_EXAMPLES = 50  # that losses are compared of: those of fewer are chance
_ABOVE_GUESS = 2.0  # times the loss of guessing; that of fresh weights is about 1.0 to 1.3 times it
_NONFINITE = 0.05  # share of the steps; a loss scale of fp16 that is too high costs a few


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known at the end of a run.

    Attributes:
        epochs: all of them.
        metric: value of `train.metric`, by which they were scored.
        dev: report of the best model on dev.
        skipped: number of steps whose loss or gradients were not finite.
        rollbacks: how often the run went back to a checkpoint.
        examples: number of sentences or texts of train, or of units that a language model reads.
        guess: the loss of a model that has learnt nothing, as `loss_of_guessing` gives it.
        config: of the run, resolved.
        ended: what has ended it.
    """

    epochs: Sequence[Epoch]
    metric: str
    dev: Report
    skipped: int
    rollbacks: int
    examples: int
    guess: float
    config: Config
    ended: Ending


def diagnose_run(outcome: Outcome) -> tuple[Finding, ...]:
    """What is wrong with a run, in the order of `RUN_CHECKS`."""
    return tuple(finding for check in RUN_CHECKS for finding in check.findings(outcome))


def _single_answer(report: TagReport | ClassReport) -> str | None:
    """The label of all predictions, "" for none; None where they differ, or gold has it alone."""
    gold, predicted = report.comparison.gold, report.comparison.predicted
    if report.comparison.kind is Kind.CLASSES:  # a text's classes together are its answer
        gold, predicted = ([[", ".join(sorted(x))] for x in labels] for labels in (gold, predicted))
    answers = {label for labels in predicted for label in labels or ("",)}
    expected = {label for labels in gold for label in labels}
    found = len(answers) == 1 and len(gold) >= _FEW and not expected <= answers
    return answers.pop() if found else None


def _train_longer(outcome: Outcome) -> str:
    return f"Train longer ({_LIMITS[outcome.ended]}), with smaller batches (train.batch_size)"


def _one_answer(outcome: Outcome) -> Iterator[Statement]:
    for report in label_reports(outcome.dev).values():
        answer = _single_answer(report)
        if answer is None:
            continue
        longer = _train_longer(outcome)
        match report.comparison.kind:
            case Kind.SPANS if answer == OUTSIDE:
                said = "the model predicts O for every token of dev, so that it finds no span"
                remedy = f"{longer} or with more examples"
            case Kind.SPANS | Kind.TOKENS:
                said = f"the model predicts the tag {quoted(answer)} for every token of dev"
                remedy = f"{longer} or with more examples"
            case _ if not answer:
                said = "the model predicts no class for any text of dev"
                remedy = f"{longer}, or lower head.threshold"
            case _:
                said = f"the model predicts the class {quoted(answer)} for every text of dev"
                remedy = f"{longer} or with head.class_weights=balanced"
        yield f"{said}: it is of no use as it is", remedy


def _nothing_right(outcome: Outcome) -> Iterator[Statement]:
    for report in label_reports(outcome.dev).values():
        scored = report.micro.support >= _FEW and _single_answer(report) is None
        if scored and report.micro.f1 < _NOTHING:
            yield (
                (
                    "hardly any prediction of the model for dev is right (F1 "
                    f"{100 * report.micro.f1:.2f}): it is of no use as it is"
                ),
                f"{_train_longer(outcome)} or with more examples",
            )


def _small_dev(outcome: Outcome) -> Iterator[Statement]:
    if outcome.metric == LOSS:
        return
    # What stands beside the network counts for the model, and not for the score of an epoch.
    found_none = not outcome.dev.headline and not any(epoch.score for epoch in outcome.epochs)
    if not found_none and len(outcome.epochs) == 1:  # there is none to choose from
        return
    # With more `_nothing_right` says so, with none a check of the corpus.
    parts = [part for part in label_reports(outcome.dev).values() if part.micro.support]
    if any(part.micro.support >= _FEW for part in parts):  # which chooses the epoch as well
        return
    for part in parts:
        said = ": which epoch is the best is mostly chance"
        if found_none:
            said = ", and no epoch has got one right: the last one is kept"
        yield (
            f"dev has only {plural(part.micro.support, _COUNTED[part.comparison.kind])}{said}",
            (
                "Name a larger dev corpus with data.dev_file, or hold out more of train with "
                "data.dev_fraction"
            ),
        )


def _hardly_found(outcome: Outcome) -> Iterator[Statement]:
    if isinstance(outcome.dev, ColumnsReport):  # labels of several columns cannot be weighted
        return
    for report in label_reports(outcome.dev).values():
        if _single_answer(report) is not None:  # `_one_answer` says so
            continue
        if report.micro.f1 < _FAIR:
            continue
        limit = _HARDLY_FOUND if report.micro.f1 > _GOOD else 0.0
        found = [
            f"{shown_name(label)} (F1 {100 * score.f1:.2f}, {score.support:,})"
            for label, score in sorted(report.types.items(), key=lambda item: item[1].f1)
            # What train lacks cannot be found; `corpus_checks` says so.
            if score.support >= _FEW and label not in report.unknown
            and (score.f1 < limit or not score.f1)
        ]  # fmt: skip
        if not found:
            continue
        is_class = report.comparison.kind in (Kind.CLASS, Kind.CLASSES)
        weights = "head.class_weights=balanced" if is_class else "head.label_weights"
        # What is rare is learnt last: a run that time has cut may not have come to it.
        more = "Label more examples"
        if outcome.ended == "time":
            more = f"Train longer ({_LIMITS['time']}), label more examples"
        measure = "accuracy" if report.comparison.kind in (Kind.CLASS, Kind.TOKENS) else "F1"
        yield (
            (
                "the model hardly finds "
                f"{plural(len(found), 'class' if is_class else 'label')} of dev, beside "
                f"{'an' if measure == 'accuracy' else 'a micro'} {measure} of "
                f"{100 * report.micro.f1:.2f}: {listed(found, _MOST_SHOWN)}"
            ),
            (
                f"{more}, weight the rare ones more ({weights}), and choose the best "
                "epoch by a metric that counts each label alike (train.metric)"
            ),
        )


def _overfitting(outcome: Outcome) -> Iterator[Statement]:
    epochs = [epoch for epoch in outcome.epochs if epoch.whole]
    if not epochs:
        return
    last = epochs[-1]
    # Of equal ones the first.
    best = max(epochs, key=lambda epoch: rank(outcome.metric, epoch.score))
    # A loss does not say how much is left to gain.
    reached = outcome.dev.headline if outcome.metric == LOSS else best.score
    since = len(epochs) - 1 - epochs.index(best)
    # The model may still get better on dev, though its score does not show it.
    losses = best.dev_loss, last.dev_loss
    fell = losses[0] is not None and losses[1] is not None and losses[1] < losses[0]
    if (
        since >= max(_LEAST_EPOCHS, _LAST_SHARE * len(epochs))
        and last.loss <= _LOSS_FALLS * best.loss
        and not fell
        # At 0 throughout nothing has been learnt that could be forgotten.
        and 0 < reached < _NOTHING_TO_GAIN
    ):
        before, after = (score_text(outcome.metric, epoch.score) for epoch in (best, last))
        what = "loss on dev did not fall" if outcome.metric == LOSS else "score on dev did not rise"
        yield (
            (
                f"the model overfits: from epoch {best.number} to {last.number} the loss on train "
                f"fell from {best.loss:z.4f} to {last.loss:z.4f}, and the {what} ({before}, then "
                f"{after})"
            ),
            _against_overfitting(outcome.config),
        )


def _against_overfitting(config: Config) -> str:
    """What a run with this configuration may do that it does not do yet."""
    encoder = config.encoder
    labels = options_of(EmbeddingsConfig)["vectors"].serves(config.task)  # those of texts or words
    # The one that it has: both together are rarely meant.
    locked = fixed(encoder.locked_dropout) > encoder.dropout
    dropout = "encoder.locked_dropout" if locked else "encoder.dropout"
    more = "Label more examples" if labels else "Train on more text"
    raised = f"{dropout} or train.weight_decay"
    begins_pretrained = config.embeddings.vectors or config.train.init_from
    if not labels or config.data.unit != "word" or begins_pretrained:
        return f"{more}, or raise {raised}"
    return f"{more}, raise {raised}, or use pretrained vectors (embeddings.vectors)"


@dataclass(frozen=True, slots=True)
class _EpochRange:
    """Epochs that follow each other."""

    first: int
    last: int
    loss: float  # the mean of them

    def __str__(self) -> str:
        """'epoch 3', or 'epochs 1 to 10'."""
        if self.first == self.last:
            return f"epoch {self.first}"
        return f"epochs {self.first} to {self.last}"


def _epoch_ranges(outcome: Outcome) -> list[_EpochRange]:
    """The epochs in ranges of about `_EXAMPLES` and more; the last one has what is left over.

    The loss of a few examples is noise, and of hundreds of such epochs one is always high.
    """
    epochs = [epoch for epoch in outcome.epochs if epoch.whole]
    size = max(1, round(_EXAMPLES / max(1, outcome.examples)))
    count = len(epochs) // size
    ends = [*range(size, size * count, size), len(epochs)] if count else []
    parts = (epochs[start:end] for start, end in zip([0, *ends], ends, strict=False))
    return [
        _EpochRange(part[0].number, part[-1].number, sum(epoch.loss for epoch in part) / len(part))
        for part in parts
    ]


def _rise(found: Sequence[_EpochRange]) -> str:
    """How the loss rises above the first or the lowest one; "" if it does not."""
    if len(found) < 2:
        return ""
    first, last = found[0], found[-1]
    low = min(found, key=lambda each: each.loss)
    high = max(found[1:], key=lambda each: each.loss)
    if high.loss > _ABOVE_FIRST * first.loss:
        of_first = "the first" if first.first == first.last else str(first)
        return (
            f"the loss of {high} ({high.loss:z.4f}) is above that of {of_first} ({first.loss:z.4f})"
        )
    if last.loss > max(_ABOVE_LOWEST * low.loss, _NOT_LOW * first.loss):
        return f"the loss rose from {low.loss:z.4f} in {low} to {last.loss:z.4f} in {last}"
    return ""


def _far_above_guess(found: Sequence[_EpochRange], guess: float) -> str:
    """How the last or the first loss is above that of guessing; "" if neither is.

    Where it rises within the first epoch, all that follow are lower: a model may recover in part.
    """
    for each in (*found[-1:], *found[:1]):
        if 0 < _ABOVE_GUESS * guess < each.loss:
            return (
                f"the loss of {each} ({each.loss:.4f}) is far above {guess:.4f}, that of a model "
                "that finds all answers equally likely"
            )
    return ""


def _learning_rate(outcome: Outcome) -> Iterator[Statement]:
    lr = "train.lr"
    remedy = f"Lower {lr} to a third, or raise train.warmup_steps"
    steps = outcome.epochs[-1].step if outcome.epochs else 0
    found = _epoch_ranges(outcome)
    if outcome.rollbacks or outcome.skipped > _NONFINITE * max(1, steps):
        of_all = plural(steps, "step")
        said = f"loss or gradients were not finite in {outcome.skipped:,} of {of_all}"
    elif not (said := _rise(found)):
        said = _far_above_guess(found, outcome.guess)
        remedy = f"Lower {lr} to a tenth, or leave it at its default"
    if said:
        yield f"the learning rate is too high: {said}", remedy


def loss_of_guessing(prepared: Prepared) -> float:
    """Mean loss of a target to which a model gives each answer the same probability, in nats.

    0 where nothing is compared with it: of a language model, a read-out that is solved, a loss with
    weights, of which a rare label may have many, and one with that of a language model beside it.
    """
    config, vocabulary, train = prepared.config, prepared.vocabulary, prepared.corpus.train
    head = config.head
    is_weighted = train.weights or head.label_weights or head.class_weights != "none"
    is_sum = config.train.lm_loss > 0
    learns_units = not prepared.task.annotates
    if is_closed_form(config) or is_weighted or is_sum or learns_units:
        return 0.0
    of_tags = _of_one(vocabulary.tags)
    for column in vocabulary.columns:
        weight = head.column_weights.get(column.name, 1.0)
        of_tags += weight * sum(map(_of_one, column.parts.values()))
    if head.several_classes:
        of_classes = len(vocabulary.classes) * math.log(2)
    else:
        of_classes = _of_one(vocabulary.classes)
    if of_tags and of_classes:  # each token is a target, and the classes of a text come once
        return of_tags + of_classes * len(train.sentences) / train.tokens
    return of_tags or of_classes


def _of_one(labels: Sequence[str]) -> float:
    """Loss of one answer among these labels; 0 without any."""
    return math.log(max(1, len(labels)))


# The learning rate comes first: it may be the cause of the others.
RUN_CHECKS = (
    Check("learning-rate", _learning_rate),
    Check("one-answer", _one_answer, useless=True),
    Check("nothing-right", _nothing_right, useless=True),
    Check("small-dev", _small_dev),
    Check("hardly-found", _hardly_found),
    Check("overfitting", _overfitting),
)
