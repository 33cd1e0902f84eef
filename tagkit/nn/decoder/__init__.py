"""Encoder-decoder networks: attention, and a decoder that writes a sequence unit by unit.

Ids of units: that of the end, which is also read before the first unit, of unknown ones, and that
of a symbol of the source that means no unit, so that it is never copied.
"""

END_ID, UNKNOWN_ID, RESERVED_UNITS = 0, 1, 2
NOT_COPIED = -1
