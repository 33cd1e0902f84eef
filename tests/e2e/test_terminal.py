"""On a terminal of 80 columns: no line is longer, no word or path is broken."""

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
from program import SMALL, small
from pty_terminal import COLOURS, Terminal, lines_of

from tagkit.cli.main import main
from tagkit.cli.program import console
from tagkit.wording import cells

PLACE = "corpora-of-the-third-quarter/as-they-were-delivered"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus in a deep one, and a model that is trained quietly."""
    home = tmp_path_factory.mktemp("home")
    (home / PLACE).mkdir(parents=True)
    tiny.corpus(home / PLACE)
    return home


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, home: Path) -> Run:
    """Runs `tagkit` with its streams on terminals of 80 columns, one each."""
    monkeypatch.chdir(home)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    # rich asks the terminal of the tests; `Terminal` has the same width.
    monkeypatch.setenv("COLUMNS", "80")

    def call(
        *arguments: object, stdin: bytes = b"", out_is_terminal: bool = True
    ) -> tuple[int, str, str]:
        out, err = Terminal(80), Terminal(80)
        printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["tagkit", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            patch.setattr(sys, "stdout", out.stream if out_is_terminal else printed)
            patch.setattr(sys, "stderr", err.stream)
            # What rich can show on a stream is decided when the module is imported.
            patch.setattr(console, "_ERRORS", console._Errors())
            with pytest.raises(SystemExit) as ended:
                main()
        printed.seek(0)
        shown = out.close()
        return int(ended.value.code or 0), shown if out_is_terminal else printed.read(), err.close()

    return call


@pytest.fixture(scope="module")
def trained(home: Path) -> Path:
    """The folder of a model that was trained before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(sys, "argv", [
            "tagkit", "train", "--train", f"{PLACE}/train.conll", "--dev", f"{PLACE}/dev.conll",
            "-o", "model", "--threads=1", "-q", *SMALL,
        ])  # fmt: skip
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
    return Path("model")


def refuse_long(written: str) -> None:
    assert [line for line in lines_of(written) if cells(line) > 80] == []


@pytest.mark.slow
def test_training_fits_the_terminal_and_shows_how_far_it_is(run: Run, home: Path) -> None:
    code, _, err = run(
        "train", "--train", f"{PLACE}/train.conll", "--dev", f"{PLACE}/dev.conll",
        "--test", f"{PLACE}/test.conll", "-o", "fits", "--threads=1", *SMALL,
    )  # fmt: skip
    assert code == 0
    refuse_long(err)
    lines = lines_of(err)
    assert any(re.fullmatch(r"train  train\.conll  80 sentences +\d+ tokens  IOB2, 2 types", line)
               for line in lines)  # fmt: skip
    assert any(re.fullmatch(r"       dev: \d+ % of its entities never seen in train", line)
               for line in lines)  # fmt: skip
    # The note of the format is longer than a line: the next one begins below its text.
    at = next(n for n, line in enumerate(lines) if "read as columns" in line)
    assert lines[at].startswith("       train, dev, test: ")
    assert lines[at + 1].startswith("         ")
    shown = [line for line in lines if re.match(r"epoch \d/4  ", line)]
    assert shown
    for line in shown:
        assert re.match(
            r"epoch \d/4  \d+/10  (run about \d+:\d\d left  )?loss \d+\.\d{4}  "
            r"[\d,]+ tokens/s", line,
        ), line  # fmt: skip
    # The best epoch's row is green, and no other row is.
    assert re.search(r"\x1b\[1;32m    1  [^\n]*  \*\x1b\[0m", err)
    log = (home / "fits" / "train.log").read_text("utf-8")
    for split in ("train", "dev", "test"):
        assert f"{PLACE}/{split}.conll: " in log


@pytest.mark.slow
def test_no_color_leaves_out_the_colours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    code, _, err = run(
        "train", "--train", f"{PLACE}/train.conll", "-o", "plain", "--threads=1",
        *small("train.max_epochs=2"),
    )  # fmt: skip
    assert code == 0
    assert not COLOURS.search(err)
    code, _, err = run("predict", "missing")
    assert code == 1
    assert "\x1b" not in err
    assert err.startswith("error: ")


def test_an_error_is_red_and_keeps_its_paths_whole(run: Run) -> None:
    missing = f"{PLACE}/{'x' * 10}.conll"
    code, _, err = run("eval", "--gold", missing, "--pred", missing)
    assert code == 1
    assert err.startswith("\x1b[1;31merror:\x1b[0m")
    refuse_long(err)
    assert f"{missing}: no such file" in " ".join(line.strip() for line in lines_of(err))
    assert missing in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "model", f"{PLACE}/test.conll"],
        ["eval", "model", f"{PLACE}/test.conll"],
        ["check", f"{PLACE}/train.conll", f"{PLACE}/test.conll"],
        ["convert", f"{PLACE}/test.conll", "converted.jsonl", "--force"],
        ["info", "model"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_fits_the_terminal(run: Run, trained: Path, arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert code == 0, err
    refuse_long(out)
    refuse_long(err)
    words = (out + err).split()
    for name in ("train", "dev", "test"):  # no piece of a path without the rest
        assert not [word for word in words if f"{name}.conll" in word and PLACE not in word]


@pytest.mark.slow
def test_a_search_fits_the_terminal(run: Run) -> None:
    pytest.importorskip("optuna")
    code, _, err = run(
        "tune", "--train", f"{PLACE}/train.conll", "-o", "search", "--trials", 1,
        "--search", "encoder.word_dropout=0.1,0.2", *small("train.max_epochs=1"),
    )  # fmt: skip
    assert code == 0
    refuse_long(err)
    assert "Next: tagkit eval search TEST" in lines_of(err)


def test_predict_shows_tokens_and_rate_unless_text_is_printed(run: Run, trained: Path) -> None:
    arguments = ["predict", trained, f"{PLACE}/test.conll"]
    rate = re.compile(r"test\.conll  ([\d,]+) tokens  [\d,]+ tokens/s 100% 0:00:\d\d 0:00:00")
    code, out, err = run(*arguments, out_is_terminal=False)
    assert code == 0
    tokens = len([line for line in out.splitlines() if line])
    assert int(rate.findall(COLOURS.sub("", err))[-1].replace(",", "")) == tokens
    assert not lines_of(err)[-1].strip()  # the line is removed at the end
    _, _, err = run(*arguments, "-o", "tagged.conll")  # nothing is printed
    assert rate.search(COLOURS.sub("", err))
    _, _, err = run(*arguments)
    assert "tokens/s" not in err
    _, _, err = run(*arguments, "--quiet", out_is_terminal=False)
    assert err == ""


def test_a_bar_leaves_standard_output_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal(80)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen.stream)
    monkeypatch.setattr(console, "_ERRORS", console._Errors())
    before = sys.stdout
    with console.ProgressBar("trials", 3):
        assert sys.stdout is before  # rich would send it to standard error
    assert "trials" in screen.close()
