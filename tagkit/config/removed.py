"""Options that are none any more: what does instead, and what files of before say of them.

A configuration in which one has the value that is now always taken is read as ever; another value
is refused, in a file and on the command line. A model of any version loads: what changed its
training alone is passed over, and what its answers depend on is `option.Former`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

RESUMED_BY = "version 0.2 resumes a run that has another"


@dataclass(frozen=True, slots=True)
class RemovedOption:
    """What has become of an option.

    Attributes:
        value: what it always is now; runs and models of before that have it go on as they were.
        instead: what to use, as the end of a sentence; empty for nothing.
    """

    value: Any
    instead: str = ""

    def is_same(self, value: Any) -> bool:
        """Whether a file says what holds anyway; true and false are no numbers."""
        return bool(value == self.value) and isinstance(value, bool) == isinstance(self.value, bool)


REMOVED: Mapping[str, RemovedOption] = MappingProxyType(
    {
        "data.bpe_dropout": RemovedOption(0.0, "data.bpe_size cuts words into more or fewer units"),
        "data.max_line_chars": RemovedOption(100_000_000, "divide longer lines into shorter ones"),
        "embeddings.char_dropout": RemovedOption(0.0, "encoder.locked_dropout drops them too"),
        "embeddings.contextual_dim": RemovedOption(0, "the states are read as they are"),
        "embeddings.feature_dim": RemovedOption(20),
        "embeddings.freeze_contextual": RemovedOption(
            True, "train a language model further by itself, with train.init_from"
        ),
        "embeddings.max_vectors": RemovedOption(
            0, "shorten the file of vectors to its first lines"
        ),
        "embeddings.normalize_digits": RemovedOption(True, "characters keep a word's digits"),
        "embeddings.singleton_dropout": RemovedOption(0.5),
        "encoder.context_words": RemovedOption(
            2000, "encoder.context = 'sentence' takes less memory"
        ),
        "encoder.feed_forward": RemovedOption(4, "encoder.hidden changes the width"),
        "encoder.input_scale": RemovedOption(
            1.0, "encoder.spectral_radius changes what a state keeps"
        ),
        "encoder.max_positions": RemovedOption(512, "encoder.positions = 'rotary' has no limit"),
        "encoder.sparsity": RemovedOption(
            0.9, "encoder.spectral_radius changes what a state keeps"
        ),
        "head.activation": RemovedOption("relu"),
        "head.class_loss": RemovedOption(1.0, "head.class_weights weighs single classes"),
        "head.feedback_cell": RemovedOption("gru"),
        "head.feedback_hidden": RemovedOption(100),
        "head.samples": RemovedOption(1000, "head.softmax = 'adaptive' is as fast"),
        "head.tag_dim": RemovedOption(25),
        "train.accumulate": RemovedOption(
            1, "raise train.batch_size: a batch that memory does not hold is read in pieces"
        ),
        "train.activation_penalty": RemovedOption(
            0.0, "use encoder.weight_drop or a higher dropout"
        ),
        "train.anneal_factor": RemovedOption(0.5),
        "train.anneal_patience": RemovedOption(2),
        "train.layer_lr_decay": RemovedOption(1.0, "set a lower train.lr"),
        "train.lm_units": RemovedOption("words"),
        "train.ridge_penalty": RemovedOption("auto"),
        "train.temporal_penalty": RemovedOption(0.0, "use encoder.weight_drop or a higher dropout"),
        "train.unfreeze": RemovedOption(0, "set a lower train.lr"),
    }
)


# Options that have another name now: what each of their values is there.
RENAMED: Mapping[str, tuple[str, Mapping[Any, Any]]] = MappingProxyType(
    {"head.halt": ("head.end", {True: "halt", False: "symbol"})}
)


def with_new_names(table: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of a configuration, or values by dotted names, in which such options have theirs."""
    renamed = dict(table)
    for name, (now, values) in RENAMED.items():
        (section, _, key), new_key = name.partition("."), now.partition(".")[2]
        given = renamed.get(section)
        if name in renamed and isinstance(renamed[name], bool):
            value = values[renamed.pop(name)]
            renamed.setdefault(now, value)
        if isinstance(given, Mapping) and isinstance(given.get(key), bool):
            others = {other: value for other, value in given.items() if other != key}
            renamed[section] = {new_key: values[given[key]], **others}
    return renamed


def removed_option(name: str) -> str:
    """A sentence on an option that is none any more, by its dotted name."""
    removed = REMOVED[name]
    value = str(removed.value).lower() if isinstance(removed.value, bool) else removed.value
    value = f"{value:,}" if isinstance(value, int) else value
    instead = f"; {removed.instead}" if removed.instead else ""
    return f"{name} is no option since 0.3.0, and always {value}{instead}; {RESUMED_BY}"


def without_removed(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Tables of a configuration without such options, and a sentence on each that means another.

    Args:
        table: as a file has it; a section that is no table is left as it is.
    """
    left, problems = dict(table), {}
    for name, removed in REMOVED.items():
        section, _, key = name.partition(".")
        given = left.get(section)
        if isinstance(given, Mapping) and key in given:
            if not removed.is_same(given[key]):
                problems[name] = [removed_option(name)]
            left[section] = {other: value for other, value in given.items() if other != key}
    return left, problems
