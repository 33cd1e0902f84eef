"""Taggers and classifiers of benchmarks/recurrent.py, with encoders of equal size."""

import tempfile
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from corpora import read_parts, subset

from tagkit.config import Config, load_config
from tagkit.config.loading import with_options
from tagkit.models.base.building import build_encoder
from tagkit.training.run_end import Trained
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

UNITS = 8  # hidden units come in multiples of it: groups and heads divide them evenly


def with_cell(
    corpus: str, sentences: str, options: Sequence[str], flags: dict[str, Any], data: Path
) -> Config:
    """The configuration of a cell whose encoder is as large as that of the default LSTM."""
    inputs = _inputs(corpus, sentences, data)
    config = load_config(None, options, flags)
    if any(option.startswith("encoder.hidden=") for option in options):
        return config
    wanted = count_weights(load_config(None, (), flags), inputs)
    return with_options(config, {"encoder.hidden": equal_size(config, inputs, wanted)})


@lru_cache
def _inputs(corpus: str, sentences: str, data: Path) -> int:
    """Features of a token, which follow from the corpus."""
    with tempfile.TemporaryDirectory(prefix="recurrent-") as scratch:
        config = load_config(None, (), subset(corpus, sentences, Path(scratch), data))
        return prepare(config, torch.device("cpu")).model.embed.outputs


def equal_size(config: Config, inputs: int, wanted: int) -> int:
    """The multiple of `UNITS` hidden units with which an encoder is nearest to `wanted` weights."""

    def weights(units: int) -> int:
        changed = with_options(config, {"encoder.hidden": units * UNITS})
        return count_weights(changed, inputs)

    low, high = 1, 2  # weights(low) <= wanted < weights(high)
    while weights(high) <= wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if weights(middle) <= wanted:
            low = middle
        else:
            high = middle
    return UNITS * min((low, high), key=lambda units: abs(weights(units) - wanted))


def count_weights(config: Config, inputs: int) -> int:
    """Numbers that an encoder multiplies with, trained or not."""
    saved = build_encoder(config, inputs).state_dict()
    return sum(weights.numel() for weights in saved.values())


def trained_model(
    corpus: str,
    sentences: str,
    options: Sequence[str],
    changed: dict[str, Any],
    scratch: Path,
    data: Path,
) -> Trained:
    """Train a model of a setting; its folder is below `scratch`."""
    flags = subset(corpus, sentences, scratch, data, test_sentences=None)
    flags |= changed | {"output.dir": str(scratch / "model")}
    return train(with_cell(corpus, sentences, options, flags, data), force=True)


def run_task(
    corpus: str, sentences: str, epochs: int | None, options: Sequence[str], seed: int, data: Path
) -> dict[str, Any]:
    """Train and score a tagger or classifier."""
    changed: dict[str, Any] = {"train.seed": seed, "train.threads": 1}
    if epochs:
        changed |= {"train.max_epochs": epochs, "train.patience": 0}
    with tempfile.TemporaryDirectory(prefix="recurrent-") as scratch:
        start = time.process_time()
        trained = trained_model(corpus, sentences, options, changed, Path(scratch), data)
        config = trained.predictor.config
        assert trained.test is not None  # `subset` makes one
        return {
            "units": config.encoder.hidden,
            "weights": count_weights(config, _inputs(corpus, sentences, data)),
            "dev": trained.dev.headline,
            "test": trained.test.headline,
            "best_epoch": trained.best.number,
            "trained_epochs": len(trained.epochs),
            "seconds": round(time.process_time() - start, 1),
        }


def run_speed(
    corpus: str, sentences: str, options: Sequence[str], round_: int, data: Path
) -> dict[str, Any]:
    """Tokens a second of training an epoch, and of decoding test after a first pass."""
    changed = {"train.seed": round_, "train.threads": 1, "train.max_epochs": 1}
    with tempfile.TemporaryDirectory(prefix="recurrent-") as scratch:
        trained = trained_model(corpus, sentences, options, changed, Path(scratch), data)
        test = read_parts(corpus, data).test
        tokens = sum(len(sentence.words) for sentence in test)
        trained.predictor.predict(test)
        start = time.perf_counter()
        trained.predictor.predict(test)
        decoding = tokens / (time.perf_counter() - start)
    return {
        "training": round(trained.epochs[0].tokens_per_s),
        "decoding": round(decoding),
        "units": trained.predictor.config.encoder.hidden,
    }
