"""Records of chunks -> one output, by the writer of their format."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from kinds import CLASSES, TAGS, answers_of
from says import Says, refuses

from tagkit.corpus.source.options import Item
from tagkit.errors import DataError, FormatError
from tagkit.inference.stream.chunks import Output
from tagkit.inference.stream.record_output import check_output, fills_files, write_records
from tagkit.models.answers.kind import Style
from tagkit.text.records import Document, Sentence, TextSpan


def style(format: str) -> Style:
    gives = CLASSES if format in ("csv", "folder") else TAGS
    return Style(format, answers_of(gives, spans=True))


def chunk(*items: Item, file: str = "in") -> Output:
    return Output(file, "", items, 0, 0)


def sentence(word: str) -> Sentence:
    return Sentence((word,), ("O",), lines=(4,))


def test_what_is_ready_is_written_before_the_next_window_is_asked_for() -> None:
    events: list[str] = []

    def chunks() -> Iterator[Output]:
        for word in ("a", "b"):
            events.append(f"read {word}")
            yield chunk(sentence(word), sentence(word))

    write_records(chunks(), style("slash"), None, events.append, events.append)
    assert events == ["read a", "a/O\na/O\n", "read b", "b/O\nb/O\n", ""]


def test_several_inputs_have_one_header_and_notes_are_said_once() -> None:
    first = Document("x", labels=("A",), extra=(("id", 1),))
    second = Document("y", labels=("B",), extra=(("n", 1),))
    written: list[str] = []
    notes: list[str] = []
    outputs = [chunk(first, second), chunk(second, file="other")]
    write_records(outputs, style("csv"), None, written.append, notes.append)
    assert "".join(written) == "label,id,text\nA,1,x\nB,,y\nB,,y\n"
    assert notes == [Says("csv", "'n'")]


def test_a_sentence_that_cannot_be_written_is_named_with_its_file() -> None:
    outputs = [chunk(sentence("a"), file="one"), chunk(sentence("a b"), file="two")]
    with refuses(FormatError, "two:4", "inside"):
        write_records(outputs, style("slash"), None, lambda _: None, lambda _: None)


def test_a_model_of_several_classes_may_find_none() -> None:
    written: list[str] = []
    several = Style("jsonl-texts", answers_of(CLASSES, several=True))
    write_records([chunk(Document("x"))], several, None, written.append, written.append)
    assert "".join(written) == '{"text": "x", "labels": []}\n'


def test_a_folder_or_a_pair_is_filled(tmp_path: Path) -> None:
    texts = [Document("Oslo.", spans=()), Document("Rome.", spans=())]
    write_records([chunk(*texts)], style("brat"), tmp_path / "all", None, lambda _: None)
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == [
        "00001.ann", "00001.txt", "00002.ann", "00002.txt",
    ]  # fmt: skip
    write_records([chunk(*texts)], style("brat"), tmp_path / "one.ann", None, lambda _: None)
    assert (tmp_path / "one.txt").read_text("utf-8") == "Oslo.\nRome.\n"


def test_a_pair_is_replaced_where_its_text_stays_and_else_left_as_it_is(tmp_path: Path) -> None:
    ann, text = tmp_path / "one.ann", tmp_path / "one.txt"
    oslo = TextSpan("Oslo", 0, 4, "LOC")
    plain, found = Document("Oslo.", spans=()), Document("Oslo.", spans=(oslo,))
    for document in (plain, found):
        check_output(ann, "brat", [])
        write_records([chunk(document)], style("brat"), ann, None, lambda _: None)
    before = {text: b"Oslo.", ann: b"T1\tLOC 0 4\tOslo\n"}
    assert {path: path.read_bytes() for path in before} == before
    others = ([Document("Oslo", spans=())], [Document("Oslo!", spans=())], [found, found])
    for documents in others:  # shorter, different, longer
        for output in (ann, text):
            with pytest.raises(DataError) as caught:
                write_records([chunk(*documents)], style("brat"), output, None, lambda _: None)
            assert str(caught.value) == (Says(text, "predictions"))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    # A text's own U+FEFF is doubled at the start of a file.
    marked = tmp_path / "marked.ann"
    for document in (plain, found):
        document = replace(document, text="\ufeffOslo.", spans=())
        write_records([chunk(document)], style("brat"), marked, None, lambda _: None)


def test_a_pair_of_which_one_file_is_there_is_refused_before_anything_is_predicted(
    tmp_path: Path,
) -> None:
    ann, text = tmp_path / "notes.ann", tmp_path / "notes.txt"
    for there, other in ((text, ann), (ann, text)):
        there.write_text("of the user", encoding="utf-8")
        for output in (there, other):
            with pytest.raises(DataError) as caught:
                check_output(output, "brat", [])
            assert str(caught.value) == (Says(there, other.name))
        there.unlink()


def test_an_output_is_no_input_and_nothing_that_is_there(tmp_path: Path) -> None:
    corpus, other = tmp_path / "corpus", tmp_path / "a.txt"
    corpus.mkdir()
    (corpus / "a.txt").touch()
    other.touch()
    refused = [
        (None, "parallel", "output=..."),
        (other, "jsonl", "is an input"),
        (other.with_suffix(".ann"), "brat", "is an input"),
        (corpus, "folder", "exists already"),
        (tmp_path / "missing" / "new", "folder", "missing"),
    ]
    for output, format, problem in refused:
        with pytest.raises(DataError) as caught:
            check_output(output, format, [str(other)])
        assert problem in str(caught.value), (output, format)
    check_output(tmp_path / "new", "folder", [str(other)])
    check_output(None, "jsonl", [str(other)])
    assert [fills_files(name) for name in ("brat", "auto", "jsonl", "csv")] == [
        True, False, False, False,
    ]  # fmt: skip
