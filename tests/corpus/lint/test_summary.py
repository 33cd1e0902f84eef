"""What a summary counts; files that cannot be read, wholly or in part, or can be read once."""

import gzip
import io
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_reports import check, told
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.lint.summary import LabelSummary, Summary, digest, tag_columns
from tagkit.errors import DataError
from tagkit.text.records import Sentence, TagColumn
from tagkit.text.scheme_detection import count_steps
from tagkit.text.schemes import span_tuples

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a O\n\xff O\n", "byte 0xff at 4 is not utf-8 (invalid start byte). Name the file's"),
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


def test_spans_that_fit_no_tokens_are_errors(tmp_path: Path) -> None:
    line = '{"text": "New York", "spans": [[1, 3, "A"]]}\n{"text": "ab", "spans": [[0, 2, "A"]]}\n'
    report = check(tmp_path, {"a.jsonl": line})
    ((severity, message, lines),) = told(report, "unreadable", tmp_path)
    assert (severity, lines) == ("error", (1,))
    assert Says("'ew'", "1", "3", "token").within(message)


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


def test_texts_without_blanks_are_counted_by_their_tokens(tmp_path: Path) -> None:
    text = "这家餐厅的菜很好吃。"
    train = f"good\t{text}\nbad\tnot so good\n"
    report = check(tmp_path, {"train.tsv": train, "dev.tsv": f"good\t{text}\nbad\tx y z\n"})
    assert [facts.tokens for facts in report.files] == [len(text) + 3] * 2
    messages = [finding.message for finding in report.findings]
    assert any("1 text of 5 tokens or more" in message for message in messages), messages


def random_sentences(rng: Random, number: int) -> list[Sentence]:
    """Sentences with two tag columns, some with one or with none, many of them repeated."""
    found = []
    for _ in range(number):
        words = tuple(rng.choice("abc") for _ in range(rng.randint(1, 4)))
        tags, other = (tuple(rng.choice(("O", "B-X", "N")) for _ in words) for _ in range(2))
        both = (TagColumn("1", tags), TagColumn("2", other))
        labels = tuple(rng.sample("xyz", rng.choice((0, 0, 1, 2))))
        columns = rng.choice(((), both))
        found.append(Sentence(words, rng.choice((tags, None)), labels=labels, columns=columns))
    return found


@pytest.mark.parametrize("number", [0, 1, 19, 200])
def test_counts_are_those_of_all_sentences(number: int) -> None:
    sentences = random_sentences(Random(number), number)
    data = DataConfig(tag_column=[1, 2])
    summary = Summary("a", data, tag_columns(data))
    for at in range(0, number, 7):
        summary.see(sentences[at : at + 7])
    lengths = sorted(map(len, sentences))
    assert (summary.number, summary.tokens) == (number, sum(lengths))
    if number:
        assert [summary.quantile(share) for share in (0, 1)] == [lengths[0], lengths[-1]]
    assert summary.words == Counter(word for sentence in sentences for word in sentence.words)
    assert summary.classes.tags == Counter(x for sentence in sentences for x in sentence.labels)
    times = Counter(map(digest, sentences))
    assert len(times) == len({sentence.words for sentence in sentences})
    assert {key: 1 + summary.again[key] for key in summary.labelled} == times
    labels: dict[int, set[object]] = {}
    for each in sentences:
        labels.setdefault(digest(each), set()).add((each.tags, each.labels))
    assert summary.contradicting == {key for key, found in labels.items() if len(found) > 1}
    first, second = summary.columns
    check_column(first, [each.tags for each in sentences if each.tags])
    check_column(second, [each.columns[1].values for each in sentences if each.columns])


def check_column(column: LabelSummary, tags: list[tuple[str, ...]]) -> None:
    """Counts of a column are those of all its tags, in the order in which they occur first."""
    # On which depends which of two equally frequent labels a report names first.
    assert [*column.tags.items()] == [*Counter(tag for each in tags for tag in each).items()]
    assert [*column.steps.items()] == [*count_steps(tags).items()]


def test_a_file_that_changes_while_it_is_checked_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("Ada B-PER\nleft O\n\n" * 2, encoding="utf-8")  # repeated: of what line?

    def note(_: str) -> None:  # what it was recognised as is said between the readings
        path.write_text("Ada B-PER\nleft O\n\nBen B-PER\n\n", encoding="utf-8")

    with pytest.raises(DataError) as caught:
        check_files([str(path)], DataConfig(), note)
    assert str(caught.value) == f"{path}: was changed while it was read; start again"


CONTENT = "Ada B-PER\nleft O\n\nbad\n\nAda B-PER\nleft I-PER\n\nBen X\n\ne\u0301 I-LOC\n\n"


@pytest.mark.parametrize("end", [b"", b"\xff B-PER\n\nc O\n\n"])
def test_a_file_is_reported_as_the_same_lines_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes
) -> None:
    # A byte that is no text ends both readings; an error of a line is told once.
    content = CONTENT.encode() * 100 + end
    path = tmp_path / "a.conll"
    path.write_bytes(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    of_file = check_files([str(path)], DataConfig(format="columns")).to_dict()
    of_pipe = check_files(["-"], DataConfig(format="columns")).to_dict()
    for report in (of_file, of_pipe):
        for each in (*report["files"], *report["findings"]):
            each["file"] = "a"
    assert of_file == of_pipe
    kinds = Counter(each["kind"] for each in of_file["findings"])
    assert kinds["unreadable"] == 100 + bool(end)
    assert kinds.keys() >= {"tag-of-no-scheme", "illegal-transition", "contradiction", "not-NFC"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_checked_for_all_that_a_file_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(CONTENT, encoding="utf-8"))
    writer.start()
    report = check_files([str(pipe)], DataConfig(format="columns"))
    writer.join(timeout=10)
    (finding,) = (each for each in report.findings if each.kind == "contradiction")
    assert finding.lines == (1, 6)


@given(st.lists(st.lists(st.sampled_from(["O", "B", "I-X", "B-X", "E-X", "S-X", "I-Y", "L-Y"]))))
def test_spans_are_counted_as_they_are_found(tags: list[list[str]]) -> None:
    column = LabelSummary(named="iob2")
    sentences = [Sentence(("w",) * len(each), tuple(each)) for each in tags]
    column.see(sentences)
    spans = (span_tuples(column.spans.without_odd(each)) for each in tags if column.spans)
    expected = Counter(label or "_" for each in spans for _, _, label in each)
    assert column.labels == expected
    # And so they are where their lines are looked up.
    assert Counter(label for each in sentences for label, _ in column.labels_of(each)) == expected
