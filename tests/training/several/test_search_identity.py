"""What an earlier search has in common with the one that is to go on in its folder."""

import pytest

from tagkit.config import Config
from tagkit.config.search_space import parse_spaces
from tagkit.training.several.search_identity import record_of, what_differs

SEARCHED = ["train.lr=0.001..0.02:log", "encoder.cell=lstm,gru"]


@pytest.mark.parametrize(
    ("spaces", "said"),
    [
        (SEARCHED, ""),
        (SEARCHED[::-1], ""),
        (["train.lr=0.001..0.01:log", SEARCHED[1]],
         "tried train.lr=0.001..0.02:log, not train.lr=0.001..0.01:log"),
        (SEARCHED[:1], "tried encoder.cell=lstm,gru too"),
        ([*SEARCHED, "encoder.hidden=8,9"], "did not try encoder.hidden=8,9"),
    ],
)  # fmt: skip
def test_the_options_whose_values_differ_are_named_with_both(spaces: list[str], said: str) -> None:
    before, search = (
        record_of(Config(), [None], parse_spaces(each)) for each in (SEARCHED, spaces)
    )
    assert what_differs(before, search) == said


def test_other_corpora_are_named_as_such() -> None:
    spaces = parse_spaces(SEARCHED)
    before, search = (record_of(Config(), [digest], spaces) for digest in ("a", "b"))
    assert what_differs(before, search) == "tried other corpora"


def test_values_that_somebody_has_changed_are_other_values() -> None:
    search = record_of(Config(), [None], parse_spaces(SEARCHED))
    assert what_differs({**search, "spaces": ["train.lr"]}, search) == "tried other values"
