"""What `predict` says and keeps where records cannot be read: a list of them, a partial output."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from tagkit.cli.program.console import note
from tagkit.errors import FileError, FormatError, TagkitError
from tagkit.wording import Message, Setting, plural

# More of them are a file of another kind, and a terminal would scroll for minutes.
_LISTED = 1000


class SkippedRecords:
    """Lists records that are left out, on standard error, and counts them."""

    def __init__(self) -> None:
        """None so far."""
        self.count = 0

    def add(self, error: FormatError) -> None:
        """List one more, with its line and what is wrong with it."""
        self.count += 1
        if self.count <= _LISTED:
            note(Message("warning: ", str(error), "; skipped"))
        elif self.count == _LISTED + 1:
            note("warning: further records that cannot be used are skipped without being listed")

    def finish(self) -> None:
        """Say how many there are, if any."""
        if self.count:
            have = "was" if self.count == 1 else "were"
            note(f"warning: {plural(self.count, 'record')} {have} skipped")


class PartialOutput:
    """What an error leaves of the output: the error's message says so.

    To be entered before the output is opened.
    """

    def __init__(self, output: Path | None, *, skips: bool) -> None:
        """What is written, and how.

        Args:
            output: the file; None for standard output.
            skips: whether records that cannot be used are skipped already.
        """
        self._output = output
        self._skips = skips
        self._kept: Path | None = None
        self._lines = 0

    def keep(self, path: Path) -> None:
        """The unfinished output has got this name."""
        self._kept = path

    def counting(self, write: Callable[[str], None]) -> Callable[[str], None]:
        """The function, which counts the lines that it writes."""

        def counted(text: str) -> None:
            write(text)
            self._lines += text.count("\n")

        return counted

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        """Add what was kept, and how to go on, to the message of the error."""
        if not isinstance(error, TagkitError):
            return
        parts: list[str | Setting] = []
        if self._kept is not None:
            parts += [
                f"{self._kept}: has what was predicted before the error, "
                f"{plural(self._lines, 'line')}; {self._output} was not written"
            ]
        is_record = isinstance(error, FormatError) and not isinstance(error, FileError)
        if is_record and not self._skips:
            parts += [". "] if parts else []
            option = Setting("on_bad_record", "skip")
            parts += [option, " leaves out records that cannot be used, and lists them"]
        if parts:
            error.add_line(Message(*parts))
