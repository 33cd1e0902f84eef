"""Batches in pieces where memory is short, and the words that are read as unknown."""

from pathlib import Path

import numpy as np
import pytest
import torch
from runs import settings
from small_runs import QUIET
from steps import computed
from torch import Tensor

from tagkit.features import Ids
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.encoding import Encoded
from tagkit.features.vocabulary import UNKNOWN_ID
from tagkit.models.base.device import to_tensors
from tagkit.models.base.model import Model
from tagkit.training.loop.micro_batches import MicroBatches
from tagkit.training.loop.state import RunState
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import prepare

CPU = torch.device("cpu")
ALONE = processes_of(CPU)


def test_gradients_of_an_attempt_that_was_short_of_memory_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(1)
    run = prepare(settings(tmp_path, *QUIET), CPU)
    state = RunState(run, ALONE, print)
    batch = np.arange(9)
    wanted = computed(state, batch)
    whole, sizes = Model.forward, []

    def limited(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
        sizes.append(len(batch.tokens.mask))
        if sizes[-1] > 4:
            raise MemoryError
        return whole(model, batch)

    monkeypatch.setattr(Model, "forward", limited)
    found = computed(state, batch)
    assert found.loss == pytest.approx(wanted.loss)
    assert sizes == [9, 5, 3, 2, 2, 2]
    assert found.targets == run.encoded.lengths[:9].sum()
    assert found.gradients.keys() == wanted.gradients.keys()
    for name, gradient in wanted.gradients.items():
        torch.testing.assert_close(found.gradients[name], gradient, rtol=1e-4, atol=1e-6)


def test_pieces_are_of_sizes_that_differ_by_one_at_most_and_lose_no_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = prepare(settings(tmp_path, *QUIET), CPU)
    state = RunState(run, ALONE, print)
    read: list[list[int]] = []
    whole = Encoded.batch

    def recorded(encoded: Encoded, indices: Ids) -> Batch:
        read.append(indices.tolist())
        return whole(encoded, indices)

    monkeypatch.setattr(Encoded, "batch", recorded)
    for parts in (1, 2, 4, 8, 16):
        read.clear()
        state.micro_batches.parts = parts
        computed(state, np.arange(10))
        assert [number for piece in read for number in piece] == list(range(10))
        assert len(read) == min(parts, 10)
        sizes = [len(piece) for piece in read]
        assert max(sizes) - min(sizes) <= 1


def test_processes_with_different_numbers_of_pieces_read_each_sentence_once(tmp_path: Path) -> None:
    run = prepare(settings(tmp_path, *QUIET), CPU)
    sentences = []
    for rank, parts in enumerate((1, 2, 4)):
        processes = processes_of(CPU)
        processes.rank, processes.count = rank, 3
        micro_batches = MicroBatches(run, processes, print)
        micro_batches.parts = parts
        sentences += np.concatenate(micro_batches.split(np.arange(8))).tolist()
    assert sorted(sentences) == list(range(8))


def test_half_of_the_words_that_occur_once_are_read_as_unknown(tmp_path: Path) -> None:
    run = prepare(settings(tmp_path), CPU)
    everything = np.arange(len(run.encoded))
    batch = to_tensors(run.encoded.batch(everything))
    once = run.singletons[batch.words.word_ids]
    assert int(once.sum()) == 20
    read = MicroBatches(run, ALONE, print).load(everything).words.word_ids
    assert torch.equal(read[~once], batch.words.word_ids[~once])
    share = float((read[once] == UNKNOWN_ID).float().mean())
    assert 0.2 < share < 0.8


def test_each_process_drops_other_units_and_other_words(tmp_path: Path) -> None:
    run = prepare(settings(tmp_path), CPU)
    drawn = []
    for number in range(3):
        processes = processes_of(CPU)
        processes.rank, processes.count = number, 3
        torch.manual_seed(run.config.train.seed)
        generator = MicroBatches(run, processes, print).generator
        drawn.append((float(torch.rand(1)), float(torch.rand(1, generator=generator))))
    assert len({pair[0] for pair in drawn}) == len({pair[1] for pair in drawn}) == 3
