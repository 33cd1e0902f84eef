"""TSV and CSV: a text and a label a row, with a header or none."""

import csv
import io
from collections import Counter
from pathlib import Path

import pytest
from formats_help import Reader, Writer, read, refusal, texts, write
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses

from tagkit.config import DataConfig
from tagkit.corpus.formats.tables.delimited import (
    read_csv,
    read_tsv,
    write_csv,
    write_tsv,
)
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import FileError, FormatError, TagkitError
from tagkit.text.records import Document, TextSpan

TRAVEL = Path(__file__).parents[4] / "data" / "travel"


def pairs(tmp_path: Path, content: str, reader: Reader = read_tsv, **options: object) -> list[str]:
    """label|text of each document."""
    path = tmp_path / "a"
    path.write_bytes(content.encode())
    found = read(path, reader, **options)
    return ["|".join([*item.labels, item.text]) for item in found]  # type: ignore[union-attr]


def test_new_texts_need_no_column_of_labels(tmp_path: Path) -> None:
    names = {"text_column": "utt", "label_column": "intent"}
    assert pairs(tmp_path, "utt\tsrc\nA b\tx\n", with_tags=False, **names) == ["A b"]
    assert pairs(tmp_path, "utt\nA b\n", with_tags=False, **names) == ["A b"]
    assert pairs(tmp_path, "text\nA b\n", with_tags=False, label_column="intent") == ["A b"]
    # Here the first line may be a text, and corpora need the labels.
    for options in ({"with_tags": False, "label_column": "intent"}, names):
        with refuses(FileError, "a:1", "data.label_column", "'intent'"):
            pairs(tmp_path, "utt\tsrc\nA b\tx\n", **options)


@pytest.mark.parametrize("reader", [read_tsv, read_csv])
@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (["news\tA b c", "sport\tD e f"], {}),
        (["A b c\tnews", "D e f\tsport"], {}),
        (["label\ttext", "news\tA b c", "sport\tD e f"], {}),
        (["Text \t Label", "A b c\tnews", "D e f\tsport"], {}),
        (["review\tstars", "A b c\tnews", "D e f\tsport"], {}),
        (["id\tSENTIMENT", "A b c\tnews", "D e f\tsport"], {}),
        (["id\ttitle\ttext\tlabel", "1\tx y\tA b c\tnews", "2\tz\tD e f\tsport"], {}),
        (["news\tx\tA b c", "sport\ty z\tD e f"], {"label_column": 0, "text_column": 2}),
        (["news\tx\tA b c", "sport\ty z\tD e f"], {"label_column": -3, "text_column": -1}),
        (["news\tA b c", "sport\tD e f"], {"text_column": 1}),
        (["a\tb\tc", "x\tA b c\tnews", "y\tD e f\tsport"],
         {"label_column": "c", "text_column": "B"}),
        (["a\tb", "news\tA b c", "sport\tD e f"], {"header": "yes"}),
        (["a\ttext\tb", "news\tA b c\tx", "sport\tD e f\tx"], {"label_column": 0}),
    ],
)  # fmt: skip
def test_columns_are_found_by_option_by_name_and_by_what_they_hold(
    tmp_path: Path, reader: Reader, rows: list[str], options: dict[str, object]
) -> None:
    content = "\n".join(rows) + "\n"
    content = content.replace("\t", ",") if reader is read_csv else content
    assert pairs(tmp_path, content, reader, **options) == ["news|A b c", "sport|D e f"]
    assert pairs(tmp_path, content.replace("\n", "\r\n"), reader, **options) == [
        "news|A b c", "sport|D e f",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        # A label that is also a known name comes again, or stands before a text of several words.
        (["topic\tpolitics", "topic\tthe long war", "other\tthe end"], {},
         ["topic|politics", "topic|the long war", "other|the end"]),
        (["question\tWho was it?", "answer\tIt was me."], {},
         ["question|Who was it?", "answer|It was me."]),
        (["title\tyes", "body\tno no"], {"header": "no", "label_column": 0},
         ["title|yes", "body|no no"]),
        (["label\ttext", "label\ttext"], {}, ["label|text"]),
        (["label\ttext", "label\ttext"], {"header": "no", "label_column": 0}, ["label|text"] * 2),
        (["y\tHm", "n\tOh no"], {"label_column": 0, "header": "no"}, ["y|Hm", "n|Oh no"]),
        (["query\tx"], {"label_column": 0}, ["query|x"]),
        (["review\tstars", "a b\t5"], {}, ["5|a b"]),
    ],
)  # fmt: skip
def test_a_first_row_is_a_header_only_where_it_looks_like_one(
    tmp_path: Path, rows: list[str], options: dict[str, object], expected: list[str]
) -> None:
    assert pairs(tmp_path, "\n".join(rows), **options) == expected
    assert pairs(tmp_path, "\n".join(rows) + "\n", **options) == expected


def test_a_quote_in_tsv_is_a_character_and_only_tabs_part_cells(tmp_path: Path) -> None:
    content = 'x\t"a b\ny\tc" \x85\u2028\x0b d \n \t\n\nx\t" e f\n'
    assert pairs(tmp_path, content) == ['x|"a b', 'y|c" \x85\u2028\x0b d ', 'x|" e f']


def test_quoted_cells_of_csv_hold_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'label,text\r\nx,"a, ""b""\r\nc\rd\n"\r\n\r\n,\r\n"y",z w\r\n')
    found = read(path, read_csv)
    assert found == [Document('a, "b"\r\nc\rd\n', labels=("x",)), Document("z w", labels=("y",))]
    assert [(item.source, item.line) for item in found] == [(str(path), 2), (str(path), 7)]  # type: ignore[union-attr]


def test_a_cell_may_be_longer_than_the_csv_module_allows_by_itself(tmp_path: Path) -> None:
    text = "long " * 100_000
    assert pairs(tmp_path, f"label,text\nx,{text}\n", read_csv) == [f"x|{text}"]


@pytest.mark.parametrize(
    ("content", "line", "last", "reason"),
    [
        (
            'label,text\nx,"a" b\n',
            2,
            2,
            "expected a comma or a line end after the quote that closes a cell",
        ),
        ('label,text\nx,a\ny,"b\nc\n', 3, 4, "a quote is not closed"),
        (
            'label,text\nx,"a\ny,b\nz,"c" d\n',
            2,
            4,
            "expected a comma or a line end after the quote that closes a cell",
        ),
        (
            "label,text\nx,a\rb\n",
            2,
            2,
            "expected quotes around a cell with a carriage return in it",
        ),
    ],
)
def test_a_row_that_is_no_csv_is_named_by_its_first_line_and_its_last(
    tmp_path: Path, content: str, line: int, last: int, reason: str
) -> None:
    message = refusal(tmp_path / "a", content, read_csv)
    ends = f", and ends in line {last}," if last > line else ""
    assert message == f"a:{line}: the row that begins here{ends} is not CSV (RFC 4180): {reason}"


def test_bad_rows_are_passed_over_where_somebody_is_told(tmp_path: Path) -> None:
    told: list[FormatError] = []
    content = 'label,text\nx,"a" b\ny,c\nz\n,d\n'
    assert pairs(tmp_path, content, read_csv, on_error=told.append) == ["y|c"]
    assert [error.line for error in told] == [2, 4, 5]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("x", Says("2", "1", "'x'", "columns")),
        ("x\ta b\tc", Says("2", "3", "'x, a b, c'", "columns")),
        ("x\t ", Says("1", "'x,  '", "column")),
        ("\ta b", Says("0", "', a b'", "column")),
    ],
)
def test_a_row_of_another_kind_is_named(tmp_path: Path, row: str, problem: str) -> None:
    content = f"\nlabel\ttext\nx\ta b\n{row}\n"
    assert refusal(tmp_path / "a", content, read_tsv) == problem


NEITHER = (
    "expected a label and a text, found {}. Name both with data.label_column and data.text_column, "
    "by name or by number from 0; task=transduce learns strings for strings"
)
UNKNOWN = " and nothing that tells which is which"


@pytest.mark.parametrize(
    ("content", "options", "problem"),
    [
        ("a\tb\nc\td\n", {}, NEITHER.format("2 columns" + UNKNOWN)),
        ("a\tb\nc\td\n", {"header": "no"}, NEITHER.format("2 columns" + UNKNOWN)),
        ("a b c\tx\na b c\ty\nd\tx z\n", {}, NEITHER.format("2 columns" + UNKNOWN)),
        ("1\tx\ty z\n2\tx\ty u\n", {}, NEITHER.format("3 columns" + UNKNOWN)),
        ("title\tbody\tlabel\na\tb c\tx\n", {}, NEITHER.format("3 columns" + UNKNOWN)),
        ("x y\n", {}, NEITHER.format("1 column" + UNKNOWN)),
        ("x\ty z\n", {"label_column": 2},
         "data.label_column=2: expected -2 to 1, as the file has 2 columns"),
        ("x\ty z\n", {"text_column": -3},
         "data.text_column=-3: expected -2 to 1, as the file has 2 columns"),
        ("x\ty z\n", {"label_column": "stars"},
         "data.label_column='stars': expected one of the header's columns, found none of this "
         "name in 'x, y z'"),
        ("a\tA\tb\nx\ty\tz\n", {"label_column": "b", "text_column": "c"},
         "data.text_column='c': expected one of the header's columns, found none of this name "
         "in 'a, A, b'"),
        ("a\ta\tb\nx\ty\tz\n", {"label_column": "a", "text_column": "b"},
         "data.label_column='a': expected one of the header's columns, found several of this "
         "name in 'a, a, b'"),
        ("x\ty z\n", {"label_column": "x", "header": "no"},
         "data.label_column='x': expected a number, as data.header is 'no'"),
        ("x\ty z\n", {"label_column": 1, "text_column": -1},
         NEITHER.format("both in column 1")),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_found_are_one_clear_error(
    tmp_path: Path, content: str, options: dict[str, object], problem: str
) -> None:
    assert refusal(tmp_path / "a", content, read_tsv, **options) == f"a:1: {problem}"


SEMICOLONS = "a: its cells are separated by semicolons, as its first row has these and no commas"
GOOD = 'A "good" film; it was short, and I laughed.'


@pytest.mark.parametrize(
    ("content", "expected", "is_header"),
    [
        # As Excel writes it: quotes around the cells that need them.
        ('text;label\n"A ""good"" film; it was short, and I laughed.";pos\n"A bad\none";neg\n',
         [f"pos|{GOOD}", "neg|A bad\none"], True),
        ('label;text\npos;"A ""good"" film; it was short, and I laughed."\nneg;"A bad\none"\n',
         [f"pos|{GOOD}", "neg|A bad\none"], True),
        ('"text";"label"\n"A good, short film";"pos"\n"A bad, long film";"neg"\n',
         ["pos|A good, short film", "neg|A bad, long film"], True),
        ("text;label\nA good, short film;pos\nA bad, long film;neg\n",
         ["pos|A good, short film", "neg|A bad, long film"], True),
        ('\ntext;label\n"A bad,\rlong film";neg\n', ["neg|A bad,\rlong film"], True),
        (';;\n;text;label\n1;"A bad,\nlong film";neg\n', ["neg|A bad,\nlong film"], True),
        ('"A good, short film";pos\n"A bad film";neg\n',
         ["pos|A good, short film", "neg|A bad film"], False),
    ],
)  # fmt: skip
def test_a_table_with_semicolons_and_no_comma_in_its_first_row_is_read(
    tmp_path: Path, content: str, expected: list[str], is_header: bool
) -> None:
    notes: list[str] = []
    assert pairs(tmp_path, content, read_csv, note=notes.append) == expected
    assert notes == [f"{tmp_path}/{SEMICOLONS}"]
    assert pairs(tmp_path, content.replace("\n", "\r\n"), read_csv) == [
        each.replace("\n", "\r\n") for each in expected
    ]
    if is_header:  # which shows in prediction too that a semicolon is no part of the texts
        assert pairs(tmp_path, content, read_csv, with_tags=False) == expected


def test_the_columns_of_a_table_with_semicolons_can_be_named(tmp_path: Path) -> None:
    names = {"text_column": "Mailtext", "label_column": "Art"}
    content = 'Nr;Mailtext;Art\n1;"Hello; you";ham\n2;Buy, now;spam\n'
    expected = ["ham|Hello; you", "spam|Buy, now"]
    assert pairs(tmp_path, content, read_csv, **names) == expected
    assert pairs(tmp_path, content, read_csv, with_tags=False, **names) == expected
    numbers = {"text_column": 1, "label_column": 2, "header": "yes"}
    assert pairs(tmp_path, content, read_csv, with_tags=False, **numbers) == expected
    # New texts have no labels.
    assert pairs(tmp_path, "Nr;Mailtext\n1;a, b\n", read_csv, with_tags=False, **names) == ["a, b"]
    label = {"label_column": "Art"}
    assert pairs(tmp_path, "Art;Was\nx;a b\n", read_csv, with_tags=False, **label) == ["x|a b"]


def test_a_quote_that_is_never_closed_is_an_error_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('label,text\nx,"never closed\n' + "y,a text\n" * 500, "utf-8")
    found: list[FormatError] = []
    data = DataConfig(max_line_chars=1000)
    source = Source(str(path), "utf-8", 1000)
    with refuses(FileError, "csv:2", "1,000"):
        list(read_csv(source, ReaderOptions(data, on_error=found.append)))
    assert found == []


@pytest.mark.parametrize("reader", [read_csv, read_tsv])
@pytest.mark.parametrize("with_tags", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_first_line_for_excel_names_the_separator_and_is_no_row(
    tmp_path: Path, separator: str, end: str, with_tags: bool, reader: Reader
) -> None:
    rows = [("text", "label"), ('"A, ""good""; film|"', "x"), ("b", "y")]
    content = end.join([f"sep={separator}", *map(separator.join, rows), ""])
    for start in ("", "\ufeff"):
        notes: list[str] = []
        found = pairs(tmp_path, start + content, reader, with_tags=with_tags, note=notes.append)
        assert found == ['x|A, "good"; film|', "y|b"]
        assert notes == []
    # Lines are those of the file.
    assert refusal(tmp_path / "a", f"{content}c{end}", reader, with_tags=with_tags) == (
        Says("a:5", "2", "1", "'c'")
    )


def test_a_first_line_for_excel_is_one_of_a_separator_alone(tmp_path: Path) -> None:
    assert pairs(tmp_path, "SEP=;\na;x\nb c;x\n", read_csv, label_column=1) == ["x|a", "x|b c"]
    for line in ("sep=", "sep=x", 'sep="', "sep=;;", "sep =;"):
        rows = f"{line}\nsep=;\n"
        assert pairs(tmp_path, rows, read_tsv, with_tags=False) == [line, "sep=;"]


def test_what_is_wrong_with_a_row_names_the_separator_of_the_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a", 'label;text\nx;"a" b\n', read_csv) == (
        Says("a:2", "CSV", "RFC", "4180")
    )
    for named, said in (("\t", "tab"), ("|", "'|'")):
        content = f'sep={named}\nlabel{named}text\nx{named}"a" b\n'
        assert refusal(tmp_path / "a", content, read_csv) == (
            Says("a:3", "CSV", "RFC", "4180", said)
        )


@pytest.mark.parametrize(
    ("rows", "is_quoted"),
    [
        (['x\t"He said ""no""."', *["y\tYes."] * 99], True),
        (['x\t"a', 'b"', 'y\t"c', 'd"', *["y\tYes."] * 9], True),
        (['x\t"a', 'b"', 'y\t"c', 'd"', *["y\tYes."] * 99], False),
        (['x\t"No" and "yes"', 'y\t"No."', 'x\t""', 'y\tA 5" pipe'] * 9, False),
        (['x\t"Good, and cheap."', "y\tBad."] * 3, True),
        (['x\t"Good, and cheap."', "y\tBad, and dear."] * 3, False),
        (['x\t"Good, and cheap."', "y\tBad."] * 2, False),
    ],
)
def test_tsv_that_seems_to_be_quoted_is_told_so_once(
    tmp_path: Path, rows: list[str], is_quoted: bool
) -> None:
    path = tmp_path / "a"
    path.write_text("\r\n".join(["label\ttext", *rows]), "utf-8")
    notes: list[str] = []
    errors: list[FormatError] = []
    read(path, read_tsv, note=notes.append, on_error=errors.append)
    said = "its cells seem to be quoted as Excel does, and TSV has no quoting: quotes are a part of"
    assert notes == [f"{path}: {said} the text. Save it as CSV"] * is_quoted
    notes.clear()
    read(path, read_tsv, note=notes.append, on_error=errors.append, with_tags=False)
    assert notes == []


def test_semicolons_within_texts_are_left_alone(tmp_path: Path) -> None:
    assert pairs(tmp_path, "text\na; b\nc; d\n", read_csv, with_tags=False) == ["a; b", "c; d"]
    assert pairs(tmp_path, "a; b\nc; d\n", read_csv, with_tags=False) == ["a; b", "c; d"]
    named = pairs(tmp_path, "a; b\nc; d\n", read_csv, with_tags=False, text_column=1)
    assert named == [" b", " d"]
    rows = "text,label\na b; c,x\nd e; f,y\n"
    assert pairs(tmp_path, rows, read_csv) == ["x|a b; c", "y|d e; f"]


def test_labels_are_not_needed_where_they_are_not_wanted(tmp_path: Path) -> None:
    assert pairs(tmp_path, "text\na, b\nc\n", with_tags=False) == ["a, b", "c"]
    assert pairs(tmp_path, "a b\n", with_tags=False) == ["a b"]
    assert pairs(tmp_path, "id\ttext\tn\n1\ta b\t2\n", with_tags=False) == ["a b"]
    assert pairs(tmp_path, "label\ttext\n\ta b\nx\tc\n", with_tags=False) == ["a b", "x|c"]
    assert pairs(tmp_path, "1\ta b\n", with_tags=False, text_column=1) == ["a b"]


@pytest.mark.parametrize("content", ["", "\n\n", "label\ttext\n", " \t \n"])
def test_a_file_without_rows_has_no_documents(tmp_path: Path, content: str) -> None:
    assert pairs(tmp_path, content) == []


def test_what_a_pipe_has_yet_to_bring_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for reader, rows in ((read_tsv, ["x\tv", "z\ta b"]), (read_csv, ["x,v", "z,a b"])):
        source = Source("-", "utf-8")
        brought = iter([rows, ["more"]])  # the first row alone would not tell which is the label
        monkeypatch.setattr(source, "_read", lambda brought=brought: brought)
        documents = reader(source, ReaderOptions(data=DataConfig()))
        assert next(documents) == Document("v", labels=("x",))
        assert next(brought) == ["more"]


labels = st.sampled_from(["label", "text", "class", "y", '"', ","]) | texts()


def classified(
    label: st.SearchStrategy[str], text: st.SearchStrategy[str]
) -> st.SearchStrategy[list[Document]]:
    named = st.builds(lambda t, c: Document(t, labels=(c,)), text | label, label)
    return st.lists(named, min_size=1, max_size=4)


@given(items=classified(labels.filter(lambda s: not set(s) & set("\t\n\r")), texts("\t\n\r")))
def test_reading_a_tsv_that_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    path = write(tmp_path_factory.mktemp("tsv"), "a", write_tsv, items)
    assert read(path, read_tsv) == items
    assert read(path, read_tsv, label_column="label", text_column="text") == items


@given(items=classified(labels, texts()))
def test_reading_a_csv_that_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    path = write(tmp_path_factory.mktemp("csv"), "a", write_csv, items)
    assert read(path, read_csv) == items
    found = list(csv.reader(io.StringIO(Path(path).read_bytes().decode(), newline="")))
    assert found == [["label", "text"], *([item.labels[0], item.text] for item in items)]


@given(items=classified(labels, texts()))
def test_a_csv_of_another_writer_is_read(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerows([["text", "n", "label"], *([i.text, 1, *i.labels] for i in items)])
    assert read(path, read_csv) == items


def test_a_header_is_always_written(tmp_path: Path) -> None:
    items = [Document('a "b", c', labels=("x",))]
    assert (
        Path(write(tmp_path, "t", write_tsv, items)).read_bytes() == b'label\ttext\nx\ta "b", c\n'
    )
    assert Path(write(tmp_path, "c", write_csv, items)).read_bytes() == (
        b'label,text\nx,"a ""b"", c"\n'
    )


@pytest.mark.parametrize(("name", "writer"), [("tsv", write_tsv), ("csv", write_csv)])
def test_spans_are_left_out_which_is_said_once(tmp_path: Path, name: str, writer: Writer) -> None:
    notes: list[str] = []
    item = Document("Oslo", (TextSpan("Oslo", 0, 4, "LOC"),), ("a",))
    write(tmp_path, "a", writer, [Document("x", (), ("a",)), item, item], notes=notes)
    assert notes == [Says(name, "place")]


LABEL = "a tab or a line end in the label"


@pytest.mark.parametrize(
    ("name", "item", "what"),
    [
        ("tsv", Document("x"), "a text without a label: 'x'"),
        ("csv", Document("x"), "a text without a label: 'x'"),
        ("tsv", Document("x", labels=("a", "b")), "several labels of one text ('a, b'): 'x'"),
        ("csv", Document("x", labels=("\x85",)), "a blank label ('\\x85'): 'x'"),
        ("tsv", Document(" ", labels=("a",)), "a blank text: ' '"),
        ("csv", Document(" \n", labels=("a",)), "a blank text: ' \\n'"),
        ("tsv", Document("x\ty", labels=("a",)), "a tab in the text: 'x\\ty'"),
        ("tsv", Document("x", labels=("a\tb",)), f"{LABEL}: 'x'"),
        ("tsv", Document("x", labels=("a\nb",)), f"{LABEL}: 'x'"),
        (
            "tsv",
            Document("x", labels=("a",), extra=(("n", "b\tc"),)),
            "a tab or a line end in the column 'n': 'x'",
        ),
        ("tsv", Document("x\ny", labels=("a",)), "a line end in the text: 'x\\ny'"),
        ("tsv", Document("x\ry", labels=("a",)), "a line end in the text: 'x\\ry'"),
    ],
)
def test_what_it_cannot_hold_is_refused(
    tmp_path: Path, name: str, item: Document, what: str
) -> None:
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "a", {"tsv": write_tsv, "csv": write_csv}[name], [item])
    assert str(caught.value) == Says("input:1", name, what)


NAMES = ["k\tj", "Label", "text ", "a\nb", "c\r", " ", "category", "title", "a,b", 'q"']


@pytest.mark.parametrize(
    ("name", "writer", "reader", "lost"),
    [
        ("tsv", write_tsv, read_tsv, ["k\tj", "Label", "text ", "a\nb", "c\r", " "]),
        ("csv", write_csv, read_csv, ["Label", "text ", " "]),
    ],
)
def test_a_name_that_no_column_can_have_is_left_out_and_said(
    tmp_path: Path, name: str, writer: Writer, reader: Reader, lost: list[str]
) -> None:
    notes: list[str] = []
    item = Document("a b", labels=("x",), extra=tuple((name, "v") for name in NAMES))
    path = write(tmp_path, f"a.{name}", writer, [item], notes=notes)
    assert notes == [
        f"{name} has no place for a column named {each!r}: its values are left out" for each in lost
    ]
    (found,) = reader(Source(path, "utf-8"), ReaderOptions(DataConfig(), with_extra=True))
    assert found == item
    assert [each for each, _ in found.extra] == [each for each in NAMES if each not in lost]


def test_two_columns_of_one_name_are_both_kept(tmp_path: Path) -> None:
    items = [
        Document("a b", labels=("x",), extra=(("n", "1"), ("n", "2"))),
        Document("c d", labels=("x",), extra=(("n", "3"), ("n", "4"))),
        Document("e f", labels=("x",), extra=()),
    ]
    path = write(tmp_path, "a", write_csv, items)
    found = read_csv(Source(path, "utf-8"), ReaderOptions(DataConfig(), with_extra=True))
    expected = [each.extra for each in items[:2]] + [(("n", ""), ("n", ""))]
    assert [each.extra for each in found] == expected


@pytest.mark.parametrize("reader", [read_tsv, read_csv])
def test_a_blank_label_is_a_text_without_a_class_where_that_is_allowed(
    tmp_path: Path, reader: Reader
) -> None:
    path = tmp_path / "a"
    content = "label\ttext\nx\ta b\n\tc d\n"
    path.write_text(content if reader is read_tsv else content.replace("\t", ","), "utf-8")
    found = [*reader(Source(str(path), "utf-8"), ReaderOptions(DataConfig(), blank_labels=True))]
    assert found == [Document("a b", labels=("x",)), Document("c d")]


@pytest.mark.parametrize(("name", "count"), [("train", 2000), ("dev", 300), ("test", 300)])
def test_the_travel_corpus_is_read_without_options(name: str, count: int) -> None:
    path = TRAVEL / f"{name}.tsv"
    found = read(path, read_tsv)
    assert len(found) == count
    assert all(" " not in item.labels[0] for item in found)


@pytest.mark.parametrize("header", ["auto", "no"])
def test_the_movie_reviews_are_read(corpora: Path, header: str) -> None:
    path = corpora / "movie-reviews" / "all.tsv"
    found = read(path, read_tsv, label_column=0, text_column=2, header=header)
    assert Counter(item.labels for item in found) == {("neg",): 1000, ("pos",): 1000}


alphabet = st.sampled_from(['"', ",", "\t", "\n", "\r", " ", "a", "label", "text", "\x85", "\x00"])


@given(
    content=st.lists(alphabet, max_size=25).map("".join).map(str.encode) | st.binary(max_size=60),
    reader=st.sampled_from([read_tsv, read_csv]),
    header=st.sampled_from(["auto", "yes", "no"]),
    column=st.sampled_from([None, 0, -1, "label"]),
    with_tags=st.booleans(),
)
def test_any_bytes_are_texts_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory,
    content: bytes,
    reader: Reader,
    header: str,
    column: int | str | None,
    with_tags: bool,
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed-delimited"
    path.write_bytes(content)
    options = {"header": header, "label_column": column, "with_tags": with_tags}
    told = ""
    try:
        assert all(item.labels or not with_tags for item in read(path, reader, **options))
    except TagkitError as error:
        told = str(error)
    assert not told or str(path) in told
