"""How much of the package the tagging of one small file goes through."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import tiny
from program import Program

import tagkit

PACKAGE = str(Path(tagkit.__file__).parent)
# Modules that are entered by a second call in one process. It only ever falls.
MOST = 78


def test_tagging_two_sentences_enters_few_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    tagger = tagkit.train(tiny.config(tmp_path, "train.max_epochs=1")).folder
    text = tmp_path / "two.conll"
    text.write_text("Ada\nvisits\nOslo\n\nBen\nleaves\nRome\n", encoding="utf-8")
    program = Program(monkeypatch, capfdbinary)
    entered: set[str] = set()

    def enter(frame: FrameType, _event: str, _argument: Any) -> None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            entered.add(frame.f_code.co_filename.removeprefix(PACKAGE))

    assert program("predict", tagger, text).out.count("\n") == 7
    before = sys.gettrace()
    sys.settrace(enter)
    try:
        program("predict", tagger, text)
    finally:
        sys.settrace(before)
    assert "/nn/crf/chain.py" in entered
    assert len(entered) <= MOST, sorted(entered)
