"""Language models as readers: their states at each word of a sentence are inputs of a tagger.

A sentence is read by itself: its words with a blank between them, after the unit of a line's end,
from a state of zeros. Raw text and a tagged corpus of the same words thus give the same states. At
each word stands

    characters    forward the state after the blank that follows the word, backward the state after
                  the blank before it (Akbik, Blythe and Vollgraf 2018, eq. 4: the characters at
                  t[i+1] - 1 and t[i] - 1, where t[i] is the first one of word i)
    words         the state after the word itself (Peters et al. 2017, section 3.3)
    byte pairs    forward the state after the last unit of the word, backward after its first, with
                  which the blank before the word is read

A blank stands after the last word too, and before the first for a model that reads backward, so
that no word's state depends on whether it ends the line. A word without a unit of its own, such as
one of blanks alone, has the state before it. The states are those that the softmax of the language
model reads: of its topmost layer; or those of all layers of the same width, side by side.
"""

import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tagkit.config import Config, parse_saved, parse_toml
from tagkit.errors import ConfigError
from tagkit.features.batching.contextual_states import States
from tagkit.features.language_part import LanguagePart
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.language.language_network import Carried, LanguageModel
from tagkit.models.language.text_scoring import units_of
from tagkit.nn.recurrence.weights import count_parameters
from tagkit.text.pairs import within
from tagkit.text.records import Sentence
from tagkit.text.units import END, CharacterUnits

# Version of what is read, and of where states are taken; states that are kept on disk name it.
RULE = 2
PREFIX = "contextual."  # of the names of the language models' tensors in a saved model
# Sentences that are read together, and units that are read at a time: a long sentence takes no more
# memory than a short one. Where the numbers must not depend on what is read together, all batches
# have this shape: products of other sizes may round in another way.
_ROWS = 32
_STEPS = 16
_MOVING = threading.Lock()


@dataclass(frozen=True)
class SentenceUnits:
    """A sentence as a language model reads it.

    Attributes:
        units: numbers of units in the order of reading, the end of a line first.
        places: of each word, the index in `units` of the unit whose state it has.
    """

    units: list[int]
    places: list[int]


class LanguageReader:
    """One language model, ready to read sentences."""

    def __init__(self, part: LanguagePart, model: LanguageModel) -> None:
        """`model`, of that part; its weights may follow.

        Raises:
            ConfigError: the part's configuration is none.
            KeyError: its vocabulary lacks something.
            TypeError: its vocabulary has a value of the wrong type.
            ValueError: its configuration or its vocabulary is damaged.
        """
        config, vocabulary = config_of(part), Vocabulary.from_dict(part.vocabulary)
        self.model = model.eval()
        self._part = part
        self._backward = config.data.direction == "backward"
        self._cut_by = units_of(vocabulary)
        self._numbers = {unit: number for number, unit in enumerate(vocabulary.words, 1)}
        # A word that is written like it in a sentence is an unknown one.
        self._end = self._numbers.pop(END)

    def reading(self, words: Sequence[str]) -> SentenceUnits:
        """Units of a sentence, and where each word's state is among those after each unit."""
        # Characters: a blank at the side from which the state of a word is taken.
        blank = int(isinstance(within(self._cut_by), CharacterUnits))
        before = blank if self._backward else 0
        line = " " * before + " ".join(words) + " " * (blank - before)
        cut = self._cut_by.cut(line)
        numbers = [self._numbers.get(unit.text, 0) for unit in cut]
        ends = [unit.end for unit in cut]
        places, start = [], before
        for word in words:
            if self._backward:
                # The first unit of the word, or of the blank before it: it is read after all to its
                # right.
                places.append(len(cut) - bisect_right(ends, start - 1))
            else:
                # The last unit that ends at this offset or before it; unit 0 is read second.
                places.append(bisect_right(ends, start + len(word) + blank))
            start += len(word) + 1
        return SentenceUnits(
            [self._end, *(reversed(numbers) if self._backward else numbers)], places
        )

    @torch.inference_mode()
    def read(
        self, sentences: Sequence[Sentence], device: torch.device, *, alike: bool = False
    ) -> list[States]:
        """The state at each word of each sentence, (words, states).

        Args:
            sentences: each is read by itself.
            device: where to read.
            alike: whether all batches have one shape, so that a sentence has the same states, bit
                for bit, whatever it is read with.
        """
        _move(self.model, device)
        readings = [self.reading(sentence.words) for sentence in sentences]
        order = sorted(range(len(readings)), key=lambda number: len(readings[number].units))
        found: dict[int, States] = {}
        for begin in range(0, len(order), _ROWS):
            chosen = order[begin : begin + _ROWS]
            rows = _ROWS if alike else len(chosen)
            states = self._states([readings[number] for number in chosen], rows, device)
            found.update(zip(chosen, states, strict=True))
        return [found[number] for number in range(len(readings))]

    def _states(
        self, readings: Sequence[SentenceUnits], rows: int, device: torch.device
    ) -> Iterator[States]:
        """What `read` returns of sentences of similar length, in a batch of so many rows."""
        longest = max(len(reading.units) for reading in readings)
        # Padding is read too, after all that counts: states depend on nothing after them.
        units = np.full((rows, -(-longest // _STEPS) * _STEPS), self._end, np.int64)
        for row, reading in enumerate(readings):
            units[row, : len(reading.units)] = reading.units
        # (words of the batch,), row by row
        of_row = np.repeat(np.arange(len(readings)), [len(each.places) for each in readings])
        places = np.concatenate([np.array(each.places, np.int64) for each in readings])
        found = np.empty((len(places), self._part.states), np.float32)
        numbers = torch.from_numpy(units).to(device)
        carried: Carried | None = None
        for begin in range(0, longest, _STEPS):
            # (rows, steps) -> (rows, steps, states)
            states, carried = self.model.read_on(
                numbers[:, begin : begin + _STEPS], carried, all_layers=self._part.layers > 1
            )
            wanted = (places >= begin) & (places < begin + _STEPS)
            index = torch.from_numpy(of_row[wanted]), torch.from_numpy(places[wanted] - begin)
            found[wanted] = states[index[0].to(device), index[1].to(device)].float().cpu().numpy()
        cuts = np.cumsum([len(each.places) for each in readings])[:-1]
        yield from np.split(found, cuts)


def _move(model: LanguageModel, device: torch.device) -> None:
    """Move a model to a device, unless it is there."""
    # Not without need: `to` takes the weights of torch's cells apart for a moment, in which another
    # thread may read with them.
    with _MOVING:
        there = next(model.parameters()).device
        # Without an index the device is any GPU.
        if there.type != device.type or device.index not in (None, there.index):
            model.to(device)


class ContextualReader:
    """The language models of a model, as `member.ContextualStates` describes them."""

    def __init__(self, parts: Sequence[LanguagePart], readers: Sequence[LanguageReader]) -> None:
        """`readers` of the parts."""
        self.parts = tuple(parts)
        self.readers = tuple(readers)

    @property
    def weights(self) -> int:
        """Number of weights of all models."""
        return sum(count_parameters(reader.model) for reader in self.readers)

    def read(self, sentences: Sequence[Sentence], device: torch.device) -> list[States]:
        """The states of all models at each word, side by side."""
        each = [reader.read(sentences, device) for reader in self.readers]
        return [np.concatenate(states, 1) for states in zip(*each, strict=True)]

    def tensors(self) -> dict[str, Tensor]:
        """The weights of all models, by name."""
        return {
            f"{PREFIX}{number}.{name}": tensor
            for number, reader in enumerate(self.readers)
            for name, tensor in reader.model.state_dict().items()
        }

    def set_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take these weights, named as in `tensors`; others among them are left alone."""
        for number, reader in enumerate(self.readers):
            begin = f"{PREFIX}{number}."
            own = {
                name.removeprefix(begin): tensor
                for name, tensor in tensors.items()
                if name.startswith(begin)
            }
            reader.model.load_state_dict(own, assign=True)


def config_of(part: LanguagePart) -> Config:
    """The configuration of a language model inside another model.

    Raises:
        ConfigError: an option is unknown or has a wrong value.
        ValueError: it is no TOML.
    """
    config = parse_saved(parse_toml(part.config.encode()), f"contextual {part.path}")
    if config.embeddings.contextual:
        raise ConfigError("contextual", ["expected language models that read no others"])
    return config
