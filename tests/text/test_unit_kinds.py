"""Each kind of units that the configuration names: learnt, and loaded again."""

import pytest

from tagkit.text.byte_pairs import BytePairs
from tagkit.text.unit_kinds import UNIT_KINDS

TEXTS = ("low low lower", "newest newest widest")


@pytest.mark.parametrize("name", UNIT_KINDS)
def test_a_kind_learns_units_of_its_name_and_loads_the_same(name: str) -> None:
    kind = UNIT_KINDS[name]
    learnt = kind.learn(iter(TEXTS), 262)
    assert learnt.kind == name
    if kind.load is None:
        assert name == "word"
    else:
        assert kind.load(learnt.to_list() if isinstance(learnt, BytePairs) else None) == learnt
