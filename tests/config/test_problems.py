# ruff: noqa: E501
"""What a refusal of a configuration says: all problems, quoted safely and in part."""

from pathlib import Path
from typing import Any

import pytest
from config_problems import problems
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.config import (
    EncoderConfig,
    allowed,
    load_config,
    option_names,
)
from tagkit.config.problems import explain
from tagkit.errors import ConfigError


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("encoder.layers=two", Says("encoder.layers", '"two"')),
        ("encoder.layers=1.5", Says("encoder.layers", "1.5")),
        ("encoder.bidirectional=maybe", Says("encoder.bidirectional", '"maybe"')),
        ("train.lr=fast", Says("train.lr", '"fast"', "'auto'")),
        ("data.train_file=7", Says("data.train_file", "7", "quotes")),
        ("data.feature_columns=1", Says("data.feature_columns", "1")),
        ("encoder.merge={}", Says("encoder.merge", "'concat'", "'sum'", "'mean'", "'product'")),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(override: str, problem: str) -> None:
    assert problems(override) == (problem,)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("encoder.hiden", "encoder.hidden"),
        ("encodr.hidden", "encoder.hidden"),
        ("hidden", "encoder.hidden"),
        ("train.hidden", "encoder.hidden"),  # right name, wrong section
        ("train.max_epoch", "train.max_epochs"),
        ("data.tain_file", "data.train_file"),
        ("encoder.Dropout", "encoder.dropout"),
        ("tsak", "task"),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest(name: str, nearest: str) -> None:
    [problem] = problems(f"{name}=3")
    assert problem == Says(name, nearest)


def test_an_unknown_option_that_is_near_nothing_is_answered_with_those_of_its_section() -> None:
    sections = "data, embeddings, encoder, head, train, output"
    for name in ("zzz", "zzz.qqq"):
        [problem] = problems(f"{name}=3")
        assert problem == Says(name, sections)
    [problem] = problems("data.zzzzqq=3")
    # Not the section itself, however near it is.
    assert not Says("train?").within(problems("train.ü=3"))
    inside = sorted(name for name in option_names() if name.startswith("data."))
    assert problem == Says("data.zzzzqq", ", ".join(inside))


def test_an_unknown_section_and_option_of_a_file_are_answered_with_the_nearest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_text("[encodr]\nhidden = 3\n[train]\nbatchsize = 3\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).split("\n") == [
        Says(path, "train.batchsize", "train.batch_size"),
        Says(path, "unknown"),
    ]


def test_all_problems_of_a_file_and_of_the_command_line_are_reported_at_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_text(
        '[encoder]\nhiden = 3\ndropout = 1.5\n[train]\nlr = "x"\n[head]\nconstrain = "hmm"\n',
        encoding="utf-8",
    )
    found = problems("train.sede=1", "train.seed=-1", path=path, **{"data.nope": 1})
    for named in (
        Says("train.sede", "train.seed?"), Says("data.nope"), Says("train.seed = -1"),
        Says("encoder.hiden", "encoder.hidden?"), Says("encoder.dropout = 1.5", "1"),
        Says('train.lr = "x"', "'auto'"), Says('head.constrain = "hmm"', "'decode'"),
    ):  # fmt: skip
        assert named.within(found)
    assert len(found) == 7


LARGE = "9" * 5000


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        (f"train.patience={LARGE}", Says("train.patience", '9' * 99, '9' * 49, "'auto'")),
        ("train.patience=0x" + "f" * 5000, Says("train.patience", "64")),
        ("train.patience=99999999999999999999",
         Says("train.patience", "99999999999999999999", "64")),
        ("head.hidden=[99999999999999999999]", Says("head.hidden", "99999999999999999999", "64")),
        ('data.train_file="a\\u0000b"', Says("data.train_file", '"a\\u0000b"', "NUL")),
        ("data.train_file=a\udcffb", Says("data.train_file", '"a\\udcffb"', "UTF", "8")),
        ("train.lr=" + "x" * 2_000_000, Says("train.lr", 'x' * 99, 'x' * 49, "'auto'")),
        ("train.seed=" + "[" * 100_000, Says("train.seed", '[' * 99, '[' * 49)),
        ("x" * 100_000 + "=1", Says('x' * 40, 'x' * 20)),
        ("x" * 100_000, Says('x' * 40, 'x' * 20, "section.key=value")),
        ("head.threshold=x", Says("head.threshold", '"x"')),
        ("data.token_column=1.5", Says("data.token_column", "1.5")),
    ],
    ids=range(12),
)  # fmt: skip
def test_a_value_beyond_all_bounds_is_refused_in_a_short_sentence(
    override: str, problem: str
) -> None:
    assert problems(override) == (problem,)


@pytest.mark.parametrize("override", ["train.momentum=\x9b", 'train.lr="\x85"', "a\x1bb=1", "\x7f"])
def test_names_and_values_are_quoted_safely(override: str) -> None:
    (problem,) = problems(override)
    assert problem.isprintable()


@pytest.mark.slow
def test_of_very_many_problems_the_first_are_named(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_text("".join(f"key{number} = 1\n" for number in range(1000)), encoding="utf-8")
    found = problems(path=path)
    assert len(found) == 31
    assert found[-1] == "and 970 problems more"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(option_names()), anything, min_size=1, max_size=4))
def test_any_value_is_taken_or_refused_in_words_of_toml(chosen: dict[str, Any]) -> None:
    message = ""
    try:
        load_config(flags=chosen)
    except ConfigError as error:
        message = str(error)
    for said in ("Value error", "instance of", "Config", "sys.", "pydantic"):
        assert said not in message


def test_all_choices_are_named_however_many_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(overrides=["encoder.cell=lstmm"])
    (said,) = caught.value.problems
    assert [name for name in allowed(EncoderConfig, "cell") if f"'{name}'" not in said] == []
    many = [{"type": "literal_error", "loc": ("encoder", "cell"), "input": "x",
             "msg": "Input should be " + ", ".join(f"'cell-{n}'" for n in range(40))}]  # fmt: skip
    (said,) = explain(many)["encoder.cell"]  # type: ignore[arg-type]
    assert [n for n in range(40) if f"'cell-{n}'" not in said] == []
