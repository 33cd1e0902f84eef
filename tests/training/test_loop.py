"""What the training loop does at each step and epoch: modes, sums, means, ties, what is saved."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from runs import Faulty, StopAt, digests, settings
from safetensors.torch import load_file
from steps import computed, loop_steps, take_step
from torch import Tensor, nn

from tagkit.config import Config, TrainConfig, allowed, load_config
from tagkit.errors import Interrupted, TrainingError
from tagkit.features.batch import Batch
from tagkit.features.bucketing import Ids
from tagkit.features.encoding import Encoded
from tagkit.features.vocabulary import UNKNOWN_ID
from tagkit.inference.predictor import load
from tagkit.inference.score import DevScores
from tagkit.models.model import Model
from tagkit.training.callbacks import Epoch
from tagkit.training.checkpoint import newest_checkpoint
from tagkit.training.distributed import processes_of
from tagkit.training.ema import decay_at
from tagkit.training.lr_schedule import Schedule
from tagkit.training.micro_batches import MicroBatches
from tagkit.training.optimizer import ModelOptimizer
from tagkit.training.precision import autocast
from tagkit.training.setup import Prepared, prepare
from tagkit.training.state import RunState
from tagkit.training.trainer import train

CPU = torch.device("cpu")
ALONE = processes_of(CPU)
QUIET = ["encoder.dropout=0", "encoder.locked_dropout=0", "encoder.word_dropout=0",
         "embeddings.singleton_dropout=0"]  # fmt: skip
TASKS: dict[str, Callable[[Path], dict[str, str]]] = {
    "tag": tiny.corpus,
    "classify": tiny.classified,
    "both": tiny.joint,
}


def anything(_: object) -> None:
    """Takes over every checkpoint."""


def of_task(folder: Path, task: str, *overrides: str) -> Config:
    """A small run of a task, without chance but for the order of the corpus."""
    small = ["embeddings.word_dim=8", "embeddings.char_dim=4", "embeddings.char_hidden=4",
             "encoder.hidden=8", "train.max_epochs=2", "train.batch_size=8", "train.device=cpu",
             f"output.dir={folder / 'model'}", f"task={task}", *QUIET]  # fmt: skip
    small += ["head.dropout=0"] if task != "tag" else []
    return load_config(overrides=[*small, *overrides], flags=TASKS[task](folder))


def last_weights(folder: Path, name: str = "last") -> dict[str, Tensor]:
    return load_file(folder / "model" / name / "model.safetensors")


def saved(folder: Path) -> dict[str, Tensor]:
    """Tensors of the newest checkpoint."""
    checkpoint = newest_checkpoint(folder / "model" / "checkpoints", print, anything)
    assert checkpoint is not None
    return dict(checkpoint.tensors)


def test_steps_are_taken_in_training_mode_and_dev_is_scored_outside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: dict[str, list[bool]] = {"forward": [], "output": []}

    def recorded(name: str) -> None:
        whole = getattr(Model, name)

        def call(model: Model, *args: object, **options: object) -> object:
            found = {module.training for module in model.modules()}
            assert len(found) == 1
            modes[name] += found
            return whole(model, *args, **options)

        monkeypatch.setattr(Model, name, call)

    recorded("forward")
    recorded("output")
    trained = train(of_task(tmp_path, "tag", "embeddings.char_dropout=0.5"))
    assert len(modes["forward"]) == 20
    assert all(modes["forward"])  # also after dev was scored
    assert len(modes["output"]) >= 2
    assert not any(modes["output"])
    kept = load(tmp_path / "model")
    expected = kept.predict("Ada visits Rome .", confidence=True)
    for predictor in (trained.predictor, kept):  # of new words, and of words that it has seen
        predictor.model.train()
        assert predictor.predict("Ada visits Rome .", confidence=True) == expected
        assert not predictor.model.training


@pytest.mark.parametrize("rows", [True, False])
def test_the_mean_of_the_weights_is_its_formula_from_the_first_step_on(
    tmp_path: Path, rows: bool
) -> None:
    torch.manual_seed(2)
    run = prepare(tiny.config(tmp_path, f"train.optimizer={'adam' if rows else 'sgd'}"), CPU)
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    assert (optimizer.rows is not None) == rows
    expected = {name: p.detach().clone() for name, p in run.model.named_parameters()}
    for step in range(1, 16):
        batch = run.encoded.batch(np.arange(step, step + 6))
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


SCORES = [0.5, 0.6, 0.6, 0.6, 0.55, 0.7, 0.65, 0.6, 0.69, 0.7]


@pytest.mark.parametrize("cut", range(len(SCORES)))
@pytest.mark.parametrize("kind", allowed(TrainConfig, "schedule"))
def test_a_schedule_that_is_restored_goes_on_as_it_would_have(kind: str, cut: int) -> None:
    settings = TrainConfig(
        lr=1.0, schedule=kind, warmup_steps=3, anneal_patience=1, anneal_factor=0.5
    )  # type: ignore[arg-type]

    def rates(restored_at: int) -> list[float]:
        found, schedule = [], Schedule(settings)
        schedule.total_steps = len(SCORES)
        for number, score in enumerate(SCORES):
            if number == restored_at:
                state = json.loads(json.dumps(schedule.state()))
                schedule = Schedule(settings)
                schedule.total_steps = len(SCORES)
                schedule.restore(state)
                assert schedule.state() == state
            found.append(schedule.next_step())
            schedule.after_epoch(score)
        return found

    assert rates(cut) == rates(-1)


def test_a_plateau_on_dev_lowers_the_rate_of_a_run_and_of_one_that_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagkit.training.run.dev_scores", lambda *_: DevScores(0.5, {}))
    rates = []
    for after in (10**6, 7):
        config = of_task(
            tmp_path, "tag", "train.schedule=plateau", "train.anneal_patience=1",
            "train.max_epochs=6", "train.lr=0.02", "train.batch_size=16", "train.patience=0",
            f"output.dir={tmp_path / str(after) / 'model'}",
        )  # fmt: skip
        while True:
            listener = StopAt(after)
            try:
                trained = train(config, listener, resume=True, stop=listener.stop)
                break
            except Interrupted:
                pass
        rates.append([epoch.lr for epoch in trained.epochs])
    assert rates[0] == rates[1] == [0.02, 0.02, 0.02, 0.01, 0.01, 0.005]


def test_random_steps_go_on_as_they_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for stop_at in (10**6, 6):
        folder, listener = tmp_path / str(stop_at), StopAt(stop_at)
        config = of_task(
            tmp_path, "tag", "train.on_nonfinite=random", "train.max_epochs=1",
            f"output.dir={folder / 'model'}",
        )  # fmt: skip
        with monkeypatch.context() as patch:
            Faulty(patch, float("nan"), range(5, 9))
            try:
                train(config, listener, stop=listener.stop)
            except Interrupted:
                train(config, resume=True)
        found.append(digests(folder))
    assert found[0] == found[1]


def test_random_generators_are_restored_as_they_were(tmp_path: Path) -> None:
    run = prepare(tiny.config(tmp_path), CPU)
    state = RunState(run, ALONE, print)
    kept = state.checkpoint({"run": {}}, sound=True)

    def drawn() -> list[float]:
        return [
            float(torch.rand(1)),
            float(torch.rand(1, generator=state.micro_batches.generator)),
            float(torch.rand(1, generator=state.optimizer.generator)),
            float(state.shuffler.random()),
        ]

    state.plan_epoch()
    expected = drawn()
    drawn()
    state.restore(kept)
    state.plan_epoch()
    assert drawn() == expected


class Weights(StopAt):
    """Keeps the weights at the end of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.model: Model | None = None
        self.weights: list[dict[str, Tensor]] = []

    def on_start(self, prepared: Prepared, threads: int) -> None:
        self.model = prepared.model

    def on_epoch(self, epoch: Epoch) -> None:
        assert self.model is not None
        super().on_epoch(epoch)
        named = self.model.named_parameters()
        self.weights.append({name: p.detach().clone() for name, p in named})


def test_of_epochs_that_score_the_same_the_first_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([0.4, 0.6, 0.6, 0.5, 0.6])
    monkeypatch.setattr("tagkit.training.run.dev_scores", lambda *_: DevScores(next(scores), {}))
    listener = Weights()
    config = of_task(
        tmp_path, "tag", "train.max_epochs=5", "train.patience=0", "train.average_decay=0",
        "train.optimizer=sgd",
    )  # fmt: skip
    trained = train(config, listener)
    assert trained.best.number == 2
    assert [epoch.is_best for epoch in trained.epochs] == [True, True, False, False, False]
    log = (tmp_path / "model" / "train.log").read_text().splitlines()
    assert [line.endswith("best so far") for line in log if " epoch " in line] == [
        epoch.is_best for epoch in trained.epochs
    ]
    best, last = (last_weights(tmp_path, name) for name in ("best", "last"))
    own = dict(trained.predictor.model.named_parameters())
    for name, tensor in listener.weights[1].items():
        assert torch.equal(best[name], tensor), name
        assert torch.equal(own[name], tensor), name  # and is what the run returns
        assert torch.equal(last[name], listener.weights[4][name]), name
        assert name == "head.crf.start_transitions" or not torch.equal(last[name], tensor), name


def test_last_and_best_are_saved_with_the_mean_of_the_weights(tmp_path: Path) -> None:
    config = of_task(tmp_path, "tag", "train.optimizer=sgd", "train.lr=0.3", "train.max_epochs=1")
    listener = StopAt(5)
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop)
    for name in ("stopped", "ended"):
        tensors, models = saved(tmp_path), [last_weights(tmp_path)]
        if name == "ended":
            models.append(last_weights(tmp_path, "best"))
        means = {key.removeprefix("mean."): value for key, value in tensors.items()
                 if key.startswith("mean.")}  # fmt: skip
        assert means
        for key, mean in means.items():
            assert not torch.equal(mean, tensors[f"weights.{key}"]), key
            for model in models:
                assert torch.equal(model[key], mean), (name, key)
        train(config, resume=True)


@pytest.mark.parametrize("task", list(TASKS))
@pytest.mark.parametrize("accumulate", [1, 3])
def test_the_loss_of_an_epoch_is_the_mean_over_its_targets(
    tmp_path: Path, task: str, accumulate: int
) -> None:
    options = ["train.lr=1e-30", "train.max_epochs=1", f"train.accumulate={accumulate}"]
    config = of_task(tmp_path, task, *options)
    trained = train(config)
    run = prepare(config, CPU)
    run.model.load_state_dict(trained.predictor.model.state_dict())
    total, count = run.model.eval()(run.encoded.batch(np.arange(len(run.encoded))))
    tokens = int(run.encoded.lengths.sum())
    assert int(count) == (len(run.encoded) if task == "classify" else tokens)
    assert trained.epochs[0].loss == pytest.approx(total.item() / int(count), rel=1e-4)


def test_the_loss_of_an_epoch_leaves_out_steps_that_were_not_finite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path, *QUIET, "train.lr=1e-30", "train.max_epochs=1")
    run = prepare(config, CPU)
    state = RunState(run, ALONE, print)
    Faulty(monkeypatch, float("nan"), range(3, 5))
    plan = state.plan_epoch().steps
    losses = loop_steps(state, len(plan))
    assert [number for number, loss in enumerate(losses) if loss != loss] == [2, 3]
    lengths = run.encoded.lengths
    kept = [step for number, step in enumerate(plan) if number not in (2, 3)]
    assert state.position.targets == sum(lengths[batch].sum() for step in kept for batch in step)
    assert state.position.loss == pytest.approx(sum(loss for loss in losses if loss == loss))
    assert state.position.tokens == lengths.sum()
    assert (state.step, state.skipped, state.consecutive_nonfinite) == (len(plan), 2, 0)


@pytest.mark.parametrize("task", list(TASKS))
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_steps_gradient_is_that_of_its_loss_over_the_targets_of_an_average_step(
    tmp_path: Path, task: str, accumulate: int
) -> None:
    config = of_task(
        tmp_path, task, "train.optimizer=sgd", "train.momentum=0", "train.max_grad_norm=0",
        "train.lr=1.0", "train.schedule=constant", f"train.accumulate={accumulate}",
    )  # fmt: skip
    torch.manual_seed(1)
    run = prepare(config, CPU)
    state = RunState(run, ALONE, print)
    plan = state.plan_epoch().steps
    before = [p.detach().clone() for p in run.model.parameters()]
    losses = [run.model(run.encoded.batch(batch))[0] for batch in plan[0]]
    expected = torch.autograd.grad(torch.stack(losses).sum(), list(run.model.parameters()))
    targets = len(run.encoded) if task == "classify" else int(run.encoded.lengths.sum())
    assert loop_steps(state, 1) == [pytest.approx(sum(loss.item() for loss in losses))]
    for p, old, gradient in zip(run.model.parameters(), before, expected, strict=True):
        step = gradient.to_dense() * len(plan) / targets
        torch.testing.assert_close(old - p.detach(), step, rtol=1e-4, atol=1e-6)


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
        batch = run.encoded.batch(np.arange(6))
        optimizer.before_forward(batch)
        run.model(batch)[0].backward()
        assert weight.grad is not None
        twin.grad = weight.grad.clone()
        plain.param_groups[0]["lr"] = lr
        plain.step()
        assert take_step(optimizer, lr, 1.0)
        torch.testing.assert_close(weight, twin)


def test_gradients_of_an_attempt_that_was_short_of_memory_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(1)
    run = prepare(settings(tmp_path, *QUIET), CPU)
    state = RunState(run, ALONE, print)
    batches = [np.arange(3), np.arange(3, 12)]
    wanted = computed(state, batches)
    whole, sizes = Model.forward, []

    def limited(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
        sizes.append(len(batch.tokens.mask))
        if sizes[-1] > 4:  # the first batch fits, the second does not
            raise MemoryError
        return whole(model, batch)

    monkeypatch.setattr(Model, "forward", limited)
    found = computed(state, batches)
    assert found.loss == pytest.approx(wanted.loss)
    assert sizes == [3, 9, 2, 1, 5, 1, 1, 1, 3, 2, 2, 2]
    assert found.targets == run.encoded.lengths[:12].sum()
    assert found.gradients.keys() == wanted.gradients.keys()
    for name, gradient in wanted.gradients.items():
        torch.testing.assert_close(found.gradients[name], gradient, rtol=1e-4, atol=1e-6)


def test_pieces_are_of_sizes_that_differ_by_one_at_most_and_lose_no_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = prepare(settings(tmp_path, *QUIET), CPU)
    state = RunState(run, ALONE, print)
    read: list[list[int]] = []
    whole = Encoded.batch

    def recorded(encoded: Encoded, indices: Ids) -> Batch:
        read.append(indices.tolist())
        return whole(encoded, indices)

    monkeypatch.setattr(Encoded, "batch", recorded)
    for parts in (1, 2, 4, 8, 16):
        read.clear()
        state.micro_batches.parts = parts
        computed(state, [np.arange(10), np.arange(10, 13)])
        assert [number for piece in read for number in piece] == list(range(13))
        assert len(read) == min(parts, 10) + min(parts, 3)
        sizes = [len(piece) for piece in read if piece[0] < 10]
        assert max(sizes) - min(sizes) <= 1


def test_processes_with_different_numbers_of_pieces_read_each_sentence_once(tmp_path: Path) -> None:
    run = prepare(settings(tmp_path, *QUIET), CPU)
    sentences = []
    for rank, parts in enumerate((1, 2, 4)):
        processes = processes_of(CPU)
        processes.rank, processes.count = rank, 3
        micro_batches = MicroBatches(run, processes, print)
        micro_batches.parts = parts
        sentences += np.concatenate(micro_batches.split([np.arange(8)])).tolist()
    assert sorted(sentences) == list(range(8))


@pytest.mark.parametrize("probability", [0.0, 0.5])
def test_words_that_occur_once_are_read_as_unknown_with_the_probability_of_the_option(
    tmp_path: Path, probability: float
) -> None:
    run = prepare(settings(tmp_path, f"embeddings.singleton_dropout={probability}"), CPU)
    everything = np.arange(len(run.encoded))
    batch = run.encoded.batch(everything)
    once = run.singletons[batch.words.word_ids]
    assert int(once.sum()) == 20
    read = MicroBatches(run, ALONE, print).load(everything).words.word_ids
    assert torch.equal(read[~once], batch.words.word_ids[~once])
    share = float((read[once] == UNKNOWN_ID).float().mean())
    assert share == 0 if not probability else 0.2 < share < 0.8


def test_the_losses_of_tags_and_of_the_class_add_up_with_the_weight_of_the_class(
    tmp_path: Path,
) -> None:
    torch.manual_seed(1)
    run = prepare(of_task(tmp_path, "both", "head.class_loss=2.5"), CPU)
    model, batch = run.model.eval(), run.encoded.batch(np.arange(7))
    assert model.head is not None
    assert model.class_head is not None
    assert "tags" in batch.targets
    assert "classes" in batch.targets
    states, final = model.encoder.read(model._inputs(batch), batch.tokens.mask)
    of_tags, tokens = model.head.loss(states, batch.tokens.mask, batch.target("tags"))
    classes = batch.target("classes")
    of_class, texts = model.class_head.loss(states, final, batch.tokens.mask, classes)
    total, count = model(batch)
    assert int(count) == int(tokens) == int(batch.tokens.mask.sum())
    assert int(texts) == 7
    torch.testing.assert_close(total, of_tags + 2.5 * of_class)


@pytest.mark.parametrize("task", list(TASKS))
def test_in_mixed_precision_the_heads_work_in_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    torch.manual_seed(1)
    run = prepare(of_task(tmp_path, task), CPU)
    model, batch = run.model, run.encoded.batch(np.arange(7))
    seen: list[str] = []

    def watch(head: nn.Module, method: str) -> None:
        whole = getattr(head, method)

        def watched(*given: Tensor) -> tuple[Tensor, Tensor]:
            assert not torch.is_autocast_enabled("cpu")
            assert {x.dtype for x in given if x.is_floating_point()} == {torch.float32}
            seen.append(type(head).__name__)
            result: tuple[Tensor, Tensor] = whole(*given)
            assert result[0].dtype == torch.float32
            return result

        monkeypatch.setattr(head, method, watched)

    for name, method in (("head", "forward"), ("class_head", "loss")):
        if hasattr(model, name):
            watch(getattr(model, name), method)
    inputs: list[torch.dtype] = []
    read = model.encoder.read

    def of_encoder(*given: Tensor) -> tuple[Tensor, Tensor]:
        states, final = read(*given)
        inputs.append(states.dtype)
        return states.bfloat16(), final.bfloat16()

    monkeypatch.setattr(model.encoder, "read", of_encoder)
    with autocast(CPU, "bf16"):
        assert torch.is_autocast_enabled("cpu")
        total, _ = model(batch)
    assert total.dtype == torch.float32
    assert len(seen) == (2 if task == "both" else 1)


def test_a_run_that_goes_on_knows_how_often_it_has_gone_back_and_what_it_has_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = prepare(settings(tmp_path), CPU)
    state = RunState(run, ALONE, print)
    loop_steps(state, 1)
    state.skipped, state.consecutive_nonfinite, state.rollbacks = 7, 3, 2
    kept = state.checkpoint({"run": {}}, sound=False)
    again = RunState(run, ALONE, print)
    again.restore(replace(kept, state=json.loads(json.dumps(kept.state))))
    assert (again.step, again.skipped, again.consecutive_nonfinite, again.rollbacks) == (1, 7, 3, 2)
    assert again.position == state.position
    # All in all: no more returns because it was stopped in between.
    Faulty(monkeypatch, float("nan"), range(13, 10**6))
    config, notes = settings(tmp_path), []
    problem = ""
    while not problem:
        listener = StopAt(14)
        try:
            train(config, listener, resume=True, stop=listener.stop)
        except Interrupted:
            notes += listener.notes
        except TrainingError as error:
            problem = str(error)
    assert "also after 5 returns" in problem
    notes += listener.notes
    assert sum("back to step" in note for note in notes) == 5


def test_a_run_whose_last_step_was_not_finite_has_no_sound_state_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Faulty(monkeypatch, float("nan"), range(8, 9))  # checkpoints are after steps 4 and 8
    listener = StopAt(8)
    with pytest.raises(Interrupted):
        train(settings(tmp_path), listener, stop=listener.stop)
    folder = tmp_path / "model" / "checkpoints"
    newest = newest_checkpoint(folder, print, anything)
    sound = newest_checkpoint(folder, print, anything, sound=True)
    assert newest is not None
    assert sound is not None
    assert (newest.step, newest.sound) == (8, False)
    assert (sound.step, sound.sound) == (4, True)


def test_each_process_drops_other_units_and_other_words(tmp_path: Path) -> None:
    run = prepare(settings(tmp_path), CPU)
    drawn = []
    for number in range(3):
        processes = processes_of(CPU)
        processes.rank, processes.count = number, 3
        torch.manual_seed(run.config.train.seed)
        generator = MicroBatches(run, processes, print).generator
        drawn.append((float(torch.rand(1)), float(torch.rand(1, generator=generator))))
    assert len({pair[0] for pair in drawn}) == len({pair[1] for pair in drawn}) == 3


def test_decay_rises_to_what_the_option_says() -> None:
    decays = [decay_at(step, 0.9) for step in range(1, 200)]
    assert decays == sorted(decays)
    assert decays[0] == 1 / 11
    assert decays[-1] == 0.9


def test_rates_rise_before_they_fall_in_every_schedule_and_a_factor_scales_both() -> None:
    for kind in allowed(TrainConfig, "schedule"):
        schedule = Schedule(TrainConfig(lr=2.0, schedule=kind, warmup_steps=4))  # type: ignore[arg-type]
        schedule.total_steps = 12
        rates = [schedule.next_step() for _ in range(12)]
        assert rates[:5] == [0.5, 1.0, 1.5, 2.0, 2.0], kind
        assert all(rate > 0 for rate in rates)
        half = Schedule(TrainConfig(lr=2.0, schedule=kind, warmup_steps=4))  # type: ignore[arg-type]
        half.total_steps, half.factor = 12, 0.5
        assert [half.next_step() for _ in range(12)] == [rate / 2 for rate in rates]
