"""Pairs that are made up."""

from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.hallucination import with_hallucinated
from tagkit.text.records import Sentence


def corpus(*pairs: tuple[str, str, str]) -> Split:
    sentences = [Sentence((f"{a}\t{c}",), text=a, targets=(b,)) for a, b, c in pairs]
    return Split("a.tsv", tuple(sentences), None)


PAIRS = [("laufen", "gelaufen", "V"), ("Haus", "Haus-es", "N;GEN"), ("go", "went", "V;PST")]


def test_stems_become_other_letters_on_both_sides_and_all_else_stays() -> None:
    train = corpus(*PAIRS)
    found = with_hallucinated(train, 40, seed=1).sentences
    assert found[: len(PAIRS)] == train.sentences
    made = found[len(PAIRS) :]
    assert len(made) == 40
    letters = {char.lower() for _, target, _ in PAIRS for char in target}
    for each in made:
        (word,), (target,) = each.words, each.targets
        source, features = word.split("\t")
        assert each.text == source
        assert {char.lower() for char in source + target} <= letters
        if features == "V":
            assert target == "ge" + source
        else:  # "go" and "went" have nothing in common
            assert (features, target) == ("N;GEN", f"{source}-es")
            assert source[0].isupper()
        assert (source, target) not in {(a, b) for a, b, _ in PAIRS}


def test_the_same_seed_makes_the_same_pairs() -> None:
    one, same, other = (with_hallucinated(corpus(*PAIRS), 9, seed).sentences for seed in (1, 1, 2))
    assert one == same != other


def test_a_corpus_without_stems_stays_as_it_is() -> None:
    train = corpus(("go", "went", "V"), ("a", "b", "N"))
    assert with_hallucinated(train, 5, seed=1) is train
