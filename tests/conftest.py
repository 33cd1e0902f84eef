"""What all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# One thread is enough for small models; on busy cores several wait for each other for minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples in every run: a red build is one that somebody has made red.
settings.register_profile("tagkit", derandomize=True, deadline=None)
settings.load_profile("tagkit")

CORPORA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora, which is not part of the project."""
    if not (CORPORA / "README.md").is_file():
        pytest.skip(f"no corpora for measuring in {CORPORA}")
    return CORPORA
