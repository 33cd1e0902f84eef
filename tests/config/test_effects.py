"""Options without effect beside others are refused where a run or a search would ignore them."""

from pathlib import Path
from typing import Any

import pytest
import tiny
from says import Says, refuses

from tagkit.config import (
    Config,
    EncoderConfig,
    allowed,
    effective,
    has_effect,
    load_config,
    option_names,
    options_of,
    refuse_without_effect,
    to_toml,
)
from tagkit.config.values import TREES
from tagkit.errors import ConfigError
from tagkit.models.bundle.bundle import load_bundle
from tagkit.training.setup.defaults import CorpusSize, choose_by_size, choose_for_text
from tagkit.training.several.tune import tune
from tagkit.training.trainer import train

TAG = 'has no effect with task = "tag"; leave it out'
# Where nobody has named a task.
NO_TASK = f"{TAG}, or name its task: task=classify"
CLASSIFY = 'has no effect with task = "classify"; leave it out'


def problems(*overrides: str, **searched: Any) -> tuple[str, ...]:
    names = {name.replace("__", "."): values for name, values in searched.items()}
    try:
        refuse_without_effect(load_config(overrides=overrides), "here", names)
    except ConfigError as error:
        return error.problems
    return ()


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["head.class_weights=balanced"], Says("head.class_weights", '"balanced"', NO_TASK)),
        (["head.hidden=[50]"], Says("head.hidden", "50", NO_TASK)),
        (["head.pooling=max"], Says("head.pooling", '"max"', NO_TASK)),
        (["head.threshold=0.4"], Says("head.threshold", "0.4", NO_TASK)),
        (["head.threshold={a=0.4}"], Says("head.threshold", '"a"', "0.4", NO_TASK)),
        (["head.multi_label=yes"], Says("head.multi_label", '"yes"', NO_TASK)),
        (["head.label_smoothing=0.1"], Says("head.label_smoothing", "0.1", NO_TASK)),
        (["head.dropout=0.1"], Says("head.dropout", "0.1", NO_TASK)),
        (["data.label_level=fine"], Says("data.label_level", '"fine"', NO_TASK)),
        (["task=tag", "head.hidden=[50]"], Says("head.hidden", "50", TAG)),
        (["head.beam=4"], Says("head.beam", "4", "head.kind", '"crf"')),
        (["head.kind=feedback", "head.sampling_rate=0.5"],
         Says("head.sampling_rate", "0.5", "head.sampling", '"none"')),
        (["head.kind=feedback", "head.sampling=constant", "head.sampling_steps=5"],
         Says("head.sampling_steps", "5", "head.sampling", '"constant"')),
        (["head.kind=feedback", "head.sampling=linear", "head.sampling_rate=0"],
         Says("head.sampling", '"linear"', "head.sampling_rate", "0.0")),
        (["task=classify", "head.kind=softmax"], Says("head.kind", '"softmax"', CLASSIFY)),
        # Not "leave one of the two out": without the unit it has no effect either.
        (["task=language-model", "data.unit=bpe", "embeddings.vectors=v.txt"],
         Says("embeddings.vectors", '"v.txt"', '"language-model"')),
        (["task=language-model", "data.unit=character", "train.lm_loss=0.1"],
         Says("train.lm_loss", "0.1", '"language-model"')),
        (["task=classify", "head.constrain=train"], Says("head.constrain", '"train"', CLASSIFY)),
        (["task=classify", "data.train_scheme=iob2"],
         Says("data.train_scheme", '"iob2"', CLASSIFY)),
        (["task=classify", "data.max_length=9"], Says("data.max_length", "9", CLASSIFY)),
        (["task=both", "data.max_length=9"],
         Says("data.max_length", "9", '"both"')),
        (["encoder.activation=relu"],
         Says("encoder.activation", '"relu"', "encoder.cell", '"lstm"')),
        (["encoder.cell=skip", "encoder.leak=0.5"],
         Says("encoder.leak", "0.5", "encoder.cell", '"skip"')),
        (["encoder.cell=gru", "encoder.skip=3"],
         Says("encoder.skip", "3", "encoder.cell", '"gru"')),
        (["encoder.connection=residual"],
         Says("encoder.connection", '"residual"', "encoder.layers", "1")),
        (["encoder.cell=recurrent-highway", "encoder.transition_skip=false"],
         Says("encoder.transition_skip", "encoder.cell", '"recurrent-highway"')),
        (["encoder.cell=gru", "encoder.transition_layers=3"],
         Says("encoder.transition_layers", "3", "encoder.cell", '"gru"')),
        (["encoder.cell=leaky", "encoder.periods=[1, 3]"],
         Says("encoder.periods", "1", "3", "encoder.cell", '"leaky"')),
        (["encoder.heads=2"],
         Says("encoder.heads", "2", "encoder.cell", '"lstm"')),
        (["encoder.cell=transformer", "encoder.merge=sum"],
         Says("encoder.merge", '"sum"', "encoder.cell", '"transformer"')),
        (["task=language-model", "head.halt=true"],
         Says("head.end", "data.context", '"stream"')),
        (["task=language-model", "encoder.merge=sum"],
         Says("encoder.merge", '"sum"', '"language-model"')),
        (["encoder.cell=transformer", "train.bptt=64"],
         Says("train.bptt", "64", "encoder.cell", '"transformer"')),
        (["encoder.cell=elman", "encoder.chrono=9"],
         Says("encoder.chrono", "9", "encoder.cell", '"elman"')),
        (["encoder.cell=echo-state", "encoder.init=identity"],
         Says("encoder.init", '"identity"', "encoder.cell", '"echo-state"')),
        (["encoder.cell=sru", "encoder.weight_drop=0.5"],
         Says("encoder.weight_drop", "0.5", "encoder.cell", '"sru"')),
        (["encoder.cell=echo-state", "train.readout=ridge", "train.lr=0.1"],
         Says("train.lr", "0.1", "train.readout", '"ridge"')),
        (["encoder.cell=echo-state", "train.readout=ridge", "encoder.locked_dropout=0.3"],
         Says("encoder.locked_dropout", "0.3", "train.readout", '"ridge"')),
        (["encoder.cell=echo-state", "train.flow_strength=1"],
         Says("train.flow_strength", "1.0", "encoder.cell", '"echo-state"')),
        (["train.seed=3", "train.seeds=[1, 2]"],
         Says("train.seed", "3", "train.seeds", "1", "2")),
        (["train.averaging=triggered", "train.average_decay=0.5"],
         Says("train.average_decay", "0.5", "train.averaging", '"triggered"')),
        (["train.average_patience=2"],
         Says("train.average_patience", "2", "train.averaging", '"running"')),
        (["task=language-model", "train.batch_tokens=200"],
         Says("train.batch_tokens", "200", "data.context", '"stream"')),
        (["train.momentum=0.5"],
         Says("train.momentum", "0.5", "train.optimizer", '"adam"')),
        (["embeddings.char_cell=none", "embeddings.char_dim=5"],
         Says("embeddings.char_dim", "5", "embeddings.char_cell", '"none"')),
        (["task=language-model", "data.unit=bpe", "embeddings.min_count=2"],
         Says("embeddings.min_count", "2", "data.unit", '"bpe"')),
        (["embeddings.freeze_vectors=true"],
         Says("embeddings.freeze_vectors", "embeddings.vectors")),
        (["task=language-model", "train.workers=2"],
         Says("train.workers", "2", '"language-model"')),
        (["encoder.bidirectional=false", "embeddings.char_cell=none", "train.workers=2"],
         Says("train.workers", "2", "encoder.bidirectional", "embeddings.char_cell", '"none"')),
        (["data.dev_fraction=0.5", "data.dev_file=d"],
         Says("data.dev_fraction", "0.5", "data.dev_file", '"d"')),
    ],
)  # fmt: skip
def test_an_option_without_effect_is_refused_with_its_reason(
    overrides: list[str], expected: str
) -> None:
    assert problems(*overrides) == (expected,)


def test_all_of_them_are_refused_at_once() -> None:
    assert len(problems("head.hidden=[5]", "train.momentum=0.5", "head.dropout=0.1")) == 3


@pytest.mark.parametrize(
    "overrides",
    [
        ["head.hidden=[]", "train.momentum=0.9", "head.class_weights=none"],  # the defaults
        ["train.momentum=0.5", "train.optimizer=sgd"],
        ["task=language-model", "encoder.cell=transformer", "train.bptt=64"],
        ["task=language-model", "train.workers=1"],
        ["encoder.bidirectional=false", "train.workers=2"],  # of the characters
        ["encoder.cell=transformer", "train.workers=2"],
        ["task=language-model", "data.context=line", "head.halt=true"],
        ["task=classify", "head.hidden=[5]", "head.threshold=0.2"],
        ["task=both", "head.kind=softmax", "head.pooling=max"],
        ["data.unit=bpe", "embeddings.min_count=2"],
        ["task=language-model", "data.context=line", "train.batch_tokens=200"],
        ["train.batch_tokens=200", "train.batch_size=4"],  # as a model's config.toml has it
        ["task=both", "data.unit=bpe", "embeddings.min_count=2"],
        ["task=classify", "data.unit=character", "embeddings.min_count=2"],
        # The other model decides on these sizes.
        ["train.init_from=m", "embeddings.char_cell=none", "embeddings.char_dim=5"],
        # As the config.toml of each such model has them.
        [
            "encoder.cell=echo-state",
            "train.readout=ridge",
            "encoder.locked_dropout=0.4",
            "encoder.word_dropout=0.05",
        ],
    ],
)
def test_options_with_an_effect_and_defaults_are_not_refused(overrides: list[str]) -> None:
    assert problems(*overrides) == ()


def test_conditions_name_options_that_there_are_and_values_that_they_can_have() -> None:
    for name, option in options_of(Config).items():
        for needs in option.conditions:
            assert needs.option in option_names(), name
            for value in (*needs.values, *needs.but):
                task = {"task": "classify"} if value in TREES else {}
                load_config(flags={**task, needs.option: value})


def test_a_search_may_try_an_option_that_has_an_effect_in_some_trial() -> None:
    both = {"train__optimizer": ("adam", "sgd"), "train__momentum": (0.5, 0.9)}
    assert problems(**both) == ()
    assert problems("train.momentum=0.5", train__optimizer=("adam", "sgd")) == ()
    assert problems(train__momentum=(0.5, 0.9)) == (
        Says("train.momentum", "train.optimizer", '"adam"'),
    )
    assert problems(train__optimizer=("adam", "nadam"), train__momentum=(0.5, 0.9)) == (
        Says("train.momentum", "train.optimizer", '"adam"', '"nadam"'),
    )


def test_what_has_no_effect_is_given_its_default() -> None:
    config = effective(load_config(overrides=["train.momentum=0.5", "head.hidden=[5]"]))
    assert config == Config()


def test_a_run_refuses_what_would_have_no_effect_before_it_reads_anything(tmp_path: Path) -> None:
    with refuses(ConfigError, "head.hidden", "5"):
        train(tiny.small(tmp_path, "head.hidden=[5]"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_models_own_configuration_is_taken_again_and_searches_tell_trials_apart(
    tmp_path: Path,
) -> None:
    pytest.importorskip("optuna")
    from tagkit.config.search_space import parse_spaces

    spaces = parse_spaces(["train.optimizer=adam,sgd", "train.momentum=0.5..0.8"])
    config = tiny.config(tmp_path, "train.max_epochs=1", *tiny.WITHOUT_CHARACTERS)
    tuned = tune(config, spaces, trials=3)
    assert [trial.state for trial in tuned.trials] == ["done"] * 3
    assert (tuned.config.train.momentum == 0.9) == (tuned.config.train.optimizer == "adam")
    written = tmp_path / "again.toml"
    written.write_text(to_toml(load_bundle(tuned.folder).config))
    refuse_without_effect(load_config(written), "again.toml")


@pytest.mark.parametrize("task", ["tag", "classify", "both", "language-model"])
@pytest.mark.parametrize("cell", allowed(EncoderConfig, "cell"))
def test_what_auto_becomes_is_taken_again_with_every_cell_and_task(task: str, cell: str) -> None:
    if cell in TREES and task != "classify":
        return  # which is refused
    config = load_config(overrides=[f"task={task}", f"encoder.cell={cell}"])
    if task == "language-model":
        chosen = choose_for_text(config, 10, 100)
    else:
        chosen = choose_by_size(config, CorpusSize(sentences=50, tokens=500, spans=60, classes=3))
    refuse_without_effect(chosen.config, "config.toml")


def test_a_model_that_was_saved_with_an_option_without_effect_is_still_loaded(
    tmp_path: Path,
) -> None:
    from tagkit.models.bundle.bundle import save_bundle

    trained = train(tiny.config(tmp_path, "train.max_epochs=1"))
    bundle = load_bundle(trained.folder)
    head = bundle.config.head.model_copy(update={"hidden": (5,)})
    odd = bundle.config.model_copy(update={"head": head})
    facts = {key: bundle.metadata[key] for key in ("data", "labels", "classes", "epoch", "scores")}
    save_bundle(tmp_path / "old", bundle.model, bundle.vocabulary, odd, facts)
    assert load_bundle(tmp_path / "old").config.head.hidden == (5,)


@pytest.mark.parametrize(
    ("overrides", "name", "expected"),
    [
        ([], "head.feature_crf", True),
        (["head.kind=softmax"], "head.feature_crf", False),
        (["task=classify"], "head.feature_crf", False),
        ([], "head.tag_sharing", True),
        (["head.kind=feedback"], "head.tag_sharing", False),
        (["encoder.cell=echo-state", "train.readout=ridge"], "head.tag_sharing", False),
        # The model that training begins from is no exception: what it has is asked for.
        (["head.kind=feedback", "train.init_from=model"], "head.tag_sharing", False),
    ],
)
def test_an_option_has_an_effect_where_its_task_and_all_that_it_needs_are_there(
    overrides: list[str], name: str, expected: bool
) -> None:
    assert has_effect(load_config(overrides=overrides), name) is expected
