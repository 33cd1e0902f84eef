"""From a configuration to what the training loop needs: corpus, vocabulary, model, ids.

`resolve` decides what follows from the corpus, `prepare` builds the rest from it.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from tagkit.config import Config, fixed
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.objects import NONE_GIVEN, Given
from tagkit.corpus.splits.splits import Corpus
from tagkit.evaluation.reports.criterion import Criterion, check_label
from tagkit.evaluation.scores.metrics import Kind
from tagkit.features.batching.encoding import Encoded
from tagkit.features.batching.examples import Examples
from tagkit.features.batching.repeated_words import name_of
from tagkit.features.unit_reading import UnitReading, learn_units
from tagkit.features.vector_columns import VectorColumn, check_vectors, learn_vectors
from tagkit.features.vocabulary import (
    RESERVED,
    Vocabulary,
    count_chars,
    count_surfaces,
    count_words,
    first_known,
    most_frequent,
    word_key,
)
from tagkit.features.word_features import frequent_affixes
from tagkit.features.word_vectors import Vectors, load_vectors
from tagkit.models.base.model import LANGUAGE, Model
from tagkit.models.base.task import Task
from tagkit.models.base.task_records import FitCorpus, Labels, TrainingData
from tagkit.models.bundle.bundle import Bundle, load_bundle
from tagkit.models.bundle.transfer import (
    copy_weights,
    extend_vocabulary,
    in_units_of,
    inherit_options,
    pretrained_vectors,
)
from tagkit.models.language.language_network import (
    add_language_loss,
    language_target,
    predicted_words,
)
from tagkit.models.tagging.tag_head import refuse_without_spans
from tagkit.models.task_table import task_of
from tagkit.nn.threads import chosen_threads
from tagkit.text.records import Sentence
from tagkit.text.schemes import OUTSIDE, span_tuples, split_tag
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.training.setup.defaults import CorpusSize, choose_by_size, choose_for_text
from tagkit.training.setup.language_models import (
    load_contextual,
    read_corpus,
    refuse_base,
    with_states,
)
from tagkit.training.setup.run_settings import refuse_unsolvable
from tagkit.wording import listed, plural, shown_name

# Of a time limit, for what is fitted before the first step.
_FIT_SHARE = 0.1
_FEWEST_MENTIONS = 20  # of names; fewer say too little of whether their labels are alike


@dataclass(frozen=True)
class Prepared:
    """What the training loop needs.

    Attributes:
        task: what is predicted.
        config: resolved from the corpus.
        criterion: what ranks epochs, as `train.metric` says.
        corpus: the splits as they were read.
        vocabulary: of the training corpus, and of the vectors.
        model: on `device`, with fresh weights and pretrained vectors, or with the weights of
            `train.init_from`.
        encoded: the training corpus as ids, in the training scheme.
        singletons: (word ids,) bool, True of words that occur once in the training corpus.
        device: where to train.
        vectors: how many distinct words of the training corpus have a pretrained vector, and how
            many there are; None without vectors.
        by_size: what was chosen from the size of the corpus, in a sentence; empty if nothing was.
        started: what was copied from the model of `train.init_from`, in a sentence; empty without.
    """

    task: Task
    config: Config
    criterion: Criterion
    corpus: Corpus
    vocabulary: Vocabulary
    model: Model
    encoded: Examples
    singletons: torch.Tensor
    device: torch.device
    vectors: tuple[int, int] | None
    by_size: str
    started: str

    @property
    def cut(self) -> int:
        """Number of training sentences longer than data.max_length, which are read in windows."""
        longest = self.task.longest(self.config.data.max_length)
        return sum(len(sentence) > longest for sentence in self.corpus.train.sentences)


@dataclass(frozen=True)
class Resolved:
    """A configuration in which everything follows from the corpus that can.

    Attributes:
        task: what is predicted.
        config: without "auto", except for what the network and the machine decide.
        criterion: what ranks epochs, as `train.metric` says.
        corpus: the splits as they were read.
        sentences: the training corpus as the model learns it.
        base: the model of `train.init_from`; None without one.
        vectors: pretrained; None without them.
        by_size: as in `Prepared`.
    """

    task: Task
    config: Config
    criterion: Criterion
    corpus: Corpus
    sentences: Sequence[Sentence]
    base: Bundle | None
    vectors: Vectors | None
    by_size: str


def resolve(
    config: Config, corpus: Corpus | Given = NONE_GIVEN, *, most_vectors: int = 0
) -> Resolved:
    """Read the vectors, and the corpora if none are given, and decide what follows from them.

    Args:
        config: of the run.
        corpus: the splits, or records in the place of files: see `Task.read`.
        most_vectors: that are read; 0 for all.

    Raises:
        BundleError: the model of `train.init_from` cannot be read.
        ConfigError: an option contradicts the sizes of that model.
        DataError: a corpus cannot be used, or `train.metric` does not fit it.
        VectorsError: the vectors cannot be read.
    """
    task = task_of(config)
    base = load_bundle(Path(config.train.init_from)) if config.train.init_from else None
    if base:
        refuse_base(config, base)
        config = inherit_options(config, base, config.train.init_from)
    corpus = corpus if isinstance(corpus, Corpus) else task.read(config, corpus)
    if base:
        corpus = in_units_of(corpus, base, pairs=config.data.pairs)
    config = task.resolve(config, corpus)
    refuse_unsolvable(config)
    criterion = chosen_criterion(task, config, corpus)
    config, vectors = _with_vectors(config, base, most_vectors)
    if vectors and vectors.missing:  # cut short, or the beginning of a file, as `head` gives it
        said = f"{config.embeddings.vectors}: holds {plural(len(vectors.words), 'vector')}, "
        said += f"{vectors.missing:,} fewer than its header says"
        corpus = replace(corpus, train=replace(corpus.train, notes=(*corpus.train.notes, said)))
    sentences = task.examples(config, corpus.train)
    if config.head.tag_sharing is True:
        refuse_without_spans(config, task.labels(config, sentences).columns)
    # Of a text that is larger than memory the units are counted once.
    tokens = replace(corpus.train, sentences=sentences).tokens
    if task.annotates:
        size = CorpusSize(
            len(sentences),
            tokens,
            task.describe(config).unit,
            uncut=len(corpus.train.sentences),
            classes=len(corpus.train.classes()),
            labels=0 if config.data.tag_columns else len(task.labels(config, sentences).tags),
        )
        if [*task.kinds(config)] == [Kind.SPANS]:
            size = replace(
                size,
                alike=alike_in_documents(corpus.train.sentences),
                spans=sum(len(span_tuples(each.tags or ())) for each in corpus.train.sentences),
            )
        chosen = choose_by_size(config, size)
    else:
        chosen = choose_for_text(config, len(sentences), tokens)
    return Resolved(
        task=task,
        config=chosen.config,
        criterion=criterion,
        corpus=corpus,
        sentences=sentences,
        base=base,
        vectors=vectors,
        by_size=chosen.reason,
    )


def chosen_criterion(task: Task, config: Config, corpus: Corpus) -> Criterion:
    """What ranks epochs, as `train.metric` says.

    Args:
        task: of the configuration.
        config: resolved from the corpus.
        corpus: the splits.

    Raises:
        DataError: the task has no such metric, or the corpus no such label.
    """
    criterion = task.criterion(config)
    check_label(criterion, corpus)
    return criterion


def _with_vectors(config: Config, base: Bundle | None, most: int) -> tuple[Config, Vectors | None]:
    """The pretrained vectors, and the configuration with their number of dimensions."""
    if base:
        return config, pretrained_vectors(base)
    options = config.embeddings
    if not options.vectors:
        return config, None
    vectors = load_vectors(Path(options.vectors), most)
    embeddings = options.model_copy(update={"word_dim": vectors.dim})
    return config.model_copy(update={"embeddings": embeddings}), vectors


def alike_in_documents(sentences: Sequence[Sentence]) -> float:
    """The share of mentions that have the most frequent label of their name in their document.

    Label consistency assumes that nearly all have. In news they do: Rome is a place throughout. In
    requests they need not: Rome is where one journey begins and another one ends, and there the
    mentions of a name should be decided one by one.

    Counted are the names that a marked document of several sentences has twice or more, at least
    once within a span.

    Args:
        sentences: with tags of spans, in any scheme.

    Returns:
        From 0 to 1; 0 where there are too few such mentions.
    """
    sizes = Counter(sentence.document for sentence in sentences)
    labels: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        document = sentence.document
        if document is None or document < 0 or sizes[document] < 2:
            continue
        for word, tag in zip(sentence.words, sentence.tags or (), strict=False):
            if name := name_of(word):
                labels[document, name][OUTSIDE if tag == OUTSIDE else split_tag(tag)[1]] += 1
    mentions = usual = 0
    for each in labels.values():
        if each.total() > 1 and {*each} != {OUTSIDE}:
            mentions += each.total()
            usual += max(each.values())
    return usual / mentions if mentions >= _FEWEST_MENTIONS else 0.0


def prepare(
    config: Config,
    device: torch.device,
    corpus: Corpus | Given = NONE_GIVEN,
    *,
    fits: bool = True,
    on_pass: Callable[[int], None] = lambda _: None,
) -> Prepared:
    """Read the vectors, and the corpora if none are given, and build the model.

    Fresh weights are drawn from torch's random state.

    Args:
        config: of the run.
        device: where to train.
        corpus: as of `resolve`.
        fits: whether to fit what is fitted before the first step; else `fit` does so later.
        on_pass: as of `Listener.on_fit`.

    Raises:
        BundleError: the model of `train.init_from` cannot be read.
        ConfigError: an option contradicts the sizes of that model, or the labels.
        DataError: a corpus cannot be used, or `train.metric` does not fit it.
        VectorsError: the vectors cannot be read.
    """
    resolved = resolve(config, corpus)
    task, config, sentences = resolved.task, resolved.config, resolved.sentences
    vocabulary, counts = _vocabulary(resolved)
    reader = load_contextual(config, device)
    if reader:
        vocabulary = replace(vocabulary, contextual=reader.parts)
    words = predicted_words(counts) if config.train.lm_loss else ()  # sorting takes seconds
    encoded = _encode(resolved, vocabulary, words)
    model = task.build(config, vocabulary, TrainingData(encoded, resolved.corpus.train.path))
    if reader:
        read_corpus(reader, task, resolved.corpus, sentences)
        model.contextual = reader
        encoded = with_states(encoded, sentences, model)
    covered = _place_vectors(model, vocabulary, encoded, resolved.vectors)
    started = _copy_base(model, vocabulary, resolved.base, config.train.init_from)
    if config.train.lm_loss:
        add_language_loss(model, config, words)
    if fits:
        _fit(task, config, model, sentences, encoded, vocabulary, on_pass)
    return Prepared(
        task=task,
        config=config,
        criterion=resolved.criterion,
        corpus=resolved.corpus,
        vocabulary=vocabulary,
        model=model.to(device),
        encoded=encoded,
        singletons=_singletons(vocabulary, counts),
        device=device,
        vectors=covered,
        by_size=resolved.by_size,
        started=started,
    )


def fit(prepared: Prepared, on_pass: Callable[[int], None]) -> None:
    """Fit what is fitted before the first step, if `prepare` has not done so; on a CPU."""
    task, config, encoded = prepared.task, prepared.config, prepared.encoded
    sentences = task.examples(config, prepared.corpus.train)
    _fit(task, config, prepared.model, sentences, encoded, prepared.vocabulary, on_pass)


def _fit(
    task: Task,
    config: Config,
    model: Model,
    sentences: Sequence[Sentence],
    encoded: Examples,
    vocabulary: Vocabulary,
    on_pass: Callable[[int], None],
) -> None:
    # Without a limit of time nothing depends on the clock.
    limit_s = 60 * config.train.max_minutes or math.inf
    with chosen_threads():  # also where no run is around it
        task.fit(model, FitCorpus(sentences, encoded, vocabulary, _FIT_SHARE * limit_s, on_pass))


def _vocabulary(resolved: Resolved) -> tuple[Vocabulary, Counter[str]]:
    """All strings that have ids, and how often each word occurs in the training corpus."""
    task, config, base = resolved.task, resolved.config, resolved.base
    sentences, vectors = resolved.sentences, resolved.vectors
    counts: Counter[str] = Counter()  # none of a task whose vocabulary is its own
    own = task.vocabulary(config, sentences)
    if own is None:
        own, counts = _learn_vocabulary(
            config,
            sentences,
            task.labels(config, sentences),
            vectors.words if vectors else (),
            base.vocabulary if base else None,
        )
    own = extend_vocabulary(own, config, base) if base else own
    return replace(own, vectors=_vectors(resolved)), counts


def _vectors(resolved: Resolved) -> tuple[VectorColumn, ...]:
    """What standardises columns of numbers, of which every split has been checked.

    Raises:
        DataError: a token has not the numbers that the first one has, or the base model reads.
    """
    names, base, corpus = resolved.config.data.vector_columns, resolved.base, resolved.corpus
    if not names:
        return ()
    # Weights of a base model are for numbers as it reads them.
    known = base.vocabulary.vectors if base else ()
    sizes = [len(column.mean) for column in known]
    sizes = (
        sizes or [len(each[0]) for each in corpus.train.sentences[0].vectors] or [1] * len(names)
    )
    for split in (corpus.train, corpus.dev, corpus.test):
        for sentence in split.sentences if split else ():
            check_vectors(sentence, sizes, names, split.path if split else "")
    return known or learn_vectors(resolved.sentences)


def _learn_vocabulary(
    config: Config,
    sentences: Sequence[Sentence],
    labels: Labels,
    vector_words: tuple[str, ...],
    base: Vocabulary | None,
) -> tuple[Vocabulary, Counter[str]]:
    """All strings of the training corpus that have ids, and how often each word occurs.

    Args:
        config: resolved.
        sentences: of the training corpus, as the model learns them.
        labels: of the task.
        vector_words: words with a pretrained vector.
        base: of the model that training starts from, whose units are kept; None without one.
    """
    options = config.embeddings
    surfaces = count_surfaces(sentences)
    units = base.units if base else _units(config, surfaces)
    counts, chars = _counted(config, surfaces, units)
    affixes = frequent_affixes(surfaces) if fixed(options.affix_dim) else ()
    by_frequency = most_frequent(counts)
    keys = [word for word in by_frequency if counts[word] >= options.min_count]
    if units and units.instead_of == "words" and units.known:
        keys = [*by_frequency]  # data.bpe_size decides how many there are
    if options.freeze_vectors:  # a word with a pretrained vector gets no trained one
        rows = dict.fromkeys(vector_words, 1)
        keys = [key for key in keys if first_known(key, rows.get) is None]
    found = Vocabulary(
        words=tuple(keys),
        vector_words=vector_words,
        only_vectors=options.freeze_vectors,
        chars=chars,
        affixes=affixes,
        tags=labels.tags,
        classes=labels.classes,
        features=tuple(
            most_frequent(value for s in sentences for value in s.features[column])
            for column in range(len(config.data.feature_columns))
        ),
        lowercase=options.lowercase,
        normalize_digits=options.normalize_digits,
        columns=labels.columns,
        # In the order of the corpus, which is the same in every process.
        forms=tuple(dict.fromkeys(w for s in sentences for w in s.words)) if labels.columns else (),
        units=units,
    )
    return found, counts


def _units(config: Config, surfaces: Counter[str]) -> UnitReading | None:
    """The units that data.unit names, learnt from the training corpus."""
    options = config.embeddings
    # In the form in which they will be cut; a tagger's characters keep their case.
    forms = (
        count_words(surfaces, options.lowercase, options.normalize_digits)
        if config.reads_units
        else surfaces
    )
    instead_of: Literal["words", "characters"] = "words" if config.reads_units else "characters"
    return learn_units(config.data.unit, instead_of, forms.elements(), config.data.bpe_size)


def _counted(
    config: Config, surfaces: Counter[str], units: UnitReading | None
) -> tuple[Counter[str], tuple[str, ...]]:
    """How often each word occurs, or each unit in place of words; and the characters."""
    counts = count_words(surfaces, config.embeddings.lowercase, config.embeddings.normalize_digits)
    if units is None:
        # Characters are those of the words as written: lowercasing does not apply to them.
        return counts, most_frequent(count_chars(surfaces))
    if units.instead_of == "characters":
        return counts, units.known or ()
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for unit in units.cut(word):
            found[unit] += count
    if units.known:
        # All of them, as new text has others. None is rare: as no unit of new text is unknown, none
        # is read as the unknown one in training.
        found = Counter({unit: max(2, found[unit]) for unit in units.known})
    return found, most_frequent(count_chars(found))


def _encode(resolved: Resolved, vocabulary: Vocabulary, words: tuple[str, ...]) -> Examples:
    """The training corpus as ids; `words` are those that train.lm_loss predicts."""
    task, config, sentences = resolved.task, resolved.config, resolved.sentences
    beside = {}
    if config.train.lm_loss:
        beside[LANGUAGE] = language_target(config, sentences, words)
    weights = _weights(task, config, resolved.corpus.train)
    return task.encode(config, sentences, vocabulary, weights, beside)


def _weights(task: Task, config: Config, train: Split) -> list[float] | None:
    """The weight of each example: every window of a long sentence has that of the sentence."""
    if train.weights is None:
        return None
    return [
        weight
        for sentence, weight in zip(train.sentences, train.weights, strict=True)
        for _ in task.examples(config, replace(train, sentences=(sentence,)))
    ]


def _place_vectors(
    model: Model, vocabulary: Vocabulary, encoded: Examples, vectors: Vectors | None
) -> tuple[int, int] | None:
    """Put the vectors into the model's tables of words.

    Returns:
        How many distinct words, as they are written, have a vector, and how many words there are;
        None without vectors.
    """
    if vectors is None:
        return None
    assert isinstance(encoded, Encoded)  # as of all tasks that read words with vectors
    words, rows = encoded.indexed.distinct, encoded.encoded_words.vector_rows
    # Vectors have forms of their own: "Haus" may have one, and "haus", as which it is learnt, none.
    # Numbers are many words with one trained vector, which is not at zero where some have vectors.
    found = (word for word, row in zip(words, rows.tolist(), strict=True) if row)
    spelled = {word_key(word, vocabulary.lowercase, False) for word in found}
    known = [word in spelled or vocabulary.vector_row(word) > 0 for word in vocabulary.words]
    for member in model.members:
        placed = torch.tensor([False] * RESERVED + known)
        member.embed.words.place(torch.from_numpy(vectors.table), placed)
    return int((rows > 0).sum()), len(rows)


def _copy_base(model: Model, vocabulary: Vocabulary, base: Bundle | None, name: str) -> str:
    """Copy the weights of the base model called `name`; what was copied, in a sentence."""
    if base is None:
        return ""
    copied = copy_weights(model, base, vocabulary, name)
    kept = [head for head, fit in copied.heads.items() if fit]
    fresh = [_titled(head) for head, fit in copied.heads.items() if not fit]
    units = vocabulary.units if vocabulary.reads_units else None
    unit = "word" if units is None else UNIT_KINDS[units.units.kind].name
    more = len(vocabulary.words) - copied.words
    fresh += [*copied.added, *([plural(more, unit)] if more else [])]
    heads = f" and {_titled(listed(kept))}" if kept else ""
    left = f"; left out: {listed(copied.left_out)}" if copied.left_out else ""
    new = f"; new: {', '.join(fresh)}" if fresh else ""
    return f"embeddings, encoder{heads} from {shown_name(name)}{new}{left}"


def _titled(titles: str) -> str:
    """The heads of these titles; a language model has only one, without a title."""
    return "head" if titles == "head" else f"head of {titles}"


def _singletons(vocabulary: Vocabulary, counts: Counter[str]) -> torch.Tensor:
    """(word ids,) bool, True of words that occur once in the training corpus."""
    once = [counts[word] == 1 for word in vocabulary.words]
    return torch.tensor([False] * RESERVED + once)
