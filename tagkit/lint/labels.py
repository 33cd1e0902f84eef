"""Labels: spellings of one and the same, rare ones, files with one alone; labels train lacks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from tagkit.lint.reading import ReadFile
from tagkit.lint.report import Finding, plural

_FEW = 5  # examples from which little can be learnt
_MOST_SHOWN = 12
_SHORT = 5  # letters; shorter labels differ in one as a rule (NN, NNS)


def check_labels(read: ReadFile, is_train: bool) -> Iterator[Finding]:
    """What is odd about a file's labels, each by itself."""
    lines: dict[str, list[int]] = {}
    for label, line in read.labelled():
        lines.setdefault(label, []).append(line)
    counts = Counter({label: len(found) for label, found in lines.items()})
    if read.only_outside():
        severity = "error" if is_train else "warning"
        message = "every tag is O: there is nothing to learn or to score"
        yield Finding(severity, "only-O", read.path, message)  # type: ignore[arg-type]
    elif len(counts) == 1 and not read.has_spans:
        (label,) = counts
        yield Finding("error", "one-label", read.path, f"{label!r} is the only label")
    for one, other in variants(counts, plain=read.has_tags and not read.has_spans):
        yield Finding(
            "warning",
            "label-spelling",
            read.path,
            f"{one!r} ({counts[one]:,}) and {other!r} ({counts[other]:,}) may be the same label",
            counts[other],
            tuple(lines[other]),
        )
    rare = sorted((label for label in counts if counts[label] < _FEW), key=counts.__getitem__)
    if rare and is_train:
        yield Finding(
            "note",
            "few-examples",
            read.path,
            f"{plural(len(rare), 'label')} with fewer than {_FEW} examples: {shown(rare, counts)}",
            len(rare),
        )


def variants(counts: Counter[str], *, plain: bool) -> list[tuple[str, str]]:
    """Pairs of labels that look like one, the more frequent first.

    They differ in case or punctuation alone, or, unless they are `plain` ones such as parts of
    speech, in one letter where the rarer has at most three examples and one in a hundred.
    """
    by_form: dict[str, list[str]] = {}
    for label, _ in counts.most_common():
        by_form.setdefault(_form(label), []).append(label)
    pairs = [(group[0], other) for form, group in by_form.items() if form for other in group[1:]]
    if plain:
        return pairs
    first_of = [group[0] for form, group in by_form.items() if len(form) >= _SHORT]
    for one, other in combinations(first_of, 2):
        rare = min(counts[one], counts[other])
        often = max(counts[one], counts[other])
        if rare <= 3 and 100 * rare <= often and _one_letter_apart(_form(one), _form(other)):
            pairs.append((one, other) if counts[one] == often else (other, one))
    return pairs


def _form(label: str) -> str:
    return "".join(char for char in label.casefold() if char not in "-_. ")


def _one_letter_apart(one: str, other: str) -> bool:
    """Whether one letter was changed, left out or put in; digits tell labels apart on purpose."""
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    start = next((i for i, char in enumerate(one) if char != other[i]), len(one))
    rest = one[start + 1 :] if len(one) == len(other) else one[start:]
    changed = other[start : start + 1] + (one[start : start + 1] if len(one) == len(other) else "")
    return rest == other[start + 1 :] and not any(char.isdigit() for char in changed)


def check_unknown_labels(train: ReadFile, other: ReadFile) -> Iterator[Finding]:
    """Labels that train lacks, with all examples of them."""
    yield from _unknown(train, other, "label", train.labelled(), other.labelled())
    if train.has_tags and other.has_tags:  # sentences that have both tags and a class
        yield from _unknown(train, other, "class", train.classes(), other.classes())


def _unknown(
    train: ReadFile,
    other: ReadFile,
    what: str,
    theirs: Iterable[tuple[str, int]],
    ours: Iterable[tuple[str, int]],
) -> Iterator[Finding]:
    known = {label for label, _ in theirs}
    lines: dict[str, list[int]] = {}
    for label, line in ours:
        if label not in known:
            lines.setdefault(label, []).append(line)
    if not lines or not known:
        return
    counts = Counter({label: len(found) for label, found in lines.items()})
    numbers = tuple(sorted(line for found in lines.values() for line in found))
    yield Finding(
        "warning",
        f"unknown-{what}",
        other.path,
        f"{plural(len(counts), what)} that {train.path} lacks, so that no model can find "
        f"{'them' if len(counts) > 1 else 'it'}: {shown([*counts], counts)}",
        counts.total(),
        numbers,
    )


def shown(labels: Sequence[str], counts: Counter[str]) -> str:
    """Labels with their counts, the first dozen."""
    told = ", ".join(f"{label} ({counts[label]:,})" for label in labels[:_MOST_SHOWN])
    more = len(labels) - _MOST_SHOWN
    return f"{told} and {more:,} more" if more > 0 else told
