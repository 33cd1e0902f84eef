# ruff: noqa: E501
"""The laws of the table of options: defaults, limits, choices and names of all of them."""

import tomllib

import pytest
from config_problems import CHOICES, option, problems
from says import Says

from tagkit.config import (
    Config,
    DataConfig,
    EmbeddingsConfig,
    EncoderConfig,
    HeadConfig,
    TrainConfig,
    allowed,
    load_config,
    option_names,
    parse_config,
)
from tagkit.config.sections import option_values
from tagkit.config.values import TREES


def test_every_option_has_a_default_and_a_name() -> None:
    names = option_names()
    assert len(names) == len(set(names))
    for name in names:
        option(Config(), name)
    assert load_config() == Config() == parse_config({}, "x")


FINITE = "a finite number"
NOT_BELOW_0, NOT_BELOW_1 = (
    "a number greater than or equal to 0",
    "a number greater than or equal to 1",
)
SIZES = ("embeddings.word_dim", "embeddings.char_dim", "embeddings.char_hidden",
         "encoder.hidden", "encoder.heads", "head.beam")  # fmt: skip
PROBABILITIES = ("encoder.dropout", "train.momentum", "train.average_decay", "head.dropout",
                 "head.label_smoothing", "embeddings.dropout", "encoder.weight_drop")  # fmt: skip
FROM_0 = ("data.train_sentences", "head.free_running", "train.warmup_steps", "train.batch_tokens")
FROM_1 = ("embeddings.min_count", "head.sampling_steps", "train.average_patience")
# Which are "auto" by default, else a name; or true or false.
TEXTS = ("train.device", "train.metric", "data.notation", "decoder.attention")
TRUTHS = ("head.tag_sharing", "decoder.copy")
AUTO_PROBABILITIES = ("encoder.locked_dropout", "encoder.word_dropout")
AUTO_FROM_1 = ("train.batch_size", "train.max_epochs")
# Option, the values at its limits, and what is refused on either side with what is expected.
LIMITS: list[tuple[str, list[str], list[tuple[str, str]]]] = [
    *((name, ["1", "100_000"], [("0", NOT_BELOW_1), ("100_001", "a number less than or equal to 100000")]) for name in SIZES),
    *((name, ["0", "0.999"], [("-0.1", NOT_BELOW_0), ("1", "a number less than 1"), ("nan", FINITE)]) for name in PROBABILITIES),
    *((name, ["0", "9"], [("-1", NOT_BELOW_0)]) for name in FROM_0),
    *((name, ["1", "9"], [("0", NOT_BELOW_1)]) for name in FROM_1),
    *((name, ["'auto'", "1", "9"], [("0", f"'auto' or {NOT_BELOW_1}")]) for name in AUTO_FROM_1),
    *((name, ["'auto'", "0", "0.999"], [("-0.1", f"'auto' or {NOT_BELOW_0}"), ("1", "'auto' or a number less than 1")]) for name in AUTO_PROBABILITIES),
    ("train.patience", ["'auto'", "0", "9"], [("-1", f"'auto' or {NOT_BELOW_0}")]),
    ("train.bptt", ["'auto'", "0", "9"], [("-1", f"'auto' or {NOT_BELOW_0}")]),
    ("embeddings.affix_dim", ["'auto'", "0", "100_000"], [("-1", f"'auto' or {NOT_BELOW_0}"), ("100_001", "'auto' or a number less than or equal to 100000")]),
    ("head.bag_of_words", ["'auto'", "0", "16_777_216"], [("-1", f"'auto' or {NOT_BELOW_0}"), ("16_777_217", "'auto' or a number less than or equal to 16777216")]),
    ("head.feature_crf", ["'auto'", "0", "16_777_216"], [("-1", f"'auto' or {NOT_BELOW_0}"), ("16_777_217", "'auto' or a number less than or equal to 16777216")]),
    ("head.vector_clusters", ["'auto'", "0", "10_000"], [("-1", f"'auto' or {NOT_BELOW_0}"), ("10_001", "'auto' or a number less than or equal to 10000")]),
    ("head.label_consistency", ["'auto'", "0", "1"], [("-0.1", f"'auto' or {NOT_BELOW_0}"), ("1.1", "'auto' or a number less than or equal to 1")]),
    ("data.dev_fraction", ["0.001", "0.999"], [("0", "a number greater than 0"), ("1", "a number less than 1")]),
    ("head.sampling_rate", ["0", "1"], [("-0.1", NOT_BELOW_0), ("1.1", "a number less than or equal to 1"), ("nan", FINITE)]),
    ("data.bpe_size", ["257", "1_000_000"], [("256", "a number greater than 256"), ("1_000_001", "a number less than or equal to 1000000")]),
    ("data.hallucinated", ["'auto'", "0", "10_000_000"], [("-1", f"'auto' or {NOT_BELOW_0}"), ("10_000_001", "'auto' or a number less than or equal to 10000000")]),
    ("decoder.hidden", ["'auto'", "1", "100_000"], [("0", f"'auto' or {NOT_BELOW_1}"), ("100_001", "'auto' or a number less than or equal to 100000")]),
    ("decoder.layers", ["1", "20"], [("0", NOT_BELOW_1), ("21", "a number less than or equal to 20")]),
    ("data.max_length", ["2"], [("1", "a number greater than or equal to 2")]),
    ("encoder.layers", ["1", "100"], [("0", NOT_BELOW_1), ("101", "a number less than or equal to 100")]),
    ("embeddings.char_layers", ["1", "100"], [("0", NOT_BELOW_1), ("101", "a number less than or equal to 100")]),
    ("encoder.ensemble_size", ["1", "20"], [("0", NOT_BELOW_1), ("21", "a number less than or equal to 20")]),
    ("encoder.leak", ["'spectrum'", "'learned'", "1e-9", "1"], [("0", "'spectrum' or 'learned' or a number greater than 0"), ("1.1", "'spectrum' or 'learned' or a number less than or equal to 1")]),
    ("encoder.transition_layers", ["2", "100"], [("1", "a number greater than or equal to 2"), ("101", "a number less than or equal to 100")]),
    ("encoder.dilation", ["1", "16"], [("0", NOT_BELOW_1), ("17", "a number less than or equal to 16")]),
    ("head.hops", ["1", "100"], [("0", NOT_BELOW_1), ("101", "a number less than or equal to 100")]),
    ("encoder.skip", ["2", "1000"], [("1", "a number greater than or equal to 2"), ("1001", "a number less than or equal to 1000")]),
    ("encoder.spectral_radius", ["'auto'", "1e-9", "1000"], [("0", "'auto' or a number greater than 0"), ("1001", "'auto' or a number less than or equal to 1000"), ("1e+60", "'auto' or a number less than or equal to 1000"), ("inf", f"'auto' or {FINITE}")]),
    ("encoder.chrono", ["0", "3", "9"], [("2", "0, or a number greater than or equal to 3"), ("-1", "0, or a number greater than or equal to 3")]),
    *((f"train.{name}", ["0", "9"], [("-1", NOT_BELOW_0), ("inf", FINITE)]) for name in ("flow_strength", "lm_loss")),
    ("train.lr", ["'auto'", "1e-9", "7"], [("0", "'auto' or a number greater than 0"), ("-1", "'auto' or a number greater than 0"), ("inf", f"'auto' or {FINITE}")]),
    ("train.max_state_grad", ["0", "1"], [("-1", NOT_BELOW_0), ("inf", FINITE)]),
    ("train.weight_decay", ["0", "1"], [("-1", NOT_BELOW_0)]),
    ("train.max_grad_norm", ["0", "1"], [("-1", NOT_BELOW_0), ("inf", FINITE)]),
    ("train.max_grad_value", ["0", "1"], [("-1", NOT_BELOW_0), ("inf", FINITE)]),
    ("train.max_minutes", ["0", "0.5"], [("-1", NOT_BELOW_0), ("inf", FINITE)]),
    ("train.seed", ["0", str(2**63 - 1)], [("-1", NOT_BELOW_0), (str(2**63), f"a number less than {2**63}")]),
    ("train.workers", ["'auto'", "1", "2"], [("0", "'auto', 1 or 2"), ("3", "'auto', 1 or 2")]),
    ("train.threads", ["0", "1024"], [("-1", NOT_BELOW_0), ("1025", "a number less than or equal to 1024")]),
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
        assert problems(f"{name}={value}") == (Says(name, shown, expected),)


def test_the_limits_above_are_those_of_all_options_with_a_number() -> None:
    def is_number(value: object) -> bool:
        if isinstance(value, str):  # "auto" where it is not one of several names
            return value in ("auto", "spectrum")
        return isinstance(value, int | float) and not isinstance(value, bool)

    numbers = {
        name
        for name in option_names()
        if is_number(option(Config(), name)) and name not in {*CHOICES, *TEXTS, *TRUTHS}
    }
    assert {row[0] for row in LIMITS} == numbers


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_that_there_is_not_is_answered_with_those_that_there_are(name: str) -> None:
    choices = CHOICES[name]
    for choice in choices:
        options = ["task=classify"] if choice in TREES else []
        assert option(load_config(None, [*options, f"{name}={choice}"]), name) == choice
    *first, last = (f"'{choice}'" for choice in choices)
    expected = f"{', '.join(first)} or {last}" if first else last
    assert problems(f"{name}=nonsense") == (Says(name, '"nonsense"', expected),)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["encoder.cell=transformer"], Says("train.lm_loss", "0.1", "encoder.bidirectional")),
        (['embeddings.contextual=["m"]'], Says("train.lm_loss", "0.1", "embeddings.contextual")),
    ],
)
def test_a_language_model_loss_has_states_that_can_predict(
    options: list[str], expected: str
) -> None:
    assert problems("train.lm_loss=0.1", *options) == (expected,)
    # The other model's encoder will be that of this one.
    for sound in (["train.init_from=x"], ["train.lm_loss=0"]):
        load_config(None, ["train.lm_loss=0.1", *options, *sound])
    load_config(None, ["train.lm_loss=0.1", *options[:1], "encoder.bidirectional=false",
                       "embeddings.contextual=[]"])  # fmt: skip


def test_a_language_model_loss_needs_words_that_the_model_reads() -> None:
    units = ["train.lm_loss=0.1", "data.unit=bpe"]
    assert problems("task=classify", *units) == (
        Says("train.lm_loss = 0.1", "'classify'", "data.unit = 'bpe'"),
    )
    load_config(None, ["task=both", *units])  # units stand in place of characters


@pytest.mark.parametrize("periods", ["[]", "[2, 4]", "[1, 4, 2]", "[1, 2, 2]"])
def test_periods_of_a_clockwork_rise_from_one(periods: str) -> None:
    assert load_config(None, ["encoder.periods=[1, 3, 9]"]).encoder.periods == (1, 3, 9)
    assert problems(f"encoder.periods={periods}") == (
        Says("encoder.periods", periods, "1", "2", "4", "8"),
    )


@pytest.mark.parametrize("memory", ["[]", "[64]", "[64, 16, 2]"])
def test_a_memory_has_slots_and_values_and_heads_that_divide_nothing(memory: str) -> None:
    options = ["encoder.cell=ntm", "encoder.heads=3", "encoder.memory=[9, 2]"]
    assert load_config(None, options).encoder.memory == (9, 2)
    assert problems(f"encoder.memory={memory}") == (Says("encoder.memory", memory, "64", "16"),)


def test_each_group_of_a_clockwork_has_a_unit() -> None:
    assert problems("encoder.cell=clockwork", "encoder.hidden=3") == (
        Says("encoder.hidden", "3", "4", "encoder.periods", "1", "2", "8"),
    )
    load_config(None, ["encoder.cell=clockwork", "encoder.hidden=4"])
    load_config(None, ["encoder.hidden=3"])  # other cells have no groups


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["encoder.heads=3"],
         Says("encoder.heads", "3", "encoder.hidden", "200")),
        (["encoder.heads=8"],
         Says("encoder.hidden", "200", "16", "encoder.heads", "encoder.positions", "'rotary'")),
        (["encoder.heads=300", "encoder.hidden=200"],
         Says("encoder.heads", "300", "encoder.hidden", "200")),
    ],
)  # fmt: skip
def test_heads_share_the_hidden_values_of_a_transformer(options: list[str], expected: str) -> None:
    assert problems("encoder.cell=transformer", *options) == (expected,)
    load_config(None, ["encoder.hidden=5"])  # a recurrent cell has no heads
    load_config(None, ["encoder.cell=transformer", "encoder.heads=8", "encoder.positions=learned"])


def test_the_names_in_the_config_are_the_keys_of_the_tables() -> None:
    from tagkit.models.task_table import COLUMNS, TASKS
    from tagkit.nn.cells import CELLS
    from tagkit.nn.heads import HEADS, POOLINGS
    from tagkit.nn.heads.classification import ACTIVATIONS
    from tagkit.nn.heads.sampling import SAMPLINGS
    from tagkit.nn.layers.encoder import LAYERS
    from tagkit.nn.layers.recurrent_layer import MERGES
    from tagkit.text.tokenizer import TOKENIZERS
    from tagkit.text.unit_kinds import UNIT_KINDS
    from tagkit.training.optim.optimizer import OPTIMIZERS

    # Several columns are the task "tag" with a list in data.tag_column.
    assert allowed(Config, "task") == tuple(task for task in TASKS if task != COLUMNS)
    assert allowed(EncoderConfig, "cell") == (*LAYERS, *TREES)
    assert set(allowed(EmbeddingsConfig, "char_cell")) == {*CELLS, "cnn", "none"}
    assert allowed(EncoderConfig, "merge") == MERGES
    assert allowed(HeadConfig, "kind") == tuple(HEADS)
    assert allowed(HeadConfig, "sampling") == tuple(SAMPLINGS)
    assert set(allowed(HeadConfig, "feedback_cell")) <= set(CELLS)
    assert set(allowed(TrainConfig, "optimizer")) == set(OPTIMIZERS)
    assert allowed(HeadConfig, "pooling") == ("auto", *POOLINGS)
    assert set(allowed(HeadConfig, "activation")) == set(ACTIVATIONS)
    assert set(allowed(DataConfig, "tokenizer")) == set(TOKENIZERS)
    assert allowed(DataConfig, "unit") == tuple(UNIT_KINDS)


@pytest.mark.parametrize("truth", ["true", "false"])
def test_truth_is_taken_by_the_options_that_are_true_or_false_alone(truth: str) -> None:
    taken = set()
    for name, default in option_values(Config()).items():
        if isinstance(default, bool) or name in TRUTHS:
            load_config(None, [f"{name}={truth}"])
            taken.add(name)
        else:
            (problem,) = problems(f"{name}={truth}")
            assert problem.startswith(f"{name} = {truth}: expected "), problem
    assert len(taken) == 11


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("train.lr=true", Says("train.lr", "'auto'")),
        ("encoder.layers=false", Says("encoder.layers")),
        ("encoder.periods=[1, true]", Says("encoder.periods")),
        ("head.label_weights={A=true}", Says("head.label_weights")),
        (
            "head.column_weights={FEATS=0}",
            Says("head.column_weights", "FEATS", "0"),
        ),
        ("train.seeds=[false]", Says("train.seeds", "integer")),
    ],
)
def test_in_place_of_truth_it_is_said_what_is_expected(option: str, problem: str) -> None:
    assert problems(option) == (problem,)
