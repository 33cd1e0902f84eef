"""The states of a language model at the words of sentences, on disk: no text is read twice.

    ~/.cache/tagkit/contextual/MODEL/PART/    or $TAGKIT_CACHE, or $XDG_CACHE_HOME/tagkit
        sentences.txt       a line for each sentence: the digest of its words, and their number
        states.f32          their states one after another, as float32, little-endian

MODEL is a digest of the language model, of the version of torch and of the kind of device: of all
that the numbers depend on. A part is written under a temporary name and then renamed; nothing in it
changes afterwards, and nothing is ever removed here. The folder may be removed while nothing is
trained; what is missing is computed again.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from tagkit.errors import DataError
from tagkit.features.batching.contextual import States
from tagkit.features.language_part import LanguagePart
from tagkit.models.bundle.contextual import RULE
from tagkit.storage import make_folder, new_folder
from tagkit.text.records import Sentence
from tagkit.wording import reason

VARIABLE = "TAGKIT_CACHE"
_SENTENCES, _STATES = "sentences.txt", "states.f32"
_NUMBER = np.dtype("<f4")
# Sentences of a part: what has been read when a run is stopped is kept up to the last whole part.
_PART = 8192
_AT_ONCE = 512  # sentences whose states are in memory together while a part is written


def cache_folder() -> Path:
    """Where states are kept: as the environment says, or in the user's folder of caches."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tagkit"


class StateCache:
    """What is known of one language model's states.

    Attributes:
        folder: of this language model.
    """

    def __init__(self, part: LanguagePart, device: torch.device) -> None:
        """An empty view of the states of a language model that reads on this kind of device."""
        self.folder = cache_folder() / "contextual" / _digest_of_model(part, device)
        self._width = part.states
        self._known: dict[str, States] = {}

    def get(self, sentence: Sentence) -> States | None:
        """The states at the words of a sentence that `fill` had; None of any other."""
        return self._known.get(_digest_of_words(sentence))

    def fill(
        self,
        sentences: Iterable[Sentence],
        read: Callable[[Sequence[Sentence]], Sequence[States]],
    ) -> int:
        """Know these sentences: from the disk, or by reading them, which writes a new part.

        Args:
            sentences: the same words may occur several times.
            read: gives (words, states) of each sentence.

        Returns:
            The number of sentences that had to be read.

        Raises:
            DataError: the folder cannot be written.
        """
        wanted = {_digest_of_words(sentence): sentence for sentence in sentences}
        wanted = {digest: each for digest, each in wanted.items() if digest not in self._known}
        if not wanted:
            return 0
        for part in self._parts():
            self._take(part, wanted)
        # Of similar length, as they are read together; else in the order of the corpus.
        missing = [digest for digest in wanted if digest not in self._known]
        missing.sort(key=lambda digest: sum(map(len, wanted[digest].words)))
        try:
            for begin in range(0, len(missing), _PART):
                chosen = missing[begin : begin + _PART]
                self._write([(digest, wanted[digest]) for digest in chosen], read)
        except DataError as error:
            error.add_line(
                f"States of language models are kept there; {VARIABLE} names another folder"
            )
            raise
        return len(missing)

    def _parts(self) -> Iterator[Path]:
        if self.folder.is_dir():
            # Sorted: of a sentence that is in two parts the same one is taken in every process.
            yield from sorted(part for part in self.folder.iterdir() if part.name[0] != ".")

    def _take(self, part: Path, wanted: Container[str]) -> None:
        """Know what a part has of the sentences that are wanted."""
        found, words = [], 0
        try:
            with (part / _SENTENCES).open(encoding="ascii") as lines:
                for line in lines:
                    digest, count = line.split()
                    if digest in wanted:
                        found.append((digest, words, words + int(count)))
                    words += int(count)
            if (part / _STATES).stat().st_size != words * self._width * _NUMBER.itemsize:
                return  # damaged: it is read again, and stays
            if found:
                shape = words, self._width
                states = np.asarray(np.memmap(part / _STATES, _NUMBER, "r", shape=shape))
                # Views: the system reads what is used, and may forget it again.
                self._known |= {digest: states[begin:end] for digest, begin, end in found}
        except (OSError, ValueError):
            return  # no part of a cache: left alone

    def _write(
        self,
        sentences: Sequence[tuple[str, Sentence]],
        read: Callable[[Sequence[Sentence]], Sequence[States]],
    ) -> None:
        """Read sentences into a new part, and know them.

        Raises:
            DataError: it cannot be written.
        """
        make_folder(self.folder)
        # A name of its own: two runs that read the same corpus at once do not meet.
        part = self.folder / secrets.token_hex(8)
        with new_folder(part) as beside:
            for begin in range(0, len(sentences), _AT_ONCE):
                chosen = sentences[begin : begin + _AT_ONCE]
                found = read([sentence for _, sentence in chosen])
                try:  # around the writing alone: `read` has errors of its own
                    with (
                        (beside / _STATES).open("ab") as values,
                        (beside / _SENTENCES).open("a", encoding="ascii") as lines,
                    ):
                        for (digest, sentence), states in zip(chosen, found, strict=True):
                            values.write(np.ascontiguousarray(states, _NUMBER).data)
                            lines.write(f"{digest} {len(sentence)}\n")
                except OSError as error:
                    raise DataError(f"{part}: cannot be written: {reason(error)}") from None
        self._take(part, {digest for digest, _ in sentences})


def _digest_of_model(part: LanguagePart, device: torch.device) -> str:
    content = [RULE, torch.__version__, device.type, part.sha256, part.config, part.vocabulary]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _digest_of_words(sentence: Sentence) -> str:
    # Not the words joined: where a word ends is part of what is known.
    return hashlib.sha256(json.dumps(sentence.words).encode()).hexdigest()
