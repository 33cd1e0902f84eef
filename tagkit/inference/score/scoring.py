"""One report on predictions, whatever they come from: files, records, or a model.

`tagkit eval` and the functions of `inference/score/evaluate.py` share it, so their scores never
differ.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagkit.config import DataConfig
from tagkit.corpus.files import path_text, read
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.objects import read_records
from tagkit.corpus.source.options import log_note
from tagkit.errors import DataError
from tagkit.evaluation.analysis.analysis import read_training
from tagkit.evaluation.analysis.by_sentence import NO_ANALYSES
from tagkit.evaluation.compare.compare import PredColumn, compare_files, compare_records
from tagkit.evaluation.reports.class_report import counts_spans
from tagkit.evaluation.reports.report import Report
from tagkit.limits import BATCH_SIZE
from tagkit.models.base.memory import without_collection

if TYPE_CHECKING:  # it imports torch, which takes seconds and is not needed to compare files
    from tagkit.inference.predict.predictor import Predictor
    from tagkit.nn.softmax.neural_cache import CacheOptions

# Sentences, documents, answers of a model, or other objects of `corpus.records.objects`.
Records = Iterable[Any]


@dataclass(frozen=True, slots=True)
class Scoring:
    """How predictions are scored.

    Attributes:
        data: how files are read.
        pred_column: of the predicted tags in a column file; None for the last one, and of CoNLL-U
            for that of the gold tags; of several, one for each.
        strict: count well-formed spans only.
        batch_size: of a model, as for `predict`.
        note: called with a sentence on the format that was recognised, and on odd corpora.
        cache: of a language model, mixed into its probabilities; None for none.
    """

    data: DataConfig
    pred_column: PredColumn = None
    strict: bool = False
    batch_size: int = BATCH_SIZE
    note: Callable[[str], None] = log_note
    cache: "CacheOptions | None" = None

    @without_collection()
    def report(
        self,
        gold: str | Path | Records,
        pred: str | Path | Records | None = None,
        predictor: "Predictor | None" = None,
        *,
        keep: bool = False,
        confidence: bool = False,
    ) -> Report:
        """The report on predictions, or on those of a model.

        Args:
            gold: file or records with gold labels.
            pred: the same with predicted ones; None where a model predicts, or for a column file
                that holds both.
            predictor: the model.
            keep: keep all tags and words of files in the report, for analyses and comparisons.
            confidence: keep the probabilities of predictions in the report.

        Raises:
            DataError: gold and predicted words differ, the labels are not of the same kind, or
                labels are to be kept of a model that predicts none.
        """
        if predictor is not None:
            if keep:  # before a long text is scored
                predictor.task.require_answers(predictor.config, DataError(NO_ANALYSES))
            report = self._report_of_model(gold, predictor, confidence)
        else:
            report = self._report_of_both(gold, pred, keep=keep, confidence=confidence)
        if self.strict and not counts_spans(report):
            raise DataError(
                "the gold labels are no spans, but plain labels: strict=True is for spans"
            )
        return report

    def _report_of_both(
        self,
        gold: str | Path | Records,
        pred: str | Path | Records | None,
        *,
        keep: bool,
        confidence: bool,
    ) -> Report:
        """The report on two files or records, or on one column file."""
        if isinstance(gold, str | Path) and (pred is None or isinstance(pred, str | Path)):
            other = None if pred is None else path_text(pred, "pred")
            return compare_files(
                str(gold),
                other,
                self.data,
                self.pred_column,
                self.strict,
                self.note,
                keep_labels=keep,
                confidence=confidence,
            )
        if pred is None:
            raise DataError("expected a model or pred beside the gold records, found neither")
        sides = (
            read_records(self._records(gold), self.data, "gold"),
            read_records(self._records(pred), self.data, "pred"),
        )
        return compare_records(*sides, self.data, self.strict, self.note)

    def training(self, path: str | Path, predictor: "Predictor | None" = None) -> Split:
        """The training corpus, read as the gold file is, or as the model was trained.

        Raises:
            DataError: it cannot be read, or has no tags.
        """
        file = path_text(path, "train")
        if predictor is None:
            return read_training(file, self.data, self.note)
        from tagkit.inference.score.score import gold_split
        from tagkit.inference.score.selected_column import all_columns, one_column

        column = one_column(predictor, self.data)
        if column is None:
            return gold_split(predictor, file, self.data)
        return column.of_split(gold_split(predictor, file, all_columns(self.data)))

    def _report_of_model(
        self, gold: str | Path | Records, predictor: "Predictor", confidence: bool
    ) -> Report:
        from tagkit.inference.score.score import check_cache, score_model, score_records

        options = self.data, self.strict, self.batch_size, self.note
        if isinstance(gold, str | Path):
            return score_model(
                predictor, str(gold), *options, confidence=confidence, cache=self.cache
            )
        if self.cache is not None:
            check_cache(predictor, self.cache)
        records = self._records(gold)
        return score_records(predictor, records, *options, confidence=confidence, cache=self.cache)

    def _records(self, given: str | Path | Records) -> Records:
        """The records, read from a file where one is given."""
        if isinstance(given, str | Path):
            return read(given, note=self.note, **self.data.model_dump(exclude_defaults=True))
        return given
