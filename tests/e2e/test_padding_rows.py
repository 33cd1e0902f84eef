"""What never changes in training: rows of padding, pretrained vectors, frozen parameters."""

from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from runs import Faulty
from steps import take_step
from torch import nn

from tagkit.config import TrainConfig, allowed, load_config
from tagkit.models.base.device import to_tensors
from tagkit.models.bundle.bundle import load_bundle
from tagkit.training.optim.optimizer import OPTIMIZERS, ModelOptimizer
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")
# What random steps may move, skipped ones may not: the harder case first.
NONFINITE = mostly_slow(
    sorted(allowed(TrainConfig, "on_nonfinite"), key=lambda name: name != "random"), always=1
)
NAMES = ["oslo", "rome", "lima", "quito", "ada", "ben", "miller"]


def vectors(folder: Path) -> Path:
    path = folder / "vectors.txt"
    rows = [f"{name} {number + 1} {-number} 0.5 2\n" for number, name in enumerate(NAMES)]
    path.write_text("".join(rows), encoding="utf-8")
    return path


def prepared(folder: Path, *overrides: str) -> Prepared:
    """A model with all three tables that have a row of padding, beside pretrained vectors."""
    torch.manual_seed(3)
    options = [f"embeddings.vectors={vectors(folder)}", "embeddings.feature_dim=3",
               "data.feature_columns=[1]", *overrides]  # fmt: skip
    return prepare(tiny.config(folder, *options, columns=3), CPU)


def take_steps(run: Prepared) -> ModelOptimizer:
    """Six steps, of which four are not finite: by their gradients, or by their loss."""
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    for step in range(6):
        batch = to_tensors(run.encoded.batch(np.arange(8 * step, 8 * step + 8)))
        optimizer.before_forward(batch)
        if step % 3 == 2:  # no gradients are computed of such a loss
            assert not take_step(optimizer, 0.05, float("nan"))
            continue
        loss, _ = run.model(batch)
        loss.backward()
        if step % 3 == 1:
            optimizer.dense_gradients()[-1].view(-1)[0] = torch.inf
        assert take_step(optimizer, 0.05, loss.item()) == (step % 3 == 0)
    return optimizer


def padding_rows(run: Prepared) -> dict[str, torch.Tensor]:
    return {
        name: table.weight[0].detach().clone()
        for name, table in run.model.named_modules()
        if isinstance(table, nn.Embedding)
    }


@pytest.mark.parametrize("decay", ["0", "0.1"])  # without it Adam updates rows, else the table
@pytest.mark.parametrize("freeze", ["false", "true"], ids=["tuned", "frozen"])
@pytest.mark.parametrize("on_nonfinite", NONFINITE)
@pytest.mark.parametrize("kind", sorted(OPTIMIZERS))
def test_padding_and_pretrained_vectors_never_move(
    tmp_path: Path, kind: str, on_nonfinite: str, freeze: str, decay: str
) -> None:
    run = prepared(
        tmp_path, f"train.optimizer={kind}", f"train.on_nonfinite={on_nonfinite}",
        f"embeddings.freeze_vectors={freeze}", f"train.weight_decay={decay}",
    )  # fmt: skip
    words = run.model.embed.words
    before = {name: p.detach().clone() for name, p in run.model.named_parameters()}
    given = words.vectors.clone()
    optimizer = take_steps(run)
    assert (optimizer.rows is not None) == (kind in ("adam", "adamw") and decay == "0")
    with optimizer.averaged():
        means = padding_rows(run)
    now = padding_rows(run)
    assert set(now) == {"embed.words.trained", "embed.chars.embedding", "embed.affixes.table",
                        "embed.features.0"}  # fmt: skip
    for name in now:
        assert not now[name].any(), name
        assert not means[name].any(), name
        weights = run.model.get_parameter(f"{name}.weight").detach()
        assert not torch.equal(weights, before[f"{name}.weight"]), name
    assert torch.equal(words.vectors, given)
    if freeze == "true":  # such a word is its vector, and nothing else
        frozen = torch.tensor([run.vocabulary.word_id(name) for name in NAMES])
        places = torch.tensor([run.vocabulary.vector_row(name) for name in NAMES])
        assert torch.equal(words(frozen, places), given[1:])


@pytest.mark.parametrize("on_nonfinite", NONFINITE)
@pytest.mark.parametrize("kind", sorted(OPTIMIZERS))
def test_a_parameter_without_a_gradient_of_its_own_never_moves(
    tmp_path: Path, kind: str, on_nonfinite: str
) -> None:
    run = prepared(
        tmp_path, f"train.optimizer={kind}", f"train.on_nonfinite={on_nonfinite}",
        "train.weight_decay=0.1",
    )  # fmt: skip
    assert run.model.embed.chars is not None
    frozen = run.model.embed.chars.embedding.weight
    frozen.requires_grad_(False)
    before = frozen.clone()
    optimizer = take_steps(run)
    assert torch.equal(frozen, before)
    with optimizer.averaged():
        assert torch.equal(frozen, before)


def test_frozen_words_are_their_vectors_at_the_end_of_a_run_with_random_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Faulty(monkeypatch, float("nan"), range(3, 6))
    config = tiny.config(
        tmp_path, f"embeddings.vectors={vectors(tmp_path)}", "embeddings.freeze_vectors=true",
        "train.on_nonfinite=random", "train.weight_decay=0.01", "train.max_epochs=1",
    )  # fmt: skip
    trained = train(config)
    assert trained.skipped == 3
    words = load_bundle(tmp_path / "model").model.embed.words
    vocabulary = trained.predictor.vocabulary
    ids = torch.tensor([vocabulary.word_id(name) for name in NAMES])
    rows = torch.tensor([vocabulary.vector_row(name) for name in NAMES])
    assert torch.equal(words(ids, rows), words.vectors[1:])


def test_a_model_that_begins_with_another_has_padding_rows_of_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tiny.config(tmp_path, "train.max_epochs=1"))
    base = load_bundle(tmp_path / "model")
    with torch.no_grad():  # as random steps of earlier versions left it
        base.model.embed.words.trained.weight[0] = 0.25
    monkeypatch.setattr("tagkit.training.setup.setup.load_bundle", lambda _: base)
    flags = {"data.train_file": str(tmp_path / "train.conll"), "train.init_from": "base"}
    new = prepare(load_config(flags=flags), CPU)
    assert not any(row.any() for row in padding_rows(new).values())
