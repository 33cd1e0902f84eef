"""What a file is read as, or why it is refused."""

from pathlib import Path

import pytest

from tagkit.config import DataConfig
from tagkit.corpus.formats.recognition import read_items
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import TagkitError


def items_of(path: str | Path, **options: object) -> list[Item]:
    """Sentences or documents of a file, read with these options of [data]."""
    data = DataConfig(**options)
    limit = {"max_line_chars": data.max_line_chars} if "max_line_chars" in options else {}
    return list(read_items(Source(str(path), data.encoding, **limit), ReaderOptions(data)))


def refusal(path: Path, **options: object) -> str:
    """The error of reading a file, without its folder."""
    with pytest.raises(TagkitError) as caught:
        items_of(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")
