"""Clusters of vectors: the nearest centroid by brute force, and the same whatever is beside."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tagkit.nn.feature_crf.vector_clusters import VectorClusters

DIM = 3


def drawn(count: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(count, DIM))).float()


def found(vectors: Tensor, *sizes: int) -> VectorClusters:
    clusters = VectorClusters(sizes=sizes, dim=vectors.shape[1])
    clusters.find(vectors)
    return clusters


def test_each_vector_belongs_to_the_centroid_that_is_nearest_to_its_direction() -> None:
    clusters, vectors = found(drawn(40), 3, 5), drawn(20, seed=1)
    numbers = clusters.numbers(vectors)
    assert numbers.shape == (20, 2)
    for row, vector in zip(numbers, vectors.double(), strict=True):
        for number, kind in zip(row, clusters.centroids.split([3, 5]), strict=True):
            away = [float((vector / vector.norm() - one).norm()) for one in kind]
            assert number == 1 + away.index(min(away))


def test_centroids_are_the_means_of_the_directions_nearest_to_them() -> None:
    vectors = drawn(60)
    clusters = found(vectors, 4)
    of_each = clusters.numbers(vectors)[:, 0]
    for number in range(1, 5):
        own = torch.nn.functional.normalize(vectors[of_each == number], dim=1)
        torch.testing.assert_close(clusters.centroids[number - 1], own.mean(0))


def test_words_that_are_used_alike_are_in_one_cluster() -> None:
    directions = torch.eye(DIM).repeat_interleave(5, 0)  # (15, 3): five words a direction
    vectors = (directions + 0.1 * drawn(15)) * torch.arange(1, 16).unsqueeze(1)  # of any length
    numbers = found(vectors, 3).numbers(vectors)[:, 0]
    assert [len(set(numbers[start : start + 5])) for start in (0, 5, 10)] == [1, 1, 1]
    assert len(set(numbers)) == 3


def test_a_word_without_a_vector_is_in_no_cluster() -> None:
    vectors = torch.cat((torch.zeros(1, DIM), drawn(10)))
    numbers = found(vectors, 2, 4).numbers(vectors)
    assert numbers[0].tolist() == [0, 0]
    assert (numbers[1:] > 0).all()


@given(st.lists(st.integers(0, 29), min_size=1, max_size=8))
def test_a_vector_has_the_same_numbers_alone_and_among_others(rows: list[int]) -> None:
    clusters, vectors = found(drawn(30), 4, 7), drawn(30)
    together = clusters.numbers(vectors[rows])
    for row, own in zip(rows, together, strict=True):
        assert clusters.numbers(vectors[[row]])[0].tolist() == own.tolist()


def test_what_is_in_the_table_beside_words_does_not_count() -> None:
    vectors = drawn(30)
    with_zeros = torch.cat((torch.zeros(1, DIM), vectors, torch.zeros(3, DIM)))
    twice = torch.cat((vectors, vectors))
    for other in (with_zeros, twice):
        torch.testing.assert_close(found(other, 4).centroids, found(vectors, 4).centroids)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_of_fewer_vectors_than_clusters_each_has_its_own(count: int) -> None:
    vectors = drawn(count)
    numbers = found(vectors, 5).numbers(vectors)[:, 0]
    assert len(set(numbers)) == count
    assert found(vectors, 5).centroids.isfinite().all()


def test_centroids_that_are_loaded_or_found_anew_are_those_that_count() -> None:
    one, other, vectors = found(drawn(50), 8), found(drawn(50, seed=3), 8), drawn(50, seed=1)
    expected = other.numbers(vectors)
    assert (one.numbers(vectors) != expected).any()
    one.load_state_dict(other.state_dict())
    assert (one.numbers(vectors) == expected).all()
    one.find(drawn(50))
    assert (one.numbers(vectors) == found(drawn(50), 8).numbers(vectors)).all()


def test_vectors_of_one_direction_and_any_length_are_the_same_word_to_it() -> None:
    vectors = drawn(20)
    scaled = torch.cat((vectors, vectors * 3, vectors / 7))
    torch.testing.assert_close(found(scaled, 4).centroids, found(vectors, 4).centroids)
    assert (found(vectors, 4).numbers(vectors) == found(vectors, 4).numbers(vectors * 3)).all()


def test_nothing_is_random() -> None:
    before = torch.get_rng_state()
    assert torch.equal(found(drawn(50), 8).centroids, found(drawn(50), 8).centroids)
    assert torch.equal(torch.get_rng_state(), before)
