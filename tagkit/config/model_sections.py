"""[embeddings], [encoder] and [head] of tagkit.toml: the network, from words to labels."""

from typing import Annotated, Literal

from pydantic import Field

from tagkit.config.option import CLASSES, TAGS, Needs, Option, Section
from tagkit.config.values import (
    Auto,
    Cell,
    CharCell,
    Periods,
    Pooling,
    Probability,
    Share,
    Size,
    Weight,
)

_WITH_CHARACTERS = Needs("embeddings.char_cell", but=("none",))
_WITH_VECTORS = Needs("embeddings.vectors", but=("",))
_WITH_RESERVOIR = Needs("encoder.cell", ("echo-state",))
_FEEDBACK = Needs("head.kind", ("feedback",))
_SAMPLING = Needs("head.sampling", but=("none",))
_WITH_ATTENTION = Needs("encoder.cell", ("transformer",))


class EmbeddingsConfig(Section):
    """[embeddings]: how a word is represented for the encoder."""

    # A file of vectors fixes the dimension: they are added to the trained embedding, or stand for
    # it.
    word_dim: Annotated[
        Size, Option("Dimension of word embeddings; with vectors, theirs.", inherit=True)
    ] = 100
    # Capitals are what names are recognised by; the character network keeps them.
    lowercase: Annotated[
        bool, Option("Lowercase words; their characters keep their case.", inherit=True)
    ] = True
    normalize_digits: Annotated[
        bool, Option("Read every digit of a word as 0; not of its characters.", inherit=True)
    ] = True
    # Not inherited: it decides which words are added, not what the words that are there mean.
    min_count: Annotated[
        int, Field(ge=1), Option("Minimum frequency of a word; rarer ones are unknown.")
    ] = 1
    # A word that is seen once is a fair example of one never seen (Lample et al. 2016).
    singleton_dropout: Annotated[
        Probability, Option("Probability that a word seen once is replaced by the unknown word.")
    ] = 0.5
    vectors: Annotated[str, Option("File of pretrained word vectors.", "none", inherit=True)] = ""
    # Files of vectors are sorted by frequency as a rule, so that the first ones cover most tokens.
    max_vectors: Annotated[
        int,
        Field(ge=0),
        Option("Maximum number of vectors to read; 0 for all.", inherit=True, needs=_WITH_VECTORS),
    ] = 0
    # With it, words of the vectors that training never saw share a space with those that it saw.
    freeze_vectors: Annotated[
        bool,
        Option(
            "Use the vectors without a trained embedding added to each.",
            inherit=True,
            needs=_WITH_VECTORS,
        ),
    ] = False
    # The final states of both directions are the word's spelling (Ling et al. 2015; Lample et al.
    # 2016); "none" leaves a word that is unknown without any features.
    char_cell: Annotated[
        CharCell, Option("Recurrent cell over the characters of a word.", inherit=True)
    ] = "lstm"
    char_dim: Annotated[
        Size,
        Option("Dimension of character embeddings.", inherit=True, needs=_WITH_CHARACTERS),
    ] = 30
    char_hidden: Annotated[
        Size,
        Option(
            "Hidden units over characters, for each direction.",
            inherit=True,
            needs=_WITH_CHARACTERS,
        ),
    ] = 50
    char_dropout: Annotated[
        Probability, Option("Dropout of character embeddings.", needs=_WITH_CHARACTERS)
    ] = 0.0
    # The network over the characters learns them only from thousands of sentences. Beside
    # pretrained vectors they lower the scores of all but the smallest corpora:
    # `training/defaults.py`.
    affix_dim: Annotated[
        Auto | Annotated[int, Field(ge=0, le=100_000)],
        Option(
            "Dimension of the embedding of a word's prefixes, suffixes and shape; 0 for none; "
            "auto: 50, or 0 with vectors and over 200 sentences.",
            inherit=True,
        ),
    ] = "auto"
    # Columns such as part-of-speech tags have tens of values, not tens of thousands.
    feature_dim: Annotated[
        Size,
        Option(
            "Dimension of the embedding of each feature column.",
            inherit=True,
            needs=Needs("data.feature_columns", but=((),)),
        ),
    ] = 20


class EncoderConfig(Section):
    """[encoder]: layers over the words, recurrent ones or of a transformer."""

    # All cells take the same sizes: an LSTM of 200 units has four times the weights of an Elman
    # cell.
    cell: Annotated[Cell, Option("Recurrent cell, or transformer.", inherit=True)] = "lstm"
    # Le, Jaitly and Hinton 2015 for relu.
    activation: Annotated[
        Literal["tanh", "relu"],
        Option(
            "Activation of the cell elman.", inherit=True, needs=Needs("encoder.cell", ("elman",))
        ),
    ] = "tanh"
    # 1 - a in h = a h' + (1 - a) tanh(...): 1 keeps nothing of the state, as an Elman cell.
    leak: Annotated[
        Literal["spectrum", "learned"] | Annotated[float, Field(gt=0, le=1)],
        Option(
            "Share of a unit's state that a step replaces, for the cells leaky and echo-state: a "
            "number, spectrum for time scales from 1 to 32 tokens, or learned.",
            inherit=True,
            needs=Needs("encoder.cell", ("leaky", "echo-state")),
        ),
    ] = "spectrum"
    skip: Annotated[
        int,
        Field(ge=2, le=1000),
        Option(
            "Tokens that the second recurrent connection of the cell skip reaches back.",
            inherit=True,
            needs=Needs("encoder.cell", ("skip",)),
        ),
    ] = 5
    # Of a sentence of 25 words the slowest group then reads four.
    periods: Annotated[
        Periods,
        Option(
            "Periods, in tokens, at which the groups of units of the cell clockwork are updated.",
            inherit=True,
            needs=Needs("encoder.cell", ("clockwork",)),
        ),
    ] = (1, 2, 4, 8)
    spectral_radius: Annotated[
        float,
        Field(gt=0),
        Option(
            "Largest absolute eigenvalue of the recurrent weights of the cell echo-state.",
            inherit=True,
            needs=_WITH_RESERVOIR,
        ),
    ] = 0.9
    sparsity: Annotated[
        Probability,
        Option(
            "Share of the recurrent weights of the cell echo-state that are 0.",
            inherit=True,
            needs=_WITH_RESERVOIR,
        ),
    ] = 0.9
    input_scale: Annotated[
        float,
        Field(gt=0),
        Option(
            "Largest absolute value of an input weight of the cell echo-state.",
            inherit=True,
            needs=_WITH_RESERVOIR,
        ),
    ] = 1.0
    # Vaswani et al. 2017, section 3.2.2.
    heads: Annotated[
        Size,
        Option(
            "Attention heads of the transformer; they must divide encoder.hidden.",
            inherit=True,
            needs=_WITH_ATTENTION,
        ),
    ] = 4
    feed_forward: Annotated[
        int,
        Field(ge=1, le=100),
        Option(
            "Units of the transformer's feed-forward layers, as a multiple of encoder.hidden.",
            inherit=True,
            needs=_WITH_ATTENTION,
        ),
    ] = 4
    # Xiong et al. 2020: with the norm before, training needs no slow start.
    norm: Annotated[
        Literal["before", "after"],
        Option(
            "Where the layer norms of the transformer stand: before attention and feed-forward "
            "layer, or after the sum with their input.",
            inherit=True,
            needs=_WITH_ATTENTION,
        ),
    ] = "before"
    # Su et al. 2021 for rotary.
    positions: Annotated[
        Literal["rotary", "sinusoidal", "learned"],
        Option(
            "How the transformer knows the position of a token.",
            inherit=True,
            needs=_WITH_ATTENTION,
        ),
    ] = "rotary"
    max_positions: Annotated[
        Size,
        Option(
            "Number of learned positions; tokens beyond them share the last one.",
            inherit=True,
            needs=Needs("encoder.positions", ("learned",)),
        ),
    ] = 512
    # Of one layer a step is that of an Elman network.
    transition_layers: Annotated[
        int,
        Field(ge=2, le=100),
        Option(
            "Layers of a step, from state to state, of the cells deep-transition and "
            "recurrent-highway.",
            inherit=True,
            needs=Needs("encoder.cell", ("deep-transition", "recurrent-highway")),
        ),
    ] = 2
    # Without it a gradient passes all layers of each step (Pascanu et al. 2014).
    transition_skip: Annotated[
        bool,
        Option(
            "Connect the state before with the last layer of a step, past the others, in the cell "
            "deep-transition.",
            inherit=True,
            needs=Needs("encoder.cell", ("deep-transition",)),
        ),
    ] = True
    hidden: Annotated[Size, Option("Hidden units for each direction.", inherit=True)] = 200
    layers: Annotated[int, Field(ge=1, le=100), Option("Number of layers.", inherit=True)] = 1
    # He et al. 2016; Srivastava et al. 2015. Past the first layer, whose input has another width,
    # there is none.
    connection: Annotated[
        Literal["none", "residual", "highway"],
        Option(
            "Connection past each layer but the first.",
            inherit=True,
            needs=Needs("encoder.layers", but=(1,)),
        ),
    ] = "none"
    # Without it a tag depends on the words before it alone, as a stream demands.
    bidirectional: Annotated[bool, Option("Read in both directions.", inherit=True)] = True
    # "concat" doubles the features that the head reads; the others keep `hidden` of them.
    merge: Annotated[
        Literal["concat", "sum", "mean", "product"],
        Option(
            "How the states of the two directions are combined.",
            inherit=True,
            needs=Needs("encoder.cell", but=("transformer",)),
        ),
    ] = "concat"
    # Deep output of Pascanu et al. 2014. A classifier has such layers after its pooling.
    output_layers: Annotated[
        tuple[Size, ...],
        Option(
            "Units of feed-forward layers between the states of a token and its tags.",
            inherit=True,
            tasks=TAGS,
            instead="classes of texts have head.hidden",
        ),
    ] = ()
    # Srivastava et al. 2014.
    dropout: Annotated[
        Probability, Option("Dropout of single values, before and after each layer.")
    ] = 0.0
    # One mask for all tokens of a sentence does not disturb what a state carries from one to the
    # next (Gal and Ghahramani 2016).
    locked_dropout: Annotated[
        Probability, Option("Dropout of the same features at all tokens of a sentence.")
    ] = 0.4
    word_dropout: Annotated[Probability, Option("Dropout of whole tokens.")] = 0.05


class HeadConfig(Section):
    """[head]: from hidden states to tags of tokens, or to classes of texts."""

    # crf: Lafferty et al. 2001. softmax decides on each token by itself. viterbi: as softmax in
    # training, and the best path by transitions counted in the corpus (Bourlard and Morgan 1994).
    # feedback: a decoder that reads the tag before.
    kind: Annotated[
        Literal["crf", "softmax", "viterbi", "feedback"],
        Option("How a sequence of tags is scored and decoded.", tasks=TAGS),
    ] = "crf"
    # "train" also takes illegal paths out of the partition; "decode" merely never chooses them.
    constrain: Annotated[
        Literal["auto", "none", "decode", "train"],
        Option("When only the legal transitions of the tag scheme are allowed.", tasks=TAGS),
    ] = "auto"
    # Networks whose whole state is h, or h and c, so that a search can continue any hypothesis.
    feedback_cell: Annotated[
        Literal["lstm", "gru", "elman"],
        Option("Recurrent cell of the decoder.", tasks=TAGS, needs=_FEEDBACK),
    ] = "gru"
    feedback_hidden: Annotated[
        Size, Option("Hidden units of the decoder.", tasks=TAGS, needs=_FEEDBACK)
    ] = 100
    tag_dim: Annotated[
        Size,
        Option("Dimension of the embedding of the tag before.", tasks=TAGS, needs=_FEEDBACK),
    ] = 25
    beam: Annotated[
        Size,
        Option("Hypotheses that decoding keeps; 1 is greedy.", tasks=TAGS, needs=_FEEDBACK),
    ] = 1
    # Bengio et al. 2015. "none" is teacher forcing, which reads a batch in one pass.
    sampling: Annotated[
        Literal["none", "constant", "linear", "inverse-sigmoid"],
        Option(
            "How often training reads a predicted tag in place of the gold one: never, or with a "
            "probability that is constant or grows.",
            tasks=TAGS,
            needs=_FEEDBACK,
        ),
    ] = "none"
    sampling_rate: Annotated[
        Share,
        Option("Maximum of that probability.", tasks=TAGS, needs=_SAMPLING),
    ] = 0.25
    sampling_steps: Annotated[
        int,
        Field(ge=1),
        Option(
            "Steps of the optimizer in which linear reaches the maximum, and inverse-sigmoid half "
            "of it.",
            tasks=TAGS,
            needs=Needs("head.sampling", ("linear", "inverse-sigmoid")),
        ),
    ] = 1000
    # Yang et al. 2016 for attention.
    pooling: Annotated[
        Pooling, Option("How the states of a text become one vector.", tasks=CLASSES)
    ] = "attention"
    # Empty for a linear classifier.
    hidden: Annotated[
        tuple[Size, ...],
        Option("Units of feed-forward layers between that vector and the classes.", tasks=CLASSES),
    ] = ()
    activation: Annotated[
        Literal["relu", "tanh", "gelu"],
        Option(
            "Activation of the feed-forward layers.",
            tasks=CLASSES,
            needs=Needs("head.hidden", but=((),)),
        ),
    ] = "relu"
    dropout: Annotated[
        Probability, Option("Dropout before each linear layer of the classifier.", tasks=CLASSES)
    ] = 0.3
    # With several classes each is decided by a sigmoid of its own, otherwise one softmax by all.
    multi_label: Annotated[
        Literal["auto", "yes", "no"],
        Option("Whether a text may have several classes.", "as in train_file", tasks=CLASSES),
    ] = "auto"
    # Classes in a table may have a threshold each: rare ones rarely reach 0.5.
    threshold: Annotated[
        Share | dict[str, Share] | None,
        Option(
            "Minimum class probability, or one for each class: `{sport = 0.4}`.",
            "0.5 for several classes; with one class, the most probable",
            tasks=CLASSES,
        ),
    ] = None
    # Szegedy et al. 2016: keeps the model from being certain of labels that may be wrong.
    label_smoothing: Annotated[
        Probability,
        Option("Probability of the gold class that is spread over all classes.", tasks=CLASSES),
    ] = 0.0
    # "balanced" weighs by inverse frequency (King and Zeng 2001).
    class_weights: Annotated[
        Literal["none", "balanced"] | dict[str, Weight],
        Option(
            "Weights of the classes in the loss: none, balanced, or one for each class: "
            "`{spam = 3.0}`.",
            tasks=CLASSES,
        ),
    ] = "none"
    # By type, and not by tag: B- and I- of a type always weigh the same.
    label_weights: Annotated[
        dict[str, Weight],
        Option(
            "Weights of the labels in the loss, by entity type, or O: `{loc = 3.0, O = 0.5}`.",
            tasks=TAGS,
            instead="classes of texts have head.class_weights",
        ),
    ] = Field(default_factory=dict)
    # The encoder is shared: a column with many labels can drown the others.
    column_weights: Annotated[
        dict[str, Weight],
        Option(
            "Weights of the losses of tag columns, where data.tag_column is a list: "
            "`{FEATS = 0.3}`.",
            tasks=("tag",),
        ),
    ] = Field(default_factory=dict)
    # Encoder and embeddings are shared, so that either loss can drown the other.
    class_loss: Annotated[
        float,
        Field(gt=0),
        Option("Weight of the loss of the class beside that of the tags.", tasks=("both",)),
    ] = 1.0

    @property
    def several_classes(self) -> bool:
        """Whether a text may have several classes; of a configuration whose "auto" is resolved."""
        return self.multi_label == "yes"
