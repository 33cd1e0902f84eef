"""Several classes of a text in one cell, which formats with one class a text read as one class."""

from collections.abc import Iterable

from tagkit.wording import plural, quoted

JOINED_REMEDY = "Write them as several classes of a text, which jsonl-texts and fastText can hold"


def joined_classes(classes: Iterable[str]) -> list[str]:
    """The classes that consist, divided at commas, of two classes or more that stand alone too."""
    known = {*classes}
    return sorted(label for label in known if "," in label and _are_known(label.split(","), known))


def _are_known(parts: list[str], known: set[str]) -> bool:
    names = {part.strip() for part in parts}
    return len(names) > 1 and names <= known


def joined_problem(joined: list[str]) -> str:
    """What is said of such classes, of which there is at least one."""
    one = len(joined) == 1
    return (
        f"{plural(len(joined), 'class')} {'consists' if one else 'consist'} of others with commas "
        f"between them, such as {quoted(joined[0])}, and {'is' if one else 'are'} read as "
        f"{'a class of its own' if one else 'classes of their own'}"
    )
