"""What a step does to the weights."""

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from small_runs import QUIET
from steps import take_step

from tagkit.config import TrainConfig
from tagkit.models.base.device import choose_device, to_tensors
from tagkit.training.optim import optimizer as module
from tagkit.training.optim.optimizer import ModelOptimizer, make_optimizer
from tagkit.training.setup.setup import Prepared, prepare


def prepared(tmp_path: Path, *overrides: str) -> Prepared:
    torch.manual_seed(3)
    return prepare(tiny.config(tmp_path, *overrides), choose_device("cpu"))


def ten_steps(run: Prepared) -> ModelOptimizer:
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    torch.manual_seed(4)
    for step in range(10):
        batch = to_tensors(run.encoded.batch(np.arange(3 * step, 3 * step + 6) % len(run.encoded)))
        optimizer.before_forward(batch)
        run.model(batch)[0].backward()
        assert take_step(optimizer, 0.01, 1.0)
    return optimizer


def weights_of(optimizer: ModelOptimizer, run: Prepared) -> list[torch.Tensor]:
    """Weights, then their running means."""
    if optimizer.rows:
        optimizer.rows.read_all()
    own = [p.detach().clone() for p in run.model.parameters()]
    with optimizer.averaged():
        return own + [p.detach().clone() for p in run.model.parameters()]


@pytest.mark.parametrize(("norm", "value"), [(0, 0), (0.5, 0), (0, 0.002)])
def test_rows_alone_end_as_the_whole_table_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, norm: float, value: float
) -> None:
    found = []
    for rows in (True, False):
        monkeypatch.setattr(module, "_suits_row_adam", lambda *_, rows=rows: rows)
        run = prepared(tmp_path, f"train.max_grad_norm={norm}", f"train.max_grad_value={value}")
        optimizer = ten_steps(run)
        assert (optimizer.rows is not None) == rows
        found.append(weights_of(optimizer, run))
    for few, all_rows in zip(*found, strict=True):
        torch.testing.assert_close(few, all_rows, rtol=0, atol=5e-5)


def test_a_norm_over_the_limit_is_clipped_over_all_gradients_together(tmp_path: Path) -> None:
    run = prepared(tmp_path, "train.optimizer=sgd", "train.momentum=0", "train.max_grad_norm=0.25")
    before = [p.detach().clone() for p in run.model.parameters()]
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    run.model(to_tensors(run.encoded.batch(np.arange(6))))[0].backward()
    take_step(optimizer, 1.0, 1.0)
    moved = [p.detach() - old for p, old in zip(run.model.parameters(), before, strict=True)]
    assert float(torch.nn.utils.get_total_norm(moved)) == pytest.approx(0.25, rel=1e-4)


@pytest.mark.parametrize(
    ("override", "rows"),
    [("train.optimizer=adam", True), ("train.optimizer=adamw", True),
     ("train.optimizer=sgd", False), ("train.optimizer=nadam", False),
     ("train.weight_decay=0.01", False)],
)  # fmt: skip
def test_only_rows_are_updated_where_that_is_the_same(
    tmp_path: Path, override: str, rows: bool
) -> None:
    run = prepared(tmp_path, override)
    assert (ModelOptimizer(run.model, run.config.train, 1).rows is not None) == rows
    # Of several processes each reads other rows.
    assert ModelOptimizer(run.model, run.config.train, 2).rows is None


def test_without_a_running_mean_the_model_keeps_its_own_weights(tmp_path: Path) -> None:
    run = prepared(tmp_path, "train.average_decay=0")
    found = weights_of(ten_steps(run), run)
    half = len(found) // 2
    for own, lent in zip(found[:half], found[half:], strict=True):
        assert torch.equal(own, lent)


def with_scaler(run: Prepared) -> ModelOptimizer:
    """An optimizer as for fp16, with a scaler that works on a CPU."""
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    optimizer.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
    return optimizer


def test_fp16_finds_its_scale_and_then_makes_the_steps_of_fp32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_suits_row_adam", lambda *_: False)
    found = []
    for scaled in (True, False):
        run = prepared(tmp_path, "embeddings.min_count=2")
        run.model.eval()
        optimizer = with_scaler(run) if scaled else ModelOptimizer(run.model, run.config.train, 1)
        for overflows in [True, False] if scaled else [False]:
            loss = run.model(to_tensors(run.encoded.batch(np.arange(6))))[0]
            optimizer.scaler.scale(loss).backward()
            if overflows:
                optimizer.dense_gradients()[-1].view(-1)[0] = torch.inf
            assert take_step(optimizer, 0.01, 1.0)
        found.append([p.detach().clone() for p in run.model.parameters()])
        assert optimizer.average.steps == 1
        if scaled:
            assert optimizer.scaler.get_scale() == 2.0**19
            again = with_scaler(run)
            again.restore(optimizer.tensors())
            assert again.scaler.state_dict() == optimizer.scaler.state_dict()
            # A loss that is not finite is another thing.
            assert not take_step(optimizer, 0.01, float("nan"))
    for half, full in zip(*found, strict=True):
        torch.testing.assert_close(half, full, rtol=0, atol=1e-6)


CPU = torch.device("cpu")


def test_a_momentum_begins_with_the_first_gradient_of_its_parameter(tmp_path: Path) -> None:
    run = prepared(tmp_path, "train.optimizer=sgd")
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    ours = [*run.model.parameters()]
    theirs = [each.detach().clone().requires_grad_() for each in ours]
    # Not fused: torch begins each momentum by itself.
    reference = torch.optim.SGD(theirs, lr=0.01, momentum=0.9, foreach=False)
    for step in range(4):
        run.model(to_tensors(run.encoded.batch(np.arange(6))))[0].backward()
        if step < 2:  # as an output that no target of a batch needs has none
            ours[-1].grad = None
        optimizer.clip_gradients(1.0)
        for one, other in zip(ours, theirs, strict=True):
            other.grad = None if one.grad is None else one.grad.clone()
        optimizer.step(0.01, 0.9)
        reference.step()
        optimizer.zero_grad()
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


TORCH = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "nadam": torch.optim.NAdam,
         "sgd": torch.optim.SGD}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(TORCH))
def test_weights_and_state_are_those_of_torch_bit_for_bit(kind: str) -> None:
    torch.manual_seed(2)
    weights = [torch.randn(7, 5), torch.randn(5)]
    left, right = ([w.clone().requires_grad_() for w in weights] for _ in range(2))
    settings = TrainConfig.model_validate({"optimizer": kind, "lr": 0.01, "weight_decay": 0.01})
    ours = make_optimizer(settings, left)
    options = dict(ours.defaults)  # those of torch, but for what the configuration names
    names = inspect.signature(TORCH[kind]).parameters
    theirs = TORCH[kind](right, **{name: options[name] for name in options if name in names})
    for _ in range(5):
        for one, other in zip(left, right, strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        ours.step()
        theirs.step()
        # Within a step as here: torch's wrappers, which ours leave out, also turn gradients off.
        assert not any(w.grad_fn for w in left)
    assert all(map(torch.equal, left, right))
    found, expected = ours.state_dict(), theirs.state_dict()
    assert found["param_groups"] == expected["param_groups"]
    for number, state in expected["state"].items():
        assert state.keys() == found["state"][number].keys()
        for name, value in state.items():
            both = (value, found["state"][number][name])
            assert both == (None, None) or torch.equal(*map(torch.as_tensor, both))
    assert found["state"].keys() == expected["state"].keys()


@pytest.mark.slow
def test_an_optimizer_steps_and_is_restored_without_the_compiler_of_torch() -> None:
    program = (
        "import sys, torch\n"
        "from tagkit.config import TrainConfig\n"
        "from tagkit.training.optim.optimizer import OPTIMIZERS, make_optimizer\n"
        "for kind in OPTIMIZERS:\n"
        "    weight = torch.ones(3, requires_grad=True)\n"
        "    weight.grad = torch.ones(3)\n"
        "    optimizer = make_optimizer(TrainConfig(optimizer=kind, lr=0.01), [weight])\n"
        "    optimizer.step()\n"
        "    optimizer.load_state_dict(optimizer.state_dict())\n"
        "    assert not {'torch._dynamo', 'sympy'} & set(sys.modules), kind\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["sgd", "adamw"])
def test_weight_decay_and_momentum_are_those_of_torch(
    tmp_path: Path, kind: str, decay: float
) -> None:
    torch.manual_seed(1)
    options = [f"train.optimizer={kind}", f"train.weight_decay={decay}",
               "train.momentum=0.7", "train.max_grad_norm=0"]  # fmt: skip
    run = prepare(tiny.config(tmp_path, *options, *QUIET), CPU)
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    assert run.model.head is not None
    weight = run.model.head.linear.weight
    twin = weight.detach().clone().requires_grad_()
    plain = (
        torch.optim.SGD([twin], lr=1, momentum=0.7, weight_decay=decay)
        if kind == "sgd"
        else torch.optim.AdamW([twin], lr=1, weight_decay=decay)
    )
    for lr in (0.1, 0.05, 0.2):
        batch = to_tensors(run.encoded.batch(np.arange(6)))
        optimizer.before_forward(batch)
        run.model(batch)[0].backward()
        assert weight.grad is not None
        twin.grad = weight.grad.clone()
        plain.param_groups[0]["lr"] = lr
        plain.step()
        assert take_step(optimizer, lr, 1.0)
        torch.testing.assert_close(weight, twin)
