"""What is wrong with a run is said in one sentence; runs that went well are not remarked on."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

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


def texts(findings: Sequence[Finding]) -> list[str]:
    return [f"{finding.name}: {finding.text}" for finding in findings]


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


class Perplexity:
    """A report of another task."""

    headline, measure = 0.1, "perplexity"

    def parts(self) -> dict[str, float]:
        return {}

    def to_dict(self) -> dict[str, object]:
        return {}


def rising(*losses: float) -> tuple[Epoch, ...]:
    """Epochs with these losses, whose scores rise."""
    return history(losses, [0.1 * number for number in range(len(losses))])


def with_dev(dev: Sequence[float]) -> tuple[Epoch, ...]:
    """Epochs whose score does not rise, with these losses on dev."""
    epochs = history([1.0, 0.8, 0.4, 0.3, 0.2], [0.5, 0.6, 0.5, 0.5, 0.5])
    return tuple(replace(each, dev_loss=loss) for each, loss in zip(epochs, dev, strict=True))


OUTSIDE = of_tags([["O", "O"]] * 12)
WRONG = [["O", "B-PER"], ["O", "O"]] * 6
ONLY_PER = [["B-PER", "O"], ["O", "O"]] * 6
HALF = of_tags([*SPANS[:6], *[["O", "O"]] * 6])  # of both labels
FEW, FEW_WRONG = of_tags(SPANS[:4], SPANS[:4]), of_tags(WRONG[:4], SPANS[:4])
NEVER = history([2.0, 1.0, 0.5], [0.0, 0.0, 0.0])
FALLS = [1.0, 0.6, 0.4, 0.3, 0.25, 0.2, 0.18, 0.16, 0.12]
STEEP, RECOVERED = rising(45.0, 28.0, 19.0, 11.0), rising(9.48, 4.1, 1.32)
LARGER = ("Name a larger dev corpus with data.dev_file, or hold out more of train with "
          "data.dev_fraction.")  # fmt: skip
CHANCE = ": which epoch is the best is mostly chance. "
USELESS = "it is of no use as it is. Train longer (train.max_epochs), with smaller batches ("
O_ALONE = f"the model predicts O for every token of dev, so that it finds no span: {USELESS}"
TOO_HIGH = "learning-rate: the learning rate is too high: "
REMEDY = ". Lower train.lr to a third, or raise train.warmup_steps."
GUESS = ", that of a model that finds all answers equally likely. Lower train.lr to a tenth"
OF_GUESS = f" is far above 2.8332{GUESS}"
*COMPLETED, LAST = history([2.0, 1.0, 0.5, 3.0], [0.3, 0.5, 0.6, 0.6])
*BEFORE, LOW = history([1.0, 0.5, 0.4, 0.4, 0.4, 0.4, 0.1], [0.3, 0.5, 0.6, *[0.5] * 4])

# What is known of a run, and how the texts of its findings begin.
RUNS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"dev": Perplexity()}, []),
    # One answer.
    ({"dev": OUTSIDE}, [f"one-answer: {O_ALONE}train.batch_size) or with more examples."]),
    ({"dev": OUTSIDE, "ended": "patience"},
     ["one-answer: the model predicts O for every token of dev, so that it finds no span: it is of "
      "no use as it is. Train longer (train.patience), with smaller batches ("]),
    ({"dev": OUTSIDE, "ended": "time"},
     ["one-answer: the model predicts O for every token of dev, so that it finds no span: it is of "
      "no use as it is. Train longer (train.max_minutes), with smaller batches ("]),
    ({"dev": make_tag_report([["NN", "DT"]] * 6, [["NN", "NN"]] * 6, "labels")},
     [f"one-answer: the model predicts the tag 'NN' for every token of dev: {USELESS}"]),
    ({"dev": of_tags([["B-PER", "B-PER"]] * 12)},
     [f"one-answer: the model predicts the tag 'B-PER' for every token of dev: {USELESS}"]),
    ({"dev": of_classes("aaab" * 3, "a" * 12)},
     [f"one-answer: the model predicts the class 'a' for every text of dev: {USELESS}"]),
    ({"dev": of_classes("aa-b" * 3, "-" * 12)},
     [f"one-answer: the model predicts no class for any text of dev: {USELESS}"]),
    ({"dev": of_tags([["O", "O"]] * 12, [["O", "O"]] * 12)}, []),  # as gold is
    ({"dev": of_classes("a" * 12, "a" * 12)}, []),
    ({"dev": JointReport(OUTSIDE, of_classes("ab" * 6, "a" * 12), 0.0)},
     ["one-answer: ", "one-answer: "]),
    # Nothing right.
    ({"dev": of_tags(WRONG)},
     ["nothing-right: hardly any prediction of the model for dev is right (F1 0.00): "
      f"{USELESS}train.batch_size) or with more examples."]),
    ({"dev": of_tags([*WRONG[:-2], *SPANS[-2:]])}, []),
    ({"dev": FEW_WRONG}, ["small-dev: "]),  # too few to say
    # A small dev.
    ({"epochs": NEVER, "dev": FEW_WRONG},
     ["small-dev: dev has only 4 spans, and no epoch has got one right: the last one is kept. "
      f"{LARGER}"]),
    ({"epochs": NEVER, "dev": FEW_WRONG, "metric": "loss"}, []),
    ({"epochs": NEVER}, []),  # of dev that has enough
    ({"dev": FEW}, [f"small-dev: dev has only 4 spans{CHANCE}{LARGER}"]),
    ({"dev": of_classes("a", "a")}, [f"small-dev: dev has only 1 text{CHANCE}{LARGER}"]),
    ({"dev": of_classes("ab-", "a--")}, [f"small-dev: dev has only 2 classes{CHANCE}"]),
    ({"dev": make_tag_report([["X", "Y"]], [["X", "X"]], "labels")},
     [f"small-dev: dev has only 2 tokens{CHANCE}"]),
    # What stands beside the network may find what no epoch of the network alone has found.
    ({"epochs": NEVER, "dev": FEW}, [f"small-dev: dev has only 4 spans{CHANCE}"]),
    ({"epochs": history([2.0], [0.5]), "dev": FEW}, []),  # no other epoch to choose
    ({"dev": of_classes("abcab", "abcab")}, []),
    # A part that is large enough chooses the epoch.
    ({"dev": JointReport(FEW, of_classes("ab" * 3, "ab" * 3), 1.0)}, []),
    ({"dev": JointReport(FEW, of_classes("ab", "ab"), 1.0)},
     ["small-dev: dev has only 4 spans:", "small-dev: dev has only 2 texts:"]),
    # Labels that are hardly found: of a rare class none of five, beside an accuracy of 0.95.
    ({"dev": of_classes("a" * 94 + "c" + "b" * 5, "a" * 94 + "c" + "a" * 5)},
     ["hardly-found: the model hardly finds 1 class of dev, beside an accuracy of 95.00: b (F1 "
      "0.00, 5). Label more examples, weight the rare ones more (head.class_weights=balanced), and "
      "choose the best epoch by a metric that counts each label alike (train.metric)."]),
    # F1 of b is 2 * 1 / (1 + 20) = 0.095, beside an accuracy of 0.905, of 0.22 and of 0.62.
    ({"dev": of_classes("a" * 180 + "b" * 20, "a" * 180 + "b" + "a" * 19)},
     ["hardly-found: the model hardly finds 1 class of dev, beside an accuracy of 90.50: b (F1 "
      "9.52, 20). "]),
    ({"dev": of_classes("a" * 30 + "b" * 20, "a" * 10 + "b" * 20 + "b" + "a" * 19)}, []),
    ({"dev": of_classes("a" * 30 + "b" * 20, "a" * 30 + "b" + "a" * 19)}, []),
    ({"dev": of_tags(ONLY_PER)},
     ["hardly-found: the model hardly finds 1 label of dev, beside a micro F1 of 66.67: LOC (F1 "
      "0.00, 6). Label more examples, weight the rare ones more (head.label_weights)"]),
    # What is rare is learnt last: it may want more time where a limit ended the run.
    ({"dev": of_tags(ONLY_PER), "ended": "time"},
     ["hardly-found: the model hardly finds 1 label of dev, beside a micro F1 of 66.67: LOC (F1 "
      "0.00, 6). Train longer (train.max_minutes), label more examples, weight the rare ones"]),
    ({"dev": of_tags(ONLY_PER[:9], SPANS[:9])}, []),  # four of LOC
    # With an F1 of 40 rare labels are not the problem.
    ({"dev": of_tags([["B-PER", "O"], ["O", "O"]] * 3 + [["O", "O"]] * 6)}, []),
    # What train lacks is named before.
    ({"dev": make_tag_report(SPANS, ONLY_PER, "iob2", known={"PER"})}, []),
    # Overfitting.
    ({"epochs": OVERFITS},
     ["overfitting: the model overfits: from epoch 3 to 9 the loss on train fell from 0.4000 to "
      "0.1200, and the score on dev did not rise (60.00, then 56.00). Label more examples, raise "
      "encoder.locked_dropout or train.weight_decay, or use pretrained vectors "
      "(embeddings.vectors)."]),
    # Dev rises to the end, as it does where the learning rate falls.
    ({"epochs": history([1.0, 0.5, 0.2, 0.1, 0.05, 0.02], [0.3, 0.5, 0.6, 0.61, 0.615, 0.62])}, []),
    # Best early, but the loss hardly falls since then: the run has converged.
    ({"epochs": history([1.0, 0.5, 0.2, 0.18, 0.17, 0.16, 0.15], [0.3, 0.5, *[0.6] * 5])}, []),
    # Nothing is left to gain.
    ({"epochs": history([1.0, 0.5, 0.2, 0.1, 0.05, 0.04, 0.03], [0.3, 0.5, *[0.96] * 5])}, []),
    # Best in the last third.
    ({"epochs": history([1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02],
                        [0.3, 0.5, 0.5, 0.5, 0.6, 0.6, 0.6])}, []),
    # Best three epochs before the last, of twelve.
    ({"epochs": history([1.0] * 8 + [0.5, 0.4, 0.3, 0.2],
                        [0.3] * 8 + [0.6, 0.59, 0.58, 0.57])}, []),
    # Too few epochs since the best one.
    ({"epochs": history([1.0, 0.3, 0.1], [0.5, 0.4, 0.4])}, []),
    # Nothing has been learnt: that is another finding.
    ({"epochs": history([2.3, 2.0, 1.5, 1.0, 0.9, 0.7], [0.0] * 6)}, []),
    ({"epochs": with_dev([0.9, 0.5, 0.7, 0.8, 1.5])}, ["overfitting: "]),
    ({"epochs": with_dev([0.9, 0.8, 0.7, 0.6, 0.5])}, []),  # its loss on dev still falls
    ({"epochs": history(FALLS, [0.9, 0.6, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.3]), "dev": HALF,
      "metric": "loss"},
     ["overfitting: the model overfits: from epoch 3 to 9 the loss on train fell from 0.4000 to "
      "0.1200, and the loss on dev did not fall (0.5000, then 1.3000). "]),
    ({"epochs": history(FALLS, [0.9, 0.6, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.3]), "metric": "loss"},
     []),  # nothing is left to gain
    # The first one is the largest number, and the worst.
    ({"epochs": history(FALLS, [0.9, 0.6, 0.5, 0.45, 0.4, 0.38, 0.36, 0.34, 0.33]), "dev": HALF,
      "metric": "loss"}, []),
    # The learning rate.
    ({"epochs": rising(1.0, 1.3, 0.9)},
     [f"{TOO_HIGH}the loss of epoch 2 (1.3000) is above that of the first (1.0000){REMEDY}"]),
    ({"epochs": rising(2.0, 0.5, 0.6, 1.1)},
     [f"{TOO_HIGH}the loss rose from 0.5000 in epoch 2 to 1.1000 in epoch 4{REMEDY}"]),
    ({"epochs": rising(1.0, 1.2, 0.9)}, []),  # a first epoch of few steps
    ({"epochs": rising(1.0, 0.01, 0.02, 0.03)}, []),  # low all the same: noise
    ({"epochs": rising(2.0, 0.6, 0.9, 1.1)}, []),  # less than twice the lowest
    ({"epochs": rising(0.0, 0.0)}, []),
    ({"epochs": rising(1.0)}, []),
    ({"epochs": STEEP, "guess": 2.8332}, [f"{TOO_HIGH}the loss of epoch 4 (11.0000){OF_GUESS}"]),
    ({"epochs": STEEP}, []),  # a loss with which none can be compared
    ({"epochs": STEEP, "guess": 22.5}, []),  # exactly twice as much
    ({"epochs": STEEP, "guess": 2.8332, "examples": 5}, []),  # of too few examples
    # Where the loss rises within the first epoch, all later ones are below it.
    ({"epochs": RECOVERED, "guess": 2.8332}, [f"{TOO_HIGH}the loss of epoch 1 (9.4800){OF_GUESS}"]),
    ({"epochs": RECOVERED, "guess": 4.75}, []),
    ({"skipped": 2},
     [f"{TOO_HIGH}loss or gradients were not finite in 2 of 30 steps{REMEDY}"]),
    ({"skipped": 1}, []),  # one in thirty: a batch that is odd
    ({"skipped": 1, "rollbacks": 1}, ["learning-rate: "]),
    # An epoch that was not completed says nothing of the loss.
    ({"epochs": (*COMPLETED, LAST)}, ["learning-rate: "]),
    ({"epochs": (*COMPLETED, replace(LAST, whole=False))}, []),
    ({"epochs": (*BEFORE, LOW)}, ["overfitting: "]),
    ({"epochs": (*BEFORE, replace(LOW, whole=False))}, []),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), RUNS)
def test_a_run_has_these_findings_and_no_others(given: dict[str, Any], expected: list[str]) -> None:
    findings = diagnosed(**given)
    found = texts(findings)
    assert len(found) == len(expected), found
    assert all(map(str.startswith, found, expected)), found
    for finding in findings:
        assert finding.useless == (finding.name in ("one-answer", "nothing-right"))


@pytest.mark.parametrize(
    "report",
    [of_tags([["O", "O"]] * 11 + [["B-PER", "O"]]), of_classes("aaab", "aaaa")],  # too few to say
)
def test_other_models_have_several_answers(report: Report) -> None:
    assert "one-answer" not in [finding.name for finding in diagnosed(dev=report)]


def test_a_dev_without_a_label_is_not_called_small() -> None:
    nothing = of_tags([["O", "B-PER"], ["O", "O"]], [["O", "O"]] * 2)
    assert "small-dev" not in [finding.name for finding in diagnosed(NEVER, dev=nothing)]


NO_VECTORS = "Label more examples, or raise encoder.locked_dropout or train.weight_decay"


@pytest.mark.parametrize(
    ("changed", "remedy"),
    [
        (["embeddings.vectors=glove.txt"], NO_VECTORS),
        (["train.init_from=model"], NO_VECTORS),
        (["encoder.dropout=0.5"],
         "Label more examples, raise encoder.dropout or train.weight_decay, or use pretrained "
         "vectors (embeddings.vectors)"),
        (["task=language-model"],
         "Train on more text, or raise encoder.locked_dropout or train.weight_decay"),
        (["task=classify", "data.unit=bpe"], NO_VECTORS),
    ],
)  # fmt: skip
def test_against_overfitting_nothing_is_advised_that_the_run_does_or_cannot_do(
    changed: list[str], remedy: str
) -> None:
    config = load_config(None, ["encoder.locked_dropout=0.4", *changed])
    (finding,) = diagnosed(OVERFITS, config=config)
    assert str(finding.remedy) == remedy


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


def test_each_check_has_a_name_of_its_own() -> None:
    assert len({check.name for check in RUN_CHECKS}) == len(RUN_CHECKS)


COLUMNS = 'data.tag_column=["LEMMA", "UPOS", "FEATS", "MISC.NER"]'
TASKS = {
    "spans": (tiny.corpus, [], "tag"),
    "softmax": (tiny.corpus, ["head.kind=softmax"], "tag"),
    "one class": (tiny.classified, ["head.label_smoothing=0.1"], "classify"),
    "several classes": (tiny.classified, ["head.multi_label=yes"], "classify"),
    "both": (tiny.joint, [], "both"),
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
    with torch.no_grad():
        for parameter_name, parameter in prepared.model.named_parameters():
            if not parameter_name.startswith(("embed.", "encoder.")):
                parameter.zero_()
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
