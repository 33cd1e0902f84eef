"""Spellings of one label."""

from collections import Counter

import pytest

from tagkit.corpus.lint.spelling import variants


@pytest.mark.parametrize(
    ("counts", "plain", "expected"),
    [
        ({"PER": 9, "Per": 1}, False, [("PER", "Per")]),
        ({"B-loc": 9, "b_loc": 2}, False, [("B-loc", "b_loc")]),
        ({"location": 500, "locaton": 2}, False, [("location", "locaton")]),
        ({"location": 500, "locatoin": 2}, False, []),
        ({"location": 50, "locaton": 2}, False, [("location", "locaton")]),
        ({"location": 500, "locaton": 5}, False, [("location", "locaton")]),
        ({"location": 500, "locaton": 6}, False, []),
        ({"location": 3, "locaton": 1}, False, []),
        ({"1.1": 9, "11": 1, "1-1": 1, "V-1": 4, "v1": 1}, False, [("V-1", "v1")]),
        ({"layer1": 500, "layer2": 2}, False, []),
        ({"NN": 900, "NNS": 2, "NNP": 1}, False, []),
        ({"number": 900, "numbers": 2}, True, []),
        ({"NOUN": 9, "Noun": 1, ".": 4, ",": 4, "-": 1}, True, [("NOUN", "Noun")]),
        ({"LOC": 5, "ORG": 5}, False, []),
    ],
)
def test_spellings_of_one_label_are_found(
    counts: dict[str, int], plain: bool, expected: list[tuple[str, str]]
) -> None:
    assert variants(Counter(counts), plain=plain) == expected


def test_of_more_labels_than_a_set_of_them_has_single_letters_are_not_compared() -> None:
    counts = Counter({f"label{'x' * n}": 9 for n in range(1, 1000)} | {"place": 90, "plaice": 1})
    assert variants(counts, plain=False) == []
    assert variants(Counter({"place": 90, "plaice": 1}), plain=False) == [("place", "plaice")]
