"""What label consistency changes for a trained tagger: F1 with other shares, same weights.

    python benchmarks/label_consistency.py MODEL CORPUS [MODEL CORPUS …]

The corpus has gold tags and marks documents (`-DOCSTART-`). Prints F1 in per cent and the seconds
that scoring took, for each share of the way to the mean.
"""

import sys
import time

from tagkit.config import with_options
from tagkit.corpus.splits.splits import read_split
from tagkit.inference.predict.predictor import Predictor, load

SHARES = (0.0, 0.3, 0.5, 0.7, 1.0)


def main(arguments: list[str]) -> None:
    """Score each model on the corpus behind it."""
    for model, corpus in zip(arguments[::2], arguments[1::2], strict=True):
        trained = load(model)
        data = trained.config.data
        split = read_split(corpus, data, trained.task.needs, data.scheme, of_model=True)
        for share in SHARES:
            config = with_options(trained.config, {"head.label_consistency": share})
            predictor = Predictor(trained.model, trained.vocabulary, config, trained.device)
            start = time.perf_counter()
            score = 100 * predictor.score(split).headline
            seconds = time.perf_counter() - start
            print(f"{model} {corpus} {share}: {score:.2f}, {seconds:.2f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
