"""Dropout: what is dropped together, and what is scaled."""

import torch

from tagkit.nn.layers.dropout import (
    LockedDropout,
    WordDropout,
    activation_penalty,
    drop_types,
    replace_at_random,
    temporal_penalty,
    token_weights,
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


LENGTHS = (5, 1, 3)
MASK = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(1)


def states() -> torch.Tensor:
    found = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(1)).double()
    return found.masked_fill(~MASK.unsqueeze(2), 0)


def test_both_are_means_over_features_summed_over_tokens() -> None:
    weights, given = token_weights(MASK, per_sequence=False), states()
    large, changes = 0.0, 0.0
    for sequence, length in zip(given.tolist(), LENGTHS, strict=True):
        for t in range(length):
            large += sum(value**2 for value in sequence[t]) / 4
            if t:
                pairs = zip(sequence[t], sequence[t - 1], strict=True)
                changes += sum((one - before) ** 2 for one, before in pairs) / 4
    assert abs(activation_penalty(given, weights).item() - large) < 1e-9
    assert abs(temporal_penalty(given, weights).item() - changes) < 1e-9


def test_weights_of_a_sequence_sum_to_one_or_are_one_for_each_token() -> None:
    assert torch.equal(token_weights(MASK, per_sequence=False), MASK.float())
    each = token_weights(MASK, per_sequence=True)
    torch.testing.assert_close(each.sum(1), torch.ones(3))
    torch.testing.assert_close(each[0], torch.full((5,), 0.2))
    assert not each[~MASK].any()
    assert not token_weights(torch.zeros(1, 2, dtype=torch.bool), per_sequence=True).any()


def test_padding_has_no_effect_and_pieces_of_a_batch_add_up() -> None:
    given = states()
    for per_sequence in (False, True):
        weights = token_weights(MASK, per_sequence=per_sequence)
        for penalty in (activation_penalty, temporal_penalty):
            whole = penalty(given, weights)
            parts = [
                penalty(given[i : i + 1, :length], weights[i : i + 1, :length])
                for i, length in enumerate(LENGTHS)
            ]
            torch.testing.assert_close(torch.stack(parts).sum(), whole)
