"""Spans over what ends a sentence in prediction."""

import json
from pathlib import Path

import pytest

from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.splits.splits import read_split

SPANS = LabelKinds(tags=True, classes=False)


def write(folder: Path, *texts: tuple[str, str]) -> Path:
    path = folder / "a.jsonl"
    records = [
        {"text": text, "spans": [[text.index(span), text.index(span) + len(span), "X"]]}
        for text, span in texts
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([("He joined Yahoo! Japan.", "Yahoo! Japan"), ("He left Oslo.", "Oslo")],
         "1 of 2 spans holds what ends a sentence in prediction, which cannot find such spans in "
         "raw text: 'Yahoo! Japan'"),
        ([("In Oslo\nand Rome", "Oslo\nand"), ("Yes! No", "Yes! No")],
         "2 of 2 spans hold what ends a sentence in prediction, which cannot find such spans in "
         "raw text: 'Oslo\\nand' for one"),
        ([("Yes! No", "No"), ("Am 17. Juni", "17. Juni")], None),
    ],
)  # fmt: skip
def test_they_are_counted_where_a_corpus_is_read_and_checked(
    tmp_path: Path, texts: list[tuple[str, str]], said: str | None
) -> None:
    path = str(write(tmp_path, *texts))
    expected = [] if said is None else [f"{path}: {said}"]
    notes = read_split(path, DataConfig(), SPANS, None).notes
    assert [note for note in notes if "ends a sentence" in note] == expected
    found = [each.message for each in check(path).findings]
    assert [message for message in found if "ends a sentence" in message] == [
        message.removeprefix(f"{path}: ") for message in expected
    ]
