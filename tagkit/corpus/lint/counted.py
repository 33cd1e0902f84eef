"""A check of the column that is read as that of the words."""

from collections.abc import Iterator

from tagkit.corpus.lint.file_contents import ReadFile
from tagkit.corpus.lint.findings import Finding, Search
from tagkit.corpus.splits.counted_words import LOOKED_AT, are_counted
from tagkit.text.records import Sentence
from tagkit.wording import Message, Setting


def check_counted(read: ReadFile) -> Search:
    """Words that are the numbers of a sentence's words."""
    first: list[Sentence] = []

    def see(sentence: Sentence) -> None:
        if len(first) < LOOKED_AT:
            first.append(sentence)

    def findings() -> Iterator[Finding]:
        if are_counted(first):
            said = "the words are numbers that count up in each sentence. Name the column of its "
            message = Message(f"{said}words: ", Setting("data.token_column", "1"), " for one")
            yield Finding("error", "counted-words", read.path, message)

    # A word with a letter is enough for most files.
    may_be = read.format.is_grid and not any(map(str.isalpha, read.counts.words))
    return Search(findings, see if may_be else None)
