"""A configuration file to start from, for one task and corpus: each option with its meaning.

The corpora are read as a run reads them, by the same function, so that what a comment says of them
is what the run will do. Values stay as they are, "auto" among them: the file trains the model that
the same files would train without it.
"""

from collections.abc import Iterator, Mapping, Sequence

from tagkit.config import Config, option_values
from tagkit.config.description import commented_toml, toml_text
from tagkit.corpus.formats.recognition import recognise
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.source.layout import CONLLU_COLUMNS
from tagkit.corpus.source.options import source_of
from tagkit.corpus.source.pipes import require_files
from tagkit.corpus.splits.counts import column_counts
from tagkit.evaluation.scores.metrics import headline_metric
from tagkit.models.base.device import choose_device
from tagkit.models.tagging.tag_head import legal_scheme
from tagkit.text.schemes import has_spans
from tagkit.training.setup.setup import Resolved, resolve
from tagkit.wording import plural

_TABLES = ("tsv", "csv")


def detected_task(config: Config) -> str:
    """The task that the training corpus is for: classify if its texts have classes alone, else tag.

    Raises:
        DataError: it cannot be read, or is a pipe, which could be read once only.
    """
    require_files(config, "this and the training")
    format = recognise(source_of(config.data.train_file, config.data), config.data.format)
    return "classify" if format.holds == "classes" else "tag"


def starting_config(config: Config, head: Sequence[str] = (), *, is_detected: bool = False) -> str:
    """The configuration as TOML, with comments on what each option is and what it resolves to.

    Args:
        config: names the corpora.
        head: paragraphs for the beginning of the file.
        is_detected: whether the task is `detected_task`; a comment then says so.

    Raises:
        TagkitError: a corpus or the vectors cannot be used, as training would refuse them.
    """
    require_files(config, "this and the training")
    # One vector tells the dimension of all.
    is_short = bool(config.embeddings.vectors) and not config.train.init_from
    resolved = resolve(config, most_vectors=int(is_short))
    remarks = dict(_remarks(config, resolved))
    if is_detected:
        remarks["task"] = _task_found(resolved)
    head = [*head, "", *_corpora(resolved)]
    return commented_toml(config, head, _values_found(config, resolved), remarks)


def _corpora(resolved: Resolved) -> Iterator[str]:
    """Paragraphs on the corpora."""
    corpus = resolved.corpus
    for name, split in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test)):
        if split:
            yield f"{name}: {split.path}: {_counts(split, resolved)}"
    if resolved.by_size:
        yield resolved.by_size
    # Notes begin with their file's path.
    for note in dict.fromkeys(
        note for split in (corpus.train, corpus.dev, corpus.test) if split for note in split.notes
    ):
        yield str(note)


def _counts(split: Split, resolved: Resolved) -> str:
    unit = resolved.task.describe(resolved.config).unit
    parts = [plural(len(split.sentences), unit), plural(split.tokens, "token")]
    of_columns = column_counts(split)
    if of_columns:
        parts.append(of_columns)
    elif split.detection:
        is_plain = not has_spans(split.scheme)
        labels = plural(len(split.labels()), "label" if is_plain else "type")
        parts += ["plain labels" if is_plain else str(split.detection), labels]
    if resolved.task.needs.classes:
        parts.append(plural(len(split.classes()), "class"))
    return ", ".join(parts)


def _task_found(resolved: Resolved) -> str:
    train = resolved.corpus.train
    if not resolved.task.needs.tags:
        return "Found in train_file: texts with classes."
    also = 'Its texts have classes too: "both" learns them beside the tags.'
    return f"Found in train_file: tags. {also if train.classes() else ''}".strip()


def _remarks(config: Config, resolved: Resolved) -> Iterator[tuple[str, str]]:
    """What is to be said of single options, by dotted name."""
    if not config.data.dev_file:
        dev, train = len(resolved.corpus.dev.sentences), len(resolved.corpus.train.sentences)
        unit = resolved.task.describe(resolved.config).unit
        yield "data.dev_fraction", f"For this corpus: {plural(dev, unit)} of {dev + train:,}."
    if config.train.device == "auto":
        yield "train.device", f"On this machine: {toml_text(choose_device('auto').type)}."


def _values_found(config: Config, resolved: Resolved) -> dict[str, str]:
    """What options resolve to where the configuration leaves them open, as TOML."""
    given, found = option_values(config), option_values(resolved.config)
    chosen = {name: toml_text(value) for name, value in found.items() if value != given[name]}
    chosen |= _found_in_reading(given, resolved)
    if given["train.metric"] == "auto":
        keys = [headline_metric(kind).key for kind in resolved.task.kinds(resolved.config)]
        if keys:  # else the headline is one of the task's own
            both = " (their mean)" if len(keys) > 1 else ""
            chosen["train.metric"] = " and ".join(map(toml_text, keys)) + both
    if given["head.constrain"] == "auto" and resolved.task.needs.tags:
        is_constrained = has_spans(legal_scheme(resolved.config))
        chosen["head.constrain"] = toml_text("decode" if is_constrained else "none")
    return chosen


def _found_in_reading(given: Mapping[str, object], resolved: Resolved) -> dict[str, str]:
    """What the readers found in the training file where the configuration leaves it open."""
    train, chosen = resolved.corpus.train, dict[str, str]()
    if given["data.format"] == "auto":
        chosen["data.format"] = toml_text(train.format)
    if train.layout is not None and given["data.tag_column"] is None:
        tag = train.layout.tag
        if tag is not None:
            name = CONLLU_COLUMNS[tag] if train.layout.conllu else tag
            chosen["data.tag_column"] = toml_text(name)
    if train.layout is not None and given["data.token_column"] is None:
        token = train.layout.token
        name = CONLLU_COLUMNS[token] if train.layout.conllu else token
        chosen["data.token_column"] = toml_text(name)
    if given["data.header"] == "auto" and train.format in _TABLES:
        # The row of names is no text: then texts begin in the second line.
        splits = (train, resolved.corpus.dev)
        lines = [s.lines[0] for split in splits if split.format for s in split.sentences if s.lines]
        first = min(lines, default=1)
        chosen["data.header"] = toml_text("no" if first == 1 else "yes")
    return chosen
