"""Spaces that a search may try."""

import pytest

from tagkit.config.search_space import Choices, Range, parse_spaces
from tagkit.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"embeddings.word_dim=-{'9' * 400}..1", "expected numbers of at most 64 bits"),
        (f"embeddings.word_dim=1..{'9' * 400}", "expected numbers of at most 64 bits"),
        (f"embeddings.word_dim=8,0x{'f' * 5000}", "expected numbers of at most 64 bits"),
        (f"embeddings.word_dim=1..{'9' * 4500}", "expected two numbers on the sides of .."),
        ("train.lr=nan..1", "expected finite numbers"),
        ("train.lr=0.1..inf", "expected finite numbers"),
        ("train.lr=0.1,-inf", "expected finite numbers"),
        (f"train.lr={'[' * 10_000}..1", "expected two numbers on the sides of .."),
        (f"train.lr={'[' * 200}{']' * 200}", "expected a number, a text, true or false"),
    ],
    ids=range(9),
)
def test_a_value_that_no_option_can_have_is_refused_in_a_short_sentence(
    text: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_spaces([text])
    assert str(caught.value).startswith("spaces: '")
    assert str(caught.value).endswith(f"': {problem}")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["a\x9bb", "x" * 100_000, "train.\x1b[31mlr"])
def test_a_name_that_is_no_option_is_quoted_safely_and_in_bounded_length(name: str) -> None:
    for text in (name, f"{name}=1"):
        with pytest.raises(ConfigError) as caught:
            parse_spaces([text])
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 200


def test_usual_spaces_are_what_they_say() -> None:
    assert parse_spaces(["train.lr=0.001..0.1:log", "encoder.cell=lstm,gru"]) == {
        "train.lr": Range(0.001, 0.1, log=True, whole=False),
        "encoder.cell": Choices(("lstm", "gru")),
    }
