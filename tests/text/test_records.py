"""Records of text: what they hold is what they were given."""

import dataclasses
import inspect

import pytest

from tagkit.text.records import Sentence


def test_a_sentence_is_made_as_its_fields_say() -> None:
    # Its __init__ is written out, so a field that is added or moved must be so there as well.
    fields = dataclasses.fields(Sentence)
    parameters = list(inspect.signature(Sentence).parameters.values())
    assert [each.name for each in parameters] == [each.name for each in fields]
    assert [
        dataclasses.MISSING if each.default is each.empty else each.default for each in parameters
    ] == [each.default for each in fields]
    given = {each.name: object() for each in fields}
    made = Sentence(**given)
    assert {name: getattr(made, name) for name in given} == given
    assert dataclasses.replace(made, tags=("O",)).words is given["words"]


def test_a_sentence_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sentence(words=("a",)).words = ("b",)  # type: ignore[misc]
