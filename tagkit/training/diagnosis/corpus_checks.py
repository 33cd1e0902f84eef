"""What is wrong with the corpora and the vectors of a run, before its first step.

Labels and their numbers, repeated sentences, the scheme, words without a vector; and whether raw
text is cut into the words that a tagger was trained on, and whether it has any.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path

from tagkit.config import Config
from tagkit.corpus.formats.tables.text_columns import is_noted
from tagkit.corpus.lint.summary import LabelSummary
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.splits.counts import LONG, are_counted, is_long, shared_sentences
from tagkit.corpus.splits.joined_classes import JOINED_REMEDY, joined_classes, joined_problem
from tagkit.features.batching.unit_stream import UnitStream, places_of
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import UNKNOWN_ID, decomposed
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import count_steps, illegal_count
from tagkit.text.schemes import DISPLAY, PLAIN, has_spans
from tagkit.text.tokenizer import TOKENIZERS, lacks_blanks
from tagkit.text.units import END
from tagkit.training.events.callbacks import Check, Finding, Statement
from tagkit.training.setup.setup import Prepared
from tagkit.wording import label_of, listed, plural, plural_of, quoted, shown_name

_FEW = 10  # a label with fewer examples is hardly learnt, and its score is mostly chance
_DUPLICATES = 0.05  # share of a corpus that occurs in train, above which its scores mislead
_COVERED = 0.5  # share of words with a vector, below which the vectors are probably unsuitable
_MOST_SHOWN = 5  # labels in a sentence
# Of the words of ten public corpora 0 to 8 % are no tokens (tweets have most); of Chinese that is
# segmented into words about half.
_MOST_OTHER = 0.2
# Of English, as the Penn Treebank has them: in raw text they touch the word before.
_ENDING = re.compile(r"['\u2019][a-z]{1,2}$|n['\u2019]t$", re.IGNORECASE)
_LOOKED_AT = 300  # that are looked at: enough to tell half from a tenth


@dataclass(frozen=True, slots=True)
class CountedSplit:
    """One split of the corpora, with the numbers of its labels.

    Attributes:
        name: what a sentence calls it: "train", "dev" or "test".
        split: what was read.
        counts: numbers of examples of each label and of each class that the task needs, by what a
            sentence calls them: "label" or "class".
    """

    name: str
    split: Split
    counts: Mapping[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class Corpora:
    """What is known before the first step.

    Attributes:
        prepared: corpora, model and options.
        train: the training corpus.
        scored: dev, and test if there is one.
        unit: what the task calls an example: "sentence" or "text".
    """

    prepared: Prepared
    train: CountedSplit
    scored: tuple[CountedSplit, ...]
    unit: str


def diagnose_corpus(prepared: Prepared) -> tuple[Finding, ...]:
    """What is wrong with the corpora and the vectors, in the order of `CORPUS_CHECKS`.

    The time is linear in the number of tokens, and less than that of reading them.
    """
    if not prepared.task.annotates:
        return ()  # they are about labels, and about sentences that occur twice
    corpus, needs = prepared.corpus, prepared.task.needs
    splits = {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}
    train, *scored = (
        CountedSplit(name, split, _counts(split, needs, prepared.vocabulary.columns))
        for name, split in splits.items()
        if split
    )
    unit = prepared.task.describe(prepared.config).unit
    facts = Corpora(prepared, train, tuple(scored), unit)
    return tuple(finding for check in CORPUS_CHECKS for finding in check.findings(facts))


def _counts(
    split: Split, needs: LabelKinds, columns: Sequence[ColumnLabels]
) -> dict[str, Counter[str]]:
    sentences = split.sentences
    if columns:
        # Of other values, such as lemmas, most are rare and many are new.
        return {
            label_of(column.name): _labels([s.columns[place].values for s in sentences],
                                           column.scheme)
            for place, column in enumerate(columns)
            if column.codec == "tags"
        }  # fmt: skip
    counts = {}
    if needs.tags:
        counts["label"] = _labels([sentence.tags or () for sentence in sentences], split.scheme)
    if needs.classes:
        counts["class"] = split.classes()
    return counts


def _labels(values: Sequence[Sequence[str]], scheme: str | None) -> Counter[str]:
    """How often each label occurs, as a check counts them: of spans, else of tokens."""
    tags = Counter(chain.from_iterable(values))
    return LabelSummary(tags=tags, steps=count_steps(values), named=scheme or PLAIN).labels


def _listed(counts: Counter[str], names: list[str]) -> str:
    """'LST (6), UCP (2) and 7 more': labels with their numbers of examples."""
    return listed([f"{shown_name(name)} ({counts[name]:,})" for name in names], _MOST_SHOWN)


def _no_labels(corpora: Corpora) -> Iterator[Statement]:
    for part in corpora.scored:
        # Those of the tags come first, and the scheme is that of the first tags.
        if has_spans(part.split.scheme) and not next(iter(part.counts.values())):
            yield (
                f"every tag of {part.name} is O, so that scores on it mean nothing",
                "Check that it is the right file, and the right column of it (data.tag_column)",
            )


def _one_label(corpora: Corpora) -> Iterator[Statement]:
    for part in corpora.scored:
        for what, counts in part.counts.items():
            is_class = what == "class"
            total = len(part.split.sentences) if is_class else part.split.tokens
            known = corpora.train.counts[what]
            # Of spans the counts are fewer than the tokens: not to find them is an answer too.
            is_everywhere = len(counts) == 1 and counts.total() == total > 1
            if not is_everywhere or not known.keys() > counts.keys():
                continue
            (label,) = counts
            unit = corpora.unit if is_class else "token"
            others = f"{plural_of(corpora.unit)} with other {plural_of(what)}"
            remedy = f"Move some {others} to {part.name}"
            if _is_held_out(part.name, corpora.prepared.config):
                remedy = (
                    "Name a dev corpus with data.dev_file, hold out more of train with "
                    f"data.dev_fraction, or label more {others}"
                )
            yield (
                (
                    f"every {unit} of {part.name} has the {what} {quoted(label)}: a model that "
                    "always predicts it scores 100"
                ),
                remedy,
            )


def _unknown_labels(corpora: Corpora) -> Iterator[Statement]:
    for part in corpora.scored:
        for what, counts in part.counts.items():
            known = corpora.train.counts[what]
            unknown = [label for label, _ in counts.most_common() if label not in known]
            if not unknown:
                continue
            them = "them" if len(unknown) > 1 else "it"
            move = f"Move some examples of {them} to train"
            if _is_held_out(part.name, corpora.prepared.config):
                move = f"Label more examples of {them}, of which the run has held out all"
            yield (
                (
                    f"{part.name} has {plural(len(unknown), what)} that train lacks, so that the "
                    f"model cannot predict {them}: {_listed(counts, unknown)}"
                ),
                f"{move}, or correct the spelling where train has {them} under another name",
            )


def _joined_classes(corpora: Corpora) -> Iterator[Statement]:
    if joined := joined_classes(corpora.train.counts.get("class", ())):
        yield f"in train, {joined_problem(joined)}", JOINED_REMEDY


def _few_examples(corpora: Corpora) -> Iterator[Statement]:
    notes = corpora.train.split.notes
    for what, counts in corpora.train.counts.items():
        # One that is perhaps the name of a column needs no examples.
        few = (x for x in counts if counts[x] < _FEW and not is_noted(x, notes))
        rare = sorted(few, key=lambda x: (counts[x], x))
        if rare:
            yield (
                (
                    f"train has {plural(len(rare), what)} with fewer than {_FEW} examples: "
                    f"{_listed(counts, rare)}"
                ),
                (
                    f"Label more examples, or merge rare {plural_of(what)} into others: so few "
                    "are hardly learnt, and their scores are mostly chance"
                ),
            )


def _large_dev(corpora: Corpora) -> Iterator[Statement]:
    train, dev = (len(p.split.sentences) for p in (corpora.train, corpora.scored[0]))
    if dev > train:
        yield (
            f"dev has {plural(dev, corpora.unit)}, and train only {train:,}",
            (
                "Move most of dev to train, from which the model learns; if the two were mixed "
                "up, exchange data.train_file and data.dev_file"
            ),
        )


def _duplicates(corpora: Corpora) -> Iterator[Statement]:
    dev, *rest = corpora.scored
    config = corpora.prepared.config
    yield from _occur_again(corpora, corpora.train, corpora.scored, "")
    # What the run draws from train is no file, and train has been looked at.
    if not _is_held_out(dev.name, config):
        yield from _occur_again(corpora, dev, rest, ", which chooses the best epoch")


def _occur_again(
    corpora: Corpora, source: CountedSplit, parts: Iterable[CountedSplit], role: str
) -> Iterator[Statement]:
    """How many sentences of each part occur in `source` too, whose `role` in the run is said."""
    known = {sentence.words for sentence in source.split.sentences}
    for part in parts:
        shared = shared_sentences(part.split.sentences, known)
        # Short ones ("Thank you.") occur twice in every corpus.
        count, total = (
            sum(is_long(s.words) for s in several) for several in (shared, part.split.sentences)
        )
        if count > _DUPLICATES * total:
            yield (
                (
                    f"{count:,} of {plural(total, corpora.unit)} of {part.name} with at least "
                    f"{LONG} words ({100 * count / total:.0f} %) "
                    f"{'occur' if count > 1 else 'occurs'} in {source.name} too{role}, so that "
                    "its scores are too good"
                ),
                _remedy_of_duplicates(source.name, part.name, corpora.prepared.config),
            )


def _is_held_out(name: str, config: Config) -> bool:
    """Whether a corpus is a part of train, drawn by the run."""
    return name == "dev" and not config.data.dev_file


def _remedy_of_duplicates(source: str, name: str, config: Config) -> str:
    if _is_held_out(name, config):
        return (
            "Name a dev corpus with data.dev_file, or leave in train each text once; tagkit check "
            "lists the others"
        )
    return f"Remove them from {source} or from {name}; tagkit check lists them"


def _other_scheme(corpora: Corpora) -> Iterator[Statement]:
    train = corpora.train.split.scheme
    for part in corpora.scored:
        found = part.split.scheme
        # Plain labels beside spans are refused when corpora are read.
        if train is None or found is None or found == train:
            continue
        illegal = illegal_count((s.tags or () for s in part.split.sentences), train)
        ours, theirs = DISPLAY[train], DISPLAY[found]
        yield (
            (
                f"train is in {ours}, and {part.name} looks like {theirs}: "
                f"{plural(illegal, 'transition')} of {part.name} "
                f"{'are' if illegal != 1 else 'is'} illegal in {ours}"
            ),
            (
                f"If {part.name} is in {theirs} all is well, as predictions are converted for the "
                "scores; otherwise correct the tags that tagkit check lists"
            ),
        )


def _few_vectors(corpora: Corpora) -> Iterator[Statement]:
    if not corpora.prepared.vectors:
        return
    covered, total = corpora.prepared.vectors
    if covered >= _COVERED * total:
        return
    options, vocabulary = corpora.prepared.config.embeddings, corpora.prepared.vocabulary
    if 10 * len(decomposed(vocabulary.words)) > len(vocabulary.words):
        form = "Unicode's composed form (NFC), which vectors mostly have"
        remedy = f"Bring the corpus into {form}"
    else:
        remedy = "Check that they are of the corpus's language"
    file = shown_name(Path(options.vectors).name) if options.vectors else "the model it starts from"
    yield (
        (
            f"only {covered:,} of "
            f"{plural(total, 'training word')} ({100 * covered / total:.0f} %) have a vector in "
            f"{file}"
        ),
        f"{remedy}, or use other vectors or none (embeddings.vectors)",
    )


def _counted_words(corpora: Corpora) -> Iterator[Statement]:
    """That the words of train are the numbers of its words."""
    if are_counted(corpora.prepared.corpus.train.sentences):
        yield (
            "the words of train are numbers that count up in each sentence",
            "Name the column of its words: data.token_column=1 for one",
        )


def _other_words(corpora: Corpora) -> Iterator[Statement]:
    """That words of train are no tokens of its text, if many are not."""
    prepared = corpora.prepared
    train, tokenizer = prepared.corpus.train, prepared.config.data.tokenizer
    if not prepared.task.needs.tags:
        return
    words, others = _compared(train, tokenizer)
    total, count = words.total(), others.total()
    if count <= _MOST_OTHER * total:
        return
    example = max(others, key=lambda word: (others[word], word))
    yield (
        (
            f"raw text is cut into other words than train: {100 * count / total:.0f} % of those "
            f"of train, such as {quoted(example, 40)}, are no tokens of it"
        ),
        "To predict for raw text, train with data.tokenizer=blanks and put blanks between its "
        "words; files that are cut as train is need nothing",
    )


def _compared(split: Split, tokenizer: str) -> tuple[Counter[str], Counter[str]]:
    """The words of a sample of sentences, and those of them that are no tokens of their text."""
    words: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for sentence in islice(split.sentences, _LOOKED_AT):
        text = _text_of(sentence, with_blanks=tokenizer == "blanks")
        tokens = Counter(token.text for found in TOKENIZERS[tokenizer](text) for token in found)
        own = Counter(sentence.words)
        words += own
        others += own - tokens
    return words, others


def _text_of(sentence: Sentence, *, with_blanks: bool) -> str:
    """The text of a sentence, as it is written in its script where the corpus does not have it."""
    if sentence.text is not None:
        return sentence.text
    if with_blanks:
        return " ".join(sentence.words)
    return "".join(_spaced(sentence.words))


def _spaced(words: Sequence[str]) -> Iterator[str]:
    """The words, with a blank before each, but for endings and in scripts without blanks."""
    yield words[0]
    for left, right in pairwise(words):
        is_ending = _ENDING.match(right) is not None
        if not (is_ending or (lacks_blanks(left[-1]) and lacks_blanks(right[0]))):
            yield " "
        yield right


# The order is that in which a person corrects a corpus.
CORPUS_CHECKS = (
    Check("no-labels", _no_labels),
    Check("one-label", _one_label),
    Check("unknown-labels", _unknown_labels),
    Check("joined-classes", _joined_classes),
    Check("few-examples", _few_examples),
    Check("large-dev", _large_dev),
    Check("duplicates", _duplicates),
    Check("other-scheme", _other_scheme),
    Check("few-vectors", _few_vectors),
    Check("counted-words", _counted_words),
    Check("other-words", _other_words),
)


# How much of the texts of a run its language model does not know, which the header says.
_LONGEST = 6  # letters of a word of a script without blanks
_MANY = 0.3  # of the words, above which they are none
_LINES = 300  # that are looked at


@dataclass(frozen=True, slots=True)
class UnknownUnits:
    """Of one text.

    Attributes:
        units: number of all, the ends of lines not counted.
        unknown: of these, how many the model does not know.
    """

    units: int
    unknown: int

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.unknown / max(1, self.units)


def unknown_units(prepared: Prepared) -> dict[str, UnknownUnits]:
    """The unknown units of "train", "dev" and "test", where there is one, in constant memory.

    None of a model that reads words and no text. Train is there as ids already; the others are read
    once more.
    """
    stream = prepared.encoded
    if not isinstance(stream, UnitStream):
        return {}
    corpus = prepared.corpus
    others = {"dev": corpus.dev, "test": corpus.test}
    # A word that is written like the end of a line is an unknown one.
    known = frozenset(prepared.vocabulary.words) - {END}
    in_train = sum(map(len, places_of(stream.ids, UNKNOWN_ID)))
    return {"train": UnknownUnits(corpus.train.tokens, in_train)} | {
        name: UnknownUnits(split.tokens, _unknown_words(split.sentences, known))
        for name, split in others.items()
        if split is not None
    }


def words_without_blanks(prepared: Prepared) -> float:
    """Share of train's words that are long stretches of scripts without blanks, if large, or 0.

    Such a word is a clause or a line, and a model of them can repeat those of train alone.
    """
    if prepared.config.data.unit != "word":
        return 0
    lines = islice(prepared.corpus.train.sentences, _LINES)
    words = [word for line in lines for word in line.words]
    # Words of these scripts that are segmented have one or two letters, and seldom over four.
    share = sum(len(word) > _LONGEST and lacks_blanks(word) for word in words) / len(words)
    return share if share > _MANY else 0


def _unknown_words(sentences: Iterable[Sentence], known: frozenset[str]) -> int:
    return sum(word not in known for sentence in sentences for word in sentence.words)
