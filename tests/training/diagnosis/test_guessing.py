"""The loss of guessing is that of a network whose last layer is all zeros."""

import math
from pathlib import Path

import pytest
import tiny
import torch

from tagkit.training.diagnosis.guessing import loss_of_guessing
from tagkit.training.loop.dev_loss import DevLoss
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

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
