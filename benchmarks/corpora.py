"""The corpora of the learning curves: where they are, and their first N sentences as files.

benchmarks/sizes.py and benchmarks/crfsuite.py train on the same sentences and are scored on the
same dev and test parts, which are made here. Corpora with tags give their first sentences, in the
order of the file; texts with classes are shuffled with a fixed seed first, since their files may be
sorted by class. A smaller training part is always the beginning of a larger one.

The corpora are not part of the project; they are expected beside it, as in benchmarks/configs.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tagkit.config import load_config
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.source.pieces import Writing
from tagkit.corpus.splits.splits import read_split
from tagkit.text.records import Document, Sentence
from tagkit.text.schemes import convert, has_spans

DATA = Path("../shared/data")  # from the project's root, as in benchmarks/configs
VECTORS = "vectors/glove.6B.50d.trimmed.txt"  # of English words
DEV_SENTENCES, TEST_SENTENCES = 500, 1000  # at most; enough to compare, and quick to score
SIZES = ("50", "100", "200", "400", "1000", "4000", "all")
_SHUFFLE_SEED = 1  # of the order of texts with classes, whatever the seed of a training run


@dataclass(frozen=True, slots=True)
class Corpus:
    """One corpus of the learning curves.

    Attributes:
        name: short, for commands and files.
        title: for tables.
        task: as in a configuration.
        train: path of the file or folder below the folder of all corpora.
        dev: the same; empty where dev is the last tenth of the shuffled training file.
        test: the same; empty where a part of the dev file is test.
        dev_part: how many sentences of the dev file are dev, where the others are test.
        english: whether the vectors are of its language.
        options: how the files are read, by dotted name.
    """

    name: str
    title: str
    task: str
    train: str
    dev: str = ""
    test: str = ""
    dev_part: int | None = None
    english: bool = True
    options: dict[str, Any] = field(default_factory=dict)


_ALL = (
    Corpus("conll2000", "CoNLL-2000 chunks", "tag", "conll2000/train.txt", "conll2000/dev.txt",
           "conll2000/test.txt"),
    Corpus("conll2003", "CoNLL-2003 English NER", "tag", "conll2003/eng.train",
           "conll2003/eng.testa", "conll2003/eng.testb"),
    # The test parts of WNUT-17 and of the treebanks are not there; a part of dev is test.
    Corpus("wnut17", "WNUT-17 NER", "tag", "wnut17/train.conll", "wnut17/dev.conll", dev_part=500),
    Corpus("conll2002", "CoNLL-2002 Dutch NER", "tag", "conll2002/ned.train",
           "conll2002/ned.testa", "conll2002/ned.testb", english=False),
    Corpus("atis", "ATIS slots", "tag", "atis/train", "atis/valid", "atis/test"),
    Corpus("ewt", "UD English EWT UPOS", "tag", "ud-english-ewt/train.conllu",
           "ud-english-ewt/dev.conllu", dev_part=1000),
    Corpus("gdt", "UD Greek GDT UPOS", "tag", "ud-greek-gdt/train.conllu",
           "ud-greek-gdt/dev.conllu", dev_part=201, english=False),
    Corpus("trec", "TREC question types", "classify", "trec/train.txt", test="trec/test.txt",
           options={"data.encoding": "latin-1", "data.tokenizer": "blanks"}),
    Corpus("sst2", "SST-2 sentiment", "classify", "sst/train.txt", "sst/dev.txt", "sst/test.txt",
           options={"data.tree_labels": "binary"}),
)  # fmt: skip
CORPORA = {corpus.name: corpus for corpus in _ALL}


@dataclass(frozen=True, slots=True)
class Parts:
    """The sentences of a corpus.

    Attributes:
        train: all of them; a smaller part is its beginning.
        dev: at most `DEV_SENTENCES`.
        rest: the other sentences of dev, which select nothing.
        test: at most `TEST_SENTENCES`, unless all are asked for.
        scheme: "iob2", "labels" of plain tags, or None of texts with classes.
    """

    train: tuple[Sentence, ...]
    dev: tuple[Sentence, ...]
    rest: tuple[Sentence, ...]
    test: tuple[Sentence, ...]
    scheme: str | None


@lru_cache
def read_parts(name: str, data: Path = DATA, test_sentences: int | None = TEST_SENTENCES) -> Parts:
    """Train, dev and test of a corpus, tags of spans in IOB2; None for all sentences of test.

    Raises:
        DataError: a file is not there.
    """
    corpus = CORPORA[name]
    train, scheme = _read(corpus, data / corpus.train)
    dev = _read(corpus, data / corpus.dev)[0] if corpus.dev else None
    test = _read(corpus, data / corpus.test)[0] if corpus.test else None
    if dev is None:
        kept = len(train) - len(train) // 10
        train, dev = train[:kept], train[kept:]
    if test is None:
        dev, test = dev[: corpus.dev_part], dev[corpus.dev_part :]
    chosen, rest = dev[:DEV_SENTENCES], dev[DEV_SENTENCES:]
    return Parts(train, chosen, rest, test[:test_sentences], scheme)


def _read(corpus: Corpus, path: Path) -> tuple[tuple[Sentence, ...], str | None]:
    """The sentences of a file in the order that their parts are taken in, and their scheme."""
    config = load_config(None, flags={"task": corpus.task, **corpus.options})
    tags = corpus.task == "tag"
    split = read_split(str(path), config.data, LabelKinds(tags=tags, classes=not tags), None)
    sentences = list(split.sentences)
    if not tags:
        random.Random(_SHUFFLE_SEED).shuffle(sentences)
        return tuple(sentences), None
    scheme = "iob2" if has_spans(split.scheme) else split.scheme
    assert scheme is not None  # a corpus that is read for its tags has one
    # Words, tags and documents alone: parts of speech beside chunks are not what is compared.
    plain = (
        Sentence(s.words, convert(s.tags or (), scheme), document=s.document) for s in sentences
    )
    return tuple(plain), scheme


def first(sentences: Sequence[Sentence], size: str) -> Sequence[Sentence]:
    """The first so many sentences; "all" for all."""
    return sentences if size == "all" else sentences[: int(size)]


def has_size(parts: Parts, size: str) -> bool:
    """Whether a corpus has so many sentences to train on."""
    return size == "all" or int(size) <= len(parts.train)


def subset(
    name: str,
    size: str,
    folder: Path,
    data: Path = DATA,
    test_sentences: int | None = TEST_SENTENCES,
    scored: str = "test",
) -> dict[str, Any]:
    """Write the first `size` training sentences, and dev and test, as files that tagkit reads.

    Args:
        name: of the corpus.
        size: a number, or "all".
        folder: an existing one, to write into.
        data: the folder of all corpora.
        test_sentences: at most so many of test; None for all.
        scored: the part that is written as test: "test", or "rest".

    Returns:
        Options of a configuration by dotted name: the task, the files and how to read them.
    """
    parts = read_parts(name, data, test_sentences)
    corpus = CORPORA[name]
    # Two columns between tabs, or a class and a text.
    format, ending = ("columns", "conll") if parts.scheme else ("tsv", "tsv")
    options: dict[str, Any] = {"task": corpus.task, "data.format": format}
    if parts.scheme:
        options["data.scheme"] = parts.scheme
    else:
        # The words of both corpora are separated by blanks. Three texts of SST-2 have a no-break
        # space inside of a word, which is two words from here on.
        options["data.tokenizer"] = "blanks"
    chosen = {"train": first(parts.train, size), "dev": parts.dev}
    chosen["test"] = parts.rest if scored == "rest" else parts.test
    for part, sentences in chosen.items():
        path = folder / f"{name}-{size}-{part}.{ending}"
        _write(path, sentences, format)
        options[f"data.{part}_file"] = str(path)
    return options


def _write(path: Path, sentences: Sequence[Sentence], format: str) -> None:
    records = sentences if format == "columns" else [_document(s) for s in sentences]
    writing = Writing(plain=False, single=True, note=lambda text: None)
    pieces = FORMATS[format].write(records, writing)
    # Column files mark where a document of the corpus begins.
    path.write_text("".join(piece.text for piece in pieces), encoding="utf-8", newline="\n")


def _document(sentence: Sentence) -> Document:
    return Document(" ".join(sentence.words), labels=sentence.labels)
