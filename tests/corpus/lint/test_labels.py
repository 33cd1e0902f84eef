"""Labels that are too few, unknown, or all alike."""

from pathlib import Path

import pytest
from lint_reports import check, told
from says import Says

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


def test_a_variant_is_told_with_its_lines(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD + "a B-Per\n")
    assert told(report, "label-spelling", tmp_path) == [
        ("warning", "'PER' (2) and 'Per' (1) may be the same label", (9,)),
    ]


def test_without_a_training_file_nothing_is_told_of_what_it_lacks(tmp_path: Path) -> None:
    files = {"train.conll": "\n", "dev.conll": GOOD, "test.conll": "y B-NEW\n\n"}
    kinds = {finding.kind for finding in check(tmp_path, files).findings}
    assert not kinds & {"unknown-label", "entity-overlap", "other-scheme"}


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
        ("warning", Says("1", "train.tsv", "label"), (1,)),
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


def test_what_is_named_as_plain_text_has_no_labels_without_an_error(tmp_path: Path) -> None:
    text = "just a text\nof two lines and more\n"
    holds = "holds no tags, spans or classes, without which only a language model can be trained"
    report = check(tmp_path, {"train.txt": text, "dev.txt": text * 2}, format="text")
    assert told(report, "no-labels", tmp_path) == [("note", holds, ())] * 2
    assert report.errors == 0
    assert report.verdict.endswith(": fit to train on")
    assert told(check(tmp_path, {"train.txt": text}), "no-labels", tmp_path) == [
        ("error", Says(holds, "data.format=text", "data.format"), ()),
    ]  # fmt: skip
    pairs = check(tmp_path, {"pairs.txt": "a b\tA B\nc d\tC D\n"}, format="text")
    assert [f.severity for f in pairs.findings if f.kind == "no-labels"] == ["note"]


def test_one_class_alone_is_an_error_in_train_and_a_warning_elsewhere(tmp_path: Path) -> None:
    files = {"train.tsv": "a\tx y\na\tz\n", "test.tsv": "a\tw\na\tv\n"}
    report = check(tmp_path, files)
    assert [severity for severity, _, _ in told(report, "one-label", tmp_path)] == [
        "error",
        "warning",
    ]


@pytest.mark.parametrize(
    ("tag", "remedy"),
    [("_", ". Name the column of the tags, for example with data.tag_column=MISC.NER"), ("X", "")],
)
def test_where_the_only_label_is_an_empty_cell_another_column_is_named(
    tmp_path: Path, tag: str, remedy: str
) -> None:
    row = f"1\tAda\t_\t{tag}\t_\t_\t_\t_\t_\tNER=B-PER\n\n"
    report = check(tmp_path, {"train.conllu": row * 2})
    assert told(report, "one-label", tmp_path) == [
        ("error", f"{tag!r} is the only label{remedy}", ())
    ]


def test_what_may_be_the_name_of_a_column_is_not_called_rare(tmp_path: Path) -> None:
    rows = "".join(f"a text {n},{('good', 'bad')[n % 2]}\n" for n in range(10))
    report = check(tmp_path, {"train.csv": "Satz,Klasse\n" + rows})
    assert [(finding.kind, finding.lines) for finding in report.findings] == [("reader", (1,))]
    report = check(tmp_path, {"train.csv": rows + "a text,Klasse\n"})
    assert told(report, "few-examples", tmp_path) == [
        ("note", "1 label with fewer than 5 examples: Klasse (1)", ())
    ]


def test_a_column_of_texts_is_not_taken_for_labels_without_a_word(tmp_path: Path) -> None:
    rows = "".join(f"the label of row {n} and so on\ttext {n}\n" for n in range(3000))
    report = check(tmp_path, {"train.tsv": rows}, label_column=0, text_column=1)
    assert told(report, "many-labels", tmp_path) == [
        ("error", Says("3,000", "distinct"), ()),
    ]  # fmt: skip
    again = rows + "the label of row 1 and so on\tagain\n"
    report = check(tmp_path, {"train.tsv": again}, label_column=0, text_column=1)
    assert told(report, "many-labels", tmp_path)[0][0] == "warning"
    few = "".join(f"{'ab'[n % 2]}\ttext {n}\n" for n in range(30))
    assert not told(check(tmp_path, {"t.tsv": few}), "many-labels", tmp_path)


def test_classes_in_one_cell_are_told_with_their_lines(tmp_path: Path) -> None:
    rows = "sport\tthe match of the day\nmoney\tthe rates of banks\nsport,money\tthe club is sold\n"
    report = check(tmp_path, {"train.tsv": rows}, label_column=0, text_column=1)
    assert told(report, "joined-classes", tmp_path) == [
        ("warning", Says("1", "'sport,money'", "consists"), (3,)),
    ]  # fmt: skip


def test_a_class_that_train_lacks_is_told_with_its_lines_beside_the_tags(tmp_path: Path) -> None:
    def record(tag: str, label: str) -> str:
        return f'{{"tokens": ["Ada", "left"], "tags": ["{tag}", "O"], "label": "{label}"}}\n'

    files = {
        "train.jsonl": record("B-PER", "x") + record("B-LOC", "y"),
        "dev.jsonl": record("B-PER", "z") + record("B-z", "x") + record("B-PER", "z"),
    }
    report = check(tmp_path, files)
    lacks = "that train.jsonl lacks, so that no model can find it"
    assert told(report, "unknown-label", tmp_path) == [
        ("warning", f"1 label {lacks}: z (1)", (2,)),
    ]
    assert told(report, "unknown-class", tmp_path) == [
        ("warning", f"1 class {lacks}: z (2)", (1, 3)),
    ]


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
