"""Tables that several sections share."""

import pytest
from html_sections import record, section


@pytest.mark.parametrize("anchor", ["measures", "slices"])
def test_scores_have_a_bar_that_says_the_same(anchor: str) -> None:
    root = section(anchor, record(anchor))
    for row in root.all("tr"):
        numbers = [each.text for each in row.all("td", "number")]
        for bar in row.all("svg", "small"):
            width = float(list(bar.all("rect"))[1].attributes["width"])
            assert width == pytest.approx(100 * float(numbers[2]), abs=0.01)
