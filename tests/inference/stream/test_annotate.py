"""Chunks of input -> lines of output, for a model that predicts what the test says."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, cast

import pytest
from kinds import BOTH, CLASSES, TAGS, answers_of, asked
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.source.layout import column_options
from tagkit.errors import DataError
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.stream.annotate import Annotator
from tagkit.inference.stream.chunks import Blocks, Line, Lines, Records
from tagkit.models.answers.kind import PredictionOptions
from tagkit.models.answers.texts import Input, as_tagged, as_text
from tagkit.text.records import Document, LabelScore, Prediction, Sentence, TaggedText


class Upper:
    """Tags words in capitals X and others O; texts have the class "New York"."""

    precision = "fp32"

    def __init__(self, gives: LabelKinds) -> None:
        self.gives = gives
        classes = ("New York", "Oslo") if gives.classes else ()
        self.answers = answers_of(gives, classes=classes)
        self.asked: list[PredictionOptions] = []

    def check_numbers(self, items: Iterable[Input], file: str) -> None:
        """It reads none."""

    def annotate(
        self, sentences: Sequence[Sentence], options: PredictionOptions
    ) -> list[Prediction]:
        self.asked.append(options)
        for sentence in sentences:
            if len(sentence) > options.max_length:
                options.on_long(len(sentence))
        return [self._prediction(sentence, options.confidence) for sentence in sentences]

    def predict(self, inputs: Sequence[Input], options: PredictionOptions) -> list[TaggedText]:
        texts = [as_text(each, "multilingual", whole=self.gives.classes) for each in inputs]
        return [as_tagged(text, self.annotate(text.sentences, options)) for text in texts]

    def _prediction(self, sentence: Sentence, confidence: bool) -> Prediction:
        gives, tags = self.gives, tuple("X" if w.isupper() else "O" for w in sentence.words)
        return Prediction(
            sentence.words,
            tags if gives.tags else (),
            probabilities=(0.5,) * len(tags) if confidence and gives.tags else None,
            labels=("New York",) if gives.classes else (),
            scores=(LabelScore("New York", 0.75), LabelScore("Oslo", 0.25)) * gives.classes,
        )


def annotator(gives: LabelKinds, **changes: Any) -> Annotator:
    options = asked(**{"batch_size": 4, **changes})
    return Annotator(cast(Predictor, Upper(gives)), options)


def blocks(*lines: str) -> Blocks:
    reader = ColumnReader("in.conll", column_options(DataConfig(), with_tags=False))
    found = [*reader.feed(lines), *reader.close()]
    return Blocks("in.conll", found, reader.layout)


def test_a_blank_line_stays_so_that_lines_of_texts_and_of_classes_are_parallel() -> None:
    chunk = Lines("in.txt", [Line("Hello.", 1, 0), Line(" ", 2, 7), Line("Bye.", 3, 9)])
    assert annotator(CLASSES).annotate(chunk).text == "New York\n\nNew York\n"


def test_lines_know_their_number_and_offset() -> None:
    chunk = Lines("in.txt", [Line("A b.", 7, 120)])
    (line,) = annotator(TAGS, output_format="jsonl").annotate(chunk).text.splitlines()
    found = json.loads(line)
    assert (found["document"], found["line"], found["offset"]) == ("in.txt", 7, 120)
    assert [token["tag"] for token in found["tokens"]] == ["X", "O", "O"]


def test_a_document_names_its_own_file_and_a_sentence_its_first_line() -> None:
    items = [
        Document("A.", source="part.txt", line=3),
        Sentence(("A",), lines=(5,)),
        Sentence(("b",)),
    ]
    lines = annotator(TAGS, output_format="jsonl").annotate(Records("all", items)).text.splitlines()
    origins = [(found["document"], found["line"]) for found in map(json.loads, lines)]
    assert origins == [("part.txt", 3), ("all", 5), ("all", 1)]


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_columns_are_appended_with_the_separator_of_the_file(separator: str) -> None:
    lines = [f"A{separator}N", f"b{separator}V", "", f"c{separator}N"]
    found = annotator(TAGS).annotate(blocks(*lines)).text
    assert found == "".join(
        f"{line}{separator}{tag}\n" if line else "\n"
        for line, tag in zip(lines, ["X", "O", "", "O"], strict=True)
    )
    sure = annotator(TAGS, confidence=True).annotate(blocks(*lines)).text.splitlines()
    assert sure[0] == f"A{separator}N{separator}X{separator}0.5000"


def test_a_class_with_a_space_does_not_fit_into_columns_separated_by_spaces() -> None:
    assert annotator(BOTH).annotate(blocks("A\tN")).text == "A\tN\tX\tNew York\n"
    found = annotator(BOTH).annotate(blocks("A N"))
    assert [str(refused.error) for refused in found.refused] == [
        Says("in.conll:1", "'New York'", "output_format=jsonl")
    ]


def test_what_was_written_before_a_refused_record_is_known_and_what_follows_it() -> None:
    items = [Sentence(("A",)), Sentence(("b\tc",), lines=(7,)), Sentence(("D", "e"))]
    found = annotator(TAGS).annotate(Records("in.jsonl", items))
    assert found.text == "A\tX\n\nD\tX\ne\tO\n\n"
    (refused,) = found.refused
    assert Says("in.jsonl:7", "'b\\tc'") == str(refused.error)
    assert found.until_refused().text == "A\tX\n\n"
    assert annotator(TAGS).annotate(Records("in.jsonl", items[1:])).until_refused().text == ""


def test_the_longest_sentence_is_that_of_the_window_not_of_all_before() -> None:
    one = annotator(TAGS, max_length=2)
    assert one.annotate(blocks("a", "b", "c", "", "a", "b", "c", "d")).longest == 4
    assert one.annotate(blocks("a", "b")).longest == 0


def test_the_options_reach_the_model() -> None:
    one = annotator(CLASSES, threshold=0.25, batch_size=9, confidence=True)
    one.annotate(Lines("in.txt", [Line("Hello.", 1, 0)]))
    (how,) = cast(Upper, one.predictor).asked
    assert (how.threshold, how.batch_size, how.confidence) == (0.25, 9, True)


@pytest.mark.parametrize(
    ("gives", "changes", "problem"),
    [
        (TAGS, {"top": 2}, "this model tags: "),
        (TAGS, {"threshold": 0.0}, "this model tags: "),
        (
            TAGS,
            {"output_format": "tsv"},
            "this model tags: expected output_format=columns, conllu, jsonl, token-rows, "
            "sentence-rows, jsonl-tokens, parallel, slash, html or show, found tsv$",
        ),
        (
            TAGS,
            {"output_format": "brat"},
            "this model predicts plain labels, which are no spans: expected .*, found brat$",
        ),
        (
            TAGS,
            {"output_format": "slash", "confidence": True},
            "slash has no place for the probabilities of confidence=True: expected "
            "output_format=columns, conllu, jsonl, html or show, found slash$",
        ),
        (
            CLASSES,
            {"output_format": "fasttext", "top": 2},
            "fasttext has no place for the probabilities of top=...: expected "
            "output_format=columns, jsonl, csv, tsv, html or show, found fasttext$",
        ),
        (
            CLASSES,
            {"output_format": "conllu"},
            "this model classifies: expected output_format=columns, jsonl, jsonl-tokens, "
            "jsonl-texts, parallel, fasttext, csv, tsv, folder, html or show, "
            "found conllu$",
        ),
        (CLASSES, {"max_length": 5}, "this model classifies: "),
        (
            BOTH,
            {"output_format": "slash"},
            "this model tags and classifies: expected output_format=columns, conllu, jsonl, "
            "sentence-rows, jsonl-tokens, parallel, html or show, found slash$",
        ),
    ],
)
def test_options_that_the_model_does_not_have_are_refused_before_any_text(
    gives: LabelKinds, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DataError, match=f"^{problem}"):
        annotator(gives, **changes)
