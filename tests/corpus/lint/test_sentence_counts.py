"""Counts of a file's sentences are those of all of them held; what is read again is the same."""

import io
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.lint.sentence_counts import ColumnCounts, count, digest
from tagkit.errors import DataError
from tagkit.text.records import Sentence, TagColumn
from tagkit.text.scheme_detection import count_steps


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


@pytest.mark.parametrize("number", [0, 1, 19, 20, 21, 200])  # 20 are counted together
def test_counts_are_those_of_all_sentences(number: int) -> None:
    sentences = random_sentences(Random(number), number)
    counts = count(iter(sentences), 2, [1])
    lengths = sorted(map(len, sentences))
    assert counts.number == number
    assert counts.tokens() == sum(lengths)
    assert [counts.length_at(rank) for rank in range(number)] == lengths
    assert counts.words == {word for sentence in sentences for word in sentence.words}
    assert counts.digests == {digest(sentence) for sentence in sentences}
    times = Counter(sentence.words for sentence in sentences)
    assert len(counts.digests) == len(times)
    assert counts.repeated == {hash(words) for words, found in times.items() if found > 1}
    whole = [sentence for sentence in sentences if sentence.columns]
    assert counts.first == column_of(sentences, [s.tags for s in sentences if s.tags])
    assert counts.further == {1: column_of(whole, [s.columns[1].values for s in whole])}


def column_of(sentences: list[Sentence], tags: list[tuple[str, ...]]) -> ColumnCounts:
    """Counts of a column, all of whose tags are held."""
    return ColumnCounts(
        tags=Counter(tag for each in tags for tag in each),
        steps=count_steps(tags),
        classes=Counter(label for sentence in sentences for label in sentence.labels),
    )


def test_counters_are_in_the_order_of_first_occurrence() -> None:
    # On which depends which of two equally frequent labels a report names first.
    counts = count([Sentence(("a", "b"), ("Z", "A"), labels=("q",))] * 30, 0, []).first
    assert [*counts.tags.items()] == [("Z", 30), ("A", 30)]
    assert [*counts.steps.items()] == [(("O", "Z"), 30), (("Z", "A"), 30), (("A", "O"), 30)]
    assert counts.classes == {"q": 30}


def test_a_rank_beyond_the_last_sentence_has_no_length() -> None:
    with pytest.raises(IndexError):
        count([], 0, []).length_at(0)


def test_a_file_that_changes_while_it_is_checked_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("Ada B-PER\nleft O\n\n", encoding="utf-8")

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
