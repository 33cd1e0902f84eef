"""tagkit.toml: its options, how it is read, and which options have an effect."""

from tagkit.config.data_section import DataConfig
from tagkit.config.effects import effective, has_effect, refuse_without_effect, without_effect_in
from tagkit.config.embeddings_section import EmbeddingsConfig
from tagkit.config.encoder_section import (
    DEFAULT_LOCKED_DROPOUT,
    DEFAULT_WORD_DROPOUT,
    EncoderConfig,
)
from tagkit.config.head_section import HeadConfig
from tagkit.config.loading import (
    LARGEST,
    MAX_CONFIG_BYTES,
    as_config,
    load_config,
    option_names,
    parse_config,
    parse_saved,
    parse_toml,
    to_toml,
    toml_value,
    unknown_option,
    with_options,
)
from tagkit.config.option import (
    BY_GRADIENT,
    Needs,
    Option,
    Section,
    carried_by_models,
    options_of,
    tunable_options,
)
from tagkit.config.removed import REMOVED, with_new_names
from tagkit.config.sections import (
    FORMER_DEFAULTS,
    Config,
    allowed,
    default_threads,
    lm_problem,
    option_text,
    option_values,
    parse_span_scheme,
    training_scheme,
)
from tagkit.config.train_section import DEFAULT_BPTT, TrainConfig
from tagkit.config.values import DEVICES, Column, Format, fixed, is_device

__all__ = [
    "BY_GRADIENT",
    "DEFAULT_BPTT",
    "DEFAULT_LOCKED_DROPOUT",
    "DEFAULT_WORD_DROPOUT",
    "DEVICES",
    "FORMER_DEFAULTS",
    "LARGEST",
    "MAX_CONFIG_BYTES",
    "REMOVED",
    "Column",
    "Config",
    "DataConfig",
    "EmbeddingsConfig",
    "EncoderConfig",
    "Format",
    "HeadConfig",
    "Needs",
    "Option",
    "Section",
    "TrainConfig",
    "allowed",
    "as_config",
    "carried_by_models",
    "default_threads",
    "effective",
    "fixed",
    "has_effect",
    "is_device",
    "lm_problem",
    "load_config",
    "option_names",
    "option_text",
    "option_values",
    "options_of",
    "parse_config",
    "parse_saved",
    "parse_span_scheme",
    "parse_toml",
    "refuse_without_effect",
    "to_toml",
    "toml_value",
    "training_scheme",
    "tunable_options",
    "unknown_option",
    "with_new_names",
    "with_options",
    "without_effect_in",
]
