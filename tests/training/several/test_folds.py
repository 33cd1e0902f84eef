"""Folds: what is held out, what is learnt, and what is left out."""

import pytest
from says import Says

from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError
from tagkit.text.records import Sentence
from tagkit.training.several.folds import Fold, cut_into_folds, require_enough


def corpus(count: int = 40) -> Split:
    """Sentences with an entity each, of ten; the last two sentences are the same."""
    found = [
        Sentence(("in", f"City{number % 10}", f"x{number}"), ("O", "B-LOC", "O"))
        for number in range(count)
    ]
    return Split("train.conll", (*found[:-1], found[-2]), None)


def cut(split: Split, **options: object) -> list[Fold]:
    given = {"folds": 4, "repeats": 2, "seed": 1, "by_entity": False, **options}
    return list(cut_into_folds(split, **given))  # type: ignore[arg-type]


def test_each_sentence_is_held_out_once_a_repeat_and_learnt_by_all_other_folds() -> None:
    split = corpus()
    folds = cut(split)
    everything = set(range(len(split.sentences)))
    assert [fold.number for fold in folds] == [*range(1, 9)]
    assert [fold.repeat for fold in folds] == [0] * 4 + [1] * 4
    for repeat in (folds[:4], folds[4:]):
        held_out = [index for fold in repeat for index in fold.held_out]
        assert sorted(held_out) == sorted(everything)
        for fold in repeat:
            assert {*fold.learnt} == everything - {*fold.held_out}
            assert fold.left_out == 0
            assert 9 <= len(fold.held_out) <= 11
    assert {fold.held_out for fold in folds[:4]}.isdisjoint(fold.held_out for fold in folds[4:])


def test_folds_follow_from_the_seed_alone() -> None:
    split = corpus()
    assert cut(split) == cut(split)
    assert cut(split) != cut(split, seed=2)
    assert cut(split)[:4] == [
        Fold(each.number, 8, each.repeat, each.held_out, each.learnt, each.left_out)
        for each in cut(split, repeats=2)[:4]
    ]


def test_sentences_of_the_same_words_are_in_one_fold() -> None:
    for seed in range(5):
        for fold in cut(corpus(), seed=seed):
            assert len({38, 39} & {*fold.held_out}) in (0, 2)


def test_by_entity_nothing_is_learnt_that_shares_one_with_the_fold() -> None:
    split = corpus(12)  # ten cities, so that most are in one fold alone
    folds = cut(split, folds=6, repeats=1, by_entity=True)
    cities = [sentence.words[1] for sentence in split.sentences]
    assert any(fold.left_out for fold in folds)
    for fold in folds:
        held_out = {cities[index] for index in fold.held_out}
        assert held_out.isdisjoint(cities[index] for index in fold.learnt)
        others = {*range(12)} - {*fold.held_out}
        assert {*fold.learnt} == {index for index in others if cities[index] not in held_out}
        assert fold.left_out == len(others) - len(fold.learnt)


def test_each_class_has_its_share_in_each_fold() -> None:
    texts = [Sentence((f"x{n}",), labels=("rare",) if n < 4 else ("usual",)) for n in range(40)]
    for fold in cut(Split("x", tuple(texts), None)):
        assert sum(index < 4 for index in fold.held_out) == 1


def test_more_folds_than_different_sentences_are_refused() -> None:
    with pytest.raises(DataError) as found:
        cut(corpus(5), folds=5)
    assert str(found.value) == (Says("train.conll", "5", "4", "different"))


def test_a_fold_that_leaves_nothing_to_learn_from_is_refused_with_a_remedy() -> None:
    same = tuple(Sentence((f"x{n}", "Oslo"), ("O", "B-LOC")) for n in range(8))
    split = Split("train.conll", same, None)
    (first, *_) = cut(split, by_entity=True)
    with pytest.raises(DataError) as found:
        require_enough(first, split)
    assert str(found.value) == (
        "train.conll: fold 1 leaves 0 sentences to learn from, 6 share an entity with it; use more "
        "folds (folds=...) or folds_by=sentence"
    )
    (first, *_) = cut(corpus(4), folds=3)
    require_enough(first, corpus(4))
    split = Split("train.conll", same[:2], None)
    (first, *_) = cut(split, folds=2)
    with pytest.raises(DataError) as found:
        require_enough(first, split)
    assert str(found.value) == (
        "train.conll: fold 1 leaves 1 sentence to learn from; use more folds (folds=...)"
    )
