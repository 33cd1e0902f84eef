"""What a training run shows before its first epoch: the corpora and the model."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tagkit.cli.program.messages import with_flags
from tagkit.cli.program.terminal import short_paths
from tagkit.cli.shown.reports import columns_text
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.column_counts import column_counts
from tagkit.models.base.description import Description
from tagkit.text.schemes import has_spans
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.training.setup.setup import Prepared
from tagkit.training.setup.unknown_units import UnknownUnits, unknown_units, words_without_blanks
from tagkit.wording import (
    Message,
    Setting,
    cells,
    listed,
    padded,
    plural,
    plural_of,
    shown_name,
    visible,
)

# Share of units that a language model does not know, above which the perplexity misleads.
_MANY_UNKNOWN = 0.2
# Units of which fewer are unknown.
_FEWER_UNKNOWN = {"word": "characters or byte pairs", "character": "byte pairs"}


def start_lines(
    prepared: Prepared, description: Description, threads: int, seeds: int
) -> Iterator[str]:
    """The splits, what was decided from them, and the model.

    Args:
        prepared: what is trained.
        description: of the model.
        threads: of the CPU.
        seeds: number of models that are trained one after another.
    """
    corpus, config = prepared.corpus, prepared.config
    splits: dict[str, Split | None] = {
        "train": corpus.train,
        "dev": corpus.dev,
        "test": corpus.test,
    }
    found = {name: split for name, split in splits.items() if split}  # there need be no test corpus
    unknown = {} if prepared.task.annotates else unknown_units(prepared)
    # The log has the whole paths.
    short = short_paths([split.path for split in found.values()])
    rows = [
        (
            name,
            visible(short[split.path]),
            *_split_facts(split, prepared.task.needs.classes, description.unit, unknown.get(name)),
        )
        for name, split in found.items()
    ]
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    for name, path, sentences, tokens, kinds in rows:
        counts = f"{sentences:>{widths[2]}}  {tokens:>{widths[3]}}"
        yield f"{name:<6} {padded(path, widths[1])}  {counts}  {kinds}".rstrip()
    yield from _unit_lines(prepared, unknown)
    # A model that only memorised train would miss this share of dev.
    unseen = corpus.unseen_share()
    if unseen is not None:
        yield f"       dev: {100 * unseen:.0f} % of its entities never seen in train"
    for text, names in _notes(splits).items():
        yield f"       {', '.join(names)}: {text}" if names else f"       {text}"
    if prepared.started:
        yield f"       {prepared.started}"
    if prepared.by_size:  # its number of epochs is that of one seed
        yield f"       {'each seed: ' if seeds > 1 else ''}{prepared.by_size}"
    if prepared.cut:
        yield (
            f"       {plural(prepared.cut, 'training sentence')} over {config.data.max_length:,} "
            "tokens: cut into windows that overlap"
        )
    if prepared.vocabulary.columns:
        yield f"       {columns_text(prepared.vocabulary.columns)}"
    parameters = prepared.model.saved_weights
    device = str(prepared.device)
    if device == "cpu":
        device += f" ({plural(threads, 'thread')})"
    yield f"model  {description.architecture}, {plural(parameters, 'parameter')}, on {device}"
    if read := prepared.model.contextual:
        paths = listed([shown_name(part.path) for part in read.parts])
        kept = config.embeddings.freeze_contextual
        fate = "which are not trained" if kept else "which are trained further"
        yield f"       {read.weights:,} of them are those of {paths}, {fate}"
    if prepared.vectors:
        covered, total = prepared.vectors
        name = Path(config.embeddings.vectors).name
        yield f"       {covered:,} of {plural(total, 'training word')} with a vector in {name}"


def _unit_lines(prepared: Prepared, unknown: Mapping[str, UnknownUnits]) -> Iterator[str]:
    """What a language model knows; nothing of another task."""
    if not unknown:
        return
    config = prepared.config
    unit = UNIT_KINDS[config.data.unit].name
    known = plural(len(prepared.vocabulary.words), unit)
    yield f"       {known} known, the end of a line among them"
    if stretches := words_without_blanks(prepared):
        text = (
            f"warning: {share_text(stretches)} of the words are stretches of scripts without "
            "blanks between words, such as whole lines of Chinese. Let units be characters ("
        )
        yield with_flags(Message(text, Setting("data.unit", "character"), ")."))
        return
    many = [
        f"{share_text(found.share)} of {name}'s"
        for name, found in unknown.items()
        if name != "train" and found.share >= _MANY_UNKNOWN
    ]
    if not many:
        return
    text = f"warning: {' and '.join(many)} {plural_of(unit)} are unknown, and all of them count as "
    text += (
        f"one: {'its' if len(many) == 1 else 'their'} perplexity says little. Train on more text"
    )
    # A model that another one begins has the other's units.
    finer = "" if config.train.init_from else _FEWER_UNKNOWN.get(config.data.unit, "")
    remedy = (f", or let units be {finer} (", Setting("data.unit"), ")") if finer else ()
    yield with_flags(Message(text, *remedy, "."))


def share_text(share: float) -> str:
    """A share in percent; more digits where it is small."""
    return f"{100 * share:.0f} %" if share >= 0.1 or not share else f"{100 * share:.2g} %"


def _notes(splits: Mapping[str, Split | None]) -> dict[str, list[str]]:
    """Notes on the corpora, each with the names of the splits that it applies to."""
    # The same note on train, dev and test is shown once; the path is in the line above.
    notes: dict[str, list[str]] = {}
    for name, split in splits.items():
        for note_of_split in split.notes if split else ():
            line = with_flags(note_of_split)
            path, colon, text = line.partition(": ")  # a note begins with its file's path
            if colon and split and path == split.path:
                notes.setdefault(text, []).append(name)
            else:  # of another file, such as the one that dev was split off
                notes.setdefault(line, [])
    return notes


def _split_facts(
    split: Split, with_classes: bool, unit: str, unknown: UnknownUnits | None
) -> tuple[str, str, str]:
    """Sentences, or what else `unit` calls them, tokens, and what there is to be learnt."""
    kinds = [] if unknown is None else [f"{share_text(unknown.share)} unknown"]
    of_columns = column_counts(split)
    if of_columns:
        kinds.append(of_columns)
    elif split.detection:
        plain = not has_spans(split.scheme)
        kinds.append(
            f"plain, {plural(len(split.labels()), 'label')}"
            if plain
            else f"{split.detection}, {plural(len(split.labels()), 'type')}"
        )
    if with_classes:
        kinds.append(plural(len(split.classes()), "class"))
    count = len(split.sentences)
    # As wide for one as for many, so that the columns stay below each other.
    sentences = f"{count:,} {unit if count == 1 else plural_of(unit):<{len(unit) + 1}}"
    tokens = f"{split.tokens:,} {'token ' if split.tokens == 1 else 'tokens'}"
    return sentences, tokens, ", ".join(kinds)
