"""The table of formats: recognised, read and written; hostile input ends in one clear sentence."""

import gzip
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from formats_help import ODD, documents, sentences, texts, words, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from read_files import items_of
from says import Says, refuses

from tagkit.config import DataConfig, Format
from tagkit.corpus.formats.recognition import read_items, recognise
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.alignment import to_sentences
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import FormatError, TagkitError
from tagkit.text.records import Document, Sentence


def format_of(path: str | Path, raw: bool = False) -> str:
    return recognise(Source(str(path), "utf-8"), "auto", raw=raw).name


def test_the_names_that_the_configuration_allows_are_those_of_the_table() -> None:
    assert {*get_args(Format)} == {"auto", "jsonl", *FORMATS}


EXAMPLES = {
    "columns": "EU NNP B-ORG\nrejects VBZ O\n\nHe PRP O\n",
    "conllu": "# text = Hi\n1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\t_\n\n",
    "jsonl-tokens": '{"tokens": ["EU"], "tags": ["B-ORG"]}\n',
    "jsonl-spans": '{"text": "EU", "spans": [{"start": 0, "end": 2, "label": "ORG"}]}\n',
    "jsonl-texts": '{"text": "EU rejects", "label": "news"}\n',
    "token-rows": "1,EU,B-ORG\n1,rejects,O\n2,He,O\n2,won,O\n",
    "sentence-rows": "EU rejects it\tB-ORG O O\nHe won\tO O\n",
    "slash": "EU/NNP rejects/VBZ\n",
    "tsv": "news\tEU rejects a call\nsports\tHe won the cup again\n",
    "fasttext": "__label__news EU rejects\n",
    "trec": "NUM:dist How far is it ?\nHUM:ind Who was it ?\n",
    "trees": "(3 (2 The) (3 Rock))\n",
    "text": "EU rejects a German call.\nHe won.\n",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_format_is_recognised_by_its_content_also_packed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "corpus"
    path.write_text(EXAMPLES[name], encoding="utf-8")
    assert format_of(path) == name
    found = items_of(path)
    assert found
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(EXAMPLES[name].encode()))
    assert format_of(packed) == name
    assert items_of(packed) == found
    path.write_bytes(b"\xef\xbb\xbf" + EXAMPLES[name].replace("\n", "\r\n").encode())
    assert items_of(path) == found


def test_a_format_is_recognised_by_its_name_and_folders_by_what_they_hold(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\nx y,z\n", encoding="utf-8")
    assert format_of(tmp_path / "a.csv") == "csv"
    (tmp_path / "a.txt").write_text("a/b c/d\n", encoding="utf-8")
    assert format_of(tmp_path / "a.txt") == "slash"
    (tmp_path / "a.ann").write_text("", encoding="utf-8")
    assert {format_of(tmp_path / name) for name in ("a.txt", "a.ann", ".")} == {"brat"}
    folder = tmp_path / "classes"
    for name in ("pos", "neg"):
        (folder / name).mkdir(parents=True)
        (folder / name / "1.txt").write_text("x", encoding="utf-8")
    assert format_of(folder) == "folder"
    (folder / "seq.in").write_text("x", encoding="utf-8")
    assert {format_of(folder), format_of(folder / "seq.in")} == {"parallel"}
    (tmp_path / "empty").mkdir()
    with refuses(TagkitError, "seq.in", "folder"):
        format_of(tmp_path / "empty")


@pytest.mark.parametrize("line", ["and/or", "Yes/No 1/2", "Note: who?", "a b\tc d"])
def test_raw_text_stays_raw_text(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a"
    path.write_text(line + "\n", encoding="utf-8")
    assert format_of(path, raw=True) == "text"


@pytest.mark.parametrize("name", ["columns", "token-rows"])
def test_a_word_that_is_spelled_as_a_tag_is_a_word(tmp_path: Path, name: str) -> None:
    item = Sentence(("B-X",), ("O",))
    path = write(tmp_path, "a", FORMATS[name].write, [item])
    (found,) = items_of(Path(path), format=name)
    assert isinstance(found, Sentence)
    assert (found.words, found.tags) == (item.words, item.tags)


word, tag, label = (
    words(),
    words("/|"),
    st.text(st.characters(categories=("L", "Nd", "Nl", "No")), min_size=1, max_size=4),
)
inline = texts("\n\r\t").map(lambda text: "a" + text.strip() + "b")
tagged = st.lists(sentences(word, tag), min_size=1, max_size=3)
classes = st.lists(
    st.builds(lambda t, c: Document(t, labels=(c,)), inline, label), min_size=1, max_size=3
)
ITEMS: dict[str, st.SearchStrategy[list[Item]]] = {
    "columns": tagged, "conllu": tagged, "jsonl-tokens": tagged, "slash": tagged,
    "parallel": tagged, "token-rows": tagged, "sentence-rows": tagged,
    "jsonl-spans": st.lists(documents(inline, label), min_size=1, max_size=3),
    "brat": st.lists(documents(inline, label), min_size=1, max_size=3),
    "jsonl-texts": classes, "tsv": classes, "csv": classes, "fasttext": classes,
    "folder": classes,
    "trec": st.lists(
        st.builds(lambda t, a, b: Document(t, labels=(f"{a}:{b}",)), inline, label, label),
        min_size=1, max_size=3,
    ),
    "trees": st.lists(
        st.builds(lambda w, c: Document(" ".join(["b", *w]), labels=(c,)),
                  st.lists(st.sampled_from(["a", "\x85", "(", "é/", "'s", "*", "日"])),
                  st.sampled_from("01234")),
        min_size=1, max_size=3,
    ),
    "text": st.lists(st.builds(Document, inline), min_size=1, max_size=3),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_reading_what_was_written_gives_it_back_in_every_format(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    items = data.draw(ITEMS[name])
    plain = name == "conllu"
    path = write(tmp_path_factory.mktemp("f"), "x", FORMATS[name].write, items, plain=plain)
    found = items_of(path, format=name, label_level="fine")
    if name == "folder":  # its files have no order but that of their names
        found = sorted(found, key=lambda item: (item.text, item.labels))  # type: ignore[union-attr]
        items = sorted(items, key=lambda item: (item.text, item.labels))  # type: ignore[union-attr]
    if name == "trees":  # whose words are tokens, and nodes
        found = [
            replace(item, tokens=None, tree=None) for item in found if isinstance(item, Document)
        ]
    assert found == items


def hostile() -> dict[str, bytes]:
    """Inputs by the hundred that are no corpus, or a broken one."""
    found: dict[str, bytes] = {
        "nothing": b"", "blank lines": b"\n\n\n", "blanks": b"  \n\t\n", "one letter": b"x",
        "NUL": b"\x00" * 100, "NULs in a column": b"a\x00 O\nb O\n\n",
        "binary": bytes(range(256)) * 9,
        "latin-1": "Åse O\n".encode("latin-1"), "UTF-16": "a O\nb O\n\n".encode("utf-16"),
        "a surrogate": b"a\xed\xa0\x80 O\n", "cut in a character": "aé".encode()[:-1],
        "a damaged gz": gzip.compress(b"a O\n\n")[:-6], "only a gz header": b"\x1f\x8b",
        "a gz of rubbish": b"\x1f\x8b" + bytes(range(255)), "PNG": b"\x89PNG\r\n\x1a\n" + bytes(50),
        "a long line": b"x" * 1_000_000, "many columns": b" ".join([b"x"] * 20_000) + b"\ny\n",
        "mixed tabs": b"a\tO\nb O\n\n", "an open brace": b'{"text": ', "deep": b"[" * 50_000,
        "deep trees": b"(1 " * 50_000, "half a tree": b"(3 (2 The) (3 Rock)\n",
        "U+2028": "\u2028".encode(),
    }  # fmt: skip
    for name, example in EXAMPLES.items():
        content = example.encode()
        for cut in range(1, len(content), max(1, len(content) // 6)):
            found[f"{name} cut at {cut}"] = content[:cut]
        found[f"{name} with a stray byte"] = content[:3] + b"\xff" + content[3:]
        found[f"{name} with a NUL"] = content[:5] + b"\x00" + content[5:]
        found[f"{name} ragged"] = content + b"x y z w v\tu\n\n"
        found[f"{name} after rubbish"] = b")}]\t:/__label__\n" + content
        found[f"{name} on one line"] = content.replace(b"\n", b" ")
    return found


def ends_clearly(path: Path, **options: object) -> None:
    """The file is read to its end, or refused in a sentence that names it."""
    data = DataConfig(**options)
    source = Source(str(path), data.encoding)
    reading = ReaderOptions(data)
    refused: TagkitError | None = None
    try:
        for sentence in to_sentences(read_items(source, reading), reading):
            assert sentence.words
            assert "" not in sentence.words
    except TagkitError as error:
        refused = error
    if refused is not None:
        first = str(refused).split("\n")[0]
        assert str(path) in first
        assert len(first) < 1000
        assert not isinstance(refused, FormatError) or re.search(r":[0-9]+: ", first)


SLOW_CASES = {"deep trees"}  # a hundred thousand brackets, read as every format


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.slow) if case in SLOW_CASES else case
     for case in hostile()],
)  # fmt: skip
def test_broken_input_is_read_or_refused_with_its_file_named(tmp_path: Path, case: str) -> None:
    path = tmp_path / "input"
    path.write_bytes(hostile()[case])
    ends_clearly(path)
    for name in FORMATS:
        if not FORMATS[name].many_files:
            ends_clearly(path, format=name)


def test_broken_inputs_are_more_than_a_hundred() -> None:
    assert len(hostile()) > 100


alphabet = st.sampled_from([*ODD, *" \t\n\r", "a", "B-X", "O", "1", "1-2", "# text = ", "__label__",
    "NUM:x ", "(3 ", ")", "{", "}", '"text": ', '"spans": [[0, 1, "X"]]', "/", ",", '"', "\n\n",
    "-DOCSTART-", "T1\tX 0 1\ta", "\t_" * 8])  # fmt: skip


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(
    content=st.lists(alphabet, max_size=30).map("".join).map(str.encode) | st.binary(max_size=200),
    name=st.sampled_from([name for name in ("auto", "jsonl", *FORMATS)
                          if name not in FORMATS or not FORMATS[name].many_files]),
    how=st.sampled_from(["error", "expand", "shrink", "drop"]),
)  # fmt: skip
def test_whatever_a_file_holds_no_reader_fails_in_another_way(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str, how: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(content)
    ends_clearly(path, format=name, on_misaligned=how)


@given(
    text=st.lists(alphabet, max_size=12).map("".join).map(str.encode) | st.binary(max_size=60),
    ann=st.lists(alphabet | st.sampled_from(["T1\tLOC 0 2\t", "0 1;2 3"]), max_size=12).map(
        "".join
    ),
    how=st.sampled_from(["error", "expand"]),
)
def test_whatever_a_pair_of_brat_holds_its_reader_fails_in_no_other_way(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, ann: str, how: str
) -> None:
    folder = tmp_path_factory.mktemp("b")
    (folder / "a.txt").write_bytes(text)
    (folder / "a.ann").write_bytes(ann.encode())
    told = ""
    try:
        items_of(folder, on_misaligned=how)
    except TagkitError as error:
        told = str(error)
    assert not told or str(folder) in told


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["auto", "columns", "conllu", "slash", "jsonl", "tsv", "trees", "fasttext", "trec"]
)
def test_a_hundred_megabytes_on_one_line_end_in_a_sentence(tmp_path: Path, name: str) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"x" * 100_000_000)
    if name == "auto":  # it is a text
        (found,) = items_of(path)
        assert isinstance(found, Document)
        assert len(found.text) == 100_000_000
        return
    with pytest.raises(TagkitError) as caught:
        items_of(path, format=name)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_wrong_encoding_is_told_with_the_byte_and_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes("a O\nÅse O\n".encode("latin-1"))
    with pytest.raises(FormatError) as caught:
        items_of(path)
    assert str(caught.value) == (Says(path, "2", "4", "8", "data.encoding", "shift_jis"))
    assert items_of(path, encoding="latin-1") == [Sentence(("a", "Åse"), ("O", "O"))]


CORPORA: list[tuple[str, dict[str, object], int]] = [
    ("conll2000/train.txt", {}, 8936), ("conll2002/ned.testb", {"encoding": "latin-1"}, 5195),
    ("conll2003/eng.testa", {}, 3250), ("wnut17/train.conll", {}, 3394),
    ("ud-english-ewt/dev.conllu", {}, 2001), ("ud-greek-gdt/dev.conllu", {}, 403),
    ("atis/train", {}, 4478), ("atis/valid", {}, 500), ("atis/test", {}, 893),
    ("trec/train.txt", {"encoding": "latin-1"}, 5452), ("trec/test.txt", {}, 500),
    ("sst/train.txt", {}, 8544), ("sst/dev.txt", {}, 1101), ("sst/test.txt", {}, 2210),
    ("mr", {}, 10_662),
    ("movie-reviews/all.tsv", {"label_column": 0, "text_column": 2, "header": "no"}, 2000),
]  # fmt: skip


@pytest.mark.parametrize(("path", "options", "count"), CORPORA, ids=lambda value: str(value)[:20])
def test_every_corpus_is_recognised_and_has_the_counts_of_its_readme(
    corpora: Path, path: str, options: dict[str, object], count: int
) -> None:
    assert len(items_of(corpora / path, **options)) == count
