"""Spans over what ends a sentence in prediction."""

import json
from pathlib import Path

import pytest
from says import Says

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
         Says("1 of 2 spans", "'Yahoo! Japan'")),
        ([("In Oslo\nand Rome", "Oslo\nand"), ("Yes! No", "Yes! No")],
         Says("2 of 2 spans", "'Oslo\\nand'")),
        ([("Yes! No", "No"), ("Am 17. Juni", "17. Juni")], None),
    ],
)  # fmt: skip
def test_they_are_counted_where_a_corpus_is_read_and_checked(
    tmp_path: Path, texts: list[tuple[str, str]], said: Says | None
) -> None:
    path = str(write(tmp_path, *texts))
    expected = [] if said is None else [said]
    notes = read_split(path, DataConfig(), SPANS, None).notes
    noted = [note for note in notes if "ends a sentence" in note]
    assert noted == expected
    assert all(note.startswith(f"{path}: ") for note in noted)
    found = [each.message for each in check(path).findings]
    assert [message for message in found if "ends a sentence" in message] == expected
