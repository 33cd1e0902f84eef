"""`tagkit config`: the list of options, and a configuration for a corpus."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tiny
from program import Program
from says import Says, refuses

from tagkit.cli.commands.config import chosen_options, one_option_lines, option_lines
from tagkit.config import load_config, option_names
from tagkit.errors import ConfigError


def test_all_options_are_listed_by_section(tagkit: Program) -> None:
    ended = tagkit("config")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0].split("  ")[1] == 'task = "tag"'
    listed, section = [], ""
    for line in lines:
        if line.startswith("["):
            section = f"{line[1:-1]}."
        elif line:
            listed.append(section + line.split()[0])
    assert listed == option_names()
    assert (
        "  transition_skip = true        Connect the state before with the last layer of a step, "
        "past the others, in the cell deep-transition. Only with encoder.cell = "
        '"deep-transition".' in lines
    )


def test_a_section_or_one_option_is_listed_alone(tagkit: Program) -> None:
    assert tagkit("config", "output").out == (
        '[output]\n  dir = "models/model"          Folder of the run and its model.\n'
    )
    ended = tagkit("config", "train.seeds")
    assert ended.out == (
        "train.seeds = []\n"
        "  Train one model per seed, and keep the one with the best dev score.\n"
        "  Flag of the commands that have one for it: --seeds\n"
        "  A run that is resumed must have the same value.\n"
        "  A search (tagkit tune) cannot try values of it.\n"
    )
    assert tagkit("config", "task").out.startswith('task = "tag"\n  What to learn: ')


def test_a_configuration_for_a_corpus_is_one_that_train_takes(
    tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.corpus(tmp_path)
    ended = tagkit("config", "--train", "train.conll", "--dev", "dev.conll", "--set",
                   "encoder.cell=gru")  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    Path("tagkit.toml").write_text(ended.out, "utf-8")
    flags = {"data.train_file": "train.conll", "data.dev_file": "dev.conll"}
    assert load_config("tagkit.toml") == load_config(None, ["encoder.cell=gru"], flags)
    # The flags are those of this command: what another one would be called is not said.
    assert "(--set data.format chooses" not in ended.out
    assert "# To train with it: tagkit train --config FILE\n" in ended.out


def test_the_task_is_that_of_the_corpus_unless_it_is_named(
    tagkit: Program, intents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(intents)
    found = tomllib.loads(tagkit("config", "--train", "train.tsv").out)
    assert found["task"] == "classify"
    ended = tagkit("config", "--train", "train.tsv", "--task", "tag")
    assert (ended.code, ended.out) == (1, "")
    assert Says("tokens").within(ended.err)
    assert "--task classify trains on classes" in ended.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--dev", "x"], Says("--dev", "--train")),
        (["encoder", "--set", "a=b"], Says("--set", "--train")),
        (["encoder", "--train", "x"], Says("encoder", "--train")),
    ],
)
def test_what_would_have_no_effect_is_wrong_usage(
    tagkit: Program, arguments: list[str], problem: Says
) -> None:
    ended = tagkit("config", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == problem


def test_an_option_without_effect_is_refused(tagkit: Program, intents: Path) -> None:
    ended = tagkit("config", "--train", intents / "train.tsv", "--set", "head.kind=softmax")
    assert (ended.code, ended.out) == (1, "")
    assert Says("head.kind", '"softmax"', '"classify"').within(ended.err)


def test_the_list_imports_no_torch() -> None:
    program = (
        "import sys\nsys.argv = ['tagkit', 'config', 'train']\n"
        "from tagkit.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "assert not {'torch', 'rich', 'seqeval'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=20)


def test_a_terminal_gets_meanings_wrapped_in_a_column_of_their_own() -> None:
    blanks = " " * 32
    assert list(option_lines(chosen_options("head"), 80))[:4] == [
        "[head]",
        '  kind = "crf"                  How a sequence of tags is scored and decoded:',
        f"{blanks}crf, softmax, viterbi or feedback. Only with",
        f'{blanks}task = "tag" or "both".',
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(width: int) -> None:
    options = chosen_options(None)
    lines = list(option_lines(options, width))
    assert max(map(len, lines)) <= width
    words = " ".join(option_lines(options, None)).split()
    assert " ".join(lines).split() == words


def test_a_long_setting_stands_above_its_meaning() -> None:
    lines = list(option_lines(chosen_options("data"), 60))
    assert lines[lines.index('  tokenizer = "multilingual"') + 1] == (
        "      Tokenizer of raw texts: multilingual; syntok, for"
    )


def test_one_option_is_said_with_what_may_be_done_with_it() -> None:
    said = list(one_option_lines(chosen_options("encoder.hidden")[0], None, None))
    assert said == [
        "encoder.hidden = 200",
        "  Hidden units for each direction.",
        Says("resumed"),
        "  A model that starts from another one's weights has that one's value.",
        Says("search"),
    ]
    first, *_ = one_option_lines(chosen_options("head.threshold")[0], None, None)
    assert first == "head.threshold, unset by default"


def test_what_is_no_section_and_no_option_is_refused() -> None:
    with refuses(ConfigError, "train.sed", "train.seed"):
        chosen_options("train.sed")
