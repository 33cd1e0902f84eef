"""Names of the tag schemes: what the configuration knows of them, without their rules."""

SPAN_SCHEMES = ("iob1", "iob2", "iobes", "bilou", "bmes")
# Of spans that have no beginning, so that neighbours of one type are one: named, never written.
IO = "io"
# The name in place of a scheme's where each word has a label of its own. Compare with
# `has_spans`, not with this.
PLAIN = "labels"
# "IOB" alone is read as IOB1, as in the CoNLL-2003 shared task and in seqeval; many people who
# write it mean IOB2, which detection by the tags themselves gets right.
SYNONYMS = {"iob": "iob1", "bio": "iob2", "bioes": "iobes", "biluo": "bilou", "bmeso": "bmes"}
