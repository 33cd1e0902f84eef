"""The best taggings of a text are the best combinations of those of its sentences."""

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from tagkit.inference.predict.inputs import Text
from tagkit.inference.predict.text_alternatives import alternatives_of_text
from tagkit.text.records import Alternative, Sentence, Span

TAGS = ("O", "B-A", "B-B")
PROBABILITIES = st.lists(st.floats(0.01, 1), min_size=1, max_size=3, unique=True)


def text_of(sentences: int) -> Text:
    """A text of sentences of one letter."""
    text = " ".join("abcdef"[:sentences])
    parts = [Sentence((letter,)) for letter in text.split()]
    return Text(text, parts, [[(2 * i, 2 * i + 1)] for i in range(sentences)])


def alternatives(probabilities: list[float]) -> list[Alternative]:
    spans = ((), (Span(0, 1, "A"),), (Span(0, 1, "B"),))
    ordered = sorted(probabilities, reverse=True)
    return [Alternative((TAGS[i],), spans[i], each) for i, each in enumerate(ordered)]


@given(st.lists(PROBABILITIES, max_size=4), st.integers(1, 7))
def test_they_equal_those_of_all_combinations(sentences: list[list[float]], count: int) -> None:
    # As much as the model is asked for, for each sentence.
    found = [alternatives(each)[:count] for each in sentences]
    every = sorted(
        (math.prod(each.probability for each in chosen) for chosen in itertools.product(*found)),
        reverse=True,
    )
    best = alternatives_of_text(text_of(len(sentences)), found, count)
    assert len(best) == min(count, len(every))
    for ours, theirs in zip(best, every, strict=False):
        assert math.isclose(ours.probability, theirs)
    for each in best:
        of_tags = [
            next(one.probability for one in part if one.tags == (tag,))
            for part, tag in zip(found, each.tags, strict=True)
        ]
        assert math.isclose(each.probability, math.prod(of_tags))
        assert each.tagged is not None
        places = [(span.start, span.end, span.label) for span in each.tagged.spans]
        assert places == [(2 * span.start, 2 * span.end - 1, span.label) for span in each.spans]
    assert len({each.tags for each in best}) == len(best)


def test_thousands_of_sentences_are_ordered_though_their_product_is_nothing() -> None:
    sentences = 3000
    text = Text("", [Sentence(("a",))] * sentences, [[(0, 0)]] * sentences)
    best = alternatives_of_text(text, [alternatives([0.6, 0.4])] * sentences, 2)
    assert [each.probability for each in best] == [0.0, 0.0]
    assert [each.tags.count("B-A") for each in best] == [0, 1]
