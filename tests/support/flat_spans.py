"""Spans of a sentence of which none overlaps another, for hypothesis."""

from hypothesis import strategies as st

from tagkit.text.schemes import SpanTuple

spans = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.sampled_from("AB")), max_size=4)


@st.composite
def flat(draw: st.DrawFn) -> list[SpanTuple]:
    found, at = [], 0
    for length, gap, label in draw(spans):
        found.append((at + gap, at + gap + length, label))
        at += gap + length
    return found
