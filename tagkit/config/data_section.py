"""[data] of tagkit.toml: each option's name, type, default, limit, help and properties."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from tagkit.config.option import (
    CLASSES,
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
    Auto,
    Column,
    Encoding,
    Format,
    PairUnit,
    Scheme,
    TagColumns,
    TrainScheme,
)
from tagkit.limits import MAX_LINE_CHARS
from tagkit.text.notation import notation_named

_OF_BYTE_PAIRS = Needs(
    "data.unit",
    ("bpe",),
    alternative=Needs(
        "data.source_unit", ("bpe",), alternative=Needs("data.target_unit", ("bpe",))
    ),
)


def _distinct_columns(columns: TagColumns | None) -> TagColumns | None:
    """A list of columns with names as they are shown; of one column nothing is changed."""
    if not isinstance(columns, tuple):
        return columns
    named = tuple(canonical_column(column) for column in columns)
    if not named or len(set(named)) < len(named):
        raise ValueError("expected one column or more, each once")
    return named


def _known_notation(text: str) -> str:
    """The notation by its usual example."""
    notation = notation_named(text)
    return text if notation is None else str(notation)


def canonical_column(column: Column) -> Column:
    """The column with a name of CoNLL-U in capitals: "feats.Case" is "FEATS.Case"."""
    if isinstance(column, int):
        return column
    name, dot, key = column.partition(".")
    return f"{name.upper()}{dot}{key}"


class DataConfig(Section):
    """[data]: the corpora and how they are read."""

    tunable: ClassVar[bool] = (
        False  # another reading is another corpus, whose scores do not compare
    )

    # A run that is resumed recognises its corpora by their digests, so that they may have moved.
    train_file: Annotated[str, Option("Training corpus.", resume=True)] = ""
    dev_file: Annotated[
        str,
        Option(
            "Development corpus, used to select the best epoch.", "split off train_file",
            resume=True,
        ),
    ] = ""  # fmt: skip
    test_file: Annotated[
        str, Option("Test corpus, scored once after training.", "none", resume=True)
    ] = ""
    # What `tagkit learning-curve` varies. With one seed fewer sentences are a part of more.
    train_sentences: Annotated[
        int,
        Field(ge=0),
        Option(
            "Number of training sentences or texts to train on, drawn by train.seed; 0 for all.",
            tasks=(*LABELS, *STRINGS),
        ),
    ] = 0
    # Drawn by train.seed; classes keep their proportions.
    dev_fraction: Annotated[
        float,
        Field(gt=0, lt=1),
        Option("Fraction of train_file to hold out as dev.", needs=Needs("data.dev_file", ("",))),
    ] = 0.1
    # CrossWeigh (Wang et al. 2019). The digest of the file is part of a run's identity.
    weights: Annotated[
        str,
        Option(
            "File with a weight in the loss for each sentence of train_file, as tagkit audit "
            "writes it.",
            "none",
            resume=True,
            tasks=LABELS,
            needs=Needs("data.tree_phrases", (False,)),  # phrases are no sentences of the file
        ),
    ] = ""
    context: Annotated[
        Literal["stream", "line"],
        Option(
            "What a unit's probability depends on: the whole text before it, or its line alone.",
            tasks=TEXT,
        ),
    ] = "stream"
    # Liu et al. 2018: one sequence of both, with a delimiter between them.
    pairs: Annotated[
        bool,
        Option(
            "Whether each line is a prefix and its continuation with a tab between them; for "
            "context = line.",
            tasks=TEXT,
        ),
    ] = False
    loss_on: Annotated[
        Literal["all", "continuation"],
        Option(
            "Units that the loss and the scores count: all, or those of continuations.",
            tasks=TEXT,
            needs=Needs("data.pairs", (True,)),
        ),
    ] = "all"
    # Goodfellow, Bengio and Courville, section 10.2.4.
    condition: Annotated[
        Literal["none", "label"],
        Option(
            "What is known of a line before it is read: none, or the label of a text, from any "
            "format with classes.",
            inherit=True,
            tasks=TEXT,
        ),
    ] = "none"
    # Peters et al. 2018; Akbik et al. 2018: features of taggers come from one model of each.
    direction: Annotated[
        Literal["forward", "backward"],
        Option(
            "Direction in which the text is read: forward, or backward from its end.", tasks=TEXT
        ),
    ] = "forward"
    format: Annotated[Format, Option("Format of the input.", "recognised", tasks=LABELS)] = "auto"
    encoding: Annotated[Encoding, Option("Encoding of the files.")] = "utf-8"
    # A file without line ends, such as a binary one, would fill the memory before it is refused.
    max_line_chars: Annotated[int, Field(ge=1000, le=2**31 - 1), Former()] = MAX_LINE_CHARS
    # Names are those of CoNLL-U, whose columns are fixed.
    token_column: Annotated[
        Column | None,
        Option(
            "Column of the tokens: 0 for the first, -1 for the last, or a CoNLL-U name.",
            "FORM or 0",
            tasks=LABELS,
        ),
    ] = None
    # A list of one is not one column: FEATS is learnt as its parts, and "FEATS" as whole labels.
    tag_column: Annotated[
        TagColumns | None,
        AfterValidator(_distinct_columns),
        Option(
            "Column of the gold tags: a number or a name, or a list of several to learn together.",
            "UPOS or -1",
            tasks=LABELS,
        ),
    ] = None
    # Part of the input of prediction from then on: the model wants the same columns.
    feature_columns: Annotated[
        tuple[Column, ...],
        Option("Columns of further features of each token.", tasks=LABELS),
    ] = ()
    vector_columns: Annotated[
        tuple[Column, ...],
        Option(
            "Columns of numbers of each token, which the encoder reads standardised: a number, or "
            "several with commas between them; keys of JSON Lines.",
            tasks=LABELS,
        ),
    ] = ()
    text_column: Annotated[
        Column | None,
        Option("Column of the texts in TSV and CSV: a number or a name.", tasks=CLASSES),
    ] = None
    label_column: Annotated[
        Column | None,
        Option("Column of the classes in TSV and CSV: a number or a name.", tasks=CLASSES),
    ] = None
    header: Annotated[
        Literal["auto", "yes", "no"],
        Option("Whether TSV and CSV files start with column names.", tasks=CLASSES),
    ] = "auto"
    label_names: Annotated[
        tuple[str, ...],
        Option(
            "Names of labels that JSON has as numbers, from 0, or as a vector of 0 and 1.",
            "those of dataset_info.json beside the file",
            tasks=LABELS,
        ),
    ] = ()
    # Li and Roth 2002: 6 coarse classes of questions, 50 fine ones.
    label_level: Annotated[
        Literal["coarse", "fine"],
        Option("Level of TREC labels: coarse (NUM) or fine (NUM:dist).", tasks=CLASSES),
    ] = "coarse"
    # Socher et al. 2013.
    tree_labels: Annotated[
        Literal["fine", "binary"],
        Option("SST labels: fine (0 to 4), or binary without neutral trees.", tasks=CLASSES),
    ] = "fine"
    tree_phrases: Annotated[
        bool,
        Option(
            "Train on every distinct phrase of SST trees, not on sentences alone.",
            tasks=CLASSES,
            needs=Needs("encoder.cell", but=TREES),  # which reads each phrase in its tree
        ),
    ] = False
    tree_targets: Annotated[
        Literal["nodes", "root"],
        Option(
            "What recursive networks learn the class of: all labelled nodes of a tree, or its root "
            "alone.",
            tasks=("classify",),
            needs=Needs("encoder.cell", TREES),
        ),
    ] = "nodes"
    # Changing it changes what the model reads, so it is saved with the model.
    tokenizer: Annotated[
        Literal["multilingual", "syntok", "blanks", "characters"],
        Option(
            "Tokenizer of raw texts: multilingual; syntok, for scripts with blanks alone; blanks, "
            "which splits at these; or characters, for spans that end within words.",
            tasks=(*LABELS, *STRINGS),
        ),
    ] = "multilingual"
    # A tagger has one vector a word: units are what it reads of each (features/unit_reading.py).
    unit: Annotated[
        Literal["word", "character", "bpe"],
        Option(
            "Units that the model reads: word, character (a code point) or bpe (byte pairs). A "
            "tagger reads byte pairs in place of each word's characters.",
            inherit=True,
            tasks=(*LABELS, *TEXT),
        ),
    ] = "word"
    source_unit: Annotated[
        PairUnit,
        Option(
            "Units of a source: character, word (as the tokenizer cuts it), tokens (what blanks "
            "separate) or bpe.",
            inherit=True,
            tasks=STRINGS,
        ),
    ] = "character"
    target_unit: Annotated[
        PairUnit, Option("Units of a target, likewise.", inherit=True, tasks=STRINGS)
    ] = "character"
    # 256 are the bytes. Small corpora want fewer: Sennrich and Zhang 2019 take 2,000 for 100,000
    # words of text.
    bpe_size: Annotated[
        int,
        Field(gt=256, le=1_000_000),
        Option(
            "Number of byte pair units, the 256 bytes among them.",
            inherit=True,
            needs=_OF_BYTE_PAIRS,
        ),
    ] = 8000
    # Anastasopoulos and Neubig 2019, for inflection from few pairs.
    hallucinated: Annotated[
        Auto | Annotated[int, Field(ge=0, le=10_000_000)],
        Option(
            "Number of pairs to make up beside those of train, with other letters in what source "
            "and target have in common; or auto.",
            "5,000 for up to 2,000 pairs with features, else 0",
            tasks=STRINGS,
        ),
    ] = "auto"
    on_misaligned: Annotated[
        Literal["error", "expand", "shrink", "drop"],
        Option("What to do with spans that do not match token boundaries.", tasks=LABELS),
    ] = "error"
    # Detected by the tags themselves; to name it matters where a small file fits several.
    scheme: Annotated[Scheme, Option("Tag scheme of the files.", tasks=TAGS)] = "auto"
    # Detected too; to name it matters where another tag than a usual one means no span.
    notation: Annotated[
        str,
        AfterValidator(_known_notation),
        Option(
            "Spelling of the tags: a first tag of a span, and the tag of what is no span, such as "
            "'B_PER 0'.",
            "recognised",
            tasks=TAGS,
        ),
    ] = "auto"
    # Iobes tells the end of a span from its inside, which helps (Ratinov and Roth 2009).
    train_scheme: Annotated[
        TrainScheme,
        # It decides how many tags there are, and so the sizes of the head.
        Option("Tag scheme that the model learns.", tasks=TAGS, inherit=True),
    ] = "iobes"
    # Tags depend on near words: windows that overlap lose little, and memory stays bounded. A
    # class is of the whole text, which is not cut but read with train.bptt.
    max_length: Annotated[
        int,
        Field(ge=2),
        Option(
            "Maximum length of training sentences in tokens; longer ones are cut into windows.",
            tasks=("tag",),
        ),
    ] = 512

    @property
    def tag_columns(self) -> tuple[Column, ...]:
        """The columns that are learnt together; empty where one column is read as it is."""
        return self.tag_column if isinstance(self.tag_column, tuple) else ()

    @property
    def first_tag_column(self) -> Column | None:
        """The tag column, or the first of a list; None for that of the format."""
        return self.tag_column[0] if isinstance(self.tag_column, tuple) else self.tag_column
