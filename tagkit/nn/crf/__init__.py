"""Linear chains: scores of paths, their sums, the best ones, and how sure these are."""
