"""What a check looks for: one function a check, and the table of them.

Each is given the summary of a file and those of the files before it, and finds what is wrong
without reading anything again.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

from tagkit.corpus.formats.columns.conllu import KEY
from tagkit.corpus.formats.tables.text_columns import is_noted
from tagkit.corpus.lint.findings import Severity, labels_text
from tagkit.corpus.lint.odd_lines import ODDITIES
from tagkit.corpus.lint.summary import Locator, Summary, digest_of, length_of, words_of
from tagkit.corpus.source.layout import CONLLU
from tagkit.corpus.source.source import source_name
from tagkit.corpus.splits.counts import LONG, are_counted
from tagkit.corpus.splits.joined_classes import JOINED_REMEDY, joined_classes, joined_problem
from tagkit.errors import FormatError, TagkitError
from tagkit.text.schemes import DISPLAY, OUTSIDE
from tagkit.wording import first_of, plural, quoted, shown_name

TEXT = "text"  # the format of plain lines
_FEW = 5  # a label with fewer examples is hardly learnt, and its score is mostly chance
# With at least so many texts it is odd that every second one has a label of its own: probably a
# column of IDs or of texts was taken for that of labels.
_TEXTS = 20
_IN_RUNS = 10  # one label of so many repeats the one before it, where they are types of spans
_SHARED = 0.01  # share of long sentences that are in train too, from which it is worth a warning
_REPEATED = 0.02  # share of long sentences that are repeated, likewise
_MOST_SHOWN = 10  # words with several labels
_LENGTHS = {True: f"of {LONG} tokens or more", False: f"under {LONG} tokens"}
_SHORT = 5  # letters of a label; shorter ones differ in one as a rule (NN, NNS)
_RARE = 3  # examples that a slip of the pen may have
_RARER = 4  # times as frequent must the other be
_MAX_LABELS = 1000  # labels; more are no set of labels, and their pairs too many to look at
# Between digits a sign tells labels apart: 1.1 is not 11.
_SIGNS = re.compile(r"(?<![0-9])[-_. ]+|[-_. ]+(?![0-9])")
# Soft hyphen, zero-width space, marks of direction, word joiner, byte order mark, and the Mongolian
# vowel separator: a word with one of them looks like the word without, and is another one.
_INVISIBLE = frozenset("\u00ad\u200b\u200e\u200f\u2060\ufeff\u180e")


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding whose lines are still to be looked up.

    Attributes:
        severity: as of a `CorpusFinding`.
        kind: likewise.
        message: likewise.
        count: likewise.
        where: finds things in a sentence, of which those among `items` are odd; None where `lines`
            has all lines.
        items: see `where`.
        skip: how many times each of them may occur, being odd from then on.
        lines: that are known.
        file: where it is, if it is not the file of the summary.
    """

    severity: Severity
    kind: str
    message: str
    count: int = 1
    where: Locator | None = None
    items: Collection[Hashable] = ()
    skip: int = 0
    lines: Sequence[int] = ()
    file: str = ""


Check = Callable[[Summary, Sequence[Summary]], Iterator[Problem]]


def _unreadable(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """Lines, or a whole file, that cannot be read."""
    for error in (*file.errors, file.refusal):
        if error is not None:
            yield _of_error(file.path, error)
    if not (file.number or file.errors or file.refusal):
        yield Problem("error", "empty", "holds no sentence")


def _of_error(path: str, error: TagkitError) -> Problem:
    """An error as a finding, whose file and line stand apart from its message."""
    name = source_name(path)
    line, source = (error.line, error.source) if isinstance(error, FormatError) else (0, name)
    message = str(error).removeprefix(f"{source}:{line}: ").removeprefix(f"{source}: ")
    # In a folder it is about one of its files.
    return Problem(
        "error", "unreadable", message, lines=(line,), file="" if source == name else source
    )


def _notes_of_reader(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    for note in dict.fromkeys(file.notes):  # each once, as readers repeat themselves
        line = re.match(re.escape(file.path) + r":([0-9]+): ", note)
        message = note.removeprefix(line[0] if line else f"{file.path}: ")
        yield Problem("note", "reader", message, lines=(int(line[1]),) if line else ())


def _no_labels(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """A corpus of no labels: an error, unless it was named as plain text, as that is."""
    if not file.number or file.scheme is not None:
        return
    holds = "holds no tags, spans or classes, without which only a language model can be trained"
    if file.data.format == TEXT:
        yield Problem("note", "no-labels", holds)
        return
    message = (
        f"{holds}: it is read as {file.format.name} (data.format={TEXT} is for the text of a "
        "language model; data.format chooses another format)"
    )
    yield Problem("error", "no-labels", message)


def _odd_tags(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    for column in file.columns:
        if not (judged := column.spans):
            continue
        meant = {rare: tag for tag, rare in variants(column.tags, plain=True)}
        expected = "a span scheme, as most here are (B-LABEL, I-LABEL, O)"
        if judged.is_named:
            expected = f"{DISPLAY[judged.scheme]}, which data.scheme names"
        # The most frequent first: a wrong separator (B_PER) makes many of one kind.
        for tag, count in column.tags.most_common():
            if tag in judged.odd:
                known = meant.get(tag, tag)
                guess = "" if known in judged.odd else f"; is {shown_name(known)} meant?"
                message = f"{column.said}tag {quoted(tag)} is none of {expected}: "
                message += f"{plural(count, 'time')}{guess}"
                yield Problem("error", "tag-of-no-scheme", message, count, column.tags_of, {tag})


def _illegal_transitions(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    for column in file.columns:
        if not (judged := column.spans):
            continue
        # Asked once for each kind of step, not for each of millions of tokens.
        illegal = Counter({each: n for each, n in column.steps.items() if judged.forbids(each)})
        for step, count in illegal.most_common():
            kind = f"{shown_name(step[0])} -> {shown_name(step[1])}"
            message = f"{column.said}{kind} is illegal in {DISPLAY[judged.scheme]}: "
            message += plural(count, "time")
            yield Problem("error", "illegal-transition", message, count, column.steps_of, {step})


def _useless_labels(file: Summary, earlier: Sequence[Summary]) -> Iterator[Problem]:
    """Labels from which nothing can be learnt."""
    if file.refusal is not None:  # what follows there may be all that is missing
        return
    severity: Severity = "warning" if earlier else "error"
    for labels in file.learnt:
        counts, total = labels.labels, labels.labels.total()
        if labels.only_outside():
            message = f"{labels.said}every tag is O: there is nothing to learn or to score"
            yield Problem(severity, "only-O", message)
        elif len(counts) == 1 and not labels.spans:
            (label,) = counts
            message = f"{labels.said}{quoted(label)} is the only label"
            if label == "_" and file.format.name == CONLLU:  # the sign of an empty cell
                column = f"data.tag_column=MISC.{KEY}"
                remedy = "Name the column of the tags, for example with "
                yield Problem(severity, "one-label", f"{message}. {remedy}{column}")
            else:
                yield Problem(severity, "one-label", message)
        elif not labels.spans and total >= _TEXTS and 2 * len(counts) > total:
            message = f"{labels.said}{len(counts):,} distinct labels of {total:,} examples: "
            message += "do they come from a column that holds no labels? Strings to be written "
            message += "for texts are learnt with task=transduce"
            # Nothing is learnt of ids, or of the texts themselves.
            yield Problem(severity if len(counts) == total else "warning", "many-labels", message)


def _labels_in_runs(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """Labels that may be types of spans: beside O, the commonest, the same one comes in runs."""
    column = file.columns[0]
    counts = Counter() if column.spans else column.tags
    others = counts.total() - counts[OUTSIDE]
    repeated = {pair: n for pair, n in column.steps.items() if pair[0] == pair[1] != OUTSIDE}
    is_commonest = counts[OUTSIDE] == max(counts.values(), default=0)
    if others and is_commonest and _IN_RUNS * sum(repeated.values()) >= others:
        label = shown_name(max(repeated, key=repeated.__getitem__)[0])
        message = f"labels beside O come in runs ({label} {label}): if they are types of spans, "
        message += "data.scheme=io reads them so, and neighbours of one type as one span"
        yield Problem("note", "labels-in-runs", message, sum(repeated.values()))


def _label_spelling(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """Labels that may be one label, spelt in two ways."""
    for labels in file.learnt:
        counts = labels.labels
        for one, other in variants(counts, plain=labels.what == "label" and not labels.spans):
            message = f"{labels.said}{quoted(one)} ({counts[one]:,}) and {quoted(other)} "
            message += f"({counts[other]:,}) may be the same label"
            yield Problem(
                "warning", "label-spelling", message, counts[other], labels.labels_of, {other}
            )


def variants(counts: Counter[str], *, plain: bool) -> list[tuple[str, str]]:
    """Pairs of labels that look like one, the more frequent first.

    They differ in case or punctuation alone, or, unless they are `plain` ones such as parts of
    speech, in one letter where the rarer has at most three examples or one in a hundred.
    """
    # Labels by what is left of them without case and punctuation: B-PER and b_per share a form.
    by_form: dict[str, list[str]] = {}
    for label, _ in counts.most_common():
        by_form.setdefault(_form(label), []).append(label)
    pairs = [(group[0], other) for form, group in by_form.items() if form for other in group[1:]]
    firsts = [group[0] for form, group in by_form.items() if len(form) >= _SHORT]
    # One letter apart is how parts of speech are made: NN and NNS, VBD and VBN.
    if plain or len(firsts) > _MAX_LABELS:
        return pairs
    for often, rare in combinations(firsts, 2):  # most_common() had them in this order
        if (
            counts[rare] <= max(_RARE, counts[often] // 100)
            and _RARER * counts[rare] <= counts[often]
            and _one_letter_apart(_form(often), _form(rare))
        ):
            pairs.append((often, rare))
    return pairs


def _form(label: str) -> str:
    return _SIGNS.sub("", label.casefold())


def _one_letter_apart(one: str, other: str) -> bool:
    """Whether one letter was changed, left out or put in; digits tell labels apart on purpose."""
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    start = next((i for i, char in enumerate(one) if char != other[i]), len(one))
    rest = one[start + 1 :] if len(one) == len(other) else one[start:]
    changed = other[start : start + 1] + (one[start : start + 1] if len(one) == len(other) else "")
    return rest == other[start + 1 :] and not any(char.isdigit() for char in changed)


def _few_examples(file: Summary, earlier: Sequence[Summary]) -> Iterator[Problem]:
    for labels in () if earlier else file.learnt:  # in dev and test a rare label costs nothing
        counts = labels.labels
        # One that is perhaps the name of a column needs no examples.
        few = [x for x in counts if counts[x] < _FEW and not is_noted(x, file.notes)]
        if few:
            rare = labels_text(
                {label: counts[label] for label in sorted(few, key=counts.__getitem__)}
            )
            message = f"{labels.said}{plural(len(few), 'label')} with fewer than {_FEW} examples: "
            yield Problem("note", "few-examples", message + rare, len(few))


def _joined_classes(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    classes = file.classes
    if joined := joined_classes(classes.tags):
        count = sum(classes.tags[label] for label in joined)
        message = f"{joined_problem(joined)}. {JOINED_REMEDY}"
        yield Problem("warning", "joined-classes", message, count, classes.tags_of, {*joined})


def _long_sentences(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """Sentences so long that blank lines may be missing in them."""
    if not file.has_tags:
        return
    # Ten times the usual length; between 200, as some sentences of the law are that long, and 512,
    # over which tagging goes in windows anyway.
    limit = max(200, min(512, 10 * file.quantile(0.9)))
    lengths = {length: count for length, count in file.lengths.items() if length > limit}
    if lengths:
        count = sum(lengths.values())
        message = f"{plural(count, 'sentence')} over {limit} tokens, the longest of "
        message += f"{max(lengths):,} (are blank lines missing?)"
        yield Problem("warning", "long-sentence", message, count, length_of, lengths)


def _counted_words(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """Words that are the numbers of a sentence's words."""
    if file.format.is_grid and are_counted(file.first):
        said = "the words are numbers that count up in each sentence. Name the column of its "
        message = f"{said}words: data.token_column=1 for one"
        yield Problem("error", "counted-words", message)


def _odd_texts(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """Words and labels with characters that nobody typed on purpose."""
    texts: list[tuple[str, Locator, Counter[str]]] = [("word", words_of, file.words)]
    texts += [(each.what, each.tags_of, each.tags) for each in (*file.columns, file.classes)]
    found: list[Problem] = []
    for what, where, counts in texts:
        # By what is odd: each with what is said of the first of such texts.
        odd: dict[tuple[Severity, str, str], dict[str, str]] = {}
        for text in counts:
            for severity, kind, key, said in _oddities(text):
                odd.setdefault((severity, kind, key), {})[text] = said
        for (severity, kind, __), such in odd.items():
            count, text = sum(map(counts.__getitem__, such)), next(iter(such))
            message = f"{plural(count, what)} such as {quoted(text, 40)}, {such[text]}"
            found.append(Problem(severity, kind, message, count, where, such))
    yield from sorted(found, key=lambda each: -each.count)


def _oddities(text: str) -> Iterator[tuple[Severity, str, str, str]]:
    """What is odd in a text: severity, kind, what tells it from others of its kind, a phrase."""
    if text.isascii() and text.isprintable():  # most words of most corpora
        return
    for char in sorted({*filter(_is_odd, text)}):
        yield "warning", "odd-character", char, f"with U+{ord(char):04X} ({_name(char)})"
    if meant := _read_as_utf8(text):
        said = f"which is {quoted(meant, 40)} if its bytes are read as UTF-8: the text was decoded "
        yield "warning", "twice-encoded", "", f"{said}wrongly, here or before"
    # UAX #15. Both spellings of an accented letter look alike and have different vectors.
    if not unicodedata.is_normalized("NFC", text):
        said = "not in the composed form of Unicode (NFC): another text than the one that looks "
        yield "note", "not-NFC", "", f"{said}the same"


def _is_odd(char: str) -> bool:
    # Controls, private use, unassigned, line and paragraph separators, and U+FFFD, which decoders
    # put in place of what they cannot read.
    kind = unicodedata.category(char)
    return kind in ("Cc", "Co", "Cn", "Zl", "Zp") or char in _INVISIBLE or char == "\ufffd"


def _name(char: str) -> str:
    # C1 controls, which nobody types: bytes of Windows-1252 that were read as Latin-1.
    if "\x80" <= char <= "\x9f":
        return "a control character, where Windows-1252 has quotes and dashes: a wrong encoding?"
    return unicodedata.name(char, "a control character")


def _read_as_utf8(text: str) -> str:
    """The text that its bytes in Windows-1252 or Latin-1 are in UTF-8; empty if they are none."""
    for encoding in ("cp1252", "latin-1"):
        with suppress(UnicodeError):
            meant = text.encode(encoding).decode()
            return "" if text.isascii() else meant
    return ""


def _duplicates(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """Sentences that occur again in a file."""
    for long, size in _LENGTHS.items():
        again = {key: n for key, n in file.again.items() if key & 1 == long}
        if count := sum(again.values()):
            # Short ones ("Thank you.") repeat in every corpus.
            many = long and count > _REPEATED * file.number
            message = f"{plural(count, file.unit)} {size} {_verb('repeat', count)} an earlier one"
            severity: Severity = "warning" if many else "note"
            yield Problem(severity, "duplicate", message, count, digest_of, again, skip=1)


def _contradictions(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    if count := len(file.contradicting):
        said = f"{plural(count, file.unit)} {_verb('occur', count)} with different labels"
        yield Problem("warning", "contradiction", said, count, digest_of, file.contradicting)


def _verb(verb: str, count: int) -> str:
    return verb if count > 1 else f"{verb}s"


def _ambiguous_entities(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """Words of spans that have different labels in different places."""
    column = file.columns[0]
    if not column.spans:
        return
    labels: dict[tuple[str, ...], Counter[str]] = {}
    for (words, label), times in column.entities.items():
        labels.setdefault(words, Counter())[label] = times
    several = {words: counts for words, counts in labels.items() if len(counts) > 1}
    if several:
        # By the number of examples beside the commonest label: those are either mistakes or hard.
        worst = sorted(several.items(), key=lambda pair: max(pair[1].values()) - pair[1].total())
        shown = first_of([_labelled(*each) for each in worst[:_MOST_SHOWN]], len(several))
        message = f"{len(several):,} of {len(labels):,} distinct entities occur with several labels"
        yield Problem("note", "ambiguous-surface", f"{message}: {shown}", len(several))


def _labelled(words: Sequence[str], counts: Counter[str]) -> str:
    labels = ", ".join(f"{shown_name(label)} {count:,}" for label, count in counts.most_common(4))
    return f"{quoted(' '.join(words), 40)} ({labels})"


def _odd_lines(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """Line ends, blanks and the byte order mark of a column file that was read to its end."""
    if file.refusal is None and file.format.is_grid:
        for kind, lines in file.odd_lines.found(file.facts).items():
            odd = ODDITIES[kind]
            if lines:
                said = f"{plural(len(lines), 'line')} {odd.said}" if odd.holds else odd.said
                yield Problem(odd.severity, kind, said, len(lines), lines=lines)


def _encoding(file: Summary, _: Sequence[Summary]) -> Iterator[Problem]:
    """That a file that is read in another encoding is UTF-8, which hardly happens by chance."""
    if file.refusal is None and file.number and file.facts.is_other_utf_8:
        read = f"it is read in {file.data.encoding}"
        message = f"{read}, and all of it is UTF-8 too: is that its encoding?"
        yield Problem("warning", "encoding", message)


def _train(earlier: Sequence[Summary]) -> Summary | None:
    """The training file; None if it cannot be read, so that nothing is known of the rest of it."""
    train = earlier[0] if earlier else None
    return train if train and train.number and train.refusal is None else None


def _other_scheme(file: Summary, earlier: Sequence[Summary]) -> Iterator[Problem]:
    train = _train(earlier)
    if not train or None in (train.scheme, file.scheme) or train.scheme == file.scheme:
        return
    # Training converts one span scheme to another. Plain labels, classes and spans are different
    # tasks, and such files do not belong together.
    both_spans = file.columns[0].spans and train.columns[0].spans
    severity: Severity = "note" if both_spans else "error"
    message = f"it holds {_held(file)}, and {train.path} holds {_held(train)}"
    yield Problem(severity, "other-scheme", message)


def _held(file: Summary) -> str:
    if file.scheme == "classes":
        return "classes of texts"
    return f"spans in {DISPLAY[str(file.scheme)]}" if file.columns[0].spans else "plain labels"


def _unknown_labels(file: Summary, earlier: Sequence[Summary]) -> Iterator[Problem]:
    """Labels that train lacks, with all examples of them."""
    if not (train := _train(earlier)):
        return
    pairs = [*zip(train.learnt, file.learnt, strict=False)]
    if train.has_tags and file.has_tags:
        pairs.append((train.classes, file.classes))
    for known, ours in pairs:
        # Where train has no labels at all, that is an error of its own.
        new = {x: n for x, n in ours.labels.items() if known.labels and x not in known.labels}
        if new:
            # Of texts without tags the classes are the labels.
            what = ours.what if file.has_tags else "label"
            message = f"{ours.said}{plural(len(new), what)} that {train.path} lacks, so that no "
            message += f"model can find {'them' if len(new) > 1 else 'it'}: {labels_text(new)}"
            count = sum(new.values())
            yield Problem("warning", f"unknown-{what}", message, count, ours.labels_of, new)


def _known_entities(file: Summary, earlier: Sequence[Summary]) -> Iterator[Problem]:
    """How many entities of a file are in the training file."""
    train, column = _train(earlier), file.columns[0]
    # Distinct ones: a name that comes a hundred times would hide how many are new.
    if train and column.spans and (entities := column.entities):
        known = train.columns[0].entities if train.columns[0].spans else {}
        seen = len(entities.keys() & known.keys())
        message = f"{100 * seen / len(entities):.0f} % of its {len(entities):,} distinct entities "
        yield Problem("note", "entity-overlap", f"{message}occur in {train.path}", seen)


def _overlap(file: Summary, earlier: Sequence[Summary]) -> Iterator[Problem]:
    """Sentences of a file that occur in one before it, too."""
    for place, other in enumerate(earlier):
        # By words alone: a test sentence that train has with other tags has leaked all the same.
        shared = file.labelled.keys() & other.labelled.keys()
        for long, size in _LENGTHS.items():
            found = {key: 1 + file.again[key] for key in shared if key & 1 == long}
            if count := sum(found.values()):
                of_size = (n for length, n in file.lengths.items() if (length >= LONG) == long)
                share = count / sum(of_size)
                many = not place and long and share > _SHARED
                message = f"{plural(count, file.unit)} {size} ({100 * share:.1f} %) "
                message += f"{_verb('occur', count)} in {other.path} too"
                if many:
                    message += ": scores may be too good"
                severity: Severity = "warning" if many else "note"
                yield Problem(severity, "overlap", message, count, digest_of, found)


# From the labels to the sentences to the words to other files: the order in which people correct a
# corpus.
CHECKS: Sequence[Check] = (
    _unreadable,
    _notes_of_reader,
    _no_labels,
    _odd_tags,
    _illegal_transitions,
    _useless_labels,
    _labels_in_runs,
    _label_spelling,
    _few_examples,
    _joined_classes,
    _long_sentences,
    _counted_words,
    _odd_texts,
    _duplicates,
    _contradictions,
    _ambiguous_entities,
    _odd_lines,
    _encoding,
    _other_scheme,
    _unknown_labels,
    _known_entities,
    _overlap,
)
