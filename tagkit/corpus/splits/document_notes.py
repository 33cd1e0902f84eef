"""What a training corpus tells of its documents, where an option depends on them."""

from dataclasses import replace
from itertools import pairwise

from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError
from tagkit.wording import Message, Setting


def with_document_note(train: Split, limit: int) -> Split:
    """The corpus, with a note where nothing in it marks documents.

    Args:
        train: the corpus that is learnt from.
        limit: maximum number of words that are read as one sequence.

    Raises:
        DataError: no sentence of it follows another one of its document.
    """
    numbers = [sentence.document for sentence in train.sentences]
    if all(left is None or left != right for left, right in pairwise(numbers)):
        raise DataError(
            Message(
                f"{train.path}: each sentence is a document of its own, so that ",
                Setting("encoder.context", "document"),
                " has no effect; use a format that marks documents (-DOCSTART- in column files, "
                "# newdoc in CoNLL-U, texts with spans), or ",
                Setting("encoder.context", "sentence"),
            )
        )
    if len({*numbers}) > 1:
        return train
    said = Message(
        f"{train.path}: no mark of a document (-DOCSTART-, # newdoc): all of it is one document, "
        f"read in parts of up to {limit:,} words (",
        Setting("encoder.context_words"),
        ")",
    )
    return replace(train, notes=(*train.notes, said))


def with_consistency_note(train: Split, share: float) -> Split:
    """The corpus, with a note where no two of its sentences are in a document that is marked.

    Args:
        train: the corpus that is learnt from.
        share: `head.label_consistency`, as it was asked for.
    """
    numbers = [sentence.document for sentence in train.sentences]
    if any(left == right and (left or 0) > 0 for left, right in pairwise(numbers)):
        return train
    said = Message(
        f"{train.path}: no mark (-DOCSTART-, # newdoc) puts two sentences into one document; ",
        Setting("head.label_consistency", f"{share:g}"),
        " changes the answers for texts and marked files alone",
    )
    return replace(train, notes=(*train.notes, said))
