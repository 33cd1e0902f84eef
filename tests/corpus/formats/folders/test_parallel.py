"""Parallel files: seq.in, seq.out and label."""

import gzip
from pathlib import Path

import pytest
from formats_help import read, sentences, words, write
from hypothesis import given
from hypothesis import strategies as st
from read_files import items_of
from says import Says, refuses

from tagkit.corpus.formats.folders.parallel import read_parallel, write_parallel
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Sentence


def corpus(folder: Path, **files: str) -> Path:
    names = {"words": "seq.in", "tags": "seq.out", "label": "label"}
    for key, content in files.items():
        (folder / names[key]).write_text(content, encoding="utf-8")
    return folder


def test_a_line_of_each_file_makes_a_sentence(tmp_path: Path) -> None:
    corpus(tmp_path, words="to  rome\nhi \n", tags="O B-city\nO\n", label="flight\nhello\n")
    expected = [
        Sentence(("to", "rome"), ("O", "B-city"), labels=("flight",)),
        Sentence(("hi",), ("O",), labels=("hello",)),
    ]
    assert read(tmp_path, read_parallel) == expected
    assert read(tmp_path / "seq.in", read_parallel) == expected
    assert read(tmp_path, read_parallel, with_tags=False)[0] == Sentence(
        ("to", "rome"), labels=("flight",)
    )


def test_tags_or_classes_may_be_missing(tmp_path: Path) -> None:
    corpus(tmp_path, words="a b\n", tags="O O\n")
    assert read(tmp_path, read_parallel) == [Sentence(("a", "b"), ("O", "O"))]
    (tmp_path / "seq.out").unlink()
    corpus(tmp_path, label="x\n")
    assert read(tmp_path, read_parallel) == [Sentence(("a", "b"), labels=("x",))]
    (tmp_path / "label").unlink()
    with refuses(DataError, "seq.out", "seq.in"):
        read(tmp_path, read_parallel)
    (tmp_path / "seq.in").unlink()
    with refuses(DataError, "seq.in"):
        read(tmp_path, read_parallel)


@pytest.mark.parametrize(
    ("files", "place", "other"),
    [
        ({"words": "a b\nc\n", "tags": "O\nO\n"}, "seq.out:1", "seq.in"),
        ({"words": "\n", "tags": "O\n"}, "seq.in:1", "words"),
        ({"words": "a\nb\n", "tags": "O\n"}, "seq.out:2", "seq.in"),
        ({"words": "a\n", "tags": "O\nO\n"}, "seq.in:2", "seq.out"),
        ({"words": "a\nb\n", "tags": "O\nO\n", "label": "x\n"}, "label:2", "seq.in"),
        ({"words": "a\n", "tags": "O\n", "label": "x\ny\n"}, "seq.in:2", "label"),
        ({"words": "a\n\n", "tags": "O\n\n\nO\n"}, "seq.in:4", "seq.out"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    tmp_path: Path, files: dict[str, str], place: str, other: str
) -> None:
    with refuses(FormatError, f"{tmp_path / place}: ", other):
        read(corpus(tmp_path, **files), read_parallel)


@pytest.mark.parametrize("name", ["words", "tags", "label"])
def test_blank_lines_at_the_end_of_one_file_are_no_sentences(tmp_path: Path, name: str) -> None:
    files = {"words": "a b\n", "tags": "O O\n", "label": "x\n"}
    corpus(tmp_path, **files | {name: f"{files[name]}\n \n"})
    assert read(tmp_path, read_parallel) == [Sentence(("a", "b"), ("O", "O"), labels=("x",))]


@given(data=st.data(), has_tags=st.booleans(), has_labels=st.booleans())
def test_reading_what_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, has_tags: bool, has_labels: bool
) -> None:
    found = data.draw(st.lists(sentences(words(), words()), min_size=1, max_size=3))
    label = words() | st.just("two words")
    items = [
        Sentence(
            item.words,
            item.tags if has_tags or not has_labels else None,
            labels=(data.draw(label),) if has_labels else (),
        )
        for item in found
    ]
    path = write(tmp_path_factory.mktemp("parallel"), "a", write_parallel, items)
    assert read(path, read_parallel) == items


@pytest.mark.parametrize(
    ("items", "what"),
    [
        ([Sentence(("a b",), ("O",))], "white space inside a word or tag ('a b')"),
        ([Sentence(("a",), ("O",)), Sentence(("a",))], "tags or a class in some sentences alone"),
        ([Sentence(("a",), labels=("x", "y"))], "several classes of one sentence"),
        ([Sentence(("a",), labels=(" x",))], "the class ' x'"),
    ],
)
def test_what_it_cannot_hold_is_refused(tmp_path: Path, items: list[Sentence], what: str) -> None:
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "a", write_parallel, items)
    assert f"parallel cannot hold {what}" in str(caught.value)


def test_the_counts_of_atis_are_those_of_its_owners(corpora: Path) -> None:
    counts = [
        len(read(corpora / "atis" / part, read_parallel)) for part in ("train", "valid", "test")
    ]
    assert counts == [4478, 500, 893]


def test_a_file_that_is_no_parallel_corpus_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("a\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("notes.txt", "missing"):
        with pytest.raises(DataError) as caught:
            items_of(Path(name), format="parallel")
        assert str(caught.value) == (Says(name, "seq.in"))


def test_the_file_that_is_named_is_the_one_that_is_read(tmp_path: Path) -> None:
    corpus(tmp_path, words="plain\n", tags="O\n")
    (tmp_path / "seq.in.gz").write_bytes(gzip.compress(b"packed\n"))
    for name, word in (("seq.in.gz", "packed"), ("seq.in", "plain"), (".", "plain")):
        assert read(tmp_path / name, read_parallel) == [Sentence((word,), ("O",))]
