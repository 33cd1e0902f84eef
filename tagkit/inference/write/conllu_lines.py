"""Predictions as CoNLL-U: the predicted columns are filled, and nothing else changes.

    the model's column (UPOS, FEATS, MISC.NER, ...)   the tag
    MISC, key UPOSProb, NERProb, ...                  its probability, where that is wanted
    MISC of the first word, Class and ClassProb       the class of the whole, and its probability

The lines are those of the input where that is CoNLL-U; else they are made of the text's tokens.
"""

from collections.abc import Iterator, Mapping, Sequence

from tagkit.config import Column
from tagkit.corpus.formats.columns.conllu import write_conllu
from tagkit.corpus.formats.columns.filling import fill_columns
from tagkit.corpus.formats.columns.reader import LineBlock
from tagkit.corpus.source.layout import CONLLU_COLUMNS, KEYED, Layout, is_whole
from tagkit.corpus.source.options import silent
from tagkit.corpus.source.pieces import Writing
from tagkit.errors import FormatError
from tagkit.inference.write.answers import class_cells, sentences_of
from tagkit.inference.write.style import Origin, Style
from tagkit.inference.write.tag_cells import columns_of
from tagkit.text.records import TagColumn, TaggedText

# Of lines that `write_conllu` writes.
_LAYOUT = Layout(width=len(CONLLU_COLUMNS), conllu=True, token=1, tag=None, features=(), tabs=True)
_WRITING = Writing(plain=True, single=True, note=silent)
_CLASS, _PROBABILITY = "Class", "Prob"  # keys of MISC, the second one after the name of a column


def column_values(
    columns: Sequence[TagColumn], classes: Sequence[str], names: Sequence[str]
) -> Mapping[Column, Sequence[str]]:
    """Values of columns of CoNLL-U, one a word.

    Args:
        columns: the predicted tags, those of each tag column; with probabilities if these are
            written.
        classes: cells of a class and its probability by turns, as `class_cells` has them.
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


def conllu_lines(answer: TaggedText, style: Style, origin: Origin) -> Iterator[str]:
    """The sentences of a text that is not CoNLL-U, with their predicted tags.

    Raises:
        FormatError: CoNLL-U cannot hold a word, a tag or a class.
    """
    classes = class_cells(answer, style, origin)
    try:
        pieces = write_conllu(sentences_of(answer, origin, tagged=False), _WRITING)
        for tokens, piece in zip(answer.sentences, pieces, strict=True):
            lines = tuple(piece.text.split("\n")[:-1])
            ids = (line.partition("\t")[0] for line in lines)
            rows = tuple(place for place, cell in enumerate(ids) if is_whole(cell))
            columns = columns_of(tokens, confidence=style.confidence)
            values = column_values(columns, classes, style.columns)
            block = LineBlock(lines, rows, None, origin.line)
            yield from fill_columns(block, _LAYOUT, values, origin.file)
    except FormatError as error:  # the lines are not those of the input
        raise FormatError(origin.file, origin.line, error.problem) from None
