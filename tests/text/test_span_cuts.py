"""Which cuts of a text would divide a span."""

from hypothesis import given
from hypothesis import strategies as st

from tagkit.text.span_cuts import divides_any

spans = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda ends: (min(ends), max(ends)))
)


@given(spans)
def test_a_cut_divides_a_span_that_begins_before_it_and_ends_behind_it(
    spans: list[tuple[int, int]],
) -> None:
    divides = divides_any(spans)
    for at in range(10):
        assert divides(at) == any(start < at < end for start, end in spans)
