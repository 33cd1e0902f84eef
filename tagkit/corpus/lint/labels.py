"""Checks of labels: two spellings of one, rare and joined ones, a single one, ones train lacks.

Of tags: their scheme and how sure it is, steps that it forbids, mixtures, odd tags.
"""

from collections import Counter
from collections.abc import Iterator, Sequence, Set

from tagkit.corpus.formats.columns.conllu import KEY
from tagkit.corpus.formats.tables.text_columns import is_noted
from tagkit.corpus.lint.file_contents import ReadFile, classes_of, line_of
from tagkit.corpus.lint.findings import CorpusFinding, Search, Severity
from tagkit.corpus.lint.spelling import corrections, variants
from tagkit.corpus.source.layout import CONLLU
from tagkit.corpus.splits.joined_classes import JOINED_REMEDY, joined_classes, joined_problem
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Judgement, Step, steps_of
from tagkit.text.schemes import DISPLAY, SPAN_SCHEMES, has_spans
from tagkit.wording import first_of, plural, quoted, shown_name

_FEW = 5  # a label with fewer examples is hardly learnt, and its score is mostly chance
_MOST_SHOWN = 12
_MOST_KINDS = 8  # of forbidden steps that are listed one by one
# With at least so many texts it is odd that every second one has a label of its own: probably a
# column of IDs or of texts was taken for that of labels.
_TEXTS = 20


def check_labels(read: ReadFile, is_train: bool) -> Search:
    """What is odd about a file's labels, each by itself."""
    counts = read.labels
    pairs = variants(counts, plain=read.has_tags and not read.has_spans)
    lines = _LabelLines(read, {other for _, other in pairs})

    def findings() -> Iterator[CorpusFinding]:
        yield from _too_few_or_many(read, counts, is_train)
        for one, other in pairs:
            yield CorpusFinding(
                "warning",
                "label-spelling",
                read.path,
                f"{quoted(one)} ({counts[one]:,}) and {quoted(other)} ({counts[other]:,}) may be "
                "the same label",
                counts[other],
                tuple(lines.found[other]),
            )
        if is_train:  # in dev and test a rare label costs nothing
            yield from _few_examples(read, counts)

    return Search(findings, lines.see if pairs else None)


class _LabelLines:
    """The lines of some labels of a file."""

    def __init__(self, read: ReadFile, wanted: Set[str]) -> None:
        self.read = read
        self.found: dict[str, list[int]] = {label: [] for label in wanted}

    def see(self, sentence: Sentence) -> None:
        for label, line in self.read.labelled(sentence):
            if label in self.found:
                self.found[label].append(line)

    def see_classes(self, sentence: Sentence) -> None:
        for label, line in classes_of(sentence):
            if label in self.found:
                self.found[label].append(line)

    def all(self) -> tuple[int, ...]:
        return tuple(sorted(line for lines in self.found.values() for line in lines))


def _few_examples(read: ReadFile, counts: Counter[str]) -> Iterator[CorpusFinding]:
    rare = sorted(
        # One that is perhaps the name of a column needs no examples.
        (x for x in counts if counts[x] < _FEW and not is_noted(x, read.notes)),
        key=counts.__getitem__,
    )
    if rare:
        yield CorpusFinding(
            "note",
            "few-examples",
            read.path,
            f"{plural(len(rare), 'label')} with fewer than {_FEW} examples: {shown(rare, counts)}",
            len(rare),
        )


def check_joined(read: ReadFile) -> Search:
    """Classes that are several ones in one cell, with their lines."""
    joined = joined_classes(read.column.classes)
    lines = _LabelLines(read, {*joined})

    def findings() -> Iterator[CorpusFinding]:
        if joined:
            numbers = lines.all()
            message = f"{joined_problem(joined)}. {JOINED_REMEDY}"
            yield CorpusFinding(
                "warning", "joined-classes", read.path, message, len(numbers), numbers
            )

    return Search(findings, lines.see_classes if joined else None)


def _too_few_or_many(
    read: ReadFile, counts: Counter[str], is_train: bool
) -> Iterator[CorpusFinding]:
    """Files from which nothing can be learnt."""
    if read.refusal is not None:  # what follows there may be all that is missing
        return
    severity: Severity = "error" if is_train else "warning"
    if read.only_outside():
        message = "every tag is O: there is nothing to learn or to score"
        yield CorpusFinding(severity, "only-O", read.path, message)
    elif len(counts) == 1 and not read.has_spans:
        (label,) = counts
        message = f"{quoted(label)} is the only label"
        if label == "_" and read.format.name == CONLLU:  # the sign of an empty cell
            message = (
                f"{message}. Name the column of the tags, for example with "
                f"data.tag_column=MISC.{KEY}"
            )
        yield CorpusFinding(severity, "one-label", read.path, message)
    elif not read.has_spans and counts.total() >= _TEXTS and 2 * len(counts) > counts.total():
        message = (
            f"{len(counts):,} distinct labels of {counts.total():,} examples: are they those of a "
            "column that holds no labels?"
        )
        is_useless = len(counts) == counts.total()  # ids, or texts themselves
        yield CorpusFinding(
            severity if is_useless else "warning", "many-labels", read.path, message
        )


def check_unknown_labels(train: ReadFile, other: ReadFile) -> Iterator[Search]:
    """Labels that train lacks, with all examples of them."""
    yield _unknown(train, other, "label", train.labels.keys(), other.labels)
    # Of texts with classes alone the classes are the labels, and have just been compared.
    if train.has_tags and other.has_tags:
        yield _unknown(train, other, "class", train.column.classes.keys(), other.column.classes)


def _unknown(
    train: ReadFile, other: ReadFile, what: str, known: Set[str], ours: Counter[str]
) -> Search:
    # Where train has no labels at all, that is an error of its own.
    counts = Counter({label: ours[label] for label in ours if known and label not in known})
    lines = _LabelLines(other, counts.keys())

    def findings() -> Iterator[CorpusFinding]:
        if counts:
            yield CorpusFinding(
                "warning",
                f"unknown-{what}",
                other.path,
                f"{plural(len(counts), what)} that {train.path} lacks, so that no model can find "
                f"{'them' if len(counts) > 1 else 'it'}: {shown([*counts], counts)}",
                counts.total(),
                lines.all(),
            )

    see = lines.see if what == "label" else lines.see_classes
    return Search(findings, see if counts else None)


def shown(labels: Sequence[str], counts: Counter[str]) -> str:
    """Labels with their counts, the first dozen."""
    first = [
        f"{shown_name(label) or repr('')} ({counts[label]:,})" for label in labels[:_MOST_SHOWN]
    ]
    return first_of(first, len(labels))


def scheme_text(read: ReadFile) -> str:
    """The scheme of a file's tags and how sure it is, for people."""
    judged = read.judged
    if judged is None:
        return "classes" if read.scheme == "classes" else "no labels"
    if not has_spans(judged.scheme):
        return "plain labels"
    if read.only_outside():
        return "every tag is O"
    found = judged.detection
    steps = plural(found.transitions, "transition")
    mine = f"{found.illegal:,} of {steps} illegal" if found.illegal else f"all {steps} legal"
    odd = f"; {plural(len(judged.odd), 'tag')} of no scheme" if judged.odd else ""
    if judged.is_named:
        return f"{DISPLAY[found.scheme]}, as data.scheme says ({mine}{odd})"
    return f"{DISPLAY[found.scheme]} ({mine}; {_rival(read, judged)}{odd})"


def _rival(read: ReadFile, judged: Judgement) -> str:
    """The scheme that fits next best, or all that fit as well."""
    # All are compared, as a corpus without spans of two words fits nearly every scheme. IOBES and
    # BMES are one, but for the letter inside of spans of three words: no file is in doubt of it.
    others = {
        scheme: judged.fits(read.steps, scheme)
        for scheme in SPAN_SCHEMES
        if scheme != judged.scheme and {scheme, judged.scheme} != {"iobes", "bmes"}
    }
    least = min(others.values())
    names = [DISPLAY[scheme] for scheme, count in others.items() if count == least]
    if least == judged.detection.illegal:
        return f"not sure: {' and '.join(names)} fit{'s' if len(names) == 1 else ''} as well"
    return f"next best is {names[0]} with {least:,} illegal"


def check_tags(read: ReadFile) -> Iterator[Search]:
    """Tags of no scheme, and steps that the file's scheme forbids."""
    judged = read.judged
    if judged is None or not has_spans(judged.scheme):
        return
    if judged.odd:
        yield _odd_tags(read, judged)
    if judged.detection.illegal:
        # Asked once for each kind of step, not for each of millions of tokens.
        forbidden = {step for step in read.steps if judged.forbids(step)}
        yield _illegal_steps(read, judged, forbidden)
        yield _mixed_schemes(read, judged, forbidden)


def _odd_tags(read: ReadFile, judged: Judgement) -> Search:
    lines: dict[str, list[int]] = {}

    def see(sentence: Sentence) -> None:
        for place, tag in enumerate(sentence.tags or ()):
            if tag in judged.odd:
                lines.setdefault(tag, []).append(line_of(sentence, place))

    def findings() -> Iterator[CorpusFinding]:
        known = corrections(judged.odd, read.column.tags, 1)
        expected = "a span scheme, as most here are (B-LABEL, I-LABEL, O)"
        if judged.is_named:
            expected = f"{DISPLAY[judged.scheme]}, which data.scheme names"
        # The most frequent first: a wrong separator (B_PER) makes many of one kind.
        for tag, found in sorted(lines.items(), key=lambda pair: -len(pair[1])):
            guess = f"; is {shown_name(known[tag])} meant?" if tag in known else ""
            yield CorpusFinding(
                "error",
                "tag-of-no-scheme",
                read.path,
                f"tag {quoted(tag)} is none of {expected}: {plural(len(found), 'time')}{guess}",
                len(found),
                tuple(found),
            )

    return Search(findings, see)


def _illegal_steps(read: ReadFile, judged: Judgement, forbidden: Set[Step]) -> Search:
    lines: dict[Step, list[int]] = {}

    def see(sentence: Sentence) -> None:
        for place, step in enumerate(steps_of(sentence.tags or ())):
            if step in forbidden:
                # The step to the end of a sentence is reported on the line of its last word.
                last = min(place, len(sentence) - 1)
                lines.setdefault(step, []).append(line_of(sentence, last))

    def findings() -> Iterator[CorpusFinding]:
        scheme = DISPLAY[judged.scheme]
        ordered = sorted(lines.items(), key=lambda pair: -len(pair[1]))
        for (before, after), found in ordered[:_MOST_KINDS]:
            yield CorpusFinding(
                "error",
                "illegal-transition",
                read.path,
                f"{shown_name(before)} -> {shown_name(after)} is illegal in {scheme}: "
                f"{plural(len(found), 'time')}",
                len(found),
                tuple(found),
            )
        if rest := ordered[_MOST_KINDS:]:
            numbers = sorted(line for _, found in rest for line in found)
            yield CorpusFinding(
                "error",
                "illegal-transition",
                read.path,
                f"{plural(len(rest), 'more kind')} of transitions are illegal in {scheme}: "
                f"{plural(len(numbers), 'time')}",
                len(numbers),
                tuple(numbers),
            )

    return Search(findings, see)


def _mixed_schemes(read: ReadFile, judged: Judgement, forbidden: Set[Step]) -> Search:
    """Sentences that another scheme allows, where it allows most that this one does not."""
    lines: dict[str, list[int]] = {}
    bad = 0

    def see(sentence: Sentence) -> None:
        nonlocal bad
        steps = set(steps_of(sentence.tags or ()))
        if steps.isdisjoint(forbidden):
            return
        bad += 1
        for other in SPAN_SCHEMES:
            if other != judged.scheme and not any(judged.forbids(step, other) for step in steps):
                lines.setdefault(other, []).append(line_of(sentence, 0))

    def findings() -> Iterator[CorpusFinding]:
        if not lines:
            return
        other, found = max(lines.items(), key=lambda pair: len(pair[1]))
        # Half of the broken sentences or more: then it is no matter of single mistakes, but two
        # corpora in different schemes were put together.
        if len(found) > 1 and 2 * len(found) > bad:
            yield CorpusFinding(
                "error",
                "mixed-schemes",
                read.path,
                f"{plural(len(found), 'sentence')} in {DISPLAY[other]}, not in "
                f"{DISPLAY[judged.scheme]} as the others",
                len(found),
                tuple(found),
            )

    return Search(findings, see)
