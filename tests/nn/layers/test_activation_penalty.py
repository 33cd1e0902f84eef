"""The penalties on states: their formulas, padding, and pieces of a batch."""

import torch

from tagkit.nn.layers.activation_penalty import activation_penalty, temporal_penalty, token_weights

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
