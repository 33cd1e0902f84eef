"""Models and saved states of runs, altered with digests that are right again; prediction.

Tiny models are trained once per process: that of a run of three epochs which was stopped in its
second, that of a short run on several tag columns, and language models.
What imports torch is imported when it is first needed.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from .case import Case, LawBroken, require
from .engine import check_message
from .mutation import altered_bytes, altered_text, altered_value, json_line, odd_value, word
from .readers import corpus_case
from .samples import SAMPLES, line

_EPOCHS = 3
_OPTIONS = (
    "embeddings.word_dim=6", "embeddings.char_dim=4", "embeddings.char_hidden=4",
    "encoder.hidden=6",
    f"train.max_epochs={_EPOCHS}", "train.batch_size=4", "train.lr=0.02", "train.device=cpu",
    "train.checkpoint_every=2", "data.train_file=train.conll", "data.dev_file=dev.conll",
    "output.dir=model",
)  # fmt: skip
_OF_COLUMNS = (
    "data.train_file=train.conllu", "data.dev_file=", "data.dev_fraction=0.2",
    "data.tag_column=['UPOS', 'FEATS', 'LEMMA', 'MISC.NER']", "train.max_epochs=1",
)  # fmt: skip
_WEIGHTS, _STATE = "model.safetensors", "state.json"


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Within it the folder is the current one."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@cache
def run_files() -> Mapping[str, bytes]:
    """Files of a run that was stopped, its corpora among them, by path."""
    from tagkit.config import load_config
    from tagkit.errors import Interrupted
    from tagkit.training.events.callbacks import Listener, Step
    from tagkit.training.trainer import train

    class StopInSecondEpoch(Listener):
        """Asks the run to end one step into its second epoch."""

        def on_step(self, step: Step) -> None:
            if step.epoch == 2:
                stop.set()

    stop = threading.Event()
    rng = Random(1)
    with tempfile.TemporaryDirectory() as name, inside(Path(name)):
        for file, count in (("train.conll", 16), ("dev.conll", 6)):
            Path(file).write_text(_corpus(rng, count), encoding="utf-8")
        with contextlib.suppress(Interrupted):
            train(load_config(overrides=_OPTIONS), StopInSecondEpoch(), stop=stop)
        return {
            str(file): file.read_bytes() for file in sorted(Path().rglob("*")) if file.is_file()
        }


def _corpus(rng: Random, count: int) -> str:
    blocks = []
    for _ in range(count):
        name, place = rng.choice(("Ada", "Ben", "Eve")), rng.choice(("Oslo", "New York"))
        rows = [(name, "B-PER"), ("visits", "O")]
        rows += [(w, "I-LOC" if at else "B-LOC") for at, w in enumerate(place.split())]
        blocks.append("".join(f"{w}\t{tag}\n" for w, tag in rows))
    return "\n".join(blocks)


@cache
def _run_on_columns() -> Mapping[str, bytes]:
    """Files of a run on several tag columns of CoNLL-U, by path."""
    from tagkit.config import load_config
    from tagkit.training.trainer import train

    with tempfile.TemporaryDirectory() as name, inside(Path(name)):
        Path("train.conllu").write_text(_treebank(_corpus(Random(1), 16)), encoding="utf-8")
        train(load_config(overrides=(*_OPTIONS, *_OF_COLUMNS)))
        return {
            str(file): file.read_bytes() for file in sorted(Path().rglob("*")) if file.is_file()
        }


_OF_A_TEXT = (
    "task=language-model", "data.train_file=train.txt", "data.dev_file=dev.txt",
    "embeddings.word_dim=6", "encoder.hidden=6", "train.max_epochs=1", "train.device=cpu",
    "output.dir=model",
)  # fmt: skip


@cache
def language_files(unit: str) -> Mapping[str, bytes]:
    """The files of a language model of a unit, in the folder `model`, by path."""
    from tagkit.config import load_config
    from tagkit.training.trainer import train

    text = "".join(
        f"{block.split()[0]} visits Oslo .\n" for block in _corpus(Random(1), 16).split("\n\n")
    )
    with tempfile.TemporaryDirectory() as name, inside(Path(name)):
        for file in ("train.txt", "dev.txt"):
            Path(file).write_text(text, encoding="utf-8")
        more = (f"data.unit={unit}",) + (("data.bpe_size=300",) if unit == "bpe" else ())
        train(load_config(overrides=(*_OF_A_TEXT, *more)))
        found = Path("model/best")
        return {f"model/{file.name}": file.read_bytes() for file in found.iterdir()}


def _treebank(columns: str) -> str:
    """Words and tags of spans as CoNLL-U."""
    blocks = []
    for block in columns.split("\n\n"):
        lines = []
        for number, row in enumerate(block.splitlines(), 1):
            word, tag = row.split("\t")
            upos, feats = ("VERB", "_") if tag == "O" else ("PROPN", f"Kind={tag[2:]}|Number=Sing")
            lemma = word.lower().removesuffix("s")
            cells = (str(number), word, lemma, upos, "_", feats, "0", "_", "_", f"NER={tag}")
            lines.append("\t".join(cells) + "\n")
        blocks.append("".join(lines))
    return "\n".join(blocks) + "\n"


@cache
def _calibrated(several: bool) -> Mapping[str, bytes]:
    """The files of a model that was calibrated on a corpus in which it errs, by path."""
    from tagkit.inference.score.calibrate import calibrate

    wrong = _corpus(Random(2), 24).replace("B-PER", "O", 5).replace("B-LOC", "B-PER", 4)
    with tempfile.TemporaryDirectory() as name, inside(Path(name)):
        for file, data in model_files(several=several).items():
            Path(file).parent.mkdir(exist_ok=True)
            Path(file).write_bytes(data)
        dev = Path("dev.conllu" if several else "dev.conll")
        dev.write_text(_treebank(wrong) if several else wrong, encoding="utf-8")
        calibrate("model", dev, device="cpu")
        return {str(file): file.read_bytes() for file in Path("model").iterdir()}


def model_files(
    folder: str = "model", *, several: bool = False, calibrated: bool = False
) -> dict[str, bytes]:
    """The best model of a run, in a folder of this name; with `several` that of tag columns."""
    if calibrated:
        files = _calibrated(several)
        return {f"{folder}/{Path(name).name}": data for name, data in files.items()}
    start = "model/best/"
    return {
        f"{folder}/{name.removeprefix(start)}": data
        for name, data in (_run_on_columns() if several else run_files()).items()
        if name.startswith(start)
    }  # fmt: skip


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _altered_json(rng: Random, data: bytes) -> bytes:
    value = json.loads(data)
    for _ in range(rng.choice((1, 1, 2))):
        value = altered_value(rng, value)
    text = json_line(rng, value)
    if rng.random() < 0.05:  # deeper than the parser goes
        depth = rng.choice((900, 5_000, 100_000))
        text = text.replace(":", ":" + "[" * depth + "]" * depth + ',"x":', 1)
    return text.encode("utf-8", "surrogatepass")


def _altered_tensors(rng: Random, data: bytes) -> bytes:
    """A safetensors file with another header, or with other numbers in it."""
    if rng.random() < 0.4:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        if rng.random() < 0.5:
            name = rng.choice(list(header))
            entry = header[name] if isinstance(header[name], dict) else {}
            found = rng.choice(("shape", "dtype", "data_offsets", "name"))
            if found == "dtype":
                entry["dtype"] = rng.choice(
                    ("F16", "BF16", "F64", "I32", "BOOL", "U8", "F8_E4M3", "X")
                )
            elif found == "name":
                header[word(rng, 1.0) * rng.choice((1, 1, 1000))] = header.pop(name)
            else:
                entry[found] = altered_value(rng, entry.get(found, []))
        else:
            header = altered_value(rng, header)
        text = json_line(rng, header).encode("utf-8", "surrogatepass")
        return len(text).to_bytes(8, "little") + text + data[8 + size :]
    return _other_numbers(rng, data)


def _other_numbers(rng: Random, data: bytes) -> bytes:
    import torch
    from safetensors.torch import load, save

    tensors = load(data)
    name = rng.choice(sorted(tensors))
    tensor = tensors[name]
    match rng.randrange(8):
        case 0:
            tensor.view(-1)[:1] = (
                rng.choice((float("nan"), float("inf"), 1e30))
                if (tensor.is_floating_point())
                else 2**40
                if tensor.dtype == torch.int64
                else 1
            )
        case 1:
            kinds = (torch.int32, torch.bool, torch.float64, torch.complex64, torch.bfloat16)
            tensors[name] = tensor.to(rng.choice(kinds))
        case 2:
            tensors[name] = tensor.flatten()
        case 3:
            tensors[name] = tensor[:0] if tensor.dim() else tensor[None]
        case 4:
            tensors[name] = tensor.unsqueeze(0)
        case 5:
            del tensors[name]
        case 6:
            tensors[word(rng, 1.0).encode("utf-8", "replace").decode()] = tensor.clone()
        case _:
            tensors[name] = tensor.repeat(*[2] * tensor.dim()) if tensor.dim() else tensor[None]
    return save(tensors)


def _altered_toml(rng: Random, data: bytes) -> bytes:
    lines = data.decode().split("\n")
    at = rng.choice([number for number, text in enumerate(lines) if " = " in text])
    name = lines[at].partition(" = ")[0]
    value = rng.choice((
        "0", "1", "-1", "7", "100000", "99999999999", "true", "false", "''", '"x"', '"iobes"',
        '"gru"',
        '"labels"', '"classify"', '"both"', "0.5", "nan", "[]", "{}", "[1]", "{a = 0.5}", '"utf-7"',
        "9" * 5000, "[" * 3000 + "]" * 3000,
    ))  # fmt: skip
    lines[at] = f"{name} = {value}"
    if rng.random() < 0.05:
        lines.insert(at, ".".join("a" * 20_000) + " = 1")
    text = "\n".join(lines)
    return (altered_text(rng, text) if rng.random() < 0.2 else text).encode("utf-8", "replace")


_OF_A_MODEL: dict[str, Callable[[Random, bytes], bytes]] = {
    _WEIGHTS: _altered_tensors,
    "config.toml": _altered_toml,
    "vocabulary.json": _altered_json,
    "metadata.json": _altered_json,
}


def bundle_case(rng: Random) -> Case:
    """A model with one or two parts altered, of which the digests are right, mostly."""
    files = model_files(several=rng.random() < 0.3, calibrated=rng.random() < 0.3)
    for part in rng.sample(list(_OF_A_MODEL), rng.choice((1, 1, 1, 2))):
        name = f"model/{part}"
        if rng.random() < 0.1:
            files[name] = altered_bytes(rng, files[name])
        else:
            files[name] = _OF_A_MODEL[part](rng, files[name])
    if rng.random() < 0.02:
        del files[rng.choice(list(files))]
    elif rng.random() < 0.95:
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            metadata = json.loads(files["model/metadata.json"])
            if rng.random() < 0.95:
                metadata["sha256"] = {
                    part: _digest(files[f"model/{part}"]) for part in _OF_A_MODEL
                    if part != "metadata.json"
                }  # fmt: skip
            else:
                metadata["sha256"] = odd_value(rng)
            files["model/metadata.json"] = json.dumps(metadata).encode()
    return Case(files, {"text": line(rng)})


def run_bundle(case: Case, room: Path) -> None:
    """A model that is accepted describes itself and predicts numbers that JSON has."""
    from tagkit.cli.shown.reports import info_lines
    from tagkit.inference.predict.predictor import load
    from tagkit.models.bundle.bundle import load_bundle

    model = room / "model"
    shown = "\n".join(info_lines("model", load_bundle(model)))
    require(len(shown) < 100_000, "what info says is too long", len(shown))
    predictor = load(model, "cpu")
    for found in predictor.predict(
        [case.options["text"] or "x", "Ada visits Oslo ."], confidence=True
    ):
        check_tagged(found)


def check_tagged(found: Any) -> None:
    """Make sure that each token and span is a stretch of the text, with a probability."""
    from dataclasses import asdict

    for part in (*found.tokens, *found.spans):
        require(found.text[part.start : part.end] == part.text, "an offset that is not exact", part)
        sure = part.probability
        require(sure is None or 0 <= sure <= 1, "a probability that is none", part)
    for score in found.scores:
        require(0 <= score.probability <= 1, "a probability that is none", score)
    try:
        json.dumps(asdict(found), allow_nan=False)
    except ValueError:
        raise LawBroken("numbers that JSON does not have", repr(found)[:500]) from None


def _states() -> list[str]:
    """Folders of the run's checkpoints, the newest last."""
    start = "model/checkpoints/"
    return sorted({name.split("/")[2] for name in run_files() if name.startswith(start)})


def _altered_state(rng: Random, files: dict[str, bytes], folder: str) -> None:
    """Alter a checkpoint in place; its digests are right again, mostly."""
    tensors, state = f"{folder}/tensors.safetensors", f"{folder}/{_STATE}"
    record = json.loads(files[state])
    kind = rng.random()
    if kind < 0.5:
        record["body"] = altered_value(rng, record["body"])
    elif kind < 0.6:
        record = altered_value(rng, record)
    else:
        files[tensors] = _altered_tensors(rng, files[tensors])
    if rng.random() < 0.9 and isinstance(record, dict):
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            body = json.dumps(record.get("body"), sort_keys=True).encode()
            record["sha256"] = {"tensors": _digest(files[tensors]), "body": _digest(body)}
    files[state] = json_line(rng, record).encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        depth = rng.choice((900, 5_000, 100_000))
        files[state] = b'{"body":' + b"[" * depth + b"]" * depth + b"}"
    if rng.random() < 0.1:
        name = rng.choice((tensors, state))
        files[name] = altered_bytes(rng, files[name])


def checkpoint_case(rng: Random) -> Case:
    """Saved states of a run, the newest or all of them altered."""
    files = {
        name.removeprefix("model/"): data for name, data in run_files().items()
        if name.startswith("model/checkpoints/")
    }  # fmt: skip
    folders = _states()
    for folder in folders if rng.random() < 0.3 else folders[-1:]:
        _altered_state(rng, files, f"checkpoints/{folder}")
    if rng.random() < 0.1:
        files[f"checkpoints/step-{rng.choice(('', 'x', '-1', '9' * 30))}/{_STATE}"] = b"{}"
    return Case(files, {"sound": rng.random() < 0.3})


def run_checkpoint(case: Case, room: Path) -> None:
    """The newest whole one is found, or none; each that is passed over is said.

    Whether a run can take it over is not asked.
    """
    from tagkit.training.folder.checkpoint import newest_checkpoint

    notes: list[str] = []
    found = newest_checkpoint(
        room / "checkpoints", notes.append, lambda _: None, sound=case.options["sound"]
    )
    for note in notes:
        check_message(note)
    if found is not None:
        require(type(found.step) is int and found.step >= 0, "a step that is none", found.step)
        require(isinstance(found.state, Mapping), "a state that is none", type(found.state))


def resume_case(rng: Random) -> Case:
    """A run that was stopped, its newest saved state altered."""
    files = dict(run_files())
    _altered_state(rng, files, f"model/checkpoints/{_states()[-1]}")
    return Case(files)


def run_resume(case: Case, room: Path) -> None:
    """A run goes on from a state that is whole, or says why it does not."""
    from tagkit.config import load_config
    from tagkit.training.trainer import train

    with inside(room):
        trained = train(load_config(overrides=_OPTIONS), resume=True)
    last = trained.epochs[-1]
    require(last.number == _EPOCHS, "a run without its last epoch", trained.epochs)
    require(0 < last.loss < float("inf"), "an epoch without a loss", last)


@cache
def _predictor(folder: str) -> Any:
    from tagkit.inference.predict.predictor import load

    return load(Path(folder), "cpu")


@cache
def _model_folder(several: bool) -> str:
    """A folder with a model, for as long as the process lives."""
    keeper = tempfile.TemporaryDirectory()
    _KEPT.append(keeper)
    for name, data in model_files(several=several).items():
        path = Path(keeper.name) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return f"{keeper.name}/model"


_KEPT: list[Any] = []


def warm() -> None:
    """Train the models, and predict once, before time and memory are measured."""
    for several in (False, True):
        _predictor(_model_folder(several)).predict("Ada visits Oslo .", confidence=True)
    for unit in ("word", "character", "bpe"):
        language_files(unit)


def predict_case(rng: Random) -> Case:
    """A corpus of any format, or raw text."""
    format = rng.choice(("text", "text", "columns", "conllu", *SAMPLES))
    case = corpus_case(rng, format)
    options = case.options
    options["format"] = format if rng.random() < 0.5 else "auto"
    options["output"] = rng.choice(("auto", "columns", "conllu", "jsonl", "show"))
    options["several"] = rng.random() < 0.4
    options["confidence"] = rng.random() < 0.5
    options["max_length"] = rng.choice((None, None, 2, 5, 16))
    return case


def run_predict(case: Case, room: Path) -> None:
    """Output is lines of JSON with exact offsets, or a line a line of a column file."""
    from tagkit.inference.stream.annotate import Annotator, AnswerOptions
    from tagkit.inference.stream.stream import SerialWorker, StreamOptions, annotate_file
    from tagkit.models.answers.kind import PredictionOptions
    from tagkit.models.answers.pieces import from_line

    options = case.options
    notes: list[str] = []
    predictor = _predictor(_model_folder(options["several"]))
    asked = PredictionOptions(
        batch_size=16, confidence=options["confidence"], max_length=options["max_length"] or 4096
    )
    answers = AnswerOptions(options["output"], asked)
    annotator = Annotator(predictor, answers)
    encoding = options["data"].get("encoding", "utf-8")
    reading = StreamOptions(
        options["format"], encoding, options["max_length"] or 4096, notes.append, lambda *_: None
    )
    path = str(room / options["path"])
    found = annotate_file(SerialWorker(annotator), predictor.config, annotator.style, path, reading)
    text = "".join(window.text for window in found)
    text.encode()
    if options["output"] == "conllu":
        for written in text.split("\n"):
            is_row = written.strip(" \t\r") and not written.startswith("#")
            require(not is_row or written.count("\t") >= 9, "a line that is no CoNLL-U", written)
    if options["output"] == "show":
        for written in filter(None, text.split("\n")):
            from_line(written)
    if options["output"] == "jsonl":
        for number, written in enumerate(text.split("\n")[:-1]):
            record = json.loads(
                written, parse_constant=lambda name: require(False, "bare NaN", name)
            )
            tokens = record.get("tokens", ())
            # The words of a multiword token of CoNLL-U ("du": de le) have its place, not their own.
            places = Counter((part["start"], part["end"]) for part in tokens)
            for part in (*tokens, *record.get("spans", ())):
                exact = record["text"][part["start"] : part["end"]] == part["text"]
                exact = exact or ("tag" in part and places[part["start"], part["end"]] > 1)
                require(exact, "an offset that is not exact", (number, part))
