"""What a model is before its first step."""

from pathlib import Path

import pytest
import tiny
import torch

from tagkit.training.setup.setup import prepare


@pytest.mark.parametrize("members", [1, 2])
def test_a_trained_vector_begins_at_zero_beside_a_pretrained_one_of_any_spelling(
    tmp_path: Path, members: int
) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("Oslo 1 2\nROME 3 4\nlima 5 6\n1912 7 8\n", encoding="utf-8")
    options = f"embeddings.vectors={path}", f"encoder.ensemble_size={members}"
    config = tiny.config(tmp_path, *options)
    with (tmp_path / "train.conll").open("a") as file:
        file.write("1912\tO\n1913\tO\n\n" * 3)
    prepared = prepare(config, torch.device("cpu"))
    vocabulary = prepared.vocabulary
    for member in prepared.model.members:
        lengths = member.embed.words.trained.weight.detach().norm(dim=1)
        # Of "rome" the corpus has no spelling in capitals; of the two numbers, which are learnt as
        # one, the second has no vector.
        zero = {word: float(lengths[vocabulary.word_id(word)]) == 0 for word in vocabulary.words}
        assert {word for word in zero if zero[word]} == {"oslo", "lima"}
        assert lengths[1] > 0  # of unknown words
    assert float(lengths[vocabulary.word_id("1912")]) > 0
    words = len({line.split("\t")[0] for each in tiny.lines(80, 1) for line in each})
    assert prepared.vectors == (3, words + 2)


def test_a_word_that_is_learnt_in_its_own_case_has_the_vector_of_that(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("Oslo 1 2\nlima 3 4\n", encoding="utf-8")
    options = f"embeddings.vectors={path}", "embeddings.lowercase=false"
    config = tiny.config(tmp_path, *options)
    with (tmp_path / "train.conll").open("a") as file:
        file.write("oslo\tO\nlima\tO\n\n" * 3)
    prepared = prepare(config, torch.device("cpu"))
    lengths = prepared.model.embed.words.trained.weight.detach().norm(dim=1)
    vocabulary = prepared.vocabulary
    at_zero = {word for word in vocabulary.words if lengths[vocabulary.word_id(word)] == 0}
    # "Lima" is looked up in lower case; "oslo" in its own alone.
    assert at_zero == {"Oslo", "Lima", "lima"}
