"""What a shell completes: values of options that are fixed, or that a table has.

A callback imports what knows the values when it is called, as every command imports late. Nothing
that is slow, such as torch, is needed for any of them.
"""

from collections.abc import Callable, Iterable

Complete = Callable[[str], list[str]]

TASKS_OF_LABELS = ("tag", "classify", "both")  # the table of tasks would import torch


def completed_by(names: Callable[[], Iterable[str]]) -> Complete:
    """Completes one of these names, each once."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in dict.fromkeys(names()) if name.startswith(incomplete)]

    return complete


def values_of(name: str) -> Complete:
    """Completes the values of an option of the configuration, by its dotted name."""
    return completed_by(lambda: choices_of(name))


def choices_of(name: str) -> list[str]:
    """The fixed choices of an option of the configuration; none where it has other values."""
    from tagkit.config import Config, allowed

    section, _, key = name.rpartition(".")
    owner = type(getattr(Config(), section)) if section else Config
    return [value for value in allowed(owner, key) if isinstance(value, str)]


def _metrics() -> list[str]:
    """Metrics of any model; a label after `f1:` is the user's."""
    from tagkit.evaluation.reports.criterion import names_of
    from tagkit.evaluation.scores.metrics import Kind

    # Two kinds at once have the names with the prefix of classes, one kind those without.
    several = [names_of([kind]) for kind in Kind] + [names_of([Kind.SPANS, Kind.CLASS])]
    return [
        f"{name.partition(':')[0]}:" if ":" in name else name for names in several for name in names
    ]


def _columns() -> Iterable[str]:
    """Names of the columns of CoNLL-U; numbers are typed as fast."""
    from tagkit.corpus.source.layout import CONLLU_COLUMNS

    return CONLLU_COLUMNS


def _target_formats() -> list[str]:
    """Formats that can be written, and families of them."""
    from tagkit.corpus.formats.table import targets

    return [name for name in (*choices_of("data.format"), *targets()) if name != "auto"]


def output_formats() -> tuple[str, ...]:
    """All that a model may predict; which ones fit its labels, the library says."""
    from tagkit.corpus.formats.table import targets

    names = ["auto"]
    for format in targets().values():
        if format.holds != "text":  # which has no place for a label
            names += [name for name in (format.family, format.name) if name]
    return *dict.fromkeys(names), "show"


def _span_schemes() -> Iterable[str]:
    from tagkit.text.schemes import SPAN_SCHEMES

    return SPAN_SCHEMES


def _searched() -> list[str]:
    """`section.key=` of every option that a search may try values of."""
    from tagkit.config import Config, tunable_options

    return [f"{each}=" for each in sorted(tunable_options(Config))]


complete_task_of_labels = completed_by(lambda: TASKS_OF_LABELS)
# Of several GPUs the first, whose number is easily changed.
complete_device = completed_by(lambda: ("auto", "cpu", "cuda", "cuda:0"))
complete_metric = completed_by(_metrics)
complete_column = completed_by(_columns)
complete_target_format = completed_by(_target_formats)
complete_output_format = completed_by(output_formats)
complete_span_scheme = completed_by(_span_schemes)
complete_search = completed_by(_searched)


def complete_part(incomplete: str) -> list[str]:
    """Sections, and the options of a section once its dot is there."""
    from tagkit.config import option_names

    names = option_names()
    if "." not in incomplete:
        names = [name.partition(".")[0] for name in names]
    return completed_by(lambda: names)(incomplete)


def complete_setting(incomplete: str) -> list[str]:
    """`section.key=` of every option, and the values of one with fixed choices."""
    from tagkit.config import option_names

    name, equals, _ = incomplete.partition("=")
    names, values = option_names(), [""]
    if equals:
        names = [name] if name in names else []
        values = choices_of(name) if names else []
    return completed_by(lambda: [f"{n}={value}" for n in names for value in values])(incomplete)
