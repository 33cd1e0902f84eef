"""The columns of texts and of labels in TSV and CSV files."""

from pathlib import Path

import pytest
from read_files import refusal
from says import Says, refuses

from tagkit.config import DataConfig
from tagkit.corpus.formats.tables.text_columns import Row, find_text_layout
from tagkit.corpus.source.options import ReaderOptions
from tagkit.errors import FileError


def layout_of(first: str, rows: list[str], **options: object) -> tuple[bool, list[str]]:
    """Whether the first row is a header, and the notes on it."""
    notes: list[str] = []
    cells: list[Row] = [(n, row.split("|")) for n, row in enumerate([first, *rows], 1)]
    reading = ReaderOptions(DataConfig.model_validate(options), note=notes.append)
    return find_text_layout(cells, "a.csv", reading).header, notes


MOODS = [f"a text of words {n}|{('good', 'bad')[n % 2]}" for n in range(20)]


def test_a_first_label_that_no_other_line_has_is_mentioned() -> None:
    said = (
        "a.csv:1: the only line with the label 'Klasse'. If it names the columns, say so: "
        "data.label_column=Klasse"
    )
    for count in (4, 8, 20):  # two of each other label are enough
        assert layout_of("Satz|Klasse", MOODS[:count]) == (False, [said])
    assert layout_of("Satz|Klasse", MOODS[:3]) == (False, [])
    assert layout_of("Satz|Klasse", MOODS, label_column="Klasse") == (True, [])
    assert layout_of("Satz|Klasse", MOODS, header="yes") == (True, [])
    said = said.replace("Klasse'", "die Klasse'").replace(
        "data.label_column=Klasse", "data.header=yes"
    )
    assert layout_of("Satz|die Klasse", MOODS) == (False, [said])  # two words need quotes
    # Not where other labels are of one line too, nor where it comes again.
    assert layout_of("Satz|Klasse", [*MOODS, "a text|odd"]) == (False, [])
    assert layout_of("Satz|good", MOODS) == (False, [])


@pytest.mark.parametrize("name", ["question", "title", "review"])
def test_a_text_that_is_a_known_name_is_no_header_where_its_label_comes_again(name: str) -> None:
    words = [f"word{n}|{('noun', 'verb')[n % 2]}" for n in range(8)]
    assert layout_of(f"{name}|noun", words, label_column=1) == (False, [])
    assert layout_of(f"{name}|group", words, label_column=1) == (True, [])


@pytest.mark.parametrize(
    ("first", "options", "expected"),
    [
        ("label|Nr|text", {"text_column": "Mail", "label_column": "Art"}, (2, 0)),
        ("label|Nr|text", {"text_column": 3, "label_column": 4}, (2, 0)),
        ("label|Mail|text", {"text_column": "mail", "label_column": "Art"}, (1, 0)),
        ("Text|Nr|Label", {"text_column": "Mail", "label_column": "Art"}, (0, 2)),
        # Of another table numbers are as they are.
        ("text|Nr|label", {"text_column": 1, "label_column": 2}, None),
        ("Nr|Mail|Art", {"text_column": "Mail", "label_column": "Art"}, None),
    ],
)
def test_predictions_may_have_the_columns_that_tagkit_writes(
    first: str, options: dict[str, object], expected: tuple[int, int] | None
) -> None:
    rows: list[Row] = [(1, first.split("|")), (2, ["a b", "c d", "e f"])]
    notes: list[str] = []
    reading = ReaderOptions(DataConfig.model_validate(options), note=notes.append, own_columns=True)
    layout = find_text_layout(rows, "a.csv", reading)
    assert (layout.text, layout.label) == (expected or (1, 2))
    assert notes == [Says("a.csv: ", "text and label")] * (expected is not None)
    if expected and first[0] == "l" and options["text_column"] != "mail":
        with refuses(FileError, "a.csv:1", "data.text_column"):
            find_text_layout(rows, "a.csv", ReaderOptions(reading.data))


def test_new_texts_are_not_told_to_set_what_a_model_has() -> None:
    rows: list[Row] = [(1, ["Nr", "Mail", "Art"]), (2, ["1", "a b", "x"])]
    with pytest.raises(FileError) as caught:
        find_text_layout(rows, "a.csv", ReaderOptions(DataConfig(), with_tags=False))
    assert str(caught.value) == (Says("a.csv:1", "3", '"text"'))


def test_one_column_is_not_called_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("one\n", encoding="utf-8")
    assert "found 1 column and" in refusal(path, format="tsv")
    assert refusal(path, format="tsv", text_column=3).endswith("as the file has 1 column")


def test_of_a_label_and_a_label_in_another_case_the_one_in_lower_case_is_the_label() -> None:
    rows: list[Row] = [
        (n, row.split("|")) for n, row in enumerate(["text|Label|label", *["hi there|a|b"] * 2], 1)
    ]
    layout = find_text_layout(rows, "a.csv", ReaderOptions(DataConfig()))
    assert (layout.text, layout.label, layout.header) == (0, 2, True)
