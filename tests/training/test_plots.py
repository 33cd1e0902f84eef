"""What is left of a run to look at: curves, bars, TensorBoard's events."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

from tagkit.cli.train_progress import curves, sparkline
from tagkit.errors import ConfigError
from tagkit.evaluation.criterion import AUTO, find_criterion
from tagkit.evaluation.metrics import Kind
from tagkit.training.callbacks import Epoch
from tagkit.training.plots import load_matplotlib, write_curves
from tagkit.training.trainer import train


def epoch(number: int, loss: float, score: float, *, best: bool = False) -> Epoch:
    return Epoch(number, 10 * number, loss, score, {}, 0.003, 9000.0, 2.0, best, True)


F1 = find_criterion(AUTO, [Kind.SPANS], "F1")
EPOCHS = [epoch(1, 8.0, 0.5, best=True), epoch(2, 4.0, 0.75, best=True), epoch(3, 1.0, 0.6)]


@pytest.mark.parametrize(
    ("values", "bars"),
    [([0, 7], "▁█"), ([8, 4, 1], "█▄▁"), ([3, 3, 3], "▁▁▁"), ([5], "▁"),
     (list(range(8)), "▁▂▃▄▅▆▇█")],
)  # fmt: skip
def test_bars_are_as_high_as_their_values(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars


def test_curves_in_the_terminal_go_from_the_first_epoch_to_the_last() -> None:
    assert list(curves(EPOCHS, "dev F1", AUTO)) == [
        "",
        "loss      █▄▁  8.0000 to 1.0000",
        "dev F1    ▁█▄  50.00 to 60.00",
    ]
    assert list(curves(EPOCHS[:1], "dev F1", AUTO)) == []


def test_a_picture_has_a_point_an_epoch_and_is_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert write_curves(tmp_path, EPOCHS, F1)
    picture = (tmp_path / "curves.svg").read_text()
    assert picture.startswith("<?xml")
    paths = re.findall(r'<path d="(M [^"]*)" clip-path', picture)
    assert [path.count("L") for path in paths[:2]] == [2, 2]  # three points a curve
    assert [path.name for path in tmp_path.iterdir()] == ["curves.svg"]


def drawn_by_a_process(folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """A new process, whose home is given, draws a picture."""
    program = (
        "import os, sys; from pathlib import Path; "
        "from test_plots import EPOCHS, F1, write_curves; "
        "assert write_curves(Path(sys.argv[1]), EPOCHS, F1); print('MPLCONFIGDIR' in os.environ)"
    )
    unset = ("MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    paths = [str(Path(__file__).parent), *sys.path]
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True,
        env={**environment, "HOME": str(home), "TMPDIR": str(scratch),
             "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Matplotlib's cache lies elsewhere")
def test_the_list_of_fonts_is_made_once(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    home = tmp_path / "home"
    home.mkdir()
    written = []
    for _ in range(2):
        drawn = drawn_by_a_process(tmp_path, home)
        assert (drawn.returncode, drawn.stdout, drawn.stderr) == (0, "False\n", "")
        (fonts,) = (home / ".cache" / "matplotlib").glob("fontlist-*.json")
        written.append(fonts.stat().st_mtime_ns)
    assert written[0] == written[1]
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.slow
def test_without_a_home_nothing_is_left_and_nothing_said(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = drawn_by_a_process(tmp_path, tmp_path / "missing")
    assert (drawn.returncode, drawn.stdout, drawn.stderr) == (0, "False\n", "")
    assert {path.name for path in tmp_path.iterdir()} == {"scratch", "curves.svg"}
    assert list((tmp_path / "scratch").iterdir()) == []


def test_without_matplotlib_there_is_no_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert not write_curves(tmp_path, EPOCHS, F1)
    assert not load_matplotlib()
    assert list(tmp_path.iterdir()) == []


def test_tensorboard_is_told_of_each_epoch(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trained = train(tiny.config(tmp_path, "train.tracker=tensorboard"))
    events = EventAccumulator(str(tmp_path / "model" / "tensorboard"))
    events.Reload()
    assert sorted(events.Tags()["scalars"]) == ["dev", "dev loss", "loss", "lr", "tokens/s"]
    told = [(event.step, event.value) for event in events.Scalars("dev")]
    assert told == [(e.step, pytest.approx(e.score)) for e in trained.epochs]


def test_a_tracker_that_is_not_installed_is_an_error_that_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagkit.training.distributed.is_tensorboard_available", lambda: False)
    with pytest.raises(ConfigError, match=r"not installed; pip install 'tagkit\[tensorboard\]'"):
        train(tiny.config(tmp_path, "train.tracker=tensorboard"))
