"""Language models that a new model reads with, loaded.

They are not trained, and read each sentence once: their states are kept on disk (`StateCache`).
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import overload

import numpy as np
import torch

from tagkit.config import Config, to_toml
from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import ConfigError, DataError
from tagkit.features import Arrays, Ids
from tagkit.features.batching.contextual_states import (
    States,
)
from tagkit.features.batching.encoding import Encoded
from tagkit.features.batching.examples import Examples
from tagkit.features.language_part import LanguagePart
from tagkit.limits import MAX_LENGTH
from tagkit.models.base.model import Model
from tagkit.models.base.task import Task
from tagkit.models.bundle.bundle import Bundle, load_bundle
from tagkit.models.bundle.language_reader import RULE, ContextualReader, LanguageReader
from tagkit.models.language.language_network import LanguageModel
from tagkit.storage import WEIGHTS, make_folder, new_folder
from tagkit.text.json_text import from_json, to_json
from tagkit.text.records import Sentence
from tagkit.text.windows import cut, windows
from tagkit.wording import reason

VARIABLE = "TAGKIT_CACHE"
_SENTENCES, _STATES = "sentences.txt", "states.f32"
_NUMBER = np.dtype("<f4")
# Sentences of a part: what has been read when a run is stopped is kept up to the last whole part.
_PART_SENTENCES = 8192
_AT_ONCE = 512  # sentences whose states are in memory together while a part is written


class CachedReader(ContextualReader):
    """Language models whose states at the words of a corpus are kept on disk."""

    def __init__(
        self,
        parts: Sequence[LanguagePart],
        readers: Sequence[LanguageReader],
        device: torch.device,
    ) -> None:
        """`readers` of the parts, which read on this device."""
        super().__init__(parts, readers)
        self._device = device
        self._caches = [StateCache(part, device) for part in self.parts]

    def fill(self, sentences: Sequence[Sentence]) -> None:
        """Have the states of these sentences on disk.

        Raises:
            DataError: they cannot be written.
        """
        for cache, reader in zip(self._caches, self.readers, strict=True):
            # In batches of one shape: what is on disk already changes no number.
            cache.fill(sentences, partial(reader.read, device=self._device, alike=True))

    def read(self, sentences: Sequence[Sentence], device: torch.device) -> list[States]:
        """The states of all models at each word, side by side; from the disk where known."""
        return list(self.stored(sentences))

    def stored(self, sentences: Sequence[Sentence]) -> "StoredStates":
        """The same, in memory only while it is used."""
        each = []
        for cache, reader in zip(self._caches, self.readers, strict=True):
            known = [cache.get(sentence) for sentence in sentences]
            others = [s for s, states in zip(sentences, known, strict=True) if states is None]
            read = iter(reader.read(others, self._device, alike=True) if others else ())
            each.append([next(read) if states is None else states for states in known])
        return StoredStates(each)


class StoredStates(Sequence[States]):
    """The states of several language models at the words of sentences, joined when asked for."""

    def __init__(self, each: Sequence[Sequence[States]]) -> None:
        """`each`: of a language model (words, states) of each sentence."""
        self._each = each

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self._each[0])

    @overload
    def __getitem__(self, index: int) -> States: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[States]: ...

    def __getitem__(self, index: int | slice) -> States | Sequence[States]:
        """The states of all models at the words of a sentence, side by side."""
        if isinstance(index, slice):
            return StoredStates([states[index] for states in self._each])
        return np.concatenate([states[index] for states in self._each], 1)

    def batch(self, indices: Sequence[int] | Ids, width: int) -> Arrays:
        """As described in `ContextualInputs`."""
        sizes = [states[0].shape[1] for states in self._each]
        # Each model's states are copied to their place, not first beside those of the others.
        padded = np.zeros((len(indices), width, sum(sizes)), np.float32)
        begin = 0
        for known, size in zip(self._each, sizes, strict=True):
            for row, index in enumerate(indices):
                states = known[index]
                padded[row, : len(states), begin : begin + size] = states
            begin += size
        return padded


def load_contextual(config: Config, device: torch.device) -> CachedReader | None:
    """The language models that `embeddings.contextual` names; None where it names none.

    Raises:
        BundleError: one cannot be read.
        DataError: one is no language model, or is there twice.
    """
    parts: list[LanguagePart] = []
    readers: list[LanguageReader] = []
    for path in config.embeddings.contextual:
        bundle = load_bundle(Path(path))
        if not isinstance(bundle.model, LanguageModel):
            raise DataError(
                f"{path}: expected a language model, as embeddings.contextual names, found one of "
                f"task = '{bundle.config.task}'"
            )
        if bundle.model.condition is not None or bundle.model.length is not None:
            raise DataError(
                f"{path}: reads lines with their label or length, which words to be annotated do "
                "not have; expected another (embeddings.contextual)"
            )
        mixes = config.embeddings.contextual_layers == "mix"
        part = _part_of(path, bundle, bundle.model.mixed_layers if mixes else 1)
        _refuse_twice(part, parts)
        parts.append(part)
        readers.append(LanguageReader(part, bundle.model))
    return CachedReader(parts, readers, device) if parts else None


def _refuse_twice(part: LanguagePart, others: Iterable[LanguagePart]) -> None:
    """Refuse a language model whose states another one gives already.

    Raises:
        DataError: it is among the others, whatever the folder of either is called.
    """
    for other in others:
        if replace(other, path=part.path) == part:
            raise DataError(
                f"embeddings.contextual: {other.path} and {part.path} are the same language model, "
                "whose states would be read twice; leave one of them out"
            )


def _part_of(path: str, bundle: Bundle, layers: int) -> LanguagePart:
    return LanguagePart(
        path=path,
        sha256=bundle.metadata["sha256"][WEIGHTS],
        states=layers * bundle.model.encoder.outputs,
        config=to_toml(bundle.config),
        # As it is read from a saved model, whose lists are no tuples.
        vocabulary=from_json(to_json(bundle.vocabulary.to_dict(), indent=0).encode()),
        layers=layers,
    )


def refuse_base(config: Config, base: Bundle) -> None:
    """Refuse to begin with the weights of another model where one of the two reads contextually.

    Raises:
        ConfigError: one does.
    """
    name, own = config.train.init_from, config.embeddings.contextual
    theirs = base.config.embeddings.contextual
    if own or theirs:
        which = "this model" if own else name
        raise ConfigError(
            "train.init_from",
            [
                (
                    f"{which} reads the states of language models (embeddings.contextual), with "
                    "which a model cannot start from the weights of another; "
                    + ("leave one of the two out" if own else "name another model, or leave it out")
                )
            ],
        )


def read_corpus(
    reader: CachedReader, task: Task, corpus: Corpus, train: Iterable[Sentence]
) -> None:
    """Have the states of all that training and scoring will read.

    Args:
        reader: of the language models.
        task: what is predicted.
        corpus: of which dev and test are read as prediction reads them.
        train: the training corpus as the model learns it.

    Raises:
        DataError: they cannot be kept on disk.
    """
    sentences = [*train]
    for split in (corpus.dev, corpus.test):
        for sentence in split.sentences if split else ():
            # As `SentencePredictor` cuts long sentences.
            plan = windows(len(sentence), task.longest(MAX_LENGTH))
            sentences += (cut(sentence, each) for each in plan) if len(plan) > 1 else [sentence]
    reader.fill(sentences)


def with_states(encoded: Examples, sentences: Sequence[Sentence], model: Model) -> Examples:
    """The examples of these sentences with what the model's language models give, if any."""
    reader = model.contextual
    if reader is None:
        return encoded
    assert isinstance(encoded, Encoded)  # a task with labels
    assert isinstance(reader, CachedReader)  # as `setup.prepare` sets it
    return replace(encoded, contextual=reader.stored(sentences))


# The states of a language model at the words of sentences, on disk: no text is read twice.
#
#     ~/.cache/tagkit/contextual/MODEL/PART/    or $TAGKIT_CACHE, or $XDG_CACHE_HOME/tagkit
#         sentences.txt       a line for each sentence: the digest of its words, and their number
#         states.f32          their states one after another, as float32, little-endian
#
# MODEL is a digest of the language model, of the version of torch and of the kind of device: of all
# that the numbers depend on. A part is written under a temporary name and then renamed; nothing in
# it changes afterwards, and nothing is ever removed here. The folder may be removed while nothing
# is trained; what is missing is computed again.
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
            for begin in range(0, len(missing), _PART_SENTENCES):
                chosen = missing[begin : begin + _PART_SENTENCES]
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


def cache_folder() -> Path:
    """Where states are kept: as the environment says, or in the user's folder of caches."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tagkit"


def _digest_of_model(part: LanguagePart, device: torch.device) -> str:
    content = [RULE, torch.__version__, device.type, part.sha256, part.config, part.vocabulary]
    content += [part.layers] if part.layers > 1 else []
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _digest_of_words(sentence: Sentence) -> str:
    # Not the words joined: where a word ends is part of what is known.
    return hashlib.sha256(json.dumps(sentence.words).encode()).hexdigest()
