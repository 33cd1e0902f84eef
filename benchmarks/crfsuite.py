"""CRFsuite on the sentences of benchmarks/sizes.py: the yardstick of the learning curves.

    pip install python-crfsuite
    python benchmarks/crfsuite.py -o crf.jsonl
    python benchmarks/crfsuite.py conll2003 wnut17 --sizes 100 all --features sparse -o crf.jsonl

A linear-chain CRF (Okazaki 2007) over the usual features, trained by L-BFGS with CRFsuite's own
defaults: c1 = 0, c2 = 1, no limit of iterations. Features follow the tutorial of sklearn-crfsuite
on CoNLL-2002, without its parts of speech: the word in lower case, affixes, case, digits, and words
and case of the neighbours. Tags are learned in IOB2 and scored as tagkit scores its own. Results
are JSON Lines; runs that are there already are not repeated.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from corpora import CORPORA, DATA, SIZES, Parts, first, has_size, read_parts

from tagkit.evaluation.reports.tag_report import make_tag_report
from tagkit.text.records import Sentence

TAGGING = [name for name, corpus in CORPORA.items() if corpus.task == "tag"]
Features = list[list[str]]  # names of the features that hold, by token


def shape(word: str) -> str:
    """The word with X for capitals, x for small letters and d for digits, each run once."""
    kinds = (
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word
    )
    return "".join(kind for kind, _ in groupby(kinds))


def case(word: str) -> dict[str, bool]:
    """What the letters of a word are, by name."""
    return {"isupper": word.isupper(), "istitle": word.istitle()}


def features(words: Sequence[str], *, affixes: int, shapes: bool, both: bool) -> Features:
    """The features of each word of a sentence.

    Args:
        words: of the sentence.
        affixes: length of the longest prefix and suffix.
        shapes: whether the word's shape is a feature.
        both: whether a property that a word lacks is a feature too, as `isupper=False` is in the
            tutorial of python-crfsuite; without, only those that it has.
    """
    return [_features_at(words, i, affixes, shapes, both) for i in range(len(words))]


def _features_at(
    words: Sequence[str], place: int, affixes: int, shapes: bool, both: bool
) -> list[str]:
    word = words[place]
    found = ["bias", f"lower={word.lower()}"]
    flags = {
        **case(word),
        "isdigit": word.isdigit(),
        "hasdigit": any(map(str.isdigit, word)),
        "hashyphen": "-" in word,
    }
    for length in range(1, affixes + 1):
        found += [f"prefix{length}={word[:length]}", f"suffix{length}={word[-length:]}"]
    if shapes:
        found.append(f"shape={shape(word)}")
    for offset in (-1, 1):
        if 0 <= place + offset < len(words):
            other = words[place + offset]
            found.append(f"{offset:+}:lower={other.lower()}")
            flags |= {f"{offset:+}:{name}": value for name, value in case(other).items()}
        else:
            found.append("BOS" if offset < 0 else "EOS")
    return found + [f"{name}={value}" for name, value in flags.items() if value or both]


# By name, as --features takes it.
FEATURES: dict[str, Callable[[Sequence[str]], Features]] = {
    "full": partial(features, affixes=4, shapes=True, both=True),
    "sparse": partial(features, affixes=3, shapes=False, both=False),
}


def crfsuite() -> Any:
    """The module of python-crfsuite, which is no dependency of the project."""
    try:
        import pycrfsuite
    except ImportError:
        sys.exit("benchmarks/crfsuite.py needs python-crfsuite: pip install python-crfsuite")
    return pycrfsuite


def run(parts: Parts, size: str, extract: Callable[[Sequence[str]], Features]) -> dict[str, Any]:
    """Train on the first `size` sentences, and score dev and test."""
    start = time.perf_counter()
    trainer = crfsuite().Trainer(algorithm="lbfgs", verbose=False)
    sentences = first(parts.train, size)
    for sentence in sentences:
        trainer.append(extract(sentence.words), sentence.tags)
    with tempfile.TemporaryDirectory() as scratch:
        model = str(Path(scratch) / "crf.model")
        trainer.train(model)
        trained_s = time.perf_counter() - start
        tagger = crfsuite().Tagger()
        tagger.open(model)
        scores = {
            part: score(tagger, gold, parts.scheme or "", extract)
            for part, gold in (("dev", parts.dev), ("test", parts.test))
        }
        tagger.close()
    return {"sentences": len(sentences), **scores, "seconds": round(trained_s, 1)}


def score(
    tagger: Any,
    gold: Sequence[Sentence],
    scheme: str,
    extract: Callable[[Sequence[str]], Features],
) -> float:
    """Micro F1 of spans, or accuracy of plain labels, 0 to 1."""
    predicted = [tagger.tag(extract(sentence.words)) for sentence in gold]
    return make_tag_report([s.tags or () for s in gold], predicted, scheme).headline


def main() -> None:
    """Train all corpora at all sizes, the small ones first."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", nargs="*", choices=[[], *TAGGING], metavar="CORPUS")
    parser.add_argument("--sizes", nargs="+", default=SIZES[:-1], choices=SIZES)
    parser.add_argument("--features", default="full", choices=FEATURES)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of all corpora")
    parser.add_argument("-o", "--output", type=Path, required=True, help="JSON Lines")
    arguments = parser.parse_args()
    lines = arguments.output.read_text("utf-8").splitlines() if arguments.output.exists() else []
    done = {(row["corpus"], row["size"], row["features"]) for row in map(json.loads, lines)}
    names = arguments.corpora or TAGGING
    parts = {name: read_parts(name, arguments.data) for name in names}
    for size in arguments.sizes:
        for name in names:
            if (name, size, arguments.features) in done or not has_size(parts[name], size):
                continue
            key = {
                "model": "crfsuite",
                "corpus": name,
                "size": size,
                "features": arguments.features,
            }
            row = {**key, **run(parts[name], size, FEATURES[arguments.features])}
            with arguments.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)


if __name__ == "__main__":
    main()
