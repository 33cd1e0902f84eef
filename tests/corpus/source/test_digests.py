"""Digests of what was read of a corpus."""

import gzip
import io
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from tagkit.config import DataConfig, load_config
from tagkit.corpus.formats.folders.file_sets import digest_of_files
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.splits.splits import load_corpus, read_split
from tagkit.storage import digest_of

TAGS, CLASSES = LabelKinds(tags=True, classes=False), LabelKinds(tags=False, classes=True)
COLUMNS = b"a\tB-X\nb\tO\n\nc\tO\n\n"


def digest(path: Path | str, kinds: LabelKinds = TAGS) -> str | None:
    return read_split(str(path), DataConfig(), kinds, None).digest


def parallel(folder: Path) -> Path:
    folder.mkdir()
    (folder / "seq.in").write_text("to rome\nhi\n", encoding="utf-8")
    (folder / "seq.out").write_text("O B-city\nO\n\n\n", encoding="utf-8")
    (folder / "label").write_text("flight\nhello\n", encoding="utf-8")
    return folder


def brat(folder: Path) -> Path:
    folder.mkdir()
    (folder / "1.txt").write_text("to rome", encoding="utf-8")
    (folder / "1.ann").write_text("T1\tcity 3 7\trome\n", encoding="utf-8")
    return folder


def classes(folder: Path) -> Path:
    for name in ("good", "bad"):
        (folder / name).mkdir(parents=True)
        (folder / name / "1.txt").write_text(f"a {name} film", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "content",
    [COLUMNS, b"\xef\xbb\xbf" + COLUMNS, gzip.compress(COLUMNS)],
    ids=["plain", "with a mark", "packed"],
)
def test_that_of_a_file_is_that_of_its_bytes(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes(content)
    assert (
        digest(path) == sha256(content).hexdigest() == digest_of(path) == digest_of_files(str(path))
    )


def test_standard_input_has_one_though_it_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (COLUMNS, gzip.compress(COLUMNS)):
        stream = io.BufferedReader(io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream, closed=False))
        assert digest("-") == sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("make", "named", "kinds", "changed"),
    [
        (parallel, ".", TAGS, "seq.out"),
        (parallel, "seq.in", TAGS, "seq.out"),
        (parallel, "seq.in", TAGS, "label"),
        (parallel, "seq.in", CLASSES, "label"),
        (parallel, "seq.in", TAGS, "seq.in"),
        (brat, ".", TAGS, "1.ann"),
        (brat, "1.txt", TAGS, "1.ann"),
        (brat, "1.ann", TAGS, "1.txt"),
        (classes, ".", CLASSES, "bad/1.txt"),
    ],
)
def test_every_file_that_is_read_counts_whichever_names_the_corpus(
    make: Callable[[Path], Path], named: str, kinds: LabelKinds, changed: str, tmp_path: Path
) -> None:
    folder = make(tmp_path / "corpus")
    before = digest(folder / named, kinds), digest_of_files(str(folder / named))
    assert None not in before
    assert (digest(folder / named, kinds), digest_of_files(str(folder / named))) == before
    # Nothing that a reader would make anything of.
    path = folder / changed
    path.write_text(f"{path.read_text(encoding='utf-8').rstrip()} \n", encoding="utf-8")
    after = digest(folder / named, kinds), digest_of_files(str(folder / named))
    assert after[0] != before[0]
    assert after[1] != before[1]


@pytest.mark.parametrize(("make", "kinds"), [(parallel, TAGS), (brat, TAGS), (classes, CLASSES)])
def test_that_of_a_folder_is_that_of_its_files_and_no_other_file_changes_it(
    make: Callable[[Path], Path], kinds: LabelKinds, tmp_path: Path
) -> None:
    folder = make(tmp_path / "corpus")
    before = digest(folder, kinds)
    assert before == digest_of(folder)
    (folder / ".1.txt.swp").write_text("of an editor", encoding="utf-8")
    assert digest(folder, kinds) == before
    # Names count, as those of classes are in them.
    for name in ("1.txt", "1.ann", "good"):
        if (folder / name).exists():
            (folder / name).rename(folder / name.replace("1", "2").replace("good", "fine"))
    if make is not parallel:
        assert digest(folder, kinds) not in (None, before)


def test_a_part_that_was_held_out_has_none_and_the_rest_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes(COLUMNS * 10)
    config = load_config(flags={"data.train_file": str(path)})
    corpus = load_corpus(config, TAGS)
    assert corpus.train.digest == sha256(COLUMNS * 10).hexdigest()
    assert corpus.dev.digest is None
