"""What commands show of a language model, and what they refuse of one."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from program import Program
from says import Says

from tagkit.cli.shown.train_progress import seed_lines, share_text, start_lines
from tagkit.config import Config, load_config
from tagkit.errors import ConfigError
from tagkit.models.task_table import ranking_metric, task_of
from tagkit.training.diagnosis.corpus_checks import UnknownUnits, unknown_units
from tagkit.training.setup.setup import prepare
from tagkit.training.several.audit import audit
from tagkit.training.several.learning_curve import learning_curve
from tagkit.training.several.seeds import SeedScores
from tagkit.training.trainer import train


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capfdbinary)


def language_config(folder: Path, dev: str = "a d\n", *options: str) -> Config:
    (folder / "train.txt").write_text("a b\na b c\na\n")
    (folder / "dev.txt").write_text(dev)
    files = {f"data.{name}_file": str(folder / f"{name}.txt") for name in ("train", "dev")}
    small = ["embeddings.word_dim=4", "encoder.hidden=4", f"output.dir={folder / 'model'}"]
    return load_config(None, [*small, *options], {"task": "language-model", **files})


def test_the_losses_of_several_seeds_are_no_percentages() -> None:
    config = Config(task="language-model")
    predictor = SimpleNamespace(config=config, task=task_of(config))
    best = SimpleNamespace(predictor=predictor, criterion=SimpleNamespace(key="loss"))
    scores = (SeedScores(1, 4, 0.5, 0.75, {}), SeedScores(2, 5, 1.0, 1.25, {}))
    trained: Any = SimpleNamespace(scores=scores, best=best)
    assert [line.split() for line in seed_lines(trained, "loss")][1:] == [
        ["seed", "epoch", "dev", "loss", "test", "loss"],
        ["1", "4", "0.5000", "0.7500", "*"],
        ["2", "5", "1.0000", "1.2500"],
        ["mean", "0.7500", "1.0000"],
        ["standard", "deviation", "0.3536", "0.3536"],
    ]


def test_trials_are_ranked_by_the_loss_of_a_language_model_and_else_as_configured() -> None:
    assert ranking_metric(Config(task="language-model")) == "loss"
    assert ranking_metric(Config(task="tag")) == "auto"
    assert ranking_metric(load_config(None, ["train.metric=f1"])) == "f1"


def test_the_header_says_how_many_units_are_unknown(tmp_path: Path) -> None:
    import torch

    prepared = prepare(language_config(tmp_path, "a d\ne f b\n"), torch.device("cpu"))
    # c occurs once; d, e and f nowhere.
    assert unknown_units(prepared) == {"train": UnknownUnits(6, 1), "dev": UnknownUnits(5, 3)}
    description = prepared.task.describe(prepared.config)
    lines = [*start_lines(prepared, description, 1, 1)]
    assert lines[0].endswith("6 tokens  17 % unknown")
    assert lines[1].endswith("5 tokens  60 % unknown")
    assert lines[2] == "       3 words known, the end of a line among them"
    assert lines[3].startswith("warning: 60 % of dev's words ")
    few = prepare(language_config(tmp_path, "a b a b\na d\n"), torch.device("cpu"))
    assert not any("warning" in line for line in start_lines(few, description, 1, 1))


@pytest.mark.parametrize(
    ("dev", "options", "warning"),
    [
        ("a e", ["data.unit=word"],
         Says("warning: 50 % of dev's words", "characters or byte pairs (data.unit)")),
        ("aeee", ["data.unit=character"],
         Says("warning: 75 % of dev's and 50 % of test's characters", "byte pairs (data.unit)")),
    ],
)  # fmt: skip
def test_what_would_help_against_unknown_units_is_named(
    tmp_path: Path, dev: str, options: list[str], warning: Says
) -> None:
    import torch

    (tmp_path / "test.txt").write_text("b beee\n" if "character" in options[0] else "b\n")
    files = [f"data.test_file={tmp_path}/test.txt"]
    prepared = prepare(language_config(tmp_path, f"{dev}\n", *options, *files), torch.device("cpu"))
    lines = [*start_lines(prepared, prepared.task.describe(prepared.config), 1, 1)]
    assert warning.within(lines)


@pytest.mark.parametrize(
    ("line", "options", "share"),
    [
        ("这家餐厅的菜很好吃。 abc", [], "50 %"),
        ("这家餐厅的菜很好吃。", [], "100 %"),
        ("这家餐厅的菜很好吃。", ["data.unit=character"], ""),
        ("这 家 餐厅 的 菜 很 好吃 。", [], ""),
        ("Rindfleischetikettierung überwachen", [], ""),
    ],
)
def test_text_without_blanks_is_said_to_have_no_words(
    tmp_path: Path, line: str, options: list[str], share: str
) -> None:
    import torch

    config = language_config(tmp_path, f"{line}\n", *options)
    Path(config.data.train_file).write_text(f"{line}\n" * 3, encoding="utf-8")
    prepared = prepare(config, torch.device("cpu"))
    lines = [*start_lines(prepared, prepared.task.describe(prepared.config), 1, 1)]
    # A command that ran before in this process has left its flags.
    found = [line.replace("--set ", "") for line in lines if line.startswith("warning: ")]
    assert found == [
        f"warning: {share} of the words are stretches of scripts without blanks between words, "
        "such as whole lines of Chinese. Let units be characters (data.unit=character)."
    ] * bool(share)


def test_the_header_says_how_much_of_test_is_unknown(tmp_path: Path) -> None:
    import torch

    (tmp_path / "test.txt").write_text("a b a b\na e\n")
    config = language_config(tmp_path, "a b\n", f"data.test_file={tmp_path}/test.txt")
    prepared = prepare(config, torch.device("cpu"))
    lines = [*start_lines(prepared, prepared.task.describe(prepared.config), 1, 1)]
    assert lines[2].split() == ["test", "test.txt", "2", "lines", "6", "tokens", "17", "%",
                                "unknown"]  # fmt: skip
    assert not any(line.endswith(" ") for line in lines)
    assert not any("warning" in line for line in lines)


def test_unknown_units_are_counted_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    prepared = prepare(language_config(tmp_path, "a </s>\n"), torch.device("cpu"))
    monkeypatch.setattr("tagkit.features.batching.unit_stream._IDS_AT_ONCE", 2)
    # A word that is written like the end of a line is unknown.
    assert unknown_units(prepared) == {"train": UnknownUnits(6, 1), "dev": UnknownUnits(2, 1)}


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.126, "13 %"), (0.024, "2.4 %"), (5e-4, "0.05 %")],
)
def test_a_small_share_has_more_digits(share: float, text: str) -> None:
    assert share_text(share) == text


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (audit, Says("classify")),
        (learning_curve, Says("learning")),
    ],
)
def test_what_needs_labels_is_refused_before_any_training(
    tmp_path: Path, command: Callable[[Config], Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        command(language_config(tmp_path))
    assert message.within(str(caught.value))
    assert not (tmp_path / "model").exists()


def test_a_check_of_a_text_for_a_language_model_is_refused(
    tmp_path: Path, program: Program
) -> None:
    language_config(tmp_path)
    found = program("check", tmp_path / "train.txt", "--set", "task=language-model")
    assert found.code == 1
    assert Says("describes").within(found.err)


def test_a_size_of_batches_is_refused_where_a_text_is_scored(
    program: Program, tmp_path: Path
) -> None:
    train(language_config(tmp_path, "a b\n", "train.max_epochs=1"))
    ended = program("eval", tmp_path / "model", tmp_path / "dev.txt", "--batch-size", "8")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == Says("--batch-size", "language")
    assert program("eval", tmp_path / "model", tmp_path / "dev.txt").code == 0
