"""tagkit.toml: what it may say (`sections`), and how it is read (`loading`)."""

from tagkit.config.loading import (
    load_config,
    option_names,
    parse_config,
    to_toml,
    toml_value,
    unknown_option,
    with_options,
)
from tagkit.config.sections import (
    Column,
    Config,
    DataConfig,
    EmbeddingsConfig,
    EncoderConfig,
    Format,
    HeadConfig,
    Section,
    TrainConfig,
    allowed,
    default_threads,
    parse_span_scheme,
)

__all__ = [
    "Column",
    "Config",
    "DataConfig",
    "EmbeddingsConfig",
    "EncoderConfig",
    "Format",
    "HeadConfig",
    "Section",
    "TrainConfig",
    "allowed",
    "default_threads",
    "load_config",
    "option_names",
    "parse_config",
    "parse_span_scheme",
    "to_toml",
    "toml_value",
    "unknown_option",
    "with_options",
]
