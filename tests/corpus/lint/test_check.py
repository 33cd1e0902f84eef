"""`tagkit check` of whole files: facts, findings of several files, whatever they hold."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lint_reports import check, told
from says import Says, refuses

import tagkit
from tagkit.cli.commands.check import check_lines
from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.lint.findings import CheckReport
from tagkit.errors import ConfigError, DataError

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


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
    # What is behind an odd tag begins a span of its own.
    assert check(tmp_path, GOOD + "a B_PER\nb I-PER\n").files[0].labels == {"PER": 3, "LOC": 1}


def test_a_column_that_none_of_the_files_has_is_refused(tmp_path: Path) -> None:
    columns, texts = tmp_path / "a.conll", tmp_path / "b.tsv"
    columns.write_text(GOOD, encoding="utf-8")
    texts.write_text("label\ttext\nx\ta b\n", encoding="utf-8")
    data = DataConfig(tag_column=1)
    with refuses(DataError, "b.tsv", "data.tag_column"):
        check_files([str(texts)], data)
    broken = tmp_path / "c.tsv"
    broken.write_bytes(b"\xff\xfe\xfa")
    report = check_files([str(broken), str(columns)], data)  # has an error of its own
    assert report.errors
    # As in training, one of them is enough.
    assert check_files([str(columns), str(texts)], data).files[0].labels == {"PER": 2, "LOC": 1}


def test_a_program_gives_paths_and_options_of_data(tmp_path: Path) -> None:
    file = tmp_path / "a.conll"
    file.write_text(GOOD, encoding="utf-8")
    notes: list[str] = []
    report = tagkit.check([file, str(file)], note=notes.append)
    assert report == check_files([str(file), str(file)], DataConfig())
    assert len(notes) == 2
    assert tagkit.check(file) == check_files([str(file)], DataConfig())
    (finding,) = tagkit.check(file, tag_column=7).findings
    assert finding.severity == "error"
    with refuses(ConfigError, "data.fromat", "data.format"):
        tagkit.check(file, fromat="columns")
    for paths, found in (([], "[]"), (None, "None"), ([None], "None"), ([""], "an empty name")):
        with refuses(DataError, "paths: ", found):
            tagkit.check(paths)  # type: ignore[arg-type]


def test_what_cannot_be_read_in_a_folder_is_told_with_its_file(tmp_path: Path) -> None:
    for name, content in (("neg/1", b"bad"), ("neg/2", b"\xff"), ("pos/1", b"good")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "pos" / "2").write_bytes(b"o\0k")
    report = check_files([str(tmp_path)], DataConfig())
    # Line 1 of which file?
    assert all(not finding.lines for finding in report.findings if finding.kind != "unreadable")
    assert "U+0000" in " ".join(finding.message for finding in report.findings)
    (error,) = [finding for finding in report.findings if finding.severity == "error"]
    assert (error.file, error.lines) == (str(tmp_path / "neg" / "2"), (1,))
    assert error.message.startswith("byte 0xff at 0 is not utf-8")
    assert report.files[0].labels == {"neg": 1, "pos": 2}


def test_what_was_not_read_is_not_said_to_be_missing(tmp_path: Path) -> None:
    # More than is decoded at once, so that there is something before the error.
    start = "".join(f"neg\tbad film number {number}\n" for number in range(9_000))
    (tmp_path / "a.tsv").write_bytes(start.encode() + b"pos\t\xff\npos\tgood\n")
    (tmp_path / "b.tsv").write_bytes(b"neg\tso bad\npos\tso good\n" * 3)
    report = check_files([str(tmp_path / name) for name in ("a.tsv", "b.tsv")], DataConfig())
    assert report.files[0].sentences > 1_000
    kinds = {finding.kind for finding in report.findings}
    assert "unreadable" in kinds
    assert not kinds & {"one-label", "unknown-label", "unknown-class"}


def test_a_file_that_fits_two_schemes_is_not_told_to_be_in_the_other(tmp_path: Path) -> None:
    files = {"a.conll": "a B-X\nb E-X\nc S-Y\n", "b.conll": "a B-X\nb B-X\n"}
    assert told(check(tmp_path, files), "other-scheme", tmp_path) == [
        ("note", Says("IOB2", "a.conll", "IOBES"), ()),
    ]
    # Each of the two schemes forbids one step of b.conll.
    both = {"a.conll": "a I-X\nb I-X\nc B-X\n", "b.conll": "a I-X\nb O\nc B-Y\n"}
    # It is read as train is, where that forbids no more; alone it would be read as IOB2.
    assert check(tmp_path, both).files[1].scheme_told.startswith("IOB1 (1 of 4 transitions illegal")
    assert not told(check(tmp_path, both), "other-scheme", tmp_path)


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
    assert unread.findings[0].message.startswith("byte 0xf0 at 3,695 is not utf-8 (")
    assert "data.encoding" in unread.findings[0].message
    english = checked("conll2003", "eng.train", "eng.testa", "eng.testb")
    assert english.errors == 0
    assert [facts.scheme for facts in english.files] == ["iob1"] * 3
