"""Comparison of predicted tags or classes with gold ones, in files or in records of a program.

Each side becomes `Labelled`, and from there on they are compared in one way: the tags of the same
tokens, or spans of the same characters, and the classes of the same texts. Two column files are
the exception: they are counted as they are read.

Where one or both sides hold no tokens, spans are compared by characters. White space is left out of
both texts, and what is left must be equal: a file of tokens, a folder of brat and JSON Lines of the
same corpus differ in it, and in where a record ends. Spans are places in this text. So that scores
and their averages are counted as those of tags are, the text is divided at the edges of the gold
tokens and of the spans of both sides, which every span then falls on.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise

from tagkit.config import Column, DataConfig
from tagkit.corpus.records.alignment import overlaps, side_by_side, tokens_of
from tagkit.corpus.records.answers import Answer
from tagkit.corpus.source.options import Item, silent
from tagkit.corpus.source.source import STDIN
from tagkit.errors import DataError, FormatError, SpanErrors
from tagkit.evaluation.compare.sides import columns_of_predictions, open_sides
from tagkit.evaluation.reports.class_report import (
    ClassReport,
    JointReport,
    make_class_report,
    whole_accuracy,
    with_areas,
    with_judged,
)
from tagkit.evaluation.reports.column_report import ColumnsReport, make_file_column_report
from tagkit.evaluation.reports.tag_report import (
    TagReport,
    make_tag_report,
    score_sentences,
    with_sentences,
)
from tagkit.evaluation.scores.metrics import Kind, need_labels
from tagkit.evaluation.scores.outcomes import (
    Outcomes,
    class_outcomes,
    span_outcomes,
    token_outcomes,
)
from tagkit.evaluation.scores.pairing import (
    CLASSES,
    PROBABILITIES,
    TAGS,
    Labelled,
    Spot,
    difference,
    in_gold_order,
    labelled_records,
    origin,
    paired_texts,
    predicted_tags,
    same_tokens,
    text_of,
)
from tagkit.evaluation.scores.scores import Labels
from tagkit.evaluation.scores.spans import well_formed_spans
from tagkit.text.records import Document, LabelScore, Sentence, Span, joined
from tagkit.text.scheme_detection import scheme_of
from tagkit.text.schemes import PLAIN, SpanTuple, from_spans, has_spans, span_tuples
from tagkit.text.windows import divides_any
from tagkit.wording import listed, once, plural

LabelReport = TagReport | ClassReport | JointReport | ColumnsReport
PredColumn = Column | Sequence[Column] | None


def refuse_options_of_tags(because: str, data: DataConfig, strict: bool) -> None:
    """Refuse options on spans for texts with classes, which have none.

    Raises:
        DataError: one is given.
    """
    given = {"strict=True": strict, "data.scheme": data.scheme != "auto"}
    for option, is_given in given.items():
        if is_given:
            raise DataError(f"{because}: {option} is for spans")


def compare_files(
    gold_file: str,
    predicted_file: str | None,
    data: DataConfig,
    pred_column: PredColumn,
    strict: bool,
    note: Callable[[str], None] = silent,
    *,
    keep_labels: bool = False,
    confidence: bool = False,
) -> LabelReport:
    """A report on predicted tags or spans, on predicted classes, or on both.

    Files with a tag for each token are read side by side, and no more than counts are kept of them.

    Args:
        gold_file: file with gold tags, spans or classes, in any format; tags of a column file are
            in its last column unless `data` says otherwise.
        predicted_file: file with the same tokens or texts and their predictions, in any format.
            None for predicted tags in `gold_file` itself, a column file; the gold ones are then in
            the last column but one, unless `data` says otherwise.
        data: how the files are read; its `tag_column` is that of the gold tags, its `format` that
            of the gold file.
        pred_column: of the predicted tags; None for the last one, and of CoNLL-U for the column
            that `data` names, or UPOS; of several, one for each.
        strict: count well-formed spans only.
        note: called with a sentence on the format that a file was recognised as.
        keep_labels: keep all tags and words in the report, for `verify_report` and `analyse`.
        confidence: keep the probabilities of predictions too, where JSON Lines have them.

    Raises:
        DataError: the files hold different tokens, sentences or texts, or labels of different
            kinds.
    """
    if data.tag_columns:
        return _compare_columns(gold_file, predicted_file, data, pred_column, strict, note)
    if isinstance(pred_column, Sequence) and not isinstance(pred_column, str):
        raise DataError("pred_column names several columns, and data.tag_column does not")
    gold, predicted = open_sides(
        gold_file, predicted_file, data, pred_column, note, confidence=confidence
    )
    keep_labels = keep_labels or need_labels(Kind.SPANS, Kind.TOKENS)
    if keep_labels or not (gold.has_only_tags and predicted.has_only_tags):
        return _compare(gold.read(), predicted.read(), data, strict, note)
    return score_sentences(
        (gold.name, predicted.name), (gold.sentences(), predicted.sentences()), data,
        strict=strict, remedies=(gold.remedy, predicted.remedy), note=note,
    )  # fmt: skip


def _compare_columns(
    gold_file: str,
    predicted_file: str | None,
    data: DataConfig,
    pred_column: PredColumn,
    strict: bool,
    note: Callable[[str], None],
) -> ColumnsReport:
    """The report on several tag columns, for each of which the files are read.

    Raises:
        DataError: as of `compare_files`; or they are read from standard input, have no columns, or
            as many predicted ones are not named.
    """
    columns = data.tag_columns
    behind: Sequence[Column | None]
    if STDIN in (gold_file, predicted_file):
        raise DataError("several tag columns need files: standard input is read once")
    if pred_column is None:
        behind = columns_of_predictions(gold_file, predicted_file, data)
    else:
        behind = (pred_column,) if isinstance(pred_column, str | int) else pred_column
    if len(behind) != len(columns):
        raise DataError(
            f"pred_column: expected {plural(len(columns), 'column')}, one for each of "
            f"data.tag_column, found {len(behind)}"
        )
    told, reports = once(note), []
    for gold, predicted in zip(columns, behind, strict=True):
        one = data.model_copy(update={"tag_column": gold})
        report = compare_files(
            gold_file, predicted_file, one, predicted, strict, told, keep_labels=True
        )
        if not isinstance(report, TagReport):
            raise DataError(f"{gold_file}: expected several columns of tags, found classes")
        reports.append(make_file_column_report(str(gold), report))
    return ColumnsReport(tuple(reports))


def compare_records(
    gold: Iterable[Item | Answer],
    predicted: Iterable[Item | Answer],
    data: DataConfig,
    strict: bool,
    note: Callable[[str], None] = silent,
) -> LabelReport:
    """A report as `compare_files` makes it, on records of a program.

    Args:
        gold: sentences, documents, or answers of a model.
        predicted: of the same texts, in the same order.
        data: how texts without tokens are tokenised; scheme of the gold tags.
        strict: count well-formed spans only.
        note: called with a sentence on labels that are not scored.

    Raises:
        DataError: the records hold different words, or labels of different kinds.
    """
    sides = labelled_records(gold, "gold"), labelled_records(predicted, "pred")
    names = sides[0].column_names
    if len(names) > 1:
        note(f"gold: has several tag columns; {names[0]}, the first of them, is scored")
    return _compare(*sides, data, strict, note)


def _compare(
    gold: Labelled, predicted: Labelled, data: DataConfig, strict: bool, note: Callable[[str], None]
) -> LabelReport:
    """The report on all labels that both have."""
    if not gold.items:
        raise DataError(f"{gold.name}: holds no sentence")
    if not predicted.items:
        raise DataError(f"{predicted.name}: expected the records of {gold.name}, found none")
    scored = _scored_kinds(gold, predicted, note)
    if CLASSES not in scored:
        return _tag_report(gold, predicted, data, strict)
    predicted = _with_cells_split(gold, predicted)
    texts, found = paired_texts(gold, predicted)
    ours, theirs = ([item.labels for item in items] for items in (texts, found))
    _note_other_classes(gold, predicted, note)
    # No configuration says it here. A file where each text has one class is of one class a text;
    # a prediction may also be none at all.
    several = any(len(labels) != 1 for labels in ours) or any(len(labels) > 1 for labels in theirs)
    classes = make_class_report(ours, theirs, several=several)
    scores = [_class_scores(item) for item in found]
    if all(scores):
        classes = with_areas(classes, ours, scores)
        outcomes = class_outcomes(ours, scores, several=several)
        classes = with_judged(classes, {CLASSES: outcomes})
    if TAGS not in scored:
        refuse_options_of_tags(f"{gold.name} holds classes of texts", data, strict)
        return classes
    tags = _tag_report(gold, predicted, data, strict, by_record=True)
    sides = tags.comparison.gold, tags.comparison.predicted
    plain = tags.comparison.kind is Kind.TOKENS
    return JointReport(tags, classes, whole_accuracy(*sides, ours, theirs, plain=plain))


def _scored_kinds(gold: Labelled, predicted: Labelled, note: Callable[[str], None]) -> set[str]:
    """Which kinds of labels both have; notes say what is left out.

    Raises:
        DataError: none.
    """
    ours, theirs = gold.kinds, predicted.kinds
    if not ours:
        raise DataError(f"{gold.name}: expected tags, spans or classes, found {gold.holds}")
    both_bare = gold.is_bare and predicted.is_bare
    # Where a threshold is high, predictions are of classes, and no text has one.
    only_classes = both_bare or (ours == {CLASSES} and predicted.is_bare)
    if CLASSES in ours - theirs and (predicted.gives_classes or only_classes):
        theirs.add(CLASSES)
        note(f"{predicted.name}: no text has a class: each counts as one for which none was likely")
    scored = ours & theirs
    if both_bare and CLASSES in scored:  # texts with classes may have an empty list of spans each
        scored.discard(TAGS)
    if not scored:
        raise DataError(
            f"{predicted.name}: expected {gold.holds} as in {gold.name}, found {predicted.holds}"
        )
    for one, other, more in ((gold, predicted, ours - theirs), (predicted, gold, theirs - ours)):
        for kind in more:
            if kind == CLASSES or not one.is_bare:
                note(
                    f"{one.name}: its {kind} are not scored, as none can be read from {other.name}"
                )
    return scored


def _with_cells_split(gold: Labelled, predicted: Labelled) -> Labelled:
    """Predictions of a table, where several classes of a text share a cell, as `predict` writes it.

    A cell is divided at its commas where gold has texts with several classes, and the parts, but
    not the whole, are classes of gold.
    """
    if not predicted.has_cells or all(len(item.labels) == 1 for item in gold.items):
        return predicted
    known = {label for item in gold.items for label in item.labels}

    def divided(label: str) -> list[str]:
        parts = [part.strip() for part in label.split(",")]
        return parts if label not in known and known.issuperset(parts) else [label]

    items = [
        replace(item, labels=tuple(part for label in item.labels for part in divided(label)))
        for item in predicted.items
    ]
    return replace(predicted, items=items)


def _note_other_classes(gold: Labelled, predicted: Labelled, note: Callable[[str], None]) -> None:
    """Say so where no predicted class is one of gold, which would look like a poor model."""
    known, found = (
        {label for item in each.items for label in item.labels} for each in (gold, predicted)
    )
    if known and found and not known & found:
        note(
            f"{predicted.name}: none of its classes ({listed(sorted(found), 5)}) is one of "
            f"{gold.name} ({listed(sorted(known), 5)}), so that all of them count as errors"
        )


def _tag_report(
    gold: Labelled,
    predicted: Labelled,
    data: DataConfig,
    strict: bool,
    *,
    by_record: bool = False,
) -> TagReport:
    """The report on tags of the same tokens, or on spans of the same characters."""
    ours, theirs = gold.sentences, predicted.sentences
    if ours is not None and theirs is not None:
        for _ in same_tokens(gold.name, ours, predicted.name, theirs):
            pass  # raises at the first that differs
    scheme: str = PLAIN if data.scheme == PLAIN else "iob2"  # of spans of characters
    if ours is not None:
        scheme = scheme_of(ours, gold.name, data.scheme, remedy=gold.remedy).scheme
    found: Labels = ()
    if theirs is not None:
        found = predicted_tags(predicted, theirs, data, scheme, strict=strict)
    if ours is not None and theirs is not None:
        tags = [sentence.tags or () for sentence in ours]
        judged = None if has_spans(scheme) else _judged_tokens(ours, theirs)
        report = with_sentences(
            make_tag_report(tags, found, scheme, strict=strict), ours, gold.name
        )
    else:
        if not has_spans(scheme):
            name = predicted.name if theirs is None else gold.name
            raise DataError(f"{name}: expected a tag for each token, found spans of characters")
        spans_of = partial(well_formed_spans, scheme=scheme) if strict else span_tuples
        predicted = in_gold_order(gold, predicted)
        sides = characters_of_both(gold, predicted, data.tokenizer, spans_of, whole=by_record)
        pieces = tags_by_characters(*sides, scheme, by_record=by_record)
        judged = _judged_spans(*sides)
        report = make_tag_report(pieces.gold, pieces.predicted, scheme, strict=strict)
        report = with_sentences(report, pieces.sentences, gold.name)
    return report if judged is None else with_judged(report, {TAGS: judged})


def _judged_spans(gold: "Characters", predicted: "Characters") -> Outcomes | None:
    """The predicted spans with their probabilities; None unless all have one."""
    probabilities = [each for each in predicted.probabilities if each is not None]
    if not probabilities or len(probabilities) < len(predicted.spans):
        return None
    return span_outcomes([gold.spans], [list(zip(predicted.spans, probabilities, strict=True))])


def _judged_tokens(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> Outcomes | None:
    """The predicted tags with their probabilities; None unless all have one."""
    columns = [sentence.columns[0] for sentence in predicted if sentence.columns]
    probabilities = [each.probabilities for each in columns if each.probabilities is not None]
    if len(probabilities) < len(predicted):
        return None
    return token_outcomes(
        [sentence.tags or () for sentence in gold],
        [sentence.tags or () for sentence in predicted],
        probabilities,
    )


def _class_scores(item: Item) -> list[LabelScore]:
    """The classes of a record with their probabilities, the most probable first."""
    found = dict(item.extra).get(PROBABILITIES)
    if not isinstance(found, Mapping):
        return []
    scores = [LabelScore(str(label), float(p)) for label, p in found.items() if _is_probability(p)]
    if len(scores) < len(found):
        return []
    return sorted(scores, key=lambda score: -score.probability)


def _is_probability(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= 1


_SHOWN = 40  # characters of a text that a message quotes
SpansOf = Callable[[Sequence[str]], Iterable[SpanTuple]]  # of tags
Tags = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Characters:
    """Records laid end to end without white space, and where their parts are.

    Attributes:
        side: the records.
        text: the characters.
        starts: where each record begins in `text`.
        sentences: where each sentence begins.
        edges: where tokens begin and end.
        spans: start, end and label of each span, in order.
        probabilities: of each span; None where it has none.
    """

    side: Labelled
    text: str
    starts: Sequence[int]
    sentences: Sequence[int]
    edges: Sequence[int]
    spans: Sequence[SpanTuple]
    probabilities: Sequence[float | None]

    @property
    def has_tokens(self) -> bool:
        """Whether the file itself says what the tokens are."""
        items = self.side.items
        return all(isinstance(item, Sentence) or item.tokens is not None for item in items)

    @property
    def is_flat(self) -> bool:
        """Whether no span shares a character with another."""
        return side_by_side(sorted((start, end) for start, end, _ in self.spans))


def characters_of_both(
    gold: Labelled, predicted: Labelled, tokenizer: str, spans_of: SpansOf, *, whole: bool
) -> tuple[Characters, Characters]:
    """The characters of two files, which are the same in both.

    Args:
        gold: the gold records.
        predicted: the predicted ones.
        tokenizer: as for `characters_of`, and so are the others.
        spans_of: how spans are found in the tags of sentences.
        whole: whether each record is one sequence of tokens.

    Raises:
        SpanErrors: spans of a text that overlap; all of them.
        FormatError: a span without a character that is no white space; or the texts differ: with
            the file and line of both, and what stands there.
    """
    # Written from CoNLL-U by its words, a text differs at its multiword tokens from that of the
    # corpus, "de le" and "du", and two words of "du" share a place. So the words are tried too.
    for by_words in (False, True):
        ours, theirs = (
            characters_of(side, tokenizer, spans_of, whole=whole, by_words=by_words)
            for side in (gold, predicted)
        )
        if ours.text == theirs.text and ours.is_flat and theirs.is_flat:
            return ours, theirs
    pairs = enumerate(zip(ours.text, theirs.text, strict=False))
    shorter = min(len(ours.text), len(theirs.text))
    at = next((index for index, (one, other) in pairs if one != other), shorter)
    raise difference(_spot(ours, at), _spot(theirs, at))


def characters_of(
    side: Labelled,
    tokenizer: str,
    spans_of: SpansOf,
    *,
    whole: bool = False,
    by_words: bool = False,
) -> Characters:
    """The characters of records, with their tokens and spans.

    Args:
        side: the records.
        tokenizer: a name in `TOKENIZERS`, for texts without tokens.
        spans_of: how spans are found in the tags of sentences.
        whole: whether each record is one sequence of tokens.
        by_words: whether the words of sentences are taken even where their text is known.

    Raises:
        SpanErrors: spans of a text that overlap; all of them.
        FormatError: a span without a character that is no white space.
    """
    texts: list[str] = []
    starts: list[int] = []
    sentences: list[int] = []
    edges: list[int] = []
    spans: list[SpanTuple] = []
    probabilities: list[float | None] = []
    errors: list[FormatError] = []
    done = 0
    for item in side.items:
        starts.append(done)
        if isinstance(item, Document):
            text, tokens = item.text, tokens_of(item, tokenizer, whole=whole)
            found = [(span.start, span.end, span.label) for span in item.spans or ()]
            probabilities += [span.probability for span in item.spans or ()]
            errors += overlaps(item)
        else:
            text, places = joined(item.words)
            if item.text is not None and not by_words:
                text, places = item.text, item.places
            tokens = [list(places)]
            tagged = spans_of(item.tags or ())
            found = [(places[start][0], places[end - 1][1], label) for start, end, label in tagged]
        # Number of characters that are no white space before each place of the text.
        before = list(accumulate((not char.isspace() for char in text), initial=done))
        texts.append("".join(text.split()))
        for sentence in tokens:
            if sentence:
                sentences.append(before[sentence[0][0]])
                edges += (before[at] for token in sentence for at in token)
        for start, end, label in found:
            if before[start] == before[end]:
                problem = f"expected a span of characters, found white space: {label} {start} {end}"
                raise FormatError(*origin(item, side.name), problem)
            spans.append((before[start], before[end], label))
        done = before[-1]
    if errors:
        raise SpanErrors(errors, "Keep one of each two: spans that overlap cannot be scored")
    return Characters(side, "".join(texts), starts, sentences, edges, spans, probabilities)


def _spot(characters: Characters, at: int) -> Spot:
    """What stands at a place: the whole word that it is in, and some of what follows it."""
    index = bisect_right(characters.starts, at) - 1
    side = characters.side
    if index < 0:
        return Spot(side.name, 1, None)
    item, inside = side.items[index], at - characters.starts[index]
    text = text_of(item)
    offset = bisect_right(list(accumulate(not char.isspace() for char in text)), inside)
    begin = max(text.rfind(" ", 0, offset), text.rfind("\n", 0, offset)) + 1
    # A word may hold blanks, where tabs separate columns: their number is not that of the words.
    ends = accumulate(len(word) + 1 for word in item.words) if isinstance(item, Sentence) else ()
    place = origin(item, side.name, bisect_right(list(ends), begin))
    return Spot(*place, text[begin : begin + _SHOWN] if at < len(characters.text) else None)


@dataclass(frozen=True, slots=True)
class TaggedPieces:
    """Tags of the same pieces of text, a sequence for each sentence.

    Attributes:
        gold: the gold tags.
        predicted: likewise.
        sentences: the pieces as words, with the gold tags.
    """

    gold: Tags
    predicted: Tags
    sentences: Sequence[Sentence]


def tags_by_characters(
    gold: Characters, predicted: Characters, scheme: str, *, by_record: bool = False
) -> TaggedPieces:
    """The spans of both sides as tags of the same tokens.

    Args:
        gold: its tokens are counted; those of `predicted` where it has none of its own.
        predicted: the same characters.
        scheme: that the tags are to be in.
        by_record: whether there is a sequence for each gold record, rather than each sentence.
    """
    size = len(gold.text)
    tokens = predicted if predicted.has_tokens and not gold.has_tokens else gold
    both = (*gold.spans, *predicted.spans)
    cuts = {0, size, *gold.starts, *tokens.edges}
    cuts.update(at for start, end, _ in both for at in (start, end))
    edges = sorted(cuts)
    unit = {at: index for index, at in enumerate(edges)}
    # No sequence ends inside a span, of whichever side it is.
    divides = divides_any((start, end) for start, end, _ in both)
    begins = gold.starts if by_record else (*gold.starts, *tokens.sentences)
    firsts = sorted({unit[at] for at in begins if by_record or not divides(at)} - {len(edges) - 1})
    ends = [*firsts[1:], len(edges) - 1]
    sequences = list(zip(firsts, ends, strict=True))
    ours, theirs = (
        _tags([(unit[a], unit[b], label) for a, b, label in side.spans], sequences, scheme)
        for side in (gold, predicted)
    )
    sentences = []
    for (first, end), tags in zip(sequences, ours, strict=True):
        words = tuple(gold.text[a:b] for a, b in pairwise(edges[first : end + 1]))
        source, line = origin(
            gold.side.items[bisect_right(gold.starts, edges[first]) - 1], gold.side.name
        )
        # Lines are those of the gold file; a record may stand in another one, of a folder.
        lines = (line,) * len(words) if line and source == gold.side.name else ()
        sentences.append(Sentence(words, tags, lines=lines))
    return TaggedPieces(ours, theirs, sentences)


def _tags(spans: Iterable[SpanTuple], sequences: Iterable[tuple[int, int]], scheme: str) -> Tags:
    """The tags of each sequence, one at a time: in IOB1 a tag depends on the one before it."""
    rest = deque(sorted(spans))
    found: Tags = []
    for first, end in sequences:
        here = []
        while rest and rest[0][0] < end:
            start, stop, label = rest.popleft()
            here.append(Span(start - first, stop - first, label))
        found.append(from_spans(here, end - first, scheme))
    return found
