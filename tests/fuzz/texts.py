"""What has no file: the tokenizer, schemes and spans, windows."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

from tagkit.text.records import Prediction, Sentence, Span
from tagkit.text.scheme_detection import count_steps, illegal_count, judge
from tagkit.text.schemes import SPAN_SCHEMES, convert, from_spans, to_spans
from tagkit.text.tokenizer import TOKENIZERS
from tagkit.text.windows import cut, join, windows, windows_between_spans

from .case import Case, require
from .mutation import altered_text, odd, word
from .samples import line, tags


def tokenizer_case(rng: Random) -> Case:
    """A text."""
    text = rng.choice((" ", " ", "\n", "")).join(line(rng) for _ in range(rng.choice((1, 1, 2, 4))))
    if rng.random() < 0.15:
        text = "".join(odd(rng)[:40] for _ in range(rng.randint(1, 30)))
    name = "blanks" if rng.random() < 0.1 else "syntok"
    return Case({}, {"text": altered_text(rng, text), "tokenizer": name})


def run_tokenizer(case: Case, _: Path) -> None:
    """Every character that is no white space is in exactly one token, and offsets are exact."""
    text = case.options["text"]
    at = 0
    for found in TOKENIZERS[case.options["tokenizer"]](text):
        require(bool(found), "a sentence without tokens", [text])
        for token in found:
            require(bool(token.text), "an empty token", [text])
            require(at <= token.start < token.end <= len(text), "tokens out of order", [text])
            require(text[token.start : token.end] == token.text, "an offset that is not exact",
                    (token, text))  # fmt: skip
            require(not text[at : token.start].strip(), "characters in no token", [text])
            at = token.end
    require(not text[at:].strip(), "characters in no token", [text])


def scheme_case(rng: Random) -> Case:
    """Sequences of tags, well-formed or not."""
    found = [tags(rng, rng.randint(1, 8)) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.5:
        chosen = rng.choice(found)
        chosen[rng.randrange(len(chosen))] = rng.choice(
            (odd(rng), "O", "B-X", "I-X", "E-Y", "L-X", "U-X", "M-X", "B", "_", "I", "B-_", "S",
            f"B-{odd(rng)}")
        )  # fmt: skip
    spans, at = [], 0
    length = rng.randint(1, 20)
    while at < length:
        at += rng.randint(0, 3)
        end = min(length, at + rng.randint(1, 4))
        if at < end:
            spans.append([at, end, rng.choice(("X", "Y", "", "a-b", word(rng, 0.2)))])
        at = end
    return Case({}, {"tags": found, "spans": spans, "length": length})


def run_schemes(case: Case, _: Path) -> None:
    """Spans survive every scheme; converted tags are legal in it and mean the same spans."""
    options = case.options
    spans = tuple(Span(a, b, label) for a, b, label in options["spans"])
    for scheme in SPAN_SCHEMES:
        if not (scheme == "iob1" and any(not span.label for span in spans)):
            made = from_spans(spans, options["length"], scheme)
            require(to_spans(made) == spans, "spans -> tags -> spans", (scheme, spans, made))
        for sequence in options["tags"]:
            found = to_spans(sequence)
            _check_spans(found, len(sequence))
            converted = convert(sequence, scheme)
            require(len(converted) == len(sequence), "as many tags as before", sequence)
            require(to_spans(converted) == found, "converted tags mean other spans",
                    (scheme, sequence, converted))  # fmt: skip
            require(not illegal_count([converted], scheme), "converted tags are illegal",
                    (scheme, sequence, converted))  # fmt: skip
    judged = judge(count_steps(options["tags"]))
    if judged.scheme in SPAN_SCHEMES and not judged.odd:
        count = illegal_count(options["tags"], judged.scheme)
        require(count == judged.detection.illegal, "illegal steps", options["tags"])


def _check_spans(spans: Sequence[Span], length: int) -> None:
    require(all(0 <= span.start < span.end <= length for span in spans), "a span outside", spans)
    require(all(a.end <= b.start for a, b in pairwise(spans)), "spans that overlap", spans)


def window_case(rng: Random) -> Case:
    """A length, a size of windows, and spans that a model might find in each window."""
    size = rng.choice((2, 3, 4, 5, 8, 11, 16, 40))
    length = rng.choice((1, size, size + 1, size + 2, 2 * size, rng.randint(1, 6 * size)))
    parts = []
    for start, end in windows(length, size):
        spans, at = [], 0
        while at < end - start:
            at += rng.randint(0, 4)
            stop = min(end - start, at + rng.randint(1, max(1, size - 1)))
            if at < stop:
                spans.append([at, stop, rng.choice("XY")])
            at = stop
        parts.append([start, end, spans])
    scheme = rng.choice((*SPAN_SCHEMES, "labels"))
    return Case({}, {"length": length, "size": size, "parts": parts, "scheme": scheme,
                     "tags": tags(rng, length, "iob2")})  # fmt: skip


def run_windows(case: Case, _: Path) -> None:
    """Windows cover a sentence; joined again, each word has one tag and one probability."""
    options = case.options
    length, scheme = options["length"], options["scheme"]
    words = tuple(f"w{number}" for number in range(length))
    gold = tuple(options["tags"])
    for planned in (windows(length, options["size"]), windows_between_spans(gold, options["size"])):
        covered = sorted({at for a, b in planned for at in range(a, b)})
        require(covered == list(range(length)), "a word in no window", planned)
        require(all(b - a <= max(options["size"], 1) for a, b in planned), "too long", planned)
        for window in planned:
            part = cut(Sentence(words, gold), window)
            require(part.words == words[slice(*window)], "the words of a window", window)
            require(part.tags == gold[slice(*window)], "the tags of a window", window)
    parts = []
    for start, end, found in options["parts"]:
        spans = tuple(Span(a, b, label) for a, b, label in found)
        own = from_spans(spans, end - start, "iob2" if scheme == "labels" else scheme)
        sure = tuple(float(at) for at in range(start, end))
        part = Prediction(words[start:end], own, () if scheme == "labels" else spans, sure)
        parts.append((start, part))
    if len(parts) < 2:
        return
    joined = join(words, parts, scheme)
    require(len(joined.tags) == length, "as many tags as words", joined.tags)
    require(joined.probabilities is not None and len(joined.probabilities) == length,
            "as many probabilities as words", joined.probabilities)  # fmt: skip
    require(joined.probabilities == tuple(float(at) for at in range(length)),
            "each word has its own probability", joined.probabilities)  # fmt: skip
    if scheme != "labels":
        _check_spans(joined.spans, length)
        require(tuple(Span(s.start, s.end, s.label) for s in joined.spans) == to_spans(joined.tags),
                "tags and spans agree", joined)  # fmt: skip
