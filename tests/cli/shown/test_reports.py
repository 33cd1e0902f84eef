"""Reports as tables."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from program import Program
from random_language_model import context_of

from tagkit.cli.shown.reports import info_lines
from tagkit.evaluation.reports.class_report import make_class_report
from tagkit.evaluation.reports.report_text import confusion_lines, report_lines


def test_a_matrix_is_printed_whole_or_as_its_largest_cells(tagkit: Program, tmp_path: Path) -> None:
    def compare(pairs: list[tuple[str, str]]) -> str:
        for name, side in (("gold", 0), ("found", 1)):
            rows = "".join(f"{pair[side]}\ttext {n}\n" for n, pair in enumerate(pairs))
            (tmp_path / f"{name}.tsv").write_text(f"label\ttext\n{rows}", encoding="utf-8")
        return tagkit("eval", "--gold", tmp_path / "gold.tsv", "--pred", tmp_path / "found.tsv").out

    small = compare([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")])
    assert small.endswith(
        "\n\ngold \\ predicted  a  b\na                 1  1\nb                 0  2\n"
    )
    names = [chr(ord("a") + n) for n in range(12)]
    large = compare([*zip(names, names[1:] + names[:1], strict=True), ("b", "c"), ("a", "a")])
    head, _, *rows = large.split("\nconfused most often\n")[1].splitlines()
    assert head == ""
    assert rows[0].split() == ["b", "c", "2"]
    assert len(rows) == 10
    right = compare([("a", "a"), ("b", "b")])
    assert "predicted" not in right


CLASSES = ["abbreviation", "creative_work", "description_of_a_process_in_several_steps", "entity",
           "human_being", "location_on_earth", "manner_of_an_action", "numeric_value"]  # fmt: skip


def matrix_of(classes: list[str], width: int, count: int = 1) -> list[str]:
    """Lines of a matrix: each class is right `count` times, and once taken for the next one."""
    pairs = [(gold, gold) for gold in classes for _ in range(count)]
    pairs += zip(classes, [*classes[1:], classes[0]], strict=True)
    gold, found = ([(pair[side],) for pair in pairs] for side in (0, 1))
    return list(confusion_lines(make_class_report(gold, found, several=False), width))


def test_a_matrix_of_eight_long_names_is_readable_at_80_columns() -> None:
    assert matrix_of(CLASSES, 80) == [
        "",
        "gold \\ predicted                             1  2  3  4  5  6  7  8",
        "1 abbreviation                               1  1  0  0  0  0  0  0",
        "2 creative_work                              0  1  1  0  0  0  0  0",
        "3 description_of_a_process_in_several_steps  0  0  1  1  0  0  0  0",
        "4 entity                                     0  0  0  1  1  0  0  0",
        "5 human_being                                0  0  0  0  1  1  0  0",
        "6 location_on_earth                          0  0  0  0  0  1  1  0",
        "7 manner_of_an_action                        0  0  0  0  0  0  1  1",
        "8 numeric_value                              1  0  0  0  0  0  0  1",
    ]


def test_a_narrow_matrix_shortens_names_in_the_middle_and_a_wide_one_has_them_as_heads() -> None:
    narrow = matrix_of(CLASSES, 60, 123)
    assert {len(line) for line in narrow} == {0, 60}
    assert narrow[4] == "3 descriptio...steps    0    0  123    1    0    0    0    0"
    wide = matrix_of(CLASSES, 250)
    assert wide[1].split()[3:] == CLASSES
    assert wide[4].startswith(f"{CLASSES[2]}  ")
    assert len({len(line) for line in wide[1:]}) == 1  # the columns are below each other


def test_counts_that_fit_no_line_are_listed_as_pairs() -> None:
    lines = matrix_of(CLASSES, 38, 12_345)
    assert lines[:6] == [
        "",
        "confused most often",
        "",
        "gold            predicted       texts",
        "abbreviation    creative_work       1",
        "creative_work   descript...eps      1",
    ]
    assert max(map(len, lines)) <= 38


def test_a_class_that_is_only_predicted_has_a_row_too() -> None:
    report = make_class_report([("a",)] * 2, [("a",), ("b",)], several=False)
    assert list(confusion_lines(report, 80)) == [
        "", "gold \\ predicted  a  b", "a                 1  1", "b                 0  0",
    ]  # fmt: skip


def test_a_report_shortens_labels_for_a_terminal_only() -> None:
    report = make_class_report([(CLASSES[2],)], [(CLASSES[2],)], several=False)
    assert next(line for line in report_lines(report) if "desc" in line).startswith(CLASSES[2])
    lines = list(report_lines(report, 60))
    assert lines[1] == "description_of...l_steps     1.0000  1.0000  1.0000        1"
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize(
    ("options", "vocabulary", "reads"),
    [
        ([], "5 words, the end of a line among them, and the unknown one",
         "forward, on from line to line"),
        (["data.direction=backward", "data.context=line", "data.unit=character"],
         "5 characters, the end of a line among them, and the unknown one",
         "backward, line by line"),
        (["data.pairs=true", "data.context=line"],
         "5 words, the end of a line among them, and the unknown one",
         "forward, line by line; pairs of prefix and continuation"),
        (["data.pairs=true", "data.context=line", "data.loss_on=continuation", "data.unit=bpe"],
         "5 byte pairs, the end of a line among them; none is unknown",
         "forward, line by line; pairs of prefix and continuation, of which continuations count"),
    ],
)  # fmt: skip
def test_a_language_model_says_what_it_reads_and_how(
    options: list[str], vocabulary: str, reads: str
) -> None:
    context = context_of("train.max_epochs=1", *options)
    bundle: Any = SimpleNamespace(
        metadata={}, config=context.config, vocabulary=context.vocabulary, model=context.model,
        calibration=None,
    )  # fmt: skip
    # A perplexity that no number can hold is null in JSON.
    scores = {"kind": "language-model", "perplexity": None, "unit": "word"}
    bundle.metadata["scores"] = {"dev": scores, "test": {**scores, "perplexity": 1.5e3}}
    lines = [*info_lines("m", bundle)]
    assert lines[-2:] == [
        "dev perplexity over 1.8e+308 (per word)",
        "test perplexity 1,500.00 (per word)",
    ]
    assert f"vocabulary  {vocabulary}" in lines
    assert f"reads       {reads}" in lines
