"""A toy task that writes a string for each text: the first letters of its words, in capitals.

One module and one row of `TASKS`, as `capitals.py`: nothing else in tagkit knows it. What it
predicts is no label, so that every road has to ask the answer how it is written, shown and scored.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from toy_tasks import ToyModel, ToyTask

from tagkit.config import Config
from tagkit.corpus.records.dataset import Split
from tagkit.evaluation.reports.class_report import ClassReport, make_class_report
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.targets import Target
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.answers.kind import AnswerKind, PredictionOptions
from tagkit.models.answers.strings import StringAnswers
from tagkit.models.base.building import build_embedding, build_encoder
from tagkit.models.base.description import Description, encoder_name
from tagkit.models.base.model import Model, SentenceBatch
from tagkit.models.base.output import ModelOutput
from tagkit.models.base.task_records import ModelContext, TrainingData
from tagkit.text.records import Sentence, StringAnswer

LETTERS = "?ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def initials(sentence: Sentence) -> str:
    return "".join(LETTERS[_letter(word)] for word in sentence.words)


def _letter(word: str) -> int:
    return max(0, LETTERS.find(word[0].upper()))


class Speller(ToyModel):
    """A letter of each token."""

    def __init__(self, embed: Any, encoder: Any) -> None:
        super().__init__(embed=embed, encoder=encoder)
        self.letters = nn.Linear(encoder.outputs, len(LETTERS))

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        mask = batch.tokens.mask
        wanted = batch.target("letters")
        loss = nn.functional.cross_entropy(
            self.letters(states[mask]), wanted[mask], reduction="sum"
        )
        return loss, mask.sum()

    def output_of(
        self, states: Tensor, final: Tensor, mask: Tensor, *, confidence: bool
    ) -> ModelOutput:
        best = self.letters(states).log_softmax(2).max(2)  # (batch, time)
        return ModelOutput(tag_ids=best.indices.cpu(), class_probs=best.values.cpu())


class InitialsTask(ToyTask):
    """The first letters of the words of each text."""

    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        letters = [_letter(word) for sentence in sentences for word in sentence.words]
        return {"letters": Target(np.array(letters, dtype=np.int64), "token")}

    def build(self, config: Config, vocabulary: Vocabulary, data: TrainingData | None) -> Model:
        embed = build_embedding(config, vocabulary)
        return Speller(embed, build_encoder(config, embed.outputs))

    def answers(self, config: Config, vocabulary: Vocabulary) -> AnswerKind:
        return StringAnswers()

    @torch.inference_mode()
    def decode(
        self, context: ModelContext, batch: SentenceBatch, options: PredictionOptions
    ) -> list[StringAnswer]:
        output = context.model.output(batch.tokens, batch.words, confidence=False)
        assert output.tag_ids is not None
        assert output.class_probs is not None
        return [
            StringAnswer(
                " ".join(sentence.words),
                "".join(LETTERS[letter] for letter in letters[: len(sentence)].tolist()),
                float(log_probs[: len(sentence)].sum()),
            )
            for sentence, letters, log_probs in zip(
                batch.sentences, output.tag_ids, output.class_probs, strict=True
            )
        ]

    def score(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[StringAnswer],
        *,
        strict: bool,
    ) -> ClassReport:
        gold = [(initials(sentence),) for sentence in split.sentences]
        return make_class_report(gold, [(each.text,) for each in predictions], several=False)

    def describe(self, config: Config) -> Description:
        return Description(
            encoder=encoder_name(config),
            heads=("a letter a word",),
            unit="text",
            measure="accuracy",
            columns={},
            reads_columns=True,
        )
