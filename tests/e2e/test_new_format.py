"""A format that is added as one row of the table serves every command."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from kinds import TAGS, WORDS
from says import Says, refuses

from tagkit.config import DataConfig
from tagkit.corpus.convert.convert import convert_corpus
from tagkit.corpus.formats.recognition import recognise
from tagkit.corpus.formats.table import FORMATS, Format, target_format
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.source.look import each_line
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.pieces import OutputPiece, Writing, one_file
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import FormatError
from tagkit.text.records import Sentence


def read_toy(source: Source, reading: ReaderOptions) -> Iterator[Item]:
    """Sentences such as '<EU=B-ORG|votes=O>'."""
    for number, line in source.numbered():
        cells = [cell.split("=") for cell in line[1:-1].split("|")]
        if any(len(cell) != 2 for cell in cells):
            reading.refuse(source.name, number, "expected WORD=TAG")
            continue
        words, tags = zip(*cells, strict=True)
        lines = (number,) * len(words)
        yield Sentence(words, tags if reading.with_tags else None, lines=lines)


def write_toy(items: Iterable[Sentence], _: Writing) -> Iterator[OutputPiece]:
    for item in items:
        pairs = zip(item.words, item.tags or (), strict=True)
        yield from one_file([f"<{'|'.join(f'{word}={tag}' for word, tag in pairs)}>"])


TOY = Format(
    "toy", "words and tags between angles", "tags", read_toy, write_toy,
    each_line(re.compile("<.*>$").match, "every line is between angles"), (".toy",),
)  # fmt: skip


@pytest.fixture(autouse=True)
def table_with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "toy", TOY)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus"
    path.write_text("<EU=B-ORG|votes=O>\n<Oslo=B-LOC>\n", encoding="utf-8")
    return str(path)


def test_train_and_eval_read_it(corpus: str) -> None:
    split = read_split(corpus, DataConfig(), TAGS, None)
    assert [sentence.tags for sentence in split.sentences] == [("B-ORG", "O"), ("B-LOC",)]
    assert split.scheme == "iob2"
    assert split.layout is None
    assert split.notes == (Says(corpus, "data.format"),)


def test_convert_reads_and_writes_it(corpus: str) -> None:
    def convert(path: str, to: str, scheme: str | None) -> str:
        done = convert_corpus(
            path, DataConfig(), lambda read: target_format(to, None, read), scheme,
            single=True, note=lambda _: None,
        )  # fmt: skip
        return "".join(piece.text for piece in done.pieces)

    columns = convert(corpus, "a.conll", None)
    assert columns == "EU\tB-ORG\nvotes\tO\n\nOslo\tB-LOC\n\n"
    other = Path(corpus).with_name("a.conll")
    other.write_text(columns, encoding="utf-8")
    assert convert(str(other), "a.toy", "iobes") == "<EU=S-ORG|votes=O>\n<Oslo=S-LOC>\n"


def test_check_reads_it_and_names_its_broken_lines(corpus: str) -> None:
    with Path(corpus).open("a", encoding="utf-8") as file:
        file.write("<broken>\n")
    report = check_files([corpus], DataConfig())
    assert (report.files[0].format, report.files[0].sentences) == ("toy", 2)
    (error,) = (finding for finding in report.findings if finding.severity == "error")
    assert (error.message, error.lines) == ("expected WORD=TAG", (3,))
    with refuses(FormatError, "corpus:3", "WORD", "TAG"):
        read_split(corpus, DataConfig(), TAGS, None)


def test_a_name_with_its_ending_is_enough_where_no_line_looks_like_another_format(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.toy.gz"
    path.write_bytes(b"only words here\n")  # whether it is packed, its bytes tell
    assert recognise(Source(str(path), "utf-8"), "auto").name == "toy"
    plain = tmp_path / "a.txt"
    plain.write_bytes(b"only words here\n")
    assert recognise(Source(str(plain), "utf-8"), "auto").name == "text"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.toy", "<EU=B-ORG|votes=O>\n", ["EU votes"]),
        ("a.conll", "EU NNP B-ORG\nvotes VBZ O\n\nYes UH O\n", ["EU votes", "Yes"]),
        ("a.tsv", "pos\ta good film\nneg\ta bad film\n", ["a good film", "a bad film"]),
        ("a.jsonl", '{"text": "EU votes", "spans": [{"start": 1, "end": 4, "label": "X"}]}\n',
         ["EU votes"]),
        ("a.txt", "EU votes. It does.\n", ["EU votes .", "It does ."]),
    ],
)  # fmt: skip
def test_a_corpus_of_words_alone_is_read_from_any_format_without_its_labels(
    tmp_path: Path, name: str, content: str, words: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    split = read_split(str(path), DataConfig(), WORDS, None)
    assert [" ".join(sentence.words) for sentence in split.sentences] == words
    assert all(sentence.tags is None for sentence in split.sentences)
    assert not split.classes()
    assert split.detection is None
