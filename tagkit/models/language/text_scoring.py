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

NO_CLASS = -1
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
def unit_nats_by_line(model: LanguageModel, ids: UnitIds) -> Iterator[Tensor]:
    """The same where each line is a text by itself; lines come in order of length."""
    for batch in _line_batches(model, lines_of(ids)):
        yield -model.line_log_probs(batch)[batch.tokens.mask].cpu()


@torch.inference_mode()
def class_figures(model: LanguageModel, ids: UnitIds, classes: Ids) -> tuple[float, int]:
    """Nats of lines given their class, and how many have the class argmax p(class) p(line | class).

    Of a class that the model does not know, a line has log sum over all p(class) p(line | class).

    Args:
        model: that is given classes.
        ids: (units + 1,) of the text, the end of a line first.
        classes: (lines,) of each; `NO_CLASS` where the model does not know it.
    """
    assert model.condition is not None
    prior = model.condition.log_prior
    nats, right = 0.0, 0
    for batch in _line_batches(model, lines_of(ids, classes)):
        own = batch.target(CLASSES)
        # (lines,) of each class -> (lines, classes), with what is known of all of them
        given = torch.stack([
            model.line_log_probs(batch, torch.full_like(own, number)).sum(1)
            for number in range(len(prior))
        ], 1)  # fmt: skip
        joint = given.double() + prior
        of_own = given.double().gather(1, own.clamp(min=0).unsqueeze(1)).squeeze(1)
        nats -= float(torch.where(own == NO_CLASS, joint.logsumexp(1), of_own).sum())
        right += int((joint.argmax(1) == own).sum())
    return nats, right


def _line_batches(model: LanguageModel, lines: UnitStream) -> Iterator[Batch[Tensor]]:
    model.eval()
    device = next(model.parameters()).device
    for indices in batches_in_order(lines.lengths, BATCH_SIZE, BATCH_TOKENS):
        yield to_tensors(lines.batch(indices), device)


def class_ids(lines: UnitLines, vocabulary: Vocabulary) -> Ids:
    """(lines,) number of the class of each line, as the model has them; else `NO_CLASS`."""
    found = map(vocabulary.class_id, lines.own_classes)
    return np.array([NO_CLASS if number is None else number for number in found], dtype=np.int64)


def units_of(vocabulary: Vocabulary) -> Units:
    """The units of a language model."""
    units = vocabulary.units.units if vocabulary.units else WordUnits("blanks")
    # Where a model of characters has seen tabs in plain text, the units are the same either way.
    return PairUnits(units) if DELIMITER in vocabulary.words else units
