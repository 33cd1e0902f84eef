"""What a language model learns from: its text as streams of segments, or as independent lines."""

from collections.abc import Iterable, Sequence

from tagkit.config import Config, fixed
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.features.batching.unit_dropout import ResegmentedText
from tagkit.features.batching.unit_stream import UnitStream, continuations_of, lines_of, streams_of
from tagkit.features.vocabulary import RESERVED, Vocabulary
from tagkit.models.language.text_scoring import ids_of
from tagkit.text.pairs import DELIMITER
from tagkit.text.records import Sentence


def examples_of(
    config: Config, lines: Sequence[Sentence], vocabulary: Vocabulary
) -> UnitStream | ResegmentedText:
    """The text, which with BPE-dropout is cut anew before each epoch."""
    dropout = config.data.bpe_dropout
    if not dropout:
        return _stream_of(config, lines, vocabulary)
    assert isinstance(lines, UnitLines)  # as `LanguageTask.read` gives them
    text = lines

    def cut(seed: int | None) -> UnitStream:
        found = text if seed is None else text.sampled(dropout, seed)
        return _stream_of(config, found, vocabulary)

    return ResegmentedText(cut)


def _stream_of(config: Config, lines: Iterable[Sentence], vocabulary: Vocabulary) -> UnitStream:
    ids = ids_of(config, lines, vocabulary)
    if config.data.loss_on == "continuation":
        return continuations_of(ids, RESERVED + vocabulary.words.index(DELIMITER))
    if config.data.context == "line":
        return lines_of(ids)
    return streams_of(ids, fixed(config.train.batch_size), fixed(config.train.bptt))
