"""`tagkit check`: what is odd in a corpus is found, and told with its line."""

import gzip
import json
import os
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagkit.cli.lint_report import check_lines
from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.lint.findings import CheckReport, Finding, shown_lines
from tagkit.corpus.lint.spelling import variants
from tagkit.wording import plural

Files = dict[str, str]
GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


def check(folder: Path, files: Files | str, **data: object) -> CheckReport:
    """The report of files with this content, in this order."""
    contents = files if isinstance(files, dict) else {"train.conll": files}
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8", newline="")
    return check_files([str(folder / name) for name in contents], DataConfig(**data))


def told(report: CheckReport, kind: str, folder: Path) -> list[tuple[str, str, tuple[int, ...]]]:
    """Severity, message and lines of the findings of one kind."""
    return [
        (f.severity, f.message.replace(f"{folder}/", ""), f.lines)
        for f in report.findings
        if f.kind == kind
    ]


def test_the_keys_of_the_json_report_stay(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD).to_dict()
    assert [*report] == ["verdict", "files", "findings"]
    assert [*report["files"][0]] == [
        "file", "format", "scheme", "scheme_told", "sentences", "tokens", "labels", "classes",
        "lengths",
    ]  # fmt: skip


def test_a_good_file_has_facts_and_no_errors(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD)
    (facts,) = report.files
    assert facts.format == "columns"
    assert facts.scheme == "iob2"
    assert facts.scheme_told == "IOB2 (all 8 transitions legal; next best is IOB1 with 3 illegal)"
    assert (facts.sentences, facts.tokens) == (2, 6)
    assert facts.labels == {"PER": 2, "LOC": 1}
    assert facts.lengths == {"min": 3, "50%": 3, "90%": 3, "99%": 3, "max": 3}
    assert report.errors == 0
    assert report.verdict == "1 note: fit to train on"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "a I-X\nb O\n\nc I-X\n",
            "IOB1 (all 5 transitions legal; next best is IOB2 with 2 illegal)",
        ),
        ("a B-X\nb O\n", "IOB2 (all 3 transitions legal; next best is IOB1 with 1 illegal)"),
        ("a S-X\nb O\n", "IOBES (all 3 transitions legal; next best is IOB1 with 2 illegal)"),
        ("a DT\nb NN\n", "plain labels"),
        ("a O\nb O\n", "every tag is O"),
    ],
)
def test_a_scheme_is_told_with_its_rival(tmp_path: Path, content: str, expected: str) -> None:
    assert check(tmp_path, content).files[0].scheme_told == expected


def test_two_schemes_that_fit_alike_are_not_sure(tmp_path: Path) -> None:
    (facts,) = check(tmp_path, "a B-X\nb E-X\nc O\n\n" * 3 + "d B-X\ne L-X\n\n" * 3).files
    assert facts.scheme_told == "IOBES (6 of 21 transitions illegal; not sure: BILOU fits as well)"


def test_every_line_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, "a O\nb\nc O\n\nd O O\ne B-X\n")
    message = "expected 2 columns as on line 1, found"
    assert told(report, "unreadable", tmp_path) == [
        ("error", f"{message} 1: 'b'", (2,)),
        ("error", f"{message} 3: 'd O O'", (5,)),
    ]
    assert report.files[0].tokens == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a O\n\xff O\n", "byte 4 is not utf-8 (invalid start byte). Name the file's encoding"),
        (b"\x1f\x8b\x00", "the gzip file is cut short"),
        (b"", "holds no sentence"),
        (b"\n\n", "holds no sentence"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_and_the_others_are_checked(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "bad.conll").write_bytes(content)
    (tmp_path / "good.conll").write_text(GOOD, encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("bad.conll", "none.conll", "good.conll")]
    report = check_files(paths, DataConfig())
    errors = [f for f in report.findings if f.severity == "error"]
    assert [Path(f.file).name for f in errors] == ["bad.conll", "none.conll"]
    assert message in errors[0].message
    assert errors[1].message == "no such file"
    assert [Path(facts.file).name for facts in report.files] == ["good.conll"]


def test_utf_16_without_its_mark_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_bytes(b"a B-X\n")
    path = str(tmp_path / "a.conll")
    (finding,) = check_files([path], DataConfig(encoding="utf-16")).findings
    assert (finding.severity, finding.message, finding.lines) == (
        "error",
        "expected a byte order mark, with which utf-16 begins, found none. Name the file's "
        "encoding with data.encoding: utf-16-le and utf-16-be have no mark",
        (1,),
    )


def test_illegal_transitions_are_told_by_kind_with_their_lines(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD * 5 + "a O\nb I-PER\n\nc I-PER\nd B-LOC\ne I-PER\n")
    assert told(report, "illegal-transition", tmp_path) == [
        ("error", "O -> I-PER is illegal in IOB2: 2 times", (42, 44)),
        ("error", "B-LOC -> I-PER is illegal in IOB2: 1 time", (46,)),
    ]
    ended = check(tmp_path, "a S-X\nb B-X\nc E-X\n\nd B-X\n")
    assert told(ended, "illegal-transition", tmp_path) == [
        ("error", "B-X -> O is illegal in IOBES: 1 time", (5,)),
    ]


def test_a_part_in_another_scheme_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD * 9 + "a I-PER\nb O\n\n" * 3)
    assert told(report, "mixed-schemes", tmp_path) == [
        ("error", "3 sentences in IOB1, not in IOB2 as the others", (73, 76, 79)),
    ]
    assert not told(check(tmp_path, GOOD * 9), "mixed-schemes", tmp_path)
    # Most of what is wrong here is right in no scheme.
    wrong = "a I-PER\nb O\n\n" * 2 + "a I-PER\nb E-PER\n\n" * 3
    assert not told(check(tmp_path, GOOD * 9 + wrong), "mixed-schemes", tmp_path)


def test_tags_of_no_scheme_are_told(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD * 3 + "a B_PER\n")
    assert told(report, "tag-of-no-scheme", tmp_path) == [
        ("error", "tag 'B_PER' is none of a span scheme, as most here are (B-LABEL, I-LABEL, O): "
         "1 time; is B-PER meant?", (25,)),
    ]  # fmt: skip


def test_one_odd_tag_leaves_the_rest_to_be_checked_as_spans(tmp_path: Path) -> None:
    files = {"train.conll": GOOD, "dev.conll": GOOD * 3 + "a B_PER\nb I-PER\n\nc I-PER\n"}
    report = check(tmp_path, files)
    found = [(f.kind, f.lines) for f in report.findings if f.severity != "note"]
    # What stands behind B_PER is not judged: nobody knows what that tag is.
    assert found == [("tag-of-no-scheme", (25,)), ("illegal-transition", (28,))]
    assert report.files[1].scheme == "iob2"
    assert report.files[1].labels == {"PER": 8, "LOC": 3}
    assert report.files[1].scheme_told == (
        "IOB2 (1 of 27 transitions illegal; next best is IOB1 with 9 illegal; 1 tag of no scheme)"
    )


def test_the_scheme_that_the_configuration_names_is_the_one_that_counts(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD, scheme="iob1")
    assert report.files[0].scheme_told == ("IOB1, as data.scheme says (3 of 8 transitions illegal)")
    assert told(report, "illegal-transition", tmp_path) == [
        ("error", "O -> B-PER is illegal in IOB1: 2 times", (1, 5)),
        ("error", "O -> B-LOC is illegal in IOB1: 1 time", (7,)),
    ]
    assert check(tmp_path, GOOD, scheme="labels").files[0].labels["B-PER"] == 2
    words = check(tmp_path, "a DT\nb NN\n", scheme="iob2")
    assert told(words, "tag-of-no-scheme", tmp_path)[0] == (
        "error", "tag 'DT' is none of IOB2, which data.scheme names: 1 time", (1,)
    )  # fmt: skip


def counted(**counts: int) -> dict[str, int]:
    return {name.replace("_", "-"): count for name, count in counts.items()}


@pytest.mark.parametrize(
    ("counts", "plain", "expected"),
    [
        ({"PER": 9, "Per": 1}, False, [("PER", "Per")]),
        ({"B-loc": 9, "b_loc": 2}, False, [("B-loc", "b_loc")]),
        ({"location": 500, "locaton": 2}, False, [("location", "locaton")]),
        ({"location": 500, "locatoin": 2}, False, []),
        ({"location": 50, "locaton": 2}, False, [("location", "locaton")]),
        ({"location": 500, "locaton": 5}, False, [("location", "locaton")]),
        ({"location": 500, "locaton": 6}, False, []),
        ({"location": 3, "locaton": 1}, False, []),
        ({"1.1": 9, "11": 1, "1-1": 1, "V-1": 4, "v1": 1}, False, [("V-1", "v1")]),
        ({"layer1": 500, "layer2": 2}, False, []),
        ({"NN": 900, "NNS": 2, "NNP": 1}, False, []),
        ({"number": 900, "numbers": 2}, True, []),
        ({"NOUN": 9, "Noun": 1, ".": 4, ",": 4, "-": 1}, True, [("NOUN", "Noun")]),
        ({"LOC": 5, "ORG": 5}, False, []),
    ],
)
def test_spellings_of_one_label_are_found(
    counts: dict[str, int], plain: bool, expected: list[tuple[str, str]]
) -> None:
    assert variants(Counter(counts), plain=plain) == expected


def test_of_more_labels_than_a_set_of_them_has_single_letters_are_not_compared() -> None:
    counts = Counter({f"label{'x' * n}": 9 for n in range(1, 1000)} | {"place": 90, "plaice": 1})
    assert variants(counts, plain=False) == []
    assert variants(Counter({"place": 90, "plaice": 1}), plain=False) == [("place", "plaice")]


def test_a_variant_is_told_with_its_lines(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD + "a B-Per\n")
    assert told(report, "label-spelling", tmp_path) == [
        ("warning", "'PER' (2) and 'Per' (1) may be the same label", (9,)),
    ]


def test_repeated_sentences_are_told_and_contradictions_too(tmp_path: Path) -> None:
    long = "a B-X\nb O\nc O\nd O\ne O\n\n"
    report = check(tmp_path, long + "x B-X\n\n" + long.replace("a B-X", "a O") + "x B-X\n\n")
    assert told(report, "duplicate", tmp_path) == [
        ("warning", "1 sentence of 5 tokens or more repeats an earlier one", (9,)),
        ("note", "1 sentence under 5 tokens repeats an earlier one", (15,)),
    ]
    assert told(report, "contradiction", tmp_path) == [
        ("warning", "1 sentence occurs with different labels", (1, 9)),
    ]


def test_overlap_of_splits_and_unknown_labels_are_told(tmp_path: Path) -> None:
    long = "a B-X\nb O\nc O\nd O\ne O\n\n"
    files = {"train.conll": long + GOOD, "dev.conll": long + "y B-NEW\nRome B-LOC\n\n"}
    report = check(tmp_path, files)
    assert told(report, "overlap", tmp_path) == [
        ("warning", "1 sentence of 5 tokens or more (100.0 %) occurs in train.conll too: scores "
         "may be too good", (1,)),
    ]  # fmt: skip
    assert told(report, "unknown-label", tmp_path) == [
        ("warning", "1 label that train.conll lacks, so that no model can find it: NEW (1)", (7,)),
    ]
    assert told(report, "entity-overlap", tmp_path) == [
        ("note", "67 % of its 3 distinct entities occur in train.conll", ()),
    ]


def test_a_small_overlap_and_one_that_leaves_train_out_are_notes(tmp_path: Path) -> None:
    long = "a B-X\nb O\nc O\nd O\ne O\n\n"
    others = "".join(long.replace("a ", f"{number} ") for number in range(150))
    files = {
        "train.conll": long + GOOD,
        "dev.conll": others + long,
        "test.conll": others.replace("b O", "c O") + long + "Ben B-PER\nsaw O\nRome B-LOC\n",
    }
    assert [(s, m) for s, m, _ in told(check(tmp_path, files), "overlap", tmp_path)] == [
        ("note", "1 sentence of 5 tokens or more (0.7 %) occurs in train.conll too"),
        ("note", "1 sentence of 5 tokens or more (0.7 %) occurs in train.conll too"),
        ("note", "1 sentence under 5 tokens (100.0 %) occurs in train.conll too"),
        ("note", "1 sentence of 5 tokens or more (0.7 %) occurs in dev.conll too"),
    ]


def test_a_large_overlap_is_a_warning_where_it_is_one_with_train(tmp_path: Path) -> None:
    long = "a B-X\nb O\nc O\nd O\ne O\n\n"
    other = "v B-X\nw O\nx O\ny O\nz O\n\n"
    files = {"train.conll": long, "dev.conll": other, "test.conll": long + other}
    assert [(s, m) for s, m, _ in told(check(tmp_path, files), "overlap", tmp_path)] == [
        ("warning", "1 sentence of 5 tokens or more (50.0 %) occurs in train.conll too: scores may "
         "be too good"),
        ("note", "1 sentence of 5 tokens or more (50.0 %) occurs in dev.conll too"),
    ]  # fmt: skip


def test_without_a_training_file_nothing_is_told_of_what_it_lacks(tmp_path: Path) -> None:
    files = {"train.conll": "\n", "dev.conll": GOOD, "test.conll": "y B-NEW\n\n"}
    kinds = {finding.kind for finding in check(tmp_path, files).findings}
    assert not kinds & {"unknown-label", "entity-overlap", "other-scheme"}


def test_of_plain_labels_ambiguous_words_are_counted_alone(tmp_path: Path) -> None:
    report = check(tmp_path, "to TO\nrun VB\n\na DT\nrun NN\n\n")
    assert told(report, "ambiguous-surface", tmp_path) == [
        ("note", "1 of 3 distinct words occur with several labels", ()),
    ]


def test_one_surface_with_several_labels_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, "Rome B-LOC\nsaw O\n\n" * 3 + "Rome B-ORG\nwon O\n\n")
    assert told(report, "ambiguous-surface", tmp_path) == [
        ("note", "1 of 1 distinct entities occur with several labels: 'Rome' (LOC 3, ORG 1)", ()),
    ]


def test_the_surfaces_whose_rarer_labels_are_many_come_first(tmp_path: Path) -> None:
    def said(word: str, **counts: int) -> str:
        return "".join(f"{word} B-{label}\n\n" * n for label, n in counts.items())

    report = check(tmp_path, said("a", X=90, Y=1) + said("b", X=4, Y=3) + said("c", X=5, Y=2))
    ((_, message, _),) = told(report, "ambiguous-surface", tmp_path)
    assert message.endswith(": 'b' (X 4, Y 3), 'c' (X 5, Y 2), 'a' (X 90, Y 1)")


def test_over_512_tokens_a_sentence_is_long_among_long_ones(tmp_path: Path) -> None:
    report = check(tmp_path, ("w O\n" * 99 + "x B-X\n\n") * 20 + "w O\n" * 513 + "\n")
    ((_, message, _),) = told(report, "long-sentence", tmp_path)
    assert message.startswith("1 sentence over 512 tokens, the longest of 513 (")


def test_a_sentence_that_runs_on_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD * 30 + "w O\n" * 300 + "\n")
    assert told(report, "long-sentence", tmp_path) == [
        ("warning", "1 sentence over 200 tokens, the longest of 300 (are blank lines missing?)",
         (241,)),
    ]  # fmt: skip


def test_odd_characters_are_named(tmp_path: Path) -> None:
    report = check(tmp_path, "a\u200b B-X\nb\ufffd O\nc\x96 O\nd\xad O\ne\x07 O\nfine\u0301 O\n")
    found = {
        f.message.split(" in ")[0]: f.lines for f in report.findings if f.severity == "warning"
    }
    assert found == {
        "U+200B (ZERO WIDTH SPACE)": (1,),
        "U+FFFD (REPLACEMENT CHARACTER)": (2,),
        "U+0096 (a control character, where Windows-1252 has quotes and dashes: a wrong "
        "encoding?)": (3,),
        "U+00AD (SOFT HYPHEN)": (4,),
        "U+0007 (a control character)": (5,),
    }
    assert told(report, "not-NFC", tmp_path)[0][2] == (6,)


def test_odd_characters_in_labels_and_non_joiners_out_of_place_are_told(tmp_path: Path) -> None:
    report = check(tmp_path, "a B-X\u200b\n\u200cb O\nAuf\u200clage O\n")
    assert told(report, "odd-character", tmp_path) == [
        ("warning", "U+200C (ZERO WIDTH NON-JOINER) in 2 words such as '\\u200cb'", (2, 3)),
        ("warning", "U+200B (ZERO WIDTH SPACE) in 1 label such as 'B-X\\u200b'", (1,)),
    ]


def test_ordinary_characters_of_all_scripts_are_not_odd(tmp_path: Path) -> None:
    words = [
        "Åse",
        "می\u200cخواهم",
        "日本",
        "हिन्दी",
        "🧑🏽",
        "👩\u200d💻",
        "“x”",
        "a\xa0b",
        "naïve",
        "Ω",
        "مرحبا",
    ]
    report = check(tmp_path, "".join(f"{word} B-X\n" for word in words))
    assert not [f for f in report.findings if f.kind == "odd-character"]


def test_lines_that_are_odd_are_noted(tmp_path: Path) -> None:
    report = check(tmp_path, "\ufeffa B-X\r\nb O \n\t\nc\rc O\nd O")
    assert told(report, "byte-order-mark", tmp_path) == [
        ("note", "begins with a byte order mark", (1,))
    ]
    assert told(report, "crlf", tmp_path) == [
        ("note", "1 line with the line end of Windows (CRLF)", (1,))
    ]
    assert told(report, "trailing-blank", tmp_path) == [
        ("note", "1 line with blanks or tabs at the end", (2,))
    ]
    assert told(report, "blank-separator", tmp_path) == [
        ("note", "1 line between sentences with nothing but blanks or tabs", (3,))
    ]
    assert told(report, "cr-inside", tmp_path) == [
        ("warning", "1 line with a carriage return inside (the line end of an old Mac?)", (4,))
    ]
    assert told(report, "last-line", tmp_path) == [("note", "the last line has no line end", (5,))]


def test_lines_that_are_not_odd_are_not_noted(tmp_path: Path) -> None:
    assert [finding.kind for finding in check(tmp_path, "").findings] == ["empty"]
    kinds = {"byte-order-mark", "crlf", "blank-separator", "trailing-blank", "last-line"}
    assert not kinds & {finding.kind for finding in check(tmp_path, GOOD).findings}
    (tmp_path / "wide.conll").write_bytes(GOOD.encode("utf-16"))
    wide = check_files([str(tmp_path / "wide.conll")], DataConfig(encoding="utf-16"))
    assert not kinds & {finding.kind for finding in wide.findings}


def test_spans_that_fit_no_tokens_are_errors(tmp_path: Path) -> None:
    line = '{"text": "New York", "spans": [[1, 3, "A"]]}\n{"text": "ab", "spans": [[0, 2, "A"]]}\n'
    report = check(tmp_path, {"a.jsonl": line})
    ((severity, message, lines),) = told(report, "unreadable", tmp_path)
    assert (severity, lines) == ("error", (1,))
    assert "'ew' (A 1 3) does not fall on token edges" in message


def test_classes_are_checked_as_tags_are(tmp_path: Path) -> None:
    files = {
        "train.tsv": "a\tone two three four five\nb\tanother text of a few words\n" * 2
        + "b\tone two three four five\n",
        "test.tsv": "c\tsomething that is quite different\na\tanother text of a few words\n",
    }
    report = check(tmp_path, files, label_column=0, text_column=1)
    assert [facts.scheme for facts in report.files] == ["classes", "classes"]
    assert told(report, "contradiction", tmp_path) == [
        ("warning", "1 text occurs with different labels", (1, 3, 5)),
    ]
    assert told(report, "unknown-label", tmp_path) == [
        ("warning", "1 label that train.tsv lacks, so that no model can find it: c (1)", (1,)),
    ]


@pytest.mark.parametrize(
    ("content", "kind", "severity"),
    [
        ("a O\nb O\n\nc O\n", "only-O", "error"),
        ("a NN\nb NN\n\nc NN\n", "one-label", "error"),
        ("just a text\nof two lines and more\n", "no-labels", "error"),
    ],
)
def test_a_corpus_from_which_nothing_can_be_learnt_is_an_error(
    tmp_path: Path, content: str, kind: str, severity: str
) -> None:
    report = check(tmp_path, {"train.txt": content})
    assert [f.severity for f in report.findings if f.kind == kind] == [severity]


def test_files_of_different_kinds_are_an_error_and_other_schemes_a_note(tmp_path: Path) -> None:
    files = {"a.conll": GOOD, "b.conll": "a S-PER\nb B-LOC\nc E-LOC\n", "c.conll": "a DT\nb NN\n"}
    report = check(tmp_path, files)
    assert told(report, "other-scheme", tmp_path) == [
        ("error", "it holds plain labels, and a.conll holds spans in IOB2", ()),
        ("note", "it holds spans in IOBES, and a.conll holds spans in IOB2", ()),
    ]


def test_a_file_that_fits_two_schemes_is_not_told_to_be_in_the_other(tmp_path: Path) -> None:
    files = {"a.conll": "a B-X\nb E-X\nc S-Y\n", "b.conll": "a B-X\nb B-X\n"}
    assert told(check(tmp_path, files), "other-scheme", tmp_path) == [
        ("note", "it holds spans in IOB2, and a.conll holds spans in IOBES", ()),
    ]
    # Each of the two schemes forbids one step of b.conll.
    both = {"a.conll": "a I-X\nb I-X\nc B-X\n", "b.conll": "a I-X\nb O\nc B-Y\n"}
    # It is read as train is, where that forbids no more; alone it would be read as IOB2.
    assert check(tmp_path, both).files[1].scheme_told.startswith("IOB1 (1 of 4 transitions illegal")
    assert not told(check(tmp_path, both), "other-scheme", tmp_path)


def test_one_class_alone_is_an_error_in_train_and_a_warning_elsewhere(tmp_path: Path) -> None:
    files = {"train.tsv": "a\tx y\na\tz\n", "test.tsv": "a\tw\na\tv\n"}
    report = check(tmp_path, files)
    assert [severity for severity, _, _ in told(report, "one-label", tmp_path)] == [
        "error",
        "warning",
    ]


def test_a_column_of_texts_is_not_taken_for_labels_without_a_word(tmp_path: Path) -> None:
    rows = "".join(f"the label of row {n} and so on\ttext {n}\n" for n in range(3000))
    report = check(tmp_path, {"train.tsv": rows}, label_column=0, text_column=1)
    assert told(report, "many-labels", tmp_path) == [
        ("warning", "3,000 distinct labels in 3,000: are they those of a column that holds no "
         "labels?", ()),
    ]  # fmt: skip
    few = "".join(f"{'ab'[n % 2]}\ttext {n}\n" for n in range(30))
    assert not told(check(tmp_path, {"t.tsv": few}), "many-labels", tmp_path)


def test_utf_8_that_is_read_as_something_else_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, "Mísia B-PER\n", encoding="latin-1")
    assert told(report, "encoding", tmp_path) == [
        ("warning", "it is read in latin-1, and all of it is UTF-8 too: is that its encoding?", ()),
    ]
    (tmp_path / "b.conll").write_bytes("café B-X\n".encode("latin-1"))
    (tmp_path / "c.conll").write_bytes(b"plain B-X\n")
    for name in ("b.conll", "c.conll"):
        others = check_files([str(tmp_path / name)], DataConfig(encoding="latin-1"))
        assert not told(others, "encoding", tmp_path)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(GOOD,))
    writer.start()
    report = check_files([str(tmp_path / "pipe")], DataConfig())
    writer.join(10)
    assert report.files[0].sentences == 2


def test_a_report_is_lines_for_people_and_json_for_programs(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD + "a O\nb\n" + "x\n" * 30)
    lines = [line.replace(f"{tmp_path}/", "") for line in check_lines(report)]
    assert lines[0] == "train.conll"
    assert lines[-1] == "verdict: 31 errors, 1 note: correct the errors before training on this"
    assert (
        lines.count("error:   train.conll:10: expected 2 columns as on line 1, found 1: 'b'") == 1
    )
    assert "         train.conll: 21 more of the kind unreadable (--json)" in lines
    facts = json.loads(json.dumps(report.to_dict()))
    assert len(facts["findings"]) == 32
    assert facts["files"][0]["labels"] == {"PER": 2, "LOC": 1}


def test_numbers_and_lines_are_told_in_words() -> None:
    assert [plural(n, "class") for n in (0, 1, 2)] == ["0 classes", "1 class", "2 classes"]
    assert shown_lines((7,)) == "line 7"
    assert shown_lines((1, 1, 2000)) == "lines 1, 2,000"
    assert shown_lines(tuple(range(1, 9))) == "lines 1, 2, 3, 4, 5 and 3 more"
    note, warning, error = (
        Finding(severity, "k", "f", "m")  # type: ignore[arg-type]
        for severity in ("note", "warning", "error")
    )
    verdicts = [
        CheckReport((), findings).verdict
        for findings in ((), (note,), (warning, warning), (error, note))
    ]
    assert verdicts == [
        "nothing odd found",
        "1 note: fit to train on",
        "2 warnings: fit to train on",
        "1 error, 1 note: correct the errors before training on this",
    ]


parts = st.sampled_from(["a", "7", "O", "B-X", "B_X", "I-X", "NN", "\r", "\t", " ", "\n", "\n\n",
    "\r\n", "#",
    "\ufeff", "-DOCSTART-", "1\ta\t_\tX" + "\t_" * 6, "\x00", "__label__x ",
    '{"text": "ab", "spans": [[0, 1, "X"]]}',
    "\u200b", "(3 a)", "NUM:x y"])  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.lists(parts, max_size=25).map("".join).map(str.encode) | st.binary(max_size=80),
        min_size=1,
        max_size=3,
    )
)
def test_whatever_files_hold_there_is_a_report(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    paths = []
    for number, content in enumerate(contents):
        (folder / f"fuzz{number}").write_bytes(content)
        paths.append(str(folder / f"fuzz{number}"))
    report = check_files(paths, DataConfig())
    assert "\n".join(check_lines(report)).count("verdict: ") >= 1
    json.dumps(report.to_dict()).encode()


def of(report: CheckReport, kind: str, name: str) -> list[int]:
    return [f.count for f in report.findings if f.kind == kind and f.file.endswith(name)]


@pytest.mark.slow
def test_what_the_readme_says_of_the_real_corpora_is_found(corpora: Path) -> None:
    def checked(folder: str, *names: str, **data: object) -> CheckReport:
        return check_files([str(corpora / folder / name) for name in names], DataConfig(**data))

    atis = checked("atis", "train", "test")
    assert of(atis, "unknown-class", "test") == [5]
    classes = [f.message for f in atis.findings if f.kind == "unknown-class"]
    assert classes[0].startswith("4 classes that ")
    assert of(atis, "unknown-label", "test") == [4]
    trec = checked("trec", "train.txt", encoding="latin-1")
    assert sum(of(trec, "duplicate", "train.txt")) == 71
    chunks = checked("conll2000", "train.txt", "dev.txt")
    assert of(chunks, "overlap", "dev.txt") == [34, 4]
    dutch = checked("conll2002", "ned.train")
    assert not {f.kind for f in dutch.findings} & {"odd-character", "encoding"}
    wrong = checked("conll2002", "ned.testa", encoding="latin-1")
    assert [f.severity for f in wrong.findings if f.kind == "encoding"] == ["warning"]
    assert [f.message for f in dutch.findings if f.kind == "long-sentence"] == [
        "4 sentences over 280 tokens, the longest of 859 (are blank lines missing?)"
    ]
    wnut = checked("wnut17", "train.conll")
    assert of(wnut, "blank-separator", "train.conll") == [2394]
    assert dutch.errors == trec.errors == atis.errors == wnut.errors == 0
    unread = checked("trec", "train.txt")
    assert unread.findings[0].message.startswith("byte 3,695 is not utf-8 (")
    assert "data.encoding" in unread.findings[0].message
    english = checked("conll2003", "eng.train", "eng.testa", "eng.testb")
    assert english.errors == 0
    assert [facts.scheme for facts in english.files] == ["iob1"] * 3


@pytest.mark.parametrize("cut", [5, 40, 200])
def test_a_damaged_gzip_file_is_a_finding_in_any_encoding(tmp_path: Path, cut: int) -> None:
    rows = "".join(f"w{n * 7919 % 1000}é B-X\n\n" for n in range(2000))
    path = tmp_path / "a.conll.gz"
    path.write_bytes(gzip.compress(rows.encode())[:-cut])
    for encoding in ("utf-8", "latin-1", "cp1252"):
        report = check_files([str(path)], DataConfig(encoding=encoding, format="columns"))
        assert [
            f.message for f in report.findings if f.message.endswith("the gzip file is cut short")
        ]


def test_long_and_odd_labels_are_shown_safely_and_in_bounded_length(tmp_path: Path) -> None:
    labels = [f"{n}\x9b{'x' * 5000}" for n in range(30)]
    rows = "".join(f"a B-{label}\nb I-{label}\nc O\n\nd I-{label}x\n\n" for label in labels)
    lines = list(check_lines(check(tmp_path, rows, format="columns")))
    assert any(line.startswith("  60 types: 0\\x9bxxx") for line in lines)
    assert max(len(line) for line in lines) < 2000
    findings = [line for line in lines if line.startswith(("error", "warning", "note"))]
    assert findings
    assert all(line.isprintable() for line in findings)
