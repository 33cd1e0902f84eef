"""Files of word vectors, whole and broken."""

import gzip
import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.errors import VectorsError
from tagkit.features import word_vectors as byte_blocks
from tagkit.features.word_vectors import ByteBlocks, Vectors, load_vectors

WORDS = ("the", "Oslo", "São", "日本", "\x85", "7", "don't")
MATRIX = np.random.default_rng(3).normal(size=(len(WORDS), 5)).astype(np.float32)


def numbers(row: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in row)


def glove() -> bytes:
    rows = zip(WORDS, MATRIX, strict=True)
    return "".join(f"{word} {numbers(row)}\n" for word, row in rows).encode()


def word2vec_text() -> bytes:
    return b"7 5\n" + glove()


def fasttext_text() -> bytes:
    return b"7 5\n" + glove().replace(b"\n", b" \n")  # its lines end with a blank


def word2vec_binary(end: bytes = b"\n") -> bytes:
    rows = zip(WORDS, MATRIX, strict=True)
    return b"7 5\n" + b"".join(w.encode() + b" " + r.astype("<f4").tobytes() + end for w, r in rows)


KINDS = {
    "glove.txt": glove,
    "vectors": glove,
    "glove.tabs.txt": lambda: glove().replace(b" ", b"\t"),
    "windows.txt": lambda: glove().replace(b"\n", b"\r\n"),
    "unfinished.txt": lambda: glove().rstrip(b"\n"),
    "word2vec.txt": word2vec_text,
    "wiki.vec": fasttext_text,
    "word2vec.bin": word2vec_binary,
    "gensim.bin": lambda: word2vec_binary(end=b""),  # without line feeds between the words
}


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_kind_of_file_gives_its_words_and_numbers(
    tmp_path: Path, name: str, zipped: bool
) -> None:
    data = KINDS[name]()
    path = tmp_path / (f"{name}.gz" if zipped else name)
    found = load_vectors(write(path, gzip.compress(data) if zipped else data))
    assert found.words == WORDS
    assert found.matrix.dtype == np.float32
    assert np.array_equal(found.matrix, MATRIX)
    assert found.dim == 5


@pytest.mark.parametrize("name", KINDS)
def test_a_limit_keeps_the_first_words(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, KINDS[name]())
    for limit in (1, 3, 7, 100):
        found = load_vectors(path, limit)
        assert found.words == WORDS[:limit]
        assert np.array_equal(found.matrix, MATRIX[:limit])


@pytest.mark.parametrize("ending", [".txt", ".vocab", ".words"])
@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f4", "<f2", "<i4"])
def test_a_matrix_of_numpy_with_a_list_of_words(tmp_path: Path, ending: str, dtype: str) -> None:
    matrix = (MATRIX * 100).astype(dtype)
    np.save(tmp_path / "v.npy", matrix)
    (tmp_path / f"v{ending}").write_text("\r\n".join(WORDS) + "\n", encoding="utf-8", newline="")
    found = load_vectors(tmp_path / "v.npy")
    assert found.words == WORDS
    assert found.matrix.dtype == np.float32
    assert np.array_equal(found.matrix, matrix.astype(np.float32))
    assert load_vectors(tmp_path / "v.npy", 2).words == WORDS[:2]


def test_words_may_hold_blanks(tmp_path: Path) -> None:
    # As in GloVe 840B: ". . ." is a word there.
    path = write(tmp_path / "a.txt", b"the 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
    found = load_vectors(path)
    assert found.words == ("the", ". . .", "at name@domain.com")
    assert found.matrix.tolist() == [[1, 2], [3, 4], [5, 6]]
    path = write(tmp_path / "b.txt", b"1 2\nNew York 1 2\n")
    assert load_vectors(path).words == ("New York",)


@pytest.mark.parametrize("header", [b"", b"2 2\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path, header: bytes) -> None:
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbf" + header + b"the 1 2\na 3 4\n")
    found = load_vectors(path)
    assert found.words == ("the", "a")
    assert found.matrix.tolist() == [[1, 2], [3, 4]]


def test_a_first_word_with_blanks_does_not_change_how_many_numbers_there_are(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "a.txt", b". . . 1 2\n" + b"the 3 4\nof 5 6\n")
    assert load_vectors(path).words == (". . .", "the", "of")


def test_most_words_may_hold_blanks(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"the 1 2\nNew York 3 4\nSan Jose 5 6\nLos Angeles 7 8\n")
    assert load_vectors(path).words == ("the", "New York", "San Jose", "Los Angeles")


def test_words_may_be_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"3 4 5\n1 2 3\n")
    found = load_vectors(path)
    assert found.words == ("3", "1")
    assert found.matrix.tolist() == [[4, 5], [2, 3]]


def test_of_a_word_given_twice_the_first_vector_counts(tmp_path: Path) -> None:
    found = load_vectors(write(tmp_path / "a.txt", b"a 1 2\nb 3 4\na 5 6\n"))
    assert found.words == ("a", "b")
    assert found.matrix.tolist() == [[1, 2], [3, 4]]
    # A limit counts words, not lines.
    again = load_vectors(write(tmp_path / "b.txt", b"a 1 2\na 5 6\nb 3 4\nc 7 8\n"), 2)
    assert again.words == ("a", "b")


def test_bytes_that_are_no_utf8_do_not_stop_the_file(tmp_path: Path) -> None:
    found = load_vectors(write(tmp_path / "a.txt", b"the 1 2\nM\xfcnchen 3 4\n"))
    assert found.words == ("the", "M\ufffdnchen")


finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(rows=st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=4))
def test_any_finite_numbers_are_read_exactly(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, ...]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.vec"
    lines = [f"w{index} {' '.join(map(repr, row))}" for index, row in enumerate(rows)]
    found = load_vectors(write(path, "\n".join([f"{len(rows)} 3", *lines]).encode()))
    assert np.array_equal(found.matrix, np.array(rows, dtype=np.float32))


def refusal(load: Callable[[], Vectors]) -> str:
    with pytest.raises(VectorsError) as caught:
        load()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"", Says("word vectors")),
        ("a.txt", b"\n\n", Says("word vectors")),
        ("a.txt", b"9 5\n", Says("word vectors")),
        ("a.txt", b"a 1 2\nb 3\n", Says(":2: ", "2 numbers", "'b 3'")),
        ("a.txt", b"a 1 2\nb 3 x\n", Says(":2: ", "2 numbers", "'b 3 x'")),
        # Most lines say how many numbers there are, and not the first, which may be damaged.
        ("a.txt", b"a 1\nb 3 4\nc 5 6\n", Says(":1: ", "2 numbers", "'a 1'")),
        ("a.txt", b"1 3\na 1 2\n", Says(":2: ", "3 numbers", "'a 1 2'")),
        ("a.txt", b"word\n", Says(":1: ", "'word'")),
        ("a.txt", b"Once upon a time\n", Says(":1: ", "'Once upon a time'")),
        ("a.txt", b"a 1 2\nb nan 3\n", Says("'b'", "finite")),
        ("a.txt", b"a 1 2\nb 1e50 3\n", Says("'b'", "finite")),
        ("a.bin", b"", Says("'number dim'")),
        ("a.bin", b"\xba\x16O/\x0c\n", Says("'number dim'")),
        ("a.bin", word2vec_binary()[:-3], Says("6 of 7 vectors")),
        ("a.bin", b"2 1\n", Says("2 vectors of 1 numbers", "14 bytes", " 4")),
        ("a.bin", b"1000000000000 5\n" + word2vec_binary()[4:],
         Says("1,000,000,000,000 vectors", "21,000,000,000,016 bytes", "195")),
        ("a.bin.gz", gzip.compress(b"1000000000000 5\n", mtime=0),
         Says("1,000,000,000,000 vectors", "at most 26,832")),
        ("a.bin", b"7 1000000000\n", Says("100,000", "'7 1000000000'")),
        ("a.bin", b"7 0\nword ", Says("100,000", "'7 0'")),
        ("a.bin", b"1 2\n" + b"w" * 70_000, Says("word 1", "65,536 bytes")),
        ("a.txt", b"7 1000000000\na 1 2\n", Says("100,000", "'7 1000000000'")),
        ("a.txt", b"7 99999999999999999999\na 1 2\n", Says("100,000", "'7 99999999999999999999'")),
        ("a.txt", b"9" * 5000 + b" 2\na 1 2\n",
         Says("100,000", "'" + "9" * 40 + "..." + "9" * 18 + " 2'")),
        ("a.txt", b"7 0\na\n", Says("100,000", "'7 0'")),
        ("a.txt", b"a" + b" 1" * 100_001, Says(":1: ", "100,000 numbers", "100,001")),
        ("a.txt.gz", gzip.compress(bytes(20_000_000), mtime=0), Says(":1: ", "8,388,608 bytes")),
        ("a.bin", b"0 5\n", Says("word vectors")),
        ("a.txt.gz", glove(), Says("gzip")),
        ("a.txt.gz", gzip.compress(glove())[:-20], Says("gzip", "cut short")),
        ("a.bin.gz", gzip.compress(word2vec_binary()[:-30]), Says("5 of 7 vectors")),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused_with_what_was_found(
    tmp_path: Path, name: str, data: bytes, message: Says
) -> None:
    path = write(tmp_path / name, data)
    told = refusal(lambda: load_vectors(path))
    assert told.startswith(f"{path}:")
    assert told == message


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(glove()))
    data[10] = 0xFF  # the type of the first block
    path = write(tmp_path / "a.txt.gz", bytes(data))
    assert refusal(lambda: load_vectors(path)) == Says(path, "whole")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "no.txt"
    assert refusal(lambda: load_vectors(path)) == Says(path, "vectors")
    assert refusal(lambda: load_vectors(tmp_path)) == Says(f"{tmp_path}: ", "folder")


def npy(folder: Path, content: object, words: str | None) -> Path:
    path = folder / "v.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    if words is not None:
        (folder / "v.txt").write_text(words, encoding="utf-8")
    return path


def test_a_matrix_without_its_words_is_refused(tmp_path: Path) -> None:
    path = npy(tmp_path, MATRIX, None)
    assert refusal(lambda: load_vectors(path)) == (Says(path, "v.txt", "v.vocab", "v.words"))


@pytest.mark.parametrize(
    ("matrix", "words", "problem"),
    [
        (MATRIX, "a\nb\n", Says("2 words of v.txt", "(7, 5)")),
        (MATRIX[0], "a\nb\nc\nd\ne", Says("5 words of v.txt", "(5,)")),
        (np.array([["x"]]), "a\n", Says("numbers", "'<U1'")),
        (np.array([[np.nan]]), "a\n", Says("'a'", "finite")),
        (np.zeros((1, 0)), "a\n", Says("100,000", "(1, 0)")),
        (np.zeros((1, 1), dtype=complex), "a\n", Says("numbers", "'<c16'")),
        (np.zeros((0, 5)), "", Says("1 words of v.txt", "(0, 5)")),
    ],
)  # fmt: skip
def test_a_matrix_that_does_not_fit_is_refused(
    tmp_path: Path, matrix: object, words: str, problem: Says
) -> None:
    path = npy(tmp_path, matrix, words)
    assert refusal(lambda: load_vectors(path)) == Says(f"{path}: ", *problem.parts)


def test_pickles_archives_texts_and_cut_matrices_are_no_matrices(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    (tmp_path / "v.txt").write_text("a\n", encoding="utf-8")

    def refused() -> bool:
        return refusal(lambda: load_vectors(path)).startswith(f"{path}: not a whole .npy matrix: ")

    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert refused()
    with path.open("wb") as file:
        np.savez(file, a=np.zeros((1, 2)))
    assert refused()
    np.save(path, MATRIX[:1])
    path.write_bytes(path.read_bytes()[:-4])
    assert refused()
    for data in (b"", b"a 1 2\n"):
        path.write_bytes(data)
        assert refused()


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, " + b"9" * 5000 + b")}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4611686018427387905)}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, -1)}",
        b"{'descr': [('a', '<f4')] * 10**9, 'fortran_order': False, 'shape': (1, 2)}",
        b"(" * 9_000,
        b'"""',
        b"{1: 2}\0",
    ],
    ids=lambda header: str(header[:40]),
)
def test_a_damaged_header_of_a_matrix_is_refused(tmp_path: Path, header: bytes) -> None:
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    path = npy(tmp_path, start + header + bytes(8), "a\n")
    assert refusal(lambda: load_vectors(path)) == (
        f"{path}: not a whole .npy matrix: damaged, cut short, or made of Python objects, which "
        "are never read; write it again with numpy.save"
    )


def test_a_header_that_python_2_wrote_is_read_without_a_warning(tmp_path: Path) -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 2L), }".ljust(117) + b"\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    values = np.array([[1, 2]], dtype="<f4")
    path = npy(tmp_path, start + header + values.tobytes(), "a\n")
    assert load_vectors(path).matrix.tolist() == [[1, 2]]


def test_a_file_that_may_not_be_read_is_refused_without_a_number_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ("a" * 300)
    assert refusal(lambda: load_vectors(path)) == Says(path, "opened")
    path = write(tmp_path / "a.txt", b"a 1 2\n")

    def forbid(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", forbid)
    assert refusal(lambda: load_vectors(path)) == Says(path, "Permission")


def test_the_beginning_of_a_text_file_may_keep_the_header_of_the_whole(tmp_path: Path) -> None:
    found = load_vectors(write(tmp_path / "a.txt", b"2000000 2\na 1 2\nb 3 4\n"))
    assert (found.words, found.missing) == (("a", "b"), 1_999_998)  # of which a training tells
    assert load_vectors(tmp_path / "a.txt", 2).missing == 0  # no more were asked for
    assert load_vectors(write(tmp_path / "b.vec", b"2 2\na 1 2\nb 3 4\n")).missing == 0


def test_the_beginning_of_a_binary_file_is_enough_for_so_many_words(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bin", word2vec_binary()[:-30])
    assert load_vectors(path, 3).words == WORDS[:3]


def test_the_real_glove_vectors_are_read(corpora: Path) -> None:
    found = load_vectors(corpora / "vectors" / "glove.6B.50d.trimmed.txt", 20_000)
    assert found.matrix.shape == (20_000, 50)
    row = dict(zip(found.words, found.matrix, strict=True))

    def cosine(a: str, b: str) -> float:
        return float(row[a] @ row[b] / np.linalg.norm(row[a]) / np.linalg.norm(row[b]))

    assert cosine("paris", "france") > cosine("paris", "monday") + 0.2


@pytest.mark.slow
def test_the_matrix_is_in_memory_once_while_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "vectors.bin"
    matrix = np.arange(40_000 * 50, dtype="<f4").reshape(40_000, 50)
    rows = (b"%d %s" % (number, row.tobytes()) for number, row in enumerate(matrix))
    path.write_bytes(b"40000 50\n" + b"".join(rows))
    tracemalloc.start()
    try:
        found = load_vectors(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found.matrix == matrix).all()
    # Words and their dictionary take 6 MB. A list of rows and its stack would take 16 MB and more.
    assert matrix.nbytes <= peak < 2 * matrix.nbytes


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_is_mapped_a_few_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Literal["C", "F"]
) -> None:
    monkeypatch.setattr("tagkit.features.word_vectors._MAPPED_ROWS", 3)
    np.save(tmp_path / "v.npy", np.asarray(MATRIX, order=order))
    (tmp_path / "v.txt").write_text("\n".join(WORDS), encoding="utf-8", newline="")
    found = load_vectors(tmp_path / "v.npy")
    assert np.array_equal(found.matrix, MATRIX)
    assert np.shares_memory(found.matrix, found.table)
    assert not found.table[0].any()  # of no word
    assert len(found.table) == len(WORDS) + 1


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
