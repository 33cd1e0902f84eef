"""A folder a class with a file a text, or a file a class with a text a line."""

import gzip
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from formats_help import read, texts, words, write
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses

from tagkit.corpus.formats.folders.folder import look_at_folder, read_folder, write_folder
from tagkit.corpus.source.look import Beginning
from tagkit.corpus.source.pieces import Writing
from tagkit.errors import DataError, FormatError, TagkitError
from tagkit.text.records import Document, TextSpan


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def refused(folder: Path, files: dict[str, bytes]) -> str:
    with pytest.raises(DataError) as caught:
        read(fill(folder, files), read_folder)
    return str(caught.value).replace(str(folder), "in")


def test_each_file_in_a_folder_of_a_class_is_a_text_but_for_the_end_of_its_last_line(
    tmp_path: Path,
) -> None:
    fill(tmp_path, {
        "pos/b.txt": b" a\r\nb\n\n", "pos/a.x.txt": b"\xef\xbb\xbfc\rd", "pos/.hidden": b"x",
        "neg/1.txt.gz": gzip.compress(b"e\n"), "neg/0": b"f", ".git/config": b"x",
    })  # fmt: skip
    found = read(tmp_path, read_folder)
    assert found == [
        Document("f", labels=("neg",)),
        Document("e", labels=("neg",)),
        Document("c\rd", labels=("pos",)),
        Document(" a\r\nb\n", labels=("pos",)),
    ]
    assert [item.name for item in found] == ["0", "1", "a.x", "b"]  # type: ignore[union-attr]
    names = ["neg/0", "neg/1.txt.gz", "pos/a.x.txt", "pos/b.txt"]
    assert [item.source for item in found] == [str(tmp_path / name) for name in names]  # type: ignore[union-attr]


def test_each_line_in_a_file_of_a_class_is_a_text(tmp_path: Path) -> None:
    fill(tmp_path, {"rt-polarity.pos": b"a \r\n\n\xc2\x85\nb", "rt-polarity.neg": b"c\n"})
    found = read(tmp_path, read_folder)
    assert found == [
        Document("c", labels=("neg",)),
        Document("a ", labels=("pos",)),
        Document("b", labels=("pos",)),
    ]
    assert [item.line for item in found] == [1, 1, 4]  # type: ignore[union-attr]
    assert found[1].source == str(tmp_path / "rt-polarity.pos")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["rt-polarity.neg", "rt-polarity.pos"], ["neg", "pos"]),
        (["neg.txt", "pos.txt"], ["neg", "pos"]),
        (["neg.txt.gz", "pos.txt"], ["neg", "pos"]),
        (["mr_neg.utf8.txt", "mr_pos.utf8.txt"], ["neg", "pos"]),
        (["sport", "spoken"], ["spoken", "sport"]),
        (["a_news.txt", "b_news.txt"], ["a", "b"]),
        (["a", "a.b"], ["a", "a.b"]),
        (["rt-", "rt-pos"], ["rt-", "rt-pos"]),
        (["news.txt"], ["news"]),
    ],
)
def test_a_class_is_what_the_names_of_the_files_do_not_share(
    tmp_path: Path, names: list[str], expected: list[str]
) -> None:
    files = {name: gzip.compress(b"x") if name.endswith(".gz") else b"x" for name in names}
    assert [item.labels[0] for item in read(fill(tmp_path, files), read_folder)] == expected  # type: ignore[union-attr]


def test_files_beside_folders_of_classes_are_passed_over_which_is_said(tmp_path: Path) -> None:
    notes: list[str] = []
    fill(tmp_path, {"pos/1": b"x", "README": b"y"})
    assert read(tmp_path, read_folder, note=notes.append) == [Document("x", labels=("pos",))]
    assert notes == [f"{tmp_path}: the files beside the folders of classes are skipped"]


def test_a_blank_file_is_refused_or_told_and_passed_over(tmp_path: Path) -> None:
    assert refused(tmp_path, {"pos/1": b" \n", "pos/2": b"x"}) == (Says("in/pos/1:1", "blank"))
    told: list[FormatError] = []
    assert read(tmp_path, read_folder, on_error=told.append) == [Document("x", labels=("pos",))]
    assert [error.source for error in told] == [str(tmp_path / "pos" / "1")]


def test_folders_of_another_shape_are_refused(tmp_path: Path) -> None:
    deep = refused(tmp_path / "a", {"train/pos/1": b"x"})
    assert deep == Says("folder")
    assert refused(tmp_path / "b", {"pos/.hidden": b"x"}) == (Says())
    assert refused(tmp_path / "c", {".hidden": b"x"}) == (Says("in", "folder"))
    with refuses(DataError, "no", "folder"):
        read(tmp_path / "no", read_folder)
    (tmp_path / "file").write_bytes(b"x")
    with refuses(DataError, "file", "directory"):
        read(tmp_path / "file", read_folder)


def test_a_name_that_is_not_unicode_is_refused(tmp_path: Path) -> None:
    try:
        os.mkdir(os.fsencode(tmp_path) + b"/p\xffs")
    except OSError:
        pytest.skip("this file system takes Unicode names alone")
    assert refused(tmp_path, {}) == Says("in", "UTF", "8", "'p\\udcffs'")


def test_another_encoding_is_read_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    fill(tmp_path, {"pos/1": "Åse".encode("latin-1")})
    assert read(tmp_path, read_folder, encoding="latin-1") == [Document("Åse", labels=("pos",))]
    with refuses(FormatError, "pos/1:1", "0", "8", "data.encoding"):
        read(tmp_path, read_folder)
    # The other files are not to blame.
    fill(tmp_path, {"pos/2": b"x", "neg/1": b"y"})
    told: list[FormatError] = []
    assert [item.labels for item in read(tmp_path, read_folder, on_error=told.append)] == [
        ("neg",),
        ("pos",),
    ]
    assert [(error.source, error.line) for error in told] == [(str(tmp_path / "pos" / "1"), 1)]


@pytest.mark.parametrize("text", [b"a" * 1001, b"a\n" * 501], ids=["one line", "many lines"])
def test_a_text_that_is_too_long_leaves_the_other_texts_as_they_are(
    tmp_path: Path, text: bytes
) -> None:
    fill(tmp_path, {"pos/1": text, "pos/2": b"x"})
    told: list[FormatError] = []
    limit: dict[str, Any] = {"max_line_chars": 1000}
    assert read(tmp_path, read_folder, on_error=told.append, **limit) == [
        Document("x", labels=("pos",))
    ]
    assert [(error.source, error.line) for error in told] == [(str(tmp_path / "pos" / "1"), 1)]
    with refuses(FormatError, "pos/1:1", "1,000"):
        read(tmp_path, read_folder, **limit)


folder_names = words("/\\\x00\t\n\r").filter(lambda s: not s.startswith(".") and bool(s.strip()))


@given(
    items=st.lists(
        st.builds(
            lambda text, label, name: Document(text, labels=(label,), name=name),
            texts(), folder_names, st.sampled_from(["", "a", "A", "00001", "00002", "../x", "é"]),
        ),
        min_size=1, max_size=5,
    )
)  # fmt: skip
def test_reading_what_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    path = write(tmp_path_factory.mktemp("folder"), "a", write_folder, items)
    found = [(item.labels, item.text) for item in read(path, read_folder)]  # type: ignore[union-attr]
    assert sorted(found) == sorted((item.labels, item.text) for item in items)


def written(*items: Document) -> list[str]:
    return [piece.file for piece in write_folder(items, Writing(False, True, print))]


def test_files_have_the_names_of_the_documents_where_these_are_safe_and_free() -> None:
    names = ["a", "", "A", "../x", "é.1", ".x", "00007", "", "x" * 300, "a b"]
    items = [Document("x", labels=("pos",), name=name) for name in names]
    assert written(*items) == [
        f"pos/{name}.txt"
        for name in (
            "a",
            "00002",
            "A-",
            "00004",
            "é.1",
            "00006",
            "00007",
            "00008",
            "00009",
            "00010",
        )
    ]
    taken = [Document("x", labels=(label,), name="00002") for label in ("p", "p", "n")]
    assert written(*taken) == ["p/00002.txt", "p/00002-.txt", "n/00002.txt"]


def test_a_byte_order_mark_of_a_text_is_kept(tmp_path: Path) -> None:
    item = Document("\ufeffa", labels=("pos",))
    assert read(write(tmp_path, "a", write_folder, [item]), read_folder) == [item]


def test_spans_are_left_out_which_is_said_once(tmp_path: Path) -> None:
    notes: list[str] = []
    item = Document("Oslo", (TextSpan("Oslo", 0, 4, "LOC"),), ("a",))
    write(tmp_path, "a", write_folder, [item, item], notes=notes)
    assert notes == [Says("folder")]


@pytest.mark.parametrize("label", [".", "..", ".a", "a/b", "/a", "a\\b", "a\0b", "é" * 101])
def test_a_label_that_is_no_safe_name_is_refused(label: str) -> None:
    with pytest.raises(FormatError) as caught:
        written(Document("x", labels=(label,)))
    assert Says("input:1", "folder") == str(caught.value)


@pytest.mark.parametrize(
    ("item", "what"),
    [
        (Document("x"), "a text without a label: 'x'"),
        (Document("x", labels=("",)), "a blank label (''): 'x'"),
        (Document("x", labels=("a", "b")), "several labels of one text ('a, b'): 'x'"),
        (Document(" \n", labels=("a",)), "a blank text: ' \\n'"),
    ],
)
def test_what_it_cannot_hold_is_refused(item: Document, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        written(item)
    assert str(caught.value) == Says("input:1", what)


def is_folder_of_texts(path: Path) -> bool:
    return look_at_folder(Beginning(path)) is not None


@pytest.mark.parametrize(
    ("names", "looks"),
    [
        (["pos/1.txt", "neg/1.txt"], True),
        (["pos/1.txt", "README"], True),
        (["train/pos/1.txt", "train/neg/1.txt"], False),
        (["pos/.hidden"], False),
        (["rt-polarity.neg", "rt-polarity.pos"], True),
        (["neg.txt", "pos.txt.gz"], True),
        (["train.txt", "test.txt"], False),
        (["a.conll", "b.conll"], False),
        (["only.txt"], False),
        ([], False),
    ],
)
def test_it_is_told_from_folders_of_other_things(
    tmp_path: Path, names: list[str], looks: bool
) -> None:
    assert is_folder_of_texts(fill(tmp_path, dict.fromkeys(names, b"x"))) is looks


def test_the_two_files_of_mr_are_two_classes(corpora: Path) -> None:
    found = read(corpora / "mr", read_folder)
    assert Counter(item.labels for item in found) == {("neg",): 5331, ("pos",): 5331}
    assert is_folder_of_texts(corpora / "mr")
    assert not is_folder_of_texts(corpora / "sst")
    assert not is_folder_of_texts(corpora / "trec")


@given(files=st.dictionaries(
    st.sampled_from(["a", "b/c", "b/d.gz", "e/f/g", ".h", "i.txt"]), st.binary(max_size=20)
))  # fmt: skip
def test_any_folder_holds_texts_or_is_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    folder = fill(tmp_path_factory.mktemp("fuzzed"), files)
    is_folder_of_texts(folder)
    told = ""
    try:
        assert all(item.labels for item in read(folder, read_folder))
    except TagkitError as error:
        told = str(error)
    assert not told or str(folder) in told


@pytest.mark.parametrize(
    "names",
    [
        ("a.csv", "b.jsonl", "README.md"), ("a.txt", "b.txt", "c.json"),
        ("train/data.arrow", "train/state.json", "test/data.arrow"),
    ],
)  # fmt: skip
def test_a_folder_of_data_sets_holds_no_classes(tmp_path: Path, names: tuple[str, ...]) -> None:
    fill(tmp_path, dict.fromkeys(names, b"x\n"))
    assert not is_folder_of_texts(tmp_path)
    others = {name.replace(".arrow", ".txt").rpartition(".")[0] + ".txt": b"x\n" for name in names}
    fill(tmp_path / "texts", others)
    assert is_folder_of_texts(tmp_path / "texts")
