"""Cases of one law of which some run in every build and all with the slow tests."""

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_slow(cases: Iterable[Any], *, always: int) -> list[Any]:
    """The cases for `parametrize`: the first `always` as they are, the others marked as slow."""
    found = []
    for number, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        found.append(pytest.param(*values, marks=[] if number < always else pytest.mark.slow))
    return found
