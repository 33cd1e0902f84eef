"""Values in columns of lines that were read, and nothing else changed."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import pytest
from column_files import options
from says import Says, refuses

from tagkit.config import Column
from tagkit.corpus.formats.columns.filling import fill_columns
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.errors import FormatError

SOURCE = """\
# sent_id = 1
# text = Tu vas au port.\r
1\tTu\ttu\tPRON\t_\tCase=Nom|Person=2\t2\tnsubj\t_\tNER=O|SpaceAfter=No
1.1\tvas\t_\tVERB\t_\t_\t_\t_\t2:conj\t_
2-3\tau\t_\t_\t_\t_\t_\t_\t_\tNER=B-X
2\tà\tà\t ADP \t_\t_\t5\tcase\t_\t_\r
3\tle\tle\tDET\t_\tCase=Dat\t5\tdet\t_\tNER=B-LOC|Gloss=the \t\r

# a comment between sentences

1\tOui\toui\tINTJ\t_\t_\t0\troot\t_\t_"""


def fill(text: str, *values: Mapping[Column, Sequence[str]], kind: str = "conllu") -> str:
    reader = ColumnReader("in", options(kind, with_tags=False))
    blocks = list(reader.blocks([text.split("\n")]))
    wanted = iter(values)
    lines = []
    for block in blocks:
        assert reader.layout is not None
        lines += fill_columns(block, reader.layout, next(wanted) if block.rows else {}, "in")
    return "\n".join(lines)


def test_columns_are_filled_several_at_once_and_every_other_byte_stays() -> None:
    first = {
        "UPOS": ["A", "B", "C"],
        "FEATS": ["_", "X=1", "Y=2"],
        "MISC.NER": ["B-PER", "O", "O"],
    }
    assert fill(SOURCE, first, {"LEMMA": ["ja"]}).split("\n") == [
        "# sent_id = 1",
        "# text = Tu vas au port.\r",
        "1\tTu\ttu\tA\t_\t_\t2\tnsubj\t_\tNER=B-PER|SpaceAfter=No",
        "1.1\tvas\t_\tVERB\t_\t_\t_\t_\t2:conj\t_",
        "2-3\tau\t_\t_\t_\t_\t_\t_\t_\tNER=B-X",
        "2\tà\tà\t B \t_\tX=1\t5\tcase\t_\t_\r",
        "3\tle\tle\tC\t_\tY=2\t5\tdet\t_\tGloss=the \t\r",
        "",
        "# a comment between sentences",
        "",
        "1\tOui\tja\tINTJ\t_\t_\t0\troot\t_\t_",
    ]


@pytest.mark.parametrize(
    ("values", "line", "expected"),
    [
        ({"FEATS.Case": ["Acc", "Dat", "Dat"]}, 2, "1\tTu\ttu\tPRON\t_\tCase=Acc|Person=2\t"),
        ({"FEATS.Case": ["_", "Dat", "Dat"]}, 2, "1\tTu\ttu\tPRON\t_\tPerson=2\t"),
        ({"FEATS.Case": ["Nom", "Dat", "_"]}, 6, "3\tle\tle\tDET\t_\t_\t"),
        ({"MISC.NER": ["O", "B-LOC", "I-LOC"]}, 5, "2\tà\tà\t ADP \t_\t_\t5\tcase\t_\tNER=B-LOC\r"),
    ],
)
def test_one_pair_of_a_column_is_filled_in_its_place(
    values: Mapping[Column, Sequence[str]], line: int, expected: str
) -> None:
    assert fill(SOURCE, values, {}).split("\n")[line].startswith(expected)


def test_filling_a_column_with_what_it_has_gives_the_same_lines() -> None:
    gold: dict[Column, Sequence[str]] = {
        "UPOS": ["PRON", "ADP", "DET"],
        "FEATS.Case": ["Nom", "_", "Dat"],
        "MISC.NER": ["O", "O", "B-LOC"],
    }
    assert fill(SOURCE, gold, {"UPOS": ["INTJ"], "MISC.NER": ["O"]}) == SOURCE


def test_columns_between_blanks_keep_their_blanks() -> None:
    text = "a  b c \n  d e\t f\r\n"
    assert fill(text, {1: ["X", "Y"], -1: ["P", "Q"]}, kind="columns") == "a  X P \n  d Y\t Q\r\n"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"UPOS": ["A", "a\tb", "C"]}, Says("in:6", "UPOS", "'a\\tb'")),
        ({"UPOS": ["A", "B", ""]}, Says("in:7", "UPOS")),
        ({"MISC.NER": ["A|B", "O", "O"]}, Says("in:3", "MISC", "NER", "'A|B'")),
        ({"POS": ["A", "B", "C"]}, Says("in:1", "'POS'", "ID", "FORM")),
        ({10: ["A", "B", "C"]}, Says("in:1", "10", "-10", "9")),
    ],
)
def test_what_a_column_cannot_hold_is_refused(
    values: Mapping[Column, Sequence[str]], problem: str
) -> None:
    with refuses(FormatError, problem):
        fill(SOURCE, values, {})


@pytest.mark.parametrize("name", ["ud-english-ewt", "ud-greek-gdt"])
@pytest.mark.parametrize(
    "columns", [["LEMMA", "UPOS", "XPOS", "FEATS", "MISC.SpaceAfter"], ["FEATS.Number"]]
)
def test_treebanks_filled_with_their_own_values_stay_as_they_are(
    corpora: Path, name: str, columns: list[Column]
) -> None:
    with (corpora / name / "dev.conllu").open(encoding="utf-8", newline="\n") as file:
        text = "".join(islice(file, 20_000))
    read = ColumnReader("in", options("conllu", features=tuple(columns), with_tags=False))
    sentences = [b.sentence for b in read.blocks([text.split("\n")]) if b.sentence is not None]
    gold = [dict(zip(columns, sentence.features, strict=True)) for sentence in sentences]
    assert fill(text, *gold) == text
