"""Corpora: their scheme, splits, pieces, and the counts of real ones."""

import gzip
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds import TAGS
from says import Says, refuses

from tagkit.config import Config, DataConfig, load_config, training_scheme
from tagkit.corpus.files import read
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.alignment import to_sentences
from tagkit.corpus.records.dataset import LabelKinds, Split, draw, hold_out
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.layout import ColumnOptions, column_options
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.splits.splits import (
    Corpus,
    for_training,
    load_corpus,
    read_split,
    read_train,
)
from tagkit.corpus.splits.texts import read_text, read_texts, text_files
from tagkit.errors import DataError, FormatError
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.pairs import DELIMITER, within
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Detection, illegal_count, scheme_of
from tagkit.text.schemes import to_spans
from tagkit.text.units import WordUnits


def corpus_file(folder: Path, name: str, *sentences: str) -> str:
    """A file of sentences such as 'EU/B-ORG rejects/O'."""
    path = folder / name
    blocks = [sentence.replace("/", "\t").replace(" ", "\n") for sentence in sentences]
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return str(path)


def config(*overrides: str, **files: str) -> Config:
    return load_config(None, overrides, {f"data.{name}": path for name, path in files.items()})


def refusal(settings: Config) -> str:
    with pytest.raises(DataError) as caught:
        load_corpus(settings, TAGS)
    return str(caught.value)


def test_train_dev_and_test_are_read_with_their_tags_and_features(tmp_path: Path) -> None:
    train = corpus_file(tmp_path, "train", "EU/N/B-ORG is/V/O", "Oslo/N/B-LOC")
    dev = corpus_file(tmp_path, "dev", "Rome/N/B-LOC Oslo/N/B-LOC")
    test = corpus_file(tmp_path, "test", "EU/N/B-ORG")
    settings = config("data.feature_columns=[1]", train_file=train, dev_file=dev, test_file=test)
    found = load_corpus(settings, TAGS)
    assert found.train == Split(
        train,
        (
            Sentence(("EU", "is"), ("B-ORG", "O"), (("N", "V"),)),
            Sentence(("Oslo",), ("B-LOC",), (("N",),)),
        ),
        Detection("iob2", 5, 0),
        (Says(f"{train}: read as columns: ", "IOB2", "data.format"),),  # type: ignore[arg-type]
    )
    assert found.train.tokens == 3
    assert found.train.labels() == {"ORG", "LOC"}
    assert list(found.train.entities()) == [("ORG", ("EU",)), ("LOC", ("Oslo",))]
    assert found.scheme == "iob2"
    assert found.layout.width == 3
    assert found.layout.features == (1,)
    assert found.test is not None
    assert found.test.path == test
    assert found.unseen_share() == 0.5  # Rome


def test_an_entity_is_unseen_with_another_label_too(tmp_path: Path) -> None:
    train = corpus_file(tmp_path, "train", "New/B-LOC York/I-LOC EU/B-ORG")
    dev = corpus_file(tmp_path, "dev", "New/B-LOC York/I-LOC EU/B-LOC New/B-LOC EU/B-ORG")
    assert load_corpus(config(train_file=train, dev_file=dev), TAGS).unseen_share() == 0.5


def test_without_entities_in_dev_no_share_is_unseen(tmp_path: Path) -> None:
    train = corpus_file(tmp_path, "train", "EU/B-ORG is/O")
    dev = corpus_file(tmp_path, "dev", "it/O is/O")
    assert load_corpus(config(train_file=train, dev_file=dev), TAGS).unseen_share() is None
    train = corpus_file(tmp_path, "train", "EU/NNP is/VBZ")
    found = load_corpus(config(train_file=train, dev_file=train), TAGS)
    assert found.unseen_share() is None
    assert found.train.labels() == {"NNP", "VBZ"}
    assert list(found.train.entities()) == []


def split_off(folder: Path, count: int, *overrides: str) -> Corpus:
    train = corpus_file(folder, "train.conll", *(f"w{number}/B-X" for number in range(count)))
    return load_corpus(config(*overrides, train_file=train), TAGS)


@pytest.mark.parametrize(
    ("count", "fraction", "held_out"),
    [(20, 0.1, 2), (20, 0.5, 10), (3, 0.1, 1), (2, 0.9, 1), (10, 0.99, 9), (2, 0.001, 1)],
)
def test_dev_is_split_off_train_where_there_is_none(
    tmp_path: Path, count: int, fraction: float, held_out: int
) -> None:
    found = split_off(tmp_path, count, f"data.dev_fraction={fraction}")
    words = [[s.words[0] for s in split.sentences] for split in (found.train, found.dev)]
    assert [len(part) for part in words] == [count - held_out, held_out]
    everything = [f"w{number}" for number in range(count)]
    assert sorted(words[0] + words[1]) == sorted(everything)
    for part in words:  # in the file's order
        assert part == [word for word in everything if word in part]
    assert found.dev.path == "train.conll (split off)"
    assert found.dev.detection == found.train.detection


def test_the_same_seed_splits_alike_and_another_otherwise(tmp_path: Path) -> None:
    parts = [split_off(tmp_path, 50, f"train.seed={seed}").dev.sentences for seed in (1, 1, 2)]
    assert parts[0] == parts[1] != parts[2]


def test_one_sentence_is_not_enough_to_split(tmp_path: Path) -> None:
    train = corpus_file(tmp_path, "train", "EU/B-ORG")
    assert refusal(config(train_file=train)) == (
        f"{train}: one sentence is not enough to split off a dev corpus; name one with "
        "data.dev_file"
    )


def test_a_file_with_the_line_ends_of_an_old_mac_is_named_as_one(tmp_path: Path) -> None:
    train = tmp_path / "train.conll"
    train.write_bytes(b"EU\tB-ORG\ris\tO\r\rRome\tB-LOC\r\r")
    assert refusal(config(train_file=str(train))) == (Says(train, "1", "3", "carriage"))
    train.write_bytes(b"EU\tB-ORG\r\n\r\nRome\tB-LOC\r\n")  # those of Windows
    assert len(load_corpus(config(train_file=str(train)), TAGS).train.sentences) == 1
    # A text may have such line ends: offsets count them.
    text = "Ada in Rome\rBob in Oslo\rEve\r"
    marks = [(name, text.index(name)) for name in ("Rome", "Oslo")]
    (tmp_path / "a.txt").write_bytes(text.encode())
    (tmp_path / "a.ann").write_text(
        "".join(f"T{at}\tLOC {at} {at + 4}\t{name}\n" for name, at in marks), "utf-8"
    )
    dev = str(train)
    for name in ("a.txt", "a.ann"):
        found = load_corpus(config(train_file=str(tmp_path / name), dev_file=dev), TAGS)
        assert len([*found.train.entities()]) == 2


def test_a_corpus_that_cannot_be_learnt_from_is_refused(tmp_path: Path) -> None:
    assert refusal(config()) == ("no training corpus: name one with data.train_file")
    train = corpus_file(tmp_path, "train", "it/O", "is/O")
    assert refusal(config(train_file=train)) == (
        f"{train}: every tag is O, so there is nothing to learn. data.tag_column names another "
        "column"
    )
    missing = str(tmp_path / "missing")
    assert refusal(config(train_file=missing)) == f"{missing}: no such file"
    whole = corpus_file(tmp_path, "whole", "Rome/B-LOC")
    assert refusal(config(train_file=whole, dev_file=missing)) == f"{missing}: no such file"


def test_one_plain_label_is_refused_as_nothing_to_learn(tmp_path: Path) -> None:
    train = corpus_file(tmp_path, "train", "it/NN is/NN", "so/NN")
    problem = f"{train}: there is nothing to learn, as every tag is 'NN'"
    assert refusal(config(train_file=train)) == f"{problem}. data.tag_column names another column"
    two = corpus_file(tmp_path, "two", "it/NN is/NN", "so/RB", "he/NN")
    load_corpus(config(train_file=two, dev_file=train), TAGS)
    # UPOS is "_" where `tagkit convert` has written spans.
    cells = ("_\t" * 7 + "NER=B-PER", "_\t" * 7 + "_")
    rows = [f"{n}\tw\t{row}" for n, row in enumerate(cells, 1)]
    spans = tmp_path / "spans.conllu"
    spans.write_text(("\n".join(rows) + "\n\n") * 3)
    assert refusal(config(train_file=str(spans))) == (
        f"{spans}: there is nothing to learn, as every tag is '_' in UPOS. Name the column of the "
        "tags, for example with data.tag_column=MISC.NER"
    )
    load_corpus(config("data.tag_column=MISC.NER", train_file=str(spans)), TAGS)
    both = tmp_path / "both.jsonl"
    both.write_text(
        '{"tokens": ["a"], "tags": ["NN"], "label": "x"}\n'
        '{"tokens": ["b"], "tags": ["NN"], "label": "y"}\n'
    )
    with pytest.raises(DataError) as caught:
        load_corpus(config(train_file=str(both)), LabelKinds(tags=True, classes=True))
    assert str(caught.value) == f"{both}: every tag is 'NN': learn the classes alone, task=classify"
    # Of several columns another one may have something to learn.
    load_corpus(config('data.tag_column=["UPOS", "MISC.NER"]', train_file=str(spans)), TAGS)


def judge(*sentences: str, named: str = "auto", expected: str | None = None) -> Detection:
    tagged = [Sentence(tuple("w" for _ in s.split()), tuple(s.split())) for s in sentences]
    return scheme_of(tagged, "file", named, expected)


def test_a_schemes_name_is_taken_from_the_tags() -> None:
    assert judge("B-X I-X O").scheme == "iob2"
    assert judge("I-X I-X O").scheme == "iob1"
    assert judge("DT NN").scheme == "labels"


def test_the_scheme_of_train_is_that_of_dev_where_dev_fits_it() -> None:
    # These tags are as good in IOB1, IOBES and BILOU; on their own they would be IOB2.
    assert judge("O O", expected="iobes") == Detection("iobes", 3, 0)
    assert judge("B-X I-X O", expected="iobes").scheme == "iob2"
    assert judge("I-X O", expected="iob1").scheme == "iob1"
    assert judge("S-X O", expected="iob2").scheme == "iobes"


def test_a_scheme_that_is_named_is_taken_and_what_it_forbids_is_counted() -> None:
    assert judge("I-X I-X O", named="iob2") == Detection("iob2", 4, 1)
    assert judge("B-X I-X O", named="iob2") == Detection("iob2", 4, 0)
    assert judge("B-X I-X O", named="labels").scheme == "labels"
    # A mixture that cannot be judged is plain labels where the user says so.
    assert judge(*["B-X O"] * 9, "B_X O", named="labels").scheme == "labels"


@pytest.mark.parametrize(
    ("tags", "named", "expected", "message"),
    [
        ("DT NN", "iob2", None, Says("scheme")),
        ("DT NN", "auto", "iob2", Says("scheme")),
        ("B-X O", "auto", "labels", Says("scheme")),
    ],
)  # fmt: skip
def test_tags_of_another_kind_are_refused_with_the_files_name(
    tags: str, named: str, expected: str | None, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        judge(tags, named=named, expected=expected)
    assert str(caught.value) == message


def test_a_stray_tag_is_refused_with_file_and_line(tmp_path: Path) -> None:
    path = corpus_file(tmp_path, "train", "a/B-X b/I-X c/I-X", "d/B-X e/I-X f/B_X")
    with pytest.raises(FormatError) as caught:
        load_corpus(config(train_file=path), TAGS)
    assert str(caught.value) == (
        Says(path, "7", "LABEL", "5", "'B_X'", "1", "data.scheme", "'labels'")
    )


def test_dev_in_another_scheme_than_train_keeps_its_own(tmp_path: Path) -> None:
    train = corpus_file(tmp_path, "train", "EU/B-ORG is/O", "a/B-X b/I-X")
    dev = corpus_file(tmp_path, "dev", "EU/S-ORG is/O", "a/B-X b/E-X")
    found = load_corpus(config(train_file=train, dev_file=dev), TAGS)
    assert (found.scheme, found.dev.detection.scheme) == ("iob2", "iobes")
    assert read_split(dev, config().data, TAGS, "iob2").detection.scheme == "iobes"


def test_the_columns_of_the_config_are_those_of_the_reader() -> None:
    data = config(
        "data.format=conllu", "data.token_column=LEMMA", "data.tag_column=-2",
        "data.feature_columns=[1, 'XPOS']",
    ).data  # fmt: skip
    assert column_options(data, with_tags=False) == ColumnOptions(
        conllu=True, token="LEMMA", tag=-2, features=(1, "XPOS"), with_tags=False
    )


def test_plain_labels_are_learnt_as_they_are() -> None:
    assert training_scheme(config("data.scheme=labels")) == "labels"
    assert training_scheme(config("data.scheme=iob1")) == "iobes"
    assert training_scheme(config("data.train_scheme=bio")) == "iob2"


tags = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), min_size=1, max_size=12)


@given(tags, st.sampled_from(["iob2", "iobes", "bilou"]), st.integers(2, 13))
def test_windows_of_a_sentence_are_well_formed_and_hold_all_of_it(
    tags: list[str], scheme: str, max_length: int
) -> None:
    words = tuple(f"w{place}" for place in range(len(tags)))
    sentence = Sentence(words, tuple(tags), (words,))
    pieces = for_training([sentence], scheme, max_length)
    assert all(1 <= len(piece) <= max_length for piece in pieces)
    assert sorted({word for piece in pieces for word in piece.words}) == sorted(words)
    assert all(piece.features == (piece.words,) for piece in pieces)
    assert illegal_count([piece.tags or () for piece in pieces], scheme) == 0
    # Each word is in a span of the same label as before; only a window's edges part spans.
    label_of = {
        word: span.label for span in to_spans(tags) for word in words[span.start : span.end]
    }
    for piece in pieces:
        found = {
            word: span.label
            for span in to_spans(piece.tags or ())
            for word in piece.words[span.start : span.end]
        }
        assert found == {word: label_of[word] for word in piece.words if word in label_of}


def test_plain_labels_are_cut_but_not_converted() -> None:
    sentence = Sentence(("a", "b", "c"), ("B-X", "NN", "E"))
    assert for_training([sentence], "labels", 2) == [
        Sentence(("a", "b"), ("B-X", "NN")), Sentence(("b", "c"), ("NN", "E")),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("folder", "files", "scheme", "types", "spans"),
    [
        ("conll2000", ("train.txt", "dev.txt", "test.txt"), "iob2", 11, (106_978, 22_207, 23_852)),
        ("conll2003", ("eng.train", "eng.testa", "eng.testb"), "iob1", 4, (23_499, 5_942, 5_648)),
        ("wnut17", ("train.conll", "dev.conll", ""), "iob2", 6, (1_975, 836, 0)),
    ],
)
def test_real_corpora_have_the_spans_of_their_owners(
    corpora: Path, folder: str, files: tuple[str, ...], scheme: str, types: int,
    spans: tuple[int, ...],
) -> None:  # fmt: skip
    paths = [str(corpora / folder / file) if file else "" for file in files]
    names = ("train_file", "dev_file", "test_file")
    found = load_corpus(config(**dict(zip(names, paths, strict=True))), TAGS)
    splits = [found.train, found.dev, *([found.test] if found.test else [])]
    assert [split.detection.scheme for split in splits] == [scheme] * len(splits)
    assert [sum(1 for _ in split.entities()) for split in splits] == list(spans[: len(splits)])
    assert len(found.train.labels()) == types
    assert all(split.detection.illegal == 0 for split in splits)


def test_a_real_corpus_of_parts_of_speech_has_plain_labels(corpora: Path) -> None:
    split = read_split(str(corpora / "ud-english-ewt" / "dev.conllu"), config().data, TAGS, None)
    assert split.detection.scheme == "labels"
    assert len(split.labels()) == 17


def test_a_short_file_that_looks_like_text_is_refused_with_the_way_to_its_odd_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("EU B-ORG\nrejects O\nGerman\n\nPeter B-PER\nB O\n", encoding="utf-8")
    with refuses(DataError, "data.format=columns"):
        read_split(str(path), DataConfig(), TAGS, None)
    with refuses(FormatError, "a.txt:3", "2", "1", "columns"):
        read_split(str(path), DataConfig(format="columns"), TAGS, None)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["data.token_column=2"], "column 2 is the token and the tag"),
        (["data.feature_columns=[1, -1]"], "column 2 is a feature and the tag"),
        (["data.tag_column=0"], "column 0 is the token and the tag"),
        (
            ["data.tag_column=[1, 2]", "data.feature_columns=[1]"],
            "column 1 is a feature and the tag",
        ),
    ],
)
def test_no_column_is_both_read_and_predicted(
    tmp_path: Path, options: list[str], problem: str
) -> None:
    path = tmp_path / "train"
    path.write_text("EU\tN\tB-ORG\nis\tV\tO\n\n" * 4, encoding="utf-8")
    assert refusal(config(*options, train_file=str(path), dev_file=str(path))) == (
        Says(path, problem)
    )


@pytest.mark.parametrize("part", ["dev", "test"])
def test_dev_and_test_of_another_width_are_not_read_by_their_answers(
    tmp_path: Path, part: str
) -> None:
    three, two = tmp_path / "train", tmp_path / part
    three.write_text("EU\tN\tB-ORG\nis\tV\tO\n\n" * 4, encoding="utf-8")
    two.write_text("EU\tB-ORG\nis\tO\n\n" * 4, encoding="utf-8")
    files = {"train_file": str(three), "dev_file": str(three), f"{part}_file": str(two)}
    assert refusal(config("data.feature_columns=[1]", **files)) == (Says(two, "1", "feature"))


@pytest.mark.parametrize(
    ("tag", "features", "is_refused"),
    [("FEATS.Case", '["FEATS.Number"]', False), ("FEATS.Case", '["FEATS"]', True),
     ("FEATS", '["FEATS.Case"]', True), ("FEATS.Case", '["FEATS.Case"]', True),
     ("UPOS", '["XPOS"]', False)],
)  # fmt: skip
def test_a_key_of_a_column_may_be_read_beside_another_one(
    tmp_path: Path, tag: str, features: str, is_refused: bool
) -> None:
    path = tmp_path / "train.conllu"
    dogs = "1\tDogs\t_\tN\tX\tCase=Nom|Number=Plur\t_\t_\t_\t_\n"
    path.write_text((dogs + "2\tbark\t_\tV\tY\t_\t_\t_\t_\t_\n\n") * 4, "utf-8")
    found = config(
        f"data.tag_column={tag}", f"data.feature_columns={features}",
        train_file=str(path), dev_file=str(path),
    )  # fmt: skip
    if is_refused:
        assert "column FEATS is a feature and the tag" in refusal(found)
    else:
        load_corpus(found, TAGS)


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
    reading = ReaderOptions(load_config().data)
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


def config_of(train: Path, *overrides: str) -> object:
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
        load_corpus(config_of(words), TAGS)
    assert str(refused.value) == (
        Says(words, "encoder.context=document", "DOCSTART", "encoder.context=sentence")
    )
    assert load_corpus(config_of(plain), TAGS).train.notes[1:] == (
        f"{plain}: no mark of a document (-DOCSTART-, # newdoc): all of it is one document, read "
        "in parts of up to 2,000 words",
    )
    (tmp_path / "2003.conll").write_text(FILES["2003.conll"], "utf-8")
    assert load_corpus(config_of(tmp_path / "2003.conll"), TAGS).train.notes[1:] == ()


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
            options = config_of(path, apart, f"head.label_consistency={share}")
            assert (said in load_corpus(options, TAGS).train.notes) == wanted


def test_whole_documents_are_held_out_and_drawn(tmp_path: Path) -> None:
    path = tmp_path / "train.conll"
    path.write_text("".join(f"-DOCSTART- O\n\n{SENTENCE * n}" for n in (3, 4, 5, 6)), "utf-8")
    train = load_corpus(config_of(path), TAGS).train
    for seed in range(4):
        kept, held = hold_out(train, 0.2, seed, by_document=True)
        assert not {s.document for s in kept.sentences} & {s.document for s in held.sentences}
        assert len(kept.sentences) + len(held.sentences) == 18
        assert 4 <= len(held.sentences) <= 6 + 3
        drawn = draw(train, 4, seed, by_document=True)
        assert {s.document for s in drawn.sentences} & {s.document for s in train.sentences}
        assert len(drawn.sentences) in (4, 5, 6, 3 + 4, 3 + 5, 3 + 6)
    path.write_text(SENTENCE * 3, "utf-8")
    with refuses(DataError, "document"):
        hold_out(load_corpus(config_of(path), TAGS).train, 0.5, 1, by_document=True)


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
    train = load_corpus(config_of(path), TAGS).train
    found = {
        len(hold_out(train, fraction, seed, by_document=True)[1].sentences) for seed in range(12)
    }
    assert found == expected


CLASSES = LabelKinds(tags=False, classes=True)
LINES = {
    "x.tsv": "NUM:count\tHow many ?\n",
    "x.trec": "NUM:count How many ?\n",
    "x.trees": "(3 Good)\n",
}


def notes(folder: Path, name: str, *options: str) -> list[str]:
    path = folder / name
    path.write_text(LINES[name] * 2, encoding="utf-8")
    flags = {"task": "classify", "data.train_file": str(path)}
    return [*read_train(load_config(None, options, flags), CLASSES).notes]


@pytest.mark.parametrize(
    ("option", "owner"), [("label_level=fine", "trec"), ("tree_labels=binary", "trees")]
)
def test_an_option_that_the_format_does_not_have_is_named(
    option: str, owner: str, tmp_path: Path
) -> None:
    said = f"data.{option.replace('=', ' = ')} "
    for name in LINES:
        found = [note for note in notes(tmp_path, name, f"data.{option}") if "no effect" in note]
        format = name.removeprefix("x.")
        assert found == (
            [] if format == owner else [Says(f"{tmp_path / name}: ", said, owner, format)]
        )


@pytest.mark.parametrize("name", LINES)
def test_defaults_are_not_named(name: str, tmp_path: Path) -> None:
    assert not [note for note in notes(tmp_path, name) if "no effect" in note]


def test_each_option_of_a_format_is_one_of_data() -> None:
    options = {option for format in FORMATS.values() for option in format.options}
    assert options == {"label_level", "tree_labels", "tree_phrases"}
    assert options <= {*DataConfig.model_fields}


def test_pairs_are_lines_of_units_with_a_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_bytes(b"one two\t2\r\n\nthree\t3\n")
    data = DataConfig(train_file=str(path), dev_file=str(path), pairs=True)
    corpus = read_texts(data)
    expected = [("one", "two", DELIMITER, "2"), ("three", DELIMITER, "3")]
    assert [each.words for each in corpus.train.sentences] == expected
    plain = read_texts(data.model_copy(update={"pairs": False}))
    assert plain.train.sentences[0].words == ("one", "two", "2")


def test_byte_pairs_are_learnt_from_each_side_by_itself(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    path = tmp_path / "train.tsv"
    path.write_text("ab\tab\n" * 9)
    data = DataConfig(train_file=str(path), dev_file=str(path), pairs=True, unit="bpe")
    lines = read_texts(data).train.sentences
    assert isinstance(lines, UnitLines)
    assert lines[0].words == ("ab", DELIMITER, "ab")
    units = within(lines.cut_by)
    assert isinstance(units, BytePairs)
    assert units.merges == (("a", "b"),)


@pytest.mark.parametrize("line", ["no tab", "a\tb\tc", "\tb", "a\t", "\t"])
def test_the_first_line_that_is_no_pair_is_named_with_file_and_number(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "train.tsv"
    path.write_text(f"a\tb\n\n{line}\nc\n")
    with pytest.raises(FormatError) as error:
        read_texts(DataConfig(train_file=str(path), pairs=True))
    message = str(error.value)
    assert Says(path, "3", "continuation") == message
    assert message.endswith(repr(line))


def folder_of_texts(place: Path) -> Path:
    (place / "texts" / "b").mkdir(parents=True)
    for name, content in {
        "c.txt": b"five\nsix\n",
        "b/z.gz": gzip.compress(b"three\n\nfour"),
        "a.txt": b"one\ntwo\n",
        ".hidden": b"\xff",
    }.items():
        (place / "texts" / name).write_bytes(content)
    return place / "texts"


def test_a_folder_is_its_files_by_name_and_dev_the_last_lines_of_them(tmp_path: Path) -> None:
    texts = folder_of_texts(tmp_path)
    assert text_files(str(texts)) == [str(texts / name) for name in ("a.txt", "b/z.gz", "c.txt")]
    assert text_files("-") == ["-"]
    corpus = read_texts(DataConfig(train_file=f"{texts}/", dev_fraction=0.5))
    train, dev = corpus.train.sentences, corpus.dev.sentences
    assert isinstance(train, UnitLines)
    assert isinstance(dev, UnitLines)
    assert [list(part.texts()) for part in train.files()] == [["one", "two"], ["three"]]
    assert [list(part.texts()) for part in dev.files()] == [["four"], ["five", "six"]]
    assert (train.units, train.characters, dev.units, dev.characters) == (3, 14, 3, 14)
    assert (corpus.train.path, corpus.dev.path) == (f"{texts}/", "texts (split off)")


def test_a_folder_that_is_no_text_is_refused_by_the_name_of_what_is_wrong(tmp_path: Path) -> None:
    texts = folder_of_texts(tmp_path)
    data = DataConfig(train_file=str(texts))
    (texts / "b" / "z.gz").write_bytes(b"ok\n\nno\xff\n")
    with pytest.raises(FormatError) as bad:
        read_texts(data)
    assert str(bad.value).startswith(f"{texts}/b/z.gz:3: byte 0xff at 6 is not utf-8")
    (texts / "b" / "z.gz").unlink()
    (texts / "b" / "again").symlink_to(texts)
    with pytest.raises(DataError) as link:
        read_texts(data)
    assert str(link.value) == (
        f"{texts}/b/again: is a link to a folder, which is not followed; move its files here"
    )
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError) as none:
        text_files(str(tmp_path / "empty"))
    assert str(none.value) == (Says(tmp_path, "folder"))


def test_a_column_file_is_read_as_text_and_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "train.conll"
    path.write_text("New B-LOC\nYork I-LOC\n! O\n\nAda B-PER\n. O\n\n" * 9, encoding="utf-8")
    said = Says(f"{path}: read as plain text", "2 columns", "tagkit convert")
    corpus = read_texts(DataConfig(train_file=str(path)))
    assert corpus.train.notes == (said,)
    assert read_text(str(path), DataConfig(), WordUnits("blanks")).notes == (said,)
    # Nothing is looked at from the first line on that is longer than one of a token.
    path.write_text("x" * 1001 + " O\n" + "New B-LOC\nYork I-LOC\n! O\n\n" * 9, encoding="utf-8")
    assert read_texts(DataConfig(train_file=str(path))).train.notes == ()
    path.write_text("in New York\nAda and I\n" * 9, encoding="utf-8")
    assert read_texts(DataConfig(train_file=str(path))).train.notes == ()
