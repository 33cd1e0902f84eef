"""Options that some formats alone have, on a corpus of another format."""

from dataclasses import replace

from tagkit.config import DataConfig
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.dataset import Split
from tagkit.wording import joined


def with_option_notes(split: Split, data: DataConfig) -> Split:
    """A corpus with a note on each option that its format does not have.

    A note and no error: runs that were begun in spite of it must be resumed.
    """
    defaults, said = DataConfig(), []
    for option in sorted({each for format in FORMATS.values() for each in format.options}):
        value = getattr(data, option)
        if value != getattr(defaults, option) and (owners := not_of(split, option)):
            said.append(
                f"{split.path}: data.{option} = {value} has no effect: it is for {owners}, and "
                f"this is read as {split.format}"
            )
    return replace(split, notes=(*split.notes, *said)) if said else split


def not_of(split: Split, option: str) -> str:
    """The formats that have an option, in words; empty if the corpus is in one of them."""
    owners = [format.name for format in FORMATS.values() if option in format.options]
    return "" if split.format in owners else joined(owners)
