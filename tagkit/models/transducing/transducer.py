"""The network of the task "transduce": an encoder of sources, and a decoder that writes targets."""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.pair_examples import COPIES, UNITS
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.model import Model
from tagkit.models.base.output import ModelOutput
from tagkit.nn.decoder import END_ID, UNKNOWN_ID
from tagkit.nn.decoder.decoder import Decoder, Memory
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
    ) -> None:
        """`decoder` reads the states of `encoder` over the vectors of `embed`."""
        super().__init__(embed=embed, encoder=encoder)
        self.decoder = decoder
        self.label_smoothing = label_smoothing
        self.sampling = sampling
        self.step = 0

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """As described in `Model`: cross-entropy of each unit after the gold ones before it.

        Teacher forcing (Jurafsky and Martin 2024, section 13.7.1, fig. 13.19). Each unit is one
        target, and so is each end.
        """
        wanted = batch.target(UNITS)  # (batch, steps), below 0 where padded
        memory = self.memory(states, final, batch.tokens.mask, batch.targets.get(COPIES))
        # Before the first unit the end is read; a copied symbol that is no unit is unknown.
        read = torch.cat((torch.full_like(wanted[:, :1], END_ID), wanted[:, :-1]), 1).clamp(min=0)
        read = torch.where(read < self.decoder.options.units, read, UNKNOWN_ID)
        real = wanted >= 0
        units = real.sum(1) - 1 if self.decoder.length is not None else None
        state = self.decoder.begin(memory, units=units)
        places = self.sampling.places(self.step, real) if self.training else None
        if places is not None:
            with as_in_prediction(self.decoder):
                read = with_drawn(read, places, partial(self._scored, memory), state)
        features, after = self.decoder(memory, read, state)
        count = real.sum()
        smoothing = self.label_smoothing if self.training else 0.0
        if memory.copies is None and batch.weights is None and units is None:
            # (batch, steps, features) -> (units, features) -> (units, vocabulary)
            scores = self.decoder.scores(features[real])
            loss = nn.functional.cross_entropy(
                scores, wanted[real], reduction="sum", label_smoothing=smoothing
            )
            return loss, count
        log_probs = self.decoder.log_probs(memory, features, after[2])
        nats = -log_probs.gather(2, wanted.clamp(min=0).unsqueeze(2)).squeeze(2)
        if smoothing:
            first = UNKNOWN_ID if self.decoder.length is not None else END_ID
            mean = -log_probs[..., first : self.decoder.options.units].mean(2)
            nats = (1 - smoothing) * nats + smoothing * mean
        if self.decoder.length is not None:
            # The end is certain after as many units as the length says, whose nats it has.
            of_length = -self.decoder.length.log_prob_of(memory.final, real.sum(1) - 1)
            nats = torch.where(wanted == END_ID, of_length.unsqueeze(1), nats)
        if batch.weights is not None:
            nats = nats * batch.weights.unsqueeze(1)
        return nats[real].sum(), count

    def _scored(self, memory: Memory, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """Scores of the units after those that a step reads, and the state."""
        features, state = self.decoder(memory, ids.unsqueeze(1), state)
        return self.decoder.scores(features[:, 0]), state

    def memory(self, states: Tensor, final: Tensor, mask: Tensor, copies: Tensor | None) -> Memory:
        """What the decoder knows of sources, from the states of the encoder."""
        found: Memory = self.decoder.memory(states.float(), final.float(), mask, copies)
        return found

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
        return {"decoder.": (END, UNKNOWN, *vocabulary.pairs.units)}
