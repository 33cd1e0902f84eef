"""The feedback head: a recurrent decoder that reads the tag before.

    s[t] = cell(s[t-1], [h[t]; E y[t-1]]),  s[-1] = 0
    p(y[t] | y[0], ..., y[t-1], x) = softmax(W [s[t]; h[t]] + b)
    p(y | x) = product over t of p(y[t] | y[0], ..., y[t-1], x)

with h the encoder's states and E an embedding of tags, which has one more row for the beginning of
a sentence. It is a recurrent network with connections from the output before to the current state,
conditioned on a sequence of the same length (Goodfellow, Bengio and Courville, section 10.2.4 and
fig. 10.10; Jurafsky and Martin, "RNNs and LSTMs", section on the encoder-decoder model, where the
target has a length of its own). The product is the chain rule, so a path's probability is exact,
and unlike a CRF's it depends on the whole history, not on the tag before alone.

Training reads gold tags, teacher forcing (Goodfellow, Bengio and Courville, section 10.2.1, eqs.
10.15-10.16 and fig. 10.6): they are known beforehand, so that the decoder reads the whole batch in
one pass. With scheduled sampling (`sampling.py`) it reads some of its own tags, which takes a pass
token by token; no gradient goes through their choice.

Decoding is a beam search (`beam.py`) over cached products (`decoder_steps.py`). Where the scheme
forbids tags, the others share all of the probability at each token, so that the probabilities of
legal paths sum to 1; a tag is forbidden too if no legal path goes on from it.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from tagkit.nn.cells import CELLS
from tagkit.nn.crf.confidence import PathConfidence
from tagkit.nn.heads.softmax import weighted_cross_entropy
from tagkit.nn.heads.tag_space import TagSpace
from tagkit.nn.heads.tagging import Head
from tagkit.nn.heads.temperature import UNCALIBRATED
from tagkit.nn.linear import fresh_linear
from tagkit.nn.padding import weight_of_tokens, zero_padding
from tagkit.nn.search.beam import beam_confidence, beam_search, path_log_probs
from tagkit.nn.search.decoder_steps import DecoderSteps, State, decoder_steps, greedy

# Hypotheses from which probabilities are computed, if decoding keeps fewer: a greedy search has a
# single one, which says nothing of the others.
_CONFIDENCE_BEAM = 16
_START = 0  # row of the embedding that stands for the tag before the first; tag k has row k + 1

# What a network carries to its next step: h, or h and c, each (1, rows, hidden).
_Carried = Tensor | tuple[Tensor, ...] | None


class FeedbackHead(Head):
    """Each tag given all tags before it."""

    name: ClassVar[str] = "tag feedback"
    constrained_by_default: ClassVar[bool] = True

    def __init__(self, space: TagSpace) -> None:
        """With `space.constrain_training` forbidden tags have no part in the loss either."""
        super().__init__(space)
        options = space.feedback
        self.cell = options.cell
        self.beam = options.beam
        self.sampling = options.sampling
        self.constrain_training = space.constrain_training
        # The row of the start is the first: where a later model adds tags, rows keep their place.
        self.embedding = nn.Embedding(space.tags + 1, options.tag_dim)
        nn.init.xavier_uniform_(self.embedding.weight)  # Glorot and Bengio 2010, eq. 16
        self.decoder = CELLS[options.cell].build(
            space.inputs + options.tag_dim, options.hidden, options.cell_options
        )
        # (..., hidden + inputs) -> (..., tags)
        self.linear = fresh_linear(options.hidden + space.inputs, space.tags)

    def _loss(
        self, states: Tensor, mask: Tensor, targets: Tensor, weights: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy, summed over tokens, and their number."""
        # A NaN on padding would turn the decoder's gradient NaN even where its own gradient is 0.
        states = zero_padding(states, mask)
        # Dev's loss is that of the gold history: -log p(y | x), in which nothing is drawn.
        probability = self.sampling.probability(self.step) if self.training else 0.0
        if probability:
            scores = self._sampled_scores(states, mask, targets, probability)[mask]
        else:
            rows = _rows_before(targets)
            read = torch.cat((states, self.embedding(rows)), dim=2)
            decoded = self.decoder(read)[0]  # one pass: (batch, time, hidden)
            # (batch, time, hidden + inputs) -> (tokens, hidden + inputs) -> (tokens, tags)
            scores = self.linear(torch.cat((decoded, states), dim=2)[mask])
            if self.constrain_training:
                illegal = self._illegal_after()[rows] + self._illegal_ends(mask)
                scores = _restricted(scores, illegal[mask], targets[mask])
        # - sum over tokens of w[y] log p(y | tags before, x)
        total = weighted_cross_entropy(
            scores,
            targets[mask],
            self.tag_weights,
            None if weights is None else weight_of_tokens(weights, mask),
        )
        return total, mask.sum()

    def _sampled_scores(
        self, states: Tensor, mask: Tensor, targets: Tensor, probability: float
    ) -> Tensor:
        """(batch, time, tags), where each tag before is with `probability` one that was drawn."""
        batch, time, _ = states.shape
        after, ends = self._illegal_after(), self._illegal_ends(mask)
        drawn_here = torch.rand(batch, time, device=states.device) < probability
        # The largest of log p + g is a draw from p if each g is -log of an exponential number
        # (Gumbel 1954; torch.multinomial would end the run where a loss is not finite).
        noise = torch.empty(batch, time, self.linear.out_features, device=states.device)
        noise.exponential_().log_().neg_()
        rows = torch.full_like(targets[:, 0], _START)
        carried: _Carried = None
        found = []
        for t, state in enumerate(states.unbind(1)):  # (batch, inputs) each
            scores, carried = self._step(state, rows, carried)
            if self.constrain_training:
                scores = _restricted(scores, after[rows] + ends[:, t], targets[:, t])
            found.append(scores)
            drawn = (scores.detach() + noise[:, t]).argmax(1)
            rows = torch.where(drawn_here[:, t], drawn, targets[:, t]) + 1
        return torch.stack(found, dim=1)

    def _step(self, state: Tensor, rows: Tensor, carried: _Carried) -> tuple[Tensor, _Carried]:
        """Scores of the tags of one token, (rows, tags), and what the decoder carries on.

        Args:
            state: (rows, inputs) of the encoder.
            rows: (rows,) of the embedding, of the tag before.
            carried: from the call before; None at the first token.
        """
        read = torch.cat((state, self.embedding(rows)), dim=1)
        decoded, carried = self.decoder(read.unsqueeze(1), carried)  # a sequence of one token
        return self.linear(torch.cat((decoded.squeeze(1), state), dim=1)), carried

    def _decode(self, states: Tensor, mask: Tensor) -> Tensor:
        steps = self._products(states, mask)
        if self.beam == 1 and not mask.is_cuda:
            return greedy(steps, _START, mask)
        # (batch, 1, time) -> (batch, time)
        return beam_search(_Decoding(steps), mask, self.beam, 1)[0].squeeze(1)

    def _confidence(
        self, states: Tensor, mask: Tensor, tag_ids: Tensor, continuation: Tensor
    ) -> PathConfidence:
        decoding = _Decoding(self._products(states, mask), self.temperature)
        beam = max(self.beam, _CONFIDENCE_BEAM)
        return beam_confidence(decoding, mask, beam, tag_ids, continuation)

    def _n_best(self, states: Tensor, mask: Tensor, count: int) -> tuple[Tensor, Tensor]:
        steps = self._products(states, mask)
        paths, log_probs = beam_search(_Decoding(steps), mask, max(self.beam, count), count)
        if self.temperature != UNCALIBRATED:  # which changes no order
            exists = ~torch.isneginf(log_probs)
            found = path_log_probs(_Decoding(steps, self.temperature), mask, paths)
            log_probs = torch.where(exists, found, log_probs)
        return paths.cpu(), log_probs.cpu()

    @torch.no_grad()
    def _products(self, states: Tensor, mask: Tensor) -> DecoderSteps:
        return decoder_steps(
            self.cell,
            self.decoder,
            self.linear,
            self.embedding.weight,
            zero_padding(states, mask),
            self._illegal_after(),
            self._illegal_ends(mask),
        )

    def _illegal_after(self) -> Tensor:
        """(rows of the embedding, tags) minus infinity where a tag may not follow, else 0."""
        return torch.cat((self.illegal_start.unsqueeze(0), self.illegal_transitions))

    def _illegal_ends(self, mask: Tensor) -> Tensor:
        """(batch, time, tags) minus infinity where no legal path goes on from a tag, else 0."""
        time = mask.shape[1]
        # By the number of tokens that follow: a tag without any needs a legal end, another a legal
        # step to a tag that goes on itself.
        rows = [self.illegal_end]
        while len(rows) < time:
            # (before, after) + (after,) -> (before,)
            row = (self.illegal_transitions + rows[-1]).amax(1)
            if torch.equal(row, rows[-1]):
                break  # and so are all further ones
            rows.append(row)
        following = mask.sum(1, keepdim=True) - 1 - torch.arange(time, device=mask.device)
        return torch.stack(rows)[following.clamp(min=0, max=len(rows) - 1)]


class _Decoding:
    """A batch's sentences, read step by step: `Advance` of a beam search."""

    def __init__(self, steps: DecoderSteps, temperature: float = UNCALIBRATED) -> None:
        self._steps = steps
        self._temperature = temperature
        self._state: State = ()

    def __call__(self, time: int, tags: Tensor | None, parents: Tensor) -> Tensor:
        """As `Advance` describes it."""
        batch, count = parents.shape
        if tags is None:
            rows, self._state = torch.full_like(parents, _START), self._steps.begin(batch)
        else:
            rows = tags + 1
            # Number of each parent among all hypotheses of the call before.
            width = len(self._state[0]) // batch
            start = torch.arange(batch, device=parents.device).unsqueeze(1) * width
            chosen = (parents + start).flatten()
            self._state = tuple(part.index_select(0, chosen) for part in self._state)
        # Those of each sentence for each of its hypotheses: (batch x hypotheses, ...)
        of_states, scores = (
            part[:, time].repeat_interleave(count, dim=0)
            for part in (self._steps.of_states, self._steps.scores)
        )
        found, self._state = self._steps.advance(of_states, scores, rows.flatten(), self._state)
        # (batch x hypotheses, tags) -> (batch, hypotheses, tags)
        return torch.log_softmax(found.view(batch, count, -1) / self._temperature, dim=2)


def _rows_before(targets: Tensor) -> Tensor:
    """(batch, time) rows of the embedding: of each token the tag before."""
    # y[t] -> y[t-1]: one to the right, with the start in front
    return nn.functional.pad(targets[:, :-1] + 1, (1, 0), value=_START)


def _restricted(scores: Tensor, illegal: Tensor, gold: Tensor) -> Tensor:
    """Scores with minus infinity for forbidden tags, but never for the gold one.

    A corpus may break its own scheme, and one such step would make the loss infinite.
    """
    # (rows, tags), and the gold tags as (rows, 1)
    return scores + illegal.scatter(1, gold.unsqueeze(1), 0.0)
