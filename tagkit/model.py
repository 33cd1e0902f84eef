"""Embedding, encoder and head as one module, and the tables of what varies by name."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tagkit.batch import Batch
from tagkit.config import Config
from tagkit.corpus import training_scheme
from tagkit.nn.chain import Chain, forward_backward, step_log_probs
from tagkit.nn.embed import CharEncoder, TokenEmbedding, WordEmbedding
from tagkit.nn.recurrent import Encoder
from tagkit.nn.taggers import CrfHead, Head, SoftmaxHead, StepScores, ViterbiHead
from tagkit.schemes import OUTSIDE, join_tag, may_follow, split_tag
from tagkit.vocab import RESERVED, Vocabulary

HEADS: dict[str, type[Head]] = {"crf": CrfHead, "softmax": SoftmaxHead, "viterbi": ViterbiHead}


@dataclass(frozen=True, slots=True)
class Decoded:
    """Best paths, and how sure the model is of them.

    Attributes:
        tag_ids: (batch, time) int64, 0 on padding.
        probs: (batch, time) marginal probability of each token's tag.
        step_log_probs: (batch, time) log P(tag | tag before, sentence), the first column
            log P(tag | sentence): summed over a stretch behind its first token's `probs`, the
            probability of just these tags there.
        goes_on: (batch, time) probability that the next token continues this token's span, given
            this tag; 0 at the last token and where the tag itself says where its span ends.
    """

    tag_ids: Tensor
    probs: Tensor
    step_log_probs: Tensor
    goes_on: Tensor


class Tagger(nn.Module):
    """words, characters, features -> vectors -> hidden states -> emissions -> tags."""

    continuation: Tensor

    def __init__(self, embed: TokenEmbedding, encoder: Encoder, head: Head, continuation: Tensor):
        """`continuation`: (tags,) id of the tag that continues each tag's span, or -1."""
        super().__init__()
        self.embed = embed
        self.encoder = encoder
        self.head = head
        self.register_buffer("continuation", continuation, persistent=False)

    def states(self, batch: Batch) -> Tensor:
        """(batch, time, hidden) hidden states of the encoder."""
        vectors = self.embed(
            batch.word_ids, batch.vector_rows, batch.char_ids, batch.word_rows, batch.feature_ids
        )
        hidden: Tensor = self.encoder(vectors, batch.mask)
        return hidden

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Negative log-likelihood of the batch's tags, summed, and the number of tokens."""
        if batch.tag_ids is None:
            raise ValueError("the batch holds no tags to learn from")
        return self.head.loss(self.states(batch), batch.mask, batch.tag_ids)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """As `loss`: what wrappers of modules call."""
        return self.loss(batch)

    @torch.inference_mode()
    def decode(self, batch: Batch) -> Tensor:
        """The best path of each sentence, (batch, time) int64, 0 on padding."""
        return self.head.decode(self.states(batch), batch.mask)

    @torch.inference_mode()
    def decode_with_confidence(self, batch: Batch) -> Decoded:
        """The best path of each sentence and its tokens' marginals."""
        states = self.states(batch)
        chain = self.head.chain(states, batch.mask)
        tag_ids = self.head.decode(states, batch.mask)
        return _confidence(chain, tag_ids, self.continuation)


def _confidence(chain: Chain, tag_ids: Tensor, continuation: Tensor) -> Decoded:
    messages = forward_backward(chain)
    chosen = tag_ids.unsqueeze(2)
    log_probs = (messages.alpha.gather(2, chosen) + messages.beta.gather(2, chosen)).squeeze(
        2
    ) - messages.log_partition.unsqueeze(1)
    steps = step_log_probs(chain, messages, tag_ids)  # (batch, time - 1, next tag)
    taken = steps.gather(2, tag_ids[:, 1:].unsqueeze(2)).squeeze(2)
    next_id = continuation[tag_ids[:, :-1]]
    going = steps.gather(2, next_id.clamp(min=0).unsqueeze(2)).squeeze(2).exp()
    within = chain.mask[:, 1:] & (next_id >= 0)
    nothing = torch.zeros_like(log_probs[:, :1])
    return Decoded(
        tag_ids=tag_ids,
        probs=log_probs.exp().clamp(max=1),
        step_log_probs=torch.cat((log_probs[:, :1], taken), dim=1),
        goes_on=torch.cat((going.masked_fill(~within, 0), nothing), dim=1).clamp(max=1),
    )


def build_tagger(
    config: Config, vocabulary: Vocabulary, bigrams: StepScores | None = None
) -> Tagger:
    """A tagger with fresh weights, of a configuration whose data.scheme is resolved.

    Args:
        config: sizes and names.
        vocabulary: numbers of words, characters, tags and feature values.
        bigrams: of the training tags, for the viterbi head; None where weights are loaded next.
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
        dropout=encoder.dropout,
        locked_dropout=encoder.locked_dropout,
        word_dropout=encoder.word_dropout,
    )
    head = _build_head(config, vocabulary, layers.outputs, bigrams)
    return Tagger(embed, layers, head, _continuation(vocabulary.tags, training_scheme(config)))


def _build_head(
    config: Config, vocabulary: Vocabulary, inputs: int, bigrams: StepScores | None
) -> Head:
    kind = config.head.kind
    constrain = config.head.constrain
    if constrain == "auto":
        constrain = "none" if kind == "softmax" else "decode"
    scheme = training_scheme(config) if constrain != "none" else "labels"
    tags = len(vocabulary.tags)
    illegal = illegal_steps(vocabulary.tags, scheme)
    if kind == "crf":
        return CrfHead(
            inputs=inputs, tags=tags, illegal=illegal, constrain_training=constrain == "train"
        )
    if kind == "softmax":
        return SoftmaxHead(inputs=inputs, tags=tags, illegal=illegal)
    blank = StepScores(torch.zeros(tags, tags), torch.zeros(tags), torch.zeros(tags))
    return ViterbiHead(inputs=inputs, tags=tags, illegal=illegal, bigrams=bigrams or blank)


def illegal_steps(tags: tuple[str, ...], scheme: str) -> StepScores:
    """Minus infinity on every step that the scheme forbids, 0 on the others."""

    def score(before: str, after: str) -> float:
        return 0.0 if may_follow(before, after, scheme) else -torch.inf

    return StepScores(
        torch.tensor([[score(before, after) for after in tags] for before in tags]),
        torch.tensor([score(OUTSIDE, tag) for tag in tags]),
        torch.tensor([score(tag, OUTSIDE) for tag in tags]),
    )


def _continuation(tags: tuple[str, ...], scheme: str) -> Tensor:
    """Of each tag the one that would continue its span, where only the next tag tells: IOB2."""
    ids = {tag: number for number, tag in enumerate(tags)}
    following = [-1] * len(tags)
    if scheme == "iob2":
        for tag, number in ids.items():
            if tag != OUTSIDE:
                following[number] = ids.get(join_tag("I", split_tag(tag)[1]), -1)
    return torch.tensor(following)
