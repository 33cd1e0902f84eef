"""What a language model learns from, where its units are drawn anew in each epoch."""

from pathlib import Path

import numpy as np
import pytest

from tagkit.config import Config, load_config
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.text_lines import TextLines
from tagkit.features.batching.unit_dropout import ResegmentedText
from tagkit.features.batching.unit_stream import UnitStream
from tagkit.features.vocabulary import RESERVED, Vocabulary
from tagkit.models.language.language_model import LanguageTask
from tagkit.models.language.text_scoring import ids_of
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.pairs import DELIMITER, PairUnits
from tagkit.text.units import END

TASK = LanguageTask()
PAIRS = BytePairs((("a", "b"), ("ab", "c"), ("Ġ", "abc")))
LINES = ["abc abc", "c abc ab", "abc"] * 5
CASES = {
    "stream": ["data.bpe_dropout=0.5"],
    "backward": ["data.bpe_dropout=0.5", "data.direction=backward"],
    "line": ["data.bpe_dropout=0.5", "data.context=line"],
    "continuation": ["data.bpe_dropout=0.5", "data.context=line", "data.pairs=true",
                     "data.loss_on=continuation"],
}  # fmt: skip


def learnt_from(folder: Path, *options: str) -> tuple[Config, UnitLines, Vocabulary]:
    given = ["data.unit=bpe", "train.batch_size=2", "train.bptt=4", *options]
    config = load_config(None, given, {"task": "language-model"})
    lines = [f"{line}\t{line}" for line in LINES] if config.data.pairs else LINES
    path = folder / "a.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    units = PairUnits(PAIRS) if config.data.pairs else PAIRS
    text = UnitLines(TextLines(str(path)), units)
    return config, text, TASK.vocabulary(config, text)


def written(stream: UnitStream, config: Config, vocabulary: Vocabulary) -> list[str]:
    """The lines that ids stand for."""
    ids = stream.ids[::-1] if config.data.direction == "backward" else stream.ids
    lines: list[list[str]] = [[]]
    for unit in (vocabulary.words[number - RESERVED] for number in ids[1:]):
        if unit == END:
            lines.append([])
        else:
            lines[-1].append(unit)
    units = PairUnits(PAIRS) if config.data.pairs else PAIRS
    return [units.join(line) for line in lines[:-1]]


@pytest.mark.parametrize("case", CASES)
def test_each_epoch_has_units_of_its_own_which_follow_from_the_generator(
    tmp_path: Path, case: str
) -> None:
    pytest.importorskip("tokenizers")
    config, text, vocabulary = learnt_from(tmp_path, *CASES[case])
    encoded = TASK.encode(config, text, vocabulary, None)
    assert isinstance(encoded, ResegmentedText)
    # In evaluation and before the first epoch nothing is drawn.
    assert encoded.stream.ids.tolist() == ids_of(config, text, vocabulary).tolist()
    generator = np.random.default_rng(8)
    before = generator.bit_generator.state
    epochs = []
    for _ in range(2):
        steps = TASK.batches(encoded, config, generator)
        epochs.append((encoded.stream.ids.tolist(), [[*map(list, step)] for step in steps]))
        assert written(encoded.stream, config, vocabulary) == [*text.texts()]
        # Every example of the present units is read once.
        read = sorted(int(number) for step in steps for batch in step for number in batch)
        assert read == [*range(len(encoded))]
    assert epochs[0][0] != epochs[1][0]
    # A run that is resumed has another object and the generator as it was.
    generator.bit_generator.state = before
    resumed = TASK.encode(config, text, vocabulary, None)
    for expected in epochs:
        steps = TASK.batches(resumed, config, generator)
        assert (resumed.stream.ids.tolist(), [[*map(list, step)] for step in steps]) == expected


def test_both_sides_of_a_pair_are_drawn_and_the_units_after_the_tab_count(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    config, text, vocabulary = learnt_from(tmp_path, *CASES["continuation"])
    encoded = TASK.encode(config, text, vocabulary, None)
    plain = encoded.target_count

    def sides(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        at = words.index(DELIMITER)
        return words[:at], words[at + 1 :]

    whole = [sides(line.words) for line in text]
    for number in range(2):
        drawn = [sides(line.words) for line in text.sampled(0.5, 1)]
        assert {pair[number] for pair in drawn} - {pair[number] for pair in whole}
    TASK.batches(encoded, config, np.random.default_rng(1))
    assert isinstance(encoded, ResegmentedText)
    ends = vocabulary.words.index(END) + RESERVED
    tab = vocabulary.words.index(DELIMITER) + RESERVED
    counted, counts = 0, False
    for number in encoded.stream.ids[1:].tolist():
        counted += counts
        counts = number != ends and (counts or number == tab)
    assert encoded.target_count == counted > plain


def test_without_dropout_no_number_is_drawn(tmp_path: Path) -> None:
    config, text, vocabulary = learnt_from(tmp_path, "data.bpe_dropout=0")
    encoded = TASK.encode(config, text, vocabulary, None)
    assert isinstance(encoded, UnitStream)
    generator = np.random.default_rng(1)
    before = generator.bit_generator.state
    TASK.batches(encoded, config, generator)
    assert generator.bit_generator.state == before
