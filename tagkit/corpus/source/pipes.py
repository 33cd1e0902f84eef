"""Corpora that come from pipes, which give their content once."""

from tagkit.config import Config, DataConfig
from tagkit.corpus.source.source import is_pipe, source_name
from tagkit.errors import DataError


def refuse_one_pipe_for_two(data: DataConfig) -> None:
    """Refuse a pipe that is to be two corpora: who reads it again waits for ever.

    Raises:
        DataError: there is one.
    """
    seen = {data.train_file}
    for path, setting in (
        (data.dev_file, "data.dev_file"),
        (data.test_file, "data.test_file"),
    ):
        if path and path in seen and is_pipe(path):
            raise DataError(
                f"{source_name(path)}: can be read once, and another corpus is read from it "
                f"already; name a file with {setting}"
            )
        seen.add(path)


def require_files(config: Config, what: str) -> None:
    """Make sure that the corpora can be read several times.

    Args:
        config: names them.
        what: names what reads them, as in 'several seeds'.

    Raises:
        DataError: one is standard input or a pipe.
    """
    for path in (config.data.train_file, config.data.dev_file, config.data.test_file):
        if is_pipe(path):
            raise DataError(
                f"{source_name(path)}: can be read once, and {what} read it several times; save it "
                "to a file and name that"
            )
