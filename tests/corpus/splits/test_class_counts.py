"""How many classes texts must have."""

from dataclasses import replace

import pytest

from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.class_counts import check_classes, check_variety
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Sentence


def split(*labels: tuple[str, ...]) -> Split:
    texts = tuple(
        Sentence(("a",), labels=each, lines=(line,)) for line, each in enumerate(labels, 1)
    )
    return Split(path="dev", sentences=texts, detection=None, format="columns")


def test_a_file_without_classes_is_refused_as_a_whole() -> None:
    for few in (((),), ((), ())):
        with pytest.raises(DataError) as caught:
            check_classes(split(*few), several=False)
        assert str(caught.value) == (
            "dev: expected a class for each text, found none in this file, which is read as columns"
        )
        check_classes(split(*few), several=True)


def test_a_text_with_another_number_of_classes_is_named() -> None:
    check_classes(split(("x",), ("y",)), several=False)
    for labels, found in ((("x", "y"), "'x', 'y'"), ((), "none")):
        with pytest.raises(FormatError) as caught:
            check_classes(split(("x",), labels), several=False)
        assert str(caught.value) == (
            f"dev:2: expected one class, found {found} (head.multi_label says how many a text has)"
        )
        check_classes(split(("x",), labels), several=True)


def test_classes_of_dev_that_train_lacks_are_named_unless_dev_was_split_off() -> None:
    train, dev = (
        replace(split(*((label,) for label in labels)), path=path)
        for path, labels in (("f.tsv", "abc"), ("f.tsv (split off)", "de"))
    )
    with pytest.raises(DataError) as caught:
        check_variety(train, dev, is_split=False)
    assert str(caught.value) == (
        "f.tsv (split off): expected classes of f.tsv, such as a, b, c; found none of them, but "
        "d, e"
    )
    with pytest.raises(DataError) as caught:
        check_variety(train, dev, is_split=True)
    assert str(caught.value) == (
        "f.tsv: no class of the texts that are split off for dev is among those that are left, as "
        "each class has too few texts. Name a dev corpus (data.dev_file), or label more texts of "
        "each class"
    )
    check_variety(train, split(("c",), ("d",)), is_split=True)
