"""Movie reviews of Pang and Lee 2005 in ten folds: mean and deviation of the accuracy.

    python benchmarks/folds.py --folds 10 --set encoder.cell=cnn --set encoder.widths=[3,4,5] \
        --set head.pooling=max

10,662 sentences, shuffled with seed 1; fold k is every tenth from the k-th on. A tenth of the
others is dev, as in Kim 2014.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from corpora import DATA

import tagkit
from tagkit.config import load_config

PARTS = ("train", "dev", "test")


def main() -> None:
    """Train and score each fold, one line of JSON each, then the mean."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folds", type=int, default=10, help="the first ones of ten")
    parser.add_argument("--set", action="append", default=[], dest="options")
    args = parser.parse_args()
    lines = [
        f"{label}\t{' '.join(line.split())}\n"
        for label in ("pos", "neg")
        for line in (DATA / "mr" / f"rt-polarity.{label}").read_text("latin-1").split("\n")
        if line.strip()
    ]
    random.Random(1).shuffle(lines)
    found = []
    for fold in range(args.folds):
        rest = [line for at, line in enumerate(lines) if at % 10 != fold]
        parts = (rest[len(rest) // 10 :], rest[: len(rest) // 10], lines[fold::10])
        with tempfile.TemporaryDirectory() as name:
            files = {part: Path(name) / f"{part}.tsv" for part in PARTS}
            for part, chosen in zip(PARTS, parts, strict=True):
                files[part].write_text("".join(chosen), encoding="utf-8")
            flags: dict[str, object] = {
                f"data.{part}_file": str(file) for part, file in files.items()
            }
            flags |= {"task": "classify", "train.seed": 1, "train.threads": 1,
                      "output.dir": f"{name}/model"}  # fmt: skip
            began = time.process_time()
            trained = tagkit.train(load_config(None, args.options, flags))
            assert trained.test is not None
            found.append(100 * trained.test.headline)
            minutes = (time.process_time() - began) / 60
            row = {"fold": fold, "dev": 100 * trained.best.score, "test": found[-1]}
            print(json.dumps(row | {"texts": len(lines), "minutes": minutes}), flush=True)
    print(f"test {statistics.mean(found):.2f} ± {statistics.pstdev(found):.2f}")


if __name__ == "__main__":
    main()
