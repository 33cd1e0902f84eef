"""Files <-> records: formats, splits, alignment, conversion, checks."""
