"""Tags that are odd in their scheme, and parts in another one."""

from pathlib import Path

import pytest
from lint_reports import check, told

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "a I-X\nb O\n\nc I-X\n",
            "IOB1 (all 5 transitions legal; next best is IOB2 with 2 illegal)",
        ),
        ("a B-X\nb O\n", "IOB2 (all 3 transitions legal; next best is IOB1 with 1 illegal)"),
        ("a S-X\nb O\n", "IOBES (all 3 transitions legal; next best is IOB1 with 2 illegal)"),
        ("a DT\nb NN\n", "plain labels"),
        ("a O\nb O\n", "every tag is O"),
    ],
)
def test_a_scheme_is_told_with_its_rival(tmp_path: Path, content: str, expected: str) -> None:
    assert check(tmp_path, content).files[0].scheme_told == expected


def test_two_schemes_that_fit_alike_are_not_sure(tmp_path: Path) -> None:
    (facts,) = check(tmp_path, "a B-X\nb E-X\nc O\n\n" * 3 + "d B-X\ne L-X\n\n" * 3).files
    assert facts.scheme_told == "IOBES (6 of 21 transitions illegal; not sure: BILOU fits as well)"


def test_illegal_transitions_are_told_by_kind_with_their_lines(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD * 5 + "a O\nb I-PER\n\nc I-PER\nd B-LOC\ne I-PER\n")
    assert told(report, "illegal-transition", tmp_path) == [
        ("error", "O -> I-PER is illegal in IOB2: 2 times", (42, 44)),
        ("error", "B-LOC -> I-PER is illegal in IOB2: 1 time", (46,)),
    ]
    ended = check(tmp_path, "a S-X\nb B-X\nc E-X\n\nd B-X\n")
    assert told(ended, "illegal-transition", tmp_path) == [
        ("error", "B-X -> O is illegal in IOBES: 1 time", (5,)),
    ]


def test_a_part_in_another_scheme_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD * 9 + "a I-PER\nb O\n\n" * 3)
    assert told(report, "mixed-schemes", tmp_path) == [
        ("error", "3 sentences in IOB1, not in IOB2 as the others", (73, 76, 79)),
    ]
    assert not told(check(tmp_path, GOOD * 9), "mixed-schemes", tmp_path)
    # Most of what is wrong here is right in no scheme.
    wrong = "a I-PER\nb O\n\n" * 2 + "a I-PER\nb E-PER\n\n" * 3
    assert not told(check(tmp_path, GOOD * 9 + wrong), "mixed-schemes", tmp_path)


def test_tags_of_no_scheme_are_told(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD * 3 + "a B_PER\n")
    assert told(report, "tag-of-no-scheme", tmp_path) == [
        ("error", "tag 'B_PER' is none of a span scheme, as most here are (B-LABEL, I-LABEL, O): "
         "1 time; is B-PER meant?", (25,)),
    ]  # fmt: skip


def test_one_odd_tag_leaves_the_rest_to_be_checked_as_spans(tmp_path: Path) -> None:
    files = {"train.conll": GOOD, "dev.conll": GOOD * 3 + "a B_PER\nb I-PER\n\nc I-PER\n"}
    report = check(tmp_path, files)
    found = [(f.kind, f.lines) for f in report.findings if f.severity != "note"]
    # What stands behind B_PER is not judged: nobody knows what that tag is.
    assert found == [("tag-of-no-scheme", (25,)), ("illegal-transition", (28,))]
    assert report.files[1].scheme == "iob2"
    assert report.files[1].labels == {"PER": 8, "LOC": 3}
    assert report.files[1].scheme_told == (
        "IOB2 (1 of 27 transitions illegal; next best is IOB1 with 9 illegal; 1 tag of no scheme)"
    )


def test_the_scheme_that_the_configuration_names_is_the_one_that_counts(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD, scheme="iob1")
    assert report.files[0].scheme_told == ("IOB1, as data.scheme says (3 of 8 transitions illegal)")
    assert told(report, "illegal-transition", tmp_path) == [
        ("error", "O -> B-PER is illegal in IOB1: 2 times", (1, 5)),
        ("error", "O -> B-LOC is illegal in IOB1: 1 time", (7,)),
    ]
    assert check(tmp_path, GOOD, scheme="labels").files[0].labels["B-PER"] == 2
    words = check(tmp_path, "a DT\nb NN\n", scheme="iob2")
    assert told(words, "tag-of-no-scheme", tmp_path)[0] == (
        "error", "tag 'DT' is none of IOB2, which data.scheme names: 1 time", (1,)
    )  # fmt: skip
