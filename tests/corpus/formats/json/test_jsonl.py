"""JSON Lines: what predictions are written as; corpora of every known shape."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from formats_help import Writer, documents, read, refusal, sentences, texts, write
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses

from tagkit.config import DataConfig
from tagkit.corpus.formats.json.jsonl import read_jsonl, span_of
from tagkit.corpus.formats.json.jsonl_keys import OWN_KEYS, kind_of_lines
from tagkit.corpus.formats.json.jsonl_writers import (
    write_jsonl_spans,
    write_jsonl_texts,
    write_jsonl_tokens,
)
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Document, Sentence, TextSpan


def record(folder: Path, line: str, **options: object) -> Item:
    path = folder / "a.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    (item,) = read(path, read_jsonl, **options)
    return item


def test_tokens_and_tags_are_a_sentence(tmp_path: Path) -> None:
    line = '{"tokens": ["a", "b"], "tags": ["O", "B-X"], "features": [["1", "2"]], "label": "l"}'
    assert record(tmp_path, line) == Sentence(("a", "b"), ("O", "B-X"), (), ("l",))
    assert record(tmp_path, line, all_features=True) == Sentence(
        ("a", "b"), ("O", "B-X"), (("1", "2"),), ("l",)
    )
    assert record(tmp_path, line, feature_columns=(0,)) == record(tmp_path, line, all_features=True)
    assert record(tmp_path, '{"words": ["a"], "ner_tags": ["O"]}') == Sentence(("a",), ("O",))
    assert record(tmp_path, '{"words": ["a"]}', with_tags=False) == Sentence(("a",))


OSLO = (TextSpan("Oslo", 3, 7, "LOC"),)


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "To Oslo", "spans": [{"start": 3, "end": 7, "label": "LOC"}]}',
        '{"text": "To Oslo", "spans": [{"start": 3, "end": 7, "label": "LOC", "token_start": 1, '
        '"token_end": 1}], "answer": "accept", "_input_hash": 1}',
        '{"id": 1, "text": "To Oslo", "label": [[3, 7, "LOC"]]}',
        '{"text": "To Oslo", "labels": [[3, 7, "LOC"]]}',
        '{"id": 1, "text": "To Oslo", "entities": [{"id": 5, "label": "LOC", "start_offset": 3, '
        '"end_offset": 7}], "relations": []}',
        '{"text": "To Oslo", "entities": [[3, 7, "LOC"]]}',
        '["To Oslo", {"entities": [[3, 7, "LOC"]]}]',
    ],
)
def test_the_keys_of_prodigy_doccano_and_spacy_are_known(tmp_path: Path, line: str) -> None:
    assert record(tmp_path, line) == Document("To Oslo", OSLO)


def test_tokens_beside_spans_are_the_documents_tokens(tmp_path: Path) -> None:
    line = (
        '{"text": "To Oslo", "tokens": [{"text": "To", "start": 0, "end": 2, "id": 0}, '
        '{"text": "Oslo", "start": 3, "end": 7, "id": 1}], "spans": []}'
    )
    assert record(tmp_path, line) == Document("To Oslo", (), tokens=((0, 2), (3, 7)))


@pytest.mark.parametrize(
    ("line", "labels"),
    [
        ('{"text": "x", "label": "pos"}', ("pos",)),
        ('{"text": "x", "label": 1}', ("1",)),
        ('{"text": "x", "label": true}', ("true",)),
        ('{"text": "x", "label": false}', ("false",)),
        ('{"text": "x", "label": ["a", "b"]}', ("a", "b")),
        ('{"text": "x", "labels": ["a"]}', ("a",)),
        ('{"text": "x", "label": 1.0}', ("1",)),
        ('{"text": "x", "label": "a", "labels": ["a"]}', ("a",)),
        ('{"text": "x", "label": "a", "intent": "b"}', ("a",)),
        ('{"text": "x", "labels": [2, "1", true]}', ("2", "1", "true")),
        # A class that is named twice is one.
        ('{"text": "x", "labels": ["b", 1, "a", "b", "1"]}', ("b", "1", "a")),
        ('{"sentence": "x", "class": "a"}', ("a",)),
        ('{"text": "x", "labels": []}', ()),
        # None of several classes, whatever else the record says of the text.
        ('{"text": "x", "labels": [], "category": "news"}', ()),
        ('{"text": "x", "label": null, "category": "news"}', ("news",)),
        ('["x", {"cats": {"a": 1.0, "b": 0, "c": true}}]', ("a", "c")),
        # Choices of Prodigy; other tools may mean something else by the word.
        ('{"text": "x", "options": [{"id": "a"}], "accept": ["a"], "answer": "accept"}', ("a",)),
        ('{"text": "x", "accept": ["a", "b"], "label": "guess"}', ("a", "b")),
        ('{"text": "x", "accept": [], "answer": "accept"}', ()),
        ('{"text": "x", "accept": "a", "label": "b"}', ("b",)),
        ('{"text": "x", "cats": {"a": 0.0}}', ()),
    ],
)
def test_classes_of_texts(tmp_path: Path, line: str, labels: tuple[str, ...]) -> None:
    assert record(tmp_path, line) == Document("x", labels=labels)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ('{"text": "x", "labels": [1, 0, 0]}', "a number for each class"),
        ('{"text": "x", "labels": [0.0, 1.0, 0.0]}', "a number for each class"),
        ('{"tokens": ["a", "b", "c"], "labels": ["O", "O", "B-X"]}', "a tag for each token"),
        ('{"tokens": ["a", "b", "c"], "labels": [3, 0, 0]}', "a tag for each token"),
        ('{"sentence": "a b c", "labels": ["O", "O", "B-X"]}', "a tag for each token"),
    ],
)
def test_a_list_of_something_else_than_classes_is_refused(
    tmp_path: Path, line: str, meant: str
) -> None:
    with refuses(FormatError, "labels", meant):
        record(tmp_path, line)
    # What is to be predicted needs no classes.
    path = tmp_path / "b.jsonl"
    path.write_text(line, "utf-8")
    assert len(read(path, read_jsonl, with_tags=False)) == 1


def test_of_tags_of_several_columns_the_first_are_read_unless_one_is_named(tmp_path: Path) -> None:
    tags = '"tag": "A", "probability": 0.5, "tags": {"X": "A", "Y": "B"}'
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"tokens": [{{"text": "a", {tags}}}]}}', "utf-8")
    source = Source(str(path), "utf-8")
    # What a column file would be read by, as a model has it.
    (first,) = read_jsonl(source, ReaderOptions(DataConfig(tag_column=3)))
    assert first == Sentence(("a",), ("A",))
    (named,) = read_jsonl(Source(str(path), "utf-8"), ReaderOptions(DataConfig(), column="Y"))
    assert named == Sentence(("a",), ("B",))
    with refuses(FormatError, "tokens", "'Z'"):
        list(read_jsonl(Source(str(path), "utf-8"), ReaderOptions(DataConfig(), column="Z")))


def test_a_text_without_spans_may_have_a_class_under_another_key(tmp_path: Path) -> None:
    line = '{"text": "x", "labels": [], "intent": "ask"}'  # doccano has spans under "labels"
    path = tmp_path / "a.jsonl"
    path.write_text(line, "utf-8")
    assert read(path, read_jsonl, format="jsonl-spans") == [Document("x", (), labels=("ask",))]
    assert read(path, read_jsonl, format="jsonl-texts") == [Document("x")]


def test_what_prodigy_marks_as_refused_is_passed_over_aloud(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records = [f'{{"text": "{answer}", "spans": [], "answer": "{answer}"}}\n'
               for answer in ("reject", "accept")]  # fmt: skip
    path.write_text("".join(records), encoding="utf-8")
    notes: list[str] = []
    assert read(path, read_jsonl, note=notes.append) == [Document("accept", ())]
    assert notes == [f"{path}: records that Prodigy marks as rejected or ignored are skipped (1)"]
    wanted = read(path, read_jsonl, note=notes.append, with_refused=True)
    assert [item.text for item in wanted] == ["reject", "accept"]
    assert len(notes) == 1


TOKENS = '"tokens": [{"text": "x", "start": 0, "end": 1, "id": 0}]'
MARKED = '{"text": "x", "spans": [{"start": 0, "end": 1, "label": "X"}], "answer": "accept"}'
X = Document("x", (TextSpan("x", 0, 1, "X"),))


@pytest.mark.parametrize(
    ("lines", "format", "expected"),
    [
        ([f'{{"text": "x", "answer": "accept", {TOKENS}}}'], "jsonl-spans",
         [Document("x", (), tokens=((0, 1),))]),
        (['{"text": "x", "answer": "accept"}', MARKED], "jsonl-spans", [Document("x", ()), X]),
        ([f'{{"text": "x", "answer": "reject", {TOKENS}}}', MARKED], "jsonl-spans", [X]),
        # Classes of texts, some of which Prodigy has divided into tokens.
        ([f'{{"text": "x", "label": "A", "answer": "accept", {TOKENS}}}'], "jsonl-texts",
         [Document("x", labels=("A",), tokens=((0, 1),))]),
        (['{"text": "x", "label": "A", "answer": "accept"}',
          f'{{"text": "x", "answer": "reject", {TOKENS}}}'], "jsonl-texts",
         [Document("x", labels=("A",))]),
    ],
)  # fmt: skip
def test_a_text_that_prodigy_accepted_without_a_span_need_not_have_the_key(
    tmp_path: Path, lines: list[str], format: str, expected: list[Document]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    assert kind_of_lines(lines) == format
    assert read(path, read_jsonl, format=format) == expected


def test_a_text_without_spans_that_nobody_accepted_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{MARKED}\n{{"text": "x", {TOKENS}}}\n', "utf-8")
    with refuses(FormatError, "a.jsonl:2"):
        read(path, read_jsonl, format="jsonl-spans")


LIST = """[
  ["To Oslo", {"entities": [[3, 7, "LOC"]]}],

  {"text": "Oslo",
   "spans": [{"start": 0, "end": 4, "label": "LOC"}]}, ["No", {"entities": []}]
]
"""


def test_the_records_of_a_file_may_be_one_list(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content in (LIST, " ".join(LIST.split())):
        path.write_text(content, encoding="utf-8")
        found = read(path, read_jsonl)
        assert found == [
            Document("To Oslo", OSLO),
            Document("Oslo", (TextSpan("Oslo", 0, 4, "LOC"),)),
            Document("No", ()),
        ]
        assert kind_of_lines(content.split("\n")) == "jsonl-spans"
        lines = [item.line for item in found if isinstance(item, Document)]
        assert lines == ([2, 4, 5] if content is LIST else [1, 1, 1])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7,", "9,", Says("2", "1", "7", "3", "9", '"LOC"', "characters")),
        ("]}],\n", "]}]\n",
         Says("4", "JSON", '\'{"text": "Oslo",\\n   "spans": [{"start":\'', "','")),
        ('"No"', "5", Says("5", "3", "JSON", '\'[5, {"entities": []}]\'')),
        ("\n]", ",\n]", Says("6", "JSON", "']'")),
        ("\n]", "", Says("5", "JSON", "': Expecting '")),
        ("\n]", "\n] []", Says("6", "JSON", "'] []'")),
    ],
)  # fmt: skip
def test_a_broken_record_of_a_list_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    told = refusal(tmp_path / "a.json", LIST.replace(old, new, 1), read_jsonl)
    assert told == message


def test_where_a_list_breaks_off_no_later_record_is_left_out_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(LIST.replace("]}],\n", "]}]\n", 1), encoding="utf-8")
    with refuses(DataError, "a.json:4", "record"):
        read(path, read_jsonl, on_error=lambda _: None)


def test_tokens_with_their_tags_are_a_sentence_with_its_text(tmp_path: Path) -> None:
    token = '{"text": "%s", "start": %d, "end": %d, "tag": "%s"}'
    tokens = ", ".join(token % row for row in (("vas", 0, 3, "V"), ("à", 4, 6, "P"),
                                               ("le", 4, 6, "D")))  # fmt: skip
    found = Sentence(("vas", "à", "le"), ("V", "P", "D"), text="vas au",
                     places=((0, 3), (4, 6), (4, 6)))  # fmt: skip
    line = f'{{"text": "vas au", "tokens": [{tokens}], "spans": []}}'
    assert record(tmp_path, line) == found
    # Where no span was found, tags of spans are all O: such a record is a text without spans.
    assert kind_of_lines([line.replace('"V"', '"O"')]) == "jsonl-tokens"
    outside = line.replace('"V"', '"O"').replace('"P"', '"O"').replace('"D"', '"O"')
    assert kind_of_lines([outside]) == "jsonl-spans"


def test_a_text_to_predict_needs_no_spans(tmp_path: Path) -> None:
    line = '{"text": "To Oslo", "answer": "reject"}'
    options = {"format": "jsonl-spans", "with_refused": True}
    assert record(tmp_path, line, with_tags=False, **options) == Document("To Oslo")
    assert refusal(tmp_path / "a.jsonl", line, read_jsonl, **options) == (
        Says("a.jsonl:1", "answer")
    )


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("[1]", "'[1]'"), ('{"text": ', "does not end on its line"), ("{}", "keys of nothing"),
        ('{"a": 1}', "the keys a"), ('{"text": " "}', 'a text, found " "'), ('{"text": 5}', "5"),
        ('{"text": "To Oslo", "spans": [{"start": 0, "end": 2, "text": "Oslo", "label": "LOC"}]}',
         "'Oslo' at 0 to 2"),
        ('{"text": "x"}', "the keys text"),
        ('{"text": "x", "label": null}', "label: "), ('{"text": "x", "accept": [null]}', "[null]"),
        ('["x", {"cats": {"a": "b"}}]', 'found {"a"'),
        ('["x", {"entities": ["O"]}]', 'label, found "O"'),
        ('{"tokens": [], "tags": []}', "tokens: "),
        ('{"tokens": ["a"], "tags": [1]}', "1 (name numbered labels"),
        ('{"tokens": ["a", ""], "tags": ["O", "O"]}', "tokens: "),
        ('{"tokens": ["a"], "tags": ["O", "O"]}', "tokens (1), found 2"),
        ('{"text": "x", "spans": [{"start": 0, "end": 2, "label": "X"}]}', "1 characters"),
        ('{"text": "x", "spans": [{"start": 0, "end": 1}]}', "label, found {"),
        ('{"text": "x", "spans": [[0, true, "X"]]}', 'found [0, true, "X"]'),
        ('{"text": "\\ud800", "label": "a"}', "half of a surrogate pair"),
        ('{"text": "ab", "tokens": [{"start": 1, "end": 2}, {"start": 0, "end": 1}], "spans": []}',
         "tokens: "),
        ("[" * 100_000, "nested too deep"),
        ('{"text": ' + "9" * 5000 + "}", "4,300 digits"),
    ],
)  # fmt: skip
def test_a_record_that_cannot_be_read_is_named(tmp_path: Path, line: str, found: str) -> None:
    told = refusal(tmp_path / "a.jsonl", f"\n{line}\n", read_jsonl)
    assert told.startswith("a.jsonl:2: ")
    assert found in told
    assert len(told) < 400


def test_a_record_of_a_list_is_named_by_its_number_too(tmp_path: Path) -> None:
    good, bad = '{"text": "a", "label": "x"}', '{"text": "a"}'
    for content, where in (
        (f"[{bad}, {bad}]", ["1: record 1: ", "1: record 2: "]),
        (f"[{good}, {good}, {bad}, {good}]\n", ["1: record 3: "]),
        (f"[\n{bad},\n{good},\n{bad}\n]", ["2: record 1: ", "4: record 3: "]),
        (f'[{{"text":\n"a"}}, {bad},\n{bad}]', ["1: record 1: ", "2: record 2: ", "3: record 3: "]),
        (f"{bad}\n{good}\n{bad}\n", ["1: ", "3: "]),
    ):
        (tmp_path / "a.json").write_text(content, "utf-8")
        errors: list[FormatError] = []
        read(tmp_path / "a.json", read_jsonl, format="jsonl-texts", on_error=errors.append)
        assert [f"{each.line}: {each.problem.partition('expected')[0]}" for each in errors] == where


def test_spans_of_label_studio_have_a_list_of_one_label(tmp_path: Path) -> None:
    span = '{"start": 3, "end": 7, "text": "Oslo", "labels": ["LOC"]}'
    line = f'{{"text": "To Oslo", "label": [{span}], "annotator": 1}}'
    spans = (TextSpan("Oslo", 3, 7, "LOC"),)
    assert record(tmp_path, line, format=kind_of_lines([line])) == Document("To Oslo", spans)
    two = line.replace('"LOC"', '"LOC", "GPE"')
    assert Says("a.json:1", '"start"', "3", '"end"', "7") == refusal(
        tmp_path / "a.json", two, read_jsonl
    )


def test_a_document_of_spacy_is_a_text_with_the_spans_of_its_entities(tmp_path: Path) -> None:
    tokens = [
        {"id": 0, "start": 0, "end": 2, "tag": "IN", "pos": "ADP", "dep": "prep", "head": 0},
        {"id": 1, "start": 3, "end": 7, "tag": "NNP", "pos": "PROPN", "dep": "pobj", "head": 0},
    ]
    whole = {"text": "To Oslo", "ents": [{"start": 3, "end": 7, "label": "LOC"}]}
    spans, places = (TextSpan("Oslo", 3, 7, "LOC"),), ((0, 2), (3, 7))
    for written, expected in (
        ({**whole, "sents": [{"start": 0, "end": 7}], "tokens": tokens},
         Document("To Oslo", spans, tokens=places)),
        ({**whole, "spans": {"more": []}, "tokens": []}, Document("To Oslo", spans)),
        ({"text": "To Oslo", "ents": [], "tokens": tokens}, Document("To Oslo", (), tokens=places)),
    ):  # fmt: skip
        line = json.dumps(written)
        assert kind_of_lines([line]) == "jsonl-spans"
        assert record(tmp_path, line) == expected


SPACY = {"text": "To Oslo", "ents": [{"start": 3, "end": 7, "label": "LOC"}]}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        # Names or nothing beside a class are no spans, and are kept as all other keys are.
        ({"ents": ["Oslo"], "label": "x"}, Document("To Oslo", None, ("x",))),
        ({"ents": [], "label": "x"}, Document("To Oslo", None, ("x",))),
        ({"ents": [["Oslo", "LOC"]], "intent": "x"}, Document("To Oslo", None, ("x",))),
        ({"ents": [], "cats": {"x": 1.0}}, Document("To Oslo", None, ("x",))),
        # Objects are, with a class too.
        ({**SPACY, "label": "x"}, Document("To Oslo", OSLO, ("x",))),
        ({**SPACY, "labels": ["x", "y"]}, Document("To Oslo", OSLO, ("x", "y"))),
        # doccano's spans are read, whatever has the name beside them.
        ({"ents": ["Oslo"], "label": [[3, 7, "LOC"]]}, Document("To Oslo", OSLO)),
        ({"ents": [], "labels": [[3, 7, "LOC"]]}, Document("To Oslo", OSLO)),
    ],
)
def test_ents_are_spans_if_they_are_objects_or_there_is_no_class(
    tmp_path: Path, written: dict[str, Any], expected: Document
) -> None:
    line = json.dumps({"text": "To Oslo", **written})
    assert kind_of_lines([line]) == ("jsonl-texts" if expected.spans is None else "jsonl-spans")
    assert record(tmp_path, line) == expected
    source = Source(str(tmp_path / "a.jsonl"), "utf-8")
    (whole,) = read_jsonl(source, ReaderOptions(DataConfig(), with_extra=True))
    kept = tuple(each for each in whole.extra if each[0] == "ents")
    assert kept == (() if written["ents"] == SPACY["ents"] else (("ents", written["ents"]),))


def test_in_a_file_of_spans_a_text_with_a_class_may_have_no_ents(tmp_path: Path) -> None:
    none = [{"text": "a", "ents": [], **more} for more in ({"label": "x"}, {"labels": ["x"]})]
    lines = [json.dumps(each) for each in (*none, {**SPACY, "label": "x"})]
    assert kind_of_lines(lines) == "jsonl-spans"
    for line in lines[:2]:
        assert record(tmp_path, line, format="jsonl-spans") == Document("a", (), ("x",))


def test_keys_are_quoted_safely_and_in_bounded_length(tmp_path: Path) -> None:
    keys = ["text", "a\x9bb", *(f"{n}" * 3000 for n in range(20))]
    line = json.dumps(dict.fromkeys(keys, "x"))
    for options in ({}, {"format": "jsonl-spans"}):
        told = refusal(tmp_path / "a.jsonl", f"{line}\n", read_jsonl, **options)
        assert Says("000").within(told)
        assert told.endswith(" and 12 more")
        assert len(told) < 800


@pytest.mark.parametrize("writer", [write_jsonl_spans, write_jsonl_texts])
def test_half_a_character_of_a_text_is_refused_and_one_of_a_name_replaced(
    tmp_path: Path, writer: Writer
) -> None:
    with refuses(DataError, "surrogate"):
        write(tmp_path, "a", writer, [Document("x\ud800", (), ("c",))])
    with refuses(DataError, "surrogate"):
        write(tmp_path, "b", writer, [Document("x", (), ("\ud800",))])
    path = write(tmp_path, "c", writer, [Document("x", (), ("c",), name="caf\udce9")])
    names = {"caf\ufffd"} if writer is write_jsonl_spans else {""}
    assert {item.name for item in read(path, read_jsonl) if isinstance(item, Document)} == names


def test_half_a_character_of_a_word_or_tag_is_refused(tmp_path: Path) -> None:
    for item in (Sentence(("\ud800",), ("O",)), Sentence(("a",), ("\ud800",))):
        with refuses(DataError, "surrogate"):
            write(tmp_path, "a", write_jsonl_tokens, [item])


def test_the_kind_is_told_from_the_first_records() -> None:
    for line in ("7", "null", '"a"', "[1]", "true", "1.5"):  # JSON, but no records
        assert kind_of_lines([line, '{"tokens": ["a"], "tags": ["O"]}']) == "jsonl-tokens"
        assert kind_of_lines([line]) == "jsonl-texts"
    assert kind_of_lines(["", "nonsense", '{"tokens": ["a"], "tags": ["O"]}']) == "jsonl-tokens"
    assert kind_of_lines(
        ['{"text": "a", "label": []}', '{"text": "a", "label": [[0, 1, "X"]]}']
    ) == ("jsonl-spans")
    assert kind_of_lines(['{"text": "a", "label": "x"}']) == "jsonl-texts"


@given(st.lists(documents(texts(), texts()), min_size=1, max_size=3))
def test_spans_are_the_same_after_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    path = write(tmp_path_factory.mktemp("j"), "a", write_jsonl_spans, items)
    assert read(path, read_jsonl, format="jsonl-spans") == items


@given(st.lists(sentences(texts(), texts()), min_size=1, max_size=3))
def test_tokens_are_the_same_after_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, items: list[Sentence]
) -> None:
    path = write(tmp_path_factory.mktemp("j"), "a", write_jsonl_tokens, items)
    assert read(path, read_jsonl, format="jsonl-tokens") == items


@given(
    st.lists(st.tuples(texts(), st.lists(texts(), min_size=1, max_size=3, unique=True)), min_size=1)
)
def test_classes_are_the_same_after_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, list[str]]]
) -> None:
    items = [Document(text, labels=tuple(labels)) for text, labels in rows]
    path = write(tmp_path_factory.mktemp("j"), "a", write_jsonl_texts, items)
    assert read(path, read_jsonl, format="jsonl-texts") == items


def test_a_text_without_a_class_is_one_of_none_where_texts_have_several(tmp_path: Path) -> None:
    items = [
        Document("tea", labels=("hot", "wet")),
        Document("rock"),
        Document("ice", labels=("x",)),
    ]
    path = write(tmp_path, "a", write_jsonl_texts, items, several_classes=True)
    assert Path(path).read_text("utf-8").splitlines()[1:] == [
        '{"text": "rock", "labels": []}', '{"text": "ice", "label": "x"}',
    ]  # fmt: skip
    assert read(path, read_jsonl, format="jsonl-texts") == items
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "b", write_jsonl_texts, items[1:])
    assert caught.value.problem == (Says("'rock'", "without"))


others = st.dictionaries(
    st.sampled_from(sorted(OWN_KEYS | {"id", "meta"})),
    st.sampled_from([None, 1, "x", "", [], ["a"], ["B-X"], [[0, 1, "Y"]], [{"text": "a"}], {}]),
    max_size=5,
)


@pytest.mark.parametrize(
    ("writer", "item"),
    [
        (write_jsonl_tokens, Sentence(("a",), ("B-X",))),
        (write_jsonl_tokens, Sentence(("a",), None, labels=("x", "y"))),
        (write_jsonl_spans, Document("a b", (TextSpan("a", 0, 1, "X"),))),
        (write_jsonl_spans, Document("a", (), labels=("x",), tokens=((0, 1),))),
        (write_jsonl_texts, Document("a", labels=("x",))),
        (write_jsonl_texts, Document("a", labels=("x", "y"))),
    ],
)
@given(extra=others)
def test_whatever_keys_a_record_has_it_is_read_as_without_them(
    tmp_path_factory: pytest.TempPathFactory,
    writer: Writer,
    item: Sentence | Document,
    extra: dict[str, Any],
) -> None:
    notes: list[str] = []
    with_extra = replace(item, extra=tuple(extra.items()))
    path = write(tmp_path_factory.mktemp("j"), "a", writer, [with_extra], notes=notes)
    (found,) = read_jsonl(Source(path, "utf-8"), ReaderOptions(DataConfig(), with_extra=True))
    name = str(extra.get("id", "")) if isinstance(extra.get("id"), (str, int)) else ""
    assert found == (replace(item, name=name) if isinstance(item, Document) else item)
    # What is not there again is said, unless the record itself says the same, or it says nothing.
    extra = {key: value for key, value in extra.items() if key not in OWN_KEYS or value is not None}
    own = json.loads(Path(path).read_text("utf-8"))
    kept = {*dict(found.extra), *(key for key, value in extra.items() if own.get(key) == value)}
    lost = extra.keys() - kept
    assert all(any(repr(key) in note for note in notes) for key in lost)
    # Read once more from what was kept, nothing more is lost. An empty list of classes is read.
    if [] not in extra.values():
        again = write(tmp_path_factory.mktemp("j"), "b", writer, [found])
        assert Path(again).read_text("utf-8") == Path(path).read_text("utf-8")


def test_what_a_record_has_beside_its_annotation_is_kept_where_it_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "tokens": ["a"], "tags": ["O"], "meta": [1]}\n', encoding="utf-8")
    source = Source(str(path), "utf-8")
    (found,) = read_jsonl(source, ReaderOptions(DataConfig(), with_extra=True))
    assert found.extra == (("id", 1), ("meta", [1]))
    (bare,) = read(path, read_jsonl)
    assert bare.extra == ()
    assert (bare, hash(bare)) == (found, hash(found))


@pytest.mark.parametrize(
    ("line", "key", "times"),
    [
        ('{"text": "Oslo", "label": "a", "label": "b"}', "label", 2),
        ('{"text": "Oslo", "spans": [{"start": 0, "end": 4, "end": 3, "end": 2}]}', "end", 3),
    ],
)
def test_a_key_that_comes_twice_is_refused_as_one_value_would_be_lost(
    tmp_path: Path, line: str, key: str, times: int
) -> None:
    assert refusal(tmp_path / "a", f"{line}\n", read_jsonl) == (Says("a:1", key, times))


def test_keys_of_spans_and_tokens_that_are_left_out_are_said_where_all_is_wanted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "Oslo", "tokens": [{"text": "Oslo", "start": 0, "end": 4, "ws": false}], "spans":'
        ' [{"start": 0, "end": 4, "label": "LOC", "kb_id": "Q585", "score": 1}]}\n'
        '{"text": "Rome", "spans": [{"start": 0, "end": 4, "label": "LOC", "score": 1}]}\n',
        encoding="utf-8",
    )
    notes: list[str] = []
    read(path, read_jsonl, note=notes.append)
    assert notes == []
    read(path, read_jsonl, note=notes.append, with_extra=True, all_features=True)
    said = "keys that are left out of spans: kb_id, score; of tokens: ws"
    assert notes == [f"{path}: {said}"]


TEXT = "Hi 😀 Oslo  is far and Rome."


def place(word: str) -> dict[str, Any]:
    start = TEXT.index(word)
    return {"start": start, "end": start + len(word), "label": "LOC"}


def test_a_copy_of_the_spans_text_is_compared_with_what_stands_at_its_place() -> None:
    start = TEXT.index("Oslo")
    oslo = TextSpan("Oslo", start, start + 4, "LOC")
    assert span_of(TEXT, place("Oslo")) == oslo
    assert span_of(TEXT, {**place("Oslo"), "text": "Oslo"}) == oslo
    with refuses(ValueError, "'Oslo'", "22", "26"):
        span_of(TEXT, {**place("Rome"), "text": "Oslo"})
    # Tools cut white space off, and write a line end as a blank.
    assert span_of(TEXT, {**place("Oslo  is"), "text": "Oslo is"}).text == "Oslo  is"
    assert span_of(TEXT, {**place("Oslo "), "text": "Oslo"}).text == "Oslo "
    for copy in (None, 3, ["Oslo"]):  # no copy of a text
        assert span_of(TEXT, {**place("Rome"), "text": copy}).text == "Rome"


def test_offsets_in_units_of_utf_16_are_recognised_by_the_copy() -> None:
    moved = {"start": 6, "end": 10, "text": "Oslo", "labels": ["LOC"]}
    with refuses(ValueError, "'Oslo' at 6 to 10", "'slo '", "UTF-16"):
        span_of(TEXT, moved)
    with refuses(ValueError, "'ome.'", "UTF-16"):
        span_of(TEXT, {"start": 23, "end": 27, "text": "Rome", "label": "LOC"})
    with refuses(ValueError, "'.' at 27 to 28", "UTF-16"):
        span_of(TEXT, {"start": 27, "end": 28, "text": ".", "label": "X"})
    with refuses(ValueError, "'slo '") as refused:  # nor is it Rome by those units
        span_of(TEXT, {**moved, "text": "Rome"})
    assert "UTF-16" not in str(refused.value)
