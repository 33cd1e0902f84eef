"""The moving average of the weights."""

from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from steps import take_step

from tagkit.models.base.device import to_tensors
from tagkit.models.base.model import Model
from tagkit.training.optim.ema import TriggeredAverage, WeightAverage, decay_at, swapped
from tagkit.training.optim.optimizer import ModelOptimizer
from tagkit.training.setup.setup import prepare


def test_the_mean_is_its_formula() -> None:
    weights = torch.randn(1, 2, generator=torch.Generator().manual_seed(0))
    mean = WeightAverage([weights], 0.8)
    expected = weights.clone()
    for step in range(1, 60):
        weights.add_(torch.randn(1, 2, generator=torch.Generator().manual_seed(step)))
        decay = min(0.8, step / (step + 10))
        assert decay_at(step, 0.8) == decay
        assert mean.next_decay() == decay
        mean.update(decay)
        expected = decay * expected + (1 - decay) * weights
    torch.testing.assert_close(mean.means[0], expected)


def test_swapping_ends_with_the_first_values_whatever_happens() -> None:
    left, right = torch.zeros(2), torch.ones(2)
    with pytest.raises(ZeroDivisionError), swapped([(left, right)]):
        _ = 1 / 0
    assert left.tolist() == [0, 0]
    with swapped([(left, right)]):
        assert left.tolist() == [1, 1]
        assert right.tolist() == [0, 0]
    assert right.tolist() == [1, 1]


CPU = torch.device("cpu")


@pytest.mark.parametrize("rows", mostly_slow([True, False], always=1))
def test_the_mean_of_the_weights_is_its_formula_from_the_first_step_on(
    tmp_path: Path, rows: bool
) -> None:
    torch.manual_seed(2)
    run = prepare(tiny.config(tmp_path, f"train.optimizer={'adam' if rows else 'sgd'}"), CPU)
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    assert (optimizer.rows is not None) == rows
    expected = {name: p.detach().clone() for name, p in run.model.named_parameters()}
    for step in range(1, 16):
        batch = to_tensors(run.encoded.batch(np.arange(step, step + 6)))
        optimizer.before_forward(batch)
        run.model(batch)[0].backward()
        assert take_step(optimizer, 0.003, 1.0)
        if optimizer.rows:
            optimizer.rows.read_all()
        decay = min(0.999, step / (step + 10))
        for name, parameter in run.model.named_parameters():
            expected[name] = decay * expected[name] + (1 - decay) * parameter.detach()
    with optimizer.averaged():
        for name, parameter in run.model.named_parameters():
            torch.testing.assert_close(parameter.detach(), expected[name], rtol=0, atol=2e-5)


def test_a_mean_that_is_restored_goes_on_with_the_decay_of_its_step(tmp_path: Path) -> None:
    def steps(optimizer: ModelOptimizer, model: Model, count: int) -> None:
        for _ in range(count):
            model.zero_grad()
            optimizer.dense_gradients()[-1].fill_(1.0)
            assert take_step(optimizer, 0.1, 1.0)

    found = []
    for cuts in ([8], [3, 5]):
        torch.manual_seed(2)
        run = prepare(tiny.config(tmp_path, "train.optimizer=sgd"), CPU)
        optimizer = ModelOptimizer(run.model, run.config.train, 1)
        for count in cuts:
            kept = optimizer.tensors()
            optimizer = ModelOptimizer(run.model, run.config.train, 1)
            optimizer.restore(kept)
            steps(optimizer, run.model, count)
        assert optimizer.average.steps == 8
        found.append([mean.clone() for mean in optimizer.average.means])
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_decay_rises_to_what_the_option_says() -> None:
    decays = [decay_at(step, 0.9) for step in range(1, 200)]
    assert decays == sorted(decays)
    assert decays[0] == 1 / 11
    assert decays[-1] == 0.9


def test_a_triggered_mean_is_that_of_all_weights_since_and_before_it_the_weights() -> None:
    weights = torch.randn(1, 2, generator=torch.Generator().manual_seed(0))
    mean, since = TriggeredAverage([weights], patience=1), []
    for step in range(1, 40):
        weights.add_(torch.randn(1, 2, generator=torch.Generator().manual_seed(step)))
        if step == 10:
            mean.after_epoch([0.5, 0.6, 0.4])
        mean.update(mean.next_decay())
        if step >= 10:
            since.append(weights.clone())
            torch.testing.assert_close(mean.means[0], torch.stack(since).mean(0))
        else:
            assert torch.equal(mean.means[0], weights)
    assert mean.steps == 30


@pytest.mark.parametrize(
    ("scores", "patience", "epoch"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5], 1, None),
        ([0.5, 0.4, 0.3], 1, 3),  # the second is compared with none: it has one before it alone
        ([0.5, 0.6, 0.55, 0.58, 0.5], 1, 4),
        ([0.5, 0.6, 0.55, 0.58, 0.5], 2, 5),
        ([0.5, 0.5, 0.5, 0.5, 0.5], 1, None),  # no worse
        ([0.5, 0.1, 0.6, 0.7, 0.8], 1, None),
    ],
)
def test_a_mean_is_triggered_by_a_score_below_the_best_of_those_that_lie_back(
    scores: list[float], patience: int, epoch: int | None
) -> None:
    mean, found = TriggeredAverage([torch.zeros(1)], patience), None
    for number in range(1, len(scores) + 1):
        mean.after_epoch(scores[:number])
        if mean.triggered and found is None:
            found = number
    assert found == epoch


@pytest.mark.parametrize("rows", mostly_slow([True, False], always=1))
def test_the_triggered_mean_of_a_model_is_restored_with_its_steps(
    tmp_path: Path, rows: bool
) -> None:
    torch.manual_seed(2)
    overrides = [f"train.optimizer={'adam' if rows else 'sgd'}", "train.averaging=triggered"]
    run = prepare(tiny.config(tmp_path, *overrides), CPU)
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    sums = {name: torch.zeros_like(p) for name, p in run.model.named_parameters()}
    for step in range(12):
        if step == 5:
            assert isinstance(optimizer.average, TriggeredAverage)
            optimizer.average.after_epoch([1, 0, 0, 0, 0, 0, 0.5])
        if step == 8:
            kept = {name: one.clone() for name, one in optimizer.tensors().items()}
            optimizer = ModelOptimizer(run.model, run.config.train, 1)
            optimizer.restore(kept)
        batch = to_tensors(run.encoded.batch(np.arange(step, step + 6)))
        optimizer.before_forward(batch)
        run.model(batch)[0].backward()
        assert take_step(optimizer, 0.003, 1.0)
        if optimizer.rows:
            optimizer.rows.read_all()
        if step >= 5:
            for name, parameter in run.model.named_parameters():
                sums[name] += parameter.detach()
    assert optimizer.average.steps == 7
    with optimizer.averaged():
        for name, parameter in run.model.named_parameters():
            torch.testing.assert_close(parameter.detach(), sums[name] / 7, rtol=0, atol=2e-5)
