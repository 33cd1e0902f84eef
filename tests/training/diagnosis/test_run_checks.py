"""What is wrong with a run is said in one sentence; runs that went well are not remarked on."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch

from tagkit.config import Config, load_config
from tagkit.config.encoder_section import EncoderConfig
from tagkit.evaluation.reports.class_report import JointReport, make_class_report
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.tag_report import make_tag_report
from tagkit.training.diagnosis.run_checks import RUN_CHECKS, Outcome, diagnose_run, loss_of_guessing
from tagkit.training.events.callbacks import Epoch, Finding
from tagkit.training.loop.dev_loss import DevLoss
from tagkit.training.loop.run import Ending
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

FIRST_STEPS = Path(__file__).parents[3] / "docs" / "first-steps.md"
SPANS = [["B-PER", "O"], ["B-LOC", "O"]] * 6
WELL = make_tag_report(SPANS, SPANS, "iob2")
RESOLVED = Config(encoder=EncoderConfig(locked_dropout=0.4))


def history(losses: Sequence[float], scores: Sequence[float]) -> tuple[Epoch, ...]:
    return tuple(
        Epoch(number, 10 * number, loss, score, {}, 0.003, 1.0, 1.0, False, True)
        for number, (loss, score) in enumerate(zip(losses, scores, strict=True), 1)
    )


FALLING = history([2.0, 1.0, 0.5], [0.3, 0.5, 0.6])
OVERFITS = history(
    [1.0, 0.6, 0.4, 0.3, 0.25, 0.2, 0.18, 0.16, 0.12],
    [0.3, 0.5, 0.6, 0.59, 0.58, 0.6, 0.57, 0.57, 0.56],
)


def diagnosed(
    epochs: tuple[Epoch, ...] = FALLING,
    dev: Report = WELL,
    skipped: int = 0,
    rollbacks: int = 0,
    metric: str = "auto",
    examples: int = 60,
    guess: float = 0.0,
    config: Config = RESOLVED,
    ended: Ending = "epochs",
) -> tuple[Finding, ...]:
    counts = skipped, rollbacks, examples
    return diagnose_run(Outcome(epochs, metric, dev, *counts, guess, config, ended))


def texts(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(finding.name, finding.text) for finding in findings]


def test_a_run_that_went_well_has_no_finding() -> None:
    assert diagnosed() == ()


def test_the_runs_that_the_first_steps_show_have_no_finding() -> None:
    tables = FIRST_STEPS.read_text("utf-8").split("\nepoch      loss")[1:]
    rows = [
        re.findall(r"^ +\d+ +(\d\.\d{4}) +(?:\d\.\d{4} +)?(\d+\.\d\d) ", table, re.M)
        for table in tables
    ]
    assert [len(row) for row in rows][:2] == [12, 12]
    for row in rows:
        losses, scores = zip(*row, strict=True)
        epochs = history([float(loss) for loss in losses], [float(score) / 100 for score in scores])
        assert diagnosed(epochs) == ()


def of_tags(predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]] = SPANS) -> Report:
    return make_tag_report(gold, predicted, "iob2")


def of_classes(gold: str, predicted: str) -> Report:
    """Of texts whose classes are the letters; "-" for none, in both of several classes."""
    several = "-" in gold + predicted
    rows = ([[letter] if letter != "-" else [] for letter in row] for row in (gold, predicted))
    return make_class_report(*rows, several=several)


def test_a_model_that_predicts_o_alone_is_called_useless() -> None:
    (finding,) = diagnosed(dev=of_tags([["O", "O"]] * 12))
    assert finding.useless
    assert texts([finding]) == [
        (
            "one-answer",
            "the model predicts O for every token of dev, so that it finds no span: it is of no "
            "use as it is. Train longer (train.max_epochs), with smaller batches "
            "(train.batch_size) or with more examples.",
        )
    ]


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (make_tag_report([["NN", "DT"]] * 6, [["NN", "NN"]] * 6, "labels"),
         "the model predicts the tag 'NN' for every token of dev: it is of no use as it is"),
        (of_tags([["B-PER", "B-PER"]] * 12),
         "the model predicts the tag 'B-PER' for every token of dev: it is of no use as it is"),
        (of_classes("aaab" * 3, "a" * 12),
         "the model predicts the class 'a' for every text of dev: it is of no use as it is"),
        (of_classes("aa-b" * 3, "-" * 12),
         "the model predicts no class for any text of dev: it is of no use as it is"),
    ],
)  # fmt: skip
def test_a_model_with_one_answer_is_called_useless(report: Report, sentence: str) -> None:
    (finding,) = diagnosed(dev=report)
    assert (finding.name, finding.sentence, finding.useless) == ("one-answer", sentence, True)


@pytest.mark.parametrize(
    "report",
    [
        of_tags([["O", "O"]] * 11 + [["B-PER", "O"]]),
        of_tags([["O", "O"]] * 12, [["O", "O"]] * 12),  # as gold is
        of_classes("a" * 12, "a" * 12),
        of_classes("aaab", "aaaa"),  # too few to say
    ],
)
def test_other_models_have_several_answers(report: Report) -> None:
    assert "one-answer" not in [finding.name for finding in diagnosed(dev=report)]


def test_a_model_whose_spans_are_all_wrong_is_called_useless() -> None:
    wrong = [["O", "B-PER"], ["O", "O"]] * 6
    (finding,) = diagnosed(dev=of_tags(wrong))
    assert finding.useless
    assert texts([finding]) == [
        (
            "nothing-right",
            "hardly any prediction of the model for dev is right (F1 0.00): it is of no use as it "
            "is. Train longer (train.max_epochs), with smaller batches (train.batch_size) or with "
            "more examples.",
        )
    ]
    assert diagnosed(dev=of_tags([*wrong[:-2], *SPANS[-2:]])) == ()
    assert [finding.name for finding in diagnosed(dev=of_tags(wrong[:4], SPANS[:4]))] == [
        "small-dev"
    ]  # too few to say


LARGER = ("Name a larger dev corpus with data.dev_file, or hold out more of train with "
          "data.dev_fraction.")  # fmt: skip


def test_a_small_dev_of_which_no_epoch_finds_anything_chooses_by_chance() -> None:
    wrong = of_tags([["O", "B-PER"], ["O", "O"]] * 2, SPANS[:4])
    never = history([2.0, 1.0, 0.5], [0.0, 0.0, 0.0])
    (finding,) = diagnosed(never, dev=wrong)
    assert finding.text == (
        f"dev has only 4 spans, and no epoch has got one right: the last one is kept. {LARGER}"
    )
    assert diagnosed(never, dev=wrong, metric="loss") == ()
    assert diagnosed(never) == ()  # of dev that has enough
    nothing = of_tags([["O", "B-PER"], ["O", "O"]], [["O", "O"]] * 2)
    assert "small-dev" not in [finding.name for finding in diagnosed(never, dev=nothing)]


@pytest.mark.parametrize(
    ("dev", "found"),
    [(of_tags(SPANS[:4], SPANS[:4]), "4 spans"), (of_classes("a", "a"), "1 text"),
     (of_classes("ab-", "a--"), "2 classes"),
     (make_tag_report([["X", "Y"]], [["X", "X"]], "labels"), "2 tokens")],
)  # fmt: skip
def test_a_small_dev_chooses_mostly_by_chance_whatever_is_found(dev: Report, found: str) -> None:
    (finding,) = diagnosed(dev=dev)
    assert (
        finding.text == f"dev has only {found}: which epoch is the best is mostly chance. {LARGER}"
    )
    # What stands beside the network may find what no epoch of the network alone has found.
    (finding,) = diagnosed(history([2.0, 1.0, 0.5], [0.0, 0.0, 0.0]), dev=dev)
    assert "mostly chance" in finding.text
    assert diagnosed(history([2.0], [0.5]), dev=dev) == ()  # no other epoch to choose
    assert diagnosed(dev=of_classes("abcab", "abcab")) == ()


def test_a_part_of_dev_that_is_large_enough_chooses_the_epoch() -> None:
    few, classes = of_tags(SPANS[:4], SPANS[:4]), of_classes("ab" * 3, "ab" * 3)
    assert diagnosed(dev=JointReport(few, classes, 1.0)) == ()
    both = diagnosed(dev=JointReport(few, of_classes("ab", "ab"), 1.0))
    assert [finding.sentence.split(":")[0] for finding in both] == [
        "dev has only 4 spans", "dev has only 2 texts"
    ]  # fmt: skip


def test_of_tags_and_classes_each_is_diagnosed() -> None:
    report = JointReport(of_tags([["O", "O"]] * 12), of_classes("ab" * 6, "a" * 12), 0.0)
    assert [finding.name for finding in diagnosed(dev=report)] == ["one-answer", "one-answer"]


def test_a_report_of_another_task_is_not_looked_at() -> None:
    class Perplexity:
        headline, measure = 0.1, "perplexity"

        def parts(self) -> dict[str, float]:
            return {}

        def to_dict(self) -> dict[str, object]:
            return {}

    assert diagnosed(dev=Perplexity()) == ()


def test_a_rare_class_that_accuracy_hides_is_named() -> None:
    # Accuracy 0.95; of the rare class none of five is found.
    (finding,) = diagnosed(dev=of_classes("a" * 94 + "c" + "b" * 5, "a" * 94 + "c" + "a" * 5))
    assert texts([finding]) == [
        (
            "hardly-found",
            "the model hardly finds 1 class of dev, beside an accuracy of 95.00: b (F1 0.00, 5). "
            "Label more examples, weight the rare ones more (head.class_weights=balanced), and "
            "choose the best epoch by a metric that counts each label alike (train.metric).",
        )
    ]
    assert not finding.useless


def test_a_class_that_is_seldom_found_is_named_beside_a_good_accuracy_alone() -> None:
    # F1 of b is 2 * 1 / (1 + 20) = 0.095, beside an accuracy of 0.905 and of 0.22.
    good = of_classes("a" * 180 + "b" * 20, "a" * 180 + "b" + "a" * 19)
    (finding,) = diagnosed(dev=good)
    assert finding.sentence == (
        "the model hardly finds 1 class of dev, beside an accuracy of 90.50: b (F1 9.52, 20)"
    )
    poor = of_classes("a" * 30 + "b" * 20, "a" * 10 + "b" * 20 + "b" + "a" * 19)
    assert poor.headline == 0.22
    assert diagnosed(dev=poor) == ()
    fair = of_classes("a" * 30 + "b" * 20, "a" * 30 + "b" + "a" * 19)
    assert fair.headline == 0.62
    assert diagnosed(dev=fair) == ()


def test_spans_that_are_never_found_are_named_where_dev_has_five() -> None:
    predicted = [["B-PER", "O"], ["O", "O"]] * 6
    (finding,) = diagnosed(dev=of_tags(predicted))
    assert finding.sentence == (
        "the model hardly finds 1 label of dev, beside a micro F1 of 66.67: LOC (F1 0.00, 6)"
    )
    assert "weight the rare ones more (head.label_weights)" in finding.remedy
    assert diagnosed(dev=of_tags(predicted[:9], SPANS[:9])) == ()  # four of LOC
    # With an F1 of 40 rare labels are not the problem.
    weak = [["B-PER", "O"], ["O", "O"]] * 3 + [["O", "O"]] * 6
    assert round(of_tags(weak).headline, 2) == 0.4
    assert diagnosed(dev=of_tags(weak)) == ()


def test_labels_that_train_lacks_are_not_named_again() -> None:
    report = make_tag_report(SPANS, [["B-PER", "O"], ["O", "O"]] * 6, "iob2", known={"PER"})
    assert diagnosed(dev=report) == ()


def test_a_loss_that_falls_while_dev_does_not_rise_is_overfitting() -> None:
    assert texts(diagnosed(OVERFITS)) == [
        (
            "overfitting",
            "the model overfits: from epoch 3 to 9 the loss on train fell from 0.4000 to 0.1200, "
            "and the score on dev did not rise (60.00, then 56.00). Label more examples, raise "
            "encoder.locked_dropout or train.weight_decay, or use pretrained vectors "
            "(embeddings.vectors).",
        )
    ]


@pytest.mark.parametrize(
    ("changed", "remedy"),
    [
        (
            ["embeddings.vectors=glove.txt"],
            "Label more examples, or raise encoder.locked_dropout or train.weight_decay",
        ),
        (
            ["train.init_from=model"],
            "Label more examples, or raise encoder.locked_dropout or train.weight_decay",
        ),
        (
            ["encoder.dropout=0.5"],
            "Label more examples, raise encoder.dropout or train.weight_decay, or use pretrained "
            "vectors (embeddings.vectors)",
        ),
        (
            ["task=language-model"],
            "Train on more text, or raise encoder.locked_dropout or train.weight_decay",
        ),
        (
            ["task=classify", "data.unit=bpe"],
            "Label more examples, or raise encoder.locked_dropout or train.weight_decay",
        ),
    ],
)
def test_against_overfitting_nothing_is_advised_that_the_run_does_or_cannot_do(
    changed: list[str], remedy: str
) -> None:
    config = load_config(None, ["encoder.locked_dropout=0.4", *changed])
    (finding,) = diagnosed(OVERFITS, config=config)
    assert str(finding.remedy) == remedy


@pytest.mark.parametrize(
    ("losses", "scores"),
    [
        # Dev rises to the end, as it does where the learning rate falls.
        ([1.0, 0.5, 0.2, 0.1, 0.05, 0.02], [0.3, 0.5, 0.6, 0.61, 0.615, 0.62]),
        # Best early, but the loss hardly falls since then: the run has converged.
        ([1.0, 0.5, 0.2, 0.18, 0.17, 0.16, 0.15], [0.3, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6]),
        # Nothing is left to gain.
        ([1.0, 0.5, 0.2, 0.1, 0.05, 0.04, 0.03], [0.3, 0.5, 0.96, 0.96, 0.96, 0.96, 0.96]),
        # Best in the last third.
        ([1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02], [0.3, 0.5, 0.5, 0.5, 0.6, 0.6, 0.6]),
        # Best three epochs before the last, of twelve.
        ([1.0] * 8 + [0.5, 0.4, 0.3, 0.2], [0.3] * 8 + [0.6, 0.59, 0.58, 0.57]),
        # Too few epochs since the best one.
        ([1.0, 0.3, 0.1], [0.5, 0.4, 0.4]),
        # Nothing has been learnt: that is another finding.
        ([2.3, 2.0, 1.5, 1.0, 0.9, 0.7], [0.0] * 6),
    ],
)
def test_other_histories_are_not_called_overfitting(
    losses: list[float], scores: list[float]
) -> None:
    assert diagnosed(history(losses, scores)) == ()


LOSSES, FLAT = [1.0, 0.8, 0.4, 0.3, 0.2], [0.5, 0.6, 0.5, 0.5, 0.5]
DEV_FALLS, DEV_RISES = [0.9, 0.8, 0.7, 0.6, 0.5], [0.9, 0.5, 0.7, 0.8, 1.5]


@pytest.mark.parametrize(("dev", "found"), [(DEV_RISES, ["overfitting"]), (DEV_FALLS, [])])
def test_a_model_whose_loss_on_dev_still_falls_does_not_overfit(
    dev: list[float], found: list[str]
) -> None:
    pairs = zip(history(LOSSES, FLAT), dev, strict=True)
    epochs = tuple(replace(epoch, dev_loss=loss) for epoch, loss in pairs)
    assert [finding.name for finding in diagnosed(epochs)] == found


HALF = of_tags([*SPANS[:6], *[["O", "O"]] * 6])  # of both labels
FALLS = [1.0, 0.6, 0.4, 0.3, 0.25, 0.2, 0.18, 0.16, 0.12]


def test_of_a_run_chosen_by_its_loss_one_that_rises_again_is_overfitting() -> None:
    epochs = history(FALLS, [0.9, 0.6, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.3])
    ((name, text),) = texts(diagnosed(epochs, HALF, metric="loss"))
    assert name == "overfitting"
    assert text.startswith(
        "the model overfits: from epoch 3 to 9 the loss on train fell from 0.4000 to 0.1200, and "
        "the loss on dev did not fall (0.5000, then 1.3000). "
    )
    assert diagnosed(epochs, WELL, metric="loss") == ()  # nothing is left to gain


def test_a_loss_on_dev_that_falls_to_the_end_is_not_called_overfitting() -> None:
    # The first one is the largest number, and the worst.
    epochs = history(FALLS, [0.9, 0.6, 0.5, 0.45, 0.4, 0.38, 0.36, 0.34, 0.33])
    assert diagnosed(epochs, HALF, metric="loss") == ()


REMEDY = ". Lower train.lr to a third, or raise train.warmup_steps."


@pytest.mark.parametrize(
    ("losses", "sentence"),
    [
        ([1.0, 1.3, 0.9], "the loss of epoch 2 (1.3000) is above that of the first (1.0000)"),
        ([2.0, 0.5, 0.6, 1.1], "the loss rose from 0.5000 in epoch 2 to 1.1000 in epoch 4"),
    ],
)
def test_a_loss_that_rises_is_a_learning_rate_too_high(losses: list[float], sentence: str) -> None:
    epochs = history(losses, [0.1 * number for number in range(len(losses))])
    assert texts(diagnosed(epochs)) == [
        ("learning-rate", f"the learning rate is too high: {sentence}{REMEDY}")
    ]


@pytest.mark.parametrize(
    "losses",
    [
        [1.0, 1.2, 0.9],  # a first epoch of few steps
        [1.0, 0.01, 0.02, 0.03],  # low all the same: noise
        [2.0, 0.6, 0.9, 1.1],  # less than twice the lowest
        [0.0, 0.0],
        [1.0],
    ],
)
def test_other_losses_are_not_called_too_high(losses: list[float]) -> None:
    assert diagnosed(history(losses, [0.1 * number for number in range(len(losses))])) == ()


def test_a_loss_far_above_that_of_guessing_is_a_learning_rate_too_high() -> None:
    steep = history([45.0, 28.0, 19.0, 11.0], [0.0, 0.01, 0.02, 0.03])
    assert texts(diagnosed(steep, guess=2.8332)) == [
        (
            "learning-rate",
            "the learning rate is too high: the loss of epoch 4 (11.0000) is far above 2.8332, "
            "that of a model that finds all answers equally likely. Lower train.lr to a tenth, or "
            "leave it at its default.",
        )
    ]
    assert diagnosed(steep) == ()  # a loss with which none can be compared
    assert diagnosed(steep, guess=22.5) == ()  # exactly twice as much
    assert diagnosed(steep, guess=2.8332, examples=5) == ()  # of too few examples


def test_so_is_one_in_the_first_epoch_though_it_has_come_down_since() -> None:
    # Where the loss rises within the first epoch, all later ones are below it.
    recovered = history([9.48, 4.1, 1.32], [0.01, 0.02, 0.05])
    (finding,) = diagnosed(recovered, guess=2.8332)
    assert finding.sentence == (
        "the learning rate is too high: the loss of epoch 1 (9.4800) is far above 2.8332, that of "
        "a model that finds all answers equally likely"
    )
    assert diagnosed(recovered, guess=4.75) == ()


@pytest.mark.parametrize(
    ("ended", "limit"),
    [("epochs", "max_epochs"), ("patience", "patience"), ("time", "max_minutes")],
)
def test_to_train_longer_what_ended_the_run_is_raised(ended: Ending, limit: str) -> None:
    nothing = of_tags([["O", "O"]] * 12)
    (finding,) = diagnosed(dev=nothing, ended=ended)
    assert finding.name == "one-answer"
    assert str(finding.remedy).startswith(f"Train longer (train.{limit}), with smaller batches (")


def test_what_is_rare_may_want_more_time_where_a_limit_ended_the_run() -> None:
    predicted = of_tags([["B-PER", "O"], ["O", "O"]] * 6)
    (finding,) = diagnosed(dev=predicted, ended="time")
    assert str(finding.remedy).startswith(
        "Train longer (train.max_minutes), label more examples, weight the rare ones more ("
    )
    (finding,) = diagnosed(dev=predicted, ended="patience")
    assert str(finding.remedy).startswith("Label more examples, weight the rare ones more (")


@pytest.mark.parametrize(("examples", "size"), [(5, 10), (12, 4), (30, 2), (34, 1), (50, 1)])
def test_epochs_of_few_examples_are_compared_several_at_a_time(examples: int, size: int) -> None:
    def found(*parts: Sequence[float]) -> list[str]:
        losses = [loss for part in parts for loss in part]
        epochs = history(losses, [0.001 * number for number in range(len(losses))])
        return [each.sentence for each in diagnosed(epochs, examples=examples)]

    def named(number: int, more: int = 0) -> str:
        first, last = size * (number - 1) + 1, size * number + more
        return f"epochs {first} to {last}" if last > first else f"epoch {last}"

    noise = [1.0] * (size - 1) + [1.0 if size == 1 else 3.0]  # of batches of a few examples
    mean = sum(noise) / size
    assert found(noise, noise[::-1]) == []
    first = named(1) if size > 1 else "the first"
    high = [1.3 * mean] * (2 * size - 1)  # the last stretch has what is left over
    assert found(noise, noise, high) == [
        f"the learning rate is too high: the loss of {named(3, size - 1)} ({1.3 * mean:.4f}) is "
        f"above that of {first} ({mean:.4f})"
    ]
    assert found(noise, [0.2 * mean] * size, [0.6 * mean] * size) == [
        f"the learning rate is too high: the loss rose from {0.2 * mean:.4f} in {named(2)} to "
        f"{0.6 * mean:.4f} in {named(3)}"
    ]
    assert found(noise, high[:-1][: size - 1]) == []  # too few to be compared


def test_an_epoch_that_was_not_completed_says_nothing_of_the_loss() -> None:
    *_, last = history([2.0, 1.0, 0.5, 3.0], [0.3, 0.5, 0.6, 0.6])
    assert diagnosed((*FALLING, last)) != ()
    assert diagnosed((*FALLING, replace(last, whole=False))) == ()
    *before, last = history([1.0, 0.5, 0.4, 0.4, 0.4, 0.4, 0.1], [0.3, 0.5, 0.6, *[0.5] * 4])
    assert [finding.name for finding in diagnosed((*before, last))] == ["overfitting"]
    assert diagnosed((*before, replace(last, whole=False))) == ()


def test_steps_that_are_not_finite_are_a_learning_rate_too_high() -> None:
    said = "the learning rate is too high: loss or gradients were not finite in 2 of 30 steps"
    assert texts(diagnosed(skipped=2)) == [("learning-rate", said + REMEDY)]
    assert diagnosed(skipped=1) == ()  # one in thirty: a batch that is odd
    (finding,) = diagnosed(skipped=1, rollbacks=1)
    assert finding.name == "learning-rate"


def test_each_check_has_a_name_of_its_own() -> None:
    assert len({check.name for check in RUN_CHECKS}) == len(RUN_CHECKS)


COLUMNS = 'data.tag_column=["LEMMA", "UPOS", "FEATS", "MISC.NER"]'
TASKS = {
    "spans": (tiny.corpus, [], "tag"),
    "softmax": (tiny.corpus, ["head.kind=softmax"], "tag"),
    "one class": (tiny.classified, ["head.label_smoothing=0.1"], "classify"),
    "several classes": (tiny.classified, ["head.multi_label=yes"], "classify"),
    "both": (tiny.joint, ["head.class_loss=3"], "both"),
    "columns": (tiny.treebank, [COLUMNS, "head.column_weights={FEATS = 0.5}"], "tag"),
}


def prepared_by(folder: Path, name: str, *overrides: str) -> Prepared:
    files, options, task = TASKS[name]
    named = files(folder)
    named["data.dev_file"] = named["data.train_file"]  # of whose classes and tokens it depends
    config = tiny.small(folder, *options, *overrides, task=task, **named)
    return prepare(config, torch.device("cpu"))


@pytest.mark.parametrize("name", TASKS)
def test_it_is_the_loss_of_a_model_that_finds_all_answers_equally_likely(
    tmp_path: Path, name: str
) -> None:
    prepared = prepared_by(tmp_path, name)
    parameters = dict(prepared.model.named_parameters())
    with torch.no_grad():
        for head in prepared.model.layer_groups()["head"]:
            parameters[head].zero_()
    guess = loss_of_guessing(prepared)
    assert DevLoss(prepared).compute() == pytest.approx(guess, rel=1e-4)
    assert guess > 1


@pytest.mark.parametrize("name", TASKS)
def test_the_loss_of_fresh_weights_is_not_far_above_it(tmp_path: Path, name: str) -> None:
    prepared = prepared_by(tmp_path, name)
    loss = DevLoss(prepared).compute()
    assert loss is not None
    assert loss < 1.3 * loss_of_guessing(prepared)


def test_of_one_tag_for_each_token_it_is_the_logarithm_of_their_number(tmp_path: Path) -> None:
    prepared = prepared_by(tmp_path, "spans")
    assert loss_of_guessing(prepared) == math.log(len(prepared.vocabulary.tags))


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("spans", "head.label_weights={PER = 9.0}"),
        ("one class", "head.class_weights=balanced"),
        ("spans", "train.lm_loss=0.1"),
    ],
)
def test_nothing_is_compared_with_a_loss_with_weights_or_that_of_a_language_model(
    tmp_path: Path, name: str, option: str
) -> None:
    assert loss_of_guessing(prepared_by(tmp_path, name, option)) == 0


@pytest.mark.slow
def test_a_run_with_a_learning_rate_of_five_is_told_so(tmp_path: Path) -> None:
    # Of one epoch: in later ones a run may recover, by chance and by the machine's rounding.
    options = ["train.lr=5", "train.schedule=linear", "train.max_epochs=1"]
    found = {each.name: each.sentence for each in train(tiny.config(tmp_path, *options)).findings}
    assert "is far above 1.9459, that of a model" in found["learning-rate"]
