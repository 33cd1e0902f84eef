r"""Trees of the Stanford Sentiment Treebank: `(3 (2 The) (3 Rock))`, one a line.

Every node has a class from 0 (very negative) to 4 (very positive); see Socher et al. 2013,
"Recursive deep models for semantic compositionality over a sentiment treebank". Words are written
as in the Penn Treebank: `-LRB-` is an opening bracket, `\/` a slash.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from tagkit.corpus.source.look import each_line
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.pieces import (
    OutputPiece,
    Writing,
    cannot_hold,
    noting_spans,
    one_file,
    require_label,
    require_line,
)
from tagkit.corpus.source.source import Source
from tagkit.text.records import Document, joined
from tagkit.text.trees import Tree
from tagkit.wording import plural, quoted

_CLASSES = ("0", "1", "2", "3", "4")
# The binary task of the paper (SST-2) leaves out neutral sentences and joins the two of each side.
_BINARY = {"0": "negative", "1": "negative", "3": "positive", "4": "positive"}
_PLAIN = {
    "-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]",
    "\\/": "/", "\\*": "*",
}  # fmt: skip
_ESCAPED = {char: escape for escape, char in _PLAIN.items()}
_ESCAPE = re.compile(r"-[LR][RCS]B-|\\[/*]")
_SPECIAL = re.compile(r"[(){}\[\]/*]")
_PIECE = re.compile(r"[()]|[^() \t]+")
# One look at both ends of a line; whether its brackets match is seen when it is read.
_LOOK = re.compile(r"[ \t]*\([0-4] [^ \t)].*\)[ \t\r]*\Z")


class _BadTree(Exception):
    """What is wrong with a tree."""

    def __init__(self, expected: str, line: str, at: int) -> None:
        found = _PIECE.match(line, at)
        shown = quoted(found[0]) if found else "the line's end"
        super().__init__(f"expected {expected} at column {at + 1:,}, found {shown}")


def read_trees(source: Source, reading: ReaderOptions) -> Iterator[Document]:
    """A document a tree or, where phrases are wanted, a node: from the root, from left to right."""
    binary = reading.data.tree_labels == "binary"
    phrases = reading.data.tree_phrases
    neutral = divided = 0
    for number, line in source.numbered():
        if not line.strip(" \t"):
            continue
        try:
            nodes, words = _parse(line)
        except _BadTree as error:
            reading.refuse(source.name, number, str(error))
            continue
        if not any(word.strip() for word in words):
            reading.refuse(source.name, number, f"expected words, found blank ones: {quoted(line)}")
            continue
        divided += len(nodes) > 1
        tree = None if phrases else _tree(nodes, binary=binary)
        for label, start, end in nodes if phrases else nodes[:1]:
            if not any(word.strip() for word in words[start:end]):
                continue  # a phrase of white space alone, in a tree that has words
            # Neutral texts have no class of two, and are predicted like all others.
            if binary and label not in _BINARY and reading.with_tags:
                neutral += 1
                continue
            shown = _BINARY.get(label, label) if binary else label
            text, places = joined(words[start:end])
            yield Document(
                text, labels=(shown,), tokens=places, source=source.name, line=number, tree=tree
            )
    if divided and not phrases and reading.with_extra and reading.all_features:
        reading.note(
            f"{source.name}: other formats than trees hold the class of the whole alone; with "
            "data.tree_phrases=true each phrase is a text"
        )
    if neutral:
        what = plural(neutral, "neutral phrase" if phrases else "neutral tree")
        are = "is" if neutral == 1 else "are"
        reading.note(f"{source.name}: {what} {are} left out (data.tree_labels)")


def _tree(nodes: Sequence[tuple[str, int, int]], *, binary: bool) -> Tree:
    """The nodes of a line, which come as `_parse` has them, as a tree."""
    # From the last word to the first, and of those that begin with the same one from the inside
    # out, a node comes after its children: `_parse` has these orders reversed.
    order = sorted(range(len(nodes)), key=lambda at: (nodes[at][2], -at))
    labels = (nodes[at][0] for at in order)
    return Tree(
        tuple(nodes[at][1:] for at in order),
        tuple(_BINARY.get(label, "") if binary else label for label in labels),
    )


def _parse(line: str) -> tuple[list[tuple[str, int, int]], list[str]]:
    """Class, first word and the word after the last one of each node, the root first; the words.

    With a stack of its own: a hostile line may be nested deeper than Python calls go.

    Raises:
        _Bad: it is no tree.
    """
    nodes: list[tuple[str, int, int]] = []
    words: list[str] = []
    open_nodes: list[int] = []
    expected = "'('"  # what may come next: the state of the parser, and the words of its messages
    for found in _PIECE.finditer(line):
        piece, at = found[0], found.start()
        if expected == "a class from 0 to 4":
            if piece not in _CLASSES:
                raise _BadTree(expected, line, at)
            nodes.append((piece, len(words), 0))
            open_nodes.append(len(nodes) - 1)
            expected = "'(' or a word"
        elif piece == "(" and "'('" in expected:
            expected = "a class from 0 to 4"
        elif piece == ")" and "')'" in expected:
            index = open_nodes.pop()
            nodes[index] = (*nodes[index][:2], len(words))  # its end is known now
            expected = "'(' or ')'" if open_nodes else "the line's end"
        elif piece not in "()" and "a word" in expected:
            words.append(_ESCAPE.sub(_unescaped, piece))
            expected = "')'"
        else:
            raise _BadTree(expected, line, at)
    if expected != "the line's end":
        raise _BadTree(expected, line, len(line))
    return nodes, words


def _unescaped(escape: re.Match[str]) -> str:
    return _PLAIN[escape[0]]


def is_tree_class(label: str) -> bool:
    """Whether a class can stand at the root of a tree."""
    return label in _CLASSES


def write_trees(items: Iterable[Document], writing: Writing) -> Iterator[OutputPiece]:
    """The tree of each document; a flat one where it has none: the neutral class at each word."""
    return one_file(_line(item, writing) for item in noting_spans(items, "trees", writing))


def _line(item: Document, writing: Writing) -> str:
    label = require_label(item, "trees")
    if not is_tree_class(label):
        raise cannot_hold(item, "trees", f"a label that is not 0 to 4 ({quoted(label)})")
    require_line(item, item.text, "trees")
    # Reading joins words by single blanks, so any other white space would not come back.
    words = item.text.split(" ")
    if "" in words or "\t" in item.text:
        raise cannot_hold(item, "trees", "words that are not separated by single blanks")
    if item.tree is not None and item.tokens is not None:
        return _bracketed(item, item.tree, label)
    # A tree has a class at every node, and a text has one; 2, neutral, claims the least of words.
    if len(words) == 1:
        return f"({label} {_escape(words[0], item)})"
    writing.note("trees have a class at each word: 2, the neutral one, is written there")
    return f"({label} {' '.join(f'(2 {_escape(word, item)})' for word in words)})"


def _bracketed(item: Document, tree: Tree, root: str) -> str:
    """A tree with all of its labels, but that of the root, which is the document's."""
    labels = [*tree.labels[:-1], root]
    if others := [each for each in labels if not is_tree_class(each)]:
        raise cannot_hold(item, "trees", f"a node whose label is not 0 to 4 ({quoted(others[0])})")
    words = [_escape(item.text[start:end], item) for start, end in item.tokens or ()]
    return tree.folded(words, lambda node, parts: f"({labels[node]} {' '.join(parts)})")


def _escape(word: str, item: Document) -> str:
    escaped = _SPECIAL.sub(lambda char: _ESCAPED[char[0]], word)
    # What looks like an escape, or becomes one beside an escape, would be undone in reading.
    if _ESCAPE.sub(_unescaped, escaped) != word:
        raise cannot_hold(item, "trees", f"the word {quoted(word)}, which is an escape")
    return escaped


look_at_trees = each_line(_LOOK.match, "every line is a tree in brackets")
