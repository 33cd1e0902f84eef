"""Sentences that occur twice, in one file or in two, and surfaces with several labels."""

from pathlib import Path

from lint_reports import check, told

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


def test_repeated_sentences_are_told_and_contradictions_too(tmp_path: Path) -> None:
    long = "a B-X\nb O\nc O\nd O\ne O\n\n"
    report = check(tmp_path, long + "x B-X\n\n" + long.replace("a B-X", "a O") + "x B-X\n\n")
    assert told(report, "duplicate", tmp_path) == [
        ("warning", "1 sentence of 5 tokens or more repeats an earlier one", (9,)),
        ("note", "1 sentence under 5 tokens repeats an earlier one", (15,)),
    ]
    assert told(report, "contradiction", tmp_path) == [
        ("warning", "1 sentence occurs with different labels", (1, 9)),
    ]


def test_a_small_overlap_and_one_that_leaves_train_out_are_notes(tmp_path: Path) -> None:
    long = "a B-X\nb O\nc O\nd O\ne O\n\n"
    others = "".join(long.replace("a ", f"{number} ") for number in range(150))
    files = {
        "train.conll": long + GOOD,
        "dev.conll": others + long,
        "test.conll": others.replace("b O", "c O") + long + "Ben B-PER\nsaw O\nRome B-LOC\n",
    }
    assert [(s, m) for s, m, _ in told(check(tmp_path, files), "overlap", tmp_path)] == [
        ("note", "1 sentence of 5 tokens or more (0.7 %) occurs in train.conll too"),
        ("note", "1 sentence of 5 tokens or more (0.7 %) occurs in train.conll too"),
        ("note", "1 sentence under 5 tokens (100.0 %) occurs in train.conll too"),
        ("note", "1 sentence of 5 tokens or more (0.7 %) occurs in dev.conll too"),
    ]


def test_a_large_overlap_is_a_warning_where_it_is_one_with_train(tmp_path: Path) -> None:
    long = "a B-X\nb O\nc O\nd O\ne O\n\n"
    other = "v B-X\nw O\nx O\ny O\nz O\n\n"
    files = {"train.conll": long, "dev.conll": other, "test.conll": long + other}
    assert [(s, m) for s, m, _ in told(check(tmp_path, files), "overlap", tmp_path)] == [
        ("warning", "1 sentence of 5 tokens or more (50.0 %) occurs in train.conll too: scores may "
         "be too good"),
        ("note", "1 sentence of 5 tokens or more (50.0 %) occurs in dev.conll too"),
    ]  # fmt: skip


def test_of_plain_labels_ambiguous_words_are_counted_alone(tmp_path: Path) -> None:
    report = check(tmp_path, "to TO\nrun VB\n\na DT\nrun NN\n\n")
    assert told(report, "ambiguous-surface", tmp_path) == [
        ("note", "1 of 3 distinct words occur with several labels", ()),
    ]


def test_one_surface_with_several_labels_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, "Rome B-LOC\nsaw O\n\n" * 3 + "Rome B-ORG\nwon O\n\n")
    assert told(report, "ambiguous-surface", tmp_path) == [
        ("note", "1 of 1 distinct entities occur with several labels: 'Rome' (LOC 3, ORG 1)", ()),
    ]


def test_the_surfaces_whose_rarer_labels_are_many_come_first(tmp_path: Path) -> None:
    def said(word: str, **counts: int) -> str:
        return "".join(f"{word} B-{label}\n\n" * n for label, n in counts.items())

    report = check(tmp_path, said("a", X=90, Y=1) + said("b", X=4, Y=3) + said("c", X=5, Y=2))
    ((_, message, _),) = told(report, "ambiguous-surface", tmp_path)
    assert message.endswith(": 'b' (X 4, Y 3), 'c' (X 5, Y 2), 'a' (X 90, Y 1)")
