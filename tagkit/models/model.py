"""Embedding, encoder and heads as one module, by configuration."""

import torch
from torch import Tensor, nn

from tagkit.config import Config, training_scheme
from tagkit.features.batch import Batch, Tokens, Words
from tagkit.features.vocabulary import RESERVED, Vocabulary
from tagkit.models.output import Answer
from tagkit.nn.crf.confidence import span_confidence
from tagkit.nn.crf.n_best import n_best
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.embedding import CharEncoder, TokenEmbedding, WordEmbedding
from tagkit.nn.encoder import Encoder
from tagkit.nn.heads import HEADS, POOLINGS
from tagkit.nn.heads.classification import ClassHead
from tagkit.nn.heads.tagging import Head, StepScores, TagSpace
from tagkit.nn.inference import SMALLEST_BATCH, CachedWords, read_cached
from tagkit.text.schemes import OUTSIDE, join_tag, may_follow, split_tag


class Model(nn.Module):
    """words, characters, features -> vectors -> hidden states -> tags, classes, or both."""

    continuation: Tensor

    def __init__(
        self,
        *,
        embed: TokenEmbedding,
        encoder: Encoder,
        head: Head | None,
        class_head: ClassHead | None,
        class_loss: float,
        continuation: Tensor,
    ) -> None:
        """At least one of the heads is there.

        Args:
            embed: gives vectors of words.
            encoder: gives hidden states.
            head: of tags.
            class_head: of classes.
            class_loss: weight of the classes' loss beside that of the tags.
            continuation: (tags,) id of the tag that continues each tag's span, or -1.
        """
        super().__init__()
        self.embed = embed
        self.encoder = encoder
        self.head = head
        self.class_head = class_head
        self.class_loss = class_loss
        self.register_buffer("continuation", continuation, persistent=False)

    def vectors(self, words: Words) -> Tensor:
        """(words, features) vectors of distinct words."""
        return self.embed.vectors(words.word_ids, words.vector_rows, words.char_ids)

    def states(self, batch: Batch) -> Tensor:
        """(batch, time, hidden) hidden states of the encoder."""
        hidden: Tensor = self.encoder(self._inputs(batch), batch.tokens.mask)
        return hidden

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Negative log-likelihood in nats, summed, and the number of targets.

        Targets are tokens, or texts where there are no tags. With both it is that of a text's tags
        and class together, log p(tags | x) + log p(class | x), the class's times `class_loss`.
        """
        if self.head is not None and batch.tag_ids is None:
            raise ValueError("the batch holds no tags to learn from")
        if self.class_head is not None and batch.classes is None:
            raise ValueError("the batch holds no classes to learn from")
        states, final = self.encoder.read(self._inputs(batch), batch.tokens.mask)
        # In mixed precision too: sums over all paths want all digits.
        with torch.autocast(states.device.type, enabled=False):
            return self._loss_of(states.float(), final.float(), batch)

    def _loss_of(self, states: Tensor, final: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """As `loss`, from states and last states."""
        # Heads are called as modules, not by `loss`: a batch's own mask needs no check.
        mask = batch.tokens.mask
        if self.class_head is None:
            assert self.head is not None
            assert batch.tag_ids is not None
            only: tuple[Tensor, Tensor] = self.head(states, mask, batch.tag_ids)
            return only
        assert batch.classes is not None
        total, count = self.class_head.loss(states, final, mask, batch.classes)
        if self.head is None or batch.tag_ids is None:
            return total, count
        of_tags, tokens = self.head(states, mask, batch.tag_ids)
        return of_tags + self.class_loss * total, tokens

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """As `loss`: what wrappers of modules call."""
        return self.loss(batch)

    @torch.inference_mode()
    def answer(self, tokens: Tokens, table: CachedWords, *, confidence: bool) -> Answer:
        """Tags, classes, or both; with `confidence` how sure the tags are.

        Args:
            tokens: whose rows are those of `table`.
            table: the distinct words.
            confidence: whether probabilities of tags are wanted.
        """
        mask = tokens.mask
        states, final = self._read(tokens, table)
        tag_ids = certainty = class_probs = attention = None
        if self.class_head is not None:
            class_probs, attention = self.class_head.classify(states, final, mask)
        if self.head is not None:
            tag_ids = self.head.decode(states, mask).cpu()
            if confidence:
                chain = self.head.chain(states, mask).cpu()
                certainty = span_confidence(chain, tag_ids, self.continuation.cpu())
        if class_probs is not None:
            class_probs = class_probs.cpu()
        if attention is not None:
            attention = attention.cpu()
        return Answer(tag_ids, certainty, class_probs, attention)

    @torch.inference_mode()
    def n_best(self, tokens: Tokens, table: CachedWords, count: int) -> tuple[Tensor, Tensor]:
        """The best paths of each sentence and their probabilities.

        Returns:
            (batch, count, time) int64, 0 on padding, and (batch, count), 0 of paths that there are
            not.
        """
        if self.head is None:
            raise ValueError("this model has no tags")
        states, _ = self._read(tokens, table)
        chain = self.head.chain(states, tokens.mask).cpu()
        paths, scores = n_best(chain, count)
        return paths, (scores - log_partition(chain).double().unsqueeze(1)).exp()

    def _read(self, tokens: Tokens, table: CachedWords) -> tuple[Tensor, Tensor]:
        """States and last states, by way of projected rows where that is faster."""
        readers = table.readers
        if readers and (len(tokens.mask) >= SMALLEST_BATCH or readers[0].precision != "fp32"):
            projected = (table.projected, *table.features)
            rows = (tokens.rows, *tokens.feature_ids)
            return read_cached(self.encoder, readers, projected, rows, tokens.mask)
        inputs = self.embed(table.vectors, tokens.rows, tokens.feature_ids)
        return self.encoder.read(inputs, tokens.mask)

    def _inputs(self, batch: Batch) -> Tensor:
        tokens = batch.tokens
        inputs: Tensor = self.embed(self.vectors(batch.words), tokens.rows, tokens.feature_ids)
        return inputs


def build_model(
    config: Config,
    vocabulary: Vocabulary,
    bigrams: StepScores | None = None,
    class_weights: Tensor | None = None,
) -> Model:
    """A model with fresh weights, of a configuration that its corpus has resolved.

    Args:
        config: sizes and names.
        vocabulary: numbers of words, characters, tags, classes and feature values.
        bigrams: of the training tags, for the viterbi head; None where weights are loaded next.
        class_weights: (classes,) in the loss; None for ones.
    """
    embeddings, encoder = config.embeddings, config.encoder
    chars = None
    if embeddings.char_cell != "none":
        chars = CharEncoder(
            chars=len(vocabulary.chars) + RESERVED,
            dim=embeddings.char_dim,
            cell=embeddings.char_cell,
            hidden=embeddings.char_hidden,
            dropout=embeddings.char_dropout,
        )
    words = WordEmbedding(
        words=len(vocabulary.words) + RESERVED,
        dim=embeddings.word_dim,
        vectors=len(vocabulary.vector_words),
    )
    embed = TokenEmbedding(
        words=words,
        chars=chars,
        features=[len(values) + RESERVED for values in vocabulary.features],
        dim=embeddings.feature_dim,
    )
    layers = Encoder(
        cell=encoder.cell,
        inputs=embed.outputs,
        hidden=encoder.hidden,
        layers=encoder.layers,
        bidirectional=encoder.bidirectional,
        merge=encoder.merge,
        segment=config.train.bptt,
        dropout=encoder.dropout,
        locked_dropout=encoder.locked_dropout,
        word_dropout=encoder.word_dropout,
    )
    tags, classes = config.task != "classify", config.task != "tag"
    return Model(
        embed=embed,
        encoder=layers,
        head=_build_head(config, vocabulary, layers.outputs, bigrams) if tags else None,
        class_head=_build_class_head(config, vocabulary, layers.outputs, class_weights)
        if classes
        else None,
        class_loss=config.head.class_loss,
        continuation=continuations(vocabulary.tags, training_scheme(config)),
    )


def _build_class_head(
    config: Config, vocabulary: Vocabulary, inputs: int, weights: Tensor | None
) -> ClassHead:
    options, classes = config.head, len(vocabulary.classes)
    return ClassHead(
        pooling=POOLINGS[options.pooling](inputs),
        hidden=options.hidden,
        activation=options.activation,
        dropout=options.dropout,
        classes=classes,
        several=options.multi_label == "yes",
        label_smoothing=options.label_smoothing,
        class_weights=torch.ones(classes) if weights is None else weights,
    )


def _build_head(
    config: Config, vocabulary: Vocabulary, inputs: int, bigrams: StepScores | None
) -> Head:
    space = TagSpace(
        inputs=inputs,
        tags=len(vocabulary.tags),
        illegal=illegal_steps(vocabulary.tags, constraint(config)),
        bigrams=bigrams,
        constrain_training=config.head.constrain == "train",
    )
    return HEADS[config.head.kind](space)


def constraint(config: Config) -> str:
    """The scheme whose steps alone are legal; "labels" where all are."""
    constrain = config.head.constrain
    by_default = HEADS[config.head.kind].constrained_by_default
    if constrain == "none" or (constrain == "auto" and not by_default):
        return "labels"
    return training_scheme(config)


def illegal_steps(tags: tuple[str, ...], scheme: str) -> StepScores:
    """Minus infinity on every step that the scheme forbids, 0 on the others."""
    size = len(tags)
    free = StepScores(torch.zeros(size, size), torch.zeros(size), torch.zeros(size))
    if scheme == "labels" or free.start.is_meta:  # an outline of a model has shapes alone
        return free

    def score(before: str, after: str) -> float:
        return 0.0 if may_follow(before, after, scheme) else -torch.inf

    # A prefix, and whether two labels are the same, decide: few pairs to look at, not tags squared.
    parts = [(None, "") if tag == OUTSIDE else split_tag(tag) for tag in tags]
    kinds = list(dict.fromkeys(prefix for prefix, _ in parts))
    labels = {label: number for number, (_, label) in enumerate(parts)}
    same, other = (
        torch.tensor([[score(_example(a, "x"), _example(b, label)) for b in kinds] for a in kinds])
        for label in ("x", "y")
    )
    kind_ids = torch.tensor([kinds.index(prefix) for prefix, _ in parts])
    label_ids = torch.tensor([labels[label] for _, label in parts])
    return StepScores(
        torch.where(
            label_ids.unsqueeze(1) == label_ids,
            same[kind_ids][:, kind_ids],
            other[kind_ids][:, kind_ids],
        ),
        torch.tensor([score(OUTSIDE, tag) for tag in tags]),
        torch.tensor([score(tag, OUTSIDE) for tag in tags]),
    )


def _example(prefix: str | None, label: str) -> str:
    """A tag with this prefix; None is that of O."""
    return OUTSIDE if prefix is None else f"{prefix}-{label}"


def continuations(tags: tuple[str, ...], scheme: str) -> Tensor:
    """Of each tag the one that would continue its span, where only the next tag tells: IOB2."""
    ids = {tag: number for number, tag in enumerate(tags)}
    following = [-1] * len(tags)
    if scheme == "iob2":
        for tag, number in ids.items():
            if tag != OUTSIDE:
                following[number] = ids.get(join_tag("I", split_tag(tag)[1]), -1)
    return torch.tensor(following)
