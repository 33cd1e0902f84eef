"""Texts from a bigram model."""

import math
from itertools import pairwise
from typing import Any

import pytest
from says import Says
from toy_language_model import END, TEXT, UNKNOWN, ToyReader

from tagkit.errors import DataError
from tagkit.inference.generate.generation import (
    Generated,
    GeneratedPiece,
    generate_texts,
    in_order,
    stream_texts,
    whole_prompt,
)
from tagkit.inference.generate.generation_options import GenerationOptions


def generated(reader: ToyReader, prompt: str = "", **options: Any) -> list[Generated]:
    return generate_texts(reader, prompt, GenerationOptions(**options))


def log_prob(reader: ToyReader, prompt: str, units: list[int]) -> float:
    """By the bigrams."""
    path = [*[END, *reader.cut(prompt)][-1:], *units]
    return sum(float(reader.log_probs[a, b]) for a, b in pairwise(path))


def test_a_prompt_is_continued_up_to_the_end_of_the_line() -> None:
    reader = ToyReader()
    (found,) = generated(reader, "the", greedy=True)
    cat_sat = [*reader.cut("cat sat"), END]
    assert found == Generated(
        " cat sat", 3, pytest.approx(log_prob(reader, "the", cat_sat)), "symbol"
    )
    assert found.perplexity == pytest.approx(math.exp(-found.log_probability / 3))
    assert generated(reader, greedy=True)[0].text == "the cat sat"
    assert generated(reader, "the dog", max_units=1, greedy=True)[0].ended == "length"


def test_the_prompt_is_read_once_for_all_samples() -> None:
    reader = ToyReader()
    prompt = "the cat sat the dog sat the cat"
    generated(reader, prompt, samples=5, max_units=1)
    assert reader.read_units == 5  # the steps; the prompt before them, by `read`


def test_sample_k_of_a_seed_is_the_same_alone_and_with_others() -> None:
    reader = ToyReader(unit="character")
    many = generated(reader, "the ", samples=6, seed=3)
    assert generated(reader, "the ", samples=2, seed=3) == many[:2]
    assert generated(reader, "the ", seed=3) == many[:1]
    assert generated(reader, "the ", samples=6, seed=4) != many
    assert len({each.text for each in many}) > 3


def test_log_probabilities_of_samples_are_the_models() -> None:
    reader = ToyReader(unit="character")
    for each in generated(reader, "the ", samples=20, temperature=1.5, top_k=4, max_units=9):
        units = [*reader.cut(each.text), *[END] * (each.ended == "symbol")]
        assert each.units == len(units) <= 9
        assert each.log_probability == pytest.approx(log_prob(reader, "the ", units))


@pytest.mark.parametrize("same", [{"greedy": True}, {"temperature": 0}, {"temperature": 1e-9},
                                  {"top_k": 1}, {"top_p": 1e-9}, {"beam": 1}], ids=str)  # fmt: skip
def test_options_that_mean_the_most_probable_unit_agree(same: dict[str, Any]) -> None:
    reader = ToyReader("abcab\nabd\nbcabe\nabca\n", "character")
    assert generated(reader, "b", max_units=5, **same)[0].text == "cabca"


def test_options_that_change_nothing_are_plain_sampling() -> None:
    reader = ToyReader(unit="character")
    plain = generated(reader, samples=8, seed=5)
    assert (
        generated(reader, samples=8, seed=5, temperature=1, top_k=0, top_p=1, repetition_penalty=1)
        == plain
    )


def test_a_text_ends_by_its_length_alone() -> None:
    reader = ToyReader()
    for each in generated(reader, samples=5, end="length", max_units=12):
        assert (each.units, each.ended) == (12, "length")
        assert "\n" in each.text
    # A model of single lines has seen nothing after the end of one.
    for each in generated(ToyReader(spans_lines=False), samples=5, end="length", max_units=12):
        assert (each.units, "\n" in each.text) == (12, False)


def test_a_text_ends_by_halting_where_the_model_can() -> None:
    reader = ToyReader(halt=True)
    found = generated(reader, samples=20, seed=2)
    assert {each.ended for each in found} == {"halt"}
    for each in found:
        units = reader.cut(each.text)
        decisions = [n / (n + 6) for n in range(1, len(units) + 2)]
        halting = sum(math.log(1 - p) for p in decisions[:-1]) + math.log(decisions[-1])
        assert each.units == len(units)
        assert each.log_probability == pytest.approx(log_prob(reader, "", units) + halting)
    assert {each.ended for each in generated(reader, samples=5, end="symbol")} == {"symbol"}
    with pytest.raises(DataError) as caught:
        generated(ToyReader(), end="halt")
    assert str(caught.value) == (Says("end=halt", "probability"))


def test_unknown_and_padding_are_never_generated_unless_asked() -> None:
    reader = ToyReader()
    reader.log_probs[:, UNKNOWN] = 3.0
    texts = generated(reader, samples=20, temperature=3.0, max_units=8)
    assert not any("<" in each.text for each in texts)
    assert generated(reader, greedy=True, max_units=2, allow_unknown=True)[0].text == "<unk> <unk>"
    assert "<unk>" not in generated(reader, beam=3, max_units=3)[0].text


@pytest.mark.parametrize("search", [{}, {"greedy": True}, {"beam": 2}])
def test_a_model_without_any_unit_to_write_says_so(search: dict[str, Any]) -> None:
    reader = ToyReader()
    reader.banned = tuple({*range(reader.vocabulary_size)} - {UNKNOWN, END})
    assert generated(reader, **search)[0].text == ""  # the end of a line is left
    reader.banned += (END,)
    with pytest.raises(DataError) as caught:
        generated(reader, end="length", **search)
    assert str(caught.value) == (Says("allow_unknown=True", "generates"))
    (text,) = generated(reader, end="length", max_units=2, allow_unknown=True, **search)
    assert text.text == "<unk> <unk>"


def test_a_beam_gives_its_best_texts_and_all_are_different() -> None:
    reader = ToyReader()
    found = generated(reader, "the", beam=8, samples=4, length_penalty=0)
    assert [each.text for each in found][:2] == [" cat sat", " dog sat"]
    assert len({each.text for each in found}) == 4
    scores = [each.log_probability for each in found]
    assert scores == sorted(scores, reverse=True)
    units = [*reader.cut("cat sat"), END]
    assert scores[0] == pytest.approx(log_prob(reader, "the", units))
    longer = generated(reader, "the", beam=8, samples=8, length_penalty=3)
    assert sum(each.units for each in longer) >= sum(each.units for each in found)


def test_repetition_counts_the_prompt_but_not_the_ends_of_lines() -> None:
    reader = ToyReader(TEXT * 3)
    plain = {"greedy": True, "end": "length", "max_units": 3}
    assert generated(reader, "cat\nthe", **plain)[0].text == " cat sat\n"
    penalised = generated(reader, "cat\nthe", repetition_penalty=1000.0, **plain)[0].text
    assert penalised == " dog sat\n"


def test_texts_come_one_after_another_whatever_came_first() -> None:
    done = [Generated(str(n), 1, 0.0, "length") for n in range(3)]
    pieces = [
        GeneratedPiece(0, "a", None), GeneratedPiece(1, "b", None), GeneratedPiece(2, "c", done[2]),
        GeneratedPiece(0, "", None), GeneratedPiece(1, "d", done[1]),
        GeneratedPiece(0, "e", done[0]),
    ]  # fmt: skip
    seen = 0

    def coming() -> Any:
        nonlocal seen
        for piece in pieces:
            seen += 1
            yield piece

    found = in_order(coming())
    assert (next(found).text, seen) == ("a", 1)  # at once
    assert [(each.sample, each.text) for each in found] == [(0, "e"), (1, "b"), (1, "d"), (2, "c")]


def test_pieces_are_the_text_and_come_before_the_end() -> None:
    reader = ToyReader("é€😀\n€é\n", "byte")
    for seed in range(10):
        options = GenerationOptions(seed=seed, samples=3, max_units=8)
        pieces = [*stream_texts(reader, "", options)]
        texts = generate_texts(reader, "", options)
        for number, text in enumerate(texts):
            mine = [piece for piece in pieces if piece.sample == number]
            assert "".join(piece.text for piece in mine) == text.text
            assert [piece.done for piece in mine] == [*[None] * (len(mine) - 1), text]
    first = next(stream_texts(ToyReader(), "the", GenerationOptions(greedy=True)))
    assert first == GeneratedPiece(0, " cat", None)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"samples": 0}, Says("samples", "1", "0")),
        ({"temperature": -1}, Says("temperature", "0", "-1")),
        ({"temperature": math.inf}, Says("temperature", "0")),
        ({"repetition_penalty": math.inf},
         Says("repetition_penalty", "0")),
        ({"top_p": 0}, Says("top_p", "0", "1", "number")),
        ({"repetition_penalty": 0},
         Says("repetition_penalty", "0")),
        ({"length_penalty": math.nan}, Says("length_penalty", "0", "10")),
        ({"length_penalty": 1e308}, Says("length_penalty", "0", "10", "308")),
        ({"samples": 10_001}, Says("samples", "10,000", "10001")),
        ({"beam": 1_001}, Says("beam", "1,000", "1001")),
        ({"max_units": 2**31}, Says("max_units", "2,147,483,647", "2147483648")),
        ({"end": "stop"}, Says("end", "'stop'")),
        ({"beam": 2, "greedy": True}, Says("searches")),
        ({"beam": 2, "samples": 3},
         Says("samples", "2", "3")),
    ],
)  # fmt: skip
def test_options_without_a_meaning_are_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(DataError) as caught:
        generated(ToyReader(), **options)
    assert str(caught.value) == error


def test_a_model_of_single_lines_refuses_a_prompt_of_several() -> None:
    with pytest.raises(DataError) as caught:
        generated(ToyReader(spans_lines=False), "the cat\nthe")
    assert str(caught.value) == (Says("2", "prompt"))


def test_a_model_of_pairs_refuses_a_prompt_of_two_tabs() -> None:
    reader = ToyReader(spans_lines=False)
    reader.delimiter = UNKNOWN
    (found,) = generated(reader, "the\tcat", greedy=True)
    assert found.text == " sat"
    with pytest.raises(DataError) as caught:
        generated(reader, "the\tcat\tsat")
    assert str(caught.value) == (Says("2", "'the\\tcat\\tsat'", "continuation"))


def test_a_model_of_continuations_reads_a_tab_behind_a_prompt_that_has_none() -> None:
    reader = ToyReader("ab\tcd\n" * 3, "character", spans_lines=False)
    reader.delimiter = reader.number["\t"]
    (free,) = generated(reader, "ab", greedy=True)
    assert free.text == "\tcd"  # a model of whole pairs writes the tab itself
    reader.counts_prefix = False
    assert whole_prompt(reader, "ab") == whole_prompt(reader, "ab\t") == "ab\t"
    assert whole_prompt(reader, "ab\tc") == "ab\tc"
    for prompt, text in (("ab", "cd"), ("ab\t", "cd"), ("ab\tc", "d")):
        for options in ({"greedy": True}, {"beam": 2}):
            (found,) = generated(reader, prompt, **options)
            assert found.text == text
    for blank in ("", "  "):
        with pytest.raises(DataError) as caught:
            generated(reader, blank)
        assert str(caught.value) == (Says("continue"))


def test_what_continues_a_prefix_has_no_second_tab() -> None:
    # Half of the continuations of "b" would begin with a tab: what was learnt goes on after it.
    reader = ToyReader("ab\tcb\tcb\n" * 3, "character", spans_lines=False)
    reader.delimiter = reader.number["\t"]
    reader.counts_prefix = False
    for options in ({"samples": 50, "seed": 1}, {"beam": 5, "samples": 5}):
        texts = [each.text for each in generated(reader, "ab", **options)]
        assert "cb" in texts
        assert not any("\t" in text for text in texts)
    reader.counts_prefix = True  # a whole pair needs one, and only one
    for options in ({"samples": 50, "seed": 1}, {"beam": 20, "samples": 20}):
        counts = [each.text.count("\t") for each in generated(reader, "ab", **options)]
        assert max(counts) == 1
