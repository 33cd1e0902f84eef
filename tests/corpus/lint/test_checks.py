"""What each check finds: in labels, characters, repetition, line ends and encodings."""

from pathlib import Path

import pytest
from lint_reports import check, told

from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files

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


def test_what_is_named_as_plain_text_has_no_labels_without_an_error(tmp_path: Path) -> None:
    text = "just a text\nof two lines and more\n"
    holds = "holds no tags, spans or classes, without which only a language model can be trained"
    report = check(tmp_path, {"train.txt": text, "dev.txt": text * 2}, format="text")
    assert told(report, "no-labels", tmp_path) == [("note", holds, ())] * 2
    assert report.errors == 0
    assert report.verdict.endswith(": fit to train on")
    assert told(check(tmp_path, {"train.txt": text}), "no-labels", tmp_path) == [
        ("error", f"{holds}: it is read as text (data.format=text is for the text of a language "
         "model; data.format chooses another format)", ()),
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
        ("error", "3,000 distinct labels of 3,000 examples: are they those of a column that "
         "holds no labels?", ()),
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
        ("warning", "1 class consists of others with commas between them, such as 'sport,money', "
         "and is read as a class of its own. Write them as several classes of a text, which "
         "jsonl-texts and fastText can hold", (3,)),
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


def test_odd_characters_of_words_and_labels_are_named(tmp_path: Path) -> None:
    report = check(
        tmp_path, "a\u200b B-X\u200b\nb\ufffd O\nc\x96 O\nd\xad O\ne\x07 O\nfine\u0301 O\n"
    )
    found = [(each.message, each.lines) for each in report.findings if each.severity == "warning"]
    for number, char in enumerate(("U+200B", "U+FFFD", "U+0096", "U+00AD", "U+0007"), 1):
        assert [lines for message, lines in found if char in message and "word" in message] == [
            (number,)
        ]
    assert [lines for message, lines in found if "1 label such as 'B-X\\u200b'" in message] == [
        (1,)
    ]
    assert told(report, "not-NFC", tmp_path)[0][2] == (6,)


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


def test_words_that_were_decoded_wrongly_are_told_with_what_they_are(tmp_path: Path) -> None:
    whole = "België é Ñu “ Łódź 日 ß"
    for encoding in ("cp1252", "latin-1"):
        words = whole.split() if encoding == "cp1252" else ["België", "é"]
        wrong = [word.encode().decode("latin-1") for word in words]
        if encoding == "cp1252":
            wrong = [word.encode("latin-1").decode("cp1252", "replace") for word in wrong]
            wrong = [word for word in wrong if "\ufffd" not in word]
        report = check(tmp_path, "".join(f"{word} O\n" for word in (*wrong, *words, "Ãr", "x")))
        ((severity, message, lines),) = told(report, "twice-encoded", tmp_path)
        assert (severity, lines) == ("warning", (*range(1, len(wrong) + 1),))
        assert "'BelgiÃ«', which is 'België' if its bytes are read as UTF-8" in message
    report = check(tmp_path, "".join(f"{word} O\n" for word in whole.split()))
    assert not told(report, "twice-encoded", tmp_path)


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


def test_a_carriage_return_at_the_end_of_a_file_is_no_line_end_of_windows(tmp_path: Path) -> None:
    report = check(tmp_path, "a B-X\rb O\r\r")
    assert told(report, "crlf", tmp_path) == []
    report = check(tmp_path, "a B-X\r\nb O\r")
    assert told(report, "crlf", tmp_path) == [
        ("note", "1 line with the line end of Windows (CRLF)", (1,))
    ]


def test_lines_that_are_not_odd_are_not_noted(tmp_path: Path) -> None:
    assert [finding.kind for finding in check(tmp_path, "").findings] == ["empty"]
    kinds = {"byte-order-mark", "crlf", "blank-separator", "trailing-blank", "last-line"}
    assert not kinds & {finding.kind for finding in check(tmp_path, GOOD).findings}
    (tmp_path / "wide.conll").write_bytes(GOOD.encode("utf-16"))
    wide = check_files([str(tmp_path / "wide.conll")], DataConfig(encoding="utf-16"))
    assert not kinds & {finding.kind for finding in wide.findings}


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
