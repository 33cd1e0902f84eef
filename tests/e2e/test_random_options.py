"""Options in combinations that nobody has thought of: drawn by chance, they keep the promises.

Each option is tested by itself elsewhere. What has been found wrong in spite of that needed two:
momentum and layers that are unfrozen, a transformer and a segment length.
"""

import random
from pathlib import Path

import pytest
from runs import whole_and_stopped
from small_runs import TASKS, of_task

from tagkit.config import (
    Config,
    EncoderConfig,
    HeadConfig,
    TrainConfig,
    allowed,
    effective,
    load_config,
    with_options,
)
from tagkit.errors import ConfigError
from tagkit.inference.predictor import load
from tagkit.text.records import Prediction, Sentence
from tagkit.training.run_identity import refuse_unfit
from tagkit.training.trainer import train

SEEDS = range(4)
_SHARE = 0.35  # of the options that a draw sets

IN_TURN: dict[str, tuple[object, ...]] = {
    "encoder.cell": allowed(EncoderConfig, "cell"),
    "head.kind": allowed(HeadConfig, "kind")[::-1],
    "train.optimizer": allowed(TrainConfig, "optimizer"),
}
CHOICES: dict[str, tuple[object, ...]] = {
    "data.unit": ("bpe",),
    "data.bpe_size": (280,),
    "data.bpe_dropout": (0.1,),
    "data.train_scheme": ("iob2", "bilou"),
    "data.max_length": (3, 5),
    "embeddings.lowercase": (False,),
    "embeddings.min_count": (2, 100),
    "embeddings.singleton_dropout": (0, 0.9),
    "embeddings.dropout": (0.3,),
    "embeddings.char_cell": ("gru", "none"),
    "embeddings.char_dropout": (0.4,),
    "embeddings.affix_dim": (0, 4),
    "encoder.activation": ("relu",),
    "encoder.leak": ("learned", 0.5),
    "encoder.periods": ([1, 3],),
    "encoder.init": ("identity", "xavier"),
    "encoder.chrono": (9,),
    "encoder.heads": (2, 4),
    "encoder.norm": ("after",),
    "encoder.positions": ("sinusoidal", "learned"),
    "encoder.layers": (2, 3),
    "encoder.connection": ("residual", "highway"),
    "encoder.bidirectional": (False,),
    "encoder.merge": ("sum", "mean", "product"),
    "encoder.output_layers": ([5], [5, 4]),
    "encoder.ensemble_size": (2,),
    "encoder.dropout": (0.3, 0.9),
    "encoder.locked_dropout": (0.3,),
    "encoder.word_dropout": (0.3,),
    "encoder.weight_drop": (0.5,),
    "head.constrain": ("none", "decode", "train"),
    "head.tag_sharing": (True, False),
    "head.feedback_cell": ("lstm", "elman"),
    "head.beam": (2, 5),
    "head.sampling": ("constant", "inverse-sigmoid"),
    "head.pooling": ("last", "mean+max", "concat", "attention", "scaled-attention"),
    "head.feature_crf": (0, 16, 300),
    "head.bag_of_words": (0, 16),
    "head.hidden": ([5],),
    "head.label_smoothing": (0.1,),
    "head.class_weights": ("balanced",),
    "head.class_loss": (0.1, 5.0),
    "train.lr": (0.003, 0.1),
    "train.momentum": (0, 0.5),
    "train.weight_decay": (0.01,),
    "train.schedule": allowed(TrainConfig, "schedule"),
    "train.warmup_steps": (2, 50),
    "train.batch_size": (3, 5, 8),
    "train.batch_tokens": (30, 40),
    "train.accumulate": (2,),
    "train.max_grad_norm": (0, 0.1),
    "train.averaging": ("triggered",),
    "train.average_decay": (0, 0.9),
    "train.bptt": (2, 7),
    "train.flow_strength": (0.5,),
    "train.activation_penalty": (2,),
    "train.lm_loss": (0.1,),
    "train.lm_units": ("characters", "both"),
    "train.metric": ("loss",),
    "train.precision": ("bf16",),
    "train.workers": (1, 2),
    "train.checkpoint_every": (1, 4),
}
SENTENCES = [
    Sentence(tuple(text.split()))
    for text in (
        "Ada Miller visits New York .", "Ben", "Somebody unknown likes Cape Town and Rome !",
        "hello there , Finn .", "中文 42",
        "the quick brown fox leaves Oslo , and then Ada Novak leaves Rome and likes Lima .",
    )
]  # fmt: skip


def drawn(task: str, seed: int) -> dict[str, object]:
    """Some of the options; each cell, head and optimizer in its turn."""
    dice = random.Random(f"{task} {seed}")
    place = [*TASKS].index(task)
    options = {
        name: dice.choice(values) for name, values in CHOICES.items() if dice.random() < _SHARE
    }
    for (name, values), turn in zip(
        IN_TURN.items(), (seed * len(TASKS) + place, seed + place, seed + 2 * place), strict=True
    ):
        options[name] = values[turn % len(values)]
    return options


def accepted(base: Config, options: dict[str, object]) -> Config:
    """The run with these options, without those that do not go with others or have no effect."""
    left = dict(options)
    for _ in options:
        try:
            return effective(with_options(base, left))
        except ConfigError as error:
            said = str(error)
        # A refusal says what is in the way.
        del left[[name for name in left if name in said and name != "encoder.cell"][-1]]
    raise AssertionError(said)


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
    # Another run begins from it, and trains layer after layer.
    further = {"train.init_from": str(trained.folder), "train.unfreeze": 1,
               "train.checkpoint_every": 1000, "output.dir": str(tmp_path / "further")}  # fmt: skip
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


def assert_same(one: Prediction, other: Prediction) -> None:
    """Answers that differ in the last bits of their probabilities at most."""
    assert (one.tags, one.labels) == (other.tags, other.labels)
    assert [column.values for column in one.columns] == [each.values for each in other.columns]
    assert one.probabilities == pytest.approx(other.probabilities, abs=1e-4)
    scores = ({each.label: each.probability for each in side.scores} for side in (one, other))
    assert next(scores) == pytest.approx(next(scores), abs=1e-4)
