"""Commands of every kind print and write what they did when they were recorded."""

from pathlib import Path

import pytest
from recorded_commands import COMMANDS, RECORDING, compared, is_exact, read_recording, record

MOST_LINES = 150  # of differences that are shown
REMEDY = "if the change is wanted: python tests/support/recorded_commands.py --write"


@pytest.mark.slow
def test_commands_print_and_write_what_was_recorded(tmp_path: Path) -> None:
    found = record(tmp_path)
    lines = [*compared(read_recording(), found, exact=is_exact())]
    shown = [*lines[:MOST_LINES], *(["..."] if len(lines) > MOST_LINES else [])]
    assert not lines, "\n".join([REMEDY, *shown])


def test_each_group_of_commands_has_its_recording_and_no_two_commands_one_name() -> None:
    assert {path.stem for path in RECORDING.glob("*.txt")} == {*COMMANDS}
    for group, commands in COMMANDS.items():
        names = [command.name for command in commands]
        headings = [line for line in read_recording()[group].split("\n") if line[:6] == "===== "]
        assert headings == [f"===== {name}" for name in names]
        assert len({*names}) == len(names), group


@pytest.mark.parametrize(
    ("now", "exact", "differs"),
    [
        ("===== a\nloss 0.1234\n", True, False),
        ("===== a\nloss 0.1235\n", True, True),
        ("===== a\nloss 0.1235\n", False, False),  # another processor's last digit
        ("===== a\nloss 0.2234\n", False, True),
        ("===== a\nLoss 0.1234\n", False, True),
        ("===== b\nloss 0.1234\n", False, True),
    ],
)
def test_what_counts_as_a_difference(now: str, exact: bool, differs: bool) -> None:
    recorded = {"group": "===== a\nloss 0.1234\n"}
    assert bool([*compared(recorded, {"group": now}, exact=exact)]) == differs


def test_a_difference_names_the_command_and_shows_both_lines() -> None:
    recorded, now = {"group": "===== a\nold\n"}, {"group": "===== a\nnew\n"}
    lines = [*compared(recorded, now, exact=True)]
    assert lines[0] == "group: a"
    assert lines[-2:] == ["-old", "+new"]
