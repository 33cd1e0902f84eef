"""Which layers a step of a fine-tuned model trains, and at which rate."""

from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from runs import StopAt, digests, settings
from says import refuses
from steps import take_step

from tagkit.config import TrainConfig
from tagkit.errors import ConfigError, Interrupted
from tagkit.models.base.device import to_tensors
from tagkit.training.loop import run as run_module
from tagkit.training.optim.fine_tuning import FineTuning
from tagkit.training.optim.optimizer import ModelOptimizer
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

GROUPS = {"embeddings": ["e"], "layer 1": ["a", "b"], "reservoir": ["r"], "head": ["h"]}
NAMES = ("h", "e", "b", "a")  # no "r": it is never trained


def tuning(**options: object) -> tuple[FineTuning, dict[str, torch.Tensor]]:
    tensors = {name: torch.zeros(1, requires_grad=True) for name in NAMES}
    settings = TrainConfig.model_validate({"init_from": "m", "max_epochs": 9, **options})
    return FineTuning(GROUPS, tensors, settings), tensors


def test_the_next_group_is_trained_after_so_many_epochs_from_the_head_down() -> None:
    found, tensors = tuning(unfreeze=2)
    assert found.frozen_epochs == 4
    trained = []
    for epoch in range(1, 7):
        found.freeze_for(epoch)
        trained.append("".join(sorted(n for n, tensor in tensors.items() if tensor.requires_grad)))
    assert trained == ["h", "h", "abh", "abh", "abeh", "abeh"]
    found.freeze_for(1)  # a run that goes back to an earlier epoch freezes again
    assert [n for n, tensor in tensors.items() if tensor.requires_grad] == ["h"]


def test_the_notes_say_when_each_group_is_trained() -> None:
    found, _ = tuning(unfreeze=2)
    assert [found.note(epoch) for epoch in range(1, 8)] == [
        "epoch 1 trains the head alone", "", "epoch 3 trains layer 1 too", "",
        "epoch 5 trains the embeddings too: all layers", "", "",
    ]  # fmt: skip
    short, _ = tuning(unfreeze=2, max_epochs=4)
    assert short.note(1) == (
        "epoch 1 trains the head alone; all layers would be trained from epoch 5 on, but the run "
        "has 4 epochs"
    )
    assert not any(tuning()[0].note(epoch) for epoch in range(1, 5))


def test_without_another_model_only_language_models_are_a_group_of_their_own() -> None:
    tensors = {name: torch.zeros(1, requires_grad=True) for name in ("l", *NAMES)}
    groups = {"language models": ["l"], **GROUPS}
    fresh = TrainConfig.model_validate({"unfreeze": 2, "layer_lr_decay": 0.5, "max_epochs": 9})
    found = FineTuning(groups, tensors, fresh)
    assert {group: [*named] for group, named in found.groups.items()} == {
        "language models": ["l"], "other layers": ["e", "a", "b", "h"],
    }  # fmt: skip
    assert [found.note(epoch) for epoch in range(1, 5)] == [
        "epoch 1 trains the other layers alone", "",
        "epoch 3 trains the language models too: all layers", "",
    ]  # fmt: skip
    assert [found.share_of(name) for name in ("l", *NAMES)] == [0.5, 1, 1, 1, 1]
    based = fresh.model_copy(update={"init_from": "m"})
    assert [*FineTuning(groups, tensors, based).groups] == [
        "language models", "embeddings", "layer 1", "head",
    ]  # fmt: skip


def test_each_group_has_a_share_of_the_rate_of_the_group_above_it() -> None:
    found, tensors = tuning(layer_lr_decay=0.5)
    assert {name: found.share_of(name) for name in NAMES} == {"h": 1, "b": 0.5, "a": 0.5, "e": 0.25}
    sizes = {group["share"]: len(group["params"]) for group in found.by_rate(tensors)}
    assert sizes == {1: 1, 0.25: 1, 0.5: 2}
    (alone,) = tuning()[0].by_rate(tensors)  # without it torch sees one group, as ever
    assert (len(alone["params"]), alone["share"]) == (4, 1)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    train(settings(folder, "encoder.layers=2", "train.max_epochs=1"))
    return folder / "model"


def prepared(folder: Path, base: Path, *overrides: str) -> Prepared:
    torch.manual_seed(3)
    config = tiny.config(folder, f"train.init_from={base}", "encoder.dropout=0.2", *overrides)
    return prepare(config, torch.device("cpu"))


def moved(run: Prepared, epoch: int, steps: int, *, fill: bool = False) -> dict[str, float]:
    """How far each group moves in a few steps."""
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    optimizer.begin_epoch(epoch)
    before = {name: each.detach().clone() for name, each in run.model.named_parameters()}
    for step in range(steps):
        batch = to_tensors(run.encoded.batch(np.arange(6 * step, 6 * step + 6)))
        optimizer.before_forward(batch)
        run.model(batch)[0].backward()
        if fill:  # as several processes do
            optimizer.dense_gradients()
        take_step(optimizer, 0.01, 0.9)
    with optimizer.averaged():
        means = {name: each.detach().clone() for name, each in run.model.named_parameters()}
    found = {}
    for group, names in run.model.layer_groups().items():
        now = {name: run.model.get_parameter(name).detach() for name in names}
        distance = [float((now[name] - before[name]).abs().max()) for name in names]
        mean = [float((means[name] - before[name]).abs().max()) for name in names]
        assert (max(mean) == 0) == (max(distance) == 0), group
        found[group] = max(distance)
    return found


@pytest.mark.parametrize(
    "overrides",
    mostly_slow(
        [[], ["train.optimizer=adamw", "train.weight_decay=0.1"], ["train.optimizer=sgd"],
         ["train.optimizer=nadam"]], always=2,
    ),
    ids=lambda overrides: "+".join(overrides),
)  # fmt: skip
def test_what_is_frozen_does_not_move_and_neither_does_its_mean(
    tmp_path: Path, base: Path, overrides: list[str]
) -> None:
    run = prepared(tmp_path, base, "train.unfreeze=1", *overrides)
    assert [*run.model.layer_groups()] == ["embeddings", "layer 1", "layer 2", "head"]
    found = moved(run, epoch=2, steps=3, fill=True)
    assert (found["embeddings"], found["layer 1"]) == (0, 0)
    assert found["layer 2"] > 0
    assert found["head"] > 0


def test_the_first_step_of_adam_moves_each_group_by_its_own_rate(
    tmp_path: Path, base: Path
) -> None:
    run = prepared(tmp_path, base, "train.layer_lr_decay=0.5", "train.max_grad_norm=0")
    found = moved(run, epoch=1, steps=1)  # whose size is the rate, whatever the gradient
    expected = {"embeddings": 0.00125, "layer 1": 0.0025, "layer 2": 0.005, "head": 0.01}
    assert found == pytest.approx(expected, rel=1e-3)


def test_the_momentum_of_a_layer_begins_when_it_is_unfrozen(tmp_path: Path, base: Path) -> None:
    run = prepared(tmp_path, base, "train.unfreeze=1", "train.optimizer=sgd")
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    ours = [*run.model.parameters()]
    theirs = [each.detach().clone().requires_grad_() for each in ours]
    # Not fused: torch begins each momentum by itself.
    reference = torch.optim.SGD(theirs, lr=0.01, momentum=0.9, foreach=False)
    for step in range(8):  # two of each epoch
        optimizer.begin_epoch(1 + step // 2)
        run.model(to_tensors(run.encoded.batch(np.arange(6 * step, 6 * step + 6))))[0].backward()
        optimizer.clip_gradients(1.0)
        for one, other in zip(ours, theirs, strict=True):
            other.grad = None if one.grad is None else one.grad.clone()
        assert sum(each.grad is not None for each in theirs) == len(theirs) or step < 6
        optimizer.step(0.01, 0.9)
        reference.step()
        optimizer.zero_grad()
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


def test_frozen_layers_drop_what_they_would_drop_otherwise(tmp_path: Path, base: Path) -> None:
    losses = []
    for epoch in (1, 4):  # of all that is trained, and the head alone
        run = prepared(tmp_path, base, "train.unfreeze=1")
        ModelOptimizer(run.model, run.config.train, 1).begin_epoch(epoch)
        torch.manual_seed(7)
        batch = to_tensors(run.encoded.batch(np.arange(9)))
        losses.append([float(run.model(batch)[0].detach()) for _ in range(2)])
    assert losses[0] == losses[1]
    assert losses[0][0] != losses[0][1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [[], ["train.optimizer=sgd"], ["train.layer_lr_decay=1.0", "train.workers=2"],
     ["train.layer_lr_decay=1.0", "train.optimizer=sgd"],
     ["train.weight_decay=0.1"], ["train.optimizer=nadam", "train.flow_strength=0.1"]],
    ids=lambda overrides: "+".join(overrides),
)  # fmt: skip
def test_a_run_that_is_stopped_between_and_within_unfreezings_ends_the_same(
    tmp_path: Path, base: Path, overrides: list[str]
) -> None:
    options = [f"train.init_from={base}", "train.unfreeze=1", "train.layer_lr_decay=0.4",
               "encoder.dropout=0.2", "train.max_epochs=4", *overrides]  # fmt: skip
    found = []
    for name, after in (("whole", 10**6), ("stopped", 7)):
        folder = tmp_path / name
        folder.mkdir()
        notes: list[str] = []
        while True:
            listener = StopAt(after)
            try:
                train(settings(folder, *options), listener, resume=True, stop=listener.stop)
                break
            except Interrupted:
                assert name == "stopped"
            finally:
                notes += [note for note in listener.notes if note.startswith("epoch")]
        found.append((digests(folder), notes))
    assert found[0] == found[1]
    assert len(found[0][1]) == 4


@pytest.mark.slow
def test_epochs_with_frozen_layers_do_not_count_for_patience(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No score is better than the first one.
    monkeypatch.setattr(run_module, "rank", lambda *_: 1.0)
    options = ["train.unfreeze=1", "train.max_epochs=20", "train.lr=1e-9", "train.patience=1"]
    trained = train(tiny.config(tmp_path, f"train.init_from={base}", *options))
    assert (trained.ended, len(trained.epochs)) == ("patience", 4)


@pytest.mark.parametrize("option", ["unfreeze = 1", "layer_lr_decay = 0.5"])
def test_both_are_refused_without_another_model(tmp_path: Path, option: str) -> None:
    config = tiny.config(tmp_path, f"train.{option.replace(' ', '')}")
    with refuses(ConfigError, option, "train.init_from"):
        train(config)
