"""Random tags for laws about scores."""

from hypothesis import strategies as st

TAGS = ["O", "O", *(f"{prefix}-{label}" for prefix in "BIES" for label in "XY"), "B", "I"]


@st.composite
def gold_and_predicted(
    draw: st.DrawFn, tags: tuple[str, ...] = tuple(TAGS)
) -> tuple[list[list[str]], list[list[str]]]:
    """Random tags, and the same with some of them changed: so that spans are right and wrong."""
    tag = st.sampled_from(tags)
    gold = draw(st.lists(st.lists(tag, min_size=1, max_size=7), max_size=4))
    predicted = [
        [draw(tag) if draw(st.integers(0, 3)) == 0 else right for right in sequence]
        for sequence in gold
    ]
    return gold, predicted
