"""The network of a language model: units -> hidden states of one direction -> the next unit.

    p(. | x[1..t-1]) = softmax(W h[t-1] + b)

(Jurafsky and Martin, "RNNs and LSTMs", eqs. 13.4-13.8; Mikolov et al. 2010.) With `tied`, W is the
matrix of the units' embeddings (the same, section on weight tying; Press and Wolf 2017; Inan et al.
2017).

Unit number u is row u + 1 of the embedding, whose row 0 is padding: what is predicted is the
unknown unit (0) or a unit of the vocabulary (from 1 on).

The class of a text can be known to the network that writes it, vector to sequence:

    p(x[1..n] | c) = product over t of p(x[t] | x[1..t-1], c)

(Goodfellow, Bengio and Courville, section 10.2.4, fig. 10.9.) The vector of the class is the
initial state of the network, an input of every step, or both, as the book has it.

The language-model loss of `train.lm_loss` predicts words beside what any model learns. Its layers
are parameters of the model that is trained, so that optimizer, averages and checkpoints know them;
a saved model is without them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.config import Config, lm_problem
from tagkit.errors import ConfigError
from tagkit.features import Ids
from tagkit.features.batching.batch import Batch, Words
from tagkit.features.batching.targets import Target
from tagkit.features.vocabulary import UNKNOWN_ID, Vocabulary, most_frequent, word_key
from tagkit.models.base.model import Model
from tagkit.models.base.output import ModelOutput
from tagkit.nn.heads.sampling import Sampling, as_in_prediction, with_drawn
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.recurrent_layer import detached
from tagkit.nn.recurrence.cell import State
from tagkit.nn.recurrence.weights import fresh_linear
from tagkit.nn.softmax.halting import HaltingSoftmax
from tagkit.nn.softmax.language_loss import PREDICTED_WORDS, LanguageLoss
from tagkit.nn.softmax.layer import UnitSoftmax
from tagkit.nn.softmax.length import LengthEnd
from tagkit.text.records import Sentence

CLASSES = "classes"  # name of the target that has the class of each line
TEACHER_FORCING = Sampling("none", 0.0, 1)
FIRST_ROW = UNKNOWN_ID  # of the embedding, that of unit number 0
Change = Callable[[Tensor], Tensor]
Carried = tuple[State, ...]  # the state of each layer; axis 1 of each tensor is the batch


class Condition(nn.Module):
    """Vectors of classes, and states to begin with.

    Attributes:
        log_prior: (classes,) log probability of each class, as counted in training.
        every_step: whether the vector is an input of every step.
    """

    log_prior: Tensor

    def __init__(self, *, classes: int, dim: int, context: str, hidden: int, states: int) -> None:
        """Fresh weights.

        Args:
            classes: their number.
            dim: of the network's inputs.
            context: "initial", "every-step" or "both".
            hidden: values of a state.
            states: their number, of all layers.
        """
        super().__init__()
        self.embedding = nn.Embedding(classes, dim)
        nn.init.xavier_uniform_(self.embedding.weight)  # Glorot and Bengio 2010, eq. 16
        self.every_step = context != "initial"
        self.hidden = hidden
        self.initial = None
        if context != "every-step":
            self.initial = fresh_linear(dim, hidden, states)
        self.register_buffer("log_prior", torch.zeros(classes))

    def forward(self, classes: Tensor) -> Tensor:
        """(rows,) classes -> (rows, dim)."""
        vectors: Tensor = self.embedding(classes)
        return vectors

    def states(self, vectors: Tensor) -> list[Tensor]:
        """(rows, dim) -> (1, rows, hidden) of each state; none where they begin with zeros."""
        if self.initial is None:
            return []
        found = torch.tanh(self.initial(vectors)).unsqueeze(0)
        return [*torch.split(found, self.hidden, dim=2)]


class LanguageModel(Model):
    """Units -> probabilities of the next unit."""

    # The scores of an adaptive softmax's units are relative to those of its clusters.
    heads_are_whole = True

    def __init__(
        self,
        *,
        embed: TokenEmbedding,
        encoder: Encoder,
        head: UnitSoftmax,
        tied: bool,
        length: LengthEnd | None = None,
        sampling: Sampling = TEACHER_FORCING,
    ) -> None:
        """A network of these parts.

        Args:
            embed: of units.
            encoder: of one direction.
            head: the softmax.
            tied: whether it uses the embeddings of units.
            length: of each line, where that ends it.
            sampling: how often training reads a unit that was drawn.
        """
        super().__init__(embed=embed, encoder=encoder)
        self.head = head
        self.tied = tied
        self.condition: Condition | None = None  # where the class of each line is known
        self.length = length
        self.sampling = sampling
        # What training carries from step to step, of all streams; empty before the first step.
        self.carried: Carried = ()
        self._before: Carried = ()  # the same before the current step
        self._step: int | None = None

    def begin_step(self, step: int) -> None:
        """Remember what is carried; where a step is tried again or has failed, go back to it."""
        self.carried = self._before if step == self._step else self.to_carry()
        self._before, self._step = self.carried, step

    def to_carry(self) -> Carried:
        """What the next step begins with: of a step that has left other than numbers, as before."""
        finite = all(
            bool(tensor.isfinite().all()) for state in self.carried for tensor in tensors_of(state)
        )
        return self.carried if finite else self._before

    def carry_on(self, carried: Carried) -> None:
        """Carry what another model has returned from `to_carry`, as before its next step."""
        self.carried = self._before = carried
        self._step = None

    def begin_streams(self, count: int) -> None:
        """Carry zeros for so many streams."""
        self.carried = self._before = self.zero_state(count)

    def add_condition(self, classes: int, context: str, hidden: int) -> None:
        """Let lines be of classes, as `Condition` says; fresh weights."""
        sizes = [one.shape[2] for state in self.zero_state(1) for one in tensors_of(state)]
        self.condition = Condition(
            classes=classes, dim=self.embed.outputs, context=context, hidden=hidden,
            states=sizes.count(hidden),
        )  # fmt: skip

    def count_classes(self, classes: Ids | None) -> None:
        """Learn how frequent each class is, from those of the training lines."""
        assert self.condition is not None
        assert classes is not None
        counts = torch.from_numpy(classes).bincount(minlength=len(self.condition.log_prior))
        self.condition.log_prior.copy_(counts.double().div(len(classes)).log())

    def zero_state(self, rows: int) -> Carried:
        """The state before the first unit of as many texts."""
        like = next(self.parameters())
        one = like.new_zeros(1, 1, self.embed.outputs)
        was_training = self.encoder.training
        self.encoder.eval()  # nothing is drawn at random
        with torch.no_grad():
            _, after = self.encoder.carry(one, None)
        self.encoder.train(was_training)
        return tuple(
            mapped(state, lambda one: torch.zeros_like(one).expand(-1, rows, -1).contiguous())
            for state in after
        )

    def forward(self, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """The loss of a batch, whose streams go on from the step before."""
        mask = batch.tokens.mask
        streams = batch.targets.get("streams")
        known = self.known(batch.targets.get(CLASSES), len(mask))
        lengths = mask.sum(1) - 1  # without the end
        carried = self.begin(known) if streams is None else self._carried_by(streams)
        places = self.sampling.places(self._step or 0, mask) if self.training else None
        if places is not None:
            batch = self._with_drawn(batch, places, (carried, known, lengths))
        inputs = self.inputs(batch)
        given = self.given(known, lengths, mask.shape[1])
        inputs = inputs if given is None else inputs + given
        with self._watched() as penalties:
            # To the right of a sequence's last unit nothing is read that counts.
            topmost, after = self.encoder.carry(inputs, carried)
        states = self.encoder.output_states(topmost, mask)
        if streams is not None:
            self._keep(streams[:, 0], after)
        # In mixed precision too: sums over all units need all digits.
        with torch.autocast(states.device.type, enabled=False):
            # (batch, time, hidden) -> (units, hidden), without padding and what does not count
            places = batch.target("places")
            counted = full_precision(states).flatten(0, 1).index_select(0, places)
            wanted = batch.target("units").flatten().index_select(0, places)
            total, count = self.head.loss(counted, wanted, self._table())
            if self.length is not None:
                total = total - self.length.log_prob_of(known, lengths).sum()
        return self._regularised(total, penalties), count

    def known(self, classes: Tensor | None, rows: int) -> Tensor:
        """(rows, values) what is known of as many lines by their classes; no values for nothing."""
        if self.condition is None or classes is None:
            return next(self.parameters()).new_zeros(rows, 0)
        vectors: Tensor = self.condition(classes)
        return vectors

    def begin(self, known: Tensor) -> Carried | None:
        """The state before the first unit of lines, (rows, values) of `known`; None for zeros."""
        values = self.condition.states(known) if self.condition is not None else []
        if not values:
            return None

        def first(zeros: Tensor) -> Tensor:
            return values.pop(0).contiguous() if zeros.shape[2] == values[0].shape[2] else zeros

        return tuple(
            mapped(state, lambda one: first(one) if values else one)
            for state in self.zero_state(len(known))
        )

    def given(self, known: Tensor, lengths: Tensor, steps: int) -> Tensor | None:
        """(rows, steps, dim) what lines add to their inputs; None for nothing.

        Args:
            known: (rows, values) of `known`.
            lengths: (rows,) units that remain before the first step, where a length ends lines.
            steps: their number.
        """
        parts = []
        if self.condition is not None and self.condition.every_step:
            parts.append(known.unsqueeze(1).expand(-1, steps, -1))
        if self.length is not None:
            parts.append(
                self.length(lengths.unsqueeze(1) - torch.arange(steps, device=known.device))
            )
        return sum(parts[1:], parts[0]) if parts else None

    def line_log_probs(self, batch: Batch[Tensor], classes: Tensor | None = None) -> Tensor:
        """(lines, time) log probability of each unit of lines by themselves, 0 on padding.

        Args:
            batch: of lines, with their units.
            classes: (lines,) of each; None for those of the batch.
        """
        mask = batch.tokens.mask
        known = self.known(batch.targets.get(CLASSES) if classes is None else classes, len(mask))
        lengths = mask.sum(1) - 1
        units = batch.words.word_ids[batch.tokens.rows] - FIRST_ROW
        given = self.given(known, lengths, mask.shape[1])
        states, _ = self.read_on(units, self.begin(known), given)
        found = states.new_zeros(mask.shape)
        found[mask] = self.log_prob_of(states[mask], batch.target("units")[mask]).to(found.dtype)
        if self.length is not None:
            of_lengths = self.length.log_prob_of(known, lengths)
            found = found.scatter_add(1, lengths.unsqueeze(1), of_lengths.unsqueeze(1))
        return found

    def _with_drawn(
        self, batch: Batch[Tensor], places: Tensor, begun: tuple[Carried | None, Tensor, Tensor]
    ) -> Batch[Tensor]:
        """A batch of which some units that are read were drawn (`nn/heads/sampling.py`).

        Args:
            batch: with the gold ones.
            places: (rows, time) bool, True of those to be drawn.
            begun: the state, what is known of the lines, and how many units remain of each.
        """
        carried, known, lengths = begun
        ids = batch.words.word_ids[batch.tokens.rows]
        # A line that is read by itself goes on to its end.
        ends = ids[0, :1] - FIRST_ROW if "streams" not in batch.targets else ids.new_zeros(0)

        def read(units: Tensor, state: tuple[Carried | None, Tensor]) -> tuple[Tensor, Any]:
            carried, remaining = state
            given = self.given(known, remaining, 1)
            states, after = self.read_on(units.unsqueeze(1), carried, given)
            scores = self.log_probs(full_precision(states[:, 0])).index_fill(1, ends, -torch.inf)
            return scores, (after, remaining - 1)

        with as_in_prediction(self.encoder):
            drawn = with_drawn(ids - FIRST_ROW, places, read, (carried, lengths)) + FIRST_ROW
        distinct, rows = torch.unique(drawn, return_inverse=True)
        words = Words(
            distinct, torch.zeros_like(distinct), (), distinct.new_zeros(len(distinct), 0)
        )
        return replace(batch, words=words, tokens=replace(batch.tokens, rows=rows))

    def read_on(
        self,
        units: Tensor,
        carried: Carried | None,
        given: Tensor | None = None,
        *,
        all_layers: bool = False,
    ) -> tuple[Tensor, Carried]:
        """States after each of some units, and the state to go on from.

        Args:
            units: (rows, time) int64 numbers of units; none is padding.
            carried: of as many rows; None at the beginning.
            given: (rows, time, dim) from `given`.
            all_layers: whether states of all `mixed_layers` are wanted, side by side.

        Returns:
            (rows, time, hidden), and the state after the last unit.
        """
        inputs = nn.functional.embedding(units + FIRST_ROW, self.embed.words.trained.weight)
        inputs = inputs if given is None else inputs + given
        passed = [inputs] if all_layers else None
        topmost, after = self.encoder.carry(inputs, carried, passed)
        real = torch.ones(units.shape, dtype=torch.bool, device=units.device)
        states = self.encoder.output_states(topmost, real)
        if passed is not None:
            passed += [states] if self.encoder.output_layers else []
            states = torch.cat([e for e in passed if e.shape[-1] == states.shape[-1]], -1)
        return states, after

    @property
    def mixed_layers(self) -> int:
        """Number of layers as wide as what the softmax reads, embeddings of units among them."""
        encoder = self.encoder
        widths = [self.embed.outputs, *(layer.outputs for layer in encoder.stack())]
        widths += [encoder.outputs] if encoder.output_layers else []
        return widths.count(encoder.outputs)

    def log_probs(self, states: Tensor) -> Tensor:
        """(tokens, hidden) -> (tokens, units) log-probability of each unit, if one comes next."""
        return self.head.log_probs(states, self._table())

    def halt_probs(self, states: Tensor) -> Tensor | None:
        """(tokens, hidden) -> (tokens,) probability that a line ends there.

        None where a unit stands for the end.
        """
        return self.head.halt_probs(states) if isinstance(self.head, HaltingSoftmax) else None

    def log_prob_of(self, states: Tensor, units: Tensor) -> Tensor:
        """(tokens, hidden) and (tokens,) -> (tokens,) log-probability of the units given."""
        return self.head.log_prob_of(states, units, self._table())

    def _table(self) -> Tensor | None:
        """(units, dim) embedding of each unit that can be predicted, where the softmax is tied."""
        return self.embed.words.trained.weight[FIRST_ROW:] if self.tied else None

    def _carried_by(self, streams: Tensor) -> Carried:
        """What the streams of a batch carry; zeros where they begin."""
        rows, goes_on = streams[:, 0], (streams[:, 1] > 0)[None, :, None]
        return tuple(
            # (1, all streams, values) -> (1, batch, values); a product would keep NaN
            mapped(state, lambda one: torch.where(goes_on, one.to(rows.device)[:, rows], 0))
            for state in self.carried
        )

    def _keep(self, rows: Tensor, after: Iterable[State]) -> None:
        """Carry these states on, without gradients, in the place of those of the same streams."""
        self.carried = tuple(
            replaced(old, rows, detached(new)) for old, new in zip(self.carried, after, strict=True)
        )

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """Not used: `forward` carries states on."""
        raise NotImplementedError("a language model reads its batches by `forward`")

    def output_of(
        self, states: Tensor, final: Tensor, mask: Tensor, *, confidence: bool
    ) -> ModelOutput:
        """Not used: nothing is annotated."""
        raise NotImplementedError("a language model annotates no sentences")

    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        """There are none."""

    def head_labels(self, vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
        """The units, after the unknown one."""
        return {"head.": vocabulary.words}


def full_precision(states: Tensor) -> Tensor:
    """States that mixed precision has computed in 16 bits, in 32."""
    return states.float() if states.element_size() == 2 else states


def tensors_of(state: State) -> tuple[Tensor, ...]:
    """What a layer carries, as several tensors or one."""
    return (state,) if isinstance(state, Tensor) else state


def mapped(state: State, change: Change) -> State:
    """Apply a function to each tensor of a state."""
    return change(state) if isinstance(state, Tensor) else tuple(map(change, state))


def replaced(old: State, rows: Tensor, new: State) -> State:
    """`old` with some rows of the batch from `new`; both stay as they are.

    Args:
        old: tensors with the batch on axis 1, (layers, batch, values).
        rows: (replaced,) int64, which rows of `old`.
        new: the same with (layers, replaced, values).
    """
    if isinstance(old, Tensor):
        assert isinstance(new, Tensor)
        return old.to(new.device).index_copy(1, rows, new.to(old.dtype))
    return tuple(
        one.to(other.device).index_copy(1, rows, other.to(one.dtype))
        for one, other in zip(old, new, strict=True)
    )


_UNKNOWN = 0  # id of all words but the most frequent ones


def predicted_words(counts: Counter[str]) -> tuple[str, ...]:
    """The words that are told apart, from how often each form of the training corpus occurs."""
    return most_frequent(counts)[:PREDICTED_WORDS]


def language_target(config: Config, sentences: Sequence[Sentence], words: Sequence[str]) -> Target:
    """The word of each token, as an id among `words`."""
    # Not the ids that the model reads: with frozen vectors most words have none, and singletons are
    # read as the unknown word at times.
    ids = {word: number for number, word in enumerate(words, _UNKNOWN + 1)}
    options = config.embeddings
    surfaces = [word for sentence in sentences for word in sentence.words]
    known = {
        surface: ids.get(word_key(surface, options.lowercase, options.normalize_digits), _UNKNOWN)
        for surface in dict.fromkeys(surfaces)
    }
    found = np.fromiter(map(known.__getitem__, surfaces), np.int64, len(surfaces))
    return Target(found, "token", auxiliary=True)


def add_language_loss(model: Model, config: Config, words: Sequence[str]) -> None:
    """Give a model the layers of the loss, with fresh weights.

    Args:
        model: whose other weights are drawn already, so that they do not depend on this loss.
        config: resolved.
        words: that are predicted.

    Raises:
        ConfigError: the model's states cannot predict.
    """
    # Again, as `train.init_from` may have brought another encoder.
    if problem := lm_problem(config):
        raise ConfigError("train.init_from", [problem])
    model.language_loss = LanguageLoss(
        weight=config.train.lm_loss,
        per_token=not model.text_targets,
        words=len(words) + 1,
        features=config.encoder.hidden,
        backwards=config.encoder.bidirectional,
    )
