"""Options in combinations that nobody has thought of: drawn by chance, they keep the promises.

Each option is tested by itself elsewhere. What has been found wrong in spite of that needed two:
momentum and a new head, a transformer and a segment length.
"""

import random
from pathlib import Path

import pytest
from drawn_options import CHOICES, SENTENCES, accepted, assert_same, some_of
from runs import whole_and_stopped
from small_runs import TASKS, of_task

from tagkit.config import (
    Config,
    HeadConfig,
    TrainConfig,
    allowed,
    effective,
    load_config,
    with_options,
)
from tagkit.inference.predict.predictor import load
from tagkit.nn.layers.encoder import LAYERS
from tagkit.training.folder.run_identity import refuse_unfit
from tagkit.training.trainer import train

SEEDS = range(5)
IN_TURN: dict[str, tuple[object, ...]] = {
    "encoder.cell": tuple(LAYERS),  # those over trees are of one task
    "head.kind": allowed(HeadConfig, "kind")[::-1],
    "train.optimizer": allowed(TrainConfig, "optimizer"),
}


def drawn(task: str, seed: int) -> dict[str, object]:
    """Some of the options; each cell, head and optimizer in its turn."""
    dice = random.Random(f"{task} {seed}")
    place = [*TASKS].index(task)
    options = some_of(CHOICES, dice)
    for (name, values), turn in zip(
        IN_TURN.items(), (seed * len(TASKS) + place, seed + place, seed + 2 * place), strict=True
    ):
        options[name] = values[turn % len(values)]
    return options


def test_each_cell_is_drawn_and_each_head_and_optimizer_by_each_task() -> None:
    cells = {drawn(task, seed)["encoder.cell"] for task in TASKS for seed in SEEDS}
    assert cells == {*IN_TURN["encoder.cell"]}
    for task in TASKS:
        for name in ("head.kind", "train.optimizer"):
            assert {drawn(task, seed)[name] for seed in SEEDS} == {*IN_TURN[name]}, (task, name)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_options_drawn_by_chance_keep_the_promises(tmp_path: Path, task: str, seed: int) -> None:
    config = accepted(of_task(tmp_path / "data", task), drawn(task, seed))

    def settings(place: Path) -> Config:
        return with_options(config, {"output.dir": str(place)})

    # Stopped and resumed, it ends with the same weights.
    trained, _ = whole_and_stopped(tmp_path, 9, settings)
    # Its own configuration trains it again.
    own = trained.folder / "best" / "config.toml"
    refuse_unfit(load_config(own, flags={"output.dir": str(tmp_path / "again")}), resume=False)
    # Another run begins from it.
    further = {"train.init_from": str(trained.folder), "train.checkpoint_every": 1000,
               "output.dir": str(tmp_path / "further")}  # fmt: skip
    train(effective(with_options(config, further)))
    # Loaded, it answers the same, and a sentence alone as in a batch.
    loaded = load(trained.folder, "cpu")
    together = loaded.annotate(SENTENCES, batch_size=4, confidence=True)
    for number, sentence in enumerate(SENTENCES):
        (alone,) = loaded.annotate([sentence], batch_size=1, confidence=True)
        assert_same(together[number], alone)
    before = trained.predictor.annotate(SENTENCES, batch_size=4, confidence=True)
    for one, other in zip(together, before, strict=True):
        assert_same(one, other)
