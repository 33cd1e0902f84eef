"""What the networks of all tasks share: words, characters and features to hidden states.

    words, characters, features -> vectors        nn/embedding.py
    vectors                     -> hidden states  nn/encoder.py, or nn/inference.py in prediction

A task adds what it reads from these states, its heads, and their loss (`tagger.py`,
`classifier.py`, `joint.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from tagkit.config import Config, EncoderConfig, fixed
from tagkit.features.batch import Batch, Tokens, Words
from tagkit.features.vocabulary import RESERVED, Vocabulary
from tagkit.models.output import ModelOutput
from tagkit.nn.cells.cell import CellOptions
from tagkit.nn.documents import JoinedRows
from tagkit.nn.embedding import AffixEmbedding, CharEncoder, TokenEmbedding, WordEmbedding
from tagkit.nn.encoder import Encoder
from tagkit.nn.inference import CachedWords, CharReader, read_cached
from tagkit.nn.information_flow import watched_flow


class Model(nn.Module, ABC):
    """Embedding and encoder; a task's model adds its heads."""

    def __init__(self, *, embed: TokenEmbedding, encoder: Encoder) -> None:
        """`embed` gives vectors of words, `encoder` hidden states of vectors."""
        super().__init__()
        # These names, and those of the heads, are names of tensors in every saved model.
        self.embed = embed
        self.encoder = encoder

    @abstractmethod
    def loss_of(self, states: Tensor, final: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss of a batch whose states are known.

        Args:
            states: (batch, time, hidden) hidden state of each token.
            final: (batch, hidden) final states of the directions, merged.
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

    def heads_by_name(self) -> Mapping[str, Any]:
        """The heads whose probabilities can be calibrated: each has a `temperature`."""
        return {}

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss of a batch, as `loss_of` returns it."""
        # (batch, time, features) -> (batch, time, hidden) and (batch, hidden)
        inputs = self._inputs(batch)
        with self._watched() as penalties:
            states, final = self._encoded(inputs, batch.tokens)
        # In mixed precision too: sums over all paths need all digits.
        with torch.autocast(states.device.type, enabled=False):
            total, count = self.loss_of(states.float(), final.float(), batch)
        return self._regularised(total, penalties), count

    def _watched(self) -> AbstractContextManager[list[Tensor]]:
        """Within it the layers of the encoder give penalties, where a loss is regularised."""
        return watched_flow() if self.encoder.flow_strength and self.training else nullcontext([])

    def _regularised(self, total: Tensor, penalties: Sequence[Tensor]) -> Tensor:
        """The same loss, whose gradient has that of the penalties."""
        return (
            total + self.encoder.flow_strength * torch.stack([*penalties]).sum()
            if penalties
            else total
        )

    def vectors(self, words: Words, char_reader: CharReader | None = None) -> Tensor:
        """(words, features) vectors of distinct words; `char_reader` is that of prediction."""
        return self.embed.vectors(
            words.word_ids, words.vector_rows, words.char_ids, words.affix_ids, char_reader
        )

    def states(self, batch: Batch) -> Tensor:
        """(batch, time, hidden) hidden states of the encoder."""
        tokens, inputs = batch.tokens, self._inputs(batch)
        if tokens.documents is not None:
            return self._encoded(inputs, tokens)[0]
        hidden: Tensor = self.encoder(inputs, tokens.mask)
        return hidden

    @torch.inference_mode()
    def output(self, tokens: Tokens, words: CachedWords, *, confidence: bool) -> ModelOutput:
        """The model's output for sentences.

        Args:
            tokens: of the sentences; their rows are rows of `words`.
            words: the distinct words.
            confidence: whether to compute probabilities of tags.
        """
        states, final = self.read(tokens, words)
        return self.output_of(states, final, tokens.mask, confidence=confidence)

    def read(self, tokens: Tokens, words: CachedWords) -> tuple[Tensor, Tensor]:
        """Hidden and final states, on a CPU with cached input projections."""
        readers = words.readers
        if readers:
            # Words first, then each feature column: their projections add up to the input of
            # the first layer, as W [a; b] = W_a a + W_b b.
            projected = (words.projected, *words.features)
            rows = (tokens.rows, *tokens.feature_ids)
            if tokens.documents is None:
                return read_cached(self.encoder, readers, projected, rows, tokens.mask)
            joined = JoinedRows.of(tokens.documents, tokens.mask)
            whole = tuple(map(joined.join, rows))
            states, final = read_cached(self.encoder, readers, projected, whole, joined.mask)
            return joined.part(states), final[tokens.documents]
        inputs = self.embed(words.vectors, tokens.rows, tokens.feature_ids)
        return self._encoded(inputs, tokens)

    def _encoded(self, inputs: Tensor, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """States of all tokens, and the final states of what each sentence is read with.

        Args:
            inputs: (batch, time, features) vectors of the tokens.
            tokens: of the batch.

        Returns:
            (batch, time, hidden) and (batch, hidden).
        """
        if tokens.documents is None:
            return self.encoder.read(inputs, tokens.mask)
        joined = JoinedRows.of(tokens.documents, tokens.mask)
        return self.encoder.read(inputs, tokens.mask, joined)

    def _inputs(self, batch: Batch) -> Tensor:
        # Each distinct word is embedded once; tokens are rows of that: (words, features) ->
        # (batch, time, features).
        tokens = batch.tokens
        inputs: Tensor = self.embed(self.vectors(batch.words), tokens.rows, tokens.feature_ids)
        return inputs


def build_embedding(config: Config, vocabulary: Vocabulary) -> TokenEmbedding:
    """Embeddings of words, characters and feature columns, with fresh weights."""
    # The order in which parts are built is the order in which weights are drawn: characters,
    # words, affixes, features, encoder, heads. Another order would give other weights for a seed.
    embeddings = config.embeddings
    chars = None
    if embeddings.char_cell != "none":
        chars = CharEncoder(
            chars=len(vocabulary.chars) + RESERVED,
            dim=embeddings.char_dim,
            cell=embeddings.char_cell,
            options=cell_options(EncoderConfig()),  # those of [encoder] are of its own cell
            hidden=embeddings.char_hidden,
            dropout=embeddings.char_dropout,
        )
    words = WordEmbedding(
        words=len(vocabulary.words) + RESERVED,
        dim=embeddings.word_dim,
        vectors=len(vocabulary.vector_words),
    )
    # Built after the words, and before the encoder. A model of 0.1.0 has none in its vocabulary.
    affixes = None
    if vocabulary.affixes:
        affixes = AffixEmbedding(
            affixes=len(vocabulary.affixes) + 1, dim=fixed(embeddings.affix_dim)
        )
    return TokenEmbedding(
        words=words,
        chars=chars,
        affixes=affixes,
        features=[len(values) + RESERVED for values in vocabulary.features],
        dim=embeddings.feature_dim,
    )


def cell_options(encoder: EncoderConfig) -> CellOptions:
    """The options of the encoder's cell."""
    return CellOptions(
        activation=encoder.activation,
        init=encoder.init,
        spectral_radius=None if encoder.spectral_radius == "auto" else encoder.spectral_radius,
        chrono=encoder.chrono,
        leak=encoder.leak,
        skip=encoder.skip,
        periods=encoder.periods,
        sparsity=encoder.sparsity,
        input_scale=encoder.input_scale,
        heads=encoder.heads,
        feed_forward=encoder.feed_forward,
        norm=encoder.norm,
        positions=encoder.positions,
        max_positions=encoder.max_positions,
        transition_layers=encoder.transition_layers,
        transition_skip=encoder.transition_skip,
    )


def build_encoder(config: Config, inputs: int) -> Encoder:
    """The layers over `inputs` features of each token, with fresh weights."""
    encoder = config.encoder
    built = Encoder(
        cell=encoder.cell,
        options=cell_options(encoder),
        inputs=inputs,
        hidden=encoder.hidden,
        layers=encoder.layers,
        connection=encoder.connection,
        output_layers=encoder.output_layers,
        bidirectional=encoder.bidirectional,
        merge=encoder.merge,
        segment=config.train.bptt,  # tokens that gradients go back, as long texts need memory
        dropout=encoder.dropout,
        locked_dropout=encoder.locked_dropout,
        word_dropout=encoder.word_dropout,
    )
    built.flow_strength = config.train.flow_strength
    return built
