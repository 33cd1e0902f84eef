"""The columns of texts and of labels in TSV and CSV files."""

from pathlib import Path

import pytest

from tagkit.config import DataConfig
from tagkit.corpus.formats.options import Reading
from tagkit.corpus.formats.recognition import read_items
from tagkit.corpus.formats.source import Source
from tagkit.errors import TagkitError


def items_of(path: Path, **options: object) -> list[object]:
    data = DataConfig(**options)
    limit = {"max_line_chars": data.max_line_chars} if "max_line_chars" in options else {}
    return list(read_items(Source(str(path), data.encoding, **limit), Reading(data)))


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(TagkitError) as caught:
        items_of(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_one_column_is_not_called_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("one\n", encoding="utf-8")
    assert "found 1 column and nothing" in refusal(path, format="tsv")
    assert refusal(path, format="tsv", text_column=3).endswith("as the file has 1 column")
