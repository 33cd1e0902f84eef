"""What each check finds: a table of files with one thing wrong, and what a row does not say."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lint_reports import Files, check, told, written
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.lint.checks import CHECKS, variants
from tagkit.corpus.lint.summary import summarise

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"
LONG = "a B-X\nb O\nc O\nd O\ne O\n\n"
OTHERS = "".join(LONG.replace("a ", f"{number} ") for number in range(150))
IDS = "".join(f"the label of row {n} and so on\ttext {n}\n" for n in range(30))
ODD_TAG = GOOD * 3 + "a B_PER\nb I-PER\n\nc I-PER\n"
TEXTS = {"label_column": 0, "text_column": 1}
CONLLU = "1\tAda\t_\tTAG\t_\t_\t_\t_\t_\tNER=B-PER\n\n"


def record(tag: str, label: str) -> str:
    return f'{{"tokens": ["Ada", "left"], "tags": ["{tag}", "O"], "label": "{label}"}}\n'


@dataclass
class Row:
    """Files, and what is wrong with them.

    Attributes:
        kind: of findings.
        files: contents by name, or that of a training file.
        found: severity and lines of each finding of this kind.
        says: something that the first message has to say, such as a number or a remedy.
        options: of [data].
    """

    kind: str
    files: Files | str
    found: list[tuple[str, tuple[int, ...]]]
    says: str = ""
    options: dict[str, Any] = field(default_factory=dict)


ROWS = [
    Row("unreadable", "a O\nb\nc O\n\nd O O\n", [("error", (2,)), ("error", (5,))], "found 1"),
    Row("empty", "\n\n", [("error", ())]),
    Row("reader", {"a.csv": "Satz,Klasse\n" + "a b,x\nc d,y\n" * 5}, [("note", (1,))], "Klasse"),
    Row("no-labels", {"a.txt": "just a text\nof two lines\n"}, [("error", ())],
        "data.format=text is for the text of a language model"),
    Row("no-labels", {"a.txt": "a text\n", "b.txt": "a b\tA B\n"}, [("note", ())] * 2,
        options={"format": "text"}),
    Row("only-O", "a O\nb O\n\nc O\n", [("error", ())]),
    Row("labels-in-runs", "a PER\nb PER\nc O\nd O\n\n", [("note", ())], "data.scheme=io"),
    Row("one-label", "a NN\nb NN\n\nc NN\n", [("error", ())], "'NN' is the only label"),
    Row("one-label", {"a.tsv": "a\tx y\na\tz\n", "b.tsv": "a\tw\na\tv\n"},
        [("error", ()), ("warning", ())]),
    Row("one-label", {"a.conllu": CONLLU.replace("TAG", "_") * 2}, [("error", ())],
        "data.tag_column=MISC.NER"),
    Row("many-labels", {"a.tsv": IDS}, [("error", ())], "30 distinct labels of 30", TEXTS),
    Row("many-labels", {"a.tsv": IDS + IDS.splitlines()[0]}, [("warning", ())], options=TEXTS),
    Row("many-labels", {"a.tsv": "a\ttext\nb\ttext\n" * 15}, [], options=TEXTS),
    Row("tag-of-no-scheme", ODD_TAG, [("error", (25,))], "'B_PER' is none of a span scheme"),
    Row("tag-of-no-scheme", GOOD * 3 + "a B_PER\n", [("error", (25,))], "is B-PER meant?"),
    Row("tag-of-no-scheme", "a DT\n", [("error", (1,))], "none of IOB2", {"scheme": "iob2"}),
    # What stands behind B_PER is not judged: nobody knows what that tag is.
    Row("illegal-transition", ODD_TAG, [("error", (28,))], "O -> I-PER is illegal in IOB2: 1 time"),
    Row("illegal-transition", GOOD * 5 + "a O\nb I-PER\n\nc I-PER\nd B-LOC\ne I-PER\n",
        [("error", (42, 44)), ("error", (46,))], "O -> I-PER is illegal in IOB2: 2 times"),
    Row("illegal-transition", "a S-X\nb B-X\nc E-X\n\nd B-X\n", [("error", (5,))], "B-X -> O"),
    Row("illegal-transition", GOOD, [("error", (1, 5)), ("error", (7,))],
        "O -> B-PER is illegal in IOB1", {"scheme": "iob1"}),
    Row("label-spelling", GOOD + "a B-Per\n", [("warning", (9,))], "'PER' (2) and 'Per' (1)"),
    Row("few-examples", GOOD, [("note", ())], "fewer than 5 examples: LOC (1), PER (2)"),
    # One that is perhaps the name of a column needs no examples.
    Row("few-examples", {"a.csv": "Satz,Klasse\n" + "a b,x\nc d,y\n" * 5}, []),
    Row("joined-classes", {"a.tsv": "sport\tthe match\nmoney\tthe rates\nsport,money\tthe club\n"},
        [("warning", (3,))], "'sport,money'", TEXTS),
    Row("long-sentence", GOOD * 30 + "w O\n" * 300 + "\n", [("warning", (241,))],
        "1 sentence over 200 tokens, the longest of 300"),
    Row("long-sentence", ("w O\n" * 99 + "x B-X\n\n") * 20 + "w O\n" * 513, [("warning", (2021,))],
        "over 512 tokens"),
    Row("counted-words", "1 a B-X\n2 b O\n3 c O\n\n" * 4, [("error", ())],
        "data.token_column=1", {"tag_column": 2}),
    Row("not-NFC", "fine\u0301 O\n", [("note", (1,))]),
    Row("odd-character", "a B-X\u200b\nb O\n", [("warning", (1,))], "1 label such as 'B-X\\u200b'"),
    Row("duplicate", LONG + "x B-X\n\n" + LONG + "x B-X\n\n", [("warning", (9,)), ("note", (15,))],
        "1 sentence of 5 tokens or more repeats"),
    Row("contradiction", LONG + GOOD + LONG.replace("B-X", "O"), [("warning", (1, 15))]),
    Row("contradiction", {"a.tsv": "a\tx y\nb\tz\n" * 2 + "b\tx y\n"}, [("warning", (1, 3, 5))],
        "1 text occurs with different labels", TEXTS),
    Row("ambiguous-surface", "Rome B-LOC\nsaw O\n\n" * 3 + "Rome B-ORG\nwon O\n\n", [("note", ())],
        "1 of 1 distinct entities occur with several labels: 'Rome' (LOC 3, ORG 1)"),
    Row("byte-order-mark", "\ufeffa B-X\n", [("note", (1,))]),
    Row("crlf", "a B-X\r\nb O\r", [("note", (1,))]),
    Row("crlf", "a B-X\rb O\r\r", []),  # at the end of a file it is no line end of Windows
    Row("trailing-blank", "a B-X\nb O \n", [("note", (2,))]),
    Row("blank-separator", "a B-X\n\t\nb O\n", [("note", (2,))]),
    Row("cr-inside", "a B-X\nc\rc O\n", [("warning", (2,))]),
    Row("last-line", "a B-X\nb O", [("note", (2,))], "no line end"),
    Row("encoding", "Mísia B-PER\n", [("warning", ())], "latin-1", {"encoding": "latin-1"}),
    Row("encoding", "plain B-PER\n", [], options={"encoding": "latin-1"}),
    Row("other-scheme", {"a.conll": GOOD, "b.conll": "a S-PER\nb B-LOC\nc E-LOC\n",
                         "c.conll": "a DT\nb NN\n"}, [("error", ()), ("note", ())],
        "it holds plain labels, and a.conll holds spans in IOB2"),
    Row("unknown-label", {"a.conll": GOOD, "b.conll": "y B-NEW\n\n"}, [("warning", (1,))],
        "1 label that a.conll lacks, so that no model can find it: NEW (1)"),
    Row("unknown-label", {"a.tsv": "a\tx y\nb\tz\n", "b.tsv": "c\tx\n"}, [("warning", (1,))],
        options=TEXTS),
    Row("unknown-class", {"a.jsonl": record("B-PER", "x") + record("B-LOC", "y"),
                          "b.jsonl": record("B-PER", "z") + record("O", "x") + record("O", "z")},
        [("warning", (1, 3))], "1 class that a.jsonl lacks, so that no model can find it: z (2)"),
    Row("entity-overlap", {"a.conll": GOOD, "b.conll": GOOD + "y B-NEW\n\n"}, [("note", ())],
        "75 % of its 4 distinct entities occur in a.conll"),
    # Without a training file nothing is known of what it lacks.
    Row("unknown-label", {"a.conll": "\n", "b.conll": GOOD, "c.conll": "y B-NEW\n\n"}, []),
    Row("entity-overlap", {"a.conll": "\n", "b.conll": GOOD, "c.conll": GOOD}, []),
    Row("overlap", {"a.conll": LONG, "b.conll": "v B-X\n\n", "c.conll": LONG + OTHERS},
        [("note", (1,))], "1 sentence of 5 tokens or more (0.7 %) occurs in a.conll too"),
    Row("overlap", {"a.conll": LONG + GOOD, "b.conll": GOOD + LONG}, [("warning", (9,)),
        ("note", (1, 5))], "(100.0 %) occurs in a.conll too: scores may be too good"),
    Row("overlap", {"a.conll": GOOD, "b.conll": LONG, "c.conll": LONG}, [("note", (1,))],
        "occurs in b.conll too"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_a_check_finds_what_is_wrong(tmp_path: Path, row: Row) -> None:
    found = told(check(tmp_path, row.files, **row.options), row.kind, tmp_path)
    assert [(severity, lines) for severity, _, lines in found] == row.found
    assert not found or row.says in found[0][1]


def test_every_check_has_a_row(tmp_path: Path) -> None:
    missing = {*CHECKS}
    for row in ROWS:
        data = DataConfig(**row.options)
        files = [summarise(path, data) for path in written(tmp_path, row.files)]
        found = [check for check in missing
                 for place, file in enumerate(files) if [*check(file, files[:place])]]  # fmt: skip
        missing -= {*found}
    assert not missing


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a I-X\nb O\n\nc I-X\n", {},
         "IOB1 (all 5 transitions legal; next best is IOB2 with 2 illegal)"),
        ("a B-X\nb O\n", {}, "IOB2 (all 3 transitions legal; next best is IOB1 with 1 illegal)"),
        ("a S-X\nb O\n", {}, "IOBES (all 3 transitions legal; next best is IOB1 with 2 illegal)"),
        ("a B-X\nb E-X\nc O\n\n" * 3 + "d B-X\ne L-X\n\n" * 3, {},
         "IOBES (6 of 21 transitions illegal; not sure: BILOU fits as well)"),
        (ODD_TAG, {}, "IOB2 (1 of 27 transitions illegal; next best is IOB1 with 9 illegal; 1 tag "
         "of no scheme)"),
        (GOOD, {"scheme": "iob1"}, "IOB1, as data.scheme says (3 of 8 transitions illegal)"),
        ("a DT\nb NN\n", {}, "plain labels"),
        ("a O\nb O\n", {}, "every tag is O"),
    ],
)  # fmt: skip
def test_a_scheme_is_told_with_its_rival(
    tmp_path: Path, content: str, options: dict[str, Any], expected: str
) -> None:
    assert check(tmp_path, content, **options).files[0].scheme_told == expected


def test_each_odd_character_is_a_finding_of_its_own(tmp_path: Path) -> None:
    report = check(tmp_path, "a\u200b B-X\nb\ufffd O\nc\x96 O\nd\xad O\ne\x07 O\nb O\n")
    found = [(message, lines) for _, message, lines in told(report, "odd-character", tmp_path)]
    assert len(found) == 5
    for number, char in enumerate(("U+200B", "U+FFFD", "U+0096", "U+00AD", "U+0007"), 1):
        assert [lines for message, lines in found if char in message] == [(number,)]


def test_words_that_were_decoded_wrongly_are_told_with_what_they_are(tmp_path: Path) -> None:
    whole = "België é Ñu Łódź 日 ß".split()
    for encoding, words in (("cp1252", whole[:3]), ("latin-1", whole)):
        wrong = [word.encode().decode(encoding) for word in words]
        report = check(tmp_path, "".join(f"{word} O\n" for word in (*wrong, *whole, "Ãr", "x")))
        ((severity, message, lines),) = told(report, "twice-encoded", tmp_path)
        assert (severity, lines) == ("warning", (*range(1, len(wrong) + 1),))
        assert Says("'BelgiÃ«'", "'België'", "UTF", "8").within(message)
    report = check(tmp_path, "".join(f"{word} O\n" for word in whole))
    assert not told(report, "twice-encoded", tmp_path)


def test_ordinary_characters_of_all_scripts_are_not_odd(tmp_path: Path) -> None:
    words = "Åse می\u200cخواهم 日本 हिन्दी 🧑🏽 👩\u200d💻 “x” a\xa0b naïve Ω مرحبا".split(" ")
    report = check(tmp_path, "".join(f"{word} B-X\n" for word in words))
    assert not [f for f in report.findings if f.kind == "odd-character"]


def test_the_surfaces_whose_rarer_labels_are_many_come_first(tmp_path: Path) -> None:
    def said(word: str, **counts: int) -> str:
        return "".join(f"{word} B-{label}\n\n" * n for label, n in counts.items())

    report = check(tmp_path, said("a", X=90, Y=1) + said("b", X=4, Y=3) + said("c", X=5, Y=2))
    ((_, message, _),) = told(report, "ambiguous-surface", tmp_path)
    assert message.endswith(": 'b' (X 4, Y 3), 'c' (X 5, Y 2), 'a' (X 90, Y 1)")


def test_a_good_file_has_no_odd_lines_in_any_encoding(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-16"):
        (tmp_path / "a.conll").write_bytes(GOOD.encode(encoding))
        report = check_files([str(tmp_path / "a.conll")], DataConfig(encoding=encoding))
        assert [finding.kind for finding in report.findings] == ["few-examples"]


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
