"""From ids to vectors: words, their characters, feature columns.

A word's vector is its embedding, the final states of a recurrent network over its characters from
both sides (Lample et al. 2016; Ling et al. 2015) or the largest values of a convolution over them
(Ma and Hovy 2016), an embedding of its affixes and shape, and one of each feature column, side by
side. What depends on the sentence around a token, states of language models, comes beside it.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.nn.cells import CELLS
from tagkit.nn.layers.dropout import drop_types
from tagkit.nn.layers.inference import CharReader, RecurrentCharReader, layer_reader
from tagkit.nn.layers.recurrent_layer import RecurrentLayer, merge_directions
from tagkit.nn.padding import Ids, Packing
from tagkit.nn.recurrence.cell import CellOptions
from tagkit.nn.recurrence.recurrence import Floats

_WIDTH = 3  # characters that a value of their convolution reads (Ma and Hovy 2016)


class RowUpdatedEmbedding(nn.Embedding):
    """A table with many rows, of which a step reads few: an optimizer may update only these."""


def row_updated_table(model: nn.Module) -> RowUpdatedEmbedding | None:
    """The table of a model that may be updated row by row; None where there is none."""
    return next((part for part in model.modules() if isinstance(part, RowUpdatedEmbedding)), None)


def _embedding(rows: int, dim: int, kind: type[nn.Embedding] = nn.Embedding) -> nn.Embedding:
    """A table with row 0, the padding, all zeros; variance 1/dim, so that a vector has length 1."""
    table = kind(rows, dim, padding_idx=0)
    if not dim:
        return table
    with torch.no_grad():
        # A uniform distribution from -a to a has variance a^2 / 3 (Ma and Hovy 2016 draw words' and
        # characters' vectors in this way).
        table.weight.uniform_(-math.sqrt(3 / dim), math.sqrt(3 / dim))
        table.weight[0] = 0
    return table


class WordEmbedding(nn.Module):
    """A word's vector: its pretrained one, which never changes, plus one that is trained.

    The trained one begins at zero where there is a pretrained one, so the sum begins as that and is
    fine-tuned. An unknown word that has a pretrained vector gets it plus the trained vector of
    unknown words, just as a word of the training corpus does when it is read as unknown.

    Attributes:
        dropout: probability of a word to be dropped wherever it occurs in a batch, in training.
    """

    vectors: Tensor
    dropout = 0.0

    def __init__(self, *, words: int, dim: int, vectors: int, by_row: bool = True) -> None:
        """`words`, padding and the unknown word among them; `vectors` that are pretrained.

        `by_row` says whether a step changes only the rows that it reads.
        """
        super().__init__()
        kind = RowUpdatedEmbedding if by_row else nn.Embedding
        self.trained = _embedding(words, dim, kind)
        # Row 0, all zeros, is that of words without a pretrained vector. A buffer, not a parameter:
        # no optimizer passes over its many rows, and weight decay cannot reach them.
        # Until they are placed or loaded, one row of zeros is all rows, and takes no memory.
        self.register_buffer("vectors", torch.zeros(1, dim).expand(vectors + 1, dim))
        self.outputs = dim

    def forward(self, word_ids: Tensor, vector_rows: Tensor) -> Tensor:
        """Vectors of words.

        Args:
            word_ids: (words,) int64.
            vector_rows: (words,) int64 rows of pretrained vectors, 0 of none.

        Returns:
            (words, dim).
        """
        found: Tensor = self.trained(word_ids)  # (words,) -> (words, dim)
        if len(self.vectors) > 1:
            # (words, dim) + (vectors + 1, dim) at (words,) -> (words, dim)
            found = found + nn.functional.embedding(vector_rows, self.vectors)
        if self.dropout and self.training:
            # Words that differ in their characters alone, such as by a capital, are one here.
            types = word_ids * len(self.vectors) + vector_rows
            found = drop_types(found, types, self.dropout)
        return found

    @torch.no_grad()
    def place(self, vectors: Tensor, known: Tensor) -> None:
        """Set pretrained vectors, and begin the trained ones beside them at zero.

        Args:
            vectors: (vectors + 1, dim), row 0 all zeros. Not copied: they are the model's from now
                on.
            known: (words,) bool, True of the trained words that have a pretrained vector.
        """
        self.vectors = vectors
        # (words,) bool selects rows of (words, dim)
        self.trained.weight[known] = 0


class SharedVectors(WordEmbedding):
    """The words of a further member of an ensemble, with the first one's pretrained vectors.

    These are in memory, and in a saved model, once.
    """

    def __init__(self, *, owner: WordEmbedding, dim: int) -> None:
        """As many words as those of `owner`."""
        super().__init__(words=owner.trained.num_embeddings, dim=dim, vectors=0, by_row=False)
        del self.vectors
        self._owner = (owner,)  # in a tuple it is no submodule

    @property
    def vectors(self) -> Tensor:  # type: ignore[override]
        """(vectors + 1, dim) of the owner."""
        return self._owner[0].vectors

    @torch.no_grad()
    def place(self, vectors: Tensor, known: Tensor) -> None:
        """Begin the trained vectors beside the owner's at zero."""
        self.trained.weight[known] = 0


class CharEncoder(nn.Module):
    """A vector of each distinct word from its characters, read from both sides."""

    def __init__(
        self,
        *,
        chars: int,
        dim: int,
        cell: str,
        options: CellOptions,
        hidden: int,
        layers: int = 1,
    ) -> None:
        """`chars` distinct characters, padding among them; `hidden` units in each direction."""
        super().__init__()
        self.embedding = _embedding(chars, dim)
        stack = [
            RecurrentLayer(
                cell=cell,
                options=options,
                inputs=2 * hidden if number else dim,
                hidden=hidden,
                bidirectional=True,
                merge="concat",
                segment=0,
            )
            for number in range(layers)
        ]
        # A word has the final states of the topmost layer, which reads the states of those below.
        *below, self.layer = stack
        self.below = nn.ModuleList(below)
        self.outputs = self.layer.outputs  # both directions, side by side

    def forward(self, char_ids: Sequence[Tensor]) -> Tensor:
        """Vectors of distinct words that come in groups of similar length.

        Args:
            char_ids: each (words, chars) int64, 0 where padded.

        Returns:
            (all words, outputs), group after group.
        """
        if self._trains_packed(char_ids[0]):
            return self._encode_packed(char_ids)
        if not self.training and not torch.is_grad_enabled() and not char_ids[0].is_cuda:
            reader = self.reader()
            if reader is not None:
                return reader.read(char_ids)
        # each (words of a group, outputs) -> (all words, outputs)
        return torch.cat([self._encode(group) for group in char_ids])

    def reader(self) -> CharReader | None:
        """Cached inference with the weights as they are now, for words on the CPU.

        None where the cell has none, and of several layers.
        """
        reader = None if self.below else layer_reader(self.layer, "fp32")
        return RecurrentCharReader(self.layer, reader, self.embedding.weight) if reader else None

    def _trains_packed(self, char_ids: Tensor) -> bool:
        """Whether to read packed words: in training, where that is faster."""
        # A GPU has kernels of torch's own networks for any shape.
        return (
            CELLS[self.layer.cell].train_packed is not None
            and not self.below
            and torch.is_grad_enabled()
            and char_ids.device.type == "cpu"
        )

    def _encode_packed(self, char_ids: Sequence[Tensor]) -> Tensor:
        """As `_encode`, of all groups at once, without padding: (all words, outputs)."""
        packed = CELLS[self.layer.cell].train_packed
        assert packed is not None
        assert self.layer.backwards is not None
        # (words, chars) of each group -> (words,) lengths and, word after word, (chars,) ids
        filled = [group != 0 for group in char_ids]
        ids = torch.cat([group[real] for group, real in zip(char_ids, filled, strict=True)])
        packing = Packing.of(torch.cat([real.sum(1) for real in filled]).numpy())
        chosen = ids[packing.tokens]
        rows = self.embedding.weight  # (all characters, dim), of which the batch reads each often
        if len(rows) > len(chosen):
            # A row of its own for each: (chars, dim)
            rows, chosen = self.embedding(chosen), torch.arange(len(chosen))
        # In bf16 products this small gain nothing, and the casts take as long as they do.
        with torch.autocast("cpu", enabled=False):
            # (directions, chars, hidden)
            states = packed(rows, chosen, packing, (self.layer.forwards, self.layer.backwards))
        # Each direction is in its own reading order, so both end at a word's last step.
        ahead, back = states.index_select(1, packing.last)  # (words, hidden) each
        return merge_directions(ahead, back, self.layer.merge)

    def _encode(self, char_ids: Tensor) -> Tensor:
        # (words, chars) -> (words, chars, dim) -> (words, outputs): a word is a sequence of its
        # characters, of which the final states of both directions are kept.
        states, mask = self.embedding(char_ids), char_ids != 0
        for layer in self.below:
            states = layer(states, mask)  # (words, chars, outputs)
        return self.layer.final_states(states, mask)


class CharConvolution(nn.Module):
    """A vector of each distinct word by a convolution over its characters (Ma and Hovy 2016).

        v[k] = max over t of (sum over o from -1 to 1 of W[o] e[t + o] + b)[k]

    with the embeddings e of the characters, and zeros before the first and after the last one.
    There are as many products W[o] e as there are distinct characters, not as there are characters:
    they are rows of tables. With 500 words that takes a third of the time of an LSTM.
    """

    def __init__(self, *, chars: int, dim: int, outputs: int) -> None:
        """`chars` distinct characters, padding among them; `outputs` values of a word."""
        super().__init__()
        self.embedding = _embedding(chars, dim)
        self.weight = nn.Parameter(torch.empty(_WIDTH, outputs, dim))
        # Of all inputs of a value together, as Glorot and Bengio 2010, eq. 16.
        nn.init.xavier_uniform_(self.weight.view(_WIDTH * outputs, dim), gain=_WIDTH**-0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.outputs = outputs

    def forward(self, char_ids: Sequence[Tensor]) -> Tensor:
        """Vectors of distinct words; arguments and result as in `CharEncoder.forward`."""
        rows, groups = self.embedding.weight, list(char_ids)  # (all characters, dim)
        if len(rows) > sum(group.numel() for group in groups):
            # Few of many characters: rows of those that there are, the padding first.
            ids = torch.cat([group.flatten() for group in (groups[0].new_zeros(1), *groups)])
            distinct = torch.unique(ids)
            rows = self.embedding(distinct)
            groups = [torch.searchsorted(distinct, group) for group in groups]
        return _largest(groups, self.tables(rows), self.bias)

    def tables(self, rows: Tensor) -> Tensor:
        """(rows, dim) of characters -> (width, rows, outputs): W[o] e for each place o."""
        return (self.weight @ rows.t()).transpose(1, 2)

    def reader(self) -> "CharConvolutionReader":
        """Cached inference with the weights as they are now, for words on the CPU."""
        return CharConvolutionReader(self)


def _largest(groups: Sequence[Tensor], tables: Tensor, bias: Tensor) -> Tensor:
    """Maxima over the characters of words, as `CharConvolution` describes them.

    Args:
        groups: each (words, chars), rows of `tables`, 0 where padded.
        tables: (width, rows, outputs), whose rows 0 are zeros.
        bias: (outputs,).

    Returns:
        (all words, outputs), group after group.
    """
    found = []
    for ids in groups:
        padded = nn.functional.pad(ids, (_WIDTH // 2, _WIDTH // 2))
        # (words, chars) at each place of the window -> (words, chars, outputs), added up; padding
        # adds nothing, and gets no gradient.
        total = sum(
            nn.functional.embedding(padded[:, place : place + ids.shape[1]], table, padding_idx=0)
            for place, table in enumerate(tables)
        )
        assert isinstance(total, Tensor)
        found.append(total.masked_fill((ids == 0).unsqueeze(2), -math.inf).max(1).values)
    return torch.cat(found) + bias


class CharConvolutionReader(CharReader):
    """Words by a convolution, with the tables of the weights as they were when it was made."""

    @torch.no_grad()
    def __init__(self, chars: CharConvolution) -> None:
        """Tables for all characters."""
        self._tables = chars.tables(chars.embedding.weight).contiguous()
        self._bias = chars.bias.detach().clone()

    def packs(self, words: int) -> bool:
        """As described in `CharReader`."""
        return True

    def read_few(self, chars: Ids, counts: Ids) -> Floats:
        """As described in `CharReader`."""
        before, own, after = self._tables.numpy()
        ends = np.cumsum(counts)
        starts = ends - counts
        found: Floats = own.take(chars, 0)  # (chars, outputs)
        # A character reads the one before it, the first of a word none, and the one after it.
        follows = np.ones(len(chars), np.bool_)
        follows[starts] = False
        found[1:][follows[1:]] += before.take(chars[:-1][follows[1:]], 0)
        found[:-1][follows[1:]] += after.take(chars[1:][follows[1:]], 0)
        largest: Floats = np.maximum.reduceat(found, starts, 0)  # (words, outputs)
        largest += self._bias.numpy()
        return largest

    def read(self, char_ids: Sequence[Tensor]) -> Tensor:
        """As described in `CharReader`."""
        return _largest(char_ids, self._tables, self._bias)


class AffixEmbedding(nn.Module):
    """The sum of the embeddings of a word's prefixes, suffixes and shape.

    As fastText sums the n-grams of a word (Bojanowski et al. 2017), of which these are the ones
    at its ends.
    """

    def __init__(self, *, affixes: int, dim: int) -> None:
        """`affixes`, padding among them."""
        super().__init__()
        self.table = _embedding(affixes, dim)
        self.outputs = dim

    def forward(self, affix_ids: Tensor) -> Tensor:
        """Vectors of words.

        Args:
            affix_ids: (words, affixes) int64, 0 for those that are unknown.

        Returns:
            (words, dim), zero for a word without a known affix.
        """
        # (words, affixes) -> (words, affixes, dim), summed over a word's affixes -> (words, dim);
        # embedding_bag does so without the tensor in between, and leaves row 0 out.
        return nn.functional.embedding_bag(affix_ids, self.table.weight, mode="sum", padding_idx=0)


class ContextualInput(nn.Module):
    """States of language models as inputs of the encoder: as they are, mixed, or projected.

    A mix of the layers of one model is gamma sum_j s[j] h[j] with s = softmax(w) (Peters et al.
    2018, eq. 1), with weights w and scale gamma of each model.

    Attributes:
        outputs: features of each token.
    """

    def __init__(self, *, inputs: int, dim: int, mixes: Sequence[tuple[int, int]] = ()) -> None:
        """`inputs`: values of each token; `dim` to project them to, 0 for none.

        `mixes`: layers of each language model, and the values of each; empty to mix none.
        """
        super().__init__()
        self.mixes = tuple(mixes)
        if mixes:  # begins as the mean; nothing is drawn
            self.weights = nn.ParameterList(torch.zeros(layers) for layers, _ in mixes)
            self.scales = nn.Parameter(torch.ones(len(mixes)))
            inputs = sum(width for _, width in mixes)
        # No bias: padding stays zero, and the encoder's own bias serves.
        self.projection = nn.Linear(inputs, dim, bias=False) if dim else None
        self.outputs = dim or inputs

    def forward(self, states: Tensor) -> Tensor:
        """(batch, time, inputs) -> (batch, time, outputs); zero stays zero."""
        if self.mixes:
            own = torch.split(states, [layers * width for layers, width in self.mixes], -1)
            parts = []
            for each, weights, scale in zip(own, self.weights, self.scales, strict=True):
                # (batch, time, layers x width) -> (batch, time, layers, width), summed over layers
                layers = each.reshape(*each.shape[:-1], len(weights), -1)
                parts.append(scale * (layers * weights.softmax(0).unsqueeze(1)).sum(-2))
            states = torch.cat(parts, -1)
        if self.projection is None:
            return states
        projected: Tensor = self.projection(states)
        return projected


class TokenEmbedding(nn.Module):
    """Word, characters, affixes, features, contextual states, numbers of tokens, side by side."""

    def __init__(
        self,
        *,
        words: WordEmbedding,
        chars: CharEncoder | CharConvolution | None,
        affixes: AffixEmbedding | None,
        features: Sequence[int],
        dim: int,
        contextual: ContextualInput | None = None,
        numbers: int = 0,
    ) -> None:
        """`features`: how many values each feature column has; `dim` of their embeddings.

        `numbers`: how many of them a token has beside all else, read as they are.
        """
        super().__init__()
        self.words = words
        self.chars = chars
        self.affixes = affixes
        self.features = nn.ModuleList(_embedding(values, dim) for values in features)
        self.vector_size = sum(part.outputs for part in (words, chars, affixes) if part)
        self.contextual = contextual
        self.numbers = numbers
        # Number of the first input that comes from contextual states, and then from numbers.
        self.contextual_start = self.vector_size + dim * len(features)
        self.outputs = self.contextual_start + (contextual.outputs if contextual else 0) + numbers

    def vectors(
        self,
        word_ids: Tensor,
        vector_rows: Tensor,
        char_ids: Sequence[Tensor],
        affix_ids: Tensor,
        char_reader: CharReader | None,
    ) -> Tensor:
        """Vectors of distinct words: embedding, characters and affixes.

        Args:
            word_ids: (words,) int64.
            vector_rows: (words,) int64, 0 of none.
            char_ids: the words' characters, as `CharEncoder` takes them.
            affix_ids: (words, affixes) int64, 0 for unknown ones.
            char_reader: of `self.chars`, which reads the characters in its place; None without.

        Returns:
            (words, dim of words, characters and affixes).
        """
        parts: list[Tensor] = [self.words(word_ids, vector_rows)]
        if self.chars is not None:
            parts.append(char_reader.read(char_ids) if char_reader else self.chars(char_ids))
        if self.affixes is not None:
            parts.append(self.affixes(affix_ids))
        # (words, dim), (words, outputs of the characters) and (words, dim of affixes), side by side
        return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]

    def beside(self, contextual: Tensor | None, numbers: Tensor | None) -> Tensor | None:
        """What no two tokens share, as `forward` takes it: (batch, time, values); None of none."""
        parts = []
        if self.contextual is not None:
            assert contextual is not None
            parts.append(self.contextual(contextual))
        if self.numbers:
            assert numbers is not None
            parts.append(numbers)
        return torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0] if parts else None

    def forward(
        self,
        vectors: Tensor,
        rows: Tensor,
        feature_ids: Sequence[Tensor],
        contextual: Tensor | None = None,
        numbers: Tensor | None = None,
    ) -> Tensor:
        """Vectors of all tokens, from those of distinct words.

        Args:
            vectors: of distinct words, from `self.vectors`.
            rows: (batch, time) int64, which distinct word each token is.
            feature_ids: one (batch, time) int64 a feature column.
            contextual: (batch, time, inputs) states of language models; None without them.
            numbers: (batch, time, numbers) of columns of numbers; None without them.

        Returns:
            (batch, time, outputs).
        """
        # A word that occurs several times was encoded once, and the gradients of its tokens are
        # summed here: (words, features) at (batch, time) -> (batch, time, features)
        parts = [nn.functional.embedding(rows, vectors)]
        for table, ids in zip(self.features, feature_ids, strict=True):
            parts.append(table(ids))  # (batch, time) -> (batch, time, dim)
        if (beside := self.beside(contextual, numbers)) is not None:
            parts.append(beside)
        # (batch, time, vector_size), (batch, time, dim) of each column and what is beside ->
        # (batch, time, outputs)
        return torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]
