"""What a run carries from step to step, and what a checkpoint of it restores: all, or nothing."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from runs import Faulty, settings
from safetensors.torch import load, save
from says import Says, refuses
from small_runs import QUIET
from steps import loop_steps
from stopped_run import LAST, Stopped, digest, forge, put

from tagkit.errors import CheckpointError
from tagkit.training.events.callbacks import Epoch
from tagkit.training.folder.checkpoint import (
    Checkpoint,
    newest_checkpoint,
)
from tagkit.training.loop.state import (
    EpochRecord,
    Position,
    PositionRecord,
    RunState,
    checked_state,
)
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import prepare


def forge_tensors(place: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Change the tensors of a checkpoint, and have the right digests of them."""
    files = {"tensors": place / "tensors.safetensors", "best": place / "best.safetensors"}
    tensors = load(files["tensors"].read_bytes())
    if files["best"].exists():
        best = load(files["best"].read_bytes())
        tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    change(tensors)
    record = json.loads((place / "state.json").read_text())
    for key, path in files.items():
        if path.exists():
            content = save(
                {
                    name.removeprefix("best."): tensor
                    for name, tensor in tensors.items()
                    if name.startswith("best.") == (key == "best")
                }
            )
            path.unlink()  # other checkpoints may have the same file
            path.write_bytes(content)
            record["sha256"][key] = digest(content)
    (place / "state.json").write_text(json.dumps(record))


def copied(stopped: Stopped, folder: Path) -> Path:
    return Path(shutil.copytree(stopped.run / "checkpoints", folder / "checkpoints"))


def falls_back(stopped: Stopped, tmp_path: Path, damage: Callable[[Path], object]) -> str:
    """Damage the newest checkpoint; the one before is used. What is said of the newest."""
    folder = copied(stopped, tmp_path)
    damage(folder / LAST)
    notes: list[str] = []
    found = newest_checkpoint(folder, notes.append, stopped.state.check)
    assert found
    assert found.step == 10
    assert len(notes) == 1
    note = notes[0].removeprefix(f"{folder / LAST}: damaged (")
    assert note.endswith("); it is skipped")
    assert len(note) < 400
    return note.removesuffix("); it is skipped")


def drop(*path: str | int) -> Callable[[dict[str, Any]], object]:
    def change(body: dict[str, Any]) -> None:
        for key in path[:-1]:
            body = body[key]  # type: ignore[index]
        del body[path[-1]]  # type: ignore[arg-type]

    return change


deep: list[Any] = []
for _ in range(700):
    deep = [deep]
STATES: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    (f"no {key}", drop("state", key), f"'state.{key}' is missing")
    for key in ("epochs", "position", "schedule", "skipped", "in_a_row", "returns")
] + [
    ("no run", drop("state", "run"), "'state.run' is missing"),
    ("a run that is a list", put("state", "run", value=[]), "'state.run' = '[]': no value of"),
    ("no state", drop("state"), "state.json holds no state of a run"),
    ("a state that is a list", put("state", value=[]), "state.json holds no state of a run"),
    ("no sound", drop("sound"), "state.json holds no state of a run"),
    ("sound as a number", put("sound", value=1), "state.json holds no state of a run"),
    ("another step", put("step", value=12), "state.json has another step than its folder's name"),
    ("a step that is a text", put("step", value="13"),
     "state.json has another step than its folder's name"),
    ("no done", drop("state", "position", "done"), "'state.position.done' is missing"),
    ("done as a text", put("state", "position", "done", value="3"),
     "'state.position.done' = \"'3'\": no value of a run"),
    ("done as a fraction", put("state", "position", "done", value=3.5),
     "'state.position.done' = '3.5': no value of a run"),
    ("done as true", put("state", "position", "done", value=True),
     "'state.position.done' = 'True': no value of a run"),
    ("done below 0", put("state", "position", "done", value=-1),
     "'state.position.done' = '-1': no value of a run"),
    ("done beside the step", put("state", "position", "done", value=99),
     "state.position.done = 99 after epochs that end at step 10: expected step 109, found 13"),
    ("loss NaN", put("state", "position", "loss", value=math.nan),
     "'state.position.loss' = 'nan': no value of a run"),
    ("a huge text", put("state", "skipped", value="x" * 10**6),
     "'state.skipped' = \"'xxxxxxxxxx"),
    ("deep", put("state", "skipped", value=deep), "'state.skipped' = "),
    ("no shuffler", put("state", "position", "shuffler", value={}),
     "state.position.shuffler is no state of a generator"),
    ("a shuffler of wrong numbers",
     put("state", "position", "shuffler", "state", "state", value=-1),
     "state.position.shuffler is no state of a generator"),
    ("an epoch without its score", drop("state", "epochs", 0, "score"),
     "'state.epochs.0.score' is missing"),
    ("an epoch numbered 2", put("state", "epochs", 0, "number", value=2),
     "state.epochs are not numbered 1, 2, 3 ..."),
    ("no best epoch", put("state", "epochs", 0, "is_best", value=False),
     "state.epochs: the first one is not marked as the best so far"),
    ("no epochs", put("state", "epochs", value=[]),
     "state.position.done = 3 after epochs that end at step 0: expected step 3, found 13"),
    ("another schedule", put("state", "schedule", "step", value=7),
     "state.schedule.step = 7: expected 13"),
    ("a rate that is a list", put("state", "schedule", "lr", value=[1]),
     "'state.schedule.lr' = '[1]': no value of a run"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "problem"), [row[1:] for row in STATES], ids=[row[0] for row in STATES]
)
def test_a_state_that_a_run_cannot_have_falls_back_to_the_checkpoint_before(
    stopped: Stopped,
    tmp_path: Path,
    change: Callable[[dict[str, Any]], object],
    problem: str,
) -> None:
    found = falls_back(stopped, tmp_path, lambda place: forge(place, change))
    assert found.startswith(problem), found


def behind_the_end(place: Path) -> None:
    """A state that is consistent but for its place: the first epoch never ended."""

    def change(body: dict[str, Any]) -> None:
        body["state"]["epochs"] = []
        body["state"]["position"]["done"] = 13

    forge(place, change)


def test_a_position_behind_the_end_of_the_epoch_skips_no_epoch(
    stopped: Stopped, tmp_path: Path
) -> None:
    assert falls_back(stopped, tmp_path, behind_the_end) == (
        Says("state.position.done", "13", "10")
    )


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"format_version": 1, "body": ' + b"[" * 100_000,
        b'{"format_version": ' + b"1" * 5000 + b"}",
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"format_version": "1"}',
        b'{"format_version": 1, "body": 1, "sha256": []}',
    ],
    ids=range(9),
)
def test_a_state_file_of_any_content_falls_back(
    stopped: Stopped, tmp_path: Path, content: bytes
) -> None:
    found = falls_back(stopped, tmp_path, lambda place: (place / "state.json").write_bytes(content))
    assert found.startswith("state.json ")


def change_all(tensors: dict[str, torch.Tensor], prefix: str) -> None:
    for name in [name for name in tensors if name.startswith(prefix)]:
        del tensors[name]


TENSORS: list[tuple[str, Callable[[dict[str, torch.Tensor]], object], str]] = [
    ("no weights", lambda t: t.pop("weights.head.linear.bias"),
     "tensor 'weights.head.linear.bias' is missing"),
    ("another shape", lambda t: t.update({"weights.head.linear.bias": torch.zeros(3)}),
     "tensor 'weights.head.linear.bias': expected float32 of shape (7,), found float32 of shape"),
    ("another kind", lambda t: t.update({"weights.head.linear.bias": torch.zeros(7).double()}),
     "tensor 'weights.head.linear.bias': expected float32 of shape (7,), found float64 of shape"),
    ("no mean", lambda t: t.pop("mean.head.linear.bias"), "tensor 'mean.head.linear.bias' is"),
    ("no best", lambda t: t.pop("best.head.linear.bias"), "tensor 'best.head.linear.bias' is"),
    ("no moment", lambda t: t.pop("optimizer.head.linear.bias.exp_avg"),
     "tensor 'optimizer.head.linear.bias.exp_avg' is missing"),
    ("no moments", lambda t: change_all(t, "optimizer."), "tensors of the optimizer are missing"),
    ("a moment of another shape",
     lambda t: t.update({"optimizer.head.linear.bias.exp_avg": torch.zeros(1)}),
     "tensor 'optimizer.head.linear.bias.exp_avg': expected float32 of shape (7,)"),
    ("steps below 0", lambda t: t.update(steps=torch.tensor(-1)),
     "tensor 'steps' = -1.0: expected at least 0"),
    ("steps as fractions", lambda t: t.update(steps=torch.tensor(1.5)),
     "tensor 'steps': expected int64 of shape (), found float32"),
    ("no dice", lambda t: t.pop("dice"), "tensor 'dice' is missing"),
    ("dice of nothing", lambda t: t.update(dice=torch.full((5056,), 255, dtype=torch.uint8)),
     "tensor 'dice' is no state of a generator"),
    ("torch's generator of nothing",
     lambda t: t.update({"random.torch": torch.full((1, 5056), 255, dtype=torch.uint8)}),
     "tensor 'random.torch' is no state of a generator"),
    ("no words' generator", lambda t: t.pop("random.words"), "tensor 'random.words' is missing"),
    ("the generators of two", lambda t: t.update({"random.words": t["random.words"].repeat(2, 1)}),
     "tensor 'random.words': expected uint8 of shape (1, 5056), found uint8 of shape (2, 5056)"),
    ("sums of another shape", lambda t: t.update({"rows.sums": torch.zeros(3, 1).double()}),
     "tensor 'rows.sums': expected shape (4, 1 to 513), found (3, 1)"),
    ("rows of no sum", lambda t: t["rows.last"].fill_(600), "tensor 'rows.last': expected numbers"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "problem"), [row[1:] for row in TENSORS], ids=[row[0] for row in TENSORS]
)
def test_tensors_that_are_not_the_runs_fall_back_to_the_checkpoint_before(
    stopped: Stopped,
    tmp_path: Path,
    change: Callable[[dict[str, torch.Tensor]], object],
    problem: str,
) -> None:
    found = falls_back(stopped, tmp_path, lambda place: forge_tensors(place, change))
    assert found.startswith(problem), found


def test_when_no_checkpoint_can_be_used_the_error_names_each(
    stopped: Stopped, tmp_path: Path
) -> None:
    folder = copied(stopped, tmp_path)
    places = list(folder.iterdir())
    for place in places:
        forge(place, drop("state", "skipped"))
    with pytest.raises(CheckpointError) as caught:
        newest_checkpoint(folder, print, stopped.state.check)
    text = str(caught.value)
    assert text.startswith(f"{folder}: no checkpoint can be used; force=True starts a new run. ")
    for place in places:
        assert f"{place.name}: damaged ('state.skipped' is missing)" in text


def test_keys_of_a_later_version_are_allowed(stopped: Stopped, tmp_path: Path) -> None:
    folder = copied(stopped, tmp_path)

    def add(body: dict[str, Any]) -> None:
        state = body["state"]
        for part in (state, state["position"], state["schedule"], state["epochs"][0]):
            part["of later"] = 1

    forge(folder / LAST, add)
    forge_tensors(folder / LAST, lambda t: t.update({"of later": torch.zeros(1)}))
    found = newest_checkpoint(folder, print, stopped.state.check)
    assert found
    assert found.step == 13
    stopped.state.restore(found)
    assert stopped.state.step == 13


def test_restoring_is_all_or_nothing(stopped: Stopped, tmp_path: Path) -> None:
    """The last tensor that is looked at is wrong: the first ones are not taken over either."""
    state, folder = stopped.state, copied(stopped, tmp_path)
    found = newest_checkpoint(folder, print, state.check)
    assert found
    wrong = {**found.tensors, "best.head.linear.bias": torch.zeros(3)}
    wrong["weights.head.linear.bias"] = torch.full((7,), 9.0)
    before = {name: weights.clone() for name, weights in state.prepared.model.named_parameters()}
    step, position = state.step, state.position
    with refuses(ValueError, "best.head.linear.bias"):
        state.restore(Checkpoint(found.step, wrong, found.state, found.sound))
    for name, weights in state.prepared.model.named_parameters():
        assert torch.equal(weights, before[name]), name
    assert (state.step, state.position) == (step, position)


def test_the_schema_has_the_fields_of_what_is_saved() -> None:
    assert set(EpochRecord.model_fields) == set(Epoch.__dataclass_fields__)
    assert set(PositionRecord.model_fields) == set(Position.__dataclass_fields__)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@hypothesis_settings(max_examples=150)
@given(data=st.data())
def test_any_change_of_a_state_is_a_valueerror_or_a_state(
    stopped: Stopped, data: st.DataObject
) -> None:
    body = json.loads((stopped.run / "checkpoints" / LAST / "state.json").read_text())["body"]
    state = part = body["state"]
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = data.draw(st.sampled_from(keys))
        if not (isinstance(part[key], dict | list) and part[key] and data.draw(st.booleans())):
            break
        part = part[key]
    part[key] = data.draw(values)
    problem = "state."
    try:
        checked_state(state, body["step"])
    except ValueError as error:
        problem = str(error)
    assert problem.startswith(("'state.", "state."))


CPU = torch.device("cpu")
ALONE = processes_of(CPU)


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


def test_a_warm_up_longer_than_the_run_is_noted_once_before_its_first_step(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.warmup_steps=999", "train.max_epochs=2")
    notes: list[str] = []
    state = RunState(prepare(config, CPU), ALONE, notes.append)
    steps = 2 * len(state.plan_epoch().steps)
    assert [note.partition(",")[0] for note in notes] == [
        f"train.warmup_steps = 999 is more than the run's {steps} steps"
    ]
    state.step = steps // 2
    state.plan_epoch()
    assert len(notes) == 1


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
