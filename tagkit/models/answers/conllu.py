"""Predictions as CoNLL-U: the predicted columns are filled, and nothing else changes.

    the model's column (UPOS, FEATS, MISC.NER, ...)   the tag
    MISC, key UPOSProb, NERProb, ...                  its probability, where that is wanted
    MISC of the first word, Class and ClassProb       the class of the whole, and its probability

The lines are those of the input where that is CoNLL-U; else they are made of the text's tokens.
"""

from collections.abc import Iterator, Mapping, Sequence

from tagkit.config import Column, DataConfig
from tagkit.corpus.formats.columns.conllu import KEY, write_conllu
from tagkit.corpus.formats.columns.filling import fill_columns
from tagkit.corpus.formats.columns.reader import LineBlock
from tagkit.corpus.source.layout import CONLLU, CONLLU_COLUMNS, KEYED, Layout, is_whole
from tagkit.corpus.source.options import silent
from tagkit.corpus.source.pieces import Writing
from tagkit.errors import FormatError
from tagkit.models.answers.kind import Origin
from tagkit.models.answers.labels import sentences_of
from tagkit.text.records import TagColumn, TaggedText, TaggedToken

# Of lines that `write_conllu` writes.
_LAYOUT = Layout(width=len(CONLLU_COLUMNS), conllu=True, token=1, tag=None, features=(), tabs=True)
_WRITING = Writing(plain=True, single=True, note=silent)
_NO_ANNOTATION = ("ID", "FORM")  # columns of CoNLL-U that say which word it is
_CLASS, _PROBABILITY = "Class", "Prob"  # keys of MISC, the second one after the name of a column


def column_values(
    columns: Sequence[TagColumn], classes: Sequence[str], names: Sequence[str]
) -> Mapping[Column, Sequence[str]]:
    """Values of columns of CoNLL-U, one a word.

    Args:
        columns: the predicted tags, those of each tag column; with probabilities if these are
            written.
        classes: cells of a class and its probability by turns, as `ClassAnswers.cells` has them.
        names: of the columns of CoNLL-U that get the tags.
    """
    values: dict[Column, Sequence[str]] = {}
    for name, column in zip(names, columns, strict=True):
        values[name] = column.values
        if column.probabilities is not None:
            # The name of a key, or of a column: MISC.NER gets NERProb, UPOS gets UPOSProb.
            key = f"{name.rpartition('.')[2]}{_PROBABILITY}"
            values[f"MISC.{key}"] = [f"{each:.4f}" for each in column.probabilities]
    absent = KEYED["MISC"]
    for index, cell in enumerate(classes):
        number = f"{index // 2 + 1}" if index > 1 else ""
        key = f"{_CLASS}{number}{_PROBABILITY if index % 2 else ''}"
        # At the first word alone: a class is of the whole sentence.
        values[f"MISC.{key}"] = [cell or absent, *[absent] * (len(columns[0].values) - 1)]
    return values


def conllu_lines(
    answer: TaggedText,
    classes: Sequence[str],
    names: Sequence[str],
    origin: Origin,
    *,
    confidence: bool,
) -> Iterator[str]:
    """The sentences of a text that is not CoNLL-U, with their predicted tags.

    Args:
        answer: the predictions for the text.
        classes: cells of the text's classes, as for `column_values`.
        names: of the columns that get the tags.
        origin: of the text.
        confidence: whether probabilities are written.

    Raises:
        FormatError: CoNLL-U cannot hold a word, a tag or a class.
    """
    try:
        pieces = write_conllu(sentences_of(answer, origin, tagged=False), _WRITING)
        for tokens, piece in zip(answer.sentences, pieces, strict=True):
            lines = tuple(piece.text.split("\n")[:-1])
            ids = (line.partition("\t")[0] for line in lines)
            rows = tuple(place for place, cell in enumerate(ids) if is_whole(cell))
            columns = _columns_of(tokens, confidence=confidence)
            values = column_values(columns, classes, names)
            block = LineBlock(lines, rows, None, origin.line)
            yield from fill_columns(block, _LAYOUT, values, origin.file)
    except FormatError as error:  # the lines are not those of the input
        raise FormatError(origin.file, origin.line, error.problem) from None


def _columns_of(tokens: Sequence[TaggedToken], *, confidence: bool) -> tuple[TagColumn, ...]:
    """The tag columns of a sentence, with `confidence` with probabilities; one without a name."""
    first = tokens[0].tags
    if first is None:
        probabilities = tuple(token.probability or 0.0 for token in tokens)
        tags = tuple(token.tag or "_" for token in tokens)
        return (TagColumn("", tags, probabilities if confidence else None),)
    return tuple(
        TagColumn(
            name,
            tuple((token.tags or {})[name] for token in tokens),
            tuple((token.probabilities or {})[name] for token in tokens) if confidence else None,
        )
        for name in first
    )


def conllu_columns(data: DataConfig, *, spans: bool) -> tuple[str, ...]:
    """The columns of CoNLL-U that get the predicted tags: those that the model was trained on.

    A model of another kind of corpus fills what `convert` would: UPOS with plain labels, the key
    NER of MISC with the tags of spans. Further columns without a name get the keys Tag2,
    Tag3 and so on there.

    Args:
        data: the resolved configuration of the model.
        spans: whether its tags mean spans.
    """
    usual = f"MISC.{KEY}" if spans else "UPOS"
    if not data.tag_columns:
        return (_conllu_column(data.first_tag_column, data.format) or usual,)
    return tuple(
        _conllu_column(column, data.format) or (f"MISC.Tag{number}" if number > 1 else usual)
        for number, column in enumerate(data.tag_columns, 1)
    )


def _conllu_column(named: Column | None, format: str) -> str | None:
    """The column of this name, or of this number in CoNLL-U; None where it names none."""
    if isinstance(named, int) and format == CONLLU:
        named = CONLLU_COLUMNS[named % len(CONLLU_COLUMNS)]
    if isinstance(named, str):
        name, dot, key = named.partition(".")
        if name.upper() in CONLLU_COLUMNS and name.upper() not in _NO_ANNOTATION:
            return f"{name.upper()}{dot}{key}"
    return None
