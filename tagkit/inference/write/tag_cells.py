"""The cells of a token's tags: one, or one of each tag column of a model of several."""

from collections.abc import Iterator, Sequence

from tagkit.text.records import TagColumn, TaggedToken


def tag_cells(token: TaggedToken, *, confidence: bool) -> Iterator[str]:
    """The value of each tag column, with `confidence` each followed by its probability."""
    values = {"": str(token.tag)} if token.tags is None else token.tags
    probabilities = token.probabilities or {"": token.probability or 0.0}
    for name, value in values.items():
        yield value
        if confidence:
            yield f"{probabilities[name]:.4f}"


def rows_of(columns: Sequence[TagColumn]) -> Iterator[Sequence[str]]:
    """For each token the cells of all tag columns, each with its probability where there is one."""
    cells: list[Sequence[str]] = []
    for column in columns:
        cells.append(column.values)
        if column.probabilities is not None:
            cells.append([f"{probability:.4f}" for probability in column.probabilities])
    return zip(*cells, strict=True)


def columns_of(tokens: Sequence[TaggedToken], *, confidence: bool) -> tuple[TagColumn, ...]:
    """The tag columns of a sentence, with `confidence` with probabilities; one without a name."""
    first = tokens[0].tags
    if first is None:
        probabilities = tuple(token.probability or 0.0 for token in tokens)
        tags = tuple(token.tag or "_" for token in tokens)
        return (TagColumn("", tags, probabilities if confidence else None),)
    return tuple(
        TagColumn(
            name,
            tuple((token.tags or {})[name] for token in tokens),
            tuple((token.probabilities or {})[name] for token in tokens) if confidence else None,
        )
        for name in first
    )
