"""Commands of every kind, and a recording of what they print and write.

    python tests/support/recorded_commands.py            # compare with the recording
    python tests/support/recorded_commands.py --write    # record anew, after a wanted change

The recording in `tests/fixtures/commands/` has a file for each group of commands, to be read and
compared as text. `tests/e2e/test_recorded_commands.py` compares too.
"""

import difflib
import hashlib
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from command_server import forked_commands

ROOT = Path(__file__).resolve().parents[2]
RECORDING = ROOT / "tests" / "fixtures" / "commands"
ARITHMETIC = "arithmetic"  # the file that says whose arithmetic the recorded digits are of


@dataclass(frozen=True)
class Command:
    """A command line.

    Attributes:
        name: a heading of the recording.
        line: the arguments, as a shell reads them.
        stdin: standard input.
        files: that the command writes, and whose text is recorded: files, or folders of them.
        environment: variables beside those that all commands have.
    """

    name: str
    line: str
    stdin: str = ""
    files: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def _completion(name: str, line: str) -> Command:
    """What bash completes at the end of a line."""
    words = f"tagkit {line}"
    return Command(
        name, "", environment={
            "_TAGKIT_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        },
    )  # fmt: skip


_NAMES = (
    "train", "predict", "eval", "generate", "convert", "check", "calibrate", "audit", "benchmark",
    "tune", "learning-curve", "config", "info",
)  # fmt: skip
_TWO_TEXTS = "Ada Miller visits New York.\nFinn knows Lima.\n"
_TWO_ASKS = "good morning , Ada .\nbring me tea , Finn .\n"

# The groups run in this order, and what one trains the next ones use.
COMMANDS: dict[str, tuple[Command, ...]] = {
    "help": (
        Command("no arguments", ""),
        Command("help", "--help"),
        Command("version", "--version"),
        *(Command(f"help of {name}", f"{name} --help") for name in _NAMES),
        Command("help of an alias", "tag -h"),
        _completion("completion of a command", "c"),
        _completion("completion of a flag", "predict --m"),
        _completion("completion of an option", "train --set encoder.bi"),
        _completion("completion of a value", "train --set encoder.cell="),
        _completion("completion of a metric", "train --metric m"),
        _completion("completion of a format", "convert in out --to b"),
    ),
    "config": (
        Command("all options", "config"),
        Command("a section", "config encoder"),
        Command("an option", "config train.metric"),
        Command("a file for a tagger", "config --train train.conll --dev dev.conll"),
        Command("a file for a classifier", "config --train train.tsv --set encoder.cell=gru"),
        Command("a file for a language model", "config --train text.txt --task language-model"),
        Command("an unknown option", "config encoder.hiden"),
    ),
    "check": (
        Command("good splits", "check train.conll dev.conll test.conll"),
        Command("a corpus of travel requests", "check travel.conll"),
        Command("texts with classes", "check train.tsv dev.tsv"),
        Command("a treebank", "check train.conllu --tag-column UPOS"),
        Command("as JSON", "check odd.conll --json"),
        Command("an odd corpus", "check odd.conll"),
        Command("a repaired copy", "check odd.conll --fix repaired.conll",
                files=("repaired.conll",)),
        Command("errors in a corpus", "check bad.conll"),
        Command("errors in JSON Lines", "check bad.jsonl"),
        Command("a format that is not recognised", "check notes.txt"),
        Command("plain text", "check text.txt --input-format text"),
        Command("from standard input", "check -", stdin="Ada\tB-PER\n.\tO\n"),
    ),
    "convert": (
        Command("spans of characters", "convert few.conll - --to jsonl-spans"),
        Command("another scheme", "convert few.conll few.iobes.conll --scheme iobes",
                files=("few.iobes.conll",)),
        Command("brat", "convert few.conll few.brat --to brat",
                files=("few.brat",)),
        Command("slash", "convert few.conll - --to slash"),
        Command("a column of a treebank",
                "convert dev.conllu dev.upos --to columns --tag-column UPOS"),
        Command("texts with classes as JSON", "convert few.tsv - --to jsonl-texts"),
        Command("texts with classes as fastText", "convert few.tsv few.fasttext --to fasttext",
                files=("few.fasttext",)),
        Command("a file that exists", "convert few.conll few.iobes.conll"),
        Command("a file that is replaced", "convert few.conll few.iobes.conll --force"),
        Command("a format that cannot hold it", "convert few.conll - --to fasttext"),
        Command("spans that are not aligned", "convert misaligned.jsonl - --to columns"),
        Command("spans that are shrunk",
                "convert misaligned.jsonl - --to columns --on-misaligned shrink"),
    ),
    "train": (
        Command("a tagger",
                "train --config small.toml --train train.conll --dev dev.conll --test test.conll "
                "-o models/tagger",
                files=("models/tagger/train.log", "models/tagger/best/config.toml")),
        Command("the network alone",
                "train --config small.toml --train train.conll --dev dev.conll -o models/network "
                "--set head.feature_crf=0 --set encoder.cell=gru "
                "--set train.max_epochs=1"),
        Command("without dev", "train --config small.toml --train train.conll -o models/split"),
        Command("a classifier",
                "train --config small.toml --task classify --train train.tsv --dev dev.tsv "
                "--test test.tsv -o models/asks"),
        Command("tags and classes",
                "train --config small.toml --task both --train train --dev dev --test test "
                "-o models/both"),
        Command("several columns",
                "train --config small.toml --train train.conllu --dev dev.conllu "
                "--test test.conllu --tag-column UPOS,FEATS,LEMMA -o models/columns"),
        Command("a language model",
                "train --config text.toml -o models/text"),
        Command("a language model of characters",
                "train --config text.toml --set data.unit=character -o models/characters"),
        Command("two seeds",
                "train --config small.toml --train train.conll --dev dev.conll --test test.conll "
                "--seeds 1,2 --set train.max_epochs=2 -o models/seeds",
                files=("models/seeds/seeds.json",)),
        Command("quietly",
                "train --config small.toml --train train.conll --dev dev.conll --seed 3 "
                "--set train.max_epochs=2 -q -o models/quiet"),
        Command("a stopped run is resumed", "train --config stopped/run/last/config.toml --resume"
                " --workers 1"),
        Command("a run that has ended is resumed",
                "train --config stopped/run/last/config.toml --resume --workers 1"),
        Command("from another model",
                "train --config small.toml --train more.conll --dev dev.conll "
                "--init-from models/tagger -o models/more"),
        Command("a folder that is taken",
                "train --config small.toml --train train.conll --dev dev.conll -o models/tagger"),
        Command("a folder that is replaced",
                "train --config small.toml --train train.conll --dev dev.conll --force "
                "-o models/quiet --set train.max_epochs=1 --metric f1:PER"),
        Command("a learning rate that is too low",
                "train --config small.toml --train train.conll --dev dev.conll "
                "--set train.lr=0.000001 --set head.feature_crf=0 -o models/low"),
    ),
    "info": (
        Command("a tagger", "info models/tagger"),
        Command("a classifier", "info models/asks"),
        Command("tags and classes", "info models/both"),
        Command("several columns", "info models/columns"),
        Command("a language model", "info models/text"),
        Command("as JSON", "info models/asks --json"),
        Command("no model", "info train"),
    ),
    "predict": (
        Command("raw text from standard input", "predict models/tagger", stdin=_TWO_TEXTS),
        Command("a column file", "predict models/tagger few.conll"),
        Command("to a file", "predict models/tagger test.conll -o tagged.conll",
                files=("tagged.conll",)),
        Command("with another model", "predict models/low test.conll -o low.conll -q",
                files=("low.conll",)),
        Command("several inputs", "predict models/tagger few.conll names.txt"),
        Command("JSON", "predict models/tagger - --format jsonl", stdin=_TWO_TEXTS),
        Command("JSON with probabilities", "predict models/tagger - --format jsonl --confidence",
                stdin=_TWO_TEXTS),
        Command("columns with probabilities", "predict models/tagger few.conll --confidence"),
        Command("likely spans", "predict models/tagger few.conll --min-confidence 0.9"),
        Command("for people", "predict models/tagger - --format show", stdin=_TWO_TEXTS),
        Command("for people, with probabilities",
                "predict models/tagger - --format show --confidence", stdin=_TWO_TEXTS),
        Command("a page", "predict models/tagger few.conll --format html -o tagged.html",
                files=("tagged.html",)),
        Command("slash", "predict models/tagger names.txt --format slash"),
        Command("spans of characters", "predict models/tagger names.txt --format jsonl-spans"),
        Command("brat", "predict models/tagger names.txt --format brat -o names.brat",
                files=("names.brat",)),
        Command("classes", "predict models/asks -", stdin=_TWO_ASKS),
        Command("the two best classes", "predict models/asks - --top 2", stdin=_TWO_ASKS),
        Command("classes as JSON", "predict models/asks few.tsv --format jsonl --confidence"),
        Command("classes for people", "predict models/asks - --format show", stdin=_TWO_ASKS),
        Command("classes as a page", "predict models/asks few.tsv --format html -o asks.html",
                files=("asks.html",)),
        Command("tags and classes", "predict models/both - --format jsonl", stdin=_TWO_TEXTS),
        Command("a treebank", "predict models/columns few.conllu"),
        Command("a treebank to a file", "predict models/columns test.conllu -o tagged.conllu",
                files=("tagged.conllu",)),
        Command("fewer bits", "predict models/tagger few.conll --precision int8 -q"),
        Command("two processes", "predict models/tagger few.conll --workers 2 -q"),
        Command("windows", "predict models/tagger few.conll --max-length 4"),
        Command("bad records are skipped",
                "predict models/tagger bad.jsonl --on-bad-record skip --format jsonl"),
        Command("a bad record", "predict models/tagger bad.jsonl"),
    ),
    "eval": (
        Command("a model", "eval models/tagger test.conll"),
        Command("a model that has learnt little", "eval models/low test.conll --errors --measures"),
        Command("as JSON", "eval models/tagger test.conll --json"),
        Command("all analyses",
                "eval models/tagger test.conll --train train.conll --slices --errors --measures "
                "--interval --calibration --verify"),
        Command("a page",
                "eval models/tagger test.conll --train train.conll --html report.html",
                files=("report.html",)),
        Command("files", "eval --gold test.conll --pred tagged.conll"),
        Command("a file of both", "eval --gold pairs.conll"),
        Command("strictly", "eval --gold pairs.conll --strict --errors --measures"),
        Command("files as JSON", "eval --gold pairs.conll --errors --json"),
        Command("files as a page", "eval --gold pairs.conll --html pairs.html",
                files=("pairs.html",)),
        Command("two files of predictions",
                "eval --gold test.conll --pred tagged.conll --pred low.conll"),
        Command("runs of a system",
                "eval --gold test.conll --pred tagged.conll,low.conll --pred low.conll"),
        Command("two models", "eval models/tagger models/network test.conll"),
        Command("two models as JSON and a page",
                "eval models/tagger models/low test.conll --json --html systems.html",
                files=("systems.html",)),
        Command("a classifier", "eval models/asks test.tsv --errors --calibration"),
        Command("a classifier as a page", "eval models/asks test.tsv --html asks-report.html",
                files=("asks-report.html",)),
        Command("tags and classes", "eval models/both test"),
        Command("several columns", "eval models/columns test.conllu"),
        Command("a column of a treebank",
                "eval --gold test.conllu --pred tagged.conllu --tag-column UPOS"),
        Command("a language model", "eval models/text text.txt"),
        Command("a language model with a cache", "eval models/text text.txt --cache --json"),
    ),
    "calibrate": (
        Command("a tagger", "calibrate models/network dev.conll"),
        Command("a classifier as JSON", "calibrate models/asks dev.tsv --json"),
        Command("a calibrated model", "info models/network"),
        Command("sets", "predict models/network names.txt --coverage 0.9 --format jsonl"),
        Command("scores of sets", "eval models/network test.conll --coverage 0.9"),
        Command("removed", "calibrate models/network --reset"),
        Command("sets without calibration",
                "predict models/network names.txt --coverage 0.9 --format jsonl"),
    ),
    "audit": (
        Command("a table", "audit doubtful.conll --config small.toml --folds 2 --top 5"),
        Command("files",
                "audit doubtful.conll --config small.toml --folds 2 --top 2 -o doubts.jsonl "
                "--weights weights.jsonl --html doubts.html",
                files=("doubts.jsonl", "weights.jsonl", "doubts.html")),
        Command("classes as JSON",
                "audit dev.tsv --task classify --config small.toml --folds 2 --json -q"),
        Command("trained with weights",
                "train --config small.toml --train doubtful.conll --dev dev.conll "
                "--set data.weights=weights.jsonl --set train.max_epochs=2 -o models/weighted"),
    ),
    "learning-curve": (
        Command("a curve",
                "learning-curve --config small.toml --train train.conll --dev dev.conll "
                "--sizes 20,40,80 -o models/curve"),
        Command("with another seed",
                "learning-curve --config small.toml --train train.conll --dev dev.conll "
                "--sizes 20,40,80 -o models/curve --resume --seeds 1,2 --json"),
        Command("on a page",
                "eval models/tagger test.conll --curve models/curve/learning-curve.json "
                "--html curve.html", files=("curve.html",)),
    ),
    "tune": (
        Command("a search",
                "tune --config small.toml --train train.conll --dev dev.conll --trials 2 "
                "--search train.lr=0.01..0.03 --set train.max_epochs=1 -o models/search"),
        Command("a search that goes on",
                "tune --config small.toml --train train.conll --dev dev.conll --trials 3 "
                "--search train.lr=0.01..0.03 --set train.max_epochs=1 -o models/search"),
    ),
    "benchmark": (
        Command("a tagger", "benchmark models/tagger few.conll --rounds 1"),
    ),
    "generate": (
        Command("a text", "generate models/text"),
        Command("samples",
                "generate models/text --prompt Ada --samples 3 --temperature 0.5 --seed 2"),
        Command("the most probable units", "generate models/text --prompt Ada --greedy"),
        Command("a beam as JSON", "generate models/text --prompt Ben --beam 3 --samples 2 --json"),
        Command("characters", "generate models/characters --prompt Cleo --greedy --max-units 30"),
        Command("scores", "generate models/text --score -", stdin="Ada knows Rome .\nAda Rome\n"),
        Command("scores as JSON", "generate models/text --score - --json",
                stdin="Ada knows Rome .\n"),
        Command("a tagger", "generate models/tagger"),
    ),
    "errors": (
        Command("an unknown command", "trian"),
        Command("an unknown flag", "train --lerning-rate 3"),
        Command("an unknown option", "train --train train.conll --set encoder.hiden=3"),
        Command("an unknown section", "train --train train.conll --set coder.hidden=3"),
        Command("a wrong choice", "train --train train.conll --set encoder.cell=lstn"),
        Command("a value out of its limits", "train --train train.conll --set encoder.dropout=1.5"),
        Command("several wrong options in a file", "train --config wrong.toml"),
        Command("a file that is no TOML", "train --config train.conll"),
        Command("no configuration", "train"),
        Command("a missing corpus", "train --train missing.conll"),
        Command("a corpus with errors", "train --train bad.conll --dev dev.conll"),
        Command("an empty corpus", "train --train empty.conll"),
        Command("a wrong task", "train --config small.toml --task classify --train train.conll"),
        Command("tags that are not in dev",
                "train --config small.toml --train train.conll --dev dev.conllu --tag-column UPOS"),
        Command("a metric of another task", "train --train train.conll --metric perplexity"),
        Command("an option given twice",
                "train --train train.conll --seed 1 --set train.seed=2"),
        Command("an option without effect",
                "train --train train.conll --set embeddings.char_cell=none "
                "--set embeddings.char_dim=3"),
        Command("two flags that contradict each other",
                "train --train train.conll --resume --force"),
        Command("seed and seeds", "train --train train.conll --seed 1 --seeds 1,2"),
        Command("nothing to resume",
                "train --config small.toml --train train.conll --resume "
                "--set train.max_epochs=1 -o models/none"),
        Command("another corpus than that of the run",
                "train --config small.toml --train more.conll --dev dev.conll --resume "
                "-o models/tagger"),
        Command("no such device", "train --train train.conll --device cuda:7"),
        Command("a missing model", "predict models/missing few.conll"),
        Command("no argument", "predict"),
        Command("a broken model", "predict models/broken few.conll"),
        Command("a format that cannot hold it", "predict models/tagger few.conll --format trec"),
        Command("an unknown format", "predict models/tagger few.conll --format xml"),
        Command("an unknown input format", "predict models/tagger few.conll --input-format xml"),
        Command("classes of a tagger", "predict models/tagger few.conll --top 2"),
        Command("a limit of a number", "predict models/tagger few.conll --min-confidence 2"),
        Command("text that is not UTF-8", "predict models/tagger latin1.txt --encoding ascii"),
        Command("the input as output", "predict models/tagger few.conll -o few.conll"),
        Command("a missing file to score", "eval models/tagger missing.conll"),
        Command("neither model nor gold", "eval"),
        Command("files that do not match", "eval --gold test.conll --pred few.conll"),
        Command("tags that the model does not know", "eval models/tagger travel.conll"),
        Command("a corpus of another task", "eval models/tagger test.tsv"),
        Command("flags for models", "eval --gold pairs.conll --calibration"),
        Command("a page in no folder", "eval models/tagger test.conll --html none/report.html"),
        Command("labels of a language model", "eval models/text text.txt --errors"),
        Command("a language model that predicts", "predict models/text text.txt"),
        Command("a corpus that a model cannot be calibrated on",
                "calibrate models/tagger empty.conll"),
        Command("a corpus of too few sentences", "audit few.conll --folds 50"),
        Command("sizes that are too large",
                "learning-curve --config small.toml --train train.conll --sizes 100,1000"),
        Command("a search without values", "tune --train train.conll --search encoder.hidden="),
        Command("options that exclude each other", "generate models/text --greedy --beam 3"),
        Command("an unknown format to write", "convert few.conll out.xml --to xml"),
    ),
}  # fmt: skip

# What varies from run to run, and the words in its place. All else is recorded as it is; the folder
# of the commands is the one other thing that is replaced.
_VARYING = [
    (re.compile(pattern, re.M), words)
    for pattern, words in (
        # Versions: of tagkit, and of what a model was made by.
        (r"\btagkit \d+\.\d+\.\d+\b", "tagkit VERSION"),
        (r"\btorch \d+\.\d+\.\d+(\+\w+)?", "torch VERSION"),
        (r'("(?:tagkit|torch|python)": ")\d[^"]*', r"\1VERSION"),
        # Speed: the last column of an epoch's row, and the log's.
        (r"^( +\d+ .* 0\.\d{6})  +[\d,]+(  \*)?$", r"\1  TOKENS/S\2"),
        (r"\b[\d,]+ tokens/s", "TOKENS/S tokens/s"),
        # Dates and times of saving in the log of a run.
        (r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", "DATE  "),
        (r" in \d+\.\d\d s \((\d+ saves?) so far, \d+\.\d\d s\)", r" in TIME (\1 so far, TIME)"),
        # The time left of an audit, and the seconds of a trial of `tune`.
        (r"about \d+:\d\d left", "about TIME left"),
        (r"^( +\d+ +\d+\.\d\d) +\d+(  train\.lr=)", r"\1  SECONDS\2"),
        # What `benchmark` measures: speeds, latencies, start-up and memory.
        (r"^((?:fp32|bf16|int8) +\S+ +\S+)(?: +[\d,.]+){6}$", r"\1  MEASURED"),
        (r"\b\d+\.\d\d s (for one text|for the corpus)", r"TIME \1"),
        (r"importing torch alone takes \d+\.\d\d s", "importing torch alone takes TIME"),
        (r"^memory     [\d,.]+ [kMG]B", "memory     MEMORY"),
    )
]
# A number with decimals, whose last digits depend on the processor, and a digest that has all of
# them.
_DECIMAL = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e-\d+)?")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
OTHER_DIGITS = (
    "compared with small differences of numbers allowed: this processor computes other digits than "
    "that of the recording"
)


def record(folder: Path) -> dict[str, str]:
    """Run all commands in a folder, which is empty.

    Returns:
        the name of each group, and its recording.
    """
    _write_corpora(folder)
    fixed = {
        "COLUMNS": "80", "CUDA_VISIBLE_DEVICES": "", "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    before = dict(os.environ)
    os.environ.update(fixed)  # the server has them too
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each command would compile all modules again
    try:
        with (
            tempfile.TemporaryDirectory() as place,
            forked_commands(Path(place), with_tagkit=True) as words,
        ):
            program = shlex.split(words)
            return {
                group: "\n".join(_recorded(each, program, folder) for each in commands)
                for group, commands in COMMANDS.items()
            }
    finally:
        os.environ.clear()
        os.environ.update(before)


def _recorded(command: Command, program: list[str], folder: Path) -> str:
    """Run a command; what is recorded of it."""
    ended = subprocess.run(
        [*program, *shlex.split(command.line)], cwd=folder, input=command.stdin.encode(),
        env={**os.environ, **command.environment}, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    parts = [
        (f"===== {command.name}", ""),
        ("$ " + " ".join(["tagkit", command.line]).rstrip(), ""),
        (f"exit status {ended.returncode}", ""),
        ("----- standard output", ended.stdout.decode()),
        ("----- standard error", ended.stderr.decode()),
        *(
            (f"----- {path.relative_to(folder)}", _content(path))
            for name in command.files
            for path in _files(folder / name)
        ),
    ]
    shown = [
        f"{head}\n{_whole_lines(text)}"
        for head, text in parts
        if text or not head.startswith("-----")
    ]
    found = "".join(shown).replace(str(folder), "FOLDER")
    for pattern, words in _VARYING:
        found = pattern.sub(words, found)
    return found


def _files(path: Path) -> list[Path]:
    """A file, or all files of a folder."""
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def _content(path: Path) -> str:
    """A file that a command has written; of a page its words, and a digest of it all."""
    if not path.is_file():
        return "(not written)\n"
    text = path.read_bytes().decode()
    if path.suffix != ".html":
        return text
    for pattern, words in _VARYING:
        text = pattern.sub(words, text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    text = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.S)
    # Cells of a row and words of a sentence stay on their line.
    text = re.sub(r"</?(?:td|th|span|b|i|em|strong|code|a|mark|small)\b[^>]*>", " ", text)
    lines = re.sub(r"<[^>]*>", "\n", text).splitlines()
    words = [" ".join(html.unescape(line).split()) for line in lines]
    return "".join(f"{line}\n" for line in words if line) + f"sha256 {digest}\n"


def _whole_lines(text: str) -> str:
    """Text that ends with a line end; if it lacks one, that is said."""
    return text if not text or text.endswith("\n") else f"{text}\n(no line end)\n"


def _write_corpora(folder: Path) -> None:
    """All that the commands read."""
    import tiny  # imports torch

    tiny.corpus(folder)
    tiny.classified(folder)
    tiny.joint(folder)
    tiny.treebank(folder)
    tiny.write(folder / "few.conll", tiny.lines(3, 5))
    tiny.write(folder / "more.conll", tiny.lines(60, 6))
    tiny.write(folder / "few.conllu", tiny.treebank_lines(2, 5))
    sentences = tiny.lines(60, 7)
    sentences[4][0] = sentences[4][0].replace("B-PER", "B-LOC")
    sentences[9] = [line.replace("B-LOC", "O").replace("I-LOC", "O") for line in sentences[9]]
    tiny.write(folder / "doubtful.conll", sentences)
    words = [" ".join(line.split("\t")[0] for line in each) for each in tiny.lines(150, 8)]
    pairs = [
        [f"{line}\t{_wrongly(line, number)}" for line in each]
        for number, each in enumerate(tiny.lines(12, 9))
    ]
    tiny.write(folder / "pairs.conll", pairs)
    travel = (ROOT / "data" / "travel" / "test.conll").read_text("utf-8")
    files = {
        **_FILES,
        "few.tsv": "".join(f"{label}\t{text}\n" for label, text in tiny.texts(4, 5)),
        "text.txt": "".join(f"{line}\n" for line in words),
        "travel.conll": "\n\n".join(travel.split("\n\n")[:40]) + "\n\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    shutil.copytree(ROOT / "tests" / "fixtures" / "0.1.0" / "stopped", folder / "stopped")


def _wrongly(line: str, number: int) -> str:
    """The tag of a line as a poor system predicts it in the sentence of this number."""
    tag = line.split("\t")[1]
    if number % 4 == 1:
        return tag.replace("PER", "LOC")
    return {2: tag.replace("I-", "B-"), 3: tag.replace("B-LOC", "I-LOC")}.get(number % 4, tag)


_FILES = {
    "small.toml": """\
[embeddings]
word_dim = 16
char_dim = 8
char_hidden = 8

[encoder]
hidden = 16
dropout = 0.1
locked_dropout = 0.0

[train]
batch_size = 8
lr = 0.02
max_epochs = 4
workers = 1
""",
    "text.toml": """\
task = "language-model"

[data]
train_file = "text.txt"
context = "line"

[embeddings]
word_dim = 16

[encoder]
hidden = 16
locked_dropout = 0.0

[train]
batch_size = 8
lr = 0.02
max_epochs = 4
workers = 1
""",
    "wrong.toml": """\
[encoder]
hiden = 16
cell = "lstn"

[train]
lr = -1
""",
    "odd.conll": """\
Ada\tB-PER
Miller\tI-PER
visits\tO
New\tB-LOC
York\tI-Loc
.\tO

Ada\tB-PER
Miller\tI-PER
visits\tO
Rome\tI-LOC
.\tO

Ada\tB-PER
Miller\tI-PER
visits\tO
Rome\tI-LOC
.\tO

Zoe\u0308\tB-PER
knows\u200b\tO
Oslo\tB-LOC
Rome\tB-LOC
""",
    "bad.conll": """\
Ada\tB-PER
Miller
visits\tO
Rome\tB-LOC\tx

.\tO
""",
    "bad.jsonl": """\
{"id": "a", "text": "Ada Miller visits Rome.", "spans": [{"start": 0, "end": 10, "label": "PER"}]}
{"id": "b", "text": "Ben knows Lima."
{"id": "c", "text": "Finn leaves Oslo.", "spans": [{"start": 12, "end": 99, "label": "LOC"}]}
{"id": "d", "text": "Eve likes Quito.", "spans": []}
""",
    "misaligned.jsonl": """\
{"text": "Ada Miller visits Rome.", "spans": [{"start": 0, "end": 8, "label": "PER"}]}
{"text": "Ben knows Lima.", "spans": [{"start": 10, "end": 14, "label": "LOC"}]}
""",
    "names.txt": "Cleo Silva leaves Cape Town.\n\nDan likes Oslo.\n",
    "notes.txt": "A note.\nAnother note: nothing is labelled here.\n",
    "latin1.txt": "Zoë leaves Oslo .\n",
    "empty.conll": "",
    "models/broken": "no folder\n",
}


def compared(
    recorded: Mapping[str, str], found: Mapping[str, str], *, exact: bool
) -> Iterator[str]:
    """What differs, as the headings of commands and lines of a unified diff.

    Args:
        recorded: each group's recording.
        found: the same of now.
        exact: whether all characters count. If not, numbers with decimals may differ a little: a
            processor adds up in an order of its own, from which the last digits depend.
    """
    for group in [*recorded, *(name for name in found if name not in recorded)]:
        before = _by_command(recorded.get(group, ""))
        now = _by_command(found.get(group, ""))
        for name in [*before, *(name for name in now if name not in before)]:
            old, new = before.get(name, ""), now.get(name, "")
            if old == new or (not exact and _is_close(old, new)):
                continue
            yield f"{group}: {name}"
            yield from difflib.unified_diff(
                old.splitlines(), new.splitlines(), "recorded", "now", lineterm="", n=2
            )


def _by_command(recording: str) -> dict[str, str]:
    """The parts of a recording by their headings."""
    parts = re.split(r"^===== (.*)\n", recording, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _is_close(old: str, new: str) -> bool:
    """Whether two texts are equal but for small differences of numbers, and digests of pages."""
    old, new = _DIGEST.sub("DIGEST", old), _DIGEST.sub("DIGEST", new)
    if _DECIMAL.sub("#", old) != _DECIMAL.sub("#", new):
        return False
    pairs = zip(_DECIMAL.findall(old), _DECIMAL.findall(new), strict=True)
    return all(abs(float(a) - float(b)) <= 0.02 * max(1, abs(float(a))) for a, b in pairs)


def arithmetic() -> str:
    """A digest of what this machine's processor makes of a small network's training."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network = torch.nn.LSTM(16, 16, bidirectional=True)
        optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
        steps = torch.randn(20, 7, 8, 16)
    for inputs in steps:
        optimizer.zero_grad()
        states = network(inputs)[0]
        torch.logsumexp(states, 2).mean().backward()
        optimizer.step()
    weights = b"".join(each.detach().numpy().tobytes() for each in network.parameters())
    return hashlib.sha256(weights).hexdigest()


def read_recording() -> dict[str, str]:
    """The recording of each group, as it is in the fixtures."""
    paths = ((group, RECORDING / f"{group}.txt") for group in COMMANDS)
    return {group: path.read_bytes().decode() for group, path in paths if path.exists()}


def is_exact() -> bool:
    """Whether this machine computes the same digits as that of the recording."""
    path = RECORDING / ARITHMETIC
    return path.exists() and path.read_text("utf-8").strip() == arithmetic()


def _write(found: Mapping[str, str]) -> None:
    shutil.rmtree(RECORDING, ignore_errors=True)
    RECORDING.mkdir(parents=True)
    for group, text in found.items():
        (RECORDING / f"{group}.txt").write_bytes(text.encode())
    (RECORDING / ARITHMETIC).write_text(f"{arithmetic()}\n", "utf-8")


def main() -> int:
    """The exit status: 1 if something differs."""
    with tempfile.TemporaryDirectory() as name:
        found = record(Path(name))
    if "--write" in sys.argv[1:]:
        _write(found)
        return 0
    exact = is_exact()
    lines = [*compared(read_recording(), found, exact=exact)]
    if not exact:
        lines.append(OTHER_DIGITS)
    sys.stdout.write("".join(f"{line}\n" for line in lines or ["nothing differs"]))
    return lines not in ([], [OTHER_DIGITS])


if __name__ == "__main__":
    sys.exit(main())
