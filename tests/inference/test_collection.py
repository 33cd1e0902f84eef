"""The garbage collector is paused in prediction, and afterwards as it was before."""

import gc

import pytest

from tagkit.inference.collection import without_collection


@without_collection()
def is_collecting() -> bool:
    return gc.isenabled()


def test_it_is_paused_and_enabled_again() -> None:
    assert gc.isenabled()
    assert not is_collecting()
    assert gc.isenabled()


def test_an_error_enables_it_again() -> None:
    with pytest.raises(KeyError), without_collection():
        raise KeyError
    assert gc.isenabled()


def test_a_caller_that_has_paused_it_keeps_it_paused() -> None:
    with without_collection():
        assert not is_collecting()
        assert not gc.isenabled()
    assert gc.isenabled()
