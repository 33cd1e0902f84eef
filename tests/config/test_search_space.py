"""Spaces that a search may try."""

import pytest
from says import Says, refuses

from tagkit.config.search_space import Choices, Range, parse_spaces
from tagkit.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"embeddings.word_dim=-{'9' * 400}..1", Says("64", "numbers")),
        (f"embeddings.word_dim=1..{'9' * 400}", Says("64", "numbers")),
        (f"embeddings.word_dim=8,0x{'f' * 5000}", Says("64", "numbers")),
        (f"embeddings.word_dim=1..{'9' * 4500}", Says("numbers")),
        ("train.lr=nan..1", Says("numbers")),
        ("train.lr=0.1..inf", Says("numbers")),
        ("train.lr=0.1,-inf", Says("numbers")),
        (f"train.lr={'[' * 10_000}..1", Says("numbers")),
        (f"train.lr={'[' * 200}{']' * 200}", Says("number")),
    ],
    ids=range(9),
)
def test_a_value_that_no_option_can_have_is_refused_in_a_short_sentence(
    text: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_spaces([text])
    assert str(caught.value).startswith("spaces=...: '")
    assert problem == str(caught.value)
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


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("train.lr=0.001..0.01:log", Range(0.001, 0.01, True, False)),
        ("encoder.hidden=50..300", Range(50, 300, False, True)),
        ("encoder.dropout=0..0.5", Range(0, 0.5, False, False)),
        ("encoder.cell=lstm,gru", Choices(("lstm", "gru"))),
        ("encoder.hidden=100,200", Choices((100, 200))),
        ("encoder.bidirectional=true,false", Choices((True, False))),
    ],
)
def test_spaces_are_ranges_or_choices(text: str, space: Range | Choices) -> None:
    name, _, values = text.partition("=")
    assert parse_spaces([text]) == {name: space}
    assert parse_spaces([f"{name}={space}"]) == {name: space}
    assert values in (str(space), str(space).replace("0.0..", "0.."))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("train.lr", "'train.lr'"),
        ("train.lr=", "section.key=values"),
        ("train.rate=1,2", "train.rate"),
        ("train.lr=a..b", " .."),
        ("train.lr=0.1..0.01", " .. "),
        ("train.lr=0..1:log", ":log"),
        ("train.lr=0.1..1:ln", ":log"),
        ("output.dir=a,b", "output.dir"),
        ("head.hidden=[1]", "a number, a text, true or false"),
    ],
)
def test_a_space_that_cannot_be_read_is_named(text: str, problem: str) -> None:
    with refuses(ConfigError, "spaces", problem):
        parse_spaces([text])


def test_an_option_that_is_named_twice_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_spaces(["train.lr=0.01..0.02", "encoder.cell=lstm,gru", "train.lr=0.03..0.04"])
    assert str(caught.value) == Says("spaces=...", "train.lr", "twice")
