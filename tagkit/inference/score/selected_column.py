"""One of the tag columns that a model predicts together, scored as if it were alone.

Analyses, comparisons of models and pages are of one column of tags. All columns are read and
predicted as ever; then one of them is taken for the tags.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagkit.config import DataConfig
from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError
from tagkit.evaluation.reports.class_report import label_reports
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.tag_report import TagReport, make_tag_report
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.text.records import Prediction
from tagkit.text.scheme_detection import Detection
from tagkit.text.schemes import PLAIN
from tagkit.wording import clipped, listed

if TYPE_CHECKING:  # whose module imports torch
    from tagkit.inference.predict.predictor import Predictor


@dataclass(frozen=True, slots=True)
class SelectedColumn:
    """The column.

    Attributes:
        place: among those of the model, from 0.
        name: as the model has it.
        scheme: of its tags in the training corpus; `PLAIN` of other values.
    """

    place: int
    name: str
    scheme: str

    def of_split(self, split: Split) -> Split:
        """The corpus with the values of this column as its tags."""
        return replace(
            split,
            sentences=[
                replace(each, tags=each.columns[self.place].values) for each in split.sentences
            ],
            detection=Detection(self.scheme, 0, 0),
        )

    def of_report(
        self, report: Report, split: Split, predictions: Sequence[Prediction]
    ) -> TagReport:
        """The part of the report on all columns, or one on whole values where these are no tags.

        Args:
            report: on all columns.
            split: the corpus, with all of them.
            predictions: for its sentences.
        """
        found = label_reports(report).get(self.name)
        if isinstance(found, TagReport):
            return found
        # A value of FEATS and a lemma are compared as they stand, like those of two files.
        gold = [each.columns[self.place].values for each in split.sentences]
        return make_tag_report(
            gold, [each.columns[self.place].values for each in predictions], PLAIN
        )

    def of_judged(self, judged: Mapping[str, Outcomes]) -> dict[str, Outcomes]:
        """The probabilities of this column as those of "tags"; nothing where there are none."""
        return {"tags": judged[self.name]} if self.name in judged else {}


def one_column(predictor: "Predictor", data: DataConfig) -> SelectedColumn | None:
    """The one column of a model's several that is named; None where all of them are meant.

    Raises:
        DataError: a single one is named that the model does not predict.
    """
    columns = predictor.config.data.tag_columns
    if not columns or data.tag_column is None or data.tag_columns:
        return None
    if data.tag_column not in columns:
        known = listed([str(column) for column in columns])
        several = ", or a list of as many" if len(columns) > 1 else ""
        raise DataError(
            "data.tag_column: expected one of the columns that the model predicts "
            f"({known}){several}; found {clipped(str(data.tag_column))}"
        )
    place = columns.index(data.tag_column)
    labels = predictor.vocabulary.columns[place]
    return SelectedColumn(place, labels.name, labels.scheme)


def all_columns(data: DataConfig) -> DataConfig:
    """How a corpus is read for a model of several columns, of which one was named."""
    return data.model_copy(update={"tag_column": None})
