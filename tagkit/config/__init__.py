"""tagkit.toml: its options, how it is read, and which options have an effect."""

from tagkit.config.effects import effective, refuse_without_effect
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
    DEVICES,
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
    is_device,
    parse_span_scheme,
)

__all__ = [
    "DEVICES",
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
    "effective",
    "is_device",
    "load_config",
    "option_names",
    "parse_config",
    "parse_span_scheme",
    "refuse_without_effect",
    "to_toml",
    "toml_value",
    "unknown_option",
    "with_options",
]
