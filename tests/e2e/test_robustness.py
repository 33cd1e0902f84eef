"""What a run does when numbers, memory or time run out."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from runs import STEPS, Faulty, StopAt, digests, settings
from says import Says, refuses
from steps import computed, loop_steps, take_step

from tagkit.errors import ConfigError, DeviceError, Interrupted, TrainingError
from tagkit.features.batching.batch import Batch, Tokens
from tagkit.models.base.device import to_tensors
from tagkit.models.base.model import Model
from tagkit.nn.heads import HEADS
from tagkit.nn.layers.inference import CachedWords
from tagkit.training.loop.state import RunState
from tagkit.training.optim.optimizer import ModelOptimizer
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")


def test_fp16_is_for_a_gpu(tmp_path: Path) -> None:
    with refuses(DeviceError, "'fp16'", "GPU", "CPU"):
        train(settings(tmp_path, "train.precision=fp16"))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_give_no_warning_but_a_skipped_step(
    tmp_path: Path, head: str, value: float
) -> None:
    run = prepare(settings(tmp_path, f"head.kind={head}"), CPU)
    state = RunState(run, processes_of(CPU), print)
    assert run.model.head is not None
    with torch.no_grad():
        run.model.head.linear.bias[1] = value
    loop_steps(state, 1)
    assert state.skipped == 1


@pytest.mark.slow
@pytest.mark.parametrize("loss", [float("nan"), float("inf"), float("-inf")])
def test_a_step_without_a_finite_loss_is_skipped_counted_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: float
) -> None:
    Faulty(monkeypatch, loss, range(5, 8))
    listener = StopAt()
    trained = train(settings(tmp_path, "head.feature_crf=0"), listener)
    assert trained.skipped == 3
    assert len(listener.notes) == 1  # once for those in a row
    assert listener.notes[0].startswith("step 5: the loss is")
    assert listener.notes[0].endswith("; the step is skipped")
    assert np.isfinite([epoch.loss for epoch in trained.epochs]).all()
    assert trained.epochs[-1].step == STEPS


def test_a_skipped_step_changes_no_weight_and_no_moment(tmp_path: Path) -> None:
    torch.manual_seed(1)
    run = prepare(settings(tmp_path), CPU)
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    for scale in (1.0, float("nan")):
        batch = to_tensors(run.encoded.batch(np.arange(6)))
        optimizer.before_forward(batch)
        before = {name: tensor.clone() for name, tensor in optimizer.tensors().items()}
        run.model.eval()
        (run.model(batch)[0] * scale).backward()
        assert take_step(optimizer, 0.01, 1.0) == np.isfinite(scale)
        same = all(torch.equal(t, before[name]) for name, t in optimizer.tensors().items()
                   if name in before)  # fmt: skip
        assert same == (not np.isfinite(scale))
        assert all(p.grad is None for p in run.model.parameters())


def plain_descent(
    folder: Path, *overrides: str
) -> tuple[Prepared, ModelOptimizer, list[torch.Tensor]]:
    """A model whose steps are its gradients, and its weights before the first."""
    torch.manual_seed(1)
    options = ["train.optimizer=sgd", "train.momentum=0", *overrides]
    run = prepare(settings(folder, *options), CPU)
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    return run, optimizer, [p.detach().clone() for p in run.model.parameters()]


def test_a_random_step_has_the_norm_that_gradients_are_clipped_to(tmp_path: Path) -> None:
    run, optimizer, before = plain_descent(
        tmp_path, "train.max_grad_norm=0.25", "train.on_nonfinite=random"
    )
    (run.model(to_tensors(run.encoded.batch(np.arange(6))))[0] * float("nan")).backward()
    assert not take_step(optimizer, 1.0, float("nan"))
    moved = [p.detach() - old for p, old in zip(run.model.parameters(), before, strict=True)]
    assert float(torch.nn.utils.get_total_norm(moved)) == pytest.approx(0.25, rel=1e-4)


@pytest.mark.slow
def test_random_steps_are_the_same_in_each_run_of_a_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for _ in range(2):
        with monkeypatch.context() as patch:
            Faulty(patch, float("nan"), range(5, 8))
            trained = train(settings(tmp_path, "train.on_nonfinite=random"), force=True)
        assert trained.skipped == 3
        found.append(digests(tmp_path))
    assert found[0] == found[1]


@pytest.mark.slow
def test_after_several_in_a_row_the_run_goes_back_with_half_the_learning_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Faulty(monkeypatch, float("nan"), range(16, 21))
    listener = StopAt()
    trained = train(settings(tmp_path, "train.schedule=constant"), listener)
    assert listener.notes[1] == (
        "step 20: not finite 5 times in a row; back to step 12, with 0.5 times the learning rate"
    )
    assert trained.skipped == 5
    assert [epoch.lr for epoch in trained.epochs] == [0.02, 0.01, 0.01]
    assert trained.epochs[-1].step == STEPS
    assert trained.best.score > 0.9


@pytest.mark.slow
def test_a_run_that_never_becomes_finite_ends_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Faulty(monkeypatch, float("nan"), range(13, 10**6))
    listener = StopAt()
    with refuses(TrainingError, "5", "learning"):
        train(settings(tmp_path), listener)
    backs = [note for note in listener.notes if "back to step" in note]
    assert [note.rpartition("with ")[2] for note in backs] == [
        f"{0.5**n:g} times the learning rate" for n in range(1, 6)
    ]


def test_gradients_can_be_cut_number_by_number(tmp_path: Path) -> None:
    run, optimizer, before = plain_descent(
        tmp_path, "train.max_grad_value=0.01", "train.max_grad_norm=0"
    )
    run.model(to_tensors(run.encoded.batch(np.arange(6))))[0].backward()
    largest = max(float(p.grad.abs().max()) for p in run.model.parameters() if p.grad is not None)
    assert largest > 0.1
    take_step(optimizer, 1.0, 1.0)
    moved = [p.detach() - old for p, old in zip(run.model.parameters(), before, strict=True)]
    assert max(float(m.abs().max()) for m in moved) == pytest.approx(0.01, rel=1e-4)


def gradients_of(folder: Path, parts: list[np.ndarray]) -> list[torch.Tensor]:
    """The gradients of batches of some sentences each, added."""
    torch.manual_seed(1)
    options = ["encoder.dropout=0", "encoder.word_dropout=0", "embeddings.min_count=2"]
    run = prepare(settings(folder, *options), CPU)
    state = RunState(run, processes_of(CPU), print)
    found = [computed(state, part) for part in parts]
    assert sum(each.targets for each in found) == run.encoded.lengths[:12].sum()
    names = dict(run.model.named_parameters())
    assert all(each.gradients.keys() == names.keys() for each in found)
    return [torch.stack([each.gradients[name] for each in found]).sum(0) for name in names]


def test_gradients_of_several_batches_add_up_to_those_of_one(tmp_path: Path) -> None:
    whole = gradients_of(tmp_path, [np.arange(12)])
    for batches in ([np.arange(5), np.arange(5, 12)], [np.array([i]) for i in range(12)]):
        for one, many in zip(whole, gradients_of(tmp_path, batches), strict=True):
            torch.testing.assert_close(many, one, rtol=1e-4, atol=1e-5)


class LittleMemory:
    """Fails as torch does, wherever a batch has more than so many sentences."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int, error: BaseException) -> None:
        whole, read = Model.forward, Model.read

        def limited(model: Model, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
            if len(batch.tokens.mask) > most:
                raise error
            return whole(model, batch)

        def read_limited(
            model: Model, tokens: Tokens, words: CachedWords
        ) -> tuple[torch.Tensor, torch.Tensor]:
            if len(tokens.mask) > most:
                raise error
            return read(model, tokens, words)

        monkeypatch.setattr(Model, "forward", limited)
        monkeypatch.setattr(Model, "read", read_limited)  # where dev is scored


SHORT = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:125] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    MemoryError(),
]


@pytest.mark.parametrize("error", SHORT, ids=lambda error: type(error).__name__)
def test_where_memory_is_short_a_batch_is_taken_in_pieces_that_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    whole = gradients_of(tmp_path, [np.arange(12)])
    LittleMemory(monkeypatch, 4, error)
    for one, many in zip(whole, gradients_of(tmp_path, [np.arange(12)]), strict=True):
        torch.testing.assert_close(many, one, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_run_with_little_memory_comes_to_its_end_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LittleMemory(monkeypatch, 3, SHORT[0])
    listener = StopAt()
    assert train(settings(tmp_path), listener).best.score > 0.9
    *notes, share = listener.notes
    assert notes == [
        "too little memory for 8 sentences at a time; from now on steps are taken in pieces of 4",
        "too little memory for 4 sentences at a time; from now on steps are taken in pieces of 2",
    ]
    assert share.startswith("a CRF of word features counts ")


@pytest.mark.slow
@pytest.mark.parametrize("short_again", mostly_slow([True, False], always=1))
def test_a_run_that_was_short_of_memory_and_stopped_drops_the_same_as_one_that_was_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_again: bool
) -> None:
    found = []
    for stop_at in (10**6, 12):
        listener = StopAt(stop_at)
        config = settings(tmp_path, f"output.dir={tmp_path / str(stop_at)}")
        with monkeypatch.context() as patch:
            LittleMemory(patch, 3, SHORT[0])
            try:
                train(config, listener, stop=listener.stop)
            except Interrupted:
                if not short_again:
                    patch.undo()
                listener = StopAt()
                train(config, listener, resume=True)
                *notes, share = listener.notes
                assert notes == ["resuming after step 12"]  # nothing failed again
                assert share.startswith("a CRF of word features counts ")
        file = tmp_path / str(stop_at) / "last" / "model.safetensors"
        found.append(hashlib.sha256(file.read_bytes()).hexdigest())
    assert found[0] == found[1]


def test_the_number_of_pieces_is_kept_by_a_checkpoint_and_by_a_run_that_goes_back(
    tmp_path: Path,
) -> None:
    def fresh() -> RunState:
        torch.manual_seed(1)
        return RunState(prepare(settings(tmp_path), CPU), processes_of(CPU), print)

    state = fresh()
    early = state.checkpoint({"run": {}}, sound=True)
    state.micro_batches.parts = 4
    saved = state.checkpoint({"run": {}}, sound=True)
    resumed = fresh()
    resumed.restore(saved)
    assert resumed.micro_batches.parts == 4
    resumed.restore(early)  # memory is as short as it was
    assert resumed.micro_batches.parts == 4
    # As earlier versions wrote it.
    older = {name: tensor for name, tensor in saved.tensors.items() if name != "pieces"}
    resumed = fresh()
    resumed.restore(replace(saved, tensors=older))
    assert resumed.micro_batches.parts == 1


def test_a_lack_of_memory_outside_the_gradients_is_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise SHORT[0]

    monkeypatch.setattr("tagkit.training.loop.run.dev_scores", fails)
    with refuses(TrainingError, "little"):
        train(settings(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(("every", "stops"), [("10m", 10), ("6", 12), ("6", 10), ("6", 14)])
def test_where_a_run_was_stopped_makes_no_difference_to_what_it_goes_back_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: str, stops: int
) -> None:
    found = []
    for stop_at in (10**6, stops):
        listener, notes = StopAt(stop_at), []
        config = settings(tmp_path, f"train.checkpoint_every={every}",
                          f"output.dir={tmp_path / str(stop_at)}")  # fmt: skip
        with monkeypatch.context() as patch:
            Faulty(patch, float("nan"), range(16, 21))  # counted over both parts of the run
            try:
                train(config, listener, stop=listener.stop)
            except Interrupted:
                # What the word features add to the best model so far is looked at again in the end.
                notes += [note for note in listener.notes if "word features" not in note]
                listener = StopAt()
                train(config, listener, resume=True)
        notes += [note for note in listener.notes if "resuming" not in note]
        file = tmp_path / str(stop_at) / "last" / "model.safetensors"
        found.append((notes, hashlib.sha256(file.read_bytes()).hexdigest()))
    assert found[0] == found[1]


def test_if_one_sentence_is_too_much_that_is_an_error_that_says_what_to_lower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LittleMemory(monkeypatch, 0, SHORT[0])
    with refuses(TrainingError, "1", "sentence"):
        train(settings(tmp_path))


def test_other_errors_are_not_taken_for_a_lack_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LittleMemory(monkeypatch, 0, RuntimeError("shapes do not match"))
    with refuses(RuntimeError, "shapes"):
        train(settings(tmp_path))


@pytest.mark.slow
def test_a_run_out_of_time_ends_with_its_best_model_scored_and_can_go_on(tmp_path: Path) -> None:
    whole = train(settings(tmp_path))
    expected = digests(tmp_path)
    trained = train(settings(tmp_path, "train.max_minutes=0.00001"), force=True)
    assert trained.ended == "time"
    assert [(epoch.step, epoch.whole) for epoch in trained.epochs] == [(3, False)]
    assert trained.test is not None
    assert (tmp_path / "model" / "best" / "metadata.json").exists()
    again = train(settings(tmp_path), resume=True)
    assert again.ended == whole.ended == "epochs"
    assert [epoch.step for epoch in again.epochs] == [10, 20, 30]
    assert digests(tmp_path) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [("0", Says("number")), ("ten", Says("number")),
     ("-3m", Says("number")), ("infm", Says("number"))],
)  # fmt: skip
def test_intervals_are_steps_or_minutes(tmp_path: Path, value: str, message: str) -> None:
    with refuses(ConfigError, message):
        tiny.config(tmp_path, f"train.checkpoint_every={value}")


def test_random_steps_need_a_norm(tmp_path: Path) -> None:
    with refuses(ConfigError, "train.max_grad_norm", "0", "makes"):
        tiny.config(tmp_path, "train.on_nonfinite=random", "train.max_grad_norm=0")


def command(folder: Path, *more: str) -> list[str]:
    program = "from tagkit.cli.main import main; main()"
    files = [f"--{name}={folder / name}.conll" for name in ("train", "dev", "test")]
    small = ["encoder.hidden=8", "embeddings.word_dim=8", "train.max_epochs=400",
             "train.patience=0", "train.batch_size=1"]  # fmt: skip
    options = [word for text in small for word in ("--set", text)]
    output = ["-o", str(folder / "model"), "--threads", "1", "--device", "cpu"]
    return [sys.executable, "-c", program, "train", *files, *options, *output, *more]


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_run_after_its_step_and_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    tiny.corpus(tmp_path)
    environment = {**os.environ, "COLUMNS": "500"}
    options: dict[str, Any] = {"stderr": subprocess.PIPE, "text": True, "env": environment}
    process = subprocess.Popen(command(tmp_path, "--force"), **options)
    while not (tmp_path / "model" / "history.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number
    last = said.strip().splitlines()[-1]
    assert last.startswith("stopped after step ")
    assert "Traceback" not in said
    assert last.partition(". To resume: ")[2].startswith("tagkit train --train=")
    assert last.endswith(" --device cpu --resume")
    assert (tmp_path / "model" / "last" / "metadata.json").exists()
    budget = command(tmp_path, "--resume", "--max-minutes", "0.03")
    done = subprocess.run(budget, capture_output=True, text=True, check=True)
    assert "(time limit reached; --resume continues)" in done.stderr


@pytest.mark.slow
def test_a_signal_saves_the_run_even_if_nobody_reads_what_it_says(tmp_path: Path) -> None:
    tiny.corpus(tmp_path)
    process = subprocess.Popen(command(tmp_path), stderr=subprocess.PIPE)
    assert process.stderr is not None
    process.stderr.close()
    while not (tmp_path / "model" / "history.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert (tmp_path / "model" / "last" / "metadata.json").exists()


@pytest.mark.slow
def test_a_run_that_is_stopped_while_it_reads_leaves_everything_as_it_was(tmp_path: Path) -> None:
    train(settings(tmp_path))
    before = digests(tmp_path)
    listener = StopAt()
    listener.stop.set()
    with refuses(Interrupted, "stopped") as caught:
        train(settings(tmp_path, "train.seed=2"), listener, force=True, stop=listener.stop)
    assert not caught.value.is_saved
    assert digests(tmp_path) == before
