"""Files of word vectors: text, word2vec's binary, .npy, and gzip around them."""

import io
from pathlib import Path
from random import Random

import numpy as np

from tagkit.features.word_vectors import load_vectors

from .case import Case, require
from .mutation import altered_bytes, altered_text, encode, packed, word

_NUMBERS = (
    "9" * 30,
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "00",
    "9" * 4400,
    "2147483648",
    "1.5",
    "",
    "²",
    "1_0",
)
_SHAPES = (
    b"(9999999999999, 3)", b"(-1, 2)", b"(2,)", b"((2,), 2)", b"(10**9, 9)", b"(1e3, 2)", b"(" * 50,
    b"(0, 2)", b"(" + b"9" * 30 + b", 2)",
)  # fmt: skip


def vectors_case(rng: Random) -> Case:
    """An altered file of vectors of a few words."""
    words = [word(rng, 0.1) or "x" for _ in range(rng.randint(1, 6))]
    dim = rng.choice((1, 2, 3, 8))
    rows = [[round(rng.uniform(-2, 2), 3) for _ in range(dim)] for _ in words]
    header = f"{len(words)} {dim}"
    if rng.random() < 0.25:
        cells = [str(len(words)), str(dim)]
        cells[rng.randrange(2)] = rng.choice(_NUMBERS)
        header = " ".join(cells)
    kind = rng.choice(("txt", "txt", "bin", "npy"))
    files: dict[str, bytes] = {}
    if kind == "txt":
        lines = [" ".join([w, *map(str, row)]) for w, row in zip(words, rows, strict=True)]
        if rng.random() < 0.5:
            lines.insert(0, header)
        if rng.random() < 0.1:
            lines[-1] = " ".join([words[0], *[rng.choice(_NUMBERS)] * dim])
        data = encode(altered_text(rng, "\n".join(lines) + "\n"), "utf-8")
    elif kind == "bin":
        body = b"".join(
            encode(w, "utf-8") + b" " + np.array(row, "<f4").tobytes() + rng.choice((b"\n", b""))
            for w, row in zip(words, rows, strict=True)
        )
        data = header.encode() + b"\n" + body
        if rng.random() < 0.6:
            data = altered_bytes(rng, data)
    else:
        buffer = io.BytesIO()
        kinds = ("<f4", "<f4", "<f8", ">f4", "<i8", "<U3", "<c8", "?", "<f2", "S4", "<M8[s]")
        np.save(
            buffer,
            np.array(rows).astype(rng.choice(kinds)) if rng.random() < 0.9 else np.array(rows[0]),
        )
        data = buffer.getvalue()
        if rng.random() < 0.3:
            shape = f"({len(words)}, {dim})".encode()
            data = data.replace(shape, rng.choice((*_SHAPES, b"(%d, 0)" % len(words))))
        elif rng.random() < 0.6:
            data = altered_bytes(rng, data)
        if rng.random() < 0.95:
            files["v.txt"] = encode(altered_text(rng, "\n".join(words) + "\n", 1), "utf-8")
    name = f"v.{kind}"
    if kind != "npy" and rng.random() < 0.1:
        data, name = packed(rng, data), f"{name}.gz"
    if rng.random() < 0.03:
        name = rng.choice(("v.bin", "v.npy", "v.txt.gz", "v", "v.vec"))
    files[name] = data
    limit = rng.choice((0, 0, 1, 2, 10**9))
    return Case(files, {"path": name, "limit": limit})


def run_vectors(case: Case, room: Path) -> None:
    """As many finite rows as distinct words."""
    found = load_vectors(room / case.options["path"], case.options["limit"])
    count, limit = len(found.words), case.options["limit"]
    require(found.matrix.shape[0] == count == len(set(found.words)) > 0, "a row a word", found)
    require(found.dim > 0, "vectors of no numbers", found.matrix.shape)
    require(found.matrix.dtype == np.float32, "float32", found.matrix.dtype)
    require(bool(np.isfinite(found.matrix).all()), "finite numbers", found.matrix)
    require(not limit or count <= limit, "no more words than the limit", count)
