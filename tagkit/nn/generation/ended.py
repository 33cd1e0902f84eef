"""Why a sequence ended; this module imports no torch."""

from typing import Literal

Ended = Literal["symbol", "halt", "length"]
