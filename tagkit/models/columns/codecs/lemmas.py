"""LEMMA: a softmax over edit scripts, of which the best one that fits the form is applied."""

from collections.abc import Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.errors import BundleError
from tagkit.evaluation.reports.column_report import ColumnReport, make_lemma_report
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import most_frequent
from tagkit.models.base.output import ColumnOutput
from tagkit.models.base.task_records import TrainingData
from tagkit.models.columns.codecs.codec import Codec, ColumnText, Decoded
from tagkit.models.columns.codecs.features import probabilities
from tagkit.nn.heads.parts import PartsHead
from tagkit.text.morphology import apply_script, edit_script, is_script
from tagkit.text.records import Sentence, TagColumn
from tagkit.wording import quoted

_WHOLE = ""  # a script has one part


class LemmaCodec(Codec):
    """Lemmas as edits of the forms."""

    columns: ClassVar[frozenset[str]] = frozenset({"LEMMA"})
    metrics: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy"}

    def head_name(self, config: Config) -> str:
        """One for all scripts."""
        return "softmax"

    def labels(self, learnt: str, text: ColumnText) -> Mapping[str, tuple[str, ...]]:
        """The scripts, the most frequent first."""
        return {_WHOLE: most_frequent(_scripts(text))}

    def target(self, labels: ColumnLabels, text: ColumnText) -> npt.NDArray[Any]:
        """(tokens, 1) id of each word's script."""
        ids = {script: number for number, script in enumerate(labels.parts[_WHOLE])}
        return np.array([ids[script] for script in _scripts(text)], dtype=np.int64).reshape(-1, 1)

    def build(
        self, config: Config, labels: ColumnLabels, inputs: int, data: TrainingData | None
    ) -> nn.Module:
        """A softmax over scripts."""
        return PartsHead(inputs, [len(labels.parts[_WHOLE])])

    def check(
        self, config: Config, labels: ColumnLabels, config_file: Path, vocabulary_file: Path
    ) -> None:
        """There are edit scripts and nothing else."""
        if [*labels.parts] != [_WHOLE]:
            raise BundleError(f"{vocabulary_file}: expected edit scripts of {labels.name}")
        odd = next((each for each in labels.parts[_WHOLE] if not is_script(each)), None)
        if odd is not None:
            raise BundleError(
                f"{vocabulary_file}: expected edit scripts of {labels.name}, found {quoted(odd)}"
            )

    def output(self, head: Any, states: Tensor, mask: Tensor, *, confidence: bool) -> ColumnOutput:
        """The best script of each word, and the scores of all: the best one may not fit the word.

        With `confidence` also their probabilities.
        """
        (scores,) = head.scores(states, mask)  # (batch, time, scripts)
        _, ids = scores.cpu().max(2)  # (batch, time)
        if not confidence:
            return ColumnOutput(ids, scores=scores.cpu())
        probs = torch.softmax(scores / head.temperature, dim=2).cpu()
        return ColumnOutput(ids, scores=scores.cpu(), label_probs=probs, probs=probs.amax(2))

    def decode(
        self, labels: ColumnLabels, output: ColumnOutput, sentences: Sequence[Sentence]
    ) -> list[Decoded]:
        """The lemma that the best applicable script makes of each form."""
        scripts = labels.parts[_WHOLE]
        found = []
        for row, (sentence, ids) in enumerate(zip(sentences, output.ids.tolist(), strict=True)):
            probs = probabilities(output, row, sentence)
            lemmas = []
            for place, (form, number) in enumerate(zip(sentence.words, ids, strict=False)):
                lemma = apply_script(scripts[number], form)
                if lemma is None:  # a form of few characters; the others are rarely looked at
                    assert output.scores is not None
                    scores = output.scores[row, place]
                    lemma, number = _applicable(scripts, scores, form)
                    if probs is not None and output.label_probs is not None:
                        likely = output.label_probs[row, place]
                        probability = float(likely[number]) if number >= 0 else 0.0
                        probs = (*probs[:place], probability, *probs[place + 1 :])
                lemmas.append(lemma)
            found.append(Decoded(TagColumn(labels.name, tuple(lemmas), probs)))
        return found

    def score(
        self,
        labels: ColumnLabels,
        gold: ColumnText,
        predicted: Sequence[tuple[str, ...]],
        forms: Set[str],
        *,
        strict: bool,
    ) -> ColumnReport:
        """Accuracy of lemmas, case included."""
        return make_lemma_report(labels.name, gold.words, gold.values, predicted, forms)


def _scripts(text: ColumnText) -> list[str]:
    """The script of each word; each distinct pair of form and lemma is compared once."""
    pairs = list(
        zip(chain.from_iterable(text.words), chain.from_iterable(text.values), strict=True)
    )
    scripts = {pair: edit_script(*pair) for pair in dict.fromkeys(pairs)}
    return [scripts[pair] for pair in pairs]


def _applicable(scripts: Sequence[str], scores: Tensor, form: str) -> tuple[str, int]:
    """What the best applicable script makes of a form, and its id; the form and -1 if none is."""
    for number in scores.argsort(descending=True).tolist():
        lemma = apply_script(scripts[number], form)
        if lemma is not None:
            return lemma, number
    return form, -1
