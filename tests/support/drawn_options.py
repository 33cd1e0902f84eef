"""Options drawn by chance, those of them that a run accepts, and answers that must be the same."""

import random
from collections.abc import Mapping

import pytest

from tagkit.config import Config, TrainConfig, allowed, effective, with_options
from tagkit.errors import ConfigError
from tagkit.text.records import Prediction, Sentence

_SHARE = 0.35  # of the options that a draw sets

CHOICES: dict[str, tuple[object, ...]] = {
    "data.unit": ("bpe",),
    "data.bpe_size": (280,),
    "data.train_scheme": ("iob2", "bilou"),
    "data.max_length": (3, 5),
    "embeddings.lowercase": (False,),
    "embeddings.min_count": (2, 100),
    "embeddings.dropout": (0.3,),
    "embeddings.char_cell": ("gru", "cnn", "skip", "none"),
    "embeddings.char_layers": (2,),
    "embeddings.affix_dim": (0, 4),
    "encoder.activation": ("relu",),
    "encoder.leak": ("learned", 0.5),
    "encoder.periods": ([1, 3],),
    "encoder.init": ("identity", "xavier"),
    "encoder.chrono": (9,),
    "encoder.initial_state": ("learned",),
    "encoder.heads": (2, 4),
    "encoder.memory": ([5, 3],),
    "encoder.norm": ("after",),
    "encoder.positions": ("sinusoidal", "learned"),
    "encoder.layers": (2, 3),
    "encoder.connection": ("residual", "highway"),
    "encoder.bidirectional": (False,),
    "encoder.merge": ("sum", "mean", "product"),
    "encoder.input_layers": ([6], [5, 4]),
    "encoder.output_layers": ([5], [5, 4]),
    "encoder.ensemble_size": (2,),
    "encoder.dropout": (0.3, 0.9),
    "encoder.locked_dropout": (0.3,),
    "encoder.word_dropout": (0.3,),
    "encoder.weight_drop": (0.5,),
    "head.constrain": ("none", "decode", "train"),
    "head.tag_sharing": (True, False),
    "head.beam": (2, 5),
    "head.sampling": ("constant", "inverse-sigmoid"),
    "head.pooling": ("last", "mean+max", "concat", "attention", "scaled-attention", "memory"),
    "head.hops": (1, 2),
    "head.feature_crf": (0, 16, 300),
    "head.bag_of_words": (0, 16),
    "head.hidden": ([5],),
    "head.label_smoothing": (0.1,),
    "head.class_weights": ("balanced",),
    "train.lr": (0.003, 0.1),
    "train.momentum": (0, 0.5),
    "train.weight_decay": (0.01,),
    "train.schedule": allowed(TrainConfig, "schedule"),
    "train.warmup_steps": (2, 50),
    "train.batch_size": (3, 5, 8),
    "train.batch_tokens": (30, 40),
    "train.clipping": ("random",),
    "train.max_state_grad": (0.01,),
    "train.max_grad_norm": (0, 0.1),
    "train.averaging": ("triggered",),
    "train.average_decay": (0, 0.9),
    "train.bptt": (2, 7),
    "train.flow_strength": (0.5,),
    "train.lm_loss": (0.1,),
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


def some_of(choices: Mapping[str, tuple[object, ...]], dice: random.Random) -> dict[str, object]:
    """Values for some of the options."""
    return {name: dice.choice(values) for name, values in choices.items() if dice.random() < _SHARE}


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


def assert_same(one: Prediction, other: Prediction) -> None:
    """Answers that differ in the last bits of their probabilities at most."""
    assert (one.tags, one.labels) == (other.tags, other.labels)
    assert [column.values for column in one.columns] == [each.values for each in other.columns]
    assert one.probabilities == pytest.approx(other.probabilities, abs=1e-4)
    scores = ({each.label: each.probability for each in side.scores} for side in (one, other))
    assert next(scores) == pytest.approx(next(scores), abs=1e-4)
