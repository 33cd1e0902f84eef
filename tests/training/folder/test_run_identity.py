"""What a resumed run has in common with the run that wrote the checkpoint."""

from pathlib import Path

import pytest
import tiny
from says import refuses

from tagkit.config import FORMER_DEFAULTS, Config, load_config, option_values
from tagkit.errors import BundleError, CheckpointError, ConfigError, VectorsError
from tagkit.inference.score.calibrate import calibrate
from tagkit.training.folder.run_identity import differences, refuse_unfit, with_former_defaults
from tagkit.training.trainer import train

OF_0_1 = {"encoder.hidden": 100, "train.lr": 0.01, "train.batch_size": 32}  # some of its options


def values(config: Config) -> dict[str, object]:
    found = option_values(config)
    return {name: found[name] for name in FORMER_DEFAULTS}


def test_a_run_of_0_1_is_resumed_with_its_values_and_the_defaults_that_it_had() -> None:
    found = values(with_former_defaults(Config(), OF_0_1))
    assert found == {**FORMER_DEFAULTS, "train.lr": 0.01}


def test_a_later_run_is_resumed_with_what_followed_from_its_corpus() -> None:
    # The number of epochs and the patience may change, so that no run records them.
    dropouts = {"encoder.locked_dropout": 0.3, "encoder.word_dropout": 0.0}
    run = {**OF_0_1, **dropouts, "train.batch_size": 4, "embeddings.affix_dim": 50,
           "data.tokenizer": "blanks"}  # fmt: skip
    found = values(with_former_defaults(Config(), run))
    assert found == {
        **dropouts, "data.tokenizer": "blanks", "embeddings.affix_dim": 50, "train.lr": 0.01,
        "train.batch_size": 4, "train.max_epochs": "auto", "train.patience": "auto",
        "head.label_consistency": "auto", "head.pooling": "auto", "head.bag_of_words": "auto",
        "head.feature_crf": "auto", "head.tag_sharing": "auto",
        "head.vector_clusters": "auto",
    }  # fmt: skip


def test_what_is_set_stays_and_is_compared() -> None:
    config = load_config(overrides=["train.lr=0.02", "train.max_epochs=7", "train.batch_size=auto"])
    found = with_former_defaults(config, OF_0_1).train
    assert (found.lr, found.max_epochs, found.batch_size) == (0.02, 7, "auto")
    assert with_former_defaults(config, None) is config  # a damaged checkpoint


def test_tags_that_were_plain_labels_before_notations_stay_so_in_a_run_that_is_resumed() -> None:
    run = dict(OF_0_1)
    assert with_former_defaults(Config(), {**run, "data.scheme": "labels"}).data.scheme == "labels"
    assert with_former_defaults(Config(), {**run, "data.scheme": "iob2"}).data.scheme == "auto"
    later = {**run, "data.scheme": "labels", "data.notation": "auto"}
    assert with_former_defaults(Config(), later).data.scheme == "auto"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"train.metric": "auto", "embeddings.affix_dim": 0}, []),
        ({"train.metric": "loss"}, ['train.metric = "auto", not "loss"']),
        ({"embeddings.affix_dim": 50}, ["embeddings.affix_dim = 0, not 50"]),
        ({"data.tokenizer": "blanks"}, ['data.tokenizer = "syntok", not "blanks"']),
        ({"train.lr": 0.02}, ["train.lr = 0.01, not 0.02"]),
        # What is no option has no default.
        ({"train corpus": "digest", "option of a later version": 3}, []),
    ],
)
def test_an_option_that_the_run_lacks_had_the_default_of_its_version(
    options: dict[str, object], expected: list[str]
) -> None:
    assert differences(OF_0_1, options) == expected


def test_another_metric_is_named_as_any_option_that_must_stay() -> None:
    before = option_values(load_config(None, ["train.metric=loss", "train.seed=3"]))
    now = option_values(load_config(None, ["train.metric=macro_f1"]))
    assert differences(before, now) == [
        'train.metric = "loss", not "macro_f1"',
        "train.seed = 3, not 1",
    ]


@pytest.mark.parametrize("there", ["", "train.log", "seeds/checkpoints/x", "data.txt"])
def test_options_without_effect_are_refused_where_there_is_no_run_to_go_on_with(
    tmp_path: Path, there: str
) -> None:
    config = tiny.config(tmp_path, "train.momentum=0.5", f"output.dir={tmp_path / 'run'}")
    if there:
        (tmp_path / "run" / there).parent.mkdir(parents=True)
        (tmp_path / "run" / there).touch()
    for resume in (False, True):
        with refuses(ConfigError, "train.momentum", "0.5"):
            refuse_unfit(config, resume=resume)


@pytest.mark.parametrize(
    ("there", "folder"),
    [("checkpoints", ""), ("seed-1/checkpoints", ""), ("seed-1/checkpoints", "seed-2")],
)
def test_a_run_that_is_there_is_resumed_with_the_options_that_it_had(
    tmp_path: Path, there: str, folder: str
) -> None:
    (tmp_path / "run" / there).mkdir(parents=True)
    where = f"output.dir={tmp_path / 'run' / folder}"
    refuse_unfit(tiny.config(tmp_path, "train.momentum=0.5", where), resume=True)


def test_an_empty_name_of_a_language_model_is_not_the_current_folder() -> None:
    config = load_config(None, ['embeddings.contextual=[" "]'])
    with refuses(ConfigError, "embeddings.contextual: ", "empty"):
        refuse_unfit(config, resume=False)


@pytest.mark.parametrize(
    ("option", "kind"),
    [
        ("train.init_from={}", "folder of a model"),
        ('embeddings.contextual=["{}"]', "folder of a language model"),
        ("embeddings.vectors={}", "file of word vectors"),
    ],
)
@pytest.mark.parametrize("there", ["", "checkpoints", "seed-1", "learning-curve.json"])
def test_what_a_run_reads_and_is_not_there_is_named_with_its_option(
    tmp_path: Path, there: str, option: str, kind: str
) -> None:
    (tmp_path / "run" / there).mkdir(parents=True)
    config = tiny.config(tmp_path, option.format("lost"), f"output.dir={tmp_path / 'run'}")
    problem = f"{option.partition('=')[0]}: lost: no such {kind}"
    for resume in (True, False):
        with pytest.raises(VectorsError if "vectors" in option else BundleError) as refused:
            refuse_unfit(config, resume=resume)
        assert str(refused.value).startswith(problem)
        assert ("put it back" in str(refused.value)) == bool(resume and there)


@pytest.mark.slow
def test_the_initial_model_is_its_weights_not_what_else_its_folder_has(tmp_path: Path) -> None:
    first, further = tmp_path / "first", tmp_path / "further"
    first.mkdir()
    initial = train(tiny.config(first, "train.max_epochs=1")).folder
    start = f"train.init_from={initial}"
    train(tiny.config(tmp_path, "train.max_epochs=1", start, f"output.dir={further}"))
    (initial / "notes.txt").write_text("mine")
    calibrate(initial, first / "dev.conll")
    config = tiny.config(tmp_path, "train.max_epochs=2", start, f"output.dir={further}")
    assert len(train(config, resume=True).epochs) == 2
    (initial / "notes.txt").unlink()
    other = train(tiny.config(first, "train.max_epochs=1", "train.seed=2"), force=True).folder
    assert other == initial
    with refuses(CheckpointError, "another"):
        train(config, resume=True)


def test_a_file_that_is_the_output_itself_does_not_lie_in_it(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "output.dir=train.conll", **{"data.train_file": "train.conll"})
    with refuses(ConfigError, "data.train_file", "train.conll"):
        refuse_unfit(config, resume=False)
