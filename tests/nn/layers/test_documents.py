"""Sentences joined to documents and parted again, for every layer of an encoder."""

from dataclasses import replace

import pytest
import torch
from cell_options import CELL_OPTIONS
from marks import mostly_slow
from torch import Tensor

from tagkit.nn.layers.documents import JoinedRows
from tagkit.nn.layers.encoder import LAYERS, Encoder

LENGTHS = [2, 4, 1, 3, 1, 2]
DOCUMENTS = torch.tensor([0, 0, 0, 1, 2, 2])
MASK = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
ALWAYS = ("lstm", "gru", "clockwork", "sru", "transformer")
CELLS = mostly_slow(sorted(LAYERS, key=lambda name: name not in ALWAYS), always=len(ALWAYS))


def encoder(cell: str, segment: int = 0, layers: int = 2) -> Encoder:
    torch.manual_seed(2)
    built = Encoder(
        cell=cell, options=replace(CELL_OPTIONS, heads=2), inputs=3, hidden=4, layers=layers,
        connection="none", bidirectional=True, merge="concat", output_layers=(), segment=segment,
        dropout=0.0, locked_dropout=0.0, word_dropout=0.0,
    )  # fmt: skip
    return built.double()


@pytest.fixture
def inputs() -> Tensor:
    return torch.randn(6, 4, 3, generator=torch.Generator().manual_seed(1)).double()


def states_of(built: Encoder, inputs: Tensor) -> Tensor:
    return built.read(inputs, MASK, JoinedRows.of(DOCUMENTS, MASK))[0]


def test_joined_rows_are_the_tokens_of_their_sentences_one_after_another() -> None:
    tokens = torch.arange(24).view(6, 4)
    joined = JoinedRows.of(DOCUMENTS, MASK)
    assert joined.join(tokens).tolist() == [
        [0, 1, 4, 5, 6, 7, 8], [12, 13, 14, 0, 0, 0, 0], [16, 20, 21, 0, 0, 0, 0]
    ]  # fmt: skip
    assert joined.mask.sum(1).tolist() == [7, 3, 3]
    assert torch.equal(joined.part(joined.join(tokens)), tokens.masked_fill(~MASK, 0))


@pytest.mark.parametrize("cell", CELLS)
def test_states_are_those_of_each_document_read_as_one_sequence(cell: str, inputs: Tensor) -> None:
    built = encoder(cell)
    found = states_of(built, inputs)
    for document in range(3):
        rows = [row for row in range(6) if DOCUMENTS[row] == document]
        alone = torch.cat([inputs[row, : LENGTHS[row]] for row in rows]).unsqueeze(0)
        wanted = built(alone, torch.ones(alone.shape[:2], dtype=torch.bool))[0]
        parts = torch.split(wanted, [LENGTHS[row] for row in rows])
        for row, part in zip(rows, parts, strict=True):
            torch.testing.assert_close(found[row, : LENGTHS[row]], part, rtol=0, atol=1e-10)
    assert not found[~MASK].any()


@pytest.mark.parametrize("cell", CELLS)
def test_padding_of_sentences_changes_neither_states_nor_gradients(
    cell: str, inputs: Tensor
) -> None:
    gradients = []
    for filler in (0.0, float("nan")):
        built = encoder(cell)
        given = inputs.masked_fill(~MASK.unsqueeze(-1), filler).requires_grad_()
        states_of(built, given).square().sum().backward()
        assert given.grad is not None
        gradients.append([given.grad, *(p.grad for p in built.parameters() if p.grad is not None)])
    for without, padded in zip(*gradients, strict=True):
        assert torch.equal(without, padded)


@pytest.mark.parametrize("cell", ["lstm", "gru", "sru", pytest.param("elman")])
def test_a_gradient_ends_where_a_segment_of_a_document_begins(cell: str, inputs: Tensor) -> None:
    """The first document is 0 1 | 4 5 6 7 | 8: seven tokens, in segments of three each way."""

    def gradient(segment: int) -> tuple[Tensor, Tensor]:
        built, given = encoder(cell, segment, layers=1), inputs.clone().requires_grad_()
        states = states_of(built, given)
        # The forward direction at the last token, the third sentence's only one.
        states[2, 0, :4].sum().backward()
        assert given.grad is not None
        return states, given.grad.abs().sum(2)

    states, whole = gradient(0)
    cut_states, cut = gradient(3)
    torch.testing.assert_close(states, cut_states, rtol=0, atol=1e-12)
    assert whole[MASK & (DOCUMENTS == 0).unsqueeze(1)].all()
    # Segments are tokens 0 to 2, 3 to 5, and 6.
    assert cut[2, 0]
    assert not cut[:2].any()
    assert torch.equal(cut[2, 0], whole[2, 0])
