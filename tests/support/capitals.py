"""A toy task, as a developer would add one: the number of capitalised words in a sentence.

One module and one row of `TASKS`: nothing else in tagkit knows it. It is unlike the tasks of the
product on purpose. Its targets follow from the words, so that its corpora need no labels; what it
learns is a number; and it carries state from step to step, as a language model does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from toy_tasks import ToyModel, ToyTask

from tagkit.config import Config
from tagkit.corpus.records.dataset import Split
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.targets import Target
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.answers.classes import ClassAnswers
from tagkit.models.answers.kind import AnswerKind, PredictionOptions
from tagkit.models.base.building import build_embedding, build_encoder
from tagkit.models.base.description import Description, encoder_name
from tagkit.models.base.model import Model, SentenceBatch
from tagkit.models.base.output import ModelOutput
from tagkit.models.base.task_records import ModelContext, TrainingData
from tagkit.text.records import LabelScore, Prediction, Sentence


def capitals(sentence: Sentence) -> int:
    return sum(word[0].isupper() for word in sentence.words)


@dataclass(frozen=True)
class CountReport:
    """How many sentences have the right number."""

    sentences: int
    exact: float

    @property
    def headline(self) -> float:
        return self.exact

    @property
    def measure(self) -> str:
        return "exact"

    def parts(self) -> dict[str, float]:
        return {"exact": self.exact}

    def to_dict(self) -> dict[str, Any]:
        own = {"kind": "counts", "measure": self.measure, "headline": self.headline}
        return {**own, **asdict(self)}


class Counter(ToyModel):
    """A share of each token, added up."""

    mean: Tensor

    def __init__(self, embed: Any, encoder: Any) -> None:
        super().__init__(embed=embed, encoder=encoder)
        self.share = nn.Linear(encoder.outputs, 1)
        # Carried from step to step: a mean of the targets, which weighs the loss.
        self.register_buffer("mean", torch.ones(()), persistent=False)

    def counts(self, states: Tensor, mask: Tensor) -> Tensor:
        shares: Tensor = self.share(states).squeeze(2).masked_fill(~mask, 0)
        return shares.sum(1)

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        wanted = batch.target("capitals")
        squares = (self.counts(states, batch.tokens.mask) - wanted) ** 2
        if self.training:
            self.mean = 0.5 * self.mean + 0.5 * wanted.mean()
        return squares.sum() / self.mean, torch.tensor(len(wanted))

    def output_of(
        self, states: Tensor, final: Tensor, mask: Tensor, *, confidence: bool
    ) -> ModelOutput:
        return ModelOutput(class_probs=self.counts(states, mask).cpu())

    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        self.mean = torch.ones(())


class CapitalsTask(ToyTask):
    """The number of capitalised words of each sentence."""

    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        counts = np.array([capitals(sentence) for sentence in sentences], dtype=np.float32)
        return {"capitals": Target(counts, "sentence")}

    def state(self, model: Model) -> Mapping[str, Tensor]:
        return {"mean": model.mean}

    def restore(self, model: Model, state: Mapping[str, Tensor]) -> None:
        model.mean = state["mean"].clone()

    def build(self, config: Config, vocabulary: Vocabulary, data: TrainingData | None) -> Model:
        embed = build_embedding(config, vocabulary)
        return Counter(embed, build_encoder(config, embed.outputs))

    def answers(self, config: Config, vocabulary: Vocabulary) -> AnswerKind:
        return ClassAnswers((), several=False)

    def decode(
        self,
        context: ModelContext,
        batch: SentenceBatch,
        options: PredictionOptions,
    ) -> list[Prediction]:
        output = context.model.output(batch.tokens, batch.words, confidence=False)
        assert output.class_probs is not None
        return [
            Prediction(
                sentence.words,
                (),
                labels=(str(round(count)),),
                scores=(LabelScore(str(round(count)), 1.0),),
            )
            for sentence, count in zip(batch.sentences, output.class_probs.tolist(), strict=True)
        ]

    def score(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> CountReport:
        right = [
            prediction.labels == (str(capitals(sentence)),)
            for sentence, prediction in zip(split.sentences, predictions, strict=True)
        ]
        return CountReport(len(right), sum(right) / len(right))

    def describe(self, config: Config) -> Description:
        return Description(
            encoder=encoder_name(config),
            heads=("a sum",),
            unit="sentence",
            measure="exact",
            columns={},
            reads_columns=True,
        )
