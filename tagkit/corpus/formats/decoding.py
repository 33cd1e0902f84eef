"""Decoders of encodings: each decodes bytes or refuses them, without a warning."""

import codecs
import warnings
from collections.abc import Callable

_WARNING = ("unicode-escape",)  # codecs that warn of bytes that they cannot decode


def decoder_of(name: str) -> Callable[[bytes, bool], str]:
    """The incremental decoder of an encoding, which refuses what Python alone warns of."""
    decoder = codecs.getincrementaldecoder(name)()
    if codecs.lookup(name).name not in _WARNING:
        return decoder.decode

    def decode(piece: bytes, final: bool) -> str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return decoder.decode(piece, final)
        except Warning as error:  # an escape that is none, such as \s
            raise UnicodeError(str(error)) from None

    return decode
