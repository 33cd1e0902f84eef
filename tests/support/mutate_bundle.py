"""Mutate a valid model folder at random: `mutate_bundle.py SCRATCH COUNT MODEL...`.

Each mutation leaves the digests right. The model must then answer in finite numbers or be refused
with a BundleError, within a bound on memory; prints how many did the one and the other.
"""

import json
import math
import resource
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import altering
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tagkit.errors import BundleError
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.text.records import Sentence

MEMORY = 600 * 2**20  # beyond what the imports have taken

SPECIAL = [math.nan, math.inf, -math.inf, 3e38, -3e38, 1e20, 1e-45, 0.0]
ODD: list[Any] = [
    None, True, False, -1, 0, 1, 2, 7, 10**6, 10**9, 2**63, 10**400, 0.5, 1e300, math.nan, "", "x",
    "O", "B-PER", "labels", "a" * 100_000, "\ud800", "\0", [], {}, [[]], ["x"], ["x", "x"], [1, 2],
    {"a": 1}, json.loads("[" * 200 + "]" * 200), list(range(10_000)), ["w"] * 10_000,
]  # fmt: skip
PARTS = [altering.METADATA, altering.VOCABULARY, altering.WEIGHTS, altering.CONFIG]
mutations = st.one_of(
    st.tuples(
        st.just("json"), st.sampled_from(PARTS[:3]), st.integers(0, 400), st.sampled_from(ODD)
    ),
    st.tuples(st.just("drop"), st.sampled_from(PARTS[:3]), st.integers(0, 400), st.none()),
    st.tuples(st.just("toml"), st.just(altering.CONFIG), st.integers(0, 80), st.sampled_from(ODD)),
    st.tuples(st.just("byte"), st.sampled_from(PARTS), st.integers(0, 10**6),
              st.binary(max_size=4)),
    st.tuples(st.just("float"), st.just(altering.WEIGHTS), st.integers(0, 10**6),
              st.sampled_from(SPECIAL)),
)  # fmt: skip


def places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every container with a key of it, outermost first."""
    waiting = [value]
    for each in waiting:
        pairs = each.items() if isinstance(each, dict) else enumerate(each)
        for key, inner in pairs:
            found.append((each, key))
            if isinstance(inner, (dict, list)) and len(waiting) < 1000:
                waiting.append(inner)
    return found


def mutate(model: Path, kind: str, name: str, number: int, odd: Any) -> None:
    path = model / name
    raw = path.read_bytes()
    if kind == "byte":
        at = number % (len(raw) + 1)
        raw = raw[:at] + odd + raw[at + 1 :]
    elif kind == "toml":
        lines = raw.decode().split("\n")
        at = number % len(lines)
        key = lines[at].partition("=")[0] or "task"
        shown = json.dumps(odd) if not isinstance(odd, dict) else "{a = 1}"
        lines[at] = f"{key} = {shown}"
        raw = "\n".join(lines).encode("utf-8", "replace")
    elif kind == "float":
        header, data = altering.split_weights(raw)
        at = 4 * (number % (len(data) // 4))
        data = data[:at] + struct.pack("<f", odd) + data[at + 4 :]
        raw = altering.join_weights(json.dumps(header).encode(), data)
    else:
        weights = name == altering.WEIGHTS
        value, data = altering.split_weights(raw) if weights else (json.loads(raw), b"")
        all_places = places(value, [])
        container, key = all_places[number % len(all_places)]
        if kind == "drop":
            del container[key]
        else:
            container[key] = odd
        raw = json.dumps(value).encode()
        raw = altering.join_weights(raw, data) if weights else raw
    path.write_bytes(raw)


def answers(predictor: Predictor) -> None:
    """Answer, and see that all numbers are finite."""
    words = ("Ada", "visits", "Oslo", ".")
    columns = tuple(("UP",) * len(words) for _ in predictor.vocabulary.features)
    sentence = Sentence(words, features=columns)
    for found in predictor.annotate([sentence], batch_size=2, confidence=True):
        numbers = [span.probability for span in found.spans]
        numbers += list(found.probabilities or ()) + [each.probability for each in found.scores]
        assert all(number is not None and math.isfinite(number) for number in numbers), numbers


def main(scratch: Path, count: int, models: list[Path]) -> None:
    for model in models:
        answers(load(model, "cpu"))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    counts = {"working": 0, "refused": 0}

    @seed(12)
    @settings(
        max_examples=count,
        deadline=20_000,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(st.sampled_from(models), st.lists(mutations, min_size=1, max_size=3))
    def check(model: Path, chosen: list[tuple[str, str, int, Any]]) -> None:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(model, scratch)
        try:
            for each in chosen:
                mutate(scratch, *each)
            altering.redigest(scratch)
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            IndexError,
            OSError,
            ZeroDivisionError,
        ):
            pass  # two mutations of one part: the second may find nothing that it knows
        try:
            answers(load(scratch, "cpu"))
            counts["working"] += 1
        except BundleError as error:
            counts["refused"] += 1
            if len(str(error)) > 10_000:
                raise

    check()
    sys.stdout.write(f"{counts['working']} {counts['refused']}\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]), int(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
