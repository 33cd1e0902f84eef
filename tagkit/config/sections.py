"""The whole of tagkit.toml, of which each section has a module of its own.

The order of the sections and of their options is that of `config.toml` in a model's folder and of
docs/configuration.md.
"""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from pydantic import model_validator

from tagkit.config.data_section import DataConfig
from tagkit.config.decoder_section import DecoderConfig
from tagkit.config.embeddings_section import EmbeddingsConfig
from tagkit.config.encoder_section import (
    DEFAULT_LOCKED_DROPOUT,
    DEFAULT_WORD_DROPOUT,
    EncoderConfig,
)
from tagkit.config.head_section import HeadConfig
from tagkit.config.option import TAGS, Option, Section, options_of
from tagkit.config.train_section import OutputConfig, TrainConfig
from tagkit.config.values import NOT_RECURRENT, TREES, canonical_scheme
from tagkit.errors import ConfigError
from tagkit.text.scheme_names import PLAIN, SPAN_SCHEMES
from tagkit.wording import joined, quoted

# Values that saved configurations of any task may have, language models among them, whether or not
# they have an effect there: version 0.1.0 had no others, and "auto" becomes these without one.
SAVED_WITHOUT_EFFECT: Mapping[str, Any] = MappingProxyType(
    {
        "encoder.locked_dropout": DEFAULT_LOCKED_DROPOUT,
        "encoder.word_dropout": DEFAULT_WORD_DROPOUT,
        "head.bag_of_words": 0,
        "head.feature_crf": 0,
        "head.label_consistency": 0.0,
        "head.pooling": "attention",
        "head.tag_sharing": False,
        "head.vector_clusters": 0,
    }
)

# What version 0.1.0 did where the default is another one now. Its runs are resumed with these
# values, and its models are read with them, as they lack the options that were added since.
FORMER_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "data.tokenizer": "syntok",
        "embeddings.affix_dim": 0,
        **SAVED_WITHOUT_EFFECT,
        "train.lr": 0.003,
        "train.batch_size": 32,
        "train.max_epochs": 20,
        "train.patience": 8,
    }
)


# A list of tag columns has a condition that one column does not have.
_LIST_OF_COLUMNS = Option("Tag columns that are learnt together.", tasks=("tag",))
# Units make the vector of each word then, and else they stand in place of the words.
_VECTOR_OF_EACH_WORD = Option("A word has one vector, for its tag.", tasks=TAGS)


class Config(Section):
    """The whole of tagkit.toml."""

    task: Annotated[
        Literal["tag", "classify", "both", "transduce", "language-model"],
        Option(
            "What to learn: tag (tokens), classify (texts), both, transduce (a string for a "
            "string), or language-model (the text itself).",
            tune=False,
        ),
    ] = "tag"
    # Defaults are not checked, which would build each section's validator beside that of the whole.
    data: DataConfig = DataConfig.model_construct()
    embeddings: EmbeddingsConfig = EmbeddingsConfig.model_construct()
    encoder: EncoderConfig = EncoderConfig.model_construct()
    decoder: DecoderConfig = DecoderConfig.model_construct()
    head: HeadConfig = HeadConfig.model_construct()
    train: TrainConfig = TrainConfig.model_construct()
    output: OutputConfig = OutputConfig.model_construct()

    @property
    def reads_units(self) -> bool:
        """Whether units of data.unit stand in place of words, as in a task without tags."""
        return self.data.unit != "word" and not _VECTOR_OF_EACH_WORD.serves(self.task)

    @property
    def label_consistency(self) -> float:
        """`head.label_consistency` as a number; 0 where it is not resolved."""
        share = self.head.label_consistency
        return 0.0 if share == "auto" else share

    @property
    def document_words(self) -> int:
        """Words of a document that are predicted together; 0 where sentences are one by one."""
        together = self.encoder.context == "document" or self.label_consistency
        return self.encoder.context_words if together else 0

    @property
    def marked_documents_only(self) -> bool:
        """Whether sentences that no mark puts into a document are predicted one by one."""
        return self.encoder.context != "document"

    @model_validator(mode="after")
    def _fits_together(self) -> "Config":
        """Refuse what contradicts itself; what merely has no effect is for `effects.py`."""
        if self.encoder.merge != "concat" and not self.encoder.bidirectional:
            raise ValueError(
                f"encoder.merge = {self.encoder.merge!r} joins two directions: it needs "
                "encoder.bidirectional = true"
            )
        if self.encoder.chrono and self.encoder.cell == "leaky" and self.encoder.leak != "learned":
            raise ValueError(
                f"encoder.chrono = {self.encoder.chrono} draws the rates that the cell leaky "
                "learns: it needs encoder.leak = 'learned'"
            )
        _check_groups(self.encoder)
        _check_heads(self.encoder)
        _check_units(self)
        _check_trees(self)
        _check_inputs(self)
        if self.encoder.ensemble_size > 1 and (excluding := _excludes_ensemble(self)):
            raise ValueError(
                f"encoder.ensemble_size = {self.encoder.ensemble_size}: expected 1 with "
                f"{excluding}; leave one of the two out"
            )
        # With train.init_from the other model decides on encoder and characters.
        if not self.train.init_from and (problem := lm_problem(self)):
            raise ValueError(problem)
        for name, option in options_of(Config).items():
            # Another option was meant, whose effect the user would miss.
            if option.instead and not option.serves(self.task):
                section, _, key = name.rpartition(".")
                if getattr(getattr(self, section), key):
                    raise ValueError(
                        f'{name} has no effect with task = "{self.task}"; {option.instead}'
                    )
        _check_tag_columns(self)
        # Twice the same seed is twice the same model, and one folder for both.
        if len(set(self.train.seeds)) < len(self.train.seeds):
            raise ValueError(f"train.seeds = {list(self.train.seeds)}: expected each once")
        if self.train.on_nonfinite == "random" and not self.train.max_grad_norm:
            raise ValueError(
                "train.on_nonfinite = 'random' makes a step of train.max_grad_norm, which is 0"
            )
        return self


def _check_tag_columns(config: Config) -> None:
    """Raise `ValueError` where one tag column has an option of a list of them, or the reverse."""
    columns, head = [str(column) for column in config.data.tag_columns], config.head
    if columns and not _LIST_OF_COLUMNS.serves(config.task):
        raise ValueError(
            "data.tag_column names a list of columns, which task = 'tag' learns; found "
            f"task = {config.task!r}"
        )
    for name, is_set in (
        ("label_weights", head.label_weights),
        ("feature_crf", isinstance(head.feature_crf, int) and head.feature_crf),
        ("label_consistency", config.label_consistency),
    ):
        if columns and is_set:
            raise ValueError(f"head.{name} is for one tag column; data.tag_column names a list")
    for name in head.column_weights:
        if not columns:
            raise ValueError(
                "head.column_weights is for several tag columns; data.tag_column is no list"
            )
        if name not in columns:
            raise ValueError(
                f"head.column_weights names {quoted(name)}, which is not in the list "
                f"data.tag_column ({', '.join(columns)})"
            )


def _check_units(config: Config) -> None:
    """Raise ValueError if nothing would read the units of data.unit, or other parts read words."""
    unit, embeddings = config.data.unit, config.embeddings
    if unit == "word":
        return
    if not config.reads_units:
        if unit == "character":
            raise ValueError(
                f"data.unit = 'character' has no effect with task = {config.task!r}, which reads "
                "the characters of each word anyway; leave it out"
            )
        if embeddings.char_cell == "none":
            raise ValueError(
                f"data.unit = {unit!r} is read by embeddings.char_cell with task = "
                f"{config.task!r}: it needs another one than 'none'"
            )
        return
    options = options_of(Config)
    for name, none in (("vectors", ("",)), ("affix_dim", ("auto", 0)), ("contextual", ((),))):
        # An option of other tasks is to be left out whatever the unit (`effects.py`).
        serves = options[f"embeddings.{name}"].serves(config.task)
        if serves and getattr(embeddings, name) not in none:
            raise ValueError(
                f"data.unit = {unit!r} leaves no words for embeddings.{name} with task = "
                f"{config.task!r}; leave one of them out"
            )


def _check_inputs(config: Config) -> None:
    """Raise ValueError where words have no embedding, and numbers do not stand in their place."""
    embeddings = config.embeddings
    reads_numbers = options_of(Config)["data.vector_columns"].serves(config.task)
    if embeddings.word_dim or config.train.init_from:  # the other model decides
        return
    if not (reads_numbers and config.data.vector_columns):
        raise ValueError(
            "embeddings.word_dim = 0: expected a number greater than or equal to 1, or "
            "data.vector_columns to be read in place of the words, by a model that tags or "
            "classifies"
        )
    if embeddings.char_cell != "none" or embeddings.vectors:
        raise ValueError(
            "embeddings.word_dim = 0 reads data.vector_columns in place of the words: it needs "
            "embeddings.char_cell = 'none', and no embeddings.vectors"
        )


def _check_groups(encoder: EncoderConfig) -> None:
    """Raise `ValueError` where a cell would have groups without units."""
    for name, groups in (("periods", encoder.periods), ("widths", encoder.widths)):
        needed = options_of(EncoderConfig)[name].needed
        is_read = all(needs.are_met_by(encoder.cell) for needs in needed)
        if is_read and encoder.hidden < len(groups):
            raise ValueError(
                f"encoder.hidden = {encoder.hidden}: expected at least one unit for each of the "
                f"{len(groups)} groups of encoder.{name} = {list(groups)}"
            )


def _check_trees(config: Config) -> None:
    """Raise `ValueError` where a recursive network has nothing to read, or nothing reads it."""
    cell = config.encoder.cell
    if cell not in TREES:
        return
    for name, found, expected in (
        ("task", config.task, ("classify",)),
        ("data.unit", config.data.unit, ("word",)),
        ("head.pooling", config.head.pooling, ("last", "auto")),
    ):
        if found not in expected:
            raise ValueError(
                f"encoder.cell = {cell!r} gives each node of a tree over words a class: it needs "
                f"{name} = {expected[0]!r}, found {found!r}"
            )


def _check_heads(encoder: EncoderConfig) -> None:
    """Raise `ValueError` where a transformer's heads cannot share its hidden values."""
    if encoder.cell != "transformer":
        return
    if encoder.hidden % encoder.heads:
        raise ValueError(
            f"encoder.heads = {encoder.heads}: expected a number that divides encoder.hidden = "
            f"{encoder.hidden}"
        )
    if encoder.positions == "rotary" and encoder.hidden % (2 * encoder.heads):
        raise ValueError(
            f"encoder.hidden = {encoder.hidden}: expected a multiple of {2 * encoder.heads}, twice "
            "encoder.heads, as encoder.positions = 'rotary' rotates pairs of values of each head"
        )


def _excludes_ensemble(config: Config) -> str:
    """What makes a model that is one network alone; empty for nothing."""
    if config.train.readout != "gradient":
        return f"train.readout = {config.train.readout!r}"
    if config.data.tag_columns:
        return "several columns in data.tag_column"
    if config.head.kind == "feedback":
        return "head.kind = 'feedback'"
    if config.train.lm_loss:
        return "train.lm_loss"
    return "embeddings.contextual" if config.embeddings.contextual else ""


def lm_problem(config: Config) -> str:
    """Why the states of the encoder cannot predict words; empty where they can."""
    train, encoder = config.train, config.encoder
    if not train.lm_loss or not options_of(Config)["train.lm_loss"].serves(config.task):
        return ""
    if config.reads_units:
        return (
            f"train.lm_loss = {train.lm_loss} predicts words, and with task = '{config.task}' and "
            f"data.unit = {config.data.unit!r} the model reads none: leave one of the two out"
        )
    if config.embeddings.contextual:
        return (
            f"train.lm_loss = {train.lm_loss} predicts words from states that have not read them, "
            "and those of embeddings.contextual have read the whole sentence: leave one of the two "
            "out"
        )
    if encoder.cell in NOT_RECURRENT and encoder.bidirectional:
        return (
            f"train.lm_loss = {train.lm_loss} predicts words from states that have not read them, "
            f"and a {encoder.cell} that reads in both directions has none: it needs "
            "encoder.bidirectional = false"
        )
    return ""


def option_values(config: Config) -> dict[str, Any]:
    """The value of every option by its dotted name, as JSON has it."""
    # JSON values compare equal after a checkpoint was written and read: tuples become lists.
    dumped = config.model_dump(mode="json")
    values = {}
    for name in options_of(Config):
        section, _, key = name.rpartition(".")
        values[name] = (dumped[section] if section else dumped)[key]
    return values


def option_text(name: str) -> tuple[str, str]:
    """Help text of an option, and its default in words, as commands and the docs show them.

    Args:
        name: its dotted name.

    Returns:
        The help names the choices of an option of fixed choices. The default is empty where the
        option has none.
    """
    option = options_of(Config)[name]
    section, _, key = name.rpartition(".")
    defaults = Config()
    owner: Section = getattr(defaults, section) if section else defaults
    default = getattr(owner, key)
    if isinstance(default, tuple) or default is None:
        default = ""
    choices = [choice for choice in allowed(type(owner), key) if isinstance(choice, str)]
    text = option.help
    if choices and not any(choice in text for choice in choices):
        text = f"{text.removesuffix('.')}: {joined(choices)}."
    return text, option.default_shown or str(default)


def allowed(section: type[Section], key: str) -> tuple[str, ...]:
    """The names that an option of fixed choices takes."""
    return get_args(section.model_fields[key].annotation)


def parse_span_scheme(name: str | None) -> str | None:
    """A span scheme's name as seqeval has it; None for None.

    Raises:
        ConfigError: there is no such scheme.
    """
    scheme = canonical_scheme(name)
    if scheme is not None and scheme not in SPAN_SCHEMES:
        names = ", ".join(SPAN_SCHEMES)
        raise ConfigError("scheme=...", [f"expected one of {names}, found {quoted(str(name))}"])
    return str(scheme) if scheme else None


def training_scheme(config: Config) -> str:
    """The scheme that the model learns, of a configuration whose data.scheme is resolved."""
    return PLAIN if config.data.scheme == PLAIN else config.data.train_scheme


def default_threads() -> int:
    """Cores that this process may use; a container or a batch system may grant fewer than all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
