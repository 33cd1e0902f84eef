"""Dropout: what is dropped together, and what is scaled."""

import torch

from tagkit.nn.layers.dropout import (
    LockedDropout,
    WordDropout,
    drop_types,
    replace_at_random,
)


def test_locked_dropout_drops_a_feature_at_all_tokens_and_scales_the_others() -> None:
    torch.manual_seed(1)
    dropped = LockedDropout(probability=0.25)(torch.ones(50, 7, 40))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert set(dropped.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert abs((dropped == 0).float().mean().item() - 0.25) < 0.03
    assert not torch.equal(dropped[0], dropped[1])


def test_word_dropout_drops_whole_tokens_and_scales_nothing() -> None:
    torch.manual_seed(1)
    dropped = WordDropout(probability=0.25)(torch.ones(50, 40, 7))
    assert torch.equal(dropped, dropped[..., :1].expand_as(dropped))
    assert set(dropped.unique().tolist()) == {0.0, 1.0}
    assert abs((dropped == 0).float().mean().item() - 0.25) < 0.03


def test_both_leave_everything_alone_outside_training_and_at_zero() -> None:
    inputs = torch.rand(3, 4, 5)
    for kind in (LockedDropout, WordDropout):
        assert torch.equal(kind(probability=0.9).eval()(inputs), inputs)
        assert torch.equal(kind(probability=0.0)(inputs), inputs)


def test_a_type_is_dropped_wherever_it_occurs_and_the_others_scaled() -> None:
    torch.manual_seed(1)
    types = torch.arange(4000) % 1000
    dropped = drop_types(torch.ones(4000, 3), types, 0.25)
    by_type = dropped.view(4, 1000, 3)
    assert torch.equal(by_type, by_type[:1, :, :1].expand_as(by_type))
    assert set(dropped.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert abs((dropped == 0).float().mean().item() - 0.25) < 0.05


def test_only_what_is_replaceable_is_replaced_and_by_chance_of_the_generator() -> None:
    ids = torch.randint(10, (100, 100), generator=torch.Generator().manual_seed(1))
    replaceable = torch.arange(10) % 2 == 0

    def replaced(seed: int) -> torch.Tensor:
        dice = torch.Generator().manual_seed(seed)
        return replace_at_random(ids, replaceable, 99, 0.3, dice)

    found = replaced(5)
    assert torch.equal(found[ids % 2 == 1], ids[ids % 2 == 1])
    even = found[ids % 2 == 0]
    assert abs((even == 99).float().mean().item() - 0.3) < 0.03
    assert torch.equal(even[even != 99], ids[ids % 2 == 0][even != 99])
    assert torch.equal(found, replaced(5))
    assert not torch.equal(found, replaced(6))
