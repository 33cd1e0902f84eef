"""Draw the two pictures of the README: `python docs/pictures/draw.py`, in the project's folder.

A model of data/travel is trained in a temporary folder. What its commands print to a terminal of
100 columns becomes terminal.svg; the page of its report becomes report.png (by Chromium).
"""

import contextlib
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WIDTH = 100
SHOWN = (
    "tagkit train --train data/travel/train.conll --dev data/travel/dev.conll -o models/travel",
    "echo 'Any flight from Oslo to Rome on Friday?' | tagkit predict models/travel --format show",
)
REPORT = "tagkit eval models/travel data/travel/test.conll --errors --slices --html report.html"


def on_terminal(command: str, folder: Path) -> str:
    """What a command leaves on a terminal: lines with colours, progress removed."""
    program = shlex.join([sys.executable, "-m", "tagkit"])
    script = f'stty cols {WIDTH} rows 60; tagkit() {{ {program} "$@"; }}; {command}'
    ours, theirs = pty.openpty()
    shell = subprocess.Popen(
        ["bash", "-c", script], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # Linux says so where the other end is closed
        while piece := os.read(ours, 65536):
            written += piece
    os.close(ours)
    if shell.wait():
        raise SystemExit(written.decode())
    return left_over(written.decode())


def left_over(written: str) -> str:
    """The lines that stand in the end, as a terminal has them after returns and erasures."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", written):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\x1b[2K":
            lines[row] = ""
        elif moved := re.fullmatch(r"\x1b\[(\d*)A", part):
            row -= int(moved[1] or 1)
        elif part != "\r" and (part[0] != "\x1b" or part[-1] == "m"):
            lines[row] += part
    return "\n".join(lines).rstrip()


def draw_terminal(folder: Path) -> None:
    """Train and predict, and draw what the commands print."""
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)
    for command in SHOWN:
        console.print(Text(f"$ {command}", style="bold"))
        console.print(Text.from_ansi(on_terminal(command, folder)), end="\n\n")
    drawn = console.export_svg(title="tagkit", theme=MONOKAI, unique_id="tagkit")
    # Without fonts from elsewhere: a picture loads nothing.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.S)
    (HERE / "terminal.svg").write_text(drawn, "utf-8")


def draw_report(folder: Path) -> None:
    """Score the model, and take a picture of the top of the page."""
    on_terminal(REPORT, folder)
    chromium = shutil.which("chromium")
    if not chromium:
        raise SystemExit("no report.png: Chromium is not there")
    page = (folder / "report.html").as_uri()
    picture = f"--screenshot={HERE / 'report.png'}"
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,900"]
    subprocess.run([chromium, *options, picture, page], check=True, capture_output=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "data").symlink_to(ROOT / "data")
        draw_terminal(place)
        draw_report(place)
