"""tagkit.toml: every option's name, type, default, unit and limit; here and nowhere else."""

import math
import os
import re
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tagkit.errors import ConfigError, shorten
from tagkit.limits import MAX_LINE_CHARS
from tagkit.text.schemes import PLAIN, SPAN_SCHEMES, SYNONYMS

Cell = Literal["lstm", "gru", "elman"]
Format = Literal[
    "auto", "columns", "conllu", "jsonl", "jsonl-tokens", "jsonl-spans", "jsonl-texts", "brat",
    "slash", "parallel", "tsv", "csv", "fasttext", "trec", "trees", "folder", "text",
]  # fmt: skip
CharCell = Literal["lstm", "gru", "elman", "none"]
Column = int | str
Probability = Annotated[float, Field(ge=0, lt=1)]
Size = Annotated[int, Field(ge=1, le=100_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Weight = Annotated[float, Field(gt=0)]
Pooling = Literal["last", "mean", "max", "mean+max", "attention"]


def _established(name: Any) -> Any:
    """A scheme's name as seqeval has it: BIO is iob2, BIOES iobes."""
    return SYNONYMS.get(name.lower(), name.lower()) if isinstance(name, str) else name


DEVICES = "'auto', 'cpu', 'cuda' or 'cuda:N'"
_DEVICE = re.compile(r"auto|cpu|cuda(:[0-9]{1,4})?")


def is_device(name: str) -> bool:
    """Whether a device may be called that."""
    return _DEVICE.fullmatch(name) is not None


def _cuda_or_cpu(name: str) -> str:
    if is_device(name):
        return name
    raise ValueError(f"expected {DEVICES}")


def _known_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, ValueError):
        raise ValueError("expected the name of a text encoding, such as 'utf-8'") from None
    return name


_MOST_DIGITS = 18  # of a number that 64 bits hold


def _steps_or_minutes(text: int | str) -> int | str:
    if isinstance(text, int):
        if text >= 1:
            return text
    elif text.isdecimal() and len(text) <= _MOST_DIGITS and int(text):
        return int(text)
    elif text.endswith("m") and _is_positive(text[:-1]):
        return text
    raise ValueError("expected a number of steps, such as 500, or of minutes, such as '10m'")


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


Scheme = Annotated[
    Literal["auto", "iob1", "iob2", "iobes", "bilou", "labels"], BeforeValidator(_established)
]
TrainScheme = Annotated[Literal["iob2", "iobes", "bilou"], BeforeValidator(_established)]
Device = Annotated[str, AfterValidator(_cuda_or_cpu)]
Encoding = Annotated[str, AfterValidator(_known_encoding)]
Interval = Annotated[int | str, AfterValidator(_steps_or_minutes)]


# data.tokenizer of models and runs that were saved before it could be chosen.
FORMER_TOKENIZER = "syntok"


class Section(BaseModel):
    """Base of the sections: frozen; unknown keys and infinite numbers are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DataConfig(Section):
    """[data]: the corpora and how their columns are read."""

    train_file: str = ""  # the corpus to learn from
    dev_file: str = ""  # used to select the best epoch; split off train_file when empty
    test_file: str = ""  # scored once, at the end; may be empty
    dev_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1  # of train_file, without a dev_file
    format: Format = "auto"  # of the files; auto: recognised by their content
    encoding: Encoding = "utf-8"  # of the files
    # Characters of one line, or of a text in a file of its own; a longer one is refused.
    max_line_chars: Annotated[int, Field(ge=1000, le=2**31 - 1)] = MAX_LINE_CHARS
    token_column: Column | None = None  # from 0, or -1 from the end, or a name; FORM or 0
    tag_column: Column | None = None  # likewise; UPOS or -1
    feature_columns: tuple[Column, ...] = ()  # columns that the model may look at
    text_column: Column | None = None  # of TSV and CSV, from 0 or by its name in the header
    label_column: Column | None = None  # likewise, of the classes
    header: Literal["auto", "yes", "no"] = "auto"  # whether TSV and CSV begin with column names
    label_level: Literal["coarse", "fine"] = "coarse"  # of TREC: NUM or NUM:dist
    tree_labels: Literal["fine", "binary"] = "fine"  # of SST: 0 to 4, or without neutral trees
    tree_phrases: bool = False  # of SST: every phrase of train_file a text of its own
    # Of raw texts. syntok: words between blanks; multilingual: as syntok, but characters in scripts
    # without blanks; blanks: tokens already.
    tokenizer: Literal["multilingual", "syntok", "blanks"] = "multilingual"
    on_misaligned: Literal["error", "expand", "shrink", "drop"] = "error"  # spans inside tokens
    scheme: Scheme = "auto"  # of the files
    train_scheme: TrainScheme = "iobes"  # what the model learns; spans are the same in all
    max_length: Annotated[int, Field(ge=2)] = 512  # tokens; longer: windows, in training of tags


class EmbeddingsConfig(Section):
    """[embeddings]: what a word looks like to the encoder."""

    word_dim: Size = 100  # of words; that of `vectors` where there are some
    lowercase: bool = True  # words alone; the characters keep their case
    normalize_digits: bool = True  # words alone: every digit reads as 0
    min_count: Annotated[int, Field(ge=1)] = 1  # rarer words are unknown
    singleton_dropout: Probability = 0.5  # of words seen once that train the unknown word
    vectors: str = ""  # a file of pretrained word vectors
    max_vectors: Annotated[int, Field(ge=0)] = 0  # only the first so many of them; 0 for all
    freeze_vectors: bool = False  # as they are, without a trained embedding added to each
    char_cell: CharCell = "lstm"  # the recurrent network over a word's characters
    char_dim: Size = 30  # of characters
    char_hidden: Size = 50  # units of each direction
    char_dropout: Probability = 0.0  # of character embeddings
    feature_dim: Size = 20  # of each feature column's embedding


class EncoderConfig(Section):
    """[encoder]: recurrent layers over the words."""

    cell: Cell = "lstm"  # of the layers over the words
    hidden: Size = 200  # units of each direction
    layers: Annotated[int, Field(ge=1, le=100)] = 1  # one above the other
    bidirectional: bool = True  # whether to read from both ends
    merge: Literal["concat", "sum", "mean", "product"] = "concat"  # of the two directions
    dropout: Probability = 0.0  # of single values, before and behind each layer
    locked_dropout: Probability = 0.4  # of the same features at all of a sentence's tokens
    word_dropout: Probability = 0.05  # of whole tokens


class HeadConfig(Section):
    """[head]: from hidden states to tags, or to classes of whole texts."""

    kind: Literal["crf", "softmax", "viterbi"] = "crf"  # how a path of tags is scored and found
    constrain: Literal["auto", "none", "decode", "train"] = "auto"  # to the scheme's legal steps
    pooling: Pooling = "attention"  # of a text's states into one vector, for classes
    hidden: tuple[Size, ...] = ()  # units of feed-forward layers between that and the classes
    activation: Literal["relu", "tanh", "gelu"] = "relu"  # behind each feed-forward layer
    dropout: Probability = 0.3  # before each linear layer of the classes
    multi_label: Literal["auto", "yes", "no"] = "auto"  # several classes a text; auto: if some do
    threshold: Share | dict[str, Share] | None = None  # that a class is at least as likely as
    label_smoothing: Probability = 0.0  # of the gold class that goes to all classes alike
    class_weights: Literal["none", "balanced"] | dict[str, Weight] = "none"  # in the loss
    label_weights: dict[str, Weight] = {}  # of tags in the loss, by type, or O
    class_loss: Annotated[float, Field(gt=0)] = 1.0  # of the class beside the tags, task = "both"


class TrainConfig(Section):
    """[train]: the optimiser, its schedule, and when to stop."""

    init_from: str = ""  # a model whose weights are the first ones
    optimizer: Literal["adam", "adamw", "nadam", "sgd"] = "adam"  # what makes steps of gradients
    lr: Annotated[float, Field(gt=0)] = 0.003  # learning rate at its highest
    momentum: Probability = 0.9  # of sgd
    weight_decay: Annotated[float, Field(ge=0)] = 0.0  # of the optimizer
    schedule: Literal["constant", "linear", "cosine", "plateau"] = "linear"  # of lr
    warmup_steps: Annotated[int, Field(ge=0)] = 0  # steps from 0 up to lr
    anneal_factor: Annotated[float, Field(gt=0, lt=1)] = 0.5  # of plateau, times lr
    anneal_patience: Annotated[int, Field(ge=0)] = 2  # of plateau: epochs without a better score
    batch_size: Annotated[int, Field(ge=1)] = 32  # sentences a step
    batch_tokens: Annotated[int, Field(ge=0)] = 0  # tokens a step, padding included; 0: batch_size
    max_epochs: Annotated[int, Field(ge=1)] = 20  # passes over the training corpus
    patience: Annotated[int, Field(ge=0)] = 8  # epochs without a better dev score; 0 for no limit
    bptt: Annotated[int, Field(ge=0)] = 512  # tokens that gradients go back at most; 0: all
    accumulate: Annotated[int, Field(ge=1)] = 1  # batches a step
    max_grad_norm: Annotated[float, Field(ge=0)] = 5.0  # gradients are scaled down to it; 0: off
    max_grad_value: Annotated[float, Field(ge=0)] = 0.0  # each number is cut to it; 0: off
    on_nonfinite: Literal["skip", "random"] = "skip"  # steps whose loss or gradient is not finite
    average_decay: Probability = 0.999  # of the running mean of the weights that is kept; 0: off
    seed: Seed = 1  # random seed
    seeds: tuple[Seed, ...] = ()  # one model for each, of which the best is kept
    max_minutes: Annotated[float, Field(ge=0)] = 0.0  # of the whole run, test included; 0: no limit
    checkpoint_every: Interval = "10m"  # steps, or minutes with an m; and after each epoch
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"  # of training; fp16 on a GPU alone
    tracker: Literal["none", "tensorboard"] = "none"  # told of each epoch; an extra
    device: Device = "auto"  # cpu, cuda, cuda:N, or auto: a GPU if there is one
    threads: Annotated[int, Field(ge=0, le=1024)] = 1  # of a CPU; 0 for as many as it has cores


class OutputConfig(Section):
    """[output]: where the model goes."""

    dir: str = "models/model"  # of the run; it will hold best and last


class Config(Section):
    """The whole of tagkit.toml."""

    task: Literal["tag", "classify", "both"] = "tag"  # tags of tokens, classes of texts
    data: DataConfig = DataConfig()
    embeddings: EmbeddingsConfig = EmbeddingsConfig()
    encoder: EncoderConfig = EncoderConfig()
    head: HeadConfig = HeadConfig()
    train: TrainConfig = TrainConfig()
    output: OutputConfig = OutputConfig()

    @model_validator(mode="after")
    def _fits_together(self) -> "Config":
        if self.encoder.merge != "concat" and not self.encoder.bidirectional:
            raise ValueError(
                f"encoder.merge = {self.encoder.merge!r} joins two directions: it needs "
                "encoder.bidirectional = true"
            )
        if self.task == "classify" and self.head.label_weights:
            raise ValueError(
                "head.label_weights weighs labels of tokens; classes of texts have "
                "head.class_weights"
            )
        if len(set(self.train.seeds)) < len(self.train.seeds):
            raise ValueError(f"train.seeds = {list(self.train.seeds)}: expected each once")
        if self.train.on_nonfinite == "random" and not self.train.max_grad_norm:
            raise ValueError(
                "train.on_nonfinite = 'random' makes a step of train.max_grad_norm, which is 0"
            )
        return self


def allowed(section: type[Section], key: str) -> tuple[str, ...]:
    """The names that an option of fixed choices takes."""
    return get_args(section.model_fields[key].annotation)


def parse_span_scheme(name: str | None) -> str | None:
    """A span scheme's name as seqeval has it; None for None.

    Raises:
        ConfigError: there is no such scheme.
    """
    scheme = _established(name)
    if scheme is not None and scheme not in SPAN_SCHEMES:
        names = ", ".join(SPAN_SCHEMES)
        raise ConfigError("--scheme", [f"expected one of {names}, found {shorten(str(name))}"])
    return str(scheme) if scheme else None


def training_scheme(config: Config) -> str:
    """The scheme that the model learns, of a configuration whose data.scheme is resolved."""
    return PLAIN if config.data.scheme == PLAIN else config.data.train_scheme


def default_threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
