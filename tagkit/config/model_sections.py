"""[embeddings], [encoder] and [head] of tagkit.toml: the network, from words to labels."""

from typing import Annotated, Literal

from pydantic import Field

from tagkit.config.option import CLASSES, TAGS, Needs, Option, Section
from tagkit.config.values import (
    Auto,
    Cell,
    CharCell,
    Chrono,
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
_WITH_GATES = Needs("encoder.cell", ("lstm", "gru", "lstm-peephole", "gru-reset-before", "leaky"))


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
    """[encoder]: recurrent layers over the words."""

    # All cells take the same sizes: an LSTM of 200 units has four times the weights of an Elman
    # cell.
    cell: Annotated[Cell, Option("Recurrent cell.", inherit=True)] = "lstm"
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
    # orthogonal: Saxe et al. 2014. identity: Le, Jaitly and Hinton 2015, with relu. xavier: Glorot
    # and Bengio 2010.
    init: Annotated[
        Literal["orthogonal", "identity", "normal", "xavier"],
        Option(
            "How the recurrent weights of each gate begin: orthogonal, identity, normal or xavier.",
            needs=Needs("encoder.cell", but=("echo-state",)),
        ),
    ] = "orthogonal"
    # Of a state over many steps the part along an eigenvector shrinks or grows with its eigenvalue.
    spectral_radius: Annotated[
        Auto | Annotated[float, Field(gt=0)],
        Option(
            "Largest absolute eigenvalue of the initial recurrent weights of each gate; auto: 0.9 "
            "for the cell echo-state, 1 for others, and as drawn for xavier.",
            inherit=True,
        ),
    ] = "auto"
    # Tallec and Ollivier 2018.
    chrono: Annotated[
        Chrono,
        Option(
            "Tokens for which gates can keep the past at the beginning, at least 3; 0 for biases "
            "of 0, and 1 of forget gates.",
            needs=_WITH_GATES,
        ),
    ] = 0
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
    hidden: Annotated[Size, Option("Hidden units for each direction.", inherit=True)] = 200
    layers: Annotated[int, Field(ge=1, le=100), Option("Number of layers.", inherit=True)] = 1
    # Without it a tag depends on the words before it alone, as a stream demands.
    bidirectional: Annotated[bool, Option("Read in both directions.", inherit=True)] = True
    # "concat" doubles the features that the head reads; the others keep `hidden` of them.
    merge: Annotated[
        Literal["concat", "sum", "mean", "product"],
        Option("How the states of the two directions are combined.", inherit=True),
    ] = "concat"
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
    kind: Annotated[
        Literal["crf", "softmax", "viterbi"],
        Option("How a sequence of tags is scored and decoded.", tasks=TAGS),
    ] = "crf"
    # "train" also takes illegal paths out of the partition; "decode" merely never chooses them.
    constrain: Annotated[
        Literal["auto", "none", "decode", "train"],
        Option("When only the legal transitions of the tag scheme are allowed.", tasks=TAGS),
    ] = "auto"
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
