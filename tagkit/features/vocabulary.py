"""Strings <-> ids: words, characters, tags, classes, values of feature columns.

Words, characters and features reserve two ids, for padding and for unknown strings; tags and
classes need neither. Everything comes from the training corpus alone; pretrained vectors may add
words.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any

from tagkit.features.column_labels import ColumnLabels, read_columns
from tagkit.features.language_part import LanguagePart, read_parts
from tagkit.features.pair_reading import PairReading
from tagkit.features.unit_reading import UnitReading
from tagkit.features.vector_columns import VectorColumn, read_vectors
from tagkit.features.word_features import affixes_of
from tagkit.text.json_text import checked_strings, kind_of
from tagkit.text.records import Sentence
from tagkit.wording import quoted

PAD_ID = 0  # the only definition: batches fill with it, embeddings zero its row
UNKNOWN_ID = 1
RESERVED = 2  # the first id of a string; those below are PAD_ID and UNKNOWN_ID

# Characters of a word that are read from each of its ends; those between are ignored. The network
# needs about 2 KB of memory a character. The longest token of twelve public corpora, a web address,
# has 121.
CHARS_AT_EACH_END = 128

# ASCII digits alone: digits of other scripts stay, as in the models that are already trained.
_DIGITS = str.maketrans("123456789", "000000000")


@dataclass(frozen=True)
class Vocabulary:
    """The strings that a model knows, and their ids.

    Attributes:
        words: words with a trained embedding, in the order of their ids, from `RESERVED` on.
        vector_words: words with a pretrained vector, in the order of their rows, from 1 on.
        only_vectors: whether a word with a pretrained vector has no trained embedding as well.
        chars: in the order of their ids, from `RESERVED` on.
        affixes: prefixes, suffixes and shapes in the order of their ids, from 1 on; empty in a
            model that reads none.
        tags: in the order of their ids, from 0 on.
        classes: of whole texts, in the order of their ids, from 0 on.
        features: values of each feature column, each in the order of their ids, from `RESERVED` on.
        lowercase: whether words are looked up in lower case.
        normalize_digits: whether words are looked up with every digit as 0.
        columns: labels of each tag column, in a model of several; it has no `tags`.
        forms: distinct words of the training corpus as they are written, in such a model alone: its
            scores tell known words from unknown ones.
        units: that are read in place of words, which `words` then holds, or in place of characters,
            which `chars` then holds; None where words and characters are read.
        contextual: language models whose states are inputs, in the order of their values.
        pairs: units of a model that writes strings, whose `words` are symbols of sources.
        vectors: what standardises each column of numbers.
    """

    words: tuple[str, ...]
    vector_words: tuple[str, ...]
    only_vectors: bool
    chars: tuple[str, ...]
    affixes: tuple[str, ...]
    tags: tuple[str, ...]
    classes: tuple[str, ...]
    features: tuple[tuple[str, ...], ...]
    lowercase: bool
    normalize_digits: bool
    columns: tuple[ColumnLabels, ...] = ()
    forms: tuple[str, ...] = ()
    units: UnitReading | None = None
    contextual: tuple[LanguagePart, ...] = ()
    pairs: PairReading | None = None
    vectors: tuple[VectorColumn, ...] = ()
    # Derived, so neither saved nor compared.
    _word_ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _vector_rows: dict[str, int] = field(init=False, repr=False, compare=False)
    _char_ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _affix_ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _tag_ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _class_ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _feature_ids: tuple[dict[str, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Build the tables from strings to ids."""
        tables = {
            "_word_ids": _numbered(self.words, RESERVED),
            "_vector_rows": _numbered(self.vector_words, 1),  # row 0 is zero: no vector
            "_char_ids": _numbered(self.chars, RESERVED),
            "_affix_ids": _numbered(self.affixes, 1),
            "_tag_ids": _numbered(self.tags, 0),
            "_class_ids": _numbered(self.classes, 0),
            "_feature_ids": tuple(_numbered(values, RESERVED) for values in self.features),
        }
        # The dataclass is frozen, and refuses an ordinary assignment.
        for name, table in tables.items():
            object.__setattr__(self, name, table)

    def word_id(self, word: str) -> int:
        """Id of a word in the model's form, else of a simpler form of it, else `UNKNOWN_ID`.

        `PAD_ID`, whose embedding is zero, for a word that has a pretrained vector and nothing else.
        """
        if self.reads_units:  # lowercasing came before the word was cut into them
            return self._word_ids.get(word, UNKNOWN_ID)
        if self.only_vectors and self.vector_row(word):
            return PAD_ID
        key = word_key(word, self.lowercase, self.normalize_digits)
        found = self._word_ids.get(key)
        if found is None:
            # Also for models that keep case and digits: a word unseen in capitals is often known in
            # lower case.
            found = first_known(word, self._word_ids.get)
        return UNKNOWN_ID if found is None else found

    def vector_row(self, word: str) -> int:
        """Row of the pretrained vector of a word, else of a simpler form of it; 0 if none."""
        # `lowercase` does not apply: a file of vectors has forms of its own, often with case.
        return first_known(word, self._vector_rows.get) or 0 if self._vector_rows else 0

    @property
    def reads_units(self) -> bool:
        """Whether the encoder reads units in place of words."""
        return self.units is not None and self.units.instead_of == "words"

    def units_of(self, word: str) -> Sequence[str]:
        """What the encoder reads of a word of a sentence: the word itself, or its units."""
        if self.units is None or not self.reads_units:
            return (word,)
        return self.units.cut(word_key(word, self.lowercase, self.normalize_digits))

    def char_ids(self, word: str) -> list[int]:
        """Ids of a word's characters (code points); of a very long word those at both ends.

        Or of the units that are read in their place.
        """
        # A prefix and a suffix say most about an unknown word; its middle costs memory alone.
        if len(word) > 2 * CHARS_AT_EACH_END:
            word = word[:CHARS_AT_EACH_END] + word[-CHARS_AT_EACH_END:]
        known = self._char_ids
        if self.units is not None and not self.reads_units:
            return [known.get(unit, UNKNOWN_ID) for unit in self.units.cut(word)]
        return [known.get(char, UNKNOWN_ID) for char in word]

    def affix_ids(self, word: str) -> list[int]:
        """Ids of a word's prefixes, suffixes and shape; `PAD_ID` of each that is not known."""
        # Not `UNKNOWN_ID`: they are summed, and an unknown one adds nothing.
        known = self._affix_ids
        return [known.get(affix, PAD_ID) for affix in affixes_of(word)]

    def tag_id(self, tag: str) -> int | None:
        """Id of a tag; None if the training corpus lacks it."""
        return self._tag_ids.get(tag)

    def class_id(self, label: str) -> int | None:
        """Id of a class; None if the training corpus lacks it."""
        return self._class_ids.get(label)

    def feature_ids(self, column: int, values: Sequence[str]) -> list[int]:
        """Ids of values of one feature column."""
        known = self._feature_ids[column]
        return [known.get(value, UNKNOWN_ID) for value in values]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and values, for JSON."""
        # Not dataclasses.asdict, which would copy every word, and the tables of ids as well.
        names = [part.name for part in fields(self) if part.init]
        found = {name: getattr(self, name) for name in names}
        columns, forms, units = found.pop("columns"), found.pop("forms"), found.pop("units")
        if parts := found.pop("contextual"):
            found["contextual"] = [part.to_dict() for part in parts]
        if columns:  # a model of one column is written as before there were several
            found |= {"columns": [column.to_dict() for column in columns], "forms": forms}
        if units:  # nor does a model of words have units
            found["units"] = units.to_dict()
        if pairs := found.pop("pairs"):
            found["pairs"] = pairs.to_dict()
        if vectors := found.pop("vectors"):
            found["vectors"] = [column.to_dict() for column in vectors]
        return found

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Vocabulary":
        """The vocabulary that `to_dict` gave.

        Raises:
            KeyError: a part is missing.
            TypeError: a part has the wrong type.
            ValueError: a part repeats a string, or holds an empty string where none is allowed.
        """
        if not isinstance(values, dict):
            raise TypeError(f"expected an object with lists of strings, found {kind_of(values)}")
        vocabulary = cls(
            words=_strings(values, "words"),
            vector_words=_strings(values, "vector_words"),
            only_vectors=_bool(values, "only_vectors"),
            chars=_strings(values, "chars"),
            # Models of 0.1.0 have none.
            affixes=_strings(values, "affixes") if "affixes" in values else (),
            tags=_strings(values, "tags"),
            classes=_strings(values, "classes"),
            features=_columns(values, "features"),
            lowercase=_bool(values, "lowercase"),
            normalize_digits=_bool(values, "normalize_digits"),
            columns=read_columns(found) if (found := values.get("columns")) else (),
            forms=_strings(values, "forms") if "forms" in values else (),
            units=UnitReading.from_dict(values["units"]) if "units" in values else None,
            contextual=read_parts(found) if (found := values.get("contextual")) else (),
            pairs=PairReading.from_dict(found) if (found := values.get("pairs")) else None,
            vectors=read_vectors(found) if (found := values.get("vectors")) else (),
        )
        vocabulary._check()
        return vocabulary

    def _check(self) -> None:
        """Raise ValueError if two ids have the same string, or a string cannot be one."""
        tables = {
            "words": (self.words, self._word_ids),
            "vector_words": (self.vector_words, self._vector_rows),
            "chars": (self.chars, self._char_ids),
            "affixes": (self.affixes, self._affix_ids),
            "tags": (self.tags, self._tag_ids),
            "classes": (self.classes, self._class_ids),
        }
        for number, (column, ids) in enumerate(zip(self.features, self._feature_ids, strict=True)):
            tables[f"features, column {number}"] = (column, ids)
        for name, (strings, known) in tables.items():
            # The tables of ids exist already, so equal strings show by the counts alone.
            if len(known) < len(strings):
                # Of equal strings the table has the last one's id; the last string of all thus
                # has its own, from which the id of the first one follows.
                numbered = enumerate(strings, known[strings[-1]] - len(strings) + 1)
                repeated = next(text for number, text in numbered if known[text] != number)
                raise ValueError(
                    f"{name}: expected each string once, found {quoted(repeated)} again"
                )
            # Files of vectors and feature columns may have an empty string.
            if name in ("words", "affixes", "tags", "classes") and "" in known:
                raise ValueError(f"{name}: expected no empty string, found one")
        if self.units is not None and not self.reads_units:
            return  # `chars` are units of any length
        if any(len(char) != 1 for char in self.chars):
            wrong = next(char for char in self.chars if len(char) != 1)
            raise ValueError(f"chars: expected single characters, found {quoted(wrong)}")


def word_key(word: str, lowercase: bool, normalize_digits: bool) -> str:
    """The form of a word that has a trained embedding."""
    key = word.lower() if lowercase else word
    key = key.translate(_DIGITS) if normalize_digits else key
    # Both give a new string, also where nothing changes: of a million words these are 60 MB.
    return word if key == word else key


def decomposed(words: Iterable[str]) -> list[str]:
    """Those whose letters and accents are characters of their own, where one could be (UAX #15).

    They look the same as composed words, and are other words to a model.
    """
    return [
        word for word in words if not (word.isascii() or unicodedata.is_normalized("NFC", word))
    ]


def first_known(word: str, lookup: Callable[[str], int | None]) -> int | None:
    """What `lookup` finds for a word, else for its lower case, else with its digits as 0.

    The word in lower case comes before the word without digits; None if no form is found.
    """
    # Vectors differ in what they were trained on: some have no capitals, some 0 for every digit.
    forms: tuple[str, ...] = (word, word.lower())
    if not word.isalpha():  # letters alone hold no digit
        forms += (word.translate(_DIGITS), forms[1].translate(_DIGITS))
    for form in forms:
        found = lookup(form)
        if found is not None:
            return found
    return None


def count_surfaces(sentences: Iterable[Sentence]) -> Counter[str]:
    """How often each word occurs, as written in the corpus."""
    return Counter(chain.from_iterable(sentence.words for sentence in sentences))


def count_words(surfaces: Counter[str], lowercase: bool, normalize_digits: bool) -> Counter[str]:
    """How often each word occurs, counted under its `word_key`."""
    counts: Counter[str] = Counter()
    for word, count in surfaces.items():
        counts[word_key(word, lowercase, normalize_digits)] += count
    return counts


def count_chars(surfaces: Counter[str]) -> Counter[str]:
    """How often each character (code point) occurs in the words."""
    counts: Counter[str] = Counter()
    for word, count in surfaces.items():
        for char in word:
            counts[char] += count
    return counts


def most_frequent(strings: Iterable[str] | Counter[str]) -> tuple[str, ...]:
    """Distinct strings by descending frequency, equally frequent ones in alphabetical order."""
    counts = strings if isinstance(strings, Counter) else Counter(strings)
    # Ids follow from this order, and weights are drawn by id, so it must not depend on the order of
    # sentences or on hashing.
    # The second sort keeps the alphabet within a frequency, also in reverse. Pairs of both as the
    # key would take three times as long, and for a million words 120 MB.
    return tuple(sorted(sorted(counts), key=counts.__getitem__, reverse=True))


def _numbered(strings: Sequence[str], first: int) -> dict[str, int]:
    return {string: number for number, string in enumerate(strings, first)}


def _strings(values: dict[str, Any], name: str) -> tuple[str, ...]:
    return checked_strings(values[name], name)


def _columns(values: dict[str, Any], name: str) -> tuple[tuple[str, ...], ...]:
    if not isinstance(values[name], (list, tuple)):
        raise TypeError(f"{name}: expected a list of columns, found {kind_of(values[name])}")
    return tuple(checked_strings(column, name) for column in values[name])


def _bool(values: dict[str, Any], name: str) -> bool:
    if type(values[name]) is not bool:
        raise TypeError(f"{name}: expected true or false, found {kind_of(values[name])}")
    return bool(values[name])
