"""Names of what training runs, searches and learning curves write into their folders."""

import re

from tagkit.models.folder.parts import CONFIG, VOCABULARY
from tagkit.models.folder.seed_folders import SEED_RUN, SUMMARY
from tagkit.storage import BEST, CURVE, HISTORY, LAST, METADATA, WEIGHTS
from tagkit.training.events.callbacks import CURVES, LOG
from tagkit.training.folder.curve_files import PICTURE, SIZE_RUN
from tagkit.training.folder.trials import BEST_CONFIG, STUDY_FILES, TRIAL_RUN

MODELS = (BEST, LAST)
MODEL_FILES = (WEIGHTS, CONFIG, VOCABULARY, METADATA)
CHECKPOINTS, TRACKED = "checkpoints", "tensorboard"
PREDICTED = {"dev": "dev.pred", "test": "test.pred"}
REPORT_TEXT, REPORT_JSON = "report.txt", "report.json"
GOLD = "dev.gold"
RESULTS = (*PREDICTED.values(), GOLD, REPORT_TEXT, REPORT_JSON)
# Records, which a new run replaces without `force`.
RECORDS = frozenset((HISTORY, LOG, CURVES, TRACKED, *RESULTS))
# What a resumed run, search or curve must be able to replace. Where a foreign file has the name of
# another record, that is kept, with a note.
REPLACED = frozenset(
    (*MODELS, CHECKPOINTS, HISTORY, LOG, SUMMARY, *STUDY_FILES, BEST_CONFIG, CURVE, PICTURE)
)
SUBRUN = re.compile("|".join(each.pattern for each in (SEED_RUN, TRIAL_RUN, SIZE_RUN)))
# What a stopped run of 0.1.0 wrote, besides its checkpoints.
OF_0_1 = (*(f"{model}/{file}" for model in MODELS for file in MODEL_FILES), HISTORY, LOG)
