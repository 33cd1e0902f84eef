"""Options in words, and configurations with comments."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.config import Config, load_config, option_names, options_of, parse_config
from tagkit.config.description import commented_toml, described_options, toml_text


def described(name: str) -> tuple[str, str, tuple[str, ...]]:
    found = next(each for each in described_options() if each.name == name)
    return found.default, found.meaning, found.conditions


def test_an_option_has_its_default_its_choices_and_its_conditions() -> None:
    assert described("embeddings.char_cell") == (
        '"lstm"',
        "Cell over the characters of a word: a recurrent one, cnn (the maximum of a convolution), "
        "or none.",
        ('Not with task = "language-model" or "transduce".',),
    )  # fmt: skip
    assert described("data.dev_file") == (
        '""',
        "Development corpus, used to select the best epoch. Default: split off train_file.",
        (),
    )
    assert described("train.momentum") == (
        "0.9", "Momentum of sgd.", ('Only with train.optimizer = "sgd".',)
    )  # fmt: skip
    assert described("head.sampling_steps")[2] == (
        'Only with task = "tag" or "both" or "transduce" or "language-model".',
        'Only with head.sampling = "linear" or "inverse-sigmoid".',
    )
    assert described("train.bptt")[2] == (
        'Not with encoder.cell = "transformer" or "cnn" or "window" or "tree-rnn" or "rntn" or '
        '"tree-lstm", but for task = "language-model".',
    )
    assert described("data.tag_column")[0] == ""


def test_every_option_is_described_in_the_order_of_the_file() -> None:
    assert [each.name for each in described_options()] == option_names()


@given(
    st.recursive(
        st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
        | st.text(st.characters(exclude_categories=("Cs",))),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner, max_size=3),
        max_leaves=6,
    )
)  # fmt: skip
def test_a_value_in_toml_is_one_line_and_is_read_back(value: object) -> None:
    text = toml_text(value)
    assert "\n" not in text
    assert tomllib.loads(f"x = {text}") == {"x": value}


@pytest.mark.parametrize("task", ["tag", "classify", "both"])
def test_a_commented_configuration_is_read_as_the_one_it_was_made_of(task: str) -> None:
    weights = {"tag": 'head.label_weights={"a b" = 2.0, O = 0.5}'}.get(task, "head.dropout=0.2")
    config = load_config(None, [f"task={task}", weights, "data.train_file='a\"b'", "train.lr=auto"])
    text = commented_toml(config, ["For a\nand b"], {}, {})
    assert text.startswith("# For a\\nand b\n")
    assert parse_config(tomllib.loads(text), "text") == config
    # Options of other tasks would only be in the way.
    served = {name for name, option in options_of(Config).items() if option.serves(task)}
    assert {name for name in option_names() if f"\n{name.rpartition('.')[2]} =" in text} >= {
        name for name in served if name not in ("data.token_column", "data.tag_column",
                                                "data.text_column", "data.label_column",
                                                "head.threshold")
    }  # fmt: skip
    assert ("pooling =" in text) == (task != "tag")


def test_a_comment_says_what_an_option_resolves_to() -> None:
    found = {"train.lr": "0.003", "data.token_column": "0"}
    lines = commented_toml(Config(), [], found, {"train.seed": "Any number."}).splitlines()
    at = lines.index('lr = "auto"')
    assert lines[at - 3 : at] == [
        "# Maximum learning rate; auto: 0.003, more for a small corpus. Only with",
        '# train.readout = "gradient".',
        "# For this corpus: 0.003.",
    ]
    assert "# token_column = 0" in lines  # without a value in TOML, which has no null
    assert "# tag_column =" in lines
    assert lines[lines.index("seed = 1") - 1] == "# Any number."
    assert max(map(len, lines)) <= 80
