"""`tagkit.read`, `write` and `convert`: records, lazily, safely, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import tiny
from says import Says, refuses

import tagkit
from tagkit.config import DataConfig
from tagkit.errors import ConfigError, DataError, FormatError, TagkitError
from tagkit.text.records import (
    Document,
    LabelScore,
    Prediction,
    Sentence,
    Span,
    TagColumn,
    TaggedText,
    TaggedToken,
    TextSets,
    TextSpan,
)

TAGGED = [
    Sentence(("Ada", "visits", "New", "York"), ("B-PER", "O", "B-LOC", "I-LOC")),
    Sentence(("Ben", "left"), ("B-PER", "O")),
]
TEXTS = [
    Document("Ada visits New York",
             (TextSpan("Ada", 0, 3, "PER"), TextSpan("New York", 11, 19, "LOC"))),
    Document("Ben left", (TextSpan("Ben", 0, 3, "PER"),)),
]  # fmt: skip
CLASSES = [Document("hello there", labels=("greet",)), Document("so long", labels=("leave",))]
ANSWER = TaggedText(
    "Ada left. Ben too.",
    (
        (TaggedToken("Ada", 0, 3, "B-PER"), TaggedToken("left", 4, 8, "O"),
         TaggedToken(".", 8, 9, "O")),
        (TaggedToken("Ben", 10, 13, "B-PER"), TaggedToken("too", 14, 17, "O"),
         TaggedToken(".", 17, 18, "O")),
    ),
    (TextSpan("Ada", 0, 3, "PER"), TextSpan("Ben", 10, 13, "PER")),
)  # fmt: skip


@pytest.mark.parametrize(
    ("records", "name", "to"),
    [
        (TAGGED, "a.conll", None),
        (TAGGED, "a.conll.gz", None),
        (TAGGED, "a.jsonl", None),
        (TAGGED, "a.txt", "slash"),
        (TEXTS, "a.jsonl", None),
        (TEXTS, "folder", "brat"),
        (CLASSES, "a.tsv", None),
        (CLASSES, "a.jsonl", None),
        (CLASSES, "a.txt", "fasttext"),
    ],
)
def test_what_was_written_is_read_again(
    records: list[Sentence | Document], name: str, to: str | None, tmp_path: Path
) -> None:
    assert tagkit.write(iter(records), tmp_path / name, to=to) == 2
    found = list(tagkit.read(tmp_path / name, format=to or "auto"))
    if to == "brat":  # a pair of files for each text
        found.sort(key=lambda record: record.text or "")
    bare = [
        Document(each.text, each.spans, each.labels) if isinstance(each, Document)
        else Sentence(each.words, each.tags)
        for each in found
    ]  # fmt: skip
    assert bare == records


def test_that_tags_of_several_columns_are_left_out_is_said(tmp_path: Path) -> None:
    columns = (TagColumn("UPOS", ("PROPN",)), TagColumn("LEMMA", ("Ada",)))
    token = TaggedToken("Ada", 0, 3, "PROPN", tags={"UPOS": "PROPN", "LEMMA": "Ada"})
    for number, record in enumerate(
        (Sentence(("Ada",), ("PROPN",), columns=columns), TaggedText("Ada", ((token,),), ()))
    ):
        notes: list[str] = []
        path = tmp_path / f"{number}.conll"
        tagkit.write([record], path, note=notes.append)
        assert path.read_text("utf-8") == "Ada\tPROPN\n\n"
        assert (
            "tags of UPOS are written; those of LEMMA are left out, as formats have one tag a token"
            in notes
        )


LIKELY = TaggedText(
    "Ada left", ((TaggedToken("Ada", 0, 3, "B-PER", 0.75), TaggedToken("left", 4, 8, "O", 0.75)),),
    (TextSpan("Ada", 0, 3, "PER", 0.625),),
)  # fmt: skip
UPOS = TagColumn("UPOS", ("PROPN",), probabilities=(0.5,))
ATTENDED = TaggedToken("Ada", 0, 3, None, attention=0.5)


@pytest.mark.parametrize(
    ("answer", "name", "left_out"),
    [
        (ANSWER, "a.jsonl", ""),
        (LIKELY, "a.jsonl", "probabilities"),
        (LIKELY, "a.conll", "probabilities"),
        (LIKELY, "a.html", ""),  # the page has that of the span
        (replace(LIKELY, spans=()), "a.jsonl", "probabilities"),
        (Prediction(("Ada",), ("B-PER",), probabilities=(0.5,)), "a.jsonl", "probabilities"),
        (Prediction(("Ada",), ("B-PER",), (Span(0, 1, "PER", 0.5),)), "a.html", "probabilities"),
        (Prediction(("Ada",), ("PROPN",), columns=(UPOS,)), "a.conll", "probabilities"),
        (Prediction(("Ada",), (), labels=("x",), attention=(1.0,)), "a.tsv",
         "weights of attention"),
        (TaggedText("Ada", ((ATTENDED,),), (), ("x",), (LabelScore("x", 1.0),)), "a.tsv",
         "probabilities, weights of attention"),
        (TextSets("Ada left", LIKELY.sentences, LIKELY.spans), "a.jsonl",
         "probabilities, prediction sets"),
    ],
)  # fmt: skip
def test_what_an_answer_has_and_a_record_has_not_is_said(
    answer: Prediction | TaggedText, name: str, left_out: str, tmp_path: Path
) -> None:
    notes: list[str] = []
    tagkit.write([answer, answer], tmp_path / name, note=notes.append)
    said = [note for note in notes if "of answers" in note]
    ending = " of answers are left out, as records of a corpus have none; `to_dict` of each answer"
    assert said == ([f"{left_out}{ending} has them"] if left_out else [])
    assert ("0.62" in (tmp_path / name).read_text("utf-8")) == (name == "a.html" and not left_out)


def test_records_are_read_as_they_are_taken_and_a_missing_file_is_named_at_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "long.conll"
    with path.open("w", encoding="utf-8") as file:
        for _ in range(30_000):
            file.write("Ada\tB-PER\nleft\tO\n\n")
        file.write("Ada\tB-PER\tthree\n")
    records = tagkit.read(path)
    assert [record.words for record in islice(records, 2)] == [("Ada", "left")] * 2
    with refuses(FormatError, "long.conll:90001", "2", "columns"):
        list(records)
    with refuses(DataError, "nothing.conll"):
        tagkit.read("nothing.conll")


def test_lines_that_cannot_be_read_are_skipped_where_somebody_hears_of_them(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "so long", "label": "leave"}\n{"text": 3}\n', encoding="utf-8")
    errors: list[FormatError] = []
    (record,) = tagkit.read(path, on_error=errors.append)
    assert record == CLASSES[1]
    assert [error.line for error in errors] == [2]


def test_labels_that_are_not_wanted_need_not_be_there(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    tagkit.write([Sentence(("Ada", "left"))], path)
    (record,) = tagkit.read(path, labels=False)
    assert (record.tags, record.text) == (None, "Ada left")
    tagkit.write([Sentence(("Ada", "left"), ("N", "V"), (("UP", "LOW"),))], tmp_path / "b.conll")
    (without,) = tagkit.read(tmp_path / "b.conll")
    (with_columns,) = tagkit.read(tmp_path / "b.conll", all_features=True)
    assert (without.features, with_columns.features) == ((), (("UP", "LOW"),))


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: tagkit.read(""), DataError,
         Says("path", "folder")),
        (lambda: tagkit.read("a", fromat="x"), ConfigError,
         Says("data.fromat", "data.format")),
        (lambda: tagkit.write(TAGGED, "a.xyz"), DataError,
         Says("a.xyz", "columns")),
        (lambda: tagkit.write(TAGGED, "a.conll", to=3), DataError,
         Says("to=3", "columns")),
        (lambda: tagkit.write([], "a.conll"), DataError,
         Says("records")),
        (lambda: tagkit.write([3], "a.conll"), DataError,
         Says("records", "3", "Sentence")),
        (lambda: tagkit.write(TAGGED, "a.tsv"), FormatError,
         Says("records:1")),
        (lambda: tagkit.convert("a.conll", "a.conll"), DataError, Says("a.conll")),
    ],
)  # fmt: skip
def test_what_cannot_be_read_or_written_is_refused(
    call: Callable[[], object], error: type[TagkitError], said: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as refused:
        call()
    assert said == str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_only_where_that_is_said_and_only_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    tagkit.write(TAGGED, path)
    with refuses(DataError, "force=True", "another"):
        tagkit.write(TAGGED[:1], path)
    broken = [*TAGGED, Sentence(("a\tb",), ("O",))]
    with refuses(FormatError, "columns"):
        tagkit.write(broken, path, force=True)
    assert list(tagkit.read(path)) == TAGGED
    assert [each.name for each in tmp_path.iterdir()] == ["a.conll"]
    assert tagkit.write(TAGGED[:1], path, scheme="iobes", force=True) == 1
    assert next(tagkit.read(path)).tags == ("S-PER", "O", "B-LOC", "E-LOC")


def test_answers_are_written_as_documents_or_as_their_sentences(tmp_path: Path) -> None:
    assert tagkit.write([ANSWER], tmp_path / "a.jsonl") == 1
    (document,) = tagkit.read(tmp_path / "a.jsonl")
    assert (document.text, document.spans) == (ANSWER.text, ANSWER.spans)
    assert document.tokens == tuple((token.start, token.end) for token in ANSWER.tokens)
    assert tagkit.write([ANSWER], tmp_path / "a.conllu") == 2
    sentences = list(tagkit.read(tmp_path / "a.conllu", tag_column="MISC.NER"))
    assert [each.text for each in sentences] == ["Ada left. ", "Ben too."]
    assert [each.tags for each in sentences] == [("B-PER", "O", "O")] * 2
    prediction = Prediction(("Ada", "left"), ("B-PER", "O"), (Span(0, 1, "PER"),))
    assert tagkit.write([prediction], tmp_path / "p.jsonl") == 1
    assert next(tagkit.read(tmp_path / "p.jsonl")) == Sentence(prediction.words, prediction.tags)
    classified = TaggedText("so long", ((TaggedToken("so", 0, 2, None),),), (), ("leave",),
                            (LabelScore("leave", 1.0),))  # fmt: skip
    assert tagkit.write([classified], tmp_path / "c.tsv") == 1
    assert list(tagkit.read(tmp_path / "c.tsv")) == [CLASSES[1]]


def test_plain_labels_of_answers_are_kept_in_json(tmp_path: Path) -> None:
    tokens = (TaggedToken("Ada", 0, 3, "NOUN"), TaggedToken("left", 4, 8, "VERB"))
    tagkit.write([TaggedText("Ada left", (tokens,), ())], tmp_path / "a.jsonl")
    assert next(tagkit.read(tmp_path / "a.jsonl")).tags == ("NOUN", "VERB")


def test_convert_writes_what_the_command_writes(tmp_path: Path) -> None:
    tiny.corpus(tmp_path)
    notes: list[str] = []
    source, output = tmp_path / "test.conll", tmp_path / "out.jsonl"
    assert tagkit.convert(source, output, to="jsonl-spans", note=notes.append) == 20
    assert notes[0].startswith(f"{source}: read as columns")
    again = tmp_path / "again.conll"
    assert tagkit.convert(output, again, format="jsonl", scheme="bilou") == 20
    tagkit.convert(again, tmp_path / "back.conll", scheme="iob2")
    assert (tmp_path / "back.conll").read_bytes() == source.read_bytes()
    with refuses(DataError, "input"):
        tagkit.convert(source, source, force=True)


def test_names_that_no_system_takes_are_refused_whatever_they_name(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("a\tO\nb\tB-X\n\n")
    nul, long = str(tmp_path / "x\0y"), "a" * 300
    for call, problem in (
        (lambda: tagkit.write(TAGGED, nul), "NUL"),
        (lambda: tagkit.convert(path, nul), "NUL"),
        (lambda: tagkit.convert(nul, tmp_path / "b"), "NUL"),
        (lambda: tagkit.convert(long, tmp_path / "b.jsonl"), "File name too"),
    ):
        with refuses(DataError, problem):
            call()


def test_options_of_training_have_no_effect_on_reading_and_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("a\tO\nb\tB-X\n\n")
    for name in ("train_file", "dev_fraction", "weights"):
        with refuses(ConfigError, f"data.{name}: "):
            tagkit.read(path, **{name: "nowhere"})
        with pytest.raises(ConfigError):
            tagkit.evaluate(path, path, **{name: "nowhere"})
    assert len([*tagkit.read(path, **DataConfig().model_dump())]) == 1
