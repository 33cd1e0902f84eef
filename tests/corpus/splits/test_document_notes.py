"""Which sentences of a corpus are of one document, and what is said where none are."""

from itertools import groupby
from pathlib import Path

import pytest

from tagkit.config import load_config
from tagkit.corpus.files import read
from tagkit.corpus.records.alignment import to_sentences
from tagkit.corpus.records.dataset import LabelKinds, draw, hold_out
from tagkit.corpus.source.options import Reading
from tagkit.corpus.splits.splits import load_corpus
from tagkit.errors import DataError

TAGS = LabelKinds(tags=True, classes=False)
SENTENCE = "EU B-ORG\nrejects O\n\n"
FILES = {
    # CoNLL-2003: a sentence of its own, and lines that need not have all columns
    "2003.conll": f"-DOCSTART- O\n\n{SENTENCE * 2}-DOCSTART-\n\n{SENTENCE}",
    # without the mark of the first document
    "shared.conll": f"{SENTENCE * 2}-DOCSTART- O\n\n{SENTENCE}",
    # CoNLL-2002: the first token of a sentence
    "2002.conll": f"-DOCSTART- O\n{SENTENCE * 2}-DOCSTART- O\n{SENTENCE}",
    "ud.conllu": "".join(
        f"{mark}# sent_id = {n}\n1\tEU\t_\tX\t_\t_\t_\t_\t_\tNER=B-ORG\n\n"
        for n, mark in enumerate(["# newdoc id = a\n", "", "# newpar\n# newdoc\n"])
    ),
    "spans.jsonl": (
        '{"text": "EU rejects. It does.\\nSo.", "spans": []}\n{"text": "EU", "spans": []}\n'
    ),
}  # fmt: skip


def sizes(path: Path, **options: object) -> list[int]:
    """Number of sentences of each document."""
    reading = Reading(load_config().data)
    numbers = [s.document for s in to_sentences(read(path, **options), reading)]
    assert None not in numbers
    return [len([*group]) for _, group in groupby(numbers)]


@pytest.mark.parametrize("name", FILES)
def test_marks_of_documents_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name], "utf-8")
    assert sizes(tmp_path / name) == ([3, 1] if name == "spans.jsonl" else [2, 1])


def test_sentences_without_marks_are_one_document_and_records_of_words_stand_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "plain.conll").write_text(SENTENCE * 3, "utf-8")
    (tmp_path / "brown.txt").write_text("a/X b/Y\nc/X\n", "utf-8")
    (tmp_path / "words.jsonl").write_text('{"words": ["a"], "tags": ["O"]}\n' * 2, "utf-8")
    assert sizes(tmp_path / "plain.conll") == [3]
    assert sizes(tmp_path / "brown.txt", format="slash") == [2]
    assert [s.document for s in read(tmp_path / "words.jsonl")] == [None, None]


def config(train: Path, *overrides: str) -> object:
    return load_config(
        overrides=["encoder.context=document", *overrides],
        flags={"data.train_file": str(train), "data.dev_file": str(train)},
    )


def test_a_corpus_without_documents_is_refused_and_one_without_marks_is_noted(
    tmp_path: Path,
) -> None:
    words, plain = tmp_path / "words.jsonl", tmp_path / "plain.conll"
    words.write_text('{"words": ["a"], "tags": ["B-X"]}\n' * 2, "utf-8")
    plain.write_text(SENTENCE * 3, "utf-8")
    with pytest.raises(DataError) as refused:
        load_corpus(config(words), TAGS)
    assert str(refused.value) == (
        f"{words}: each sentence is a document of its own, so that encoder.context=document has no "
        "effect; use a format that marks documents (-DOCSTART- in column files, # newdoc in "
        "CoNLL-U, texts with spans), or encoder.context=sentence"
    )
    assert load_corpus(config(plain, "encoder.context_words=4"), TAGS).train.notes[1:] == (
        f"{plain}: no mark of a document (-DOCSTART-, # newdoc): all of it is one document, read "
        "in parts of up to 4 words (encoder.context_words)",
    )
    (tmp_path / "2003.conll").write_text(FILES["2003.conll"], "utf-8")
    assert load_corpus(config(tmp_path / "2003.conll"), TAGS).train.notes[1:] == ()


def test_label_consistency_that_train_cannot_show_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    apart = "encoder.context=sentence"
    said = (
        f"{path}: no mark (-DOCSTART-, # newdoc) puts two sentences into one document; "
        "head.label_consistency=0.3 changes the answers for texts and marked files alone"
    )
    alone = f"-DOCSTART- O\n\n{SENTENCE}" * 2
    for text, noted in ((SENTENCE * 3, True), (alone, True), (FILES["2003.conll"], False)):
        path.write_text(text, "utf-8")
        for share, wanted in (("0.3", noted), ("0", False), ("auto", False)):
            options = config(path, apart, f"head.label_consistency={share}")
            assert (said in load_corpus(options, TAGS).train.notes) == wanted


def test_whole_documents_are_held_out_and_drawn(tmp_path: Path) -> None:
    path = tmp_path / "train.conll"
    path.write_text("".join(f"-DOCSTART- O\n\n{SENTENCE * n}" for n in (3, 4, 5, 6)), "utf-8")
    train = load_corpus(config(path), TAGS).train
    for seed in range(4):
        kept, held = hold_out(train, 0.2, seed, by_document=True)
        assert not {s.document for s in kept.sentences} & {s.document for s in held.sentences}
        assert len(kept.sentences) + len(held.sentences) == 18
        assert 4 <= len(held.sentences) <= 6 + 3
        drawn = draw(train, 4, seed, by_document=True)
        assert {s.document for s in drawn.sentences} & {s.document for s in train.sentences}
        assert len(drawn.sentences) in (4, 5, 6, 3 + 4, 3 + 5, 3 + 6)
    path.write_text(SENTENCE * 3, "utf-8")
    with pytest.raises(DataError, match="one document is not enough to split off a dev corpus"):
        hold_out(load_corpus(config(path), TAGS).train, 0.5, 1, by_document=True)


@pytest.mark.parametrize(
    ("lengths", "fraction", "expected"),
    [
        ((90, 6, 4), 0.1, {10}),  # not the long one
        ((90, 12, 4), 0.1, {4 + 12, 12}),  # 12 is nearer to 11 than none
        ((90, 2), 0.1, {2}),  # nearer than 90
        ((30, 31, 32), 0.1, {30}),  # all are far too long: the shortest one
        ((5, 5), 0.9, {5}),  # something is left to learn from
    ],
)
def test_documents_that_are_held_out_have_about_the_share_that_was_asked_for(
    tmp_path: Path, lengths: tuple[int, ...], fraction: float, expected: set[int]
) -> None:
    path = tmp_path / "train.conll"
    path.write_text("".join(f"-DOCSTART- O\n\n{SENTENCE * n}" for n in lengths), "utf-8")
    train = load_corpus(config(path), TAGS).train
    found = {
        len(hold_out(train, fraction, seed, by_document=True)[1].sentences) for seed in range(12)
    }
    assert found == expected
