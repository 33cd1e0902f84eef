"""Tags that are counted as they are read: the same reports as of tags that are kept."""

import json
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says
from tag_files import data, write

from tagkit.config import DataConfig
from tagkit.errors import DataError
from tagkit.evaluation.compare.compare import compare_files, compare_records
from tagkit.evaluation.reports import tag_tally
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.reports.tag_tally import score_sentences
from tagkit.text.records import Sentence
from tagkit.text.schemes import convert

TAGS = {
    "spans": ("O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-X", "L-Y", "U-Y", "M-X"),
    "iob": ("O", "B-X", "I-X", "I-Y", "B-Y"),
    "bare": ("O", "B", "I", "B-X"),
    "labels": ("NN", "VB", "O", "B-NP", "I"),
}
SCHEMES = ("auto", "iob1", "iob2", "iobes", "bilou", "bmes", "labels")


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Sentence], list[Sentence]]:
    """Gold and predicted sentences; the predicted ones perhaps in another scheme."""
    tags = st.sampled_from(TAGS[draw(st.sampled_from(sorted(TAGS)))])
    token = st.tuples(tags, st.booleans(), tags)
    target = draw(st.sampled_from(["labels", "iob1", "iob2", "iobes", "bilou"]))
    gold, found = [], []
    line = 1
    for row in draw(st.lists(st.lists(token, min_size=1, max_size=7), min_size=1, max_size=5)):
        words, lines = ("a",) * len(row), range(line, line + len(row))
        line += len(row) + 1
        gold.append(Sentence(words, tuple(tag for tag, _, _ in row), lines=lines))
        predicted = [tag if right else other for tag, right, other in row]
        found.append(Sentence(words, convert(predicted, target), lines=lines))
    return gold, found


def outcome(report: TagReport | str | None) -> object:
    """A report down to the last digit, or the text of an error."""
    return json.dumps(report.to_dict()) if isinstance(report, TagReport) else report


def kept(gold: Sequence[Sentence], found: Sequence[Sentence], scheme: str, strict: bool) -> object:
    try:
        report = compare_records(gold, found, DataConfig(scheme=scheme), strict)
        assert isinstance(report, TagReport)
        return outcome(report)
    except DataError as error:
        return str(error)


def counted(
    gold: Sequence[Sentence], found: Sequence[Sentence], scheme: str, strict: bool
) -> object:
    sides = (iter(gold), iter(found))
    try:
        return outcome(
            score_sentences(("gold", "pred"), sides, DataConfig(scheme=scheme), strict=strict)
        )
    except DataError as error:
        return str(error)


@given(corpora(), st.sampled_from(SCHEMES), st.booleans(), st.integers(1, 12))
def test_counting_in_portions_of_any_size_gives_the_report_or_error_of_the_whole(
    corpus: tuple[list[Sentence], list[Sentence]], scheme: str, strict: bool, portion: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tag_tally, "_TOKENS", portion)
        assert counted(*corpus, scheme, strict) == kept(*corpus, scheme, strict)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("column", [None, -1])
def test_a_report_with_its_labels_has_the_same_numbers(
    tmp_path: Path, strict: bool, column: int | None
) -> None:
    """Two files, and one with two columns."""
    gold = "B-X I-X O B-X E-X S-Y I-X I-Y O O".split()
    found = "B-X I-X B-X B-X I-X I-Y O I-Y O B-Y".split()
    rows = list(zip("abcdefghij", gold, found, strict=True))
    both = write(tmp_path, "both", "".join(map("{0[0]} {0[1]} {0[2]}\n".format, rows)))
    ours = write(tmp_path, "gold", "".join(map("{0[0]} {0[1]}\n".format, rows)))
    theirs = (
        None if column else write(tmp_path, "pred", "".join(map("{0[0]} {0[2]}\n".format, rows)))
    )
    first = both if column else ours
    kept, counted = (
        compare_files(first, theirs, data(), column, strict, keep_labels=keep)
        for keep in (True, False)
    )
    assert outcome(kept) == outcome(counted)
    assert (len(kept.comparison.gold), len(counted.comparison.gold)) == (1, 0)


def test_the_lowest_tag_without_a_prefix_is_named_with_its_first_line() -> None:
    rows = [
        "B-X I-X O O",
        "B-X ZZ I-X B-X",
        "B-X AB AA B-X",
        "B-X AA B-X O",
        *["B-X I-X I-X B-X"] * 9,
    ]
    gold = [
        Sentence(("a",) * 4, tuple(row.split()), lines=range(10 * at, 10 * at + 4))
        for at, row in enumerate(rows, 1)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tag_tally, "_TOKENS", 1)
        error = counted(gold, gold, "auto", False)
    assert str(error) == Says("gold:32: ", "45 tags", "'AA', 'AB', 'ZZ' (4 in all)")
    assert error == kept(gold, gold, "auto", False)


def many(sentences: int, tags: Sequence[str]) -> Iterator[Sentence]:
    """Sentences of 20 tokens: nine patterns of tags, and words that occur once."""
    for number in range(sentences):
        at = number * 20
        row = tuple(tags[(number % 9 + token) * token % len(tags)] for token in range(20))
        yield Sentence(tuple(f"word{at + i}" for i in range(20)), row, lines=range(at, at + 20))


@pytest.mark.slow
@pytest.mark.parametrize(
    "tags", [("O", "B-X", "I-X", "O", "B-Y", "I-Y", "O"), ("NN", "DT", "VB", "IN", "O")]
)
def test_memory_does_not_grow_with_the_corpus(tags: Sequence[str]) -> None:
    def peak(sentences: int) -> int:
        tracemalloc.start()
        try:
            sides = (many(sentences, tags), many(sentences, tags[::-1]))
            report = score_sentences(("gold", "pred"), sides, DataConfig(), strict=False)
            assert report is not None
            assert report.tokens == 20 * sentences
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2_500)  # what is imported and cached once
    # Several portions each; the words of one side of what is more would take 3 MB.
    assert peak(5_000) - peak(2_500) < 300_000
