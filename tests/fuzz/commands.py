"""Command lines: any command with any options and paths, in this process."""

import contextlib
import gc
import io
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import typer.main

from tagkit.cli.program.completion import output_formats

from .case import Case, LawBroken, require
from .configs import _statement
from .engine import check_message
from .models import inside, language_files, model_files, warm
from .mutation import ENCODINGS, altered_value, json_line, odd, word
from .readers import corpus_case
from .samples import SAMPLES

OUTPUTS = ("out",)
_NAMES_OUTPUT = ("-o", "--output", "--fix", "--html", "--weights")
_KEEP = b"do not touch\n"
_TRAINING = [
    "--set", "train.max_epochs=1", "--set", "encoder.hidden=4", "--set", "embeddings.word_dim=4",
    "--set", "embeddings.char_hidden=4", "--device", "cpu", "--quiet",
]  # fmt: skip
_OF_CHARACTERS = "embeddings.char_hidden=50"  # the default, as a language model does without it
_FORMATS = ("auto", "jsonl", "xml", *SAMPLES)
_COLUMNS = (
    "0", "1", "-1", "-2", "99", "FORM", "MISC.NER", "XPOS", "--", "²", "9" * 30, "", "x",
    "UPOS,FEATS", "UPOS,FEATS,LEMMA,MISC.NER", "UPOS,upos", "0,-1", "1,", ",", "FEATS,FEATS.Case",
)  # fmt: skip
_ANALYSES = ("--measures", "--errors", "--slices", "--interval", "--calibration")
_SHARES = ("0", "0.5", "0.8", "0.9", "0.99", "1", "nan", "-1", "x")
_PAGES = ("out/page.html", "out/page.html", "out/page.html.gz", "out/keep", "out", "out/no/where")
# As the commands write them; `eval --html` draws them.
_CURVE = {"measure": "F1", "points": [
    {"sentences": 10 * 2**at, "seed": 1, "score": 0.3 + 0.1 * at} for at in range(5)
]}  # fmt: skip
_AUDIT = {
    "corpus": "train.conll", "folds": 2, "repeats": 1, "folds_by": "sentence", "seed": 1,
    "measure": "F1", "agreement": 0.7, "contradicted": [1, 0], "doubts": [{
        "what": "span", "line": 1, "sentence": 0, "gold": [[0, 1, "PER"]], "predicted": [],
        "gold_probability": 0.1, "predicted_probability": 0.8, "contradicted": 1, "repeats": 1,
        "score": 0.7, "words": ["Ada", "visits", "Oslo"],
    }],
}  # fmt: skip


def command_case(rng: Random) -> Case:
    """A command line, the files that it may name, and standard input."""
    case = corpus_case(rng, rng.choice(("columns", "columns", *SAMPLES)), calm=rng.random() < 0.6)
    files = {**case.files, "out/keep": _KEEP}
    names = [case.options["path"], *case.files]
    if rng.random() < 0.1:  # a name that is odd itself
        strange = "".join(char for char in f"a{odd(rng)[:50]}b" if char not in "/\0").encode(
            "utf-8", "ignore"
        ).decode()  # fmt: skip
        files[strange] = next(iter(case.files.values()))
        names.append(strange)
    kind = rng.choice(_KINDS)
    if kind in ("predict", "eval", "info", "train"):
        files |= model_files(several=rng.random() < 0.3, calibrated=rng.random() < 0.3)
    if kind in ("generate", "train", "eval", "info", "predict"):
        is_text = kind == "generate" or rng.random() < 0.25
        unit = rng.choice(("word", "character", "bpe"))
        # A model of labels that is asked for a text, now and then, and the reverse.
        files |= language_files(unit) if is_text and rng.random() < 0.95 else model_files()
    if kind == "calibrate":  # which changes the model
        files |= model_files("out/model", several=rng.random() < 0.3, calibrated=rng.random() < 0.3)
    if kind == "eval":
        for name, record in (("curve.json", _CURVE), ("audit.json", _AUDIT)):
            value = altered_value(rng, record) if rng.random() < 0.7 else record
            files[name] = json_line(rng, value).encode("utf-8", "surrogatepass")
    words = _COMMANDS[kind](rng, names)
    if rng.random() < 0.15:
        words.insert(rng.randrange(len(words) + 1), odd(rng).replace("\0", ""))
    if rng.random() < 0.05:
        words.append(rng.choice(("--help", "-h", "--version", "--no-such", "-x", "--json=1", "-")))
    # Nothing outside the folder may be named as an output, whatever the words have become.
    outputs = [after for text, after in pairwise((*words, "")) if text in _NAMES_OUTPUT]
    if any(not after.startswith("out") for after in outputs):
        words = ["--help"]
    words = [text.replace("\0", "") for text in words]
    return Case(files, {"words": words, "stdin": rng.choice((*case.files,))})


def _path(rng: Random, names: list[str]) -> str:
    kind = rng.random()
    if kind < 0.85:
        return rng.choice(names)
    return rng.choice(
        ("nothing", "", "-", ".", "out", "model", "a" * 300, "out/keep/x", "./" + names[0])
    )


def _reading(rng: Random, *, sets: bool) -> list[str]:
    words: list[str] = []
    if rng.random() < 0.3:
        words += ["--input-format", rng.choice(_FORMATS)]
    if rng.random() < 0.2:
        words += [rng.choice(("--token-column", "--tag-column")), rng.choice(_COLUMNS)]
    if rng.random() < 0.15:
        words += [
            "--encoding",
            rng.choice((*ENCODINGS, "unicode_escape", "base64", "idna", "", "utf-9")),
        ]
    if sets and rng.random() < 0.2:
        words += ["--set", _statement(rng)[:3000]]
    return words


def _check(rng: Random, names: list[str]) -> list[str]:
    words = [
        "check",
        *(_path(rng, names) for _ in range(rng.choice((1, 1, 2)))),
        *_reading(rng, sets=True),
    ]
    if rng.random() < 0.3:
        words += ["--fix", rng.choice(("out/fixed", "out", "out/no/where"))]
    return words + (["--json"] if rng.random() < 0.2 else [])


def _convert(rng: Random, names: list[str]) -> list[str]:
    ending = rng.choice(
        (
            ".conll",
            ".conllu",
            ".jsonl",
            ".ann",
            ".txt",
            ".tsv",
            ".csv",
            ".ft",
            "",
            ".gz",
            ".jsonl.gz",
        )
    )
    output = rng.choice((f"out/x{ending}", f"out/x{ending}", "-", f"out/no/x{ending}", "out"))
    words = ["convert", _path(rng, names), output, *_reading(rng, sets=True)]
    if rng.random() < 0.4:
        words += ["--to", rng.choice(_FORMATS)]
    if rng.random() < 0.2:
        words += ["--scheme", rng.choice(("iob1", "bio", "bilou", "iobes", "labels", "x", ""))]
    if rng.random() < 0.2:
        words += ["--on-misaligned", rng.choice(("error", "expand", "shrink", "drop", "x"))]
    return words


def _eval(rng: Random, names: list[str]) -> list[str]:
    words = ["eval", *_reading(rng, sets=False)]
    several = rng.random() < 0.3
    if rng.random() < 0.5:
        words += [
            *["model"] * (rng.choice((2, 3)) if several else 1),
            _path(rng, names),
            "--device",
            rng.choice(("cpu", "cpu", "auto", "gpu", "cuda:99", "")),
        ]
    else:
        words += ["--gold", _path(rng, names)]
        for _ in range(rng.choice((2, 3)) if several else rng.choice((0, 1, 1))):
            runs = [_path(rng, names) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
            words += ["--pred", ",".join(runs)]
    if rng.random() < 0.2:
        words += ["--pred-column", rng.choice(_COLUMNS)]
    if rng.random() < 0.4:
        words += rng.sample(_ANALYSES, rng.choice((1, 1, 2, 4)))
    if rng.random() < 0.15:
        words += ["--train", _path(rng, names)]
    if rng.random() < 0.1:
        words += ["--coverage", rng.choice(_SHARES)]
    if rng.random() < 0.3:
        words += ["--html", rng.choice(_PAGES)]
    for option, record in (("--curve", "curve.json"), ("--audit", "audit.json")):
        if rng.random() < (0.4 if "--html" in words else 0.05):
            words += [option, rng.choice((record, record, record, _path(rng, names)))]
    return words + rng.sample(["--json", "--strict"], rng.choice((0, 0, 1, 2)))


def _predict(rng: Random, names: list[str]) -> list[str]:
    words = ["predict", rng.choice(("model", "model", "model", *names, "nothing"))]
    words += [_path(rng, names) for _ in range(rng.choice((0, 1, 1, 2)))]
    if rng.random() < 0.4:
        words += ["-o", rng.choice(("out/tagged", "out/tagged.gz", "out", "out/no/where"))]
    if rng.random() < 0.4:
        words += ["--format", rng.choice((*output_formats(), "x"))]
    if rng.random() < 0.15:
        words += ["--min-confidence", rng.choice(_SHARES)]
    if rng.random() < 0.15:
        words += ["--coverage", rng.choice(_SHARES), "--format", "jsonl"]
    if rng.random() < 0.3:
        words += ["--on-bad-record", rng.choice(("skip", "skip", "skip", "error", "x"))]
    if rng.random() < 0.3:
        words += rng.choice((["--confidence"], ["--top", "3"], ["--threshold", "0.5"],
                             ["--max-length", "2"],
                             ["--batch-size", "0"], ["--batch-size", "1"], ["--device", "gpu"],
                             ["--precision", "int8"], ["--precision", "bf16"], ["--threads",
                             "-1"]))  # fmt: skip
    return words + _reading(rng, sets=False)


def _info(rng: Random, names: list[str]) -> list[str]:
    return [
        "info",
        rng.choice(("model", "model", *names, ".", "")),
        *(["--json"] * rng.choice((0, 1))),
    ]


def _train(rng: Random, names: list[str]) -> list[str]:
    is_text = rng.random() < 0.4
    words = ["train", "--train", _path(rng, names)]
    words += [] if is_text and rng.random() < 0.9 else _reading(rng, sets=False)
    words += _TRAINING
    if rng.random() < 0.5:
        words += ["--dev", _path(rng, names)]
    if is_text:
        found = _of_texts(rng)
        if _OF_CHARACTERS in found:  # given twice it would be refused
            at = words.index("embeddings.char_hidden=4")
            del words[at - 1 : at + 1]
        words += ["--task", "language-model", *found]
    elif rng.random() < 0.3:
        words += ["--task", rng.choice(("tag", "classify", "both", "x"))]
    if rng.random() < 0.2:
        words += ["--init-from", rng.choice(("model", "out", "nothing"))]
    if rng.random() < 0.3:
        words += rng.choice((["--resume"], ["--force"], ["--seed", "x"], ["--seeds", "1,1"],
                             ["--seeds", ","],
                             ["--max-minutes", "-1"], ["--checkpoint-every", "x"], ["--device",
                             "gpu"],
                             ["--resume", "--force"], ["--config", names[0]]))  # fmt: skip
    return [*words, "-o", rng.choice(("out/run", "out/run", "out", "out/keep"))]


def _of_texts(rng: Random) -> list[str]:
    """Options of a language model, right and wrong, in place of those of characters of words."""
    found = ["--set", _OF_CHARACTERS] if rng.random() < 0.9 else []
    settings = (
        "data.unit=character", "data.unit=bpe", "data.unit=word", "data.unit=x",
        "data.context=line", "data.context=x", "data.direction=backward", "data.bpe_size=1",
        "head.softmax=adaptive", "head.softmax=sampled", "head.softmax=x",
        "embeddings.tied=false", "embeddings.tied=x", "train.bptt=0",
        "train.bptt=1", "train.bptt=-1", "train.batch_size=1", "train.batch_size=9999",
        "encoder.bidirectional=true", "encoder.cell=gru", "encoder.cell=transformer",
        "encoder.weight_drop=0.5", "embeddings.dropout=0.99", "train.unfreeze=1",
        "data.max_line_chars=1", "train.metric=f1",
    )  # fmt: skip
    for setting in rng.sample(settings, rng.choice((0, 0, 0, 1, 1, 2))):
        found += ["--set", setting]
    return found


def _generate(rng: Random, names: list[str]) -> list[str]:
    words = ["generate", "model" if rng.random() < 0.95 else rng.choice(("nothing", *names))]
    kind = rng.random()
    if kind < 0.3:
        words += ["--prompt", rng.choice(("Ada", "", " ", "Ada\n", odd(rng)[:200]))]
    elif kind < 0.5:
        words += ["--prompt-file", _path(rng, names)]
    elif kind < 0.7:
        words += ["--score", _path(rng, names)]
    options = (
        ("--samples", ("1", "2", "5", "0", "-1", "x")), ("--max-units", ("1", "3", "9", "0", "x")),
        ("--end", ("symbol", "halt", "length", "x")), ("--beam", ("1", "2", "9", "0", "x")),
        ("--temperature", ("0", "0.5", "2", "1e-9", "1e300", "nan", "-1", "inf", "x")),
        ("--top-k", ("0", "1", "3", "99999", "9" * 30)), ("--top-p", ("0", "0.3", "1", "2", "nan")),
        ("--repetition-penalty", ("0", "0.5", "1", "1.2", "1e300", "nan", "-1")),
        ("--length-penalty", ("0", "1", "-1", "1e300", "nan")),
        ("--seed", ("0", "7", "-1", "x", "9" * 30)), ("--device", ("cpu", "gpu", "")),
        ("--threads", ("1", "-1")), ("--encoding", ENCODINGS),
    )  # fmt: skip
    for option, values in rng.sample(options, rng.choice((0, 0, 1, 1, 2, 3))):
        words += [option, rng.choice(values)]
    words += rng.sample(["--json", "--greedy", "--allow-unknown"], rng.choice((0, 0, 1, 1, 2)))
    return words if "--max-units" in words else [*words, "--max-units", "12"]


def _tune(rng: Random, names: list[str]) -> list[str]:
    # A search of one trial takes seconds: here it is refused at its options or its corpus.
    words = ["tune", "--train", _path(rng, ["nothing", "out/keep"]), *_TRAINING, "-o", "out/search"]
    if rng.random() < 0.5:
        words += ["--search", _statement(rng)[:3000]]
    return words


def _calibrate(rng: Random, names: list[str]) -> list[str]:
    words = ["calibrate", rng.choice(("out/model", "out/model", "out/model", "out", *names))]
    if rng.random() < 0.85:
        words.append(_path(rng, names))
    if rng.random() < 0.2:
        words.append("--reset")
    if rng.random() < 0.3:
        words += rng.choice((["--json"], ["--batch-size", "0"], ["--device", "gpu"],
                             ["--threads", "-1"]))  # fmt: skip
    return words + _reading(rng, sets=False)


def _audit(rng: Random, names: list[str]) -> list[str]:
    words = ["audit", _path(rng, names), *_reading(rng, sets=False), *_TRAINING]
    words += ["--folds", rng.choice(("2", "2", "2", "1", "99", "x"))]
    if rng.random() < 0.3:
        words += ["--task", rng.choice(("tag", "classify", "both", "x"))]
    if rng.random() < 0.3:
        words += rng.choice((["--folds-by", "entity"], ["--top", "0"], ["--repeats", "0"],
                             ["--epsilon", "2"], ["--max-minutes", "-1"], ["--json"],
                             ["--format", "jsonl"], ["--json", "--format", "table"], ["--seed", "x"]
                             ))  # fmt: skip
    for option, places in (("-o", ("out/doubts", "out/keep", "out")), ("--html", _PAGES),
                           ("--weights", ("out/doubts", "out/weights", "out/keep"))):  # fmt: skip
        if rng.random() < 0.3:
            words += [option, rng.choice(places)]
    return words


def _learning_curve(rng: Random, names: list[str]) -> list[str]:
    # The smallest size is of ten sentences: most corpora here are refused for that.
    words = ["learning-curve", "--train", _path(rng, names), *_reading(rng, sets=False), *_TRAINING]
    if rng.random() < 0.5:
        words += ["--dev", _path(rng, names)]
    sizes = ("10,11,12", "1/4,1/2,1/1", "1,2,3", "1/0", "", "x", "10", "3/1,4/1,5/1", "9" * 30)
    words += ["--sizes", rng.choice(sizes)]
    if rng.random() < 0.3:
        words += rng.choice((["--resume"], ["--force"], ["--seeds", "1,1"], ["--json"],
                             ["--metric", "x"], ["--resume", "--force"]))  # fmt: skip
    return [*words, "-o", rng.choice(("out/curve", "out/curve", "out", "out/keep"))]


def _anything(rng: Random, names: list[str]) -> list[str]:
    return [word(rng, 0.5) for _ in range(rng.randrange(3))]


_COMMANDS = {
    "check": _check, "convert": _convert, "eval": _eval, "predict": _predict, "info": _info,
    "train": _train, "tune": _tune, "calibrate": _calibrate, "audit": _audit,
    "learning-curve": _learning_curve, "generate": _generate, "": _anything,
}  # fmt: skip
# The last ones take longest.
_KINDS = (
    *("check", "convert", "") * 4, *("eval", "predict", "info") * 3, "calibrate", "calibrate",
    *("generate",) * 4, "train", "train",
    "train", "tune", "audit", "learning-curve",
)  # fmt: skip
_GET_COMMAND = typer.main.get_command
_ERROR = re.compile(r"(?m)^error: ")


def run_command(case: Case, room: Path) -> None:
    """A command ends with a documented status and lines for people, never with a traceback."""
    from tagkit.cli.main import main

    words = case.options["words"]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    data = case.files.get(case.options["stdin"], b"")
    kept = sys.argv, sys.stdin, sys.stdout, sys.stderr
    sys.argv = ["tagkit", *words]
    sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(data), "utf-8"), out
    sys.stderr = err
    err.reconfigure(errors="backslashreplace")
    status: object = 0
    try:
        with inside(room), mock.patch.object(typer.main, "get_command", _parser_of):
            main()
    except SystemExit as end:
        status = end.code or 0
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = kept
        gc.unfreeze()
    said = _text(err)
    _check_end(words, status, said)
    if words[:1] and words[0] in ("check", "info", "eval") and "--json" not in words:
        shown = _text(out)
        require(not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", shown),
                "a control character on standard output", repr(shown))  # fmt: skip
    require((room / "out/keep").read_bytes() == _KEEP, "a file of the user's was changed", words)


@cache
def _parser_of(app: Any) -> Any:
    """The program's parser, which takes longer to build than most commands to run."""
    return _GET_COMMAND(app)


def _text(stream: io.TextIOWrapper) -> str:
    with contextlib.suppress(ValueError):
        stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")


def _check_end(words: list[str], status: object, said: str) -> None:
    try:
        check_message(said)
    except LawBroken as broken:
        kind = next((word for word in words if word in _COMMANDS), "no command")
        raise LawBroken(f"{kind}: {broken.law}", f"{words} {broken}") from None
    require(status in (0, 1, 2), f"exit status {status}", f"{words} {said}")
    if status == 1 and "check" not in words:
        require(bool(_ERROR.search(said)), "a failure without an error line", f"{words} {said!r}")
    if status == 2:
        require("Error" in said or "Usage" in said, "a usage error without a word", words)


__all__ = ["OUTPUTS", "command_case", "run_command", "warm"]
