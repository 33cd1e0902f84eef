"""Whether raw text is cut into the words that a tagger was trained on, and whether it has any."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.counted_words import are_counted
from tagkit.text.records import Sentence
from tagkit.text.tokenizer import TOKENIZERS, lacks_blanks
from tagkit.training.events.finding import Statement
from tagkit.training.setup.setup import Prepared
from tagkit.wording import Message, Setting, quoted

# Of the words of ten public corpora 0 to 8 % are no tokens (tweets have most); of Chinese that is
# segmented into words about half.
_MOST_OTHER = 0.2
# Of English, as the Penn Treebank has them: in raw text they touch the word before.
_ENDING = re.compile(r"['\u2019][a-z]{1,2}$|n['\u2019]t$", re.IGNORECASE)
_SENTENCES = 300  # that are looked at: enough to tell half from a tenth


def other_words(prepared: Prepared) -> Iterator[Statement]:
    """That words of train are no tokens of its text, if many are not."""
    train, tokenizer = prepared.corpus.train, prepared.config.data.tokenizer
    if not prepared.task.needs.tags:
        return
    words, others = _compared(train, tokenizer)
    total, count = words.total(), others.total()
    if count <= _MOST_OTHER * total:
        return
    example = max(others, key=lambda word: (others[word], word))
    blanks = Setting("data.tokenizer", "blanks")
    remedy = "To predict for raw text, train with ", blanks, " and put blanks between its words"
    yield (
        Message(
            f"raw text is cut into other words than train: {100 * count / total:.0f} % of those of "
            f"train, such as {quoted(example, 40)}, are no tokens of it"
        ),
        Message(*remedy, "; files that are cut as train is need nothing"),
    )


def counted_words(prepared: Prepared) -> Iterator[Statement]:
    """That the words of train are the numbers of its words."""
    if are_counted(prepared.corpus.train.sentences):
        yield (
            Message("the words of train are numbers that count up in each sentence"),
            Message(
                "Name the column of its words: ", Setting("data.token_column", "1"), " for one"
            ),
        )


def _compared(split: Split, tokenizer: str) -> tuple[Counter[str], Counter[str]]:
    """The words of a sample of sentences, and those of them that are no tokens of their text."""
    words: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for sentence in islice(split.sentences, _SENTENCES):
        text = _text_of(sentence, with_blanks=tokenizer == "blanks")
        tokens = Counter(token.text for found in TOKENIZERS[tokenizer](text) for token in found)
        own = Counter(sentence.words)
        words += own
        others += own - tokens
    return words, others


def _text_of(sentence: Sentence, *, with_blanks: bool) -> str:
    """The text of a sentence, as it is written in its script where the corpus does not have it."""
    if sentence.text is not None:
        return sentence.text
    if with_blanks:
        return " ".join(sentence.words)
    return "".join(_spaced(sentence.words))


def _spaced(words: Sequence[str]) -> Iterator[str]:
    """The words, with a blank before each, but for endings and in scripts without blanks."""
    yield words[0]
    for left, right in pairwise(words):
        is_ending = _ENDING.match(right) is not None
        if not (is_ending or (lacks_blanks(left[-1]) and lacks_blanks(right[0]))):
            yield " "
        yield right
