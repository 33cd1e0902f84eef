"""Options that several commands take: what flags and `--set` give together."""

from pathlib import Path

import pytest
from program import Program
from says import Says

from tagkit.cli import main
from tagkit.cli.program.options import load_settings

# Each command that has `--set`, with what it needs beside it.
COMMANDS = {
    "train": ["--train", "no.conll"],
    "tune": ["--train", "no.conll"],
    "learning-curve": ["--train", "no.conll"],
    "config": ["--train", "no.conll"],
    "audit": ["no.conll"],
    "check": ["no.conll"],
    "convert": ["no.conll", "other.conll"],
}


def test_these_are_the_commands_that_set_options() -> None:
    found = {
        name
        for name, (function, _) in main.COMMANDS.items()
        if "overrides" in function.__annotations__
    }
    assert found == {*COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_set_gives_twice_is_refused(
    command: str, tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    two = ["--set", "data.token_column=1", "--set", " data.token_column = 2 "]
    ended = tagkit(command, *COMMANDS[command], *two)
    assert ended.code == 2
    assert ended.err == Says("data.token_column", "--set")


@pytest.mark.parametrize(
    ("command", "flag", "option"),
    [
        ("train", ["--dev", "a"], "data.dev_file=b"),
        ("train", ["--seed", "1"], "train.seed=2"),
        ("train", ["-o", "a"], "output.dir=b"),
        ("train", ["--seeds", "1,2"], "train.seeds=[1,3]"),
        ("train", ["--tag-column", "UPOS,XPOS"], "data.tag_column=UPOS"),
        ("tune", ["--output", "a"], "output.dir=b"),
        ("learning-curve", ["-o", "a"], "output.dir=b"),
        ("config", ["--task", "tag"], "task=classify"),
        ("config", ["--vectors", "a"], "embeddings.vectors=b"),
        ("audit", ["--workers", "1"], "train.workers=2"),
        ("check", ["--encoding", "latin-1"], "data.encoding=utf-8"),
        ("convert", ["--input-format", "csv"], "data.format=tsv"),
    ],
)
def test_an_option_that_a_flag_and_set_give_is_refused(
    command: str,
    flag: list[str],
    option: str,
    tagkit: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = tagkit(command, *COMMANDS[command], *flag, "--set", option)
    name = option.partition("=")[0]
    shown = "-o" if name == "output.dir" else flag[0]
    assert ended.code == 2
    assert ended.err.endswith(
        f": {name} is given twice, by {shown} and by --set; give one of them\n"
    )


# How a corpus is read: a flag, and another value for `--set`.
READING = {
    "--input-format": ("csv", "data.format=tsv"),
    "--token-column": ("1", "data.token_column=2"),
    "--tag-column": ("1", "data.tag_column=2"),
    "--text-column": ("a", "data.text_column=b"),
    "--label-column": ("a", "data.label_column=b"),
    "--encoding": ("latin-1", "data.encoding=utf-8"),
}


@pytest.mark.parametrize("flag", READING)
@pytest.mark.parametrize("command", sorted({*COMMANDS} - {"config"}))
def test_every_command_that_reads_a_corpus_is_told_how_by_the_same_flags(
    command: str, flag: str, tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    value, other = READING[flag]
    # That they are compared shows that both arrive at the same option.
    ended = tagkit(command, *COMMANDS[command], flag, value, "--set", other)
    name = other.partition("=")[0]
    assert ended.code == 2
    assert f"{name} is given twice, by {flag} and by --set" in ended.err


def test_none_of_them_lacks_one_of_these_flags() -> None:
    parameters = {flag.removeprefix("--").replace("-", "_") for flag in READING}
    for name, (function, _) in main.COMMANDS.items():
        if "tag_column" in function.__annotations__:
            assert parameters <= set(function.__annotations__), name


def test_the_scheme_that_convert_writes_is_not_that_which_it_reads(
    tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.conll").write_text("Oslo I-LOC\n", "utf-8")
    options = ["--scheme", "iob2", "--set", "data.scheme=iob1"]
    assert tagkit("convert", "in.conll", "out.conll", *options).code == 0
    assert Path("out.conll").read_text("utf-8") == "Oslo B-LOC\n"


def test_a_flag_takes_the_place_of_what_the_file_has(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[train]\nseed = 7\nlr = 0.5\n", "utf-8")
    settings = load_settings(path, ["train.patience=3"], {"train.seed": 1, "task": None})
    assert (settings.train.seed, settings.train.lr, settings.train.patience) == (1, 0.5, 3)
