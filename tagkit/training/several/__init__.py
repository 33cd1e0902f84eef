"""Several runs: seeds, search, folds, audits, learning curves."""
