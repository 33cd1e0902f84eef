"""What a shell completes, asked in the way in which a shell asks."""

import subprocess
import sys
from typing import Any

import pytest
from program import Program
from typer.main import get_command

from tagkit.cli.main import COMMANDS, app
from tagkit.cli.program.completion import complete_part, values_of
from tagkit.cli.program.option_fields import flags_by_name
from tagkit.config import Config, allowed, option_names
from tagkit.config.option import LABELS

ABOUT_LABELS = ("audit", "learning-curve")  # they refuse a task without labels


def completed(command: str, flag: str, incomplete: str = "") -> list[str]:
    """The values of a command's flag or argument, by click's own interface."""
    group: Any = get_command(app)
    found = group.get_command(None, command)
    context = found.make_context(command, [], resilient_parsing=True)
    param = next(p for p in found.params if flag in (*p.opts, p.name))
    return [item.value for item in param.shell_complete(context, incomplete)]


def fixed_values(name: str) -> list[str]:
    section, _, key = name.rpartition(".")
    owner = type(getattr(Config(), section)) if section else Config
    values = allowed(owner, key)
    return [*values] if all(isinstance(value, str) for value in values) else []


@pytest.mark.parametrize("command", [*COMMANDS])
def test_every_flag_of_an_option_with_fixed_values_completes_them(command: str) -> None:
    group: Any = get_command(app)
    seen = []
    flags, of_config = flags_by_name(COMMANDS[command][0]), option_names()
    for param in group.get_command(None, command).params:
        names = [name for name, flag in flags.items() if flag in param.opts and name in of_config]
        values = [value for name in names for value in fixed_values(name)]
        if values and command != "convert":  # its --scheme is the one to write
            seen.append(param.opts[0])
            if param.opts[0] == "--task" and command in ABOUT_LABELS:
                values = [value for value in values if value in LABELS]
            assert completed(command, param.opts[0]) == values, param.opts
    if command == "train":
        assert seen == ["--task", "--input-format", "--on-misaligned"]


@pytest.mark.parametrize(
    ("command", "flag", "incomplete", "expected"),
    [
        ("predict", "--precision", "", ["fp32", "bf16", "int8"]),
        ("predict", "--device", "c", ["cpu", "cuda", "cuda:0"]),
        ("convert", "--to", "jsonl", ["jsonl", "jsonl-tokens", "jsonl-spans", "jsonl-texts"]),
        ("convert", "--scheme", "i", ["iob1", "iob2", "iobes"]),
        ("train", "--metric", "macro", ["macro_f1"]),
        ("train", "--metric", "f", ["f1", "f1:"]),
        ("tune", "--metric", "lo", ["loss"]),
        ("train", "--tag-column", "U", ["UPOS"]),
        ("train", "--set", "encoder.l", ["encoder.leak=", "encoder.layers=",
                                         "encoder.locked_dropout="]),
        ("train", "--set", "encoder.cell=l", ["encoder.cell=lstm", "encoder.cell=lstm-peephole",
                                              "encoder.cell=leaky"]),
        ("train", "--set", "no.such=", []),
        ("tune", "--search", "train.l", ["train.lm_loss=", "train.lr="]),
        ("config", "part", "", ["task", "data", "embeddings", "encoder", "decoder", "head", "train",
                                "output"]),
        ("config", "part", "encoder.l", ["encoder.leak", "encoder.layers",
                                         "encoder.locked_dropout"]),
    ],
)  # fmt: skip
def test_values_are_completed(
    command: str, flag: str, incomplete: str, expected: list[str]
) -> None:
    assert completed(command, flag, incomplete) == expected


def test_the_formats_of_predictions_are_completed() -> None:
    formats = completed("predict", "--format")
    assert {"columns", "tsv", "jsonl", "show"} <= {*formats}
    assert completed("predict", "--format", "sh") == ["show"]


def test_commands_about_labels_offer_the_tasks_that_give_labels(tagkit: Program) -> None:
    for command in ABOUT_LABELS:
        assert completed(command, "--task") == ["tag", "classify", "both"]
        shown = " ".join(tagkit(command, "--help").out.split())
        assert "What to learn: tag (tokens), classify (texts) or both. [default: tag]" in shown
    assert "language-model" in completed("train", "--task")


def test_every_option_has_a_part_that_is_completed() -> None:
    parts = [part for section in complete_part("") for part in complete_part(f"{section}.")]
    assert {*parts, "task"} == {*option_names()}
    assert values_of("encoder.hidden")("") == []  # a number


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_shown(
    tagkit: Program, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    # As of the installed program: that of the tests is called `python -m pytest`.
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None)
    monkeypatch.setenv("_TAGKIT_COMPLETE", f"source_{shell}")
    ended = tagkit()
    assert ended.code == 0
    assert f"_TAGKIT_COMPLETE=complete_{shell}" in ended.out


def test_a_shell_gets_its_answer_without_torch() -> None:
    program = (
        "import os, sys\n"
        "os.environ |= {'_TAGKIT_COMPLETE': 'complete_bash', 'COMP_CWORD': '4',\n"
        "               'COMP_WORDS': 'tagkit predict model --format sh'}\n"
        "sys.argv = ['tagkit']\n"
        "from tagkit.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "assert not {'torch', 'rich', 'seqeval'} & set(sys.modules)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=20)
    assert (ended.returncode, ended.stdout.split()) == (0, [b"show"])
