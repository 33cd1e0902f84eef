"""Corpora of many lines: memory does not grow with their number."""

import json
from pathlib import Path

import pytest
from peaks import peak_mb

TAGS = "Ada\tN\tB-PER\nmet\tV\tO\nBen\tN\tB-PER\n.\tZ\tO\n\n"
CONLLU = "".join(
    f"{number}\t{word}\t_\t{'VERB' if word == 'met' else 'NOUN'}" + "\t_" * 6 + "\n"
    for number, word in enumerate(("Ada", "met", "Ben", "."), 1)
)
SPANS = {"text": "Ada met Ben.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}
SAMPLES = {
    "columns": TAGS,
    "conllu": f"# text = Ada met Ben .\n{CONLLU}\n",
    "jsonl-tokens": json.dumps({"tokens": ["Ada", "met", "Ben"], "tags": ["B-X", "O", "O"]}) + "\n",
    "jsonl-spans": json.dumps(SPANS) + "\n",
    "slash": "Ada/N met/V Ben/N ./Z\n",
    "csv": "x,Ada met Ben\ny,Ben met Ada\n",
    "fasttext": "__label__x Ada met Ben\n__label__y Ben met Ada\n",
    "text": "Ada met Ben.\n",
}
TARGETS = {
    "columns": "columns",
    "conllu": "jsonl-tokens",
    "jsonl-tokens": "columns",
    "jsonl-spans": "conllu",
    "slash": "conllu",
    "csv": "jsonl-texts",
    "fasttext": "tsv",
    "text": "jsonl-tokens",
}
# Texts that `check` has to tokenise are tokenised once, and held.
CHECKED = [name for name in SAMPLES if name != "jsonl-spans"]
LINES = 3_000  # records of the shorter file; the longer one has ten times as many


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_memory_of_convert_does_not_grow_with_the_number_of_lines(
    tmp_path: Path, name: str
) -> None:
    peaks = []
    for times in (1, 10):
        path, out = tmp_path / f"in-{times}", tmp_path / f"out-{times}"
        header = "label,text\n" if name == "csv" else ""
        path.write_text(header + SAMPLES[name] * (LINES * times), encoding="utf-8")
        arguments = ["--input-format", name, "--to", TARGETS[name]]
        peaks.append(peak_mb("convert", str(path), str(out), *arguments))
        assert out.stat().st_size > LINES * times * 10
    assert peaks[1] - peaks[0] < 5  # held, 27,000 more records have 10 MB or more


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_memory_of_check_does_not_grow_with_the_number_of_lines(tmp_path: Path, name: str) -> None:
    peaks = []
    for times in (1, 10):
        path = tmp_path / f"in-{times}"
        header = "label,text\n" if name == "csv" else ""
        path.write_text(header + SAMPLES[name] * (LINES * times), encoding="utf-8")
        peaks.append(peak_mb("check", str(path), "--input-format", name))
    # The lines of repeated sentences, all of which the report names, have 3 to 8 MB; held, 27,000
    # more records have 15 MB or more.
    assert peaks[1] - peaks[0] < 10
