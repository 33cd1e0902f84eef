"""Texts of two files that are compared by their characters."""

import pytest

from tagkit.errors import FormatError
from tagkit.evaluation.characters import characters_of, require_same_characters
from tagkit.text.records import Document, Sentence


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("New York City y z", "p:7: expected 'x z' as on g:5, found 'y z'"),
        ("New York City x y", "p:7: expected 'z' as on g:6, found 'y'"),
        ("New York Town x z", "p:7: expected 'City x z' as on g:4, found 'Town x z'"),
        ("New York City x", "p:7: expected 'z' as on g:6, found the end of the file"),
    ],
)
def test_the_word_that_differs_is_named_where_words_hold_blanks(text: str, message: str) -> None:
    gold = [Sentence(("New York City", "x", "z"), ("B-LOC", "O", "O"), lines=(4, 5, 6))]
    predicted = [Document(text, spans=(), line=7)]
    sides = (
        characters_of(items, name, "blanks", lambda tags: ())
        for items, name in ((gold, "g"), (predicted, "p"))
    )
    with pytest.raises(FormatError) as caught:
        require_same_characters(*sides)
    assert str(caught.value) == message
