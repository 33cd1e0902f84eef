"""`tagkit check --fix`: repaired copies, every repair told, nothing else touched."""

import os
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
LONG = "w\tO\n" * 5 + "\n"


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
        (FINE + "x  X\tI-Per", FINE + "x  X\tB-Per\n",
         ["  ended the last line: line 16", "  I-Per is now B-Per: line 16"]),
        ("\ufeff" + FINE.replace("\n", "\r\n"), FINE,
         ["  left out the byte order mark: line 1",
          "  ended lines with LF alone: lines 1, 2, 3, 4, 5 and 10 more"]),
        (FINE + "x\tO \t\n \t\ny\tO\n", FINE + "x\tO\n\ny\tO\n",
         ["  left out blanks at the end of lines: line 16",
          "  left out blanks in lines between sentences: line 17"]),
        (FINE + "ragged line here\nx\tO\n", FINE + "ragged line here\nx\tO\n",
         [Says("F:16: ", "'ragged line here'")]),
        ("a\tNN\n" * 9 + "b\tnn\n", "a\tNN\n" * 9 + "b\tnn\n", []),
        (LONG + FINE + LONG + LONG.replace("O", "B-X") + LONG[:-1],
         LONG + FINE + LONG.replace("O", "B-X"),
         ["  left out a sentence that is equal to an earlier one in all columns: lines 22, 34"]),
        (LONG + LONG[:-1] + "bad\n", LONG + LONG[:-1] + "bad\n",
         [Says("F:12: ", "'bad'")]),
        (FINE + "x\tI-PER\ny\tB/PER\n", FINE + "x\tB-PER\ny\tB/PER\n",
         ["  I-PER is now B-PER: line 16",
          "  left for you to correct: F:17: tag 'B/PER' is of no scheme"]),
        ("\ufeff\ufeff" + FINE, FINE, ["  left out the byte order mark: line 1"]),
        (FINE + "z\t\r\r\n", FINE + "z\t\n",
         ["  ended lines with LF alone: line 16",
          Says("F:16: ", "'z\\t\\r\\r'")]),
    ],
)  # fmt: skip
def test_repairs_are_done_and_told(
    tmp_path: Path, content: str, expected: str, repairs: list[object]
) -> None:
    text, told, _ = repaired(tmp_path, content)
    assert text == expected
    assert [line.replace(str(tmp_path / "a.conll"), "F") for line in told] == repairs


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
    content = "a\tI-X\tNN\tB-Y\nb\tO\tVB\tO\n\n" + fine
    text, told, _ = repaired(tmp_path, content, tag_column=[1, 2, 3])
    assert text == "a\tB-X\tNN\tU-Y\nb\tO\tVB\tO\n\n" + fine
    assert told == [
        "  I-X is now B-X: line 1",
        "  column 3: B-Y is now U-Y: line 1",
    ]
    text, told, _ = repaired(tmp_path, content, tag_column=2)
    assert (text, told) == (content, [])


def test_of_several_columns_those_without_tags_stay(tmp_path: Path) -> None:
    rows = ["1\ta\tB-X\tNN\t_\tA=B-X\t_\t_\t_\tNER=B-X"] * 5
    rows += ["1\ta\tI-X\tNN\t_\tA=I-X\t_\t_\t_\tNER=I-X"]
    content = "".join(f"{row}\n\n" for row in rows)
    text, told, _ = repaired(
        tmp_path, content, tag_column=["LEMMA", "UPOS", "FEATS", "MISC.NER"], format="conllu"
    )
    assert text == content.replace("NER=I-X", "NER=B-X")
    assert told == ["  column MISC.NER: I-X is now B-X: line 11"]


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


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        ('{"tokens": ["a"], "tags": ["O"]}\n', Says("jsonl-tokens", "tagkit convert")),
        # Of a text with a class columns would hold nothing.
        ("pos\tquite good\nneg\trather bad\n", Says("tsv")),
        ("One line of prose.\nAnd one more.\n", Says("text", "data.format=columns")),
    ],
)
def test_other_formats_are_refused_with_the_way_out(
    tmp_path: Path, content: str, refusal: Says
) -> None:
    (tmp_path / "a").write_text(content, encoding="utf-8")
    with refuses(DataError, refusal, "repaired"):
        repair_file(str(tmp_path / "a"), DataConfig())


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


def test_tags_of_no_scheme_that_stay_are_left_to_a_person(tmp_path: Path) -> None:
    path = tmp_path / "F"
    path.write_text(f"{FINE * 3}x\tB_PER\ny\tI-PER\n\nz\n\nw\tO\nv\tQ9\n", encoding="utf-8")
    repaired = repair_file(str(path), DataConfig())
    assert [str(error) for error in repaired.left] == [
        f"{path}:46: tag 'B_PER' is of no scheme",
        Says(path, "49", "2", "1", "'z'"),
        f"{path}:52: tag 'Q9' is of no scheme",
    ]
    assert repaired.repairs == ()  # what follows an odd tag is not judged
    two = f"{FINE}x\tQ9\n".replace("\t", "\tO\t")
    path.write_text(two, encoding="utf-8")
    data = DataConfig(tag_column=(1, 2))
    assert [str(error) for error in repair_file(str(path), data).left] == [
        f"{path}:16: column 2: tag 'Q9' is of no scheme"
    ]
