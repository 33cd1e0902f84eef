"""Runs whose read-out is solved in closed form: their settings, and what they cannot be."""

from tagkit.config import BY_GRADIENT, Config, TrainConfig, options_of
from tagkit.errors import ConfigError
from tagkit.nn.heads import HEADS, POOLINGS
from tagkit.nn.heads.tagging import ChainHead
from tagkit.wording import joined


def is_closed_form(config: Config) -> bool:
    """Whether a run solves its read-out instead of following gradients."""
    return not BY_GRADIENT.are_met_by(config.train.readout)


def run_settings(settings: TrainConfig) -> TrainConfig:
    """The settings of a run; where its read-out is solved, of one epoch without a learning rate.

    Options that have no effect keep their defaults in the configuration, of which "auto" is none
    that a loop could use.
    """
    if BY_GRADIENT.are_met_by(settings.readout):
        return settings
    # Without a mean of weights the model is scored with those that it has.
    single = {"max_epochs": 1, "patience": 0, "lr": 0.0, "average_decay": 0.0}
    return settings.model_copy(update=single)


def refuse_unsolvable(config: Config) -> None:
    """Refuse ridge regression of a model with other weights that would have to be trained.

    Raises:
        ConfigError: there are such weights; all of them are named.
    """
    if not is_closed_form(config):
        return
    encoder, head = config.encoder, config.head
    problems, options = [], options_of(Config)
    if encoder.cell != "echo-state":
        problems.append(
            f"expected encoder.cell = 'echo-state', whose weights are not trained, found "
            f"{encoder.cell!r}"
        )
    if encoder.leak == "learned":
        problems.append("encoder.leak = 'learned' needs a gradient; name a number or 'spectrum'")
    if encoder.connection == "highway":
        problems.append("encoder.connection = 'highway' has a gate to train; name 'residual'")
    for name in ("input_layers", "output_layers"):
        if getattr(encoder, name):
            problems.append(f"encoder.{name} have weights to train; leave them out")
    if config.data.tag_columns:
        problems.append("several tag columns have heads that are trained; name one column")
    if options["head.kind"].serves(config.task):
        linear = [name for name, each in HEADS.items() if issubclass(each, ChainHead)]
        if head.kind not in linear:
            names = joined([*map(repr, linear)])
            problems.append(f"head.kind = {head.kind!r} is trained; name {names}")
    if options["head.pooling"].serves(config.task):
        without = [name for name, each in POOLINGS.items() if not [*each(1).parameters()]]
        if head.pooling not in (*without, "auto"):  # which is then the mean
            names = joined([*map(repr, without)])
            problems.append(f"head.pooling = {head.pooling!r} has weights to train; name {names}")
        if head.hidden:
            problems.append("head.hidden are layers to train; leave them out")
        if head.several_classes and head.class_weights != "none":
            problems.append(
                "head.class_weights has no effect where a text may have several classes; leave it "
                "out"
            )
    if problems:
        raise ConfigError(f"train.readout = {config.train.readout!r}", problems)
