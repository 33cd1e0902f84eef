"""`eval --gold --pred` over all ordered pairs of formats that hold the same labels."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from formats_help import write
from says import Says
from tag_files import data

from tagkit.config import DataConfig
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.alignment import to_document
from tagkit.errors import DataError, FormatError
from tagkit.evaluation.compare.compare import compare_files
from tagkit.evaluation.reports.class_report import JointReport
from tagkit.text.records import Document, Sentence, TextSpan

# One sentence in a line, and tokens that the tokenizer finds too.
WORDS = ("Ada met Ben in New York today .", "He likes Oslo .", "Nobody else came .")
GOLD = ("B-PER O B-PER O B-LOC I-LOC O O", "O O B-LOC O", "O O O O")
FOUND = ("B-PER O B-LOC O B-LOC I-LOC O O", "B-PER O B-LOC O", "O O O O")
POS = ("N V N P N N R .", "P V N .", "P A V .")
FOUND_POS = ("N V N P A N R .", "P V N .", "P A N .")
OF_ROWS = ("token-rows", "sentence-rows")
OF_SPANS = (*OF_ROWS, "columns", "conllu", "jsonl-tokens", "jsonl-spans", "brat", "slash",
            "parallel")  # fmt: skip
OF_LABELS = (*OF_ROWS, "columns", "conllu", "jsonl-tokens", "slash", "parallel")
OF_CLASSES = ("jsonl-tokens", "jsonl-spans", "jsonl-texts", "parallel", "trees", "fasttext", "csv",
              "tsv", "folder")  # fmt: skip
OF_SEVERAL = ("jsonl-tokens", "jsonl-spans", "jsonl-texts")
OF_BOTH = ("jsonl-tokens", "jsonl-spans", "parallel")


def tagged(tags: Sequence[str], labels: Sequence[Sequence[str]] = ((), (), ())) -> list[Sentence]:
    return [
        Sentence(tuple(words.split()), tuple(each.split()), labels=tuple(classes))
        for words, each, classes in zip(WORDS, tags, labels, strict=True)
    ]


def classed(labels: Sequence[Sequence[str]]) -> list[Sentence]:
    return [
        Sentence(tuple(words.split()), labels=tuple(each))
        for words, each in zip(WORDS, labels, strict=True)
    ]


def written(
    folder: Path, name: str, format: str, corpus: list[Sentence], plain: bool = False
) -> str:
    row = FORMATS[format]
    items: list[Any] = list(corpus)
    if row.holds != "tags":
        items = [to_document(item, plain=plain) for item in corpus]
        # Half of the formats of texts would not say what the tokens are.
        items = [Document(item.text, item.spans, item.labels) for item in items]
    ending = row.endings[-1] if row.endings and not row.many_files else ""
    return write(folder, f"{name}-{format}{ending}", row.write, items, plain=plain)


def scores(
    folder: Path,
    formats: tuple[str, str],
    gold: list[Sentence],
    found: list[Sentence],
    *,
    plain: bool = False,
    strict: bool = False,
) -> Any:
    column = "UPOS" if plain else "MISC.NER"
    settings = {"tag_column": column} if formats[0] == "conllu" else {}
    paths = [
        written(folder, name, format, corpus, plain)
        for name, format, corpus in zip(("gold", "pred"), formats, (gold, found), strict=True)
    ]
    predicted = column if formats[1] == "conllu" else None
    return compare_files(*paths, DataConfig(**settings), predicted, strict).to_dict()


def of_all(
    folder: Path, names: Sequence[str], gold: list[Sentence], found: list[Sentence], **options: bool
) -> dict[str, Any]:
    """The one report of all ordered pairs of these formats."""
    reports = {
        formats: scores(folder / "-".join(formats), formats, gold, found, **options)
        for formats in product(names, repeat=2)
        if (folder / "-".join(formats)).mkdir() is None
    }
    first = next(iter(reports.values()))
    assert reports == dict.fromkeys(reports, first)
    return dict(first)


@pytest.mark.parametrize("strict", [False, True])
def test_spans_score_the_same_in_every_pair_of_formats(tmp_path: Path, strict: bool) -> None:
    report = of_all(tmp_path, OF_SPANS, tagged(GOLD), tagged(FOUND), strict=strict)
    assert (report["scheme"], report["sentences"], report["tokens"]) == ("IOB2", 3, 16)
    assert report["micro"] == {"precision": 0.6, "recall": 0.75, "f1": 2 / 3, "support": 4}
    assert report["accuracy"] == 14 / 16


def test_plain_labels_score_the_same_in_every_pair_of_formats(tmp_path: Path) -> None:
    report = of_all(tmp_path, OF_LABELS, tagged(POS), tagged(FOUND_POS), plain=True)
    assert (report["kind"], report["tokens"], report["accuracy"]) == ("tokens", 16, 14 / 16)


@pytest.mark.parametrize("names", [OF_CLASSES, OF_SEVERAL], ids=["one", "several"])
def test_classes_score_the_same_in_every_pair_of_formats(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    several = names is OF_SEVERAL
    gold = [("3", "4"), ("1",), ("4",)] if several else [("3",), ("1",), ("4",)]
    found = [("3",), ("1",), ("4", "1")] if several else [("3",), ("4",), ("4",)]
    report = of_all(tmp_path, names, classed(gold), classed(found))
    assert report["kind"] == ("classes" if several else "class")
    assert (report["texts"], report["accuracy"]) == (3, 1 / 3 if several else 2 / 3)


def test_tags_and_classes_are_scored_together_in_every_pair_that_holds_both(tmp_path: Path) -> None:
    gold = tagged(GOLD, [("a",), ("b",), ("a",)])
    found = tagged(FOUND, [("a",), ("a",), ("a",)])
    report = of_all(tmp_path, OF_BOTH, gold, found)
    assert report["kind"] == "joint"
    assert report["tags"]["micro"]["f1"] == 2 / 3
    assert (report["classes"]["accuracy"], report["whole"]) == (2 / 3, 1 / 3)


def put(folder: Path, name: str, *lines: object) -> str:
    path = folder / name
    rows = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return str(path)


def refused(gold: str, predicted: str, *overrides: str, strict: bool = False) -> str:
    with pytest.raises(DataError) as caught:
        compare_files(gold, predicted, data(*overrides), None, strict)
    return str(caught.value).replace(f"{Path(gold).parent}/", "")


def spans(text: str, *found: tuple[int, int, str], **more: object) -> dict[str, object]:
    named = [{"start": start, "end": end, "label": label} for start, end, label in found]
    return {"text": text, "spans": named, **more}


def test_a_span_that_cuts_a_token_is_wrong_and_not_moved(tmp_path: Path) -> None:
    gold = put(tmp_path, "gold.jsonl", spans("Mr.Oslo left.", (3, 7, "PER")))
    for place in ((0, 7, "PER"), (3, 6, "PER"), (2, 8, "PER")):
        found = put(tmp_path, "pred.jsonl", spans("Mr.Oslo left.", place))
        assert compare_files(gold, found, data(), None, False).headline == 0
    assert compare_files(gold, gold, data(), None, False).headline == 1
    columns = put(tmp_path, "gold.conll", "Mr.Oslo B-PER", "left O", ". O")
    found = put(tmp_path, "pred.jsonl", spans("Mr.Oslo left.", (0, 7, "PER")))
    assert compare_files(columns, found, data(), None, False).headline == 1


def test_spans_may_cross_what_the_other_file_takes_for_the_end_of_a_sentence(
    tmp_path: Path,
) -> None:
    gold = put(tmp_path, "gold.conll", "St. B-LOC", "", "Gallen B-LOC", "is O")
    found = put(tmp_path, "pred.jsonl", spans("St. Gallen is", (0, 10, "LOC")))
    report = compare_files(gold, found, data(), None, False)
    assert (report.micro.f1, report.sentences) == (0, 1)  # type: ignore[union-attr]


def test_strict_mode_counts_well_formed_spans_of_tags_beside_spans_of_characters(
    tmp_path: Path,
) -> None:
    gold = put(tmp_path, "gold.jsonl", spans("in Oslo", (3, 7, "LOC")))
    found = put(tmp_path, "pred.conll", "in O", "Oslo I-LOC")
    assert compare_files(gold, found, data(), None, False).headline == 1
    assert compare_files(gold, found, data(), None, True).headline == 0


def test_words_of_a_multiword_token_are_found_in_the_text_or_by_themselves(tmp_path: Path) -> None:
    row = "\t_" * 7
    gold = put(
        tmp_path, "gold.conllu", "# text = vas au port", f"1\tvas{row}\t_", f"2-3\tau{row}\t_",
        f"2\tà{row}\t_", f"3\tle{row}\tNER=B-LOC", f"4\tport{row}\tNER=I-LOC",
    )  # fmt: skip
    by_text = put(tmp_path, "text.jsonl", spans("vas au port", (4, 11, "LOC")))
    by_words = put(tmp_path, "words.jsonl", spans("vas à le port", (6, 13, "LOC")))
    for found in (by_text, by_words):
        settings = data("data.tag_column=MISC.NER")
        assert compare_files(gold, found, settings, None, False).headline == 1


def test_the_column_of_conllu_is_the_same_for_gold_and_predictions_unless_named(
    tmp_path: Path,
) -> None:
    row = ["# text = a b", "1\ta\t_\tN\tx\t_\t_\t_\t_\t_", "2\tb\t_\tV\ty\t_\t_\t_\t_\t_"]
    gold = put(tmp_path, "gold.conllu", *row)
    found = put(tmp_path, "pred.conllu", row[0], row[1], row[2].replace("V", "N"))
    assert compare_files(gold, found, data(), None, False).headline == 0.5
    xpos = data("data.tag_column=XPOS")
    assert compare_files(gold, found, xpos, None, False).headline == 1
    assert compare_files(gold, found, data(), "XPOS", False).headline == 0
    columns = put(tmp_path, "pred.conll", "a z N", "b z N")
    assert compare_files(gold, columns, data(), None, False).headline == 0.5
    assert compare_files(columns, gold, data(), None, False).headline == 0.5
    assert compare_files(columns, gold, xpos, None, False).headline == 0


def test_a_text_without_a_predicted_class_counts_as_wrong(tmp_path: Path) -> None:
    gold = put(tmp_path, "gold.csv", "text,label", "a b,x", "c d,y")
    found = put(
        tmp_path, "pred.jsonl", {"text": "a b", "label": "x"}, {"text": "c d", "label": None}
    )
    report = compare_files(gold, found, data(), None, False)
    assert report.to_dict()["confusion"] == {"x": {"x": 1}, "y": {"": 1}}


def test_folders_of_classes_are_compared_text_by_text(tmp_path: Path) -> None:
    corpus = classed([("3",), ("1",), ("4",)])
    gold = written(tmp_path, "gold", "folder", corpus)
    found = written(tmp_path, "pred", "folder", classed([("1",), ("4",), ("4",)]))
    assert compare_files(gold, found, data(), None, False).headline == 1 / 3
    less = written(tmp_path, "less", "folder", corpus[:2])
    assert refused(gold, less) == (
        Says("less-folder/3/00001.txt:1", "'Nobody else came .'", "4", "00003", "1")
    )


def test_labels_that_one_file_alone_has_are_said_not_to_be_scored(tmp_path: Path) -> None:
    gold = written(tmp_path, "gold", "jsonl-tokens", tagged(GOLD, [("a",), ("b",), ("a",)]))
    found = written(tmp_path, "pred", "columns", tagged(FOUND))
    notes: list[str] = []
    report = compare_files(gold, found, data(), None, False, notes.append)
    assert not isinstance(report, JointReport)
    because = f"{gold}: its classes are not scored, as none can be read from"
    assert f"{because} {found}" in notes
    found = written(tmp_path, "pred", "jsonl-tokens", tagged(FOUND))
    compare_files(gold, found, data(), None, False, notes.append)
    assert f"{because} {found}" in notes


def test_texts_that_differ_are_refused_with_both_files_and_lines(tmp_path: Path) -> None:
    gold = put(tmp_path, "gold.conll", "Ada B-PER", "left O", "", "Oslo B-LOC", "is O", "far O")
    one, two = spans("Ada left", (0, 3, "PER")), spans("Oslo was far", (0, 4, "LOC"))
    found = put(tmp_path, "pred.jsonl", one, two)
    assert refused(gold, found) == Says("pred.jsonl:2: ", "'is far'", "gold.conll:5", "'was far'")
    assert refused(found, gold) == (
        Says("gold.conll:5", "'was far'", "pred.jsonl", "2", "'is far'")
    )
    short = put(tmp_path, "short.jsonl", one)
    assert refused(gold, short) == (Says("short.jsonl:1", "'Oslo is far'", "gold.conll", "4"))
    assert refused(short, gold) == (Says("gold.conll:4", "'Oslo is far'"))


def test_labels_of_other_kinds_are_refused(tmp_path: Path) -> None:
    tags = put(tmp_path, "tags.conll", "Ada B-PER", "left O")
    plain = put(tmp_path, "pos.conll", "Ada N", "left V")
    found = put(tmp_path, "spans.jsonl", spans("Ada left", (0, 3, "PER")))
    classes = put(tmp_path, "classes.csv", "text,label", "Ada left,x")
    assert refused(tags, classes) == (Says("classes.csv", "tags.conll"))
    assert refused(classes, found) == (Says("spans.jsonl", "classes.csv"))
    assert refused(plain, found) == (Says("spans.jsonl", "characters"))
    assert refused(found, plain) == (Says("pos.conll", "scheme"))
    assert refused(found, found, "data.scheme=labels") == (Says("spans.jsonl", "characters"))


def test_spans_that_overlap_or_hold_no_character_are_refused_with_their_lines(
    tmp_path: Path,
) -> None:
    gold = put(tmp_path, "gold.jsonl", spans("Ada left", (0, 3, "PER")))
    nested = put(tmp_path, "pred.jsonl", spans("Ada left", (0, 8, "X"), (4, 8, "Y")))
    assert refused(gold, nested).startswith("pred.jsonl:1: 'left' (Y 4 8) is inside 'Ada left'")
    blank = put(tmp_path, "blank.jsonl", spans("Ada left", (3, 4, "X")))
    assert refused(gold, blank) == (Says("blank.jsonl:1", "3", "4", "characters"))


def test_a_format_that_is_named_is_that_of_gold(tmp_path: Path) -> None:
    gold = put(tmp_path, "gold.txt", "Ada B-PER", "left O")
    found = put(tmp_path, "pred.jsonl", spans("Ada left", (0, 3, "PER")))
    report = compare_files(gold, found, data("data.format=columns"), None, False)
    assert report.headline == 1
    with pytest.raises(FormatError):
        compare_files(found, gold, data("data.format=columns"), None, False)


def test_gold_alone_has_to_be_columns(tmp_path: Path) -> None:
    found = put(tmp_path, "spans.jsonl", spans("Ada left", (0, 3, "PER")))
    with pytest.raises(DataError) as caught:
        compare_files(found, None, data(), None, False)
    assert str(caught.value) == (Says(found, "JSON"))


def test_treebanks_agree_with_their_words_in_columns(corpora: Path, tmp_path: Path) -> None:
    gold = corpora / "ud-greek-gdt" / "dev.conllu"
    rows = [line.split("\t") for line in gold.read_text("utf-8").splitlines()]
    kept = [f"{row[1]}\t{row[3]}" if row[0].isdecimal() else "" for row in rows
            if (len(row) == 1 and not row[0]) or row[0].isdecimal()]  # fmt: skip
    words = put(tmp_path, "words.conll", *kept)
    report = compare_files(str(gold), words, data(), None, False)
    assert (report.headline, report.to_dict()["sentences"]) == (1, 403)


def test_spans_of_documents_are_equal_to_those_of_their_tokens(tmp_path: Path) -> None:
    text = "Ada met Ben.\nHe likes New  York!"
    document = Document(text, (TextSpan("Ada", 0, 3, "PER"), TextSpan("New  York", 22, 31, "LOC")))
    gold = write(tmp_path, "notes", FORMATS["brat"].write, [document])
    rows = ["Ada B-PER", "met O", "Ben B-PER", ". O", "", "He O", "likes O", "New B-LOC",
            "York I-LOC", "! O"]  # fmt: skip
    report = compare_files(gold, put(tmp_path, "pred.conll", *rows), data(), None, False)
    assert report.to_dict()["micro"] == {
        "precision": 2 / 3, "recall": 1.0, "f1": 0.8, "support": 2,
    }  # fmt: skip
    assert (report.to_dict()["sentences"], report.to_dict()["tokens"]) == (2, 9)
