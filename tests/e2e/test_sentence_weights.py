"""Weights of sentences in the loss, for every task and head, and in a run from file to model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from runs import EPOCHS, StopAt, digests
from says import Says, refuses
from small_runs import TASKS, of_task
from steps import computed
from torch import Tensor

from tagkit.config import Config, load_config
from tagkit.corpus.splits.splits import read_train
from tagkit.corpus.splits.weights import write_weights
from tagkit.errors import CheckpointError, ConfigError, Interrupted
from tagkit.features.batching.encoding import Encoded
from tagkit.models.base.device import to_tensors
from tagkit.models.task_table import task_of
from tagkit.training.loop.state import RunState
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")
CASES = [
    ("tag", ("head.kind=crf",)),
    ("classify", ()),
    ("columns", ("head.kind=softmax",)),
    ("tag", ("head.kind=softmax",)),
    ("tag", ("head.kind=viterbi",)),
    ("tag", ("head.kind=crf", "head.label_weights={PER=3.0}")),
    ("tag", ("head.kind=softmax", "head.label_weights={PER=3.0}")),
    ("tag", ("head.kind=crf", "head.constrain=train")),
    ("classify", ("head.multi_label=yes", "head.class_weights={greet=3.0}")),
    ("classify", ("head.label_smoothing=0.1",)),
    ("columns", ("head.kind=crf",)),
    ("both", ()),
]


def weighed(encoded: Encoded, weights: Sequence[float]) -> Encoded:
    """The corpus whose first sentences have these weights."""
    found = np.ones(len(encoded), dtype=np.float32)
    found[: len(weights)] = weights
    return replace(encoded, weights=found)


def loss_and_gradients(
    run: Prepared, encoded: Encoded, rows: list[int]
) -> tuple[float, list[Tensor]]:
    run.model.zero_grad()
    total, _ = run.task.loss(run.model, to_tensors(encoded.batch(rows)))
    found = torch.autograd.grad(total, list(run.model.parameters()), allow_unused=True)
    return float(total.detach()), [torch.zeros(()) if each is None else each for each in found]


@pytest.mark.parametrize(("task", "options"), mostly_slow(CASES, always=3))
def test_twice_a_sentence_is_its_weight_of_two_and_without_weight_it_has_no_gradient(
    task: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    torch.manual_seed(1)
    run = prepare(of_task(tmp_path, task, *options), CPU)
    plain = run.encoded
    # Sentences of different lengths: padding must not count either.
    first, last = int(np.argmin(plain.lengths)), int(np.argmax(plain.lengths))
    other = next(row for row in range(len(plain)) if row not in (first, last))
    by_row = np.ones(len(plain), dtype=np.float32)
    by_row[[first, last, other]] = 2, 1, 0
    total, gradients = loss_and_gradients(run, replace(plain, weights=by_row), [first, last, other])
    wanted, expected = loss_and_gradients(run, plain, [first, first, last])
    assert total == pytest.approx(wanted, rel=1e-5)
    for found, each in zip(gradients, expected, strict=True):
        torch.testing.assert_close(found, each, rtol=1e-4, atol=1e-5)
    by_row[:] = 0
    total, gradients = loss_and_gradients(run, replace(plain, weights=by_row), [first, last])
    assert total == 0
    assert not any(bool(each.any()) for each in gradients)
    # Weights of one change nothing, not in the last bit.
    ones = loss_and_gradients(run, weighed(plain, ()), [first, last, other])
    without = loss_and_gradients(run, plain, [first, last, other])
    assert all(map(torch.equal, ones[1], without[1]))


def test_the_gradient_of_a_step_does_not_depend_on_how_it_is_cut(tmp_path: Path) -> None:
    torch.manual_seed(1)
    run = prepare(of_task(tmp_path, "tag"), CPU)
    run = replace(run, encoded=weighed(run.encoded, [0.7, 0.49, 0.0, 3.0, 1.0, 0.7]))
    state = RunState(run, processes_of(CPU), print)
    whole = computed(state, np.arange(6))
    state.micro_batches.parts = 4
    pieces = computed(state, np.arange(6))
    assert pieces.loss == pytest.approx(whole.loss, rel=1e-5)
    assert pieces.targets == whole.targets
    for name, gradient in whole.gradients.items():
        torch.testing.assert_close(pieces.gradients[name], gradient, rtol=1e-4, atol=1e-6)


def with_weights(config: Config, weights: Sequence[float], name: str = "weights.jsonl") -> Config:
    """The run with a file of weights, repeated over its corpus."""
    task = task_of(config)
    sentences = read_train(config, task.needs).sentences
    place = Path(config.output.dir).with_name(name)
    given = [weights[number % len(weights)] for number in range(len(sentences))]
    write_weights(place, [sentence.words for sentence in sentences], given, force=True)
    data = config.data.model_copy(update={"weights": str(place)})
    return config.model_copy(update={"data": data})


@pytest.mark.parametrize("task", mostly_slow(TASKS, always=1))
def test_each_window_of_a_long_sentence_has_the_weight_of_the_sentence(
    task: str, tmp_path: Path
) -> None:
    options = ("data.max_length=3",) if task in ("tag", "columns") else ()
    config = with_weights(of_task(tmp_path, task, *options), [0.5, 1.0, 2.0])
    run = prepare(config, CPU)
    weights = run.encoded.weights
    assert weights is not None
    examples = run.task.examples(run.config, run.corpus.train)
    assert len(weights) == len(examples)
    assert (len(examples) > len(run.corpus.train.sentences)) == bool(options)
    # The words of the examples, in their order, are those of the sentences with their weights.
    assert run.corpus.train.weights is not None
    at = 0
    for sentence, weight in zip(run.corpus.train.sentences, run.corpus.train.weights, strict=True):
        windows = run.task.examples(run.config, replace(run.corpus.train, sentences=(sentence,)))
        assert examples[at : at + len(windows)] == windows
        assert set(weights[at : at + len(windows)]) == {np.float32(weight)}
        at += len(windows)


def test_weights_have_no_effect_on_phrases_and_say_so(tmp_path: Path) -> None:
    options = ["task=classify", "data.weights=w.jsonl", "data.tree_phrases=true"]
    with pytest.raises(ConfigError) as found:
        train(load_config(overrides=[*options, f"output.dir={tmp_path / 'm'}"]))
    assert Says("data.weights", '"w.jsonl"', "data.tree_phrases").within(str(found.value))


@pytest.mark.slow
def test_weights_of_one_train_the_same_model_and_others_another(tmp_path: Path) -> None:
    config = tiny.config(tmp_path)
    train(config)
    plain = digests(tmp_path)
    train(with_weights(config, [1.0]), force=True)
    assert digests(tmp_path) == plain
    train(with_weights(config, [1.0, 0.7]), force=True)
    assert digests(tmp_path) != plain


@pytest.mark.slow
def test_a_run_that_was_stopped_ends_with_the_weights_of_one_that_was_not(tmp_path: Path) -> None:
    config = with_weights(
        tiny.config(tmp_path, f"train.max_epochs={EPOCHS}", "train.patience=0"), [0.7, 1.0, 0.49]
    )
    train(config)
    whole = digests(tmp_path)
    listener = StopAt(13)
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop, force=True)
    others = with_weights(config, [0.7, 1.0], "others.jsonl")
    with refuses(CheckpointError, "another"):
        train(others, resume=True)
    without = config.model_copy(update={"data": config.data.model_copy(update={"weights": ""})})
    with refuses(CheckpointError, "another"):
        train(without, resume=True)
    # The same content under another name is the same file.
    moved = with_weights(config, [0.7, 1.0, 0.49], "moved.jsonl")
    train(moved, resume=True)
    assert digests(tmp_path) == whole


@pytest.mark.slow
def test_a_model_that_starts_from_another_has_no_weights_of_sentences_of_its_own(
    tmp_path: Path,
) -> None:
    trained = train(with_weights(tiny.config(tmp_path), [0.7, 1.0]))
    more = tmp_path / "more"
    changes = [f"train.init_from={trained.folder}", f"output.dir={more}"]
    assert train(tiny.small(tmp_path, *changes)).predictor.config.data.weights == ""
