"""Language models as readers: which state each word has."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from language_parts import DIRECTIONS, UNITS, reader_of

from tagkit.features.batching.contextual_states import States, padded_rows
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.bundle.language_reader import ContextualReader, LanguageReader
from tagkit.models.language.language_network import Carried, LanguageModel
from tagkit.models.language.text_scoring import units_of
from tagkit.text.pairs import DELIMITER
from tagkit.text.records import Sentence
from tagkit.text.units import END

CPU = torch.device("cpu")
WORDS = (
    ("the", "cat", "sat"),
    ("mat",),
    ("a", "café", "日本", "sat", "on", "🙂", "the", "mat", ",", "unseen"),
    ("the", "cat") * 30,  # longer than what is read at a time
)


def sentences(words: tuple[tuple[str, ...], ...] = WORDS) -> list[Sentence]:
    return [Sentence(each) for each in words]


@torch.no_grad()
def last_state(model: LanguageModel, vocabulary: Vocabulary, units: list[str]) -> States:
    """The state after the end of a line and these units, read one by one."""
    numbers = {unit: number for number, unit in enumerate(vocabulary.words, 1)}
    states, carried = model.read_on(torch.tensor([[numbers[END]]]), None)
    for unit in units:
        states, carried = model.read_on(torch.tensor([[numbers.get(unit, 0)]]), carried)
    return states[0, 0].numpy()


def text_up_to(unit: str, direction: str, words: tuple[str, ...], place: int) -> str:
    """What a model has read when it comes to the state of a word, as the definition has it."""
    if direction == "forward":
        return " ".join(words[: place + 1]) + (" " if unit == "character" else "")
    # A byte pair holds the blank before it; of characters the blank is read last.
    begins = place == 0 and unit != "character"
    return ("" if begins else " ") + " ".join(words[place:])


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("unit", UNITS)
def test_the_state_of_each_word_is_that_of_reading_up_to_it_unit_by_unit(
    unit: str, direction: str
) -> None:
    _, reader, model, vocabulary = reader_of(unit, direction)
    for sentence, states in zip(sentences(), reader.read(sentences(), CPU), strict=True):
        assert states.shape == (len(sentence), 7)
        for place in {0, 1, len(sentence) // 2, len(sentence) - 1} & {*range(len(sentence))}:
            text = text_up_to(unit, direction, sentence.words, place)
            units = units_of(vocabulary).strings(text)
            wanted = last_state(model, vocabulary, units[:: 1 if direction == "forward" else -1])
            np.testing.assert_allclose(states[place], wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("unit", UNITS)
def test_a_sentence_has_the_same_states_alone_and_in_a_batch(unit: str, direction: str) -> None:
    _, reader, _, _ = reader_of(unit, direction)
    together = reader.read(sentences(), CPU)
    for sentence, states in zip(sentences(), together, strict=True):
        (alone,) = reader.read([sentence], CPU)
        np.testing.assert_allclose(states, alone, rtol=0, atol=1e-6)


def test_in_batches_of_one_shape_what_is_read_together_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, reader, model, _ = reader_of("character", "forward", "encoder.hidden=64")
    shapes, read_on = set(), model.read_on

    def recorded(
        units: torch.Tensor, carried: Carried | None, *, all_layers: bool
    ) -> tuple[torch.Tensor, Carried]:
        shapes.add(tuple(units.shape))
        return read_on(units, carried, all_layers=all_layers)

    monkeypatch.setattr(model, "read_on", recorded)
    dice = np.random.default_rng(1)
    many = [
        Sentence(tuple(dice.choice(["the", "cat", "mat", "café"], size=dice.integers(1, 12))))
        for _ in range(70)
    ]
    together = reader.read(many, CPU, alike=True)
    for part in ([3], [*range(40, 70)], [5, 69, 12]):
        for number, states in zip(
            part, reader.read([many[each] for each in part], CPU, alike=True), strict=True
        ):
            assert np.array_equal(states, together[number])
    assert len(shapes) == 1  # other shapes may round in another way, on some machines


def test_words_before_the_state_matter_and_words_after_it_do_not() -> None:
    _, forward, _, _ = reader_of("character", "forward")
    _, backward, _, _ = reader_of("character", "backward")
    both = [Sentence(("the", "cat", "sat")), Sentence(("the", "cat", "on"))]
    for reader, same, other in ((forward, 1, 2), (backward, 2, 1)):
        first, second = reader.read(both, CPU)
        if reader is forward:
            assert np.allclose(first[: same + 1], second[: same + 1], atol=1e-6)
        assert not np.allclose(first[other], second[other], atol=1e-3)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("unit", UNITS)
def test_a_word_without_a_unit_of_its_own_has_a_state(unit: str, direction: str) -> None:
    _, reader, _, _ = reader_of(unit, direction)
    odd = [Sentence((" ", "cat", "a b", "\u00a0", "\ud800x", "\u0301")), Sentence(("\u2003",))]
    for sentence, states in zip(odd, reader.read(odd, CPU), strict=True):
        assert states.shape == (len(sentence), 7)
        assert np.isfinite(states).all()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_model_of_characters_that_has_seen_tabs_reads_the_same_blanks(direction: str) -> None:
    part, plain, model, vocabulary = reader_of("character", direction)
    names = [*vocabulary.words[1:], DELIMITER]
    damaged = {**part.vocabulary, "words": [END, *names]}
    tabs = LanguageReader(replace(part, vocabulary=damaged), model)
    for sentence in sentences():
        assert tabs.reading(sentence.words) == plain.reading(sentence.words)


def test_a_model_that_is_where_it_reads_is_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    # torch takes its cells apart to move them, and another thread may be reading with them.
    _, reader, _, _ = reader_of()
    expected = reader.read(sentences(), CPU)
    monkeypatch.setattr(LanguageModel, "to", None)
    for one, other in zip(reader.read(sentences(), CPU), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_of_several_models_the_states_are_side_by_side() -> None:
    found = [reader_of("character", "forward"), reader_of("word", "backward", seed=2)]
    reader = ContextualReader([each[0] for each in found], [each[1] for each in found])
    for states, one, other in zip(
        reader.read(sentences(), CPU),
        *(each[1].read(sentences(), CPU) for each in found),
        strict=True,
    ):
        assert np.array_equal(states, np.concatenate([one, other], 1))


def test_weights_go_back_to_the_models_that_they_came_from() -> None:
    found = [reader_of("character", "forward"), reader_of("word", "backward", seed=2)]
    others = [reader_of("character", "forward", seed=3), reader_of("word", "backward", seed=4)]
    reader, other = (
        ContextualReader([each[0] for each in some], [each[1] for each in some])
        for some in (found, others)
    )
    assert reader.weights == sum(
        weights.numel() for each in found for weights in each[2].parameters()
    )
    before = other.read(sentences(), CPU)
    other.set_tensors({"head.weight": torch.zeros(1), **reader.tensors()})
    for states, old, new in zip(
        reader.read(sentences(), CPU), before, other.read(sentences(), CPU), strict=True
    ):
        assert np.array_equal(states, new)
        assert not np.allclose(states, old)


def test_states_of_a_batch_are_zero_on_padding() -> None:
    one, two = np.ones((1, 3), np.float32), np.full((2, 3), 2, np.float32)
    padded = padded_rows([one, two], 2, np.float32)
    assert padded.dtype == np.float32
    assert padded.tolist() == [[[1] * 3, [0] * 3], [[2] * 3, [2] * 3]]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("options", "layers"),
    [
        (("encoder.hidden=5", "encoder.layers=2"), 3),
        (("encoder.layers=2",), 2),  # of 7 values, beside embeddings of 5
        (("encoder.hidden=5", "encoder.output_layers=[5]"), 3),
        (("encoder.hidden=5", "encoder.layers=2", "encoder.connection=residual"), 3),
    ],
)
def test_the_layers_of_a_word_are_the_states_that_each_layer_passes_on(
    direction: str, options: tuple[str, ...], layers: int
) -> None:
    part, _, model, _ = reader_of("word", direction, *options)
    assert model.mixed_layers == layers
    width = model.encoder.outputs
    reader = LanguageReader(replace(part, layers=layers, states=layers * width), model)
    given = sentences()
    for sentence, states in zip(given, reader.read(given, CPU), strict=True):
        reading = reader.reading(sentence.words)
        ids = torch.tensor([reading.units])
        with torch.no_grad():
            below = model.embed.words.trained(ids + 1)  # the first row is padding
            found = [below]
            for number, layer in enumerate(model.encoder.stack()):
                above, _ = layer.carry(below, None)
                if number and model.encoder.connections:
                    above = model.encoder.connections[number - 1](below, above)
                below = above
                found.append(below)
            for layer in model.encoder.output_layers:
                found.append(torch.relu(layer(below)))
        wanted = [each[0, reading.places] for each in found if each.shape[-1] == width]
        expected = torch.cat(wanted, -1)
        np.testing.assert_allclose(states, expected.numpy(), rtol=0, atol=1e-5)
        (alone,) = reader.read([sentence], CPU)
        np.testing.assert_allclose(states, alone, rtol=0, atol=1e-6)
