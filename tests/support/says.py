"""What a message must name, whatever its sentence; the sentences are in tests/e2e/messages.txt."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Says:
    """Equal to each text that has all of these parts: a file and line, an option, a value."""

    def __init__(self, *parts: object) -> None:
        """`parts` that are no texts are named as `str` has them."""
        self.parts = [str(part) for part in parts]

    def __eq__(self, text: object) -> bool:
        """Whether a text, or an error, has all parts."""
        return not self.missing(str(text))

    def __hash__(self) -> int:
        """As of its parts."""
        return hash(tuple(self.parts))

    def __repr__(self) -> str:
        """Shown where a comparison fails."""
        return f"Says{tuple(self.parts)}"

    def missing(self, text: str) -> list[str]:
        """The parts that a text lacks."""
        return [part for part in self.parts if part not in text]

    def within(self, texts: Any) -> bool:
        """Whether a text, or one of several, has all parts."""
        return self == texts if isinstance(texts, str) else any(self == text for text in texts)


@contextmanager
def refuses(kind: type[Exception], *parts: object) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expects an error of a kind that names these parts; another `Says` counts by its parts."""
    named = [each for part in parts for each in (part.parts if isinstance(part, Says) else [part])]
    with pytest.raises(kind) as caught:
        yield caught
    text = str(caught.value)
    assert Says(*named).missing(text) == [], text
