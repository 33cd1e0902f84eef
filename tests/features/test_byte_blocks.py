"""Blocks of bytes against the bytes taken one by one."""

import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.features import byte_blocks
from tagkit.features.byte_blocks import ByteBlocks


@given(
    st.binary(max_size=60),
    st.lists(st.one_of(st.none(), st.integers(0, 12)), max_size=12),
    st.integers(1, 9),
)
def test_what_is_taken_is_what_lies_there_whatever_the_size_of_blocks(
    content: bytes, calls: list[int | None], block: int
) -> None:
    at = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_blocks, "_BLOCK", block)
        blocks = ByteBlocks(io.BytesIO(content))
        for size in calls:
            if size is None:  # up to a zero byte
                end = content.find(b"\0", at)
                expected = content[at : end if end >= 0 else len(content)]
                assert blocks.up_to(b"\0", 100) == expected
                at += len(expected) + (end >= 0)
            else:
                assert blocks.take(size) == content[at : at + size]
                at = min(at + size, len(content))


def test_what_has_no_end_within_its_limit_is_not_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "zeros.gz"
    with gzip.open(path, "wb", compresslevel=1) as packed:
        packed.write(bytes(10**7))
    with gzip.open(path) as file:
        assert ByteBlocks(file).up_to(b" ", 1000) is None
        assert file.tell() <= 2**17
    assert ByteBlocks(io.BytesIO(b"abcd ")).up_to(b" ", 3) is None
    assert ByteBlocks(io.BytesIO(b"abc ")).up_to(b" ", 3) == b"abc"
