"""The rules of conlleval, transcribed line by line: the oracle of scores and spans.

Written from the shared tasks' scorer, not from tagkit: one loop over the lines, the state that it
keeps, and its two tables of tag pairs. S is that of the scorer's later versions, which also let E
and S end a chunk whatever follows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


def end_of_chunk(before: str, tag: str, type_before: str, type_: str) -> bool:
    pairs = {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")}
    if before in ("E", "S") or (before, tag) in pairs:
        return True
    return before != "O" and type_before != type_


def start_of_chunk(before: str, tag: str, type_before: str, type_: str) -> bool:
    pairs = {("E", "E"), ("E", "I"), ("S", "E"), ("S", "I"), ("O", "E"), ("O", "I")}
    if tag in ("B", "S") or (before, tag) in pairs:
        return True
    return tag != "O" and type_before != type_


def parts(tag: str) -> tuple[str, str]:
    if "-" not in tag:
        return tag, ""
    dash = tag.index("-")
    return tag[:dash], tag[dash + 1 :]


def chunks(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """(start, end, type) of each chunk, the end not included."""
    found, start = [], 0
    before, type_before = "O", ""
    for index, tag in enumerate([*tags, "O"]):
        prefix, type_ = parts(tag)
        if end_of_chunk(before, prefix, type_before, type_):
            found.append((start, index, type_before))
        if start_of_chunk(before, prefix, type_before, type_):
            start = index
        before, type_before = prefix, type_
    return found


@dataclass
class Counts:
    """What conlleval counts, by type."""

    correct: Counter[str] = field(default_factory=Counter)
    gold: Counter[str] = field(default_factory=Counter)
    guessed: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    correct_tags: int = 0

    def scores(self, *types: str) -> tuple[float, float, float]:
        """Precision, recall and F1 over these types, 0 to 1."""
        correct, gold, guessed = (
            sum(counter[type_] for type_ in types)
            for counter in (self.correct, self.gold, self.guessed)
        )
        precision = correct / guessed if guessed else 0.0
        recall = correct / gold if gold else 0.0
        both = precision + recall
        return precision, recall, 2 * precision * recall / both if both else 0.0


def count(gold: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]]) -> Counts:
    """conlleval's loop: one chunk at a time, with a flag that says both sides agree so far."""
    counts = Counts()
    in_correct = False
    last_gold, last_gold_type = "O", ""
    last_guess, last_guess_type = "O", ""
    for gold_tags, guessed_tags in zip(gold, guessed, strict=True):
        # The scorer puts a line "O O" between sentences.
        pairs = zip([*gold_tags, "O"], [*guessed_tags, "O"], strict=True)
        for place, (gold_tag, guessed_tag) in enumerate(pairs):
            correct, correct_type = parts(gold_tag)
            guess, guess_type = parts(guessed_tag)
            gold_ends = end_of_chunk(last_gold, correct, last_gold_type, correct_type)
            guess_ends = end_of_chunk(last_guess, guess, last_guess_type, guess_type)
            if in_correct:
                if gold_ends and guess_ends and last_guess_type == last_gold_type:
                    in_correct = False
                    counts.correct[last_gold_type] += 1
                elif gold_ends != guess_ends or guess_type != correct_type:
                    in_correct = False
            gold_starts = start_of_chunk(last_gold, correct, last_gold_type, correct_type)
            guess_starts = start_of_chunk(last_guess, guess, last_guess_type, guess_type)
            if gold_starts and guess_starts and guess_type == correct_type:
                in_correct = True
            counts.gold[correct_type] += gold_starts
            counts.guessed[guess_type] += guess_starts
            if place < len(gold_tags):
                counts.tokens += 1
                counts.correct_tags += (correct, correct_type) == (guess, guess_type)
            last_gold, last_gold_type = correct, correct_type
            last_guess, last_guess_type = guess, guess_type
    return counts
