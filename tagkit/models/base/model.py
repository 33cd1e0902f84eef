"""What the models of all tasks share: words, characters and features to hidden states.

    words, characters, features -> vectors        nn/layers/embedding.py
    vectors                     -> hidden states  nn/layers/encoder.py; in prediction
                                                  nn/layers/inference.py

One such network (a member), or several side by side (`nn/heads/ensemble.py`), gives the states. A
task adds what it reads from them, its heads, and their loss (`tagger.py`, `classifier.py`,
`joint.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.features.batching.contextual_states import States, padded_rows
from tagkit.features.batching.encoding import Encoded
from tagkit.features.language_part import LanguagePart
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.feature_rows import FeatureRows
from tagkit.models.base.output import ModelOutput
from tagkit.models.base.readout import Readout
from tagkit.nn.feature_crf.feature_crf import FeatureCrf
from tagkit.nn.heads.bag_of_words import BagOfWords
from tagkit.nn.heads.ensemble import alone, together
from tagkit.nn.layers.documents import JoinedRows
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.inference import CachedWords, CharReader, read_cached
from tagkit.nn.layers.information_flow import watched_flow
from tagkit.nn.recurrence.weights import count_parameters
from tagkit.nn.softmax.language_loss import LanguageLoss, Sides
from tagkit.nn.trees.encoder import TreeEncoder
from tagkit.text.records import Sentence


class ContextualStates(Protocol):
    """The language models of a model.

    Attributes:
        parts: what each of them is, in the order of their values.
    """

    parts: tuple[LanguagePart, ...]

    @property
    def weights(self) -> int:
        """How many weights they have together."""

    def read(self, sentences: Sequence[Sentence], device: torch.device) -> list[States]:
        """The states at each word of each sentence, (words, values of all models).

        Args:
            sentences: each is read by itself.
            device: where the models work.
        """

    def tensors(self) -> Mapping[str, Tensor]:
        """Their weights, by the names that a saved model has for them."""

    def set_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take these weights, named as in `tensors`; others among them are left alone."""


class Member(nn.Module):
    """Embedding and encoder.

    Attributes:
        contextual: language models whose states are inputs; None in a model without them. Only
            those that are trained are a submodule: of others neither an optimizer nor a checkpoint
            has anything.
    """

    contextual: ContextualStates | None

    def __init__(self, *, embed: TokenEmbedding, encoder: Encoder) -> None:
        """`embed` gives vectors of words, `encoder` hidden states of vectors."""
        super().__init__()
        # These names, and those of the heads, are names of tensors in every saved model.
        self.embed = embed
        self.encoder = encoder
        self.contextual = None

    def vectors(self, words: Words[Tensor], char_reader: CharReader | None = None) -> Tensor:
        """(words, features) vectors of distinct words; `char_reader` is that of prediction."""
        return self.embed.vectors(
            words.word_ids, words.vector_rows, words.char_ids, words.affix_ids, char_reader
        )

    def read_alone(self, tokens: Tokens[Tensor], words: CachedWords) -> tuple[Tensor, Tensor]:
        """Hidden and final states of this network, on a CPU with cached input projections."""
        readers = words.readers
        if readers:
            # Words first, then each feature column: their projections add up to the input of
            # the first layer, as W [a; b] = W_a a + W_b b.
            projected = (words.projected, *words.features)
            rows = (tokens.rows, *tokens.feature_ids)
            beside = self.embed.beside(tokens.contextual, tokens.numbers)
            if beside is not None:
                # No two tokens share these: a table with a row for each token.
                table = readers[0].project(beside.flatten(0, 1), self.embed.contextual_start)
                projected = (*projected, table)
                rows = (*rows, torch.arange(len(table)).view(tokens.mask.shape))
            if tokens.documents is None:
                return read_cached(self.encoder, readers, projected, rows, tokens.mask)
            joined = JoinedRows.of(tokens.documents, tokens.mask)
            whole = tuple(map(joined.join, rows))
            states, final = read_cached(self.encoder, readers, projected, whole, joined.mask)
            return joined.part(states), final[tokens.documents]
        return self.encoded(self.token_inputs(words.vectors, tokens), tokens)

    def encoded(self, inputs: Tensor, tokens: Tokens[Tensor]) -> tuple[Tensor, Tensor]:
        """States of all tokens, and the final states of what each sentence is read with.

        Args:
            inputs: (batch, time, features) vectors of the tokens.
            tokens: of the batch.

        Returns:
            (batch, time, hidden) and (batch, hidden).
        """
        return self.encoder.output(*self.read_layers(inputs, tokens), tokens.mask)

    def read_layers(self, inputs: Tensor, tokens: Tokens[Tensor]) -> tuple[Tensor, Tensor]:
        """The same of the topmost layer, before dropout and output layers; of nodes over trees."""
        if tokens.children is not None:
            assert isinstance(self.encoder, TreeEncoder)
            return self.encoder.read_trees(inputs, tokens.mask, tokens.children)
        if tokens.documents is None:
            return self.encoder.read_layers(inputs, tokens.mask)
        joined = JoinedRows.of(tokens.documents, tokens.mask)
        return self.encoder.read_layers(inputs, tokens.mask, joined)

    def inputs(self, batch: Batch[Tensor]) -> Tensor:
        """(batch, time, features) vectors of a batch's tokens."""
        # Each distinct word is embedded once; tokens are rows of that: (words, features) ->
        # (batch, time, features).
        return self.token_inputs(self.vectors(batch.words), batch.tokens)

    def token_inputs(self, vectors: Tensor, tokens: Tokens[Tensor]) -> Tensor:
        """(batch, time, features) vectors of tokens, from those of distinct words."""
        inputs: Tensor = self.embed(
            vectors, tokens.rows, tokens.feature_ids, tokens.contextual, tokens.numbers
        )
        return inputs


Fitted = FeatureCrf | BagOfWords  # what no gradient step changes
_OTHERS = "others"
LANGUAGE = "language"  # name of a batch's words as the language-model loss predicts them


def within_member(name: str) -> str:
    """A parameter's name in a model -> its name within its member of an ensemble."""
    first, *rest = name.split(".", 2)
    return rest[1] if first == _OTHERS else name


class Model(Member, ABC):
    """Embedding and encoder; a task's model adds its heads.

    Attributes:
        text_targets: whether the targets that a loss is summed over are whole texts; else they are
            tokens.
        reads_final: whether the task's loss reads final states.
        heads_are_whole: whether a head's tensors mean nothing without each other.
        language_loss: beside the task's own, in training alone; None without `train.lm_loss`.
        feature_crf: whose scores a tagger adds to its own in prediction; None in most models.
        others: the further members of an ensemble, each a network like this one's own; empty in
            most models.
    """

    text_targets: ClassVar[bool] = False
    reads_final: ClassVar[bool] = True
    heads_are_whole: ClassVar[bool] = False
    language_loss: LanguageLoss | None

    def __init__(
        self, *, embed: TokenEmbedding, encoder: Encoder, others: Sequence[Member] = ()
    ) -> None:
        """`embed` gives vectors of words, `encoder` hidden states of vectors."""
        super().__init__(embed=embed, encoder=encoder)
        self.others = nn.ModuleList(others)
        self.language_loss = None
        self.feature_crf: FeatureCrf | None = None

    @property
    def members(self) -> list[Member]:
        """The networks whose states the heads read: this one's own, and the others."""
        return [self, *(other for other in self.others if isinstance(other, Member))]

    @abstractmethod
    def loss_of(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """The loss of a batch whose states are known.

        Args:
            states: (batch, time, hidden) hidden state of each token; of all members of an
                ensemble side by side, as `alone` or `together` of `nn/heads/ensemble.py` give them.
            final: (batch, hidden) final states of the directions, merged, likewise.
            batch: with the targets.

        Returns:
            Negative log-likelihood in nats, summed, and the number of targets. A sum and a count,
            because those stay exact when a batch is cut into pieces or spread over processes.
        """

    @abstractmethod
    def output_of(
        self, states: Tensor, final: Tensor, mask: Tensor, *, confidence: bool
    ) -> ModelOutput:
        """The heads' output for hidden states, on the CPU.

        Args:
            states: (batch, time, hidden).
            final: (batch, hidden).
            mask: (batch, time) bool, True on real tokens.
            confidence: whether to compute probabilities of tags, which costs a forward-backward.
        """

    @abstractmethod
    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        """Fill the buffers that are not saved: they follow from configuration and vocabulary."""

    @abstractmethod
    def head_labels(self, vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
        """Labels in the order of the rows of each head, by the prefix of its parameters' names."""

    def readouts(self, data: Encoded) -> Sequence[Readout]:
        """The linear layers that ridge regression can solve; none of a task without it.

        Args:
            data: the training corpus, of which a CRF takes its transitions.
        """
        return ()

    def heads_by_name(self) -> Mapping[str, Any]:
        """The heads whose probabilities can be calibrated: each has a `temperature`."""
        return {}

    def fitted_parts(self) -> dict[str, Fitted]:
        """What is found at once, before the first step, by prefixes of names in a checkpoint."""
        return {} if self.feature_crf is None else {"": self.feature_crf}

    def saved_tensors(self) -> dict[str, Tensor]:
        """What a saved model holds, by name: all but the layers that serve training alone."""
        own = "language_loss."
        kept = {name: one for name, one in self.state_dict().items() if not name.startswith(own)}
        return kept if self.contextual is None else {**kept, **self.contextual.tensors()}

    @property
    def saved_weights(self) -> int:
        """Number of weights of a saved model."""
        beside = 0 if self.language_loss is None else count_parameters(self.language_loss)
        read = 0 if self.contextual is None else self.contextual.weights
        return count_parameters(self) - beside + read

    def forward(self, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """The loss of a batch, as `loss_of` returns it: two numbers, a sum and a count.

        In training its gradient has that of further losses too, which are not in its value. There
        the loss of an ensemble is the mean of those of its members alone.
        """
        if not self.others:
            return self._loss_by(self, 0, batch)
        if not self.training:
            states, final = self._read_together(batch)
            with torch.autocast(batch.tokens.mask.device.type, enabled=False):
                return self.loss_of(states.float(), final.float(), batch)
        members = self.members
        found = [self._loss_by(member, number, batch) for number, member in enumerate(members)]
        return torch.stack([total for total, _ in found]).mean(), found[0][1]

    def _loss_by(self, member: Member, number: int, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """The loss of a batch as one member reads it."""
        # (batch, time, features) -> (batch, time, hidden) and (batch, hidden)
        inputs, mask = member.inputs(batch), batch.tokens.mask
        with self._watched() as penalties:
            if self.language_loss is not None and self.training:
                topmost, last, sides = member.encoder.read_sides(inputs, mask)
            else:
                topmost, last = member.read_layers(inputs, batch.tokens)
                sides = None
        states, final = member.encoder.output(topmost, last, mask, final_is_read=self.reads_final)
        # In mixed precision too: sums over all paths need all digits.
        with torch.autocast(states.device.type, enabled=False):
            total, count = self.loss_alone(number, states.float(), final.float(), batch)
            if sides is not None:
                beside = self._language_loss_of(sides, batch)
                # The value stays that of the task, on dev as in training; it is NaN if this is not
                # finite, so that the step is skipped.
                total = total + (beside - beside.detach())
        return self._regularised(total, penalties), count

    def loss_alone(
        self, number: int, states: Tensor, final: Tensor, batch: Batch[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The loss of a batch by the states of one member, as `loss_of` returns it.

        Args:
            number: of the member.
            states: (batch, time, hidden), its own.
            final: (batch, hidden), likewise.
            batch: with the targets.
        """
        members = len(self.members)
        if members > 1:  # (batch, time, hidden) -> (batch, time, members x hidden)
            states, final = alone(states, number, members), alone(final, number, members)
        return self.loss_of(states, final, batch)

    def _language_loss_of(self, sides: Sides, batch: Batch[Tensor]) -> Tensor:
        """The language-model loss, from states of the tokens."""
        assert self.language_loss is not None
        ahead, back = sides
        own = ahead.float(), None if back is None else back.float()
        mask, words = batch.tokens.mask, batch.target(LANGUAGE)
        total: Tensor = self.language_loss(own, words, mask, batch.weights)
        return total

    def _watched(self) -> AbstractContextManager[list[Tensor]]:
        """Within it the layers of the encoder give penalties, where a loss is regularised."""
        return watched_flow() if self.encoder.flow_strength and self.training else nullcontext([])

    def _regularised(self, total: Tensor, flow: Sequence[Tensor]) -> Tensor:
        """The same loss, whose gradient has that of the penalties.

        Args:
            total: the loss, summed over targets.
            flow: penalties of `_watched`, each 0 with a gradient.
        """
        return total + self.encoder.flow_strength * torch.stack([*flow]).sum() if flow else total

    @torch.no_grad()
    def read_batch(self, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """Hidden and final states of a batch, without gradients.

        Returns:
            (batch, time, hidden), zero on padding, and (batch, hidden), in float32; of all members
            of an ensemble side by side.
        """
        states, final = self._read_together(batch)
        return states.float(), final.float()

    def states(self, batch: Batch[Tensor]) -> Tensor:
        """(batch, time, hidden) hidden states of the encoder."""
        return self._read_together(batch)[0]

    def _read_together(self, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """Hidden and final states, of all members of an ensemble."""
        return _together(
            [member.encoded(member.inputs(batch), batch.tokens) for member in self.members]
        )

    def with_contextual(
        self, tokens: Tokens[Tensor], sentences: Sequence[Sentence]
    ) -> Tokens[Tensor]:
        """The tokens of these sentences with the states of the model's language models, if any."""
        if self.contextual is None:
            return tokens
        device = tokens.mask.device
        read = self.contextual.read(sentences, device)
        states = padded_rows(read, tokens.mask.shape[1], np.float32)
        return replace(tokens, contextual=torch.from_numpy(states).to(device))

    @torch.inference_mode()
    def output(
        self, tokens: Tokens[Tensor], words: CachedWords, *, confidence: bool
    ) -> ModelOutput:
        """The model's output for sentences.

        Args:
            tokens: of the sentences; their rows are rows of `words`.
            words: the distinct words.
            confidence: whether to compute probabilities of tags.
        """
        states, final = self.read(tokens, words)
        return self.output_of(states, final, tokens.mask, confidence=confidence)

    def read(self, tokens: Tokens[Tensor], words: CachedWords) -> tuple[Tensor, Tensor]:
        """States of all members, as `read_batch`, on a CPU with cached input projections."""
        cached = zip(self.members, (words, *words.others), strict=True)
        return _together([member.read_alone(tokens, own) for member, own in cached])


@dataclass(frozen=True, slots=True)
class SentenceBatch:
    """Sentences that are read together in prediction.

    Attributes:
        sentences: in the order of the batch.
        tokens: of these; their rows are rows of `words`.
        words: the distinct words, with what is kept of each.
        feature_rows: the same words, as a CRF of word features reads them; None where none counts.
        states: (batch, time, hidden) and (batch, hidden), where they have been read already.
        feature_emissions: (batch, time, tags) of `feature_rows`, likewise.
    """

    sentences: Sequence[Sentence]
    tokens: Tokens[Tensor]
    words: CachedWords
    feature_rows: FeatureRows | None = None
    states: tuple[Tensor, Tensor] | None = None
    feature_emissions: Tensor | None = None

    def read(self, model: Model) -> tuple[Tensor, Tensor]:
        """Hidden states of all tokens, and final states, for the heads of the model."""
        return self.states or model.read(self.tokens, self.words)

    @torch.no_grad()
    def score_features(self, crf: FeatureCrf | None) -> Tensor | None:
        """(batch, time, tags) the scores of tags by a CRF of word features; None without."""
        if crf is None or not float(crf.share):
            return None
        if self.feature_emissions is not None:
            return self.feature_emissions
        assert self.feature_rows is not None
        return self.feature_rows.emissions(crf, self.tokens, self.sentences)


def _together(found: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """States and final states of each member -> those of all."""
    if len(found) == 1:
        return found[0]
    states, final = zip(*found, strict=True)
    return together(states), together(final)
