"""What one training run writes into its folder, and how to recognise it without a manifest.

    best/, last/               metadata.json has the right digests of the three other parts
    checkpoints/step-N/        state.json has the right digests of itself and of the tensors
    history.jsonl, train.log   each line is one that a run writes
    curves.svg                 has the labels of our axes
    tensorboard/events...      has a curve of our name
    report.json                has reports on dev and test; dev.pred, test.pred, dev.gold and
                               report.txt belong to it

The files of several seeds and of a search are in `seed_scores` and `trials`.
"""

import json
import re
from pathlib import Path

from tagkit.errors import BundleError
from tagkit.models.folder.model_folder import CONFIG, VOCABULARY
from tagkit.models.folder.parts import read_metadata
from tagkit.storage import BEST, HISTORY, LAST, METADATA, WEIGHTS, digest_of
from tagkit.training.events.callbacks import CURVES, LOG
from tagkit.training.events.plots import LOSS_LABEL, SCORE_LABEL
from tagkit.training.folder.checkpoint import CHECKPOINT_FILES, is_whole
from tagkit.training.folder.owned_files import OwnedFile, OwnedFolder

MODELS = (BEST, LAST)
MODEL_FILES = (WEIGHTS, CONFIG, VOCABULARY, METADATA)
CHECKPOINTS, TRACKED = "checkpoints", "tensorboard"
PREDICTED = {"dev": "dev.pred", "test": "test.pred"}
REPORT_TEXT, REPORT_JSON = "report.txt", "report.json"
GOLD = "dev.gold"
RESULTS = (*PREDICTED.values(), GOLD, REPORT_TEXT, REPORT_JSON)
# Keys that version 0.1.0 wrote; later versions may add some.
_EPOCH_KEYS = {"epoch", "dev", "step", "loss", "lr", "tokens_per_s", "seconds", "is_best"}
_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ")
# The line of `callbacks.TrainLog.on_start`: dates alone begin the lines of many programs' logs.
_LOG_START = re.compile(r": [\d,]+ (?:sentence|text)s?, [\d,]+ tokens?; [\d,]+ parameters? on \w+")


def _is_model(folder: Path) -> bool:
    try:
        digests = read_metadata(folder).get("sha256")
        # metadata.json cannot hold its own digest. It is proved by naming those of the others.
        parts = [name for name in MODEL_FILES if name != METADATA]
        return isinstance(digests, dict) and all(
            digests.get(name) and digests[name] == digest_of(folder / name) for name in parts
        )
    except BundleError:
        return False


def _is_history(path: Path) -> bool:
    lines = path.read_text(encoding="utf-8").splitlines()
    return bool(lines) and all(json.loads(line).keys() >= _EPOCH_KEYS for line in lines)


def _is_log(path: Path) -> bool:
    started = False
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            # The log is appended to, not renamed: a kill may cut its last line short.
            if line.endswith("\n") and not _LOG_LINE.match(line):
                return False
            started = started or bool(_LOG_START.search(line))
    return started


def _is_curves(path: Path) -> bool:
    content = path.read_text(encoding="utf-8")
    if f">{LOSS_LABEL}</text>" in content and f">{SCORE_LABEL}</text>" in content:
        return True
    # Earlier versions drew with matplotlib, which writes each text as a comment beside its glyphs.
    # The first one drew the loss on train alone.
    has_loss = any(f"<!-- {each}loss (nats) -->" in content for each in ("", "training "))
    return has_loss and "<!-- dev score -->" in content


def _is_report(path: Path) -> bool:
    reports = json.loads(path.read_text(encoding="utf-8"))
    return reports.keys() == {"dev", "test"} and "kind" in reports["dev"]


def _is_tracked(folder: Path) -> bool:
    return all(
        path.is_file()
        and path.name.startswith("events.out.tfevents.")
        and b"tokens/s" in path.read_bytes()  # the name of a curve, uncompressed in the record
        for path in folder.iterdir()
    )


FILES = (
    OwnedFile(HISTORY, _is_history, is_log=True),
    OwnedFile(LOG, _is_log, is_log=True),
    OwnedFile(CURVES, _is_curves, is_log=True),
    OwnedFile(REPORT_JSON, _is_report, companions=RESULTS[:-1], is_log=True),
)
FOLDERS = (
    OwnedFolder(re.compile("|".join(MODELS)), _is_model, MODEL_FILES),
    OwnedFolder(re.compile(rf"{CHECKPOINTS}/step-[0-9]+"), is_whole, CHECKPOINT_FILES),
    OwnedFolder(re.compile(TRACKED), _is_tracked, is_log=True),
)
