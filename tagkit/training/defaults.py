"""Options that are "auto": what follows from the size of the training corpus.

A step learns little, however many sentences it reads: what counts is the number of steps. A hundred
sentences in batches of 32 make 4 steps an epoch, and 20 epochs end before the first entity is
found. So small corpora are read in small batches and for more epochs. The numbers were chosen on
dev sets of nine corpora, from 50 sentences to all (benchmarks/BENCHMARKS.md, "Learning curves").
"""

import math
from dataclasses import dataclass
from typing import Any

from tagkit.config import Config, with_options
from tagkit.wording import plural

# The largest corpora, in sentences, that are read in batches of these sizes.
_BATCH_SIZES = ((500, 4), (2_000, 8), (6_000, 16))
_LARGEST_BATCH = 32
# Epochs of a corpus with enough steps, and the steps that a smaller one gets.
_EPOCHS, _MIN_STEPS = 20, 1_000
# The same for epochs, and steps, without a better score.
_PATIENCE, _MIN_PATIENCE_STEPS = 8, 400


@dataclass(frozen=True, slots=True)
class Chosen:
    """A configuration without "auto", and what was chosen.

    Attributes:
        config: resolved.
        reason: in a sentence, for the console; empty where nothing was chosen.
    """

    config: Config
    reason: str


def choose_by_size(config: Config, sentences: int, tokens: int) -> Chosen:
    """Replace each "auto" by a number.

    Args:
        config: of the run.
        sentences: of the training corpus, long ones cut into windows.
        tokens: of the training corpus.
    """
    train = config.train
    chosen: dict[str, Any] = {}
    batch_size, max_epochs = train.batch_size, train.max_epochs
    if batch_size == "auto":
        chosen["train.batch_size"] = batch_size = batch_size_for(sentences)
    sentences_per_batch = float(batch_size)
    if train.batch_tokens:  # which then decides, and not batch_size
        sentences_per_batch = max(1.0, train.batch_tokens * sentences / max(1, tokens))
    steps = max(1, math.ceil(sentences / (sentences_per_batch * train.accumulate)))  # an epoch
    if max_epochs == "auto":
        chosen["train.max_epochs"] = max_epochs = max(_EPOCHS, math.ceil(_MIN_STEPS / steps))
    if train.patience == "auto":
        chosen["train.patience"] = max(_PATIENCE, math.ceil(_MIN_PATIENCE_STEPS / steps))
    if not chosen:
        return Chosen(config, "")
    parts = []
    if "train.batch_size" in chosen and not train.batch_tokens:
        parts.append(f"batches of {batch_size}")
    if "train.max_epochs" in chosen:
        parts.append(
            f"at most {plural(chosen['train.max_epochs'], 'epoch')} of {plural(steps, 'step')}"
        )
    reason = f"{', '.join(parts)}: the corpus has {plural(sentences, 'sentence')}" if parts else ""
    return Chosen(with_options(config, chosen), reason)


def batch_size_for(sentences: int) -> int:
    """Sentences of a batch, for a training corpus of so many sentences."""
    return next((size for limit, size in _BATCH_SIZES if sentences <= limit), _LARGEST_BATCH)
