"""What a shell completes: values of options that are fixed, or that a table has.

A callback imports what knows the values when it is called, as every command imports late. Nothing
that is slow, such as torch, is needed for any of them.
"""

from collections.abc import Callable, Iterable

Complete = Callable[[str], list[str]]

TASKS_OF_LABELS = ("tag", "classify", "both")  # the table of tasks would import torch
_DEVICES = ("auto", "cpu", "cuda", "cuda:0")


def _matching(values: Iterable[str], incomplete: str) -> list[str]:
    return [value for value in values if value.startswith(incomplete)]


def values_of(name: str) -> Complete:
    """Completes the values of an option of the configuration that has fixed choices.

    Args:
        name: its dotted name.
    """

    def complete(incomplete: str) -> list[str]:
        return _matching(choices_of(name), incomplete)

    return complete


def choices_of(name: str) -> list[str]:
    """The fixed choices of an option of the configuration; none where it has other values."""
    from tagkit.config import Config, allowed

    section, _, key = name.rpartition(".")
    owner = type(getattr(Config(), section)) if section else Config
    return [value for value in allowed(owner, key) if isinstance(value, str)]


def complete_task_of_labels(incomplete: str) -> list[str]:
    """Tasks whose models give labels."""
    return _matching(TASKS_OF_LABELS, incomplete)


def complete_device(incomplete: str) -> list[str]:
    """Devices; of several GPUs the first, whose number is easily changed."""
    return _matching(_DEVICES, incomplete)


def complete_metric(incomplete: str) -> list[str]:
    """Metrics of any model; a label after `f1:` is the user's."""
    from tagkit.evaluation.reports.criterion import names_of
    from tagkit.evaluation.scores.metrics import Kind

    # Two kinds at once have the names with the prefix of classes, one kind those without.
    several = [names_of([kind]) for kind in Kind] + [names_of([Kind.SPANS, Kind.CLASS])]
    names = dict.fromkeys(name for names in several for name in names)
    ends = dict.fromkeys(f"{name.partition(':')[0]}:" if ":" in name else name for name in names)
    return _matching(ends, incomplete)


def complete_column(incomplete: str) -> list[str]:
    """Names of the columns of CoNLL-U; numbers are typed as fast."""
    from tagkit.corpus.source.layout import CONLLU_COLUMNS

    return _matching(CONLLU_COLUMNS, incomplete)


def complete_target_format(incomplete: str) -> list[str]:
    """Formats that can be written, and families of them."""
    from tagkit.corpus.formats.table import targets

    names = [*values_of("data.format")(incomplete), *_matching(targets(), incomplete)]
    return [name for name in dict.fromkeys(names) if name != "auto"]


def output_formats() -> tuple[str, ...]:
    """All that a model may predict; which ones fit its labels, the library says."""
    from tagkit.corpus.formats.table import targets

    names = ["auto"]
    for format in targets().values():
        if format.holds != "text":  # which has no place for a label
            names += [name for name in (format.family, format.name) if name]
    return *dict.fromkeys(names), "show"


def complete_output_format(incomplete: str) -> list[str]:
    """Formats that a model may predict."""
    return _matching(output_formats(), incomplete)


def complete_span_scheme(incomplete: str) -> list[str]:
    """Schemes of tags that mean spans."""
    from tagkit.text.schemes import SPAN_SCHEMES

    return _matching(SPAN_SCHEMES, incomplete)


def complete_part(incomplete: str) -> list[str]:
    """Sections, and the options of a section once its dot is there."""
    from tagkit.config import option_names

    names = option_names()
    if "." in incomplete:
        return _matching(names, incomplete)
    parts = dict.fromkeys(name.partition(".")[0] for name in names)
    return _matching(parts, incomplete)


def complete_setting(incomplete: str) -> list[str]:
    """`section.key=` of every option, and the values of one with fixed choices."""
    from tagkit.config import option_names

    name, equals, _ = incomplete.partition("=")
    names = option_names()
    if not equals:
        return _matching((f"{each}=" for each in names), incomplete)
    values = choices_of(name) if name in names else []
    return _matching((f"{name}={value}" for value in values), incomplete)


def complete_search(incomplete: str) -> list[str]:
    """`section.key=` of every option that a search may try values of."""
    from tagkit.config import Config, tunable_options

    return _matching((f"{each}=" for each in sorted(tunable_options(Config))), incomplete)
