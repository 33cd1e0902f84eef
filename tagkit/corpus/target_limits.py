"""What the format that is written cannot hold of a corpus: said in a note, or refused."""

from collections.abc import Callable, Iterator, Sequence

from tagkit.corpus.formats.columns.layout import CONLLU
from tagkit.corpus.formats.options import Item
from tagkit.corpus.formats.table import Format
from tagkit.errors import FormatError
from tagkit.text.records import Document, Sentence
from tagkit.wording import listed


def may_lack_classes(read: Format, items: Sequence[Item]) -> bool:
    """Whether a text without a class is known to have none of several.

    Args:
        read: the format that the texts come from.
        items: all of them.
    """
    return read.may_lack_classes or any(len(item.labels) > 1 for item in items)


def require_labels(read: Format, target: Format, items: Sequence[Item], source: str) -> None:
    """Refuse records without the labels that the target needs of each.

    Args:
        read: the format that the records come from.
        target: the format that is written.
        items: all of the records.
        source: names their file, where a record does not.

    Raises:
        FormatError: a record has no class, where the target needs one; or neither that nor tags,
            where it needs one of both.
    """
    if target.holds == "classes":
        if target.may_lack_classes and may_lack_classes(read, items):
            return
        needs = "a class"
        bare = (item for item in items if not item.labels)
    # Without labels such a format holds raw text, which is read to be predicted alone.
    elif target.holds == "tags" and target.has_classes and _are_classified(read, items):
        needs = "tags or a class"
        bare = (item for item in items if not item.labels and not _has_tags(item))
    else:
        return
    for item in bare:
        line = 1
        if isinstance(item, Document):
            source, line = item.source or source, item.line
        elif item.lines:
            line = item.lines[0]
        problem = f"{target.name} needs {needs} for each text, and {read.name} has none here"
        raise FormatError(source, line, problem)


def _are_classified(read: Format, items: Sequence[Item]) -> bool:
    return read.holds == "classes" or any(item.labels for item in items)


def _has_tags(item: Item) -> bool:
    return (item.spans if isinstance(item, Document) else item.tags) is not None


def note_losses(
    read: Format,
    target: Format,
    items: Sequence[Item],
    note: Callable[[str], None],
    *,
    single: bool,
) -> None:
    """Say what of the lines and records is left out, beside what the target's writer says.

    Args:
        read: the format that the records come from.
        target: the format that is written.
        items: all of the records.
        note: called with a sentence on each kind of what is left out.
        single: whether the target writes one file, or one pair of files.
    """
    # The id of a sentence is in a comment, and is named as any other value where it is left out.
    lost = [*_lost_names(target, items, single=single)]
    marked = any(isinstance(item, Sentence) and (item.document or 0) > 0 for item in items)
    if read.name == CONLLU and target.holds != "text":
        kept = {
            "text": target.holds != "tags",
            "sent_id": "id" not in lost and any(map(_has_id, items)),
            "newdoc": target.is_grid and marked,
        }
        named = listed([name for name, is_kept in kept.items() if is_kept])
        other = f" (except {named})" if named else ""
        note(
            f"of CoNLL-U, words and tags are taken: other columns and comments{other} are left "
            "out, multiword tokens and empty nodes too"
        )
    if marked and not target.is_grid:
        note(f"{target.name} has no place for marks of documents: they are left out")
    if lost:
        note(f"{target.name} has no place for the values of {listed(lost)}: they are left out")


def _lost_names(target: Format, items: Sequence[Item], *, single: bool) -> Iterator[str]:
    """Names of what the records have beside their text and annotation that the target drops."""
    if target.keeps_values == "all":
        return
    for name in dict.fromkeys(name for item in items for name, _ in item.extra):
        if name != "id" or not _keeps_ids(target, items, single=single):
            yield name


def _keeps_ids(target: Format, items: Sequence[Item], *, single: bool) -> bool:
    if target.keeps_values != "file names":
        return target.keeps_values == "id"
    named = (isinstance(each, Document) and each.name for each in items if _has_id(each))
    return not single and all(named)


def _has_id(item: Item) -> bool:
    return any(name == "id" for name, _ in item.extra)
