# ruff: noqa: E501
"""Files, overrides and flags -> one configuration, and back to TOML."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from config_problems import CHOICES, option, problems
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses

from tagkit.config import (
    Config,
    DataConfig,
    EncoderConfig,
    allowed,
    as_config,
    carried_by_models,
    load_config,
    option_names,
    parse_config,
    to_toml,
)
from tagkit.config.loading import explain
from tagkit.errors import ConfigError


def test_a_file_is_overridden_by_set_and_set_by_flags(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_text("\ufeff[train]\nseed = 1\nlr = 0.5\nmax_epochs = 3\n", encoding="utf-8")
    train = load_config(
        path, ["train.seed=2", "train.lr=0.25"], {"train.seed": 3, "train.max_epochs": None}
    ).train
    assert (train.seed, train.lr, train.max_epochs) == (3, 0.25, 3)
    assert load_config(None, ["train.seed=2", "train.seed=4"]).train.seed == 4
    no = load_config(
        path, (), {"train.seed": 0, "embeddings.lowercase": False, "data.dev_file": ""}
    )
    assert (no.train.seed, no.embeddings.lowercase, no.data.dev_file) == (0, False, "")


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("data.train_file=a.txt", "a.txt"),
        ("data.train_file='7'", "7"),
        ('data.train_file="a = b"', "a = b"),
        ("data.train_file=a=b", "a=b"),
        ("data.train_file=", ""),
        (" data.train_file = C:\\new\\train.txt ", "C:\\new\\train.txt"),
        ("data.token_column=FORM", "FORM"),
        ("data.token_column=-2", -2),
        ("data.feature_columns=[1, -2, 'XPOS']", (1, -2, "XPOS")),
        ("encoder.bidirectional=false", False),
        ("train.lr=1e-3", 0.001),
        ("task=tag", "tag"),
    ],
)
def test_a_value_behind_set_is_toml_or_else_plain_text(override: str, value: object) -> None:
    name = override.partition("=")[0].strip()
    assert option(load_config(None, [override]), name) == value


def test_set_without_a_value_or_with_a_section_is_refused() -> None:
    assert problems("encoder.hidden", "=3", "train.sed=1") == (
        "overrides='encoder.hidden': expected section.key=value",
        "overrides='=3': expected section.key=value",
        Says("train.sed", "train.seed"),
    )
    assert problems("encoder=3") == (
        "encoder is a table; name one of its options, such as encoder.cell",
    )


def test_a_value_where_a_section_belongs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_text("encoder = 3\n", encoding="utf-8")
    assert problems("encoder.hidden=3", path=path) == (Says("3", "encoder"),)
    assert problems(path=path) == (Says("3", "encoder"),)


def test_what_is_given_beside_a_file_is_not_said_to_stand_in_it(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_text("[encoder]\nhidden = 0\n[train]\nseed = -1\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load_config(path, ["train.sed=3", "train.lr=fast"], {"train.seed": -2})
    assert [*map(str, refused.value.lines)] == [
        f"{path}: encoder.hidden = 0: expected a number greater than or equal to 1",
        "unknown option train.sed; did you mean train.seed?",
        "train.lr = \"fast\": expected 'auto' or a number",
        "train.seed = -2: expected a number greater than or equal to 0",
    ]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    assert problems(path=path) == (Says("another"),)
    path.write_text("[train\n", encoding="utf-8")
    [problem] = problems(path=path)
    assert problem.startswith("is not TOML: ")
    assert "line 1" in problem
    path.write_bytes(b'[output]\ndir = "M\xfcnchen"\n')
    assert problems(path=path) == ("is not TOML: not UTF-8 at byte 18",)
    assert problems(path=tmp_path) == (Says("directory"),)


LARGE = "9" * 5000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[train]\nseed = 1\nseed = 2\nlr = 1\n", Says("3", "9", "column")),
        ("[train]\n[data]\n[train]\n", Says("3", "7", "section")),
        ("[train\nseed = 1\n", Says("']'", "1", "7", "section")),
    ],
)
def test_what_is_no_toml_is_said_in_plain_words(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert said == str(caught.value)


def test_a_value_behind_set_is_one_value() -> None:
    assert load_config(None, ["data.train_file=1\nx = 2"]).data.train_file == "1\nx = 2"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a = " + LARGE.encode(), "is not TOML: a number has over 4,300 digits"),
        (b"a = " + b"[" * 100_000, "is not a configuration: nested too deeply"),
        (b".".join([b"a"] * 100_000) + b" = 1", "is not a configuration: a dotted key has over 16 parts"),
        (b"#" * 5_000_000, "expected at most 4,194,304 bytes, found more"),
        (b"\xff", "is not TOML: not UTF-8 at byte 1"),
        (b"\ntask = tag", "is not TOML: Invalid value (at line 2, column 8); a text needs quotes: "
         'task = "tag"'),
        (b'a = "\0"', "is not TOML: Illegal character '\\x00' (at line 1, column 6)"),
    ],
    ids=range(7),
)  # fmt: skip
def test_a_file_beyond_all_bounds_is_refused_in_a_short_sentence(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_bytes(content)
    assert problems(path=path) == (problem,)


def test_names_that_no_system_takes_are_refused(tmp_path: Path) -> None:
    assert problems(path=Path("a\0b")) == (Says("NUL"),)
    assert problems(path=tmp_path / ("a" * 300)) == (Says(),)


def test_dots_in_quoted_names_and_values_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    dots = "." * 100
    path.write_text(
        f'[head.label_weights]\n"{dots}" = 0.5 # {dots}\n[data]\ntrain_file = "{dots}"\n'
    )
    config = load_config(path)
    assert config.head.label_weights == {dots: 0.5}
    assert config.data.train_file == dots


def test_the_source_is_named_before_each_problem() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"train": {"seed": -1, "lr": 0}}, "models/ner/config.toml")
    assert str(caught.value) == (
        "models/ner/config.toml: train.lr = 0: expected 'auto' or a number greater than 0\n"
        "models/ner/config.toml: train.seed = -1: expected a number greater than or equal to 0"
    )
    assert caught.value.source == "models/ner/config.toml"


some_text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
columns = st.none() | st.integers(-99, 99) | some_text
values = {
    "data.train_file": some_text,
    "output.dir": some_text,
    "data.token_column": columns,
    "data.tag_column": columns,
    "data.feature_columns": st.lists(columns.filter(lambda c: c is not None), max_size=3),
    "data.scheme": st.sampled_from(CHOICES["data.scheme"]),
    "data.dev_fraction": st.floats(0, 1, exclude_min=True, exclude_max=True),
    "encoder.hidden": st.integers(1, 100_000),
    "encoder.dropout": st.floats(0, 1, exclude_max=True),
    "encoder.merge": st.sampled_from(CHOICES["encoder.merge"]),
    "embeddings.lowercase": st.booleans(),
    "train.lr": st.floats(0, 1e300, exclude_min=True),
    "train.seed": st.integers(0, 2**63 - 1),
}


@given(st.fixed_dictionaries({}, optional=values))
def test_a_configuration_written_as_toml_is_read_back_exactly(chosen: dict[str, Any]) -> None:
    config = load_config(flags=chosen)
    text = to_toml(config)
    assert parse_config(tomllib.loads(text), "again") == config
    assert to_toml(parse_config(tomllib.loads(text), "again")) == text


def test_all_options_are_written_but_those_without_a_value() -> None:
    written = tomllib.loads(to_toml(Config()))
    flat = {
        f"{section}.{key}" if isinstance(table, dict) else section
        for section, table in written.items()
        for key in (table if isinstance(table, dict) else [""])
    }
    assert set(option_names()) - flat == {
        "data.token_column", "data.tag_column", "data.text_column", "data.label_column",
        "head.threshold",
    }  # fmt: skip
    assert flat - set(option_names()) == set(carried_by_models(Config))
    assert DataConfig.model_fields.keys() >= written["data"].keys()


def test_a_configuration_is_given_as_itself_a_file_or_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_text("[train]\nseed = 7\nlr = 0.5\n", encoding="utf-8")
    expected = load_config(path)
    tables = {"train": {"seed": 7}, "train.lr": 0.5}
    for each in (expected, path, str(path), tables):
        assert as_config(each) == expected
    changed = expected.train.model_copy(update={"lr": -1.0})  # which pydantic does not check
    with refuses(ConfigError, "configuration", "train.lr", "-1.0"):
        as_config(expected.model_copy(update={"train": changed}))
    assert tables == {"train": {"seed": 7}, "train.lr": 0.5}  # as it was


def test_paths_may_be_those_of_pathlib() -> None:
    given = {
        "data.train_file": Path("a/b.conll"),
        "embeddings.contextual": [Path("c"), "d"],
        "output": {"dir": Path("e")},
    }
    config = as_config(given)
    assert config.data.train_file == str(Path("a/b.conll"))
    assert [*config.embeddings.contextual] == ["c", "d"]
    assert config.output.dir == "e"
    assert given["output"] == {"dir": Path("e")}  # as it was
    assert load_config(None, (), {"data.dev_file": Path("f")}).data.dev_file == "f"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nothing.toml", ["nothing.toml: no such file. Name another"]),
        (
            {"train.sed": 1, "train": {"lr": "fast"}, "tran": {}},
            [
                "configuration: unknown option train.sed; did you mean train.seed?",
                "configuration: train.lr = \"fast\": expected 'auto' or a number",
                "configuration: unknown option tran; did you mean train?",
            ],
        ),
    ],
)
def test_what_is_no_configuration_is_refused(value: Any, said: list[str]) -> None:
    with pytest.raises(ConfigError) as refused:
        as_config(value)
    assert sorted(map(str, refused.value.lines)) == sorted(said)
    with refuses(ConfigError, "'t'", "section.key=va"):
        load_config(None, "train.lr=1")  # each letter is one of them


def test_a_saved_configuration_is_read_without_the_commands_and_what_is_slow(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(to_toml(Config()), encoding="utf-8")
    program = (
        "import sys\n"
        "from tagkit.config import load_config\n"
        "load_config(sys.argv[1])\n"
        "slow = {'torch', 'numpy', 'typer', 'click', 'tagkit.cli', 'tagkit.text.records'}\n"
        "assert not slow & set(sys.modules), slow & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)


def test_the_first_values_may_be_checked_in_several_threads_at_once() -> None:
    program = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from tagkit.config import Config, load_config\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    read = [*pool.map(lambda seed: load_config(None, [f'train.seed={seed}']), range(8))]\n"
        "assert [config.train.seed for config in read] == [*range(8)]\n"
        "assert Config() == load_config()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


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
    sections = "data, embeddings, encoder, decoder, head, train, output"
    for name in ("zzz", "zzz.qqq"):
        [problem] = problems(f"{name}=3")
        assert problem == Says(name, sections)
    [problem] = problems("data.zzzzqq=3")
    # Not the section itself, however near it is.
    assert problems("train.ü=3") != ["unknown option train.ü; did you mean train?"]
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
    assert sorted(found) == sorted(
        [
            "unknown option train.sede; did you mean train.seed?",
            "unknown option data.nope; did you mean data.unit?",
            "train.seed = -1: expected a number greater than or equal to 0",
            "unknown option encoder.hiden; did you mean encoder.hidden?",
            "encoder.dropout = 1.5: expected a number less than 1",
            "train.lr = \"x\": expected 'auto' or a number",
            "head.constrain = \"hmm\": expected 'auto', 'none', 'decode' or 'train'",
        ]
    )


LARGE_PROBLEMS = "9" * 5000


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        (f"train.patience={LARGE_PROBLEMS}", Says("train.patience", '9' * 99, '9' * 49, "'auto'")),
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
