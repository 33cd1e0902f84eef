"""Names of what training runs, searches and learning curves write into their folders."""

import re

from tagkit.models.folder.parts import CONFIG, VOCABULARY
from tagkit.models.folder.seed_folders import SEED_RUN, SUMMARY
from tagkit.storage import BEST, CURVE, HISTORY, LAST, METADATA, WEIGHTS
from tagkit.training.events.callbacks import CURVES, LOG

MODELS = (BEST, LAST)
MODEL_FILES = (WEIGHTS, CONFIG, VOCABULARY, METADATA)
CHECKPOINTS, TRACKED = "checkpoints", "tensorboard"
PREDICTED = {"dev": "dev.pred", "test": "test.pred"}
REPORT_TEXT, REPORT_JSON = "report.txt", "report.json"
GOLD = "dev.gold"
RESULTS = (*PREDICTED.values(), GOLD, REPORT_TEXT, REPORT_JSON)
# Records, which a new run replaces without `force`.
RECORDS = frozenset((HISTORY, LOG, CURVES, TRACKED, *RESULTS))
PICTURE = "learning-curve.svg"
# Optuna's database of a search, and SQLite's files beside it, which a kill leaves behind: rollback
# journal, and log and index of write-ahead mode.
STUDY, BEST_CONFIG = "study.db", "best.toml"
STUDY_FILES = (STUDY, *(f"{STUDY}-{end}" for end in ("journal", "wal", "shm")))
# What a resumed run, search or curve must be able to replace. Where a foreign file has the name of
# another record, that is kept, with a note.
REPLACED = frozenset(
    (*MODELS, CHECKPOINTS, HISTORY, LOG, SUMMARY, *STUDY_FILES, BEST_CONFIG, CURVE, PICTURE)
)
# Folders that are runs of their own: of seeds, trials, and points of a curve.
SUBRUN = re.compile(rf"{SEED_RUN.pattern}|trial-[0-9]+|size-[0-9]+-seed-[0-9]+")
# What a stopped run of 0.1.0 wrote, besides its checkpoints.
OF_0_1 = (*(f"{model}/{file}" for model in MODELS for file in MODEL_FILES), HISTORY, LOG)
