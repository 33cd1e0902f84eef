"""What a configuration is refused for."""

from pathlib import Path
from typing import Any, get_args

import pytest

from tagkit.config import (
    Config,
    EmbeddingsConfig,
    EncoderConfig,
    Format,
    HeadConfig,
    allowed,
    load_config,
)
from tagkit.errors import ConfigError


def option(config: Config, name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def problems(*overrides: str, path: Path | None = None, **flags: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides, flags)
    return caught.value.problems


CHOICES = {
    "task": allowed(Config, "task"),
    "data.tokenizer": ("multilingual", "syntok", "blanks", "characters"),
    "data.context": ("stream", "line"),
    "data.direction": ("forward", "backward"),
    "data.format": get_args(Format),
    "data.header": ("auto", "yes", "no"),
    "data.label_level": ("coarse", "fine"),
    "data.tree_labels": ("fine", "binary"),
    "data.tree_targets": ("nodes", "root"),
    "data.on_misaligned": ("error", "expand", "shrink", "drop"),
    "data.scheme": ("auto", "iob1", "iob2", "iobes", "bilou", "bmes", "io", "labels"),
    "data.train_scheme": ("iob2", "iobes", "bilou"),
    # Those of a table follow it, as the test below holds: a new row is checked here too.
    "embeddings.char_cell": allowed(EmbeddingsConfig, "char_cell"),
    "embeddings.contextual_layers": allowed(EmbeddingsConfig, "contextual_layers"),
    "encoder.cell": allowed(EncoderConfig, "cell"),
    "encoder.activation": ("tanh", "relu"),
    "encoder.tree": ("auto", "parse", "balanced", "left", "right"),
    "encoder.norm": ("before", "after"),
    "encoder.positions": ("rotary", "sinusoidal", "learned"),
    "encoder.connection": ("none", "residual", "highway"),
    "encoder.merge": ("concat", "sum", "mean", "product"),
    "head.kind": allowed(HeadConfig, "kind"),
    "head.sampling": ("none", "constant", "linear", "inverse-sigmoid"),
    "head.pooling": allowed(HeadConfig, "pooling"),
    "head.multi_label": ("auto", "yes", "no"),
    "head.softmax": ("auto", "full", "adaptive", "sampled"),
    "head.constrain": ("auto", "none", "decode", "train"),
    "train.optimizer": ("adam", "adamw", "nadam", "sgd"),
    "train.averaging": ("running", "triggered"),
    "train.schedule": ("constant", "linear", "cosine", "plateau"),
}
