"""Write the sample corpus of travel requests: train, dev and test as .conll and .tsv.

Usage: python data/make_travel.py [--out DIR] [--seed N]

The same seed always gives the same bytes: every draw comes from a `random.Random` seeded with
text, and nothing iterates over a set.
"""

from __future__ import annotations

import argparse
import os
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import travel_words as words

SIZES = {"train": 2000, "dev": 300, "test": 300}
HELD_SHARE = 0.3  # part of every open word list that train never draws from
NEW_RATE = 0.12  # how often dev and test draw from that part
TOWN_COUNT = 360
HEAD = 2  # the smaller, the more frequent the first entries of an open list are

# Shares of sentences that get each kind of noise.
TYPO_RATE = 0.07
TYPO_IN_NAME_RATE = 0.25
ALL_LOWER, NAMES_LOWER, ALL_UPPER, NO_CAPITAL = 0.12, 0.06, 0.025, 0.06
NAME_SLOTS = {"origin", "destination", "stopover", "airline", "hotel", "cabin", "vehicle", "date"}

OUTSIDE = -1  # owner of a character that belongs to no slot

# ------------------------------------------------------------------ the grammar


@dataclass(frozen=True)
class Node:
    """One piece of a parsed template.

    Attributes:
        kind: "text", "rule", "number", "pattern", "choice", "shuffle" or "sequence".
        value: The literal text, the rule's name or the pattern.
        slot: The slot that a rule's expansion is tagged as, or "".
        parts: The children of a choice, shuffle or sequence.
        numbers: Lowest, highest and step of a number.
    """

    kind: str
    value: str = ""
    slot: str = ""
    parts: tuple[Node, ...] = ()
    numbers: tuple[int, int, int] = (0, 0, 1)


LEAF = re.compile(
    r"\{(?P<rule>\w+)\}|<(?P<slot>\w+)(?:=(?P<of>\w+))?>|~(?P<pattern>[LN]+)~"
    r"|#(?P<low>\d+)-(?P<high>\d+)(?:/(?P<step>\d+))?#|(?P<text>[^{}<>~#()\[\]|&]+)"
)


def parse(template: str) -> Node:
    """Return the tree of a template in the notation of `travel_words`.

    Raises:
        ValueError: If the template is not in that notation.
    """
    node, end = _parse_sequence(template, 0, "")
    if end != len(template):
        raise ValueError(f"unexpected {template[end]!r} at {end} in {template!r}")
    return node


def _parse_sequence(text: str, at: int, stops: str) -> tuple[Node, int]:
    """Return the pieces from `at` up to one of `stops`, and where they end."""
    parts: list[Node] = []
    while at < len(text) and text[at] not in stops:
        if text[at] in "([":
            node, at = _parse_group(text, at)
        else:
            node, at = _parse_leaf(text, at)
        parts.append(node)
    return Node("sequence", parts=tuple(parts)), at


def _parse_group(text: str, at: int) -> tuple[Node, int]:
    """Return the choice, shuffle or optional piece that opens at `at`, and where it ends."""
    close = ")" if text[at] == "(" else "]"
    branches: list[Node] = []
    marks: set[str] = set()
    while text[at] != close:
        if branches:
            marks.add(text[at])
        branch, at = _parse_sequence(text, at + 1, "|&" + close)
        branches.append(branch)
        if at == len(text):
            raise ValueError(f"no {close!r} in {text!r}")
    if len(marks) > 1:
        raise ValueError(f"'|' and '&' in one group: {text!r}")
    if close == "]":
        branches.append(Node("sequence"))
    return Node("shuffle" if marks == {"&"} else "choice", parts=tuple(branches)), at + 1


def _parse_leaf(text: str, at: int) -> tuple[Node, int]:
    """Return the rule, slot, number, pattern or literal at `at`, and where it ends."""
    match = LEAF.match(text, at)
    if match is None:
        raise ValueError(f"cannot read {text[at:]!r} in {text!r}")
    found = match.groupdict()
    if found["rule"]:
        node = Node("rule", found["rule"])
    elif found["slot"]:
        node = Node("rule", found["of"] or found["slot"], found["slot"])
    elif found["pattern"]:
        node = Node("pattern", found["pattern"])
    elif found["low"]:
        step = int(found["step"] or 1)
        node = Node("number", numbers=(int(found["low"]), int(found["high"]) + 1, step))
    else:
        node = Node("text", found["text"])
    return node, match.end()


# ------------------------------------------------------------------ the word lists


@dataclass(frozen=True)
class Lexicon:
    """One word list, divided between what every split may use and what train may not.

    Attributes:
        common: Entries for every split, the likelier ones first.
        held: Entries for dev and test alone.
    """

    common: tuple[str, ...]
    held: tuple[str, ...] = ()

    def draw(self, rng: random.Random, new_rate: float) -> str:
        """Return one entry, a held-out one with probability `new_rate`."""
        if self.held and rng.random() < new_rate:
            return rng.choice(self.held)
        if not self.held:
            return rng.choice(self.common)
        # A frequent head and a long tail, as names have in real requests.
        weights = [1 / (rank + HEAD) for rank in range(len(self.common))]
        return rng.choices(self.common, weights)[0]


def make_towns(rng: random.Random, count: int) -> list[str]:
    """Return `count` made-up town names, all different."""
    towns: dict[str, None] = {}
    flavours = list(words.SYLLABLES.values())
    while len(towns) < count:
        towns[_dress_town(rng, _make_stem(rng, rng.choice(flavours)))] = None
    return list(towns)


def _make_stem(rng: random.Random, flavour: tuple[str, str, str]) -> str:
    """Return a one-word town name from a beginning, a middle and an end."""
    start, middle, end = (rng.choice(part.split()) for part in flavour)
    stem = start + middle.strip("-") + end
    return re.sub(r"(.)\1\1+", r"\1\1", stem)


def _dress_town(rng: random.Random, stem: str) -> str:
    """Return the stem as a town's name, at times with a saint, river or the like."""
    form = rng.choice(
        ["{0}"] * 14
        + ["Saint {0}", "St {0}", "San {0}", "Port {0}", "New {0}", "{0} Bay", "Upper {0}"]
        + ["Lake {0}", "{0} Springs", "{0} on {1}", "{0}-on-{1}", "{0} Beach", "Fort {0}"]
    )
    return form.format(stem, rng.choice(words.RIVERS))


def make_lexicons(seed: int) -> dict[str, Lexicon]:
    """Return all word lists, the open ones divided between the splits."""
    lexicons = {name: Lexicon(tuple(entries)) for name, entries in words.CLOSED.items()}
    open_lists = {
        name: [entry.replace("~", " ") for entry in text.split()]
        for name, text in words.OPEN_TEXT.items()
    }
    open_lists["town"] = make_towns(random.Random(f"{seed}-towns"), TOWN_COUNT)
    _drop_repeats(open_lists, "famous", "town")
    for name, entries in open_lists.items():
        random.Random(f"{seed}-{name}").shuffle(entries)
        held = tuple(entry for entry in entries if is_held(entry, seed))
        common = tuple(entry for entry in entries if entry not in held)
        lexicons[name] = Lexicon(common, held)
    return lexicons


def is_held(entry: str, seed: int) -> bool:
    """Return whether train must not draw the entry, from whichever list."""
    # The entry's own text decides, so that "Paris" is no held-out city but a common surname.
    return random.Random(f"{seed}-held-{entry}").random() < HELD_SHARE


def _drop_repeats(lists: dict[str, list[str]], *names: str) -> None:
    """Leave each entry only in the first of the named lists that has it."""
    seen: set[str] = set()
    for name in names:
        lists[name] = [entry for entry in dict.fromkeys(lists[name]) if entry not in seen]
        seen.update(lists[name])


# ------------------------------------------------------------------ from grammar to text


@dataclass
class Draft:
    """A sentence in the making: its characters and the slot value each belongs to.

    Attributes:
        chars: The characters.
        owners: For each character an index into `slots`, or OUTSIDE.
        slots: The slot of each value, in the order of the text.
    """

    chars: list[str]
    owners: list[int]
    slots: list[str]

    @property
    def text(self) -> str:
        """The characters as one string."""
        return "".join(self.chars)

    def keep(self, indexes: list[int]) -> None:
        """Leave only the characters at these indexes, in this order."""
        self.chars = [self.chars[i] for i in indexes]
        self.owners = [self.owners[i] for i in indexes]

    def insert(self, at: int, char: str, owner: int) -> None:
        """Put one character before position `at`."""
        self.chars.insert(at, char)
        self.owners.insert(at, owner)

    def recase(self, change: Callable[[str], str], where: Callable[[int], bool]) -> None:
        """Change the case of the characters whose index passes `where`."""
        for i, char in enumerate(self.chars):
            if where(i) and len(change(char)) == 1:
                self.chars[i] = change(char)


class Grammar:
    """Expands templates into drafts for one split.

    Args:
        lexicons: The word lists.
        rules: The templates of each rule.
        rng: Where the draws come from.
        new_rate: How often an open list gives a held-out entry.
    """

    def __init__(
        self,
        lexicons: dict[str, Lexicon],
        rules: dict[str, list[Node]],
        rng: random.Random,
        new_rate: float,
    ) -> None:
        """Keep the lists, the rules and the source of chance."""
        self.lexicons = lexicons
        self.rules = rules
        self.rng = rng
        self.new_rate = new_rate
        self.used: list[str] = []

    def draft(self, node: Node) -> Draft:
        """Return the expansion of a node, not yet tidied."""
        result = Draft([], [], [])
        self.used = []
        self._expand(node, result, OUTSIDE)
        return result

    def _expand(self, node: Node, out: Draft, owner: int) -> None:
        """Append the expansion of a node to `out`."""
        if node.kind == "rule" and node.slot:
            out.slots.append(node.slot)
            owner = len(out.slots) - 1
        for part in self._children(node):
            if isinstance(part, Node):
                self._expand(part, out, owner)
            else:
                out.chars.extend(part)
                out.owners.extend([owner] * len(part))

    def _children(self, node: Node) -> list[Node | str]:
        """Return what a node becomes: nodes to expand further, or text."""
        match node.kind:
            case "rule" if node.value in self.rules:
                return [self.rng.choice(self.rules[node.value])]
            case "rule":
                return [self._entry(self.lexicons[node.value])]
            case "number":
                return [str(self.rng.randrange(*node.numbers))]
            case "pattern":
                return [self._code(node.value)]
            case "choice":
                return [self.rng.choice(node.parts)]
            case "shuffle":
                parts = self.rng.sample(node.parts, len(node.parts))
                return [item for part in parts for item in (part, " ")]
            case "sequence":
                return list(node.parts)
        return [node.value]

    def _entry(self, lexicon: Lexicon) -> str:
        """Return an entry that the sentence does not have yet, unless that takes too long."""
        for _ in range(10):
            entry = lexicon.draw(self.rng, self.new_rate)
            if entry not in self.used:
                break
        self.used.append(entry)
        return entry

    def _code(self, pattern: str) -> str:
        """Return random capital letters and digits in the shape of the pattern."""
        pools = {"L": "ABCDEFGHJKLMNPQRSTUVWXYZ", "N": "0123456789"}
        return "".join(self.rng.choice(pools[mark]) for mark in pattern)


def spread(templates: list[str]) -> list[str]:
    """Return the templates, each as often as the weight at its start says."""
    spread_out: list[str] = []
    for template in templates:
        weight = re.match(r"(\d+)x ", template)
        text = template[weight.end() :] if weight else template
        spread_out.extend([text] * (int(weight[1]) if weight else 1))
    return spread_out


def parse_all(rules: dict[str, list[str]]) -> dict[str, list[Node]]:
    """Return the parsed templates of every rule, repeated by their weights."""
    return {
        name: [parse(template) for template in spread(templates)]
        for name, templates in rules.items()
    }


# ------------------------------------------------------------------ spelling and noise


def tidy(draft: Draft) -> None:
    """Put spaces, stops, articles and capitals of a draft in order, in place."""
    _drop_spare_marks(draft)
    _fix_articles(draft)
    _capitalise(draft)


def _drop_spare_marks(draft: Draft) -> None:
    """Remove doubled spaces, spaces before stops, and stops that follow a stop."""
    kept: list[int] = []
    for i, char in enumerate(draft.chars):
        last = draft.chars[kept[-1]] if kept else " "
        if char == " " and last == " ":
            continue
        if char in ".,;:?!" and draft.owners[i] == OUTSIDE:
            while kept and draft.chars[kept[-1]] == " ":
                kept.pop()
            last = draft.chars[kept[-1]] if kept else " "
            if last == "," and char != ",":
                kept.pop()
            elif last in " .,;:?!":
                continue
        kept.append(i)
    while kept and draft.chars[kept[-1]] in " ,":
        kept.pop()
    draft.keep(kept)


def _fix_articles(draft: Draft) -> None:
    """Make "a" into "an" before a vowel sound."""
    vowel = r"\b[aA](?= (?:[aeioAEIO8]|11 |18 |SUV|umb|und|unt|unc)(?!ne |uro))"
    for match in reversed(list(re.finditer(vowel, draft.text))):
        draft.insert(match.end(), "n", draft.owners[match.start()])


def _capitalise(draft: Draft) -> None:
    """Begin every sentence of the draft with a capital."""
    for match in re.finditer(r"(?:^|[.?!] )(\w)", draft.text):
        at = match.start(1)
        if at == 0 or draft.owners[at - 2] == OUTSIDE:
            draft.chars[at] = draft.chars[at].upper()


def set_ending(draft: Draft, rng: random.Random) -> None:
    """End the draft as people do: questions mostly with "?", the rest often with nothing."""
    last = draft.chars[-1]
    if last == "?" and rng.random() < 0.3:
        draft.keep(list(range(len(draft.chars) - 1)))
    elif last not in ".?!" and rng.random() < 0.45:
        draft.insert(len(draft.chars), "." if rng.random() < 0.9 else "!", OUTSIDE)


def add_case_noise(draft: Draft, rng: random.Random) -> None:
    """Lower or raise the case of some sentences, or only of their names."""
    draw = rng.random()
    if draw < ALL_LOWER:
        draft.recase(str.lower, lambda i: True)
    elif draw < ALL_LOWER + NAMES_LOWER:
        draft.recase(str.lower, lambda i: _slot_at(draft, i) in NAME_SLOTS)
    elif draw < ALL_LOWER + NAMES_LOWER + ALL_UPPER:
        draft.recase(str.upper, lambda i: True)
    elif draw < ALL_LOWER + NAMES_LOWER + ALL_UPPER + NO_CAPITAL:
        draft.recase(str.lower, lambda i: i == 0 and not draft.text.startswith("I"))


def _slot_at(draft: Draft, index: int) -> str:
    """Return the slot of the character at `index`, or "" outside of all slots."""
    owner = draft.owners[index]
    return "" if owner == OUTSIDE else draft.slots[owner]


def add_typo(draft: Draft, rng: random.Random) -> None:
    """Swap, drop or double one letter in some drafts, mostly outside of the slots."""
    if rng.random() >= TYPO_RATE:
        return
    in_name = rng.random() < TYPO_IN_NAME_RATE
    spots = [
        match
        for match in re.finditer(r"[^\W\d_]{4,}", draft.text)
        if (draft.owners[match.start()] != OUTSIDE) == in_name
    ]
    if not spots:
        return
    word = rng.choice(spots)
    # The first letter stays: changing it gives words that nobody types.
    at = rng.randrange(word.start() + 1, word.end() - 1)
    kind = rng.choice(["swap", "drop", "double"])
    if kind == "swap":
        draft.chars[at], draft.chars[at + 1] = draft.chars[at + 1], draft.chars[at]
    elif kind == "drop":
        draft.keep([i for i in range(len(draft.chars)) if i != at])
    else:
        draft.insert(at, draft.chars[at], draft.owners[at])


# ------------------------------------------------------------------ tokens and tags

# Where a word is divided: see syntok's tokenizer, whose hyphens we keep as tokens.
INNER = re.compile(r"n't\b|'[^\W\d_]+|(?<=[^\W\d_])[,;_-](?=\w)|(?<=\w)[,;_-](?=[^\W\d_])")


def tokenize(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start and the characters of each token, as syntok would give them."""
    for chunk in re.finditer(r"\S+", text):
        start, end = chunk.span()
        while start < end and not text[start].isalnum():
            yield start, text[start]
            start += 1
        core_end = end
        while core_end > start and not text[core_end - 1].isalnum():
            core_end -= 1
        yield from _split_word(text[start:core_end], start)
        yield from ((i, text[i]) for i in range(core_end, end))


def _split_word(word: str, offset: int) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a word without marks at its ends: contractions and hyphens."""
    done = 0
    for match in INNER.finditer(word):
        if match.start() > done:
            yield offset + done, word[done : match.start()]
        yield offset + match.start(), match.group()
        done = match.end()
    if done < len(word):
        yield offset + done, word[done:]


def tag(draft: Draft) -> list[tuple[str, str]]:
    """Return the tokens of a draft with their IOB2 tags.

    Raises:
        ValueError: If a token lies half inside a slot value.
    """
    rows: list[tuple[str, str]] = []
    previous = OUTSIDE
    for start, token in tokenize(draft.text):
        owner = draft.owners[start]
        if any(other != owner for other in draft.owners[start : start + len(token)]):
            raise ValueError(f"{token!r} crosses a slot's border in {draft.text!r}")
        slot = _slot_at(draft, start)
        rows.append((token, f"{'I' if owner == previous else 'B'}-{slot}" if slot else "O"))
        previous = owner
    return rows


# ------------------------------------------------------------------ the corpus


@dataclass(frozen=True)
class Sentence:
    """One request.

    Attributes:
        intent: What the request is for.
        text: The request as typed.
        rows: Its tokens and their tags.
    """

    intent: str
    text: str
    rows: tuple[tuple[str, str], ...]


class Writer:
    """Makes sentences, never one twice over all splits.

    Args:
        seed: The seed of everything.
    """

    def __init__(self, seed: int) -> None:
        """Parse the grammar and divide the word lists."""
        self.seed = seed
        self.lexicons = make_lexicons(seed)
        self.rules = parse_all(words.VALUES | words.FRAGMENTS)
        self.starts = parse_all(words.CORES)
        self.wrappers = spread(words.WRAPPERS)
        self.seen: set[str] = set()

    def split(self, name: str, size: int) -> list[Sentence]:
        """Return `size` sentences for the split of that name."""
        rng = random.Random(f"{self.seed}-{name}")
        new_rate = 0.0 if name == "train" else NEW_RATE
        grammar = Grammar(self.lexicons, self.rules, rng, new_rate)
        sentences: list[Sentence] = []
        while len(sentences) < size:
            sentence = self._sentence(grammar)
            key = re.sub(r"\W", "", sentence.text.lower())
            if key not in self.seen:
                self.seen.add(key)
                sentences.append(sentence)
        return sentences

    def _sentence(self, grammar: Grammar) -> Sentence:
        """Return one sentence, its noise included."""
        rng = grammar.rng
        weights = words.INTENT_WEIGHTS
        intent = rng.choices(list(weights), list(weights.values()))[0]
        core = rng.choice(self.starts[intent])
        draft = grammar.draft(_wrap(rng.choice(self.wrappers), core))
        tidy(draft)
        set_ending(draft, rng)
        add_typo(draft, rng)
        add_case_noise(draft, rng)
        return Sentence(intent, draft.text, tuple(tag(draft)))


def _wrap(wrapper: str, core: Node) -> Node:
    """Return the core with what the wrapper puts around it."""
    before, after = wrapper.split("{core}")
    return Node("sequence", parts=(parse(before), core, parse(after)))


def to_conll(sentences: list[Sentence]) -> str:
    """Return the sentences as token and tag lines, with a blank line between sentences."""
    blocks = ["".join(f"{token}\t{tag}\n" for token, tag in s.rows) for s in sentences]
    return "\n".join(blocks)


def to_tsv(sentences: list[Sentence]) -> str:
    """Return the sentences as lines of intent and raw text."""
    return "".join(f"{s.intent}\t{s.text}\n" for s in sentences)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".tmp")
    partial.write_text(text, encoding="utf-8", newline="\n")
    os.replace(partial, path)


def write_corpus(out: Path, seed: int) -> None:
    """Write the three splits to a folder, each as .conll and .tsv."""
    out.mkdir(parents=True, exist_ok=True)
    writer = Writer(seed)
    for name, size in SIZES.items():
        sentences = writer.split(name, size)
        write_text(out / f"{name}.conll", to_conll(sentences))
        write_text(out / f"{name}.tsv", to_tsv(sentences))


def main() -> None:
    """Write the corpus that the command line asks for."""
    parser = argparse.ArgumentParser(description="Write the sample corpus of travel requests.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "travel")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    write_corpus(options.out, options.seed)


if __name__ == "__main__":
    main()
