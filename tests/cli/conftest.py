"""The program in this process, and models that it has trained; once for all tests."""

import sys
from pathlib import Path

import pytest
import tiny
from program import SMALL, Program

from tagkit.cli.main import main


@pytest.fixture
def tagkit(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Program:
    monkeypatch.setenv("COLUMNS", "100")
    return Program(monkeypatch, capsysbinary)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny corpus and a model that was trained on it, by the program itself."""
    folder = tmp_path_factory.mktemp("home")
    tiny.corpus(folder)
    with pytest.MonkeyPatch.context() as patch:
        arguments = ["--train", "train.conll", "--dev", "dev.conll", "--test", "test.conll"]
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["tagkit", "train", *arguments, "-o", "model", "--threads=1",
                                    "-q", *SMALL[:-1], "--set=train.max_epochs=6"])  # fmt: skip
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
    return folder


@pytest.fixture
def model(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return Path("model")


@pytest.fixture(scope="session")
def intents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny corpus of texts with classes and a model of them."""
    folder = tmp_path_factory.mktemp("intents")
    files = tiny.classified(folder)
    with pytest.MonkeyPatch.context() as patch:
        train, dev, test = files.values()
        arguments = ["train", "--task", "classify", "--train", train, "--dev", dev, "--test", test]
        patch.setattr(sys, "argv", ["tagkit", *arguments, "-o", str(folder / "model"), *SMALL])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    return folder
