"""Embeddings and encoders as a configuration describes them, with fresh weights."""

import math

from tagkit.config import (
    DEFAULT_BPTT,
    DEFAULT_LOCKED_DROPOUT,
    DEFAULT_WORD_DROPOUT,
    Config,
    EncoderConfig,
    HeadConfig,
    fixed,
)
from tagkit.features.vocabulary import RESERVED, Vocabulary
from tagkit.models.base.model import Member
from tagkit.nn.feature_crf.feature_crf import FeatureCrf
from tagkit.nn.heads.sampling import Sampling
from tagkit.nn.layers.embedding import (
    AffixEmbedding,
    CharConvolution,
    CharEncoder,
    ContextualInput,
    SharedVectors,
    TokenEmbedding,
    WordEmbedding,
)
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.recurrent_layer import RecurrentLayer
from tagkit.nn.recurrence.cell import CellOptions
from tagkit.nn.trees import TREES
from tagkit.nn.trees.encoder import TreeEncoder

# Coarse clusters beside fine ones. Further kinds, from 30 to 2,000 clusters, bring no more.
_TIMES_LARGER = 5


def sampling_of(head: HeadConfig) -> Sampling:
    """How often training reads what was drawn, and how many of the last steps do."""
    return Sampling(
        head.sampling, head.sampling_rate, head.sampling_steps, free_running=head.free_running
    )


def build_others(config: Config, vocabulary: Vocabulary, first: TokenEmbedding) -> list[Member]:
    """The members of an ensemble after the first one, whose embedding lends its vectors."""
    others = []
    for _ in range(config.encoder.ensemble_size - 1):
        embed = build_embedding(config, vocabulary, first.words)
        others.append(Member(embed=embed, encoder=build_encoder(config, embed.outputs)))
    return others


def build_embedding(
    config: Config, vocabulary: Vocabulary, owner: WordEmbedding | None = None
) -> TokenEmbedding:
    """Embeddings of words, characters and feature columns, with fresh weights.

    Args:
        config: resolved.
        vocabulary: of the model.
        owner: whose pretrained vectors these words have; None for vectors of their own.
    """
    # The order in which parts are built is the order in which weights are drawn: characters,
    # words, affixes, contextual states, features, encoder, heads. Another order would give other
    # weights for a seed.
    embeddings = config.embeddings
    chars = _build_chars(config, len(vocabulary.chars) + RESERVED)
    words = (
        WordEmbedding(
            words=len(vocabulary.words) + RESERVED,
            dim=embeddings.word_dim,
            vectors=len(vocabulary.vector_words),
        )
        if owner is None
        else SharedVectors(owner=owner, dim=embeddings.word_dim)
    )
    words.dropout = embeddings.dropout
    # Built after the words, and before the encoder. A model of 0.1.0 has none in its vocabulary.
    affixes = None
    if vocabulary.affixes:
        affixes = AffixEmbedding(
            affixes=len(vocabulary.affixes) + 1, dim=fixed(embeddings.affix_dim)
        )
    contextual = None
    if vocabulary.contextual:
        contextual = ContextualInput(
            inputs=sum(part.states for part in vocabulary.contextual),
            dim=embeddings.contextual_dim,
            mixes=[(part.layers, part.states // part.layers) for part in vocabulary.contextual]
            if embeddings.contextual_layers == "mix"
            else (),
        )
    return TokenEmbedding(
        words=words,
        chars=chars,
        affixes=affixes,
        features=[len(values) + RESERVED for values in vocabulary.features],
        dim=embeddings.feature_dim,
        contextual=contextual,
        numbers=sum(len(column.mean) for column in vocabulary.vectors),
    )


def _build_chars(config: Config, chars: int) -> CharEncoder | CharConvolution | None:
    embeddings = config.embeddings
    if embeddings.char_cell == "none":
        return None
    if embeddings.char_cell == "cnn":
        outputs = 2 * embeddings.char_hidden  # as many as of two directions
        return CharConvolution(chars=chars, dim=embeddings.char_dim, outputs=outputs)
    return CharEncoder(
        chars=chars,
        dim=embeddings.char_dim,
        cell=embeddings.char_cell,
        options=cell_options(EncoderConfig()),  # those of [encoder] are of its own cell
        hidden=embeddings.char_hidden,
        layers=embeddings.char_layers,
    )


def cell_options(encoder: EncoderConfig) -> CellOptions:
    """The options of the encoder's cell."""
    return CellOptions(
        activation=encoder.activation,
        init=encoder.init,
        spectral_radius=None if encoder.spectral_radius == "auto" else encoder.spectral_radius,
        initial_state=encoder.initial_state,
        chrono=encoder.chrono,
        leak=encoder.leak,
        skip=encoder.skip if isinstance(encoder.skip, tuple) else (encoder.skip,),
        periods=encoder.periods,
        heads=encoder.heads,
        feed_forward=encoder.feed_forward,
        norm=encoder.norm,
        positions=encoder.positions,
        max_positions=encoder.max_positions,
        widths=encoder.widths,
        dilation=encoder.dilation,
        transition_layers=encoder.transition_layers,
        transition_skip=encoder.transition_skip,
        memory=encoder.memory,
    )


def tokens_back(config: Config) -> int:
    """Tokens that gradients go back; 0 for all."""
    segment = config.train.bptt
    return DEFAULT_BPTT if segment == "auto" else segment


def locked_dropout(config: Config) -> float:
    """Probability that a feature is dropped at all tokens; as for labels where it is "auto"."""
    probability = config.encoder.locked_dropout
    return DEFAULT_LOCKED_DROPOUT if probability == "auto" else probability


def word_dropout(config: Config) -> float:
    """Probability that a token is dropped; as for labels where it is "auto"."""
    probability = config.encoder.word_dropout
    return DEFAULT_WORD_DROPOUT if probability == "auto" else probability


def build_encoder(config: Config, inputs: int) -> Encoder:
    """The layers over `inputs` features of each token, with fresh weights."""
    encoder = config.encoder
    dropout = {
        "dropout": encoder.dropout,
        "locked_dropout": locked_dropout(config),
        "word_dropout": word_dropout(config),
    }
    if encoder.cell in TREES:
        options = cell_options(encoder)
        return TreeEncoder(
            cell=encoder.cell, options=options, inputs=inputs, hidden=encoder.hidden, **dropout
        )
    built = Encoder(
        cell=encoder.cell,
        options=cell_options(encoder),
        inputs=inputs,
        hidden=encoder.hidden,
        layers=encoder.layers,
        connection=encoder.connection,
        input_layers=encoder.input_layers,
        output_layers=encoder.output_layers,
        bidirectional=encoder.bidirectional,
        merge=encoder.merge,
        segment=tokens_back(config),  # as long texts need memory
        **dropout,
    )
    built.flow_strength = config.train.flow_strength
    for layer in built.stack():
        if isinstance(layer, RecurrentLayer):
            layer.weight_drop = encoder.weight_drop
            layer.max_state_grad = config.train.max_state_grad
    return built


def build_feature_crf(config: Config, vocabulary: Vocabulary) -> FeatureCrf | None:
    """The CRF that the configuration asks for, without weights; None where it does not."""
    weights = config.head.feature_crf
    if not isinstance(weights, int) or not weights:
        return None
    dim = config.embeddings.word_dim if vocabulary.vector_words else 0
    fine = fixed(config.head.vector_clusters) if dim else 0
    clusters = (math.ceil(fine / _TIMES_LARGER), fine) if fine else ()
    return FeatureCrf(weights=weights, tags=len(vocabulary.tags), dim=dim, clusters=clusters)
