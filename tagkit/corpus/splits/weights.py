"""Files of sentence weights: how much each sentence of a training corpus counts in the loss.

    {"weight": 0.49, "words": ["Book", "a", "flight"]}      one line a sentence, in its order

The words are there so that a file is never used for another corpus, and for people who edit it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError, FormatError
from tagkit.storage import write_whole
from tagkit.storage.places import require_place
from tagkit.text.json_text import from_json, kind_of, to_json
from tagkit.text.records import Sentence
from tagkit.wording import plural, quoted, reason


def read_weights(path: str, split: Split) -> tuple[float, ...]:
    """The weight of each sentence of a corpus.

    Raises:
        DataError: the file cannot be read, or every weight is 0.
        FormatError: a line holds no weight, or one of another sentence.
    """
    found: list[float] = []
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                if len(found) == len(split.sentences):
                    expected = _one_for_each(split)
                    raise FormatError(path, number, f"{expected}, found more")
                found.append(_weight(line, path, number, split.sentences[len(found)], split.path))
    except (OSError, ValueError) as error:
        because = reason(error)
        raise DataError(f"{path}: cannot be read: {because} (data.weights)") from None
    if len(found) < len(split.sentences):
        raise DataError(f"{path}: {_one_for_each(split)}, found {len(found):,}")
    if not any(found):
        raise DataError(f"{path}: every weight is 0, so there is nothing to learn from")
    return tuple(found)


def write_weights(
    path: Path, words: Sequence[Sequence[str]], weights: Sequence[float], *, force: bool
) -> None:
    """Write a weight for each sentence; the file is complete, or it is not there.

    Raises:
        DataError: it is there and `force` is not set, or it cannot be written.
    """
    require_place(path, replace=force)
    lines = [
        to_json({"weight": weight, "words": [*each]}) + "\n"
        for each, weight in zip(words, weights, strict=True)
    ]
    try:
        write_whole(path, "".join(lines).encode())
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {reason(error)}") from None


def _one_for_each(split: Split) -> str:
    return f"expected {plural(len(split.sentences), 'weight')}, one for each of {split.path}"


def _weight(line: bytes, path: str, number: int, sentence: Sentence, corpus: str) -> float:
    try:
        record: Any = from_json(line)
    except ValueError as error:
        raise FormatError(path, number, f"expected JSON, found {error}") from None
    if not isinstance(record, dict) or record.keys() != {"weight", "words"}:
        raise FormatError(
            path, number, f'expected {{"weight": ..., "words": [...]}}, found {_shown(record)}'
        )
    if record["words"] != list(sentence.words):
        where = f"{corpus}:{sentence.lines[0]}" if sentence.lines else corpus
        raise FormatError(
            path,
            number,
            f"expected the words of {where}, {quoted(' '.join(sentence.words))}, found "
            f"{_shown(record['words'])}; the weights are of another corpus, or of another reading",
        )
    weight = record["weight"]
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not 0 <= weight <= _LARGEST:
        raise FormatError(
            path, number, f"expected a weight from 0 to {_LARGEST:g}, found {_shown(weight)}"
        )
    return float(weight)


_LARGEST = 1e6  # beyond it a sentence is all that is learnt, and float32 loses the others


def _shown(value: Any) -> str:
    match value:
        case int() | float() if not isinstance(value, bool):
            return f"{value:g}"
        case list() if all(isinstance(each, str) for each in value):
            return quoted(" ".join(value))
        case dict():
            return f"the keys {', '.join(quoted(str(key), 20) for key in [*value][:5]) or 'none'}"
    return kind_of(value)
