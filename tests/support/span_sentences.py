"""Random sentences with spans, for the tests of tag schemes."""

from hypothesis import strategies as st

from tagkit.text.records import Span

# Labels with hyphens, the empty one of bare prefixes, and any other text.
labels = st.sampled_from(["PER", "LOC", "", "LOC-GPE", "-", "O"]) | st.text(max_size=3)


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans that do not overlap, neighbours that touch among them, and the sentence's length."""
    spans, end = [], 0
    for gap, width, label in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), labels), max_size=6)
    ):
        spans.append(Span(end + gap, end + gap + width, label))
        end += gap + width
    return spans, end + draw(st.integers(0, 2))
