# ruff: noqa: E501
"""tagkit.toml: names, types, limits, messages."""

import os
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tagkit.config import (
    Config,
    DataConfig,
    EmbeddingsConfig,
    EncoderConfig,
    Format,
    HeadConfig,
    TrainConfig,
    allowed,
    default_threads,
    load_config,
    option_names,
    parse_config,
    to_toml,
)
from tagkit.errors import ConfigError


def option(config: Config, name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def problems(*overrides: str, path: Path | None = None, **flags: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides, flags)
    return caught.value.problems


def test_every_option_has_a_default_and_a_name() -> None:
    names = option_names()
    assert len(names) == len(set(names))
    for name in names:
        option(Config(), name)
    assert load_config() == Config() == parse_config({}, "x")


FINITE = "a finite number"
NOT_BELOW_0, NOT_BELOW_1 = "greater than or equal to 0", "greater than or equal to 1"
SIZES = ("embeddings.word_dim", "embeddings.char_dim", "embeddings.char_hidden",
         "embeddings.feature_dim", "encoder.hidden")  # fmt: skip
PROBABILITIES = ("embeddings.singleton_dropout", "embeddings.char_dropout", "encoder.dropout",
                 "encoder.locked_dropout", "encoder.word_dropout", "train.momentum",
                 "train.average_decay", "head.dropout", "head.label_smoothing")  # fmt: skip
FROM_0 = ("embeddings.max_vectors", "train.warmup_steps", "train.anneal_patience",
          "train.bptt", "train.batch_tokens", "train.patience")  # fmt: skip
FROM_1 = ("embeddings.min_count", "train.batch_size", "train.max_epochs")

# Option, the values at its limits, and what is refused on either side with what is expected.
LIMITS: list[tuple[str, list[str], list[tuple[str, str]]]] = [
    *((name, ["1", "100_000"], [("0", NOT_BELOW_1), ("100_001", "less than or equal to 100000")]) for name in SIZES),
    *((name, ["0", "0.999"], [("-0.1", NOT_BELOW_0), ("1", "less than 1"), ("nan", FINITE)]) for name in PROBABILITIES),
    *((name, ["0", "9"], [("-1", NOT_BELOW_0)]) for name in FROM_0),
    *((name, ["1", "9"], [("0", NOT_BELOW_1)]) for name in FROM_1),
    ("data.dev_fraction", ["0.001", "0.999"], [("0", "greater than 0"), ("1", "less than 1")]),
    ("head.class_loss", ["1e-9", "9"], [("0", "greater than 0"), ("inf", FINITE)]),
    ("data.max_line_chars", ["1000", "2147483647"], [("999", "greater than or equal to 1000"), ("2147483648", "less than or equal to 2147483647")]),
    ("data.max_length", ["2"], [("1", "greater than or equal to 2")]),
    ("encoder.layers", ["1", "100"], [("0", NOT_BELOW_1), ("101", "less than or equal to 100")]),
    ("train.lr", ["1e-9", "7"], [("0", "greater than 0"), ("-1", "greater than 0"), ("inf", FINITE)]),
    ("train.weight_decay", ["0", "1"], [("-1", NOT_BELOW_0)]),
    ("train.max_grad_norm", ["0", "1"], [("-1", NOT_BELOW_0), ("inf", FINITE)]),
    ("train.max_grad_value", ["0", "1"], [("-1", NOT_BELOW_0), ("inf", FINITE)]),
    ("train.max_minutes", ["0", "0.5"], [("-1", NOT_BELOW_0), ("inf", FINITE)]),
    ("train.accumulate", ["1", "9"], [("0", NOT_BELOW_1)]),
    ("train.anneal_factor", ["0.01", "0.99"], [("0", "greater than 0"), ("1", "less than 1")]),
    ("train.seed", ["0", str(2**63 - 1)], [("-1", NOT_BELOW_0), (str(2**63), f"less than {2**63}")]),
    ("train.threads", ["0", "1024"], [("-1", NOT_BELOW_0), ("1025", "less than or equal to 1024")]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inside", "outside"), LIMITS, ids=[row[0] for row in LIMITS])
def test_every_limit_is_kept_and_named(
    name: str, inside: list[str], outside: list[tuple[str, str]]
) -> None:
    for value in inside:
        found = option(load_config(None, [f"{name}={value}"]), name)
        assert found == tomllib.loads(f"x = {value}")["x"]
    for value, expected in outside:
        shown = {"nan": "NaN", "inf": "Infinity"}.get(value, value.replace("_", ""))
        assert problems(f"{name}={value}") == (f"{name} = {shown}: expected {expected}",)


def test_the_limits_above_are_those_of_all_options_with_a_number() -> None:
    numbers = {
        name
        for name in option_names()
        if isinstance(option(Config(), name), int | float)
        and not isinstance(option(Config(), name), bool)
    }
    assert {row[0] for row in LIMITS} == numbers


CHOICES = {
    "task": allowed(Config, "task"),
    "data.tokenizer": ("multilingual", "syntok", "blanks"),
    "data.format": get_args(Format),
    "data.header": ("auto", "yes", "no"),
    "data.label_level": ("coarse", "fine"),
    "data.tree_labels": ("fine", "binary"),
    "data.on_misaligned": ("error", "expand", "shrink", "drop"),
    "data.scheme": ("auto", "iob1", "iob2", "iobes", "bilou", "labels"),
    "data.train_scheme": ("iob2", "iobes", "bilou"),
    # Those of a table follow it, as the test below holds: a new row is checked here too.
    "embeddings.char_cell": allowed(EmbeddingsConfig, "char_cell"),
    "encoder.cell": allowed(EncoderConfig, "cell"),
    "encoder.merge": ("concat", "sum", "mean", "product"),
    "head.kind": allowed(HeadConfig, "kind"),
    "head.pooling": allowed(HeadConfig, "pooling"),
    "head.activation": ("relu", "tanh", "gelu"),
    "head.multi_label": ("auto", "yes", "no"),
    "head.constrain": ("auto", "none", "decode", "train"),
    "train.optimizer": ("adam", "adamw", "nadam", "sgd"),
    "train.schedule": ("constant", "linear", "cosine", "plateau"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_that_there_is_not_is_answered_with_those_that_there_are(name: str) -> None:
    choices = CHOICES[name]
    for choice in choices:
        assert option(load_config(None, [f"{name}={choice}"]), name) == choice
    *first, last = (f"'{choice}'" for choice in choices)
    expected = f"{', '.join(first)} or {last}" if first else last
    assert problems(f"{name}=nonsense") == (f'{name} = "nonsense": expected {expected}',)


def test_the_names_in_the_config_are_the_keys_of_the_tables() -> None:
    from tagkit.models.task_table import TASKS
    from tagkit.nn.cells import CELLS
    from tagkit.nn.encoder import MERGES
    from tagkit.nn.heads import HEADS, POOLINGS
    from tagkit.nn.heads.classification import ACTIVATIONS
    from tagkit.text.tokenizer import TOKENIZERS
    from tagkit.training.optimizer import OPTIMIZERS

    assert allowed(Config, "task") == tuple(TASKS)
    assert allowed(EncoderConfig, "cell") == tuple(CELLS)
    assert set(allowed(EmbeddingsConfig, "char_cell")) == {*CELLS, "none"}
    assert allowed(EncoderConfig, "merge") == MERGES
    assert allowed(HeadConfig, "kind") == tuple(HEADS)
    assert set(allowed(TrainConfig, "optimizer")) == set(OPTIMIZERS)
    assert allowed(HeadConfig, "pooling") == tuple(POOLINGS)
    assert set(allowed(HeadConfig, "activation")) == set(ACTIVATIONS)
    assert set(allowed(DataConfig, "tokenizer")) == set(TOKENIZERS)


@pytest.mark.parametrize(
    ("given", "scheme"),
    [("IOB", "iob1"), ("BIO", "iob2"), ("Bioes", "iobes"), ("BMES", "iobes"), ("BILUO", "bilou"),
     ("IOB2", "iob2"), ("LABELS", "labels")],
)  # fmt: skip
def test_schemes_have_the_names_that_others_give_them(given: str, scheme: str) -> None:
    assert load_config(None, [f"data.scheme={given}"]).data.scheme == scheme


@pytest.mark.parametrize("name", ["auto", "cpu", "cuda", "cuda:0", "cuda:12"])
def test_devices_have_the_names_that_torch_gives_them(name: str) -> None:
    assert load_config(None, [f"train.device={name}"]).train.device == name


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "CUDA", ""])
def test_another_device_is_refused(name: str) -> None:
    assert problems(f"train.device={name}") == (
        f"train.device = \"{name}\": expected 'auto', 'cpu', 'cuda' or 'cuda:N'",
    )


def test_an_encoding_must_be_one_of_text() -> None:
    for name in ("latin-1", "utf-16", "cp1252"):
        assert load_config(None, [f"data.encoding={name}"]).data.encoding == name
    for name in ("utf-9", "hex", "undefined", ""):
        assert problems(f"data.encoding={name}") == (
            f"data.encoding = \"{name}\": expected the name of a text encoding, such as 'utf-8'",
        )


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("encoder.layers=two", 'encoder.layers = "two": expected an integer'),
        ("encoder.layers=1.5", "encoder.layers = 1.5: expected an integer"),
        ("encoder.bidirectional=maybe", 'encoder.bidirectional = "maybe": expected true or false'),
        ("train.lr=fast", 'train.lr = "fast": expected a number'),
        ("data.train_file=7", "data.train_file = 7: expected text in quotes"),
        ("data.feature_columns=1", "data.feature_columns = 1: expected a list"),
        ("encoder.merge={}", "encoder.merge = {}: expected 'concat', 'sum', 'mean' or 'product'"),
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
    assert problem == f"unknown option {name}; did you mean {nearest}?"


def test_an_unknown_option_that_is_near_nothing_is_answered_with_all() -> None:
    [problem] = problems("zzz=3")
    assert problem == f"unknown option zzz. There are: {', '.join(sorted(option_names()))}"


def test_an_unknown_section_and_option_of_a_file_are_answered_with_the_nearest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_text("[encodr]\nhidden = 3\n[train]\nbatchsize = 3\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).split("\n") == [
        f"{path}: unknown option train.batchsize; did you mean train.batch_size?",
        f"{path}: unknown option encodr; did you mean encoder?",
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
            "unknown option data.nope; did you mean data.tokenizer?",
            "train.seed = -1: expected greater than or equal to 0",
            "unknown option encoder.hiden; did you mean encoder.hidden?",
            "encoder.dropout = 1.5: expected less than 1",
            'train.lr = "x": expected a number',
            "head.constrain = \"hmm\": expected 'auto', 'none', 'decode' or 'train'",
        ]
    )


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
    assert problems("encoder.hidden", "train.sed=1") == (
        "overrides='encoder.hidden': expected section.key=value",
        "unknown option train.sed; did you mean train.seed?",
    )
    assert problems("encoder=3") == (
        "encoder is a table; name one of its options, such as encoder.cell",
    )


def test_a_value_where_a_section_belongs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_text("encoder = 3\n", encoding="utf-8")
    assert problems("encoder.hidden=3", path=path)[0] == "encoder: expected a table, found 3"
    assert problems(path=path) == ("encoder = 3: expected a table",)


def test_directions_are_merged_only_where_there_are_two() -> None:
    assert problems("encoder.merge=sum", "encoder.bidirectional=false") == (
        "encoder.merge = 'sum' joins two directions: it needs encoder.bidirectional = true",
    )
    assert not load_config(None, ["encoder.bidirectional=false"]).encoder.bidirectional


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    assert problems(path=path) == ("no such file. Name another with path",)
    path.write_text("[train\n", encoding="utf-8")
    [problem] = problems(path=path)
    assert problem.startswith("is not TOML: ")
    assert "line 1" in problem
    path.write_bytes(b'[output]\ndir = "M\xfcnchen"\n')
    assert problems(path=path) == ("is not TOML: not UTF-8 at byte 18",)
    assert problems(path=tmp_path) == ("cannot be read: Is a directory",)


LARGE = "9" * 5000


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        (f"train.patience={LARGE}", f'train.patience = "{"9" * 99}...{"9" * 49}": expected an integer'),
        ("train.patience=0x" + "f" * 5000, "train.patience = a number of many digits: expected a number of at most 64 bits"),
        ("train.patience=99999999999999999999", "train.patience = 99999999999999999999: expected a number of at most 64 bits"),
        ("head.hidden=[99999999999999999999]", "head.hidden = 99999999999999999999: expected a number of at most 64 bits"),
        ('data.train_file="a\\u0000b"', 'data.train_file = "a\\u0000b": expected text without NUL characters'),
        ("data.train_file=a\udcffb", "data.train_file = \"a\\udcffb\": expected text that is UTF-8; rename the file"),
        ("train.lr=" + "x" * 2_000_000, f'train.lr = "{"x" * 99}...{"x" * 49}": expected a number'),
        ("train.seed=" + "[" * 100_000, f'train.seed = "{"[" * 99}...{"[" * 49}": expected an integer'),
        ("x" * 100_000 + "=1", f"unknown option '{'x' * 40}...{'x' * 20}'"),
        ("x" * 100_000, f"overrides='{'x' * 40}...{'x' * 20}': expected section.key=value"),
        ("head.threshold=x", 'head.threshold = "x": expected a number or a table'),
        ("data.token_column=1.5", "data.token_column = 1.5: expected an integer or text in quotes"),
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
        (b'a = "\0"', "is not TOML: Illegal character '\\x00' (at line 1, column 6)"),
    ],
    ids=range(6),
)  # fmt: skip
def test_a_file_beyond_all_bounds_is_refused_in_a_short_sentence(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "tagkit.toml"
    path.write_bytes(content)
    assert problems(path=path) == (problem,)


def test_names_that_no_system_takes_are_refused(tmp_path: Path) -> None:
    assert problems(path=Path("a\0b")) == ("a file's name cannot hold NUL",)
    assert problems(path=tmp_path / ("a" * 300)) == ("cannot be read: File name too long",)


def test_dots_in_quoted_names_and_values_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "tagkit.toml"
    dots = "." * 100
    path.write_text(
        f'[head.label_weights]\n"{dots}" = 0.5 # {dots}\n[data]\ntrain_file = "{dots}"\n'
    )
    config = load_config(path)
    assert config.head.label_weights == {dots: 0.5}
    assert config.data.train_file == dots


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


def test_the_source_is_named_before_each_problem() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"train": {"seed": -1, "lr": 0}}, "models/ner/config.toml")
    assert str(caught.value) == (
        "models/ner/config.toml: train.lr = 0: expected greater than 0\n"
        "models/ner/config.toml: train.seed = -1: expected greater than or equal to 0"
    )
    assert caught.value.source == "models/ner/config.toml"


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load_config().train.seed = 2  # type: ignore[misc]


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
    assert flat <= set(option_names())
    assert DataConfig.model_fields.keys() >= written["data"].keys()


def test_threads_are_at_most_the_cores_of_the_machine() -> None:
    assert 1 <= default_threads() <= (os.cpu_count() or 1)


def test_an_interval_of_thousands_of_digits_is_refused_in_our_words() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(flags={"train.checkpoint_every": "9" * 5000})
    (problem,) = caught.value.problems
    assert problem.endswith("expected a number of steps, such as 500, or of minutes, such as '10m'")
    assert len(problem) < 500


def test_a_text_may_have_several_classes_where_a_configuration_says_yes() -> None:
    found = {name: HeadConfig(multi_label=name).several_classes for name in ("yes", "no")}
    assert found == {"yes": True, "no": False}
