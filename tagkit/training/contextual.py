"""Language models that a new model reads with: loaded, and their states kept on disk."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import overload

import numpy as np
import torch

from tagkit.config import Config, to_toml
from tagkit.corpus.splits import Corpus
from tagkit.errors import ConfigError, DataError
from tagkit.features.contextual import States
from tagkit.features.encoding import Encoded
from tagkit.features.examples import Examples
from tagkit.features.language_part import LanguagePart
from tagkit.limits import MAX_LENGTH
from tagkit.models.bundle import WEIGHTS, Bundle, load_bundle
from tagkit.models.contextual import ContextualReader, LanguageReader
from tagkit.models.language_network import LanguageModel
from tagkit.models.model import Model
from tagkit.models.task import Task
from tagkit.text.json_text import from_json, to_json
from tagkit.text.records import Sentence
from tagkit.text.windows import cut, windows
from tagkit.training.state_cache import StateCache
from tagkit.wording import Message, Setting


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
        """The same, which is in memory only while it is used."""
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


def load_contextual(config: Config, device: torch.device) -> CachedReader | None:
    """The language models that `embeddings.contextual` names; None where it names none.

    Raises:
        BundleError: one cannot be read.
        DataError: one is no language model.
    """
    parts, readers = [], []
    for path in config.embeddings.contextual:
        bundle = load_bundle(Path(path))
        if not isinstance(bundle.model, LanguageModel):
            raise DataError(
                Message(
                    f"{path}: expected a language model, as ",
                    Setting("embeddings.contextual"),
                    f" names, found one of task = '{bundle.config.task}'",
                )
            )
        part = _part_of(path, bundle)
        parts.append(part)
        readers.append(LanguageReader(part, bundle.model))
    return CachedReader(parts, readers, device) if parts else None


def _part_of(path: str, bundle: Bundle) -> LanguagePart:
    return LanguagePart(
        path=path,
        sha256=bundle.metadata["sha256"][WEIGHTS],
        states=bundle.model.encoder.outputs,
        config=to_toml(bundle.config),
        # As it is read from a saved model, whose lists are no tuples.
        vocabulary=from_json(to_json(bundle.vocabulary.to_dict(), indent=0).encode()),
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
                Message(
                    f"{which} reads the states of language models (",
                    Setting("embeddings.contextual"),
                    "), with which a model cannot start from the weights of another; leave one of "
                    "the two out",
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
            longest = len(sentence) if task.is_whole else MAX_LENGTH
            plan = windows(len(sentence), longest)
            sentences += (cut(sentence, each) for each in plan) if len(plan) > 1 else [sentence]
    reader.fill(sentences)


def with_states(encoded: Examples, sentences: Sequence[Sentence], model: Model) -> Examples:
    """The examples of these sentences with the states of the model's language models, if any."""
    if model.contextual is None:
        return encoded
    assert isinstance(model.contextual, CachedReader)  # as `setup.prepare` sets it
    assert isinstance(encoded, Encoded)  # a task with labels
    return replace(encoded, contextual=model.contextual.stored(sentences))
