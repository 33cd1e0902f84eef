"""What the tests of the formats share: strings, reading from a file, writing to one."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tagkit.config import DataConfig
from tagkit.corpus.source.options import Item, ReaderOptions, ReadRecords
from tagkit.corpus.source.pieces import OutputPiece, Writing
from tagkit.corpus.source.source import Source
from tagkit.errors import TagkitError
from tagkit.storage import encoded
from tagkit.text.records import Document, Sentence, TextSpan

Reader = Callable[[Source, ReaderOptions], ReadRecords | Iterator[Item]]
Writer = Callable[[Iterable[Any], Writing], Iterator[OutputPiece]]

# Characters that str.splitlines or str.split would cut at, that join, that have two spellings.
ODD = "\x85\xa0\u2028\u2029\x0b\x0c\x1c\u200b\u200d\ufeff\u0301é🧑🏽👩\u200d💻\"'\\/-_#{}()日\x00"


def words(extra_exclude: str = "", max_size: int = 4) -> st.SearchStrategy[str]:
    """Words without ASCII blanks and line ends."""
    excluded = " \t\n\r" + extra_exclude
    odd = "".join(char for char in ODD if char not in excluded) + "ab"
    return st.text(
        st.sampled_from(odd) | st.characters(codec="utf-8", exclude_characters=excluded),
        min_size=1,
        max_size=max_size,
    )


def texts(exclude: str = "") -> st.SearchStrategy[str]:
    """Texts with anything in them, that are not blank."""
    odd = "".join(char for char in ODD + " \t\n\rab" if char not in exclude)
    chars = st.sampled_from(odd) | st.characters(codec="utf-8", exclude_characters=exclude)
    return st.text(chars, min_size=1, max_size=12).filter(lambda text: bool(text.strip()))


def sentences(word: st.SearchStrategy[str], tag: st.SearchStrategy[str]) -> Any:
    """Tagged sentences."""
    pairs = st.lists(st.tuples(word, tag), min_size=1, max_size=5)
    return pairs.map(lambda rows: Sentence(tuple(w for w, _ in rows), tuple(t for _, t in rows)))


@st.composite
def documents(draw: st.DrawFn, text: st.SearchStrategy[str], label: Any) -> Document:
    """Texts with spans side by side."""
    content = draw(text)
    edges = sorted(draw(st.sets(st.integers(0, len(content)), max_size=6)))
    spans = []
    for start, end in zip(edges[::2], edges[1::2], strict=False):
        spans.append(TextSpan(content[start:end], start, end, draw(label)))
    return Document(content, tuple(spans))


def write(folder: Path, name: str, writer: Writer, items: Iterable[Any], **options: Any) -> str:
    """The path of what a writer has written: a file, or a folder for pieces with names."""
    notes: list[str] = options.pop("notes", [])
    given = {"plain": False, "single": False, "note": notes.append, **options}
    path = folder / name
    for piece in writer(items, Writing(**given)):
        place = path / piece.file if piece.file else path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as file:
            file.write(encoded(piece.text, first=file.tell() == 0))
    return str(path)


def read(path: str | Path, reader: Reader, **options: Any) -> list[Item]:
    """All records of a file or folder."""
    flags = {name: options.pop(name) for name in ("with_tags", "with_text", "all_features", "note",
             "on_error", "with_refused", "with_extra") if name in options}  # fmt: skip
    data = DataConfig(**options)
    found = reader(Source(str(path), data.encoding), ReaderOptions(data, **flags))
    return list(found.items if isinstance(found, ReadRecords) else found)


def refusal(path: Path, content: str | bytes, reader: Reader, **options: Any) -> str:
    """What reading a file with this content is refused with."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        read(path, reader, **options)
    except TagkitError as error:
        return str(error).replace(str(path), path.name)
    raise AssertionError("it was read")
