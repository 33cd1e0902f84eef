"""What the format that is written cannot hold of a corpus: said in a note, or refused."""

from collections.abc import Callable, Iterator

from tagkit.corpus.formats.table import Format
from tagkit.corpus.records.record_facts import RecordFacts
from tagkit.corpus.source.layout import CONLLU
from tagkit.errors import FormatError
from tagkit.text.records import Document
from tagkit.wording import listed


def may_lack_classes(read: Format, facts: RecordFacts) -> bool:
    """Whether a text without a class is known to have none of several.

    Args:
        read: the format that the texts come from.
        facts: of all of them.
    """
    return read.may_lack_classes or facts.has_several_classes


def require_labels(read: Format, target: Format, facts: RecordFacts, source: str) -> None:
    """Refuse records without the labels that the target needs of each.

    Args:
        read: the format that the records come from.
        target: the format that is written.
        facts: of all records.
        source: names their file, where a record does not.

    Raises:
        FormatError: a record has no class, where the target needs one; or neither that nor tags,
            where it needs one of both.
    """
    if target.holds == "classes":
        if target.may_lack_classes and may_lack_classes(read, facts):
            return
        needs, bare = "a class", facts.without_class
    # Without labels such a format holds raw text, which is read to be predicted alone.
    elif (
        target.holds == "tags" and target.has_classes and (read.holds == "classes" or facts.classes)
    ):
        needs, bare = "tags or a class", facts.without_labels
    else:
        return
    if bare is None:
        return
    line = 1
    if isinstance(bare, Document):
        source, line = bare.source or source, bare.line
    elif bare.lines:
        line = bare.lines[0]
    problem = f"{target.name} needs {needs} for each text, and {read.name} has none here"
    raise FormatError(source, line, problem)


def note_losses(
    read: Format,
    target: Format,
    facts: RecordFacts,
    note: Callable[[str], None],
    *,
    single: bool,
) -> None:
    """Say what of the lines and records is left out, beside what the target's writer says.

    Args:
        read: the format that the records come from.
        target: the format that is written.
        facts: of all records.
        note: called with a sentence on each kind of what is left out.
        single: whether the target writes one file, or one pair of files.
    """
    # The id of a sentence is in a comment, and is named as any other value where it is left out.
    lost = [*_lost_names(target, facts, single=single)]
    if read.name == CONLLU and target.holds != "text":
        kept = {
            "text": target.holds != "tags",
            "sent_id": "id" not in lost and facts.has_ids,
            "newdoc": target.is_grid and facts.has_marks,
        }
        named = listed([name for name, is_kept in kept.items() if is_kept])
        other = f" (except {named})" if named else ""
        note(
            f"of CoNLL-U, words and tags are taken: other columns and comments{other} are left "
            "out, multiword tokens and empty nodes too"
        )
    if facts.has_marks and not target.is_grid:
        note(f"{target.name} has no place for marks of documents: they are left out")
    if lost:
        note(f"{target.name} has no place for the values of {listed(lost)}: they are left out")


def _lost_names(target: Format, facts: RecordFacts, *, single: bool) -> Iterator[str]:
    """Names of what the records have beside their text and annotation that the target drops."""
    if target.keeps_values == "all":
        return
    for name in dict.fromkeys(facts.names):
        if name != "id" or not _keeps_ids(target, facts, single=single):
            yield name


def _keeps_ids(target: Format, facts: RecordFacts, *, single: bool) -> bool:
    if target.keeps_values != "file names":
        return target.keeps_values == "id"
    return not single and facts.ids_are_names
