"""A finding is a sentence and a remedy, which name options as the command spells them."""

from collections.abc import Iterator

import pytest

from tagkit.cli.program.messages import use_flags, with_flags
from tagkit.training.events.finding import Check, Finding, Statement


@pytest.fixture
def flags() -> Iterator[None]:
    use_flags({"data.train_file": "--train", "overrides": "--set"})
    yield
    use_flags({})


@pytest.mark.usefixtures("flags")
def test_the_text_names_flags_where_the_command_has_them() -> None:
    remedy = "Exchange data.train_file, or train.lr=1"
    finding = Finding("a-name", "dev is large", remedy)
    assert finding.text == "dev is large. Exchange data.train_file, or train.lr=1."
    assert with_flags(finding.text) == "dev is large. Exchange --train, or --set train.lr=1."


def test_a_check_names_what_it_finds() -> None:
    def odd(n: int) -> list[Statement]:
        return [(f"{n} is odd", "Add 1")] if n % 2 else []

    check = Check("odd", odd, useless=True)
    assert list(check.findings(2)) == []
    assert list(check.findings(3)) == [Finding("odd", "3 is odd", "Add 1", useless=True)]
