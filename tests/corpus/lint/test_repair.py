"""`tagkit check --fix`: repaired copies, every repair told, nothing else touched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses

from tagkit.cli.commands.check import repair_lines
from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.lint.repair import Repaired, copies_of, repair_file, write_repaired
from tagkit.errors import DataError

FINE = "Ada\tB-PER\nleft\tO\n\n" * 5


def repaired(folder: Path, content: str, **data: object) -> tuple[str, list[str], Repaired]:
    """The repaired text, what is told of it, and all of the result."""
    path = folder / "a.conll"
    path.write_text(content, encoding="utf-8", newline="")
    done = repair_file(str(path), DataConfig(**data))
    return "".join(f"{line}\n" for line in done.lines), [*repair_lines("b", done)][2:], done


@pytest.mark.parametrize(
    ("content", "expected", "repairs"),
    [
        (FINE, FINE, []),
        ("# c\n\n" + FINE, "# c\n\n" + FINE, []),
        (FINE + "x\tI-PER\ny\tI-PER\n\n", FINE + "x\tB-PER\ny\tI-PER\n\n",
         ["  I-PER is now B-PER: line 16"]),
        (FINE + "x  X\tB-Per", FINE + "x  X\tB-PER\n",
         ["  ended the last line: line 16", "  B-Per is now B-PER: line 16"]),
        ("\ufeff" + FINE.replace("\n", "\r\n"), FINE,
         ["  left out the byte order mark: line 1",
          "  ended lines with LF alone: lines 1, 2, 3, 4, 5 and 10 more"]),
        (FINE + "x\tO \t\n \t\ny\tO\n", FINE + "x\tO\n\ny\tO\n",
         ["  left out blanks at the end of lines: line 16",
          "  left out blanks in lines between sentences: line 17"]),
        (FINE + "ragged line here\nx\tO\n", FINE + "ragged line here\nx\tO\n",
         ["  left for you to correct: F:16: expected 2 columns as on line 1, found 1: 'ragged line "
          "here'"]),
        ("a\tNN\nb\tNN\nc\tNN\nd\tNN\ne\tnn\n", "a\tNN\nb\tNN\nc\tNN\nd\tNN\ne\tNN\n",
         ["  nn is now NN: line 5"]),
        ("a\tNN\nb\tnn\n", "a\tNN\nb\tnn\n", []),
        ("a\t1.1\n" * 9 + "b\t11\n", "a\t1.1\n" * 9 + "b\t11\n", []),
        (FINE + "x\tB_PER\ny\tI-PER\n\nz\tI-PER\n", FINE + "x\tB-PER\ny\tI-PER\n\nz\tB-PER\n",
         ["  B_PER is now B-PER: line 16", "  I-PER is now B-PER: line 19"]),
        (FINE + "x\tI-PER\ny\tB/PER\n", FINE + "x\tB-PER\ny\tB/PER\n",
         ["  I-PER is now B-PER: line 16",
          "  left for you to correct: F:17: tag 'B/PER' is of no scheme"]),
        ("\ufeff\ufeff" + FINE, FINE, ["  left out the byte order mark: line 1"]),
        (FINE + "z\t\r\r\n", FINE + "z\t\n",
         ["  ended lines with LF alone: line 16",
          "  left for you to correct: F:16: expected 2 columns as on line 1, found 1: "
          "'z\\t\\r\\r'"]),
    ],
)  # fmt: skip
def test_repairs_are_done_and_told(
    tmp_path: Path, content: str, expected: str, repairs: list[str]
) -> None:
    text, told, _ = repaired(tmp_path, content)
    assert text == expected
    assert [line.replace(str(tmp_path / "a.conll"), "F") for line in told] == repairs


JOINED = "  joined a span to the one before it, now of the same label: line "


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        # IOB1 writes B where a second span of one label follows, so this I continues the first.
        ("I-PER I-per", "I-PER I-PER", ["  I-per is now I-PER: line 2", f"{JOINED}2"]),
        ("I-PER B-per", "I-PER B-PER", ["  B-per is now B-PER: line 2"]),
        ("B-PER I-per O", "B-PER I-PER O", ["  I-per is now I-PER: line 2", f"{JOINED}2"]),
        ("B-per I-PER I-per", "B-PER I-PER I-PER",
         ["  B-per is now B-PER: line 1", f"{JOINED}2, 3", "  I-per is now I-PER: line 3"]),
        ("B-PER B-per", "B-PER B-PER", ["  B-per is now B-PER: line 2"]),
        ("B-PER E-per", "B-PER E-PER", ["  E-per is now E-PER: line 2", f"{JOINED}2"]),
        ("B_PER I-PER", "B-PER I-PER", ["  B_PER is now B-PER: line 1"]),
    ],
)  # fmt: skip
def test_spans_that_a_spelling_joins_are_told_and_those_that_begin_with_b_stay_two(
    tmp_path: Path, wrong: str, right: str, told: list[str]
) -> None:
    first = wrong.split()[0][0]
    single = "S" if "E-" in wrong else first
    fine = f"Bob\t{single}-PER\nx\tO\n\n" * 12
    before, after = (
        "".join(f"w\t{tag}\n" for tag in tags.split()) + "\n" for tags in (wrong, right)
    )
    text, said, done = repaired(tmp_path, before + fine)
    assert text == after + fine
    assert sorted(line.replace("lines ", "line ") for line in said) == sorted(told)
    kinds = {repair.kind for repair in done.repairs}
    assert ("joined-spans" in kinds) == any(line.startswith(JOINED) for line in told)


def test_other_columns_comments_and_keys_stay(tmp_path: Path) -> None:
    lines = [
        "# text = EU's",
        "1-2\tEU's\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tEU\t_\tX\t_\t_\t_\t_\t_\tNER=I-ORG|A=1",
        "2\t's\t_\tX\t_\t_\t_\t_\t_\tB=2",
        "",
    ]
    good = ["1\ta\t_\tX\t_\t_\t_\t_\t_\tNER=B-ORG", "2\tb\t_\tX\t_\t_\t_\t_\t_\tNER=I-ORG", ""] * 3
    path = tmp_path / "a.conllu"
    path.write_text("\n".join([*lines, *good]) + "\n", encoding="utf-8")
    done = repair_file(str(path), DataConfig(tag_column="MISC.NER"))
    assert done.lines[:5] == (*lines[:2], "1\tEU\t_\tX\t_\t_\t_\t_\t_\tNER=B-ORG|A=1", *lines[3:])


def test_each_of_several_tag_columns_is_repaired_in_its_own_scheme(tmp_path: Path) -> None:
    fine = "a\tB-X\tNN\tU-Y\nb\tO\tVB\tO\n\n" * 6
    content = "a\tI-X\tnn\tB-Y\nb\tO\tVB\tO\n\n" + fine
    text, told, _ = repaired(tmp_path, content, tag_column=[1, 2, 3])
    assert text == "a\tB-X\tNN\tU-Y\nb\tO\tVB\tO\n\n" + fine
    assert told == [
        "  I-X is now B-X: line 1",
        "  column 2: nn is now NN: line 1",
        "  column 3: B-Y is now U-Y: line 1",
    ]
    text, told, _ = repaired(tmp_path, content, tag_column=2)
    assert text == content.replace("nn", "NN")
    assert told == ["  nn is now NN: line 1"]


def test_of_several_columns_those_without_tags_stay(tmp_path: Path) -> None:
    rows = ["1\ta\tTurkey\tNN\t_\tA=B\t_\t_\t_\tNER=B-X"] * 5
    rows += ["1\ta\tturkey\tnn\t_\ta=b\t_\t_\t_\tNER=I-X"]
    content = "".join(f"{row}\n\n" for row in rows)
    text, told, _ = repaired(
        tmp_path, content, tag_column=["LEMMA", "UPOS", "FEATS", "MISC.NER"], format="conllu"
    )
    assert text == content.replace("nn", "NN").replace("I-X", "B-X")
    assert told == [
        "  column UPOS: nn is now NN: line 11",
        "  column MISC.NER: I-X is now B-X: line 11",
    ]


tokens = st.tuples(st.sampled_from(["a", "b\x85", "日"]),
                   st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y", "B-x", "S-X", "B_X", "?"]),
)  # fmt: skip
content = st.lists(st.lists(tokens, min_size=1, max_size=4), min_size=1, max_size=6)


@given(content, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_repaired_file_needs_no_repair_and_has_the_same_words(
    tmp_path_factory: pytest.TempPathFactory,
    sentences: list[list[tuple[str, str]]],
    end: str,
    mark: bool,
) -> None:
    folder = tmp_path_factory.mktemp("r")
    text = "".join("".join(f"{word}\t{tag}{end}" for word, tag in rows) + end for rows in sentences)
    once, _, _ = repaired(folder, ("\ufeff" if mark else "") + text)
    twice, _, done = repaired(folder, once)
    assert (twice, done.repairs) == (once, ())
    found = check_files([str(folder / "a.conll")], DataConfig()).findings
    kinds = {finding.kind for finding in found}
    # What is left to a person is what the check finds, line by line.
    odd = [line for each in found if each.kind == "tag-of-no-scheme" for line in each.lines]
    assert [error.line for error in done.left] == sorted(odd)
    assert not kinds & {"crlf", "byte-order-mark", "illegal-transition", "mixed-schemes",
                        "trailing-blank", "blank-separator", "last-line"}  # fmt: skip
    words = [line.split("\t")[0] for line in once.split("\n") if line]
    assert words == [word for rows in sentences for word, _ in rows]


def test_copies_of_several_files_go_into_a_folder(tmp_path: Path) -> None:
    for name in ("train.conll", "dev.conll"):
        (tmp_path / name).write_text(FINE + "x\tI-PER\n", encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("train.conll", "dev.conll")]
    copies = copies_of(paths, tmp_path / "out", force=False)
    done = write_repaired(copies, DataConfig(), force=False)
    assert [*done] == [str(tmp_path / "out" / name) for name in ("train.conll", "dev.conll")]
    assert (tmp_path / "out" / "dev.conll").read_text("utf-8") == FINE + "x\tB-PER\n"
    assert (tmp_path / "dev.conll").read_text("utf-8") == FINE + "x\tI-PER\n"


def test_a_file_that_is_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text(FINE, encoding="utf-8")
    with refuses(DataError, "a.conll", "another"):
        copies_of([str(path)], path, force=True)


def test_other_formats_are_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"tokens": ["a"], "tags": ["O"]}\n', encoding="utf-8")
    with refuses(DataError, "repaired"):
        repair_file(str(path), DataConfig())


def test_a_doubled_mark_is_one_repair(tmp_path: Path) -> None:
    _, _, done = repaired(tmp_path, "\ufeff\ufeff" + FINE)
    assert [(repair.kind, repair.lines) for repair in done.repairs] == [("byte-order-mark", (1,))]


def test_an_odd_tag_does_not_become_another_odd_one(tmp_path: Path) -> None:
    odd = "x\tB/Y\n\n" * 4 + "y\tB/y\n\n"
    text, _, done = repaired(tmp_path, FINE * 9 + odd)
    assert (text, done.repairs) == (FINE * 9 + odd, ())
    assert [error.line for error in done.left] == [136, 138, 140, 142, 144]


def test_copies_of_files_of_one_name_are_refused(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.conll").write_text(FINE, encoding="utf-8")
        paths.append(str(tmp_path / name / "train.conll"))
    with refuses(DataError, "train.conll"):
        copies_of(paths, tmp_path / "out", force=False)
    assert not (tmp_path / "out").exists()


def test_a_file_is_repaired_as_what_it_is_checked_as(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("a\tX\n", encoding="utf-8")
    with refuses(DataError, "a.conllu:1", "10", "2", "columns"):
        repair_file(str(path), DataConfig())


def test_raw_text_is_refused_unless_it_is_said_to_be_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("One line of prose.\nAnd one more, a little longer.\n", encoding="utf-8")
    with refuses(DataError, "data.format=columns"):
        repair_file(str(path), DataConfig())
    assert len(repair_file(str(path), DataConfig(format="columns")).left) == 1


def test_a_copy_in_another_encoding_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes("café\tB-X\n".encode("utf-16"))
    done = repair_file(str(path), DataConfig(encoding="utf-16"))
    assert done.lines == ("café\tB-X",)
    assert [*repair_lines("b", done)][2:] == ["  wrote it in UTF-8, no longer in utf-16"]


def test_what_comes_through_a_pipe_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("-", str(tmp_path / "pipe")):
        with refuses(DataError, "repair"):
            write_repaired({path: tmp_path / "out"}, DataConfig(), force=False)
    assert not (tmp_path / "out").exists()


def test_the_command_reports_before_it_refuses_to_repair(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"], "tags": ["B-X"]}\n', encoding="utf-8")
    program = [sys.executable, "-c", "from tagkit.cli.main import main; main()"]
    arguments = ["check", "a.jsonl", "--fix", "b.conll"]
    ended = subprocess.run(
        [*program, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert "verdict: 1 note: fit to train on" in ended.stdout
    assert ended.stderr == (
        "a.jsonl: read as jsonl-tokens: its lines begin as JSON objects do (--input-format chooses "
        "another format)\n"
        "error: a.jsonl: only column files can be repaired, and this is jsonl-tokens; `tagkit "
        "convert` makes one of it\n"
    )


def test_no_conversion_is_proposed_that_would_lose_the_classes(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("pos\tgood\nneg\tbad\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        repair_file(str(tmp_path / "a.tsv"), DataConfig())
    assert str(caught.value).endswith("only column files can be repaired, and this is tsv")


@pytest.mark.parametrize(("content", "status"), [("a\tB-X\n", 0), ("a\tB-X\nb\n", 1)])
def test_the_exit_status_tells_of_errors(tmp_path: Path, content: str, status: int) -> None:
    from typer.testing import CliRunner

    from tagkit.cli.main import app

    (tmp_path / "a.conll").write_text(content, encoding="utf-8")
    arguments = ["check", str(tmp_path / "a.conll"), "--json", "--fix", str(tmp_path / "b.conll")]
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == status
    facts = json.loads(ended.stdout)
    left = facts["repairs"][str(tmp_path / "b.conll")]["left"]
    assert len(left) == status


def test_a_tag_is_as_frequent_as_the_repair_writes_it(tmp_path: Path) -> None:
    text, told, _ = repaired(tmp_path, "a\tB-X\na\tB_X\n\na\tB-X\na\tB-X\na\tS-X\n")
    assert text == "a\tB-X\na\tB-X\n\n" + "a\tB-X\n" * 3
    assert told == ["  B_X is now B-X: line 2", "  S-X is now B-X: line 6"]


def test_tags_of_no_scheme_that_stay_are_left_to_a_person(tmp_path: Path) -> None:
    path = tmp_path / "F"
    # B_PER is spelt as B-PER but for its separator; Q9 is like no other tag.
    path.write_text(f"{FINE * 3}x\tB_PER\ny\tQ9\n\nz\n\nw\tO\nv\tQ9\n", encoding="utf-8")
    repaired = repair_file(str(path), DataConfig())
    assert [str(error) for error in repaired.left] == [
        f"{path}:47: tag 'Q9' is of no scheme",
        Says(path, "49", "2", "1", "'z'"),
        f"{path}:52: tag 'Q9' is of no scheme",
    ]
    assert [(each.message, each.lines) for each in repaired.repairs] == [
        ("B_PER is now B-PER", (46,))
    ]
    two = f"{FINE}x\tQ9\n".replace("\t", "\tO\t")
    path.write_text(two, encoding="utf-8")
    data = DataConfig(tag_column=(1, 2))
    assert [str(error) for error in repair_file(str(path), data).left] == [
        f"{path}:16: column 2: tag 'Q9' is of no scheme"
    ]
