"""The language-model loss of a model: what it predicts, and that it serves training alone."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from says import refuses
from small_runs import TASKS, of_task
from torch import Tensor

from tagkit.config import load_config
from tagkit.errors import ConfigError
from tagkit.inference.predict.predictor import load
from tagkit.models.base.device import to_tensors
from tagkit.models.base.model import Model
from tagkit.models.bundle.bundle import save_bundle
from tagkit.models.language.language_loss import language_target, predicted_words
from tagkit.nn.layers.encoder import LAYERS
from tagkit.text.records import Sentence
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

BESIDE = ("train.lm_loss=0.5", "encoder.layers=2", "encoder.dropout=0")
CPU = torch.device("cpu")


def prepared(folder: Path, *overrides: str) -> Prepared:
    torch.manual_seed(1)
    return prepare(tiny.config(folder, "embeddings.min_count=2", *overrides), CPU)


def gradients(run: Prepared, indices: np.ndarray) -> tuple[Tensor, dict[str, Tensor]]:
    """Value and gradients of the training loss of some sentences."""
    model = run.model.train()
    model.zero_grad()
    total, _ = model(to_tensors(run.encoded.batch(indices)))
    total.backward()
    return total.detach(), {
        name: one.grad.to_dense().clone()
        for name, one in model.named_parameters()
        if one.grad is not None
    }


def test_the_most_frequent_forms_are_predicted_and_all_others_are_one_word() -> None:
    assert predicted_words(Counter(a=2, b=3, c=2)) == ("b", "a", "c")
    assert len(predicted_words(Counter(map(str, range(9_000))))) == 7_500
    config = load_config()  # lower case, digits as 0
    sentences = [Sentence(("The", "19", "x")), Sentence(("the", "THE", "zz"))]
    target = language_target(config, sentences, ("the", "00"))
    assert target.values.tolist() == [1, 2, 0, 1, 1, 0]
    assert (target.per, target.auxiliary) == ("token", True)


def test_the_loss_that_is_reported_and_other_first_weights_are_those_without_it(
    tmp_path: Path,
) -> None:
    plain, ours = (
        prepared(tmp_path, *BESIDE, "train.lm_loss=0"),
        prepared(tmp_path, *BESIDE),
    )
    own = dict(plain.model.named_parameters())
    added = {name for name, _ in ours.model.named_parameters()} - own.keys()
    assert added
    assert all(name.startswith("language_loss.") for name in added)
    for name, weight in own.items():
        assert torch.equal(weight, dict(ours.model.named_parameters())[name]), name
    for run in (plain, ours):
        run.model.encoder.word_dropout.probability = 0  # which draws random numbers
    some = np.arange(10)
    assert torch.equal(gradients(ours, some)[0], gradients(plain, some)[0])
    # On dev it is not computed at all.
    ours.model.eval()
    ours.model.language_loss.forward = None  # type: ignore[union-attr, assignment, method-assign]
    ours.model(to_tensors(ours.encoded.batch(some)))


@pytest.mark.parametrize("task", mostly_slow(["tag", "classify"], always=1))
def test_its_gradient_grows_with_its_weight_and_reaches_every_layer(
    tmp_path: Path, task: str
) -> None:
    files = tiny.classified(tmp_path) if task == "classify" else {}
    found = {}
    counts = set()
    for weight in (0, 1e-9, 1.0, 3.0):
        torch.manual_seed(1)
        config = tiny.config(tmp_path, *BESIDE, f"train.lm_loss={weight}", f"task={task}",
                             "encoder.word_dropout=0", **files)  # fmt: skip
        run = prepare(config, CPU)
        counts.add(run.encoded.target_count)
        found[weight] = gradients(run, np.arange(10))[1]
    assert len(counts) == 1  # the divisor of a step's loss is that of the labels
    for name, before in found[1e-9].items():
        once, thrice = found[1.0][name] - before, found[3.0][name] - before
        torch.testing.assert_close(thrice, 3 * once, rtol=1e-3, atol=1e-4)
        # Those above the states that predict have no part in it.
        reached = not name.startswith(
            ("encoder.layers.1", "head.", "class_head.", "embed.features")
        )
        assert bool(once.any()) == reached, name


@pytest.mark.parametrize(
    ("cell", "two"),
    mostly_slow(
        [
            (cell, two)
            for cell in LAYERS
            for two in (True, False)
            if (cell, two) != ("transformer", True)
        ],
        always=1,
    ),
)
def test_the_states_of_every_cell_predict(tmp_path: Path, cell: str, two: bool) -> None:
    segments = [] if cell == "transformer" else ["train.bptt=3"]
    run = prepared(tmp_path, *BESIDE, f"encoder.cell={cell}",
                   f"encoder.bidirectional={two}".lower(),
                   "encoder.skip=2", "encoder.heads=2", *segments)  # fmt: skip
    found = gradients(run, np.arange(10))[1]
    for name, parameter in run.model.named_parameters():
        if parameter.requires_grad and name.startswith(("language_loss.", "encoder.layers.0")):
            assert found[name].isfinite().all(), name
            assert found[name].any(), name


def test_a_step_in_pieces_has_the_same_gradient(tmp_path: Path) -> None:
    run = prepared(tmp_path, *BESIDE, "encoder.word_dropout=0")
    _, whole = gradients(run, np.arange(10))
    _, first = gradients(run, np.arange(4))
    _, second = gradients(run, np.arange(4, 10))
    for name, gradient in whole.items():
        torch.testing.assert_close(first[name] + second[name], gradient, rtol=1e-4, atol=1e-5)


def test_a_loss_that_is_not_finite_shows(tmp_path: Path) -> None:
    run = prepared(tmp_path, *BESIDE)
    with torch.no_grad():
        for parameter in run.model.language_loss.parameters():  # type: ignore[union-attr]
            parameter.fill_(float("inf"))
    assert gradients(run, np.arange(10))[0].isnan()


def test_a_saved_model_is_complete_without_its_layers(tmp_path: Path) -> None:
    run = prepared(tmp_path, *BESIDE)
    model: Model = run.model
    save_bundle(tmp_path / "saved", model, run.vocabulary, run.config, {})
    found = load(tmp_path / "saved").model
    assert found.language_loss is None
    expected = model.saved_tensors()
    assert found.state_dict().keys() == expected.keys()
    for name, tensor in found.state_dict().items():
        assert torch.equal(tensor, expected[name])
    assert found.saved_weights == model.saved_weights < sum(p.numel() for p in model.parameters())
    batch = to_tensors(run.encoded.batch(np.arange(5)))
    assert torch.equal(found.eval().states(batch), model.eval().states(batch))


def test_another_model_may_bring_an_encoder_that_cannot_predict(tmp_path: Path) -> None:
    base = ("encoder.cell=transformer", "encoder.heads=2", "embeddings.char_cell=none",
            "embeddings.char_dim=30", "embeddings.char_hidden=50")  # fmt: skip
    run = prepared(tmp_path, *base)
    save_bundle(tmp_path / "base", run.model, run.vocabulary, run.config, {})
    config = load_config(
        None,
        ["train.lm_loss=0.1", f"train.init_from={tmp_path / 'base'}"],
        flags={f"data.{name}_file": str(tmp_path / f"{name}.conll") for name in ("train", "dev")},
    )
    with refuses(ConfigError, "transformer"):
        prepare(config, CPU)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_task_learns_beside_it_and_saves_a_model_that_answers(
    tmp_path: Path, task: str
) -> None:
    config = of_task(tmp_path, task, "train.lm_loss=0.1", "train.max_epochs=10", "train.lr=0.02")
    trained = train(config)
    assert trained.dev.headline > 0.8
    found = load(trained.folder)
    words = ["Ada", "visits", "Oslo", "."]
    assert found.predict([words]) == trained.predictor.predict([words])
