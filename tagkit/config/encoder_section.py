"""[encoder] of tagkit.toml: the layers over the words."""

from typing import Annotated, Literal

from pydantic import Field

from tagkit.config.option import (
    BY_GRADIENT,
    LABELS,
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
    WITHOUT_STEPS,
    Auto,
    Cell,
    Chrono,
    MemorySize,
    Periods,
    Probability,
    Size,
)

# What "auto" is where labels are learnt, and in most language models: `training/setup/defaults.py`.
DEFAULT_LOCKED_DROPOUT = 0.4
DEFAULT_WORD_DROPOUT = 0.05

_WITH_RESERVOIR = Needs("encoder.cell", ("echo-state",))
_OF_NEAR = Needs("encoder.cell", ("cnn", "window"))
_WITH_ATTENTION = Needs("encoder.cell", ("transformer",))
_OF_TREES = Needs("encoder.cell", TREES)
# Their rows, which use it, are torch's: a law of the table of cells holds this list.
_WITH_GATES = Needs(
    "encoder.cell",
    ("lstm", "gru", "lstm-peephole", "gru-reset-before", "leaky", "skip-lstm"),
)
_WITHOUT_GATES = (
    "elman", "leaky", "skip", "clockwork", "output-feedback", "echo-state", "deep-transition",
)  # fmt: skip
_Leak = Annotated[float, Field(gt=0, le=1)]
_Delay = Annotated[int, Field(ge=2, le=1000)]


class EncoderConfig(Section):
    """[encoder]: layers over the words, recurrent, convolutional or of a transformer."""

    # All cells take the same sizes: an LSTM of 200 units has four times the weights of an Elman
    # cell.
    cell: Annotated[
        Cell,
        Option(
            "Recurrent cell, transformer, cnn (convolution over time), window (a feed-forward "
            "network over near words), or, over trees, tree-rnn, rntn or tree-lstm.",
            inherit=True,
        ),
    ] = "lstm"
    # Le, Jaitly and Hinton 2015 for relu.
    activation: Annotated[
        Literal["tanh", "relu"],
        Option(
            "Activation of cells without gates.",
            inherit=True,
            needs=Needs("encoder.cell", _WITHOUT_GATES),
        ),
    ] = "tanh"
    # 1 - a in h = a h' + (1 - a) tanh(...): 1 keeps nothing of the state, as an Elman cell.
    leak: Annotated[
        Literal["spectrum", "learned"]
        | _Leak
        | Annotated[tuple[_Leak, ...], Field(min_length=1, max_length=100)],
        Option(
            "Share of a unit's state that a step replaces, for leaky and echo-state: a number, a "
            "list for groups of units, spectrum for scales of 1 to 32 tokens, or learned.",
            inherit=True,
            needs=Needs("encoder.cell", ("leaky", "echo-state")),
        ),
    ] = "spectrum"
    skip: Annotated[
        _Delay | Annotated[tuple[_Delay, ...], Field(min_length=1, max_length=20)],
        Option(
            "Tokens that the further recurrent connection of the cells skip and skip-lstm reaches "
            "back, or each of several.",
            inherit=True,
            needs=Needs("encoder.cell", ("skip", "skip-lstm")),
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
    # and Bengio 2010. sparse: Sutskever et al. 2013.
    init: Annotated[
        Literal["orthogonal", "identity", "normal", "xavier", "sparse"],
        Option(
            "How the recurrent weights of each gate begin: orthogonal, identity, normal, xavier or "
            "sparse, 15 connections a unit.",
            inherit=True,
            needs=Needs("encoder.cell", but=("echo-state", "sru", *WITHOUT_STEPS)),
        ),
    ] = "orthogonal"
    # Of a state over many steps the part along an eigenvector shrinks or grows with its eigenvalue.
    spectral_radius: Annotated[
        Auto | Annotated[float, Field(gt=0, le=1000)],
        Option(
            "Largest absolute eigenvalue of the initial recurrent weights of each gate; auto: 0.9 "
            "for the cell echo-state, 1 for others, and as drawn for xavier.",
            inherit=True,
            needs=Needs("encoder.cell", but=("sru", *WITHOUT_STEPS)),
        ),
    ] = "auto"
    # The state before the first token: h(0) in Goodfellow, Bengio and Courville, section 10.2.
    initial_state: Annotated[
        Literal["zero", "learned"],
        Option(
            "State before the first token of a sequence: zeros, or learned.",
            inherit=True,
            otherwise="zero",
            tasks=(*LABELS, *STRINGS),  # a language model begins once, and then carries on
            needs=Needs("encoder.cell", but=("clockwork", "echo-state", "ntm", *WITHOUT_STEPS)),
        ),
    ] = "zero"
    # Tallec and Ollivier 2018.
    chrono: Annotated[
        Chrono,
        Option(
            "Tokens for which gates can keep the past at the beginning, at least 3; 0 for biases "
            "of 0, and 1 of forget gates.",
            inherit=True,
            needs=_WITH_GATES,
        ),
    ] = 0
    # Vaswani et al. 2017, section 3.2.2.
    heads: Annotated[
        Size,
        Option(
            "Attention heads of the transformer, which must divide encoder.hidden; read heads, and "
            "as many write heads, of the cell ntm.",
            inherit=True,
            needs=Needs("encoder.cell", ("transformer", "ntm")),
        ),
    ] = 4
    feed_forward: Annotated[
        int, Field(ge=1, le=100), Former(inherit=True, needs=_WITH_ATTENTION)
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
    max_positions: Annotated[Size, Former(inherit=True)] = 512
    # Kim 2014; Strubell et al. 2017.
    widths: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1001)], ...],
        Field(min_length=1, max_length=20),
        Option(
            "Tokens that a state of the cells cnn and window reads; each of several numbers gives "
            "a part of its values.",
            inherit=True,
            needs=_OF_NEAR,
        ),
    ] = (3,)
    dilation: Annotated[
        int,
        Field(ge=1, le=16),
        Option(
            "Of the cell cnn: layer l, from 0, reads every d ** l-th token, at most every 256th, "
            "and the topmost each one.",
            inherit=True,
            needs=Needs("encoder.cell", ("cnn",)),
        ),
    ] = 1
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
    # GBC, figure 10.13b; Pascanu et al. 2014.
    input_layers: Annotated[
        tuple[Size, ...],
        Option(
            "Units of feed-forward layers between the vector of a token and the first layer.",
            inherit=True,
            needs=Needs("encoder.cell", but=TREES),
        ),
    ] = ()
    # Goodfellow, Bengio and Courville, section 10.6. "auto" is of `ClassifyTask.resolve`.
    tree: Annotated[
        Literal["auto", "parse", "balanced", "left", "right"],
        Option(
            "Tree that the cells tree-rnn, rntn and tree-lstm read of a text: parse, as format "
            "trees has it, balanced, left or right branching.",
            "parse where all texts have one, else balanced",
            inherit=True,
            tasks=("classify",),
            needs=_OF_TREES,
        ),
    ] = "auto"
    # Graves, Wayne and Danihelka 2014.
    memory: Annotated[
        MemorySize,
        Option(
            "Slots of the memory of the cell ntm, and values in each.",
            inherit=True,
            needs=Needs("encoder.cell", ("ntm",)),
        ),
    ] = (64, 16)
    hidden: Annotated[Size, Option("Hidden units for each direction.", inherit=True)] = 200
    layers: Annotated[
        int,
        Field(ge=1, le=100),
        Option("Number of layers.", inherit=True, needs=Needs("encoder.cell", but=TREES)),
    ] = 1
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
    bidirectional: Annotated[
        bool,
        Option("Read in both directions.", inherit=True, needs=Needs("encoder.cell", but=TREES)),
    ] = True
    # A tagger's head works sentence by sentence in either case.
    context: Annotated[
        Literal["sentence", "document"],
        Option(
            "What the encoder reads as one sequence: each sentence by itself, or the sentences of "
            "a document one after another.",
            inherit=True,
            tasks=("tag",),
        ),
    ] = "sentence"
    # Bounds memory in prediction, and what a batch of training holds.
    context_words: Annotated[int, Field(ge=1, le=100_000), Former(inherit=True)] = 2000
    # "concat" doubles the features that the head reads; the others keep `hidden` of them.
    merge: Annotated[
        Literal["concat", "sum", "mean", "product"],
        Option(
            "How the states of the two directions are combined.",
            inherit=True,
            tasks=(*LABELS, *STRINGS),
            needs=Needs("encoder.cell", but=WITHOUT_STEPS),
        ),
    ] = "concat"
    # Deep output of Pascanu et al. 2014. A classifier has such layers after its pooling.
    output_layers: Annotated[
        tuple[Size, ...],
        Option(
            "Units of feed-forward layers between the states of a token and its tags, or the next "
            "unit.",
            inherit=True,
            tasks=(*TAGS, *TEXT),
            instead="classes of texts have head.hidden",
        ),
    ] = ()
    # Hansen and Salamon 1990. What one network learns of a few sentences depends much on chance.
    ensemble_size: Annotated[
        int,
        Field(ge=1, le=20),
        Option(
            "Number of networks side by side, each with embeddings of its own, whose scores are "
            "averaged.",
            inherit=True,
            otherwise=1,
            tasks=(*LABELS, *STRINGS),
            needs=BY_GRADIENT,
        ),
    ] = 1
    # Srivastava et al. 2014.
    dropout: Annotated[
        Probability,
        Option("Dropout of single values, before and after each layer.", needs=BY_GRADIENT),
    ] = 0.0
    # One mask for all tokens of a sentence does not disturb what a state carries from one to the
    # next (Gal and Ghahramani 2016).
    locked_dropout: Annotated[
        Auto | Probability,
        Option(
            "Dropout of the same features at all tokens of a sentence; auto: 0.4, for strings 0.3, "
            "in a language model of characters 0, or 0.1 up to 1,000,000.",
            needs=BY_GRADIENT,
        ),
    ] = "auto"
    word_dropout: Annotated[
        Auto | Probability,
        Option(
            "Dropout of whole tokens; auto: 0.05, for strings and language models of characters 0.",
            needs=BY_GRADIENT,
        ),
    ] = "auto"
    # Merity et al. 2018: one mask for all steps, and none of what a state carries is disturbed.
    weight_drop: Annotated[
        Probability,
        Option(
            "Dropout of recurrent weights, the same ones for a whole batch.",
            needs=(Needs("encoder.cell", but=("sru", *WITHOUT_STEPS)), BY_GRADIENT),
        ),
    ] = 0.0

    @property
    def read_tree(self) -> str:
        """The tree that is read of each text, of a resolved configuration; empty for none."""
        return self.tree if self.cell in TREES else ""

    @property
    def document_words(self) -> int:
        """Maximum number of words of a document that are read as one sequence; 0 for sentences."""
        return self.context_words if self.context == "document" else 0
