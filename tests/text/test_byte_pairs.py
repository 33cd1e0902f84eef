"""Byte pair encoding: against the algorithm in plain Python, on fuzzed text, from bad files."""

import copy
import pickle
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.errors import ConfigError
from tagkit.text import byte_pairs
from tagkit.text.byte_pairs import BYTES, SIGNS, BytePairs, train_byte_pairs
from tagkit.text.units import Unit

# Sennrich, Haddow and Birch 2016; Jurafsky and Martin 2024, figure 2.13.
LOW = ["low"] * 5 + ["lowest"] * 2 + ["newer"] * 6 + ["wider"] * 3 + ["new"] * 2
PROSE = [
    "It is a truth universally acknowledged, that a single man in possession of a good fortune,",
    "must be in want of a wife. Il était une fois; été, où êtes-vous? Здравствуйте, здравствуй!",
    "the there then they them these; 1984 1985 1986 -- 'tis it's its; 漢字漢字 👩‍👩‍👧👩‍👩‍👧",
] * 2


def reference_merges(lines: list[str], size: int) -> list[tuple[str, str]]:
    """The merges by the definition: count all pairs, merge the most frequent one, begin again."""
    words: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        words.update(tuple(piece) for piece in pieces(line))
    number = {sign: place for place, sign in enumerate(sorted(SIGNS))}
    merges = []
    while len(number) < size:
        counts: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                counts[pair] += count
        # The most frequent; of equally frequent ones that of the oldest units.
        best = min(counts, key=lambda p: (-counts[p], number[p[0]], number[p[1]]), default=None)
        if best is None or counts[best] < 2:
            break
        merges.append(best)
        number.setdefault("".join(best), len(number))
        merged: Counter[tuple[str, ...]] = Counter()
        for word, count in words.items():
            merged[tuple(with_merge(list(word), best))] += count
        words = merged
    return merges


def with_merge(word: list[str], pair: tuple[str, str]) -> list[str]:
    """A word with each occurrence of a pair merged, from the left."""
    found: list[str] = []
    while word:
        if tuple(word[:2]) == pair:
            found.append("".join(pair))
            word = word[2:]
        else:
            found.append(word.pop(0))
    return found


def pieces(line: str) -> list[str]:
    """The stretches of a line that no unit crosses, as signs of bytes."""
    import regex

    # Radford et al. 2019.
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    return ["".join(SIGNS[byte] for byte in text.encode()) for text in regex.findall(pattern, line)]


def reference_units(line: str, units: BytePairs) -> list[str]:
    """The units by the definition: all merges in the order in which they were learnt."""
    found = []
    for piece in pieces(line):
        word = list(piece)
        for pair in units.merges:
            word = with_merge(word, pair)
        found += word
    return found


@pytest.mark.parametrize("size", [257, 262, 300, 2000])
@pytest.mark.parametrize(
    "lines", [LOW, PROSE, [], ["\0\0 \0\0"]], ids=["low", "prose", "none", "0"]
)
def test_the_merges_are_those_of_the_algorithm_with_its_rule_for_ties(
    lines: list[str], size: int
) -> None:
    units = train_byte_pairs(lines, size)
    assert list(units.merges) == reference_merges(lines, size)
    assert len(units.names) <= size
    for line in lines:
        assert units.strings(line) == reference_units(line, units)


def test_of_equally_frequent_pairs_that_of_the_older_units_is_merged() -> None:
    # "e r" 9 times; then "n e" and "e w" 8 times, of which e is the older left unit.
    assert train_byte_pairs(LOW, 259).merges == (("e", "r"), ("e", "w"), ("n", "ew"))


def test_all_256_bytes_have_a_sign_of_their_own_that_can_be_seen() -> None:
    assert len(set(SIGNS)) == BYTES
    assert SIGNS[ord("a")] == "a"
    assert SIGNS[ord(" ")] == "Ġ"
    assert not re.search(r"\s", "".join(SIGNS))


UNITS = train_byte_pairs(PROSE, 400)


@given(st.text(st.characters(exclude_categories=["Cs", "Cn"])))
def test_any_text_is_cut_as_the_definition_says(line: str) -> None:
    assert UNITS.strings(line) == reference_units(line, UNITS)
    assert set(UNITS.strings(line)) <= set(UNITS.names)


def test_a_character_belongs_to_the_unit_with_its_first_byte() -> None:
    assert BytePairs(()).cut("né") == [Unit("n", 0, 1), Unit("Ã", 1, 2), Unit("©", 2, 2)]
    crossing = BytePairs((("©", "Ã"), ("©Ã", "©")))
    assert crossing.cut("éé") == [Unit("Ã", 0, 1), Unit("©Ã©", 1, 2)]


def test_a_lone_half_of_a_surrogate_pair_is_one_replacement_character() -> None:
    units = UNITS.cut("a\ud800b")
    assert "".join("a\ud800b"[unit.start : unit.end] for unit in units) == "a\ud800b"
    assert UNITS.join([unit.text for unit in units]) == "a\ufffdb"


def test_units_that_are_no_whole_characters_join_to_replacement_characters() -> None:
    assert BytePairs(()).join(["Ã"]) == "\ufffd"


def test_what_was_written_is_read_again_and_copies_are_equal() -> None:
    again = BytePairs.from_list(UNITS.to_list())
    assert again == UNITS
    assert again.strings(PROSE[1]) == UNITS.strings(PROSE[1])
    assert copy.deepcopy(UNITS) == UNITS == pickle.loads(pickle.dumps(UNITS))  # noqa: S301


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (None, Says("merges", "strings")),
        ([1], Says("merges", "strings")),
        (["ab"], Says("merges", "'ab'")),
        (["a b c"], Says("merges", "'a b c'")),
        (["a "], Says("merges", "'a '")),
        (["ab c"], Says("merges", "'ab c'")),
        (["漢 a"], Says("merges", "'漢 a'")),
        (["a b", "a b"], Says("merges", "'a b'")),
    ],
)
def test_a_list_that_is_no_merges_is_refused(values: object, problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        BytePairs.from_list(values)
    assert str(caught.value) == problem


def test_without_the_package_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigError) as caught:
        train_byte_pairs(["a"], 300)
    assert str(caught.value) == Says("data.unit=bpe", "tokenizers")


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "4"])
def test_other_threads_and_processes_and_orders_of_lines_give_the_same_merges(
    threads: str,
) -> None:
    program = (
        "import random, sys\n"
        "from tagkit.text.byte_pairs import train_byte_pairs\n"
        f"lines = {PROSE!r} * 50\n"
        "random.Random(0).shuffle(lines)\n"
        "print(ascii(train_byte_pairs(lines, 400).to_list()))"
    )
    env = {"RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": str(threads != "1").lower(),
           "PYTHONPATH": ":".join(sys.path)}  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ascii(train_byte_pairs(PROSE * 50, 400).to_list())
    assert byte_pairs._MIN_COUNT == 2
