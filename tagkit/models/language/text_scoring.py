"""How probable a text is to a language model, exactly: as if it were read in one go."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from tagkit.config import Config
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.features import Ids
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.document_batches import batches_in_order
from tagkit.features.batching.unit_stream import (
    UnitIds,
    UnitStream,
    backwards,
    lines_of,
    unit_ids,
)
from tagkit.features.vocabulary import RESERVED, UNKNOWN_ID, Vocabulary
from tagkit.limits import BATCH_SIZE, BATCH_TOKENS
from tagkit.models.base.device import to_tensors
from tagkit.models.language.language_network import CLASSES, FIRST_ROW, Carried, LanguageModel
from tagkit.nn.softmax.neural_cache import CacheOptions, NeuralCache
from tagkit.text.pairs import DELIMITER, PairUnits
from tagkit.text.records import Sentence
from tagkit.text.units import END, Units, WordUnits

_SCORED_AT_ONCE = 512  # units whose states are in memory together


def ids_of(config: Config, lines: Iterable[Sentence], vocabulary: Vocabulary) -> UnitIds:
    """Lines as ids of units, in the direction that the model reads."""
    ids = {unit: RESERVED + number for number, unit in enumerate(vocabulary.words)}
    found = unit_ids((line.words for line in lines), ids, UNKNOWN_ID, ids[END])
    return backwards(found) if config.data.direction == "backward" else found


@torch.inference_mode()
def unit_nats(
    model: LanguageModel, ids: UnitIds, *, cache: CacheOptions | None = None
) -> Iterator[Tensor]:
    """Negative log-probability of each unit of a text, (units of a part,) part after part.

    The state is carried from part to part: the sum is that of reading the text in one go.

    Args:
        model: of its units.
        ids: (units + 1,) of the text, the end of a line first.
        cache: of the units before each, mixed into its probability; None for the model's own.
    """
    model.eval()
    device = next(model.parameters()).device
    carried: Carried | None = None  # zeros
    recent = None if cache is None else NeuralCache(cache)
    for begin in range(1, len(ids), _SCORED_AT_ONCE):
        stop = min(begin + _SCORED_AT_ONCE, len(ids))
        # (1, time): the units that are read, and at each step the next one
        numbers = torch.from_numpy(np.array(ids[begin - 1 : stop], np.int64) - FIRST_ROW)
        read, wanted = numbers[:-1].to(device), numbers[1:].to(device)
        states, carried = model.read_on(read[None], carried)
        log_probs = model.log_prob_of(states[0], wanted)
        if recent is not None:
            log_probs = recent.mix(states[0], wanted, log_probs)
        yield -log_probs.cpu()


@torch.inference_mode()
def unit_nats_by_line(
    model: LanguageModel, ids: UnitIds, classes: Ids | None = None
) -> Iterator[Tensor]:
    """The same where each line is a text by itself; lines come in order of length.

    Args:
        model: of its units.
        ids: (units + 1,) of the text, the end of a line first.
        classes: (lines,) of each, where the model reads them.
    """
    for batch in _line_batches(model, lines_of(ids, classes)):
        yield -model.line_log_probs(batch)[batch.tokens.mask].cpu()


@torch.inference_mode()
def classes_right(model: LanguageModel, ids: UnitIds, classes: Ids) -> int:
    """How many lines have the class argmax p(class) p(line | class), as a generative classifier.

    Arguments as of `unit_nats_by_line`.
    """
    assert model.condition is not None
    prior = model.condition.log_prior
    right = 0
    for batch in _line_batches(model, lines_of(ids, classes)):
        # (lines,) of each class -> (lines, classes)
        scores = [
            float(log_p) + model.line_log_probs(
                batch, torch.full_like(batch.target(CLASSES), number)
            ).sum(1)
            for number, log_p in enumerate(prior)
        ]  # fmt: skip
        right += int((torch.stack(scores, 1).argmax(1) == batch.target(CLASSES)).sum())
    return right


def _line_batches(model: LanguageModel, lines: UnitStream) -> Iterator[Batch[Tensor]]:
    model.eval()
    device = next(model.parameters()).device
    for indices in batches_in_order(lines.lengths, BATCH_SIZE, BATCH_TOKENS):
        yield to_tensors(lines.batch(indices), device)


def class_ids(lines: UnitLines, vocabulary: Vocabulary) -> Ids:
    """(lines,) number of the class of each line, as the model has them."""
    numbers = {name: number for number, name in enumerate(vocabulary.classes)}
    found = [numbers[label] for label in lines.own_classes]
    return np.array(found, dtype=np.int64)


def units_of(vocabulary: Vocabulary) -> Units:
    """The units of a language model."""
    units = vocabulary.units.units if vocabulary.units else WordUnits("blanks")
    # Where a model of characters has seen tabs in plain text, the units are the same either way.
    return PairUnits(units) if DELIMITER in vocabulary.words else units
