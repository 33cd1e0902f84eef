"""A language model for programs, with a toy model in place of a trained one."""

from collections.abc import Iterator
from typing import Any

import pytest
from says import Says, refuses
from toy_language_model import ToyReader

from tagkit.errors import DataError
from tagkit.inference.generate.generation import generate_texts
from tagkit.inference.generate.generation_options import GenerationOptions
from tagkit.inference.generate.line_scores import score_lines
from tagkit.inference.generate.text_generator import TextGenerator


def test_texts_are_those_of_the_same_options() -> None:
    generator = TextGenerator(ToyReader())
    for prompt, options in (
        ("the", {"greedy": True}),
        ("the", {"beam": 4, "samples": 2, "length_penalty": 0.5}),
        ("", {"samples": 5, "seed": 3, "temperature": 1.5, "top_k": 3, "max_units": 4}),
    ):
        expected = generate_texts(ToyReader(), prompt, GenerationOptions(**options))
        assert generator.generate(prompt, **options) == expected
        pieces = [*generator.stream(prompt, **options)]
        for number, text in enumerate(expected):
            assert "".join(piece.text for piece in pieces if piece.sample == number) == text.text


def test_lines_are_scored_as_they_are_read() -> None:
    taken = []

    def lines() -> Iterator[str]:
        for line in ("the cat sat", "", "cat the sat", "a dog"):
            taken.append(line)
            yield line

    scores = TextGenerator(ToyReader()).score(lines(), batch_size=2)
    assert taken == []
    found = [next(scores)]
    assert taken == ["the cat sat", ""]
    found += scores
    expected = [score for batch in score_lines(ToyReader(), [[*taken]]) for score in batch]
    assert found == expected
    assert [score.text for score in found] == taken


@pytest.mark.parametrize("lines", ["the cat", ["the\ncat"]])
def test_a_text_in_place_of_lines_is_refused(lines: str | list[str]) -> None:
    with refuses(DataError, "lines"):
        list(TextGenerator(ToyReader()).score(lines))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"beam": -1}, Says("beam", "0", "-1", "number")),
        ({"beams": 3},
         Says("beams", "max_units", "top_k")),
        ({"beam": 3, "seed": 2}, Says("effect")),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_before_anything_is_generated(
    options: dict[str, Any], error: str
) -> None:
    with pytest.raises(DataError) as caught:
        TextGenerator(ToyReader()).stream("the", **options)
    assert str(caught.value) == error
