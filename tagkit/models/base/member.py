"""One network: words, characters and features to hidden states.

    words, characters, features -> vectors        nn/layers/embedding.py
    vectors                     -> hidden states  nn/layers/encoder.py; in prediction
                                                  nn/layers/inference.py

A model is one such network with its heads, or several of them (`nn/heads/ensemble.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.features.batching.contextual_states import ContextualUnits, States
from tagkit.features.language_part import LanguagePart
from tagkit.nn.layers.documents import JoinedRows
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.inference import CachedWords, CharReader, read_cached
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

    def states(self, units: ContextualUnits[Tensor], mask: Tensor) -> Tensor:
        """(batch, time, values of all models) states at each word, zero on padding.

        Unlike those of `read` they have gradients, where the models are trained.

        Args:
            units: of the sentences.
            mask: (batch, time) bool, True on real words.
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
            if tokens.contextual is not None:
                # No two tokens share these: a table with a row for each token.
                assert self.embed.contextual is not None
                states = self.embed.contextual(tokens.contextual).flatten(0, 1)
                table = readers[0].project(states, self.embed.contextual_start)
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
        """The same of the topmost layer, before dropout and output layers."""
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
        read = tokens.contextual
        if isinstance(read, ContextualUnits):
            assert self.contextual is not None
            read = self.contextual.states(read, tokens.mask)
        inputs: Tensor = self.embed(vectors, tokens.rows, tokens.feature_ids, read)
        return inputs
