"""What a language model reads and predicts: units of text, and the symbol that ends a line."""

from collections.abc import Callable

END = "</s>"  # the end of a line: predicted as a unit is, and what a text begins with
UNKNOWN = "<unk>"  # a unit that the model does not know; a text may hold it already, as PTB does

Cut = Callable[[str], tuple[str, ...]]  # a line -> its units


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


# The keys are values of `data.unit`. Words are what blanks separate, characters are code points.
CUTS: dict[str, Cut] = {"word": _words, "character": tuple}
# As messages have them.
UNIT_NAMES = {"word": "word", "character": "character"}
# What stands between two units of a line.
JOINED = {"word": " ", "character": ""}
