"""The columns of texts and of labels in TSV and CSV files."""

from pathlib import Path

from read_files import refusal


def test_one_column_is_not_called_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("one\n", encoding="utf-8")
    assert "found 1 column and nothing" in refusal(path, format="tsv")
    assert refusal(path, format="tsv", text_column=3).endswith("as the file has 1 column")
