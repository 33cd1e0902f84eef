"""Tables of names and numbers as lines of plain text."""

from collections.abc import Collection, Iterator, Sequence

from tagkit.wording import cells, padded, shortened

WIDTH = 80  # of a file
WIDE = 10**6  # room for any table
_MIN_NAME = 12  # characters of a name, also on a narrow terminal


def table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], room: int
) -> Iterator[str]:
    """Names on the left, shortened where the table would be too wide, and numbers on the right.

    Where shortened names would look the same, those that are too long have a line of their own
    above their numbers.

    Args:
        title: head of the column of names.
        heads: those of the other columns.
        rows: of each a name and its cells; one without any is a blank line.
        room: cells of a line.
    """
    lines = [(title, *heads), *rows]
    widths = [max(map(cells, column)) for column in zip(*filter(None, lines), strict=True)]
    right_of = sum(width + 2 for width in widths[1:])
    first = min(widths[0], max(_MIN_NAME, room - right_of))
    names = {line[0] for line in lines if line}
    longest = _distinct_length(names, first)
    above = longest > first
    if above:
        longest = _distinct_length(names, max(first, room))
    for line in lines:
        if not line:
            yield ""
            continue
        name, *others = line
        right = "".join(
            f"  {padded(cell, width, right=True)}"
            for cell, width in zip(others, widths[1:], strict=True)
        )
        if above and cells(name) > first:
            yield shortened(name, longest)
            name = ""
        yield f"{padded(shortened(name, first), first)}{right}".rstrip()


def pair_table(
    heads: tuple[str, str, str], pairs: Sequence[tuple[str, str, int]], room: int
) -> Iterator[str]:
    """How often each of two names go together: both on the left, shortened where they are long."""
    counted = [heads[2], *(f"{count:,}" for _, _, count in pairs)]
    last = max(map(cells, counted))
    each = max(_MIN_NAME, (room - last - 4) // 2)
    columns = [
        [shortened(name, each) for name in column]
        for column in zip(heads[:2], *((gold, other) for gold, other, _ in pairs), strict=True)
    ]
    first, second = (max(map(cells, column)) for column in columns)
    for name, other, count in zip(*columns, counted, strict=True):
        yield f"{padded(name, first)}  {padded(other, second)}  {padded(count, last, right=True)}"


def _distinct_length(names: Collection[str], length: int) -> int:
    """The length, at least this one, to which names can be shortened and still differ."""
    while len({shortened(name, length) for name in names}) < len(names):  # up to the longest
        length += 1
    return length


def shares(*values: float) -> list[str]:
    """Cells of scores, 0 to 1."""
    return [f"{value:.4f}" for value in values]


def counts(*values: int) -> list[str]:
    """Cells of numbers."""
    return [f"{value:,}" for value in values]


def interval_cell(low: float, high: float, sign: str = "") -> str:
    """Both ends of an interval; `sign` "+" for that of a difference."""
    return f"{low:{sign}.4f} to {high:{sign}.4f}"


def p_cell(value: float) -> str:
    """A p-value."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"
