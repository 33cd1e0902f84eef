"""The network of the task "transduce": an encoder of sources, and a decoder that writes targets."""

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.pair_examples import COPIES, UNITS
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.model import Member, Model
from tagkit.models.base.output import ModelOutput
from tagkit.nn.decoder import END_ID, UNKNOWN_ID
from tagkit.nn.decoder.decoder import Decoder, JointDecoder, Memory, StepwiseDecoder, mean_of
from tagkit.nn.generation.step import State
from tagkit.nn.heads.sampling import Sampling, as_in_prediction, with_drawn
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.encoder import Encoder
from tagkit.text.units import END, UNKNOWN


class Transducer(Model):
    """States of a source -> the units of its target.

    Attributes:
        label_smoothing: of training, as `head.label_smoothing` says.
        sampling: how often training reads a unit that was drawn in place of the gold one.
        step: of the optimizer, on which that depends.
    """

    def __init__(
        self,
        *,
        embed: TokenEmbedding,
        encoder: Encoder,
        decoder: Decoder,
        label_smoothing: float,
        sampling: Sampling,
        others: Sequence[Member] = (),
        other_decoders: Sequence[Decoder] = (),
    ) -> None:
        """`decoder` reads the states of `encoder` over the vectors of `embed`, others likewise."""
        super().__init__(embed=embed, encoder=encoder, others=others)
        self.decoder = decoder
        self.other_decoders = nn.ModuleList(other_decoders)
        self.label_smoothing = label_smoothing
        self.sampling = sampling
        self.step = 0

    @property
    def decoders(self) -> list[Decoder]:
        """That of each member of an ensemble, in their order; most models have one."""
        return [self.decoder, *(each for each in self.other_decoders if isinstance(each, Decoder))]

    def loss_alone(
        self, number: int, states: Tensor, final: Tensor, batch: Batch[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """As described in `Model`: each member has a decoder of its own."""
        return self._loss([self.decoders[number]], states, final, batch)

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """As described in `Model`: cross-entropy of each unit after the gold ones before it.

        Teacher forcing (Jurafsky and Martin 2024, section 13.7.1, fig. 13.19). Each unit is one
        target, and so is each end.
        """
        return self._loss(self.decoders, states, final, batch)

    def _loss(
        self, decoders: Sequence[Decoder], states: Tensor, final: Tensor, batch: Batch[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The loss of the mean of what decoders say, whose states are side by side."""
        if len(decoders) == 1:
            return self._loss_of_one(decoders[0], states, final, batch)
        count = len(decoders)
        parts = zip(decoders, states.chunk(count, 2), final.chunk(count, 1), strict=True)
        found = [
            self._loss_of_one(each, own, ended, batch, by_unit=True) for each, own, ended in parts
        ]
        nats = -mean_of([-each for each, _ in found])
        if batch.weights is not None:
            nats = nats * batch.weights.unsqueeze(1)
        return nats[batch.target(UNITS) >= 0].sum(), found[0][1]

    def _loss_of_one(
        self,
        decoder: Decoder,
        states: Tensor,
        final: Tensor,
        batch: Batch[Tensor],
        *,
        by_unit: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The loss, or (batch, steps) nats of each unit, and the number of targets."""
        wanted = batch.target(UNITS)  # (batch, steps), below 0 where padded
        mask, copies = batch.tokens.mask, batch.targets.get(COPIES)
        memory = decoder.memory(states, final, mask, copies)
        # Before the first unit the end is read; a copied symbol that is no unit is unknown.
        read = torch.cat((torch.full_like(wanted[:, :1], END_ID), wanted[:, :-1]), 1).clamp(min=0)
        read = torch.where(read < decoder.options.units, read, UNKNOWN_ID)
        real = wanted >= 0
        units = real.sum(1) - 1 if decoder.length is not None else None
        state = decoder.begin(memory, units=units)
        places = self.sampling.places(self.step, real) if self.training else None
        if places is not None:
            with as_in_prediction(decoder):
                read = with_drawn(read, places, partial(_scored, decoder, memory), state)
        features, after = decoder(memory, read, state)
        count = real.sum()
        smoothing = self.label_smoothing if self.training else 0.0
        plain = batch.weights is None and not by_unit
        if memory.copies is None and units is None and plain:
            # (batch, steps, features) -> (units, features) -> (units, vocabulary)
            scores = decoder.scores(features[real])
            loss = nn.functional.cross_entropy(
                scores, wanted[real], reduction="sum", label_smoothing=smoothing
            )
            return loss, count
        log_probs = decoder.log_probs(memory, features, after[2])
        nats = -log_probs.gather(2, wanted.clamp(min=0).unsqueeze(2)).squeeze(2)
        if smoothing:
            first = UNKNOWN_ID if decoder.length is not None else END_ID
            mean = -log_probs[..., first : decoder.options.units].mean(2)
            nats = (1 - smoothing) * nats + smoothing * mean
        if decoder.length is not None:
            # The end is certain after as many units as the length says, whose nats it has.
            of_length = -decoder.length.log_prob_of(memory.final, real.sum(1) - 1)
            nats = torch.where(wanted == END_ID, of_length.unsqueeze(1), nats)
        if by_unit:
            return nats, count
        if batch.weights is not None:
            nats = nats * batch.weights.unsqueeze(1)
        return nats[real].sum(), count

    def steps(
        self, states: Tensor, final: Tensor, mask: Tensor, copies: Tensor | None
    ) -> JointDecoder:
        """The decoders as a search reads them, from the states of all members side by side."""
        count = len(self.decoders)
        parts = states.float().chunk(count, 2), final.float().chunk(count, 1)
        return JointDecoder(tuple(
            StepwiseDecoder(decoder, decoder.memory(own, ended, mask, copies))
            for decoder, own, ended in zip(self.decoders, *parts, strict=True)
        ))  # fmt: skip

    def output_of(
        self, states: Tensor, final: Tensor, mask: Tensor, *, confidence: bool
    ) -> ModelOutput:
        """Not used: a string is searched for."""
        raise NotImplementedError("a transducer writes strings")

    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        """There are none."""

    def head_labels(self, vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
        """The units, after the end and the unknown one."""
        assert vocabulary.pairs is not None
        units = (END, UNKNOWN, *vocabulary.pairs.units)
        others = {f"other_decoders.{at}.": units for at in range(len(self.other_decoders))}
        return {"decoder.": units, **others}


def _scored(decoder: Decoder, memory: Memory, ids: Tensor, state: State) -> tuple[Tensor, State]:
    """Scores of the units after those that a step reads, the end aside, and the state."""
    features, state = decoder(memory, ids.unsqueeze(1), state)
    ends = torch.tensor([END_ID], device=ids.device)
    return decoder.scores(features[:, 0]).index_fill(1, ends, -torch.inf), state
