"""The report of a language model on a text or on pairs: exact sums, and what is counted."""

from collections.abc import Iterable, Sequence

import torch

from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.errors import DataError
from tagkit.evaluation.reports.language_report import LanguageReport, PairFigures
from tagkit.features.batching.document_batches import batches_in_order
from tagkit.features.batching.unit_stream import UnitIds, continuations_of, places_of
from tagkit.features.vocabulary import RESERVED, UNKNOWN_ID, Vocabulary
from tagkit.limits import BATCH_SIZE, BATCH_TOKENS
from tagkit.models.base.device import to_tensors
from tagkit.models.base.task_records import ModelContext
from tagkit.models.language.language_network import FIRST_ROW, LanguageModel
from tagkit.models.language.text_scoring import (
    class_figures,
    class_ids,
    ids_of,
    unit_nats,
    unit_nats_by_line,
    units_of,
)
from tagkit.nn.softmax.neural_cache import CacheOptions
from tagkit.text.pairs import DELIMITER
from tagkit.text.records import Sentence
from tagkit.text.units import END

_CHOSEN_AT_ONCE = 512  # units whose distributions are in memory together


def language_report(
    context: ModelContext, split: Split, cache: CacheOptions | None = None
) -> LanguageReport:
    """Cross-entropy and what follows from it, of the whole text.

    Args:
        context: a language model.
        split: the text.
        cache: of the units before each, where there is one.

    Raises:
        DataError: a cache for lines that are independent of each other.
    """
    lines, model, data = split.sentences, context.model, context.config.data
    assert isinstance(model, LanguageModel)
    by_line, on_pairs = data.context == "line", data.loss_on == "continuation"
    if cache is not None and by_line:
        raise DataError(
            "cache=...: expected a model that reads on from line to line, found one of "
            "data.context=line"
        )
    files = lines.files() if isinstance(lines, UnitLines) else [lines]
    pairs, nats, units, unknown = None, 0.0, 0, 0
    right = None
    # Each file is a text of its own, with a state and a cache of its own. Lines by themselves are
    # those of all files, of which longer batches can be made.
    for text in [lines] if by_line else files:
        ids = ids_of(context.config, text, context.vocabulary)
        if data.pairs:
            pairs = pair_figures(model, ids, context.vocabulary)
        if pairs and on_pairs:
            nats, units, unknown = pairs.nats, pairs.units, pairs.unknown
            continue
        if model.condition is not None:
            assert isinstance(text, UnitLines)
            nats, right = class_figures(model, ids, class_ids(text, context.vocabulary))
        else:
            parts = unit_nats_by_line(model, ids) if by_line else unit_nats(model, ids, cache=cache)
            nats += sum(float(part.sum(dtype=torch.float64)) for part in parts)
        units += len(ids) - 1
        unknown += sum(map(len, places_of(ids, UNKNOWN_ID)))
    return LanguageReport(
        nats=nats,
        units=units,
        unknown=unknown,
        characters=_characters(lines, continuations=on_pairs),
        lines=len(lines),
        files=len(files),
        unit=data.unit,
        context=data.context,
        pairs=pairs,
        counted=data.loss_on,
        cache=None if cache is None else cache.to_dict(),
        classes_right=right,
    )


def _characters(lines: Sequence[Sentence], *, continuations: bool) -> int:
    """Characters of lines, or of continuations, with one for the end of each."""
    if isinstance(lines, UnitLines) and not continuations:
        return lines.characters
    texts: Iterable[str] = (
        lines.texts()
        if isinstance(lines, UnitLines)
        else (sentence.text or "".join(sentence.words) for sentence in lines)
    )
    return sum(len(text.partition(DELIMITER)[2] if continuations else text) + 1 for text in texts)


@torch.inference_mode()
def pair_figures(model: LanguageModel, ids: UnitIds, vocabulary: Vocabulary) -> PairFigures:
    """How probable continuations are, and how many a greedy search finds exactly.

    A greedy search writes the whole continuation exactly where each of its units, and the end, is
    the most probable one after those before it: nothing need be generated.

    Args:
        model: of its units.
        ids: (units + 1,) of pairs, the end of a line first.
        vocabulary: of the model.
    """
    model.eval()
    device = next(model.parameters()).device
    pairs = continuations_of(ids, RESERVED + vocabulary.words.index(DELIMITER))
    banned = torch.tensor(never_continued(vocabulary), device=device)
    nats, units, unknown, exact = 0.0, 0, 0, 0
    for indices in batches_in_order(pairs.lengths, BATCH_SIZE, BATCH_TOKENS):
        batch = to_tensors(pairs.batch(indices), device)
        states, _ = model.read_on(batch.words.word_ids[batch.tokens.rows] - FIRST_ROW, None)
        places, numbers = batch.target("places"), batch.target("units")
        # (batch, time, hidden) -> (units, hidden), those of continuations
        states, wanted = states.flatten(0, 1)[places], numbers.flatten()[places]
        nats -= float(model.log_prob_of(states, wanted).sum(dtype=torch.float64))
        units += len(wanted)
        unknown += int((wanted == 0).sum())
        best = torch.cat(
            [
                model.log_probs(part).index_fill(1, banned, -torch.inf).argmax(1)
                for part in torch.split(states, _CHOSEN_AT_ONCE)
            ]
        )
        wrong = torch.zeros(numbers.numel(), dtype=torch.bool, device=device)
        wrong[places] = best != wanted
        exact += int((~wrong.view(numbers.shape).any(1)).sum())
    return PairFigures(nats=nats, units=units, unknown=unknown, exact=exact, pairs=len(pairs))


def never_continued(vocabulary: Vocabulary) -> list[int]:
    """Numbers of units that no continuation has: the unknown one, delimiters, line ends."""
    return [0, *units_with(vocabulary, "\t\n\r")]


def units_with(vocabulary: Vocabulary, characters: str) -> list[int]:
    """Numbers of units whose text has one of these characters, but for the end of a line.

    Byte pairs have units for the bytes that would end a line or its column: no text that is read
    has them, but any text that is generated could.
    """
    cut_by, unwanted = units_of(vocabulary), set(characters)
    return [
        number
        for number, unit in enumerate(vocabulary.words, 1)
        if unit != END and not unwanted.isdisjoint(cut_by.join([unit]))
    ]
