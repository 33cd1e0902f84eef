"""What a damaged checkpoint raises, in words for people."""

import json
from pathlib import Path

from tagkit.errors import DataError
from tagkit.wording import quoted

# What reading, parsing and restoring of arbitrary bytes raises. MemoryError and OverflowError come
# from absurd sizes in a header, RecursionError from deeply nested JSON.
DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError,
           MemoryError, DataError)  # fmt: skip
STATE_FILE = "state.json"  # of a checkpoint


def describe_damage(error: BaseException) -> str:
    """What is wrong with a checkpoint, not in the words of Python or of a library.

    Args:
        error: one of `DAMAGE`, raised while a checkpoint was read or restored.
    """
    if isinstance(error, OSError):
        name = Path(str(error.filename)).name if error.filename else ""
        return f"{name}: {error.strerror}".removeprefix(": ")
    if isinstance(error, RecursionError):
        return f"{STATE_FILE} is nested too deep"
    if isinstance(error, json.JSONDecodeError):
        return f"{STATE_FILE} is not JSON"
    if isinstance(error, KeyError):
        return f"{STATE_FILE} lacks {quoted(str(error.args[0]))}"
    if isinstance(error, UnicodeDecodeError):
        return f"{STATE_FILE} is not UTF-8"
    if type(error) is ValueError:
        text = str(error)
        # Python converts at most 4,300 digits to an int (CVE-2020-10735), and says so in its words.
        if text.startswith("Exceeds the limit"):
            return f"{STATE_FILE} holds a number with too many digits"
        return text if len(text) <= 200 else f"{text[:200]}..."
    return f"{STATE_FILE} holds no state of a run"
