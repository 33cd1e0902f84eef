"""[embeddings], [encoder] and [head] of tagkit.toml: the network, from words to labels."""

from typing import Annotated, Literal

from pydantic import Field

from tagkit.config.option import CLASSES, TAGS, Needs, Option, Section
from tagkit.config.values import Cell, CharCell, Pooling, Probability, Share, Size, Weight

_WITH_CHARACTERS = Needs("embeddings.char_cell", but=("none",))
_WITH_VECTORS = Needs("embeddings.vectors", but=("",))


class EmbeddingsConfig(Section):
    """[embeddings]: how a word is represented for the encoder."""

    word_dim: Annotated[
        Size, Option("Dimension of word embeddings; with vectors, theirs.", inherit=True)
    ] = 100
    lowercase: Annotated[
        bool, Option("Lowercase words; their characters keep their case.", inherit=True)
    ] = True
    normalize_digits: Annotated[
        bool, Option("Read every digit of a word as 0; not of its characters.", inherit=True)
    ] = True
    min_count: Annotated[
        int, Field(ge=1), Option("Minimum frequency of a word; rarer ones are unknown.")
    ] = 1
    singleton_dropout: Annotated[
        Probability, Option("Probability that a word seen once is replaced by the unknown word.")
    ] = 0.5
    vectors: Annotated[str, Option("File of pretrained word vectors.", "none", inherit=True)] = ""
    max_vectors: Annotated[
        int,
        Field(ge=0),
        Option("Maximum number of vectors to read; 0 for all.", inherit=True, needs=_WITH_VECTORS),
    ] = 0
    freeze_vectors: Annotated[
        bool,
        Option(
            "Use the vectors without a trained embedding added to each.",
            inherit=True,
            needs=_WITH_VECTORS,
        ),
    ] = False
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

    cell: Annotated[Cell, Option("Recurrent cell.", inherit=True)] = "lstm"
    hidden: Annotated[Size, Option("Hidden units for each direction.", inherit=True)] = 200
    layers: Annotated[int, Field(ge=1, le=100), Option("Number of layers.", inherit=True)] = 1
    bidirectional: Annotated[bool, Option("Read in both directions.", inherit=True)] = True
    merge: Annotated[
        Literal["concat", "sum", "mean", "product"],
        Option("How the states of the two directions are combined.", inherit=True),
    ] = "concat"
    dropout: Annotated[
        Probability, Option("Dropout of single values, before and after each layer.")
    ] = 0.0
    locked_dropout: Annotated[
        Probability, Option("Dropout of the same features at all tokens of a sentence.")
    ] = 0.4
    word_dropout: Annotated[Probability, Option("Dropout of whole tokens.")] = 0.05


class HeadConfig(Section):
    """[head]: from hidden states to tags of tokens, or to classes of texts."""

    kind: Annotated[
        Literal["crf", "softmax", "viterbi"],
        Option("How a sequence of tags is scored and decoded.", tasks=TAGS),
    ] = "crf"
    constrain: Annotated[
        Literal["auto", "none", "decode", "train"],
        Option("When only the legal transitions of the tag scheme are allowed.", tasks=TAGS),
    ] = "auto"
    pooling: Annotated[
        Pooling, Option("How the states of a text become one vector.", tasks=CLASSES)
    ] = "attention"
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
    multi_label: Annotated[
        Literal["auto", "yes", "no"],
        Option("Whether a text may have several classes.", "as in train_file", tasks=CLASSES),
    ] = "auto"
    threshold: Annotated[
        Share | dict[str, Share] | None,
        Option(
            "Minimum class probability, or one for each class: `{sport = 0.4}`.",
            "0.5 for several classes; with one class, the most probable",
            tasks=CLASSES,
        ),
    ] = None
    label_smoothing: Annotated[
        Probability,
        Option("Probability of the gold class that is spread over all classes.", tasks=CLASSES),
    ] = 0.0
    class_weights: Annotated[
        Literal["none", "balanced"] | dict[str, Weight],
        Option(
            "Weights of the classes in the loss: none, balanced, or one for each class: "
            "`{spam = 3.0}`.",
            tasks=CLASSES,
        ),
    ] = "none"
    label_weights: Annotated[
        dict[str, Weight],
        Option(
            "Weights of the labels in the loss, by entity type, or O: `{loc = 3.0, O = 0.5}`.",
            tasks=TAGS,
            instead="classes of texts have head.class_weights",
        ),
    ] = Field(default_factory=dict)
    class_loss: Annotated[
        float,
        Field(gt=0),
        Option("Weight of the loss of the class beside that of the tags.", tasks=("both",)),
    ] = 1.0

    @property
    def several_classes(self) -> bool:
        """Whether a text may have several classes; of a configuration whose "auto" is resolved."""
        return self.multi_label == "yes"
