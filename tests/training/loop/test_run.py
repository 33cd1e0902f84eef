"""Evaluating, keeping the best and last model, going back."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from runs import Faulty, StopAt, digests, settings
from small_runs import of_task
from steps import loop_steps

from tagkit.errors import Interrupted, TrainingError
from tagkit.training.folder.checkpoint import newest_checkpoint
from tagkit.training.loop.state import RunState
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")
ALONE = processes_of(CPU)


def anything(_: object) -> None:
    """Takes over every checkpoint."""


@pytest.mark.slow
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


@pytest.mark.slow
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
    # There are no vectors to blame.
    assert problem.endswith(
        "also after 5 returns with half the learning rate each time. Lower train.lr"
    )
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


def test_a_run_that_has_ended_says_so_when_it_is_resumed(tmp_path: Path) -> None:
    said = "the run has ended: it is scored again, and not trained further"
    config = settings(tmp_path, "train.max_epochs=1")
    whole, again = StopAt(), StopAt()
    trained = train(config, whole)
    weights = digests(tmp_path)
    resumed = train(config, again, resume=True)
    assert (said in whole.notes, said in again.notes) == (False, True)
    assert (again.count, resumed.best.score) == (0, trained.best.score)
    assert digests(tmp_path) == weights
    # With more epochs there is something left to train.
    further = StopAt()
    train(settings(tmp_path, "train.max_epochs=2"), further, resume=True)
    assert said not in further.notes
    assert further.count > 0
