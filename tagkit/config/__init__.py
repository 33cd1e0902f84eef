"""tagkit.toml: what it may say (`sections`), and how it is read (`loading`, `problems`)."""

from tagkit.config.loading import (
    MAX_CONFIG_BYTES,
    load_config,
    parse_config,
    parse_toml,
    to_toml,
    toml_value,
    with_options,
)
from tagkit.config.problems import option_names, unknown_option
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
    "MAX_CONFIG_BYTES",
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
    "parse_toml",
    "to_toml",
    "toml_value",
    "unknown_option",
    "with_options",
]
