"""[head] of tagkit.toml: from hidden states to labels."""

from typing import Annotated, Literal

from pydantic import Field

from tagkit.config.option import (
    BY_GRADIENT,
    CLASSES,
    STRINGS,
    TAGS,
    TEXT,
    Former,
    Needs,
    Option,
    Section,
)
from tagkit.config.values import (
    TREES,
    Auto,
    Pooling,
    Probability,
    Share,
    Size,
    Weight,
)

_FEEDBACK = Needs("head.kind", ("feedback",), exempt=(*STRINGS, *TEXT))
# Tasks that can read what they have written.
_WRITTEN = (*TAGS, *STRINGS, *TEXT)
_SAMPLING = Needs("head.sampling", but=("none",))


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
    # `models/tagging/tag_head.py`; "auto" is of `training/setup/defaults.py`. Evgeniou and
    # Pontil 2004.
    tag_sharing: Annotated[
        Auto | bool,
        Option(
            "Whether tags of the same label, and tags with the same prefix, share a part of their "
            "scores; true, false or auto.",
            "true for spans of one tag column, without classes, in up to 1,000 sentences, else "
            "false",
            tasks=TAGS,
            needs=(Needs("head.kind", but=("feedback",)), BY_GRADIENT),
        ),
    ] = "auto"
    # In prediction alone; "auto" is of `training/setup/defaults.py`. Krishnan and Manning 2006.
    label_consistency: Annotated[
        Auto | Share,
        Option(
            "How far the scores of a name that a document has several times are moved to their "
            "mean: from 0 to 1, or auto.",
            "0.5 for spans if documents of train label names alike, else 0",
            tasks=("tag",),
        ),
    ] = "auto"
    # Networks whose whole state is h, or h and c, so that a search can continue any hypothesis.
    feedback_cell: Annotated[Literal["lstm", "gru", "elman"], Former()] = "gru"
    feedback_hidden: Annotated[Size, Former()] = 100
    tag_dim: Annotated[Size, Former()] = 25  # of the embedding of the tag before
    beam: Annotated[
        Size,
        Option("Hypotheses that decoding keeps; 1 is greedy.", tasks=TAGS, needs=_FEEDBACK),
    ] = 1
    # Bengio et al. 2015. "none" is teacher forcing, which reads a batch in one pass.
    sampling: Annotated[
        Literal["none", "constant", "linear", "inverse-sigmoid"],
        Option(
            "How often training reads a predicted tag or unit in place of the gold one: never, or "
            "with a probability that is constant or grows.",
            tasks=_WRITTEN,
            needs=(_FEEDBACK, Needs("head.sampling_rate", but=(0,))),
        ),
    ] = "none"
    sampling_rate: Annotated[
        Share,
        Option("Maximum of that probability.", tasks=_WRITTEN, needs=_SAMPLING),
    ] = 0.25
    sampling_steps: Annotated[
        int,
        Field(ge=1),
        Option(
            "Steps of the optimizer in which linear reaches the maximum, and inverse-sigmoid half "
            "of it.",
            tasks=_WRITTEN,
            needs=Needs("head.sampling", ("linear", "inverse-sigmoid")),
        ),
    ] = 1000
    # Yang et al. 2016 for attention, Vaswani et al. 2017 for its scale, Sukhbaatar et al. 2015 for
    # memory.
    pooling: Annotated[
        Pooling,
        Option(
            "How the states of a text become one vector.",
            "scaled-attention for up to 1,000 texts, else attention",
            tasks=CLASSES,
        ),
    ] = "auto"
    hops: Annotated[
        int,
        Field(ge=1, le=100),
        Option(
            "How often the pooling memory reads the states of a text, each time with what it has "
            "found.",
            tasks=CLASSES,
            needs=Needs("head.pooling", ("memory",)),
        ),
    ] = 3
    # "auto" of this and of bag_of_words is of `training/setup/defaults.py`.
    feature_crf: Annotated[
        Auto | Annotated[int, Field(ge=0, le=2**24)],
        Option(
            "Weights of a CRF of word features, by whose probabilities those of the network are "
            "multiplied where that helps on dev; 0 for none, or auto.",
            "ten for each token up to 4,000 sentences, or 30,000 spans where there are no other "
            "labels; with vectors up to 1,000 sentences; else 0, as with hundreds of labels",
            tasks=TAGS,
            needs=Needs("head.kind", ("crf",)),
        ),
    ] = "auto"
    # Turian et al. 2010, Guo et al. 2014.
    vector_clusters: Annotated[
        Auto | Annotated[int, Field(ge=0, le=10_000)],
        Option(
            "Number of clusters of the pretrained vectors that the CRF of word features reads, "
            "beside a fifth as many coarser ones; 0 for none, or auto.",
            "500 with such a CRF and vectors, else 0",
            tasks=TAGS,
            needs=(
                Needs("head.kind", ("crf",)),
                Needs("head.feature_crf", but=(0,)),
                Needs("embeddings.vectors", but=("",)),
            ),
        ),
    ] = "auto"
    bag_of_words: Annotated[
        Auto | Annotated[int, Field(ge=0, le=2**24)],
        Option(
            "Rows for pairs of words in a linear model of words, by whose probabilities those of "
            "the network are multiplied; 0 for no such model, or auto.",
            "twice the tokens up to 10,000 texts, 1,000 with tags, 200 with vectors, or for long "
            "ones; else 0",
            tasks=CLASSES,
            # A node of a tree has no bag of its own.
            needs=(Needs("data.unit", ("word",)), Needs("encoder.cell", but=TREES)),
        ),
    ] = "auto"
    # Empty for a linear classifier.
    hidden: Annotated[
        tuple[Size, ...],
        Option("Units of feed-forward layers between that vector and the classes.", tasks=CLASSES),
    ] = ()
    activation: Annotated[Literal["relu", "tanh", "gelu"], Former()] = "relu"
    dropout: Annotated[
        Probability,
        Option(
            "Dropout before each linear layer of the classifier.", tasks=CLASSES, needs=BY_GRADIENT
        ),
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
        Option(
            "Probability of the gold class, or of the gold unit of a string, that is spread over "
            "all of them.",
            tasks=(*CLASSES, *STRINGS),
            needs=BY_GRADIENT,
        ),
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
    # Grave et al. 2017; Jean et al. 2015. Where units are many, a step computes some of them.
    softmax: Annotated[
        Literal["auto", "full", "adaptive", "sampled"],
        Option(
            "How units are predicted: full, over all of them; adaptive, in clusters by frequency; "
            "sampled, over some of them in training; auto: full for up to 50,000 units.",
            tasks=TEXT,
        ),
    ] = "auto"

    # Goodfellow, Bengio and Courville, section 10.2.3.
    end: Annotated[
        Literal["symbol", "halt", "length"],
        Option(
            "How a line or string ends: with a symbol, one unit among the others; by halt, a "
            "logistic unit on each state; or after a length that is predicted first.",
            tasks=(*TEXT, *STRINGS),
            needs=Needs(
                "data.context",
                ("line",),
                exempt=STRINGS,
                alternative=Needs("data.condition", ("label",)),
            ),
        ),
    ] = "symbol"
    # Lamb et al. 2016 name it; Goodfellow, Bengio and Courville, section 10.2.1.
    free_running: Annotated[
        int,
        Field(ge=0),
        Option(
            "Last steps of each string or segment in which training reads units that the model "
            "has drawn.",
            tasks=(*TEXT, *STRINGS),
        ),
    ] = 0

    @property
    def several_classes(self) -> bool:
        """Whether a text may have several classes; of a configuration whose "auto" is resolved."""
        return self.multi_label == "yes"
