"""A BiLSTM-CRF tagger as the textbooks write it: the yardstick of benchmarks/speed.py.

Nothing here is clever: batches of sentences in random order, packed sequences, the characters of
every token, pytorch-crf for the loss and for decoding. Sizes are those of NCRF++ (word 100,
character 30 -> 50, hidden 200). It reads column files with the token first and the tag last.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torchcrf
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

BATCH = 32
Sentence = list[tuple[str, str]]


def read(path: Path) -> list[Sentence]:
    """Sentences of (word, tag)."""
    sentences: list[Sentence] = [[]]
    for line in path.read_text("utf-8").split("\n"):
        cells = line.split()
        if cells:
            sentences[-1].append((cells[0], cells[-1]))
        elif sentences[-1]:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


class Ids:
    """Numbers of words, characters and tags; 0 is padding, 1 the unknown one."""

    def __init__(self, sentences: list[Sentence]) -> None:
        """All that occur in these sentences."""
        self.words = _numbers(word.lower() for s in sentences for word, _ in s)
        self.chars = _numbers(char for s in sentences for word, _ in s for char in word)
        self.tags = sorted({tag for s in sentences for _, tag in s})
        self.tag_ids = {tag: number for number, tag in enumerate(self.tags)}

    def batch(self, sentences: list[Sentence]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Word ids, character ids of every token, lengths of these, tag ids, lengths."""
        words = [torch.tensor([self.words.get(w.lower(), 1) for w, _ in s]) for s in sentences]
        chars = [
            torch.tensor([self.chars.get(char, 1) for char in word])
            for sentence in sentences
            for word, _ in sentence
        ]
        tags = [torch.tensor([self.tag_ids.get(tag, 0) for _, tag in s]) for s in sentences]
        return (
            pad_sequence(words, batch_first=True),
            pad_sequence(chars, batch_first=True),
            torch.tensor([len(c) for c in chars]),
            pad_sequence(tags, batch_first=True),
            torch.tensor([len(s) for s in sentences]),
        )


def _numbers(values: Iterator[str]) -> dict[str, int]:
    return {value: number for number, value in enumerate(dict.fromkeys(values), 2)}


class Textbook(nn.Module):
    """Words and characters -> BiLSTM -> CRF."""

    def __init__(self, ids: Ids) -> None:
        """Fresh weights, as torch draws them."""
        super().__init__()
        self.words = nn.Embedding(len(ids.words) + 2, 100, padding_idx=0)
        self.chars = nn.Embedding(len(ids.chars) + 2, 30, padding_idx=0)
        self.char_lstm = nn.LSTM(30, 25, batch_first=True, bidirectional=True)
        self.lstm = nn.LSTM(150, 100, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.5)
        self.linear = nn.Linear(200, len(ids.tags))
        self.crf = torchcrf.CRF(len(ids.tags), batch_first=True)

    def emissions(
        self, words: Tensor, chars: Tensor, char_lengths: Tensor, lengths: Tensor
    ) -> Tensor:
        """(batch, time, tags) scores."""
        packed = pack_padded_sequence(
            self.chars(chars), char_lengths, batch_first=True, enforce_sorted=False
        )
        _, (final, _) = self.char_lstm(packed)
        of_tokens = torch.cat((final[0], final[1]), dim=1).split(lengths.tolist())
        inputs = torch.cat((self.words(words), pad_sequence(of_tokens, batch_first=True)), dim=2)
        packed = pack_padded_sequence(
            self.dropout(inputs), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores: Tensor = self.linear(self.dropout(states))
        return scores


def mask_of(lengths: Tensor) -> Tensor:
    """(batch, time) bool, True on real tokens."""
    return torch.arange(int(lengths.max()))[None] < lengths[:, None]


def train(path: Path, limit: int) -> tuple[float, Textbook, Ids]:
    """Tokens a second of one pass over the first `limit` sentences, and what came of it."""
    torch.manual_seed(1)
    sentences = read(path)[:limit]
    random.Random(1).shuffle(sentences)
    ids = Ids(sentences)
    model = Textbook(ids)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    model.train()
    start = time.perf_counter()
    for at in range(0, len(sentences), BATCH):
        words, chars, char_lengths, tags, lengths = ids.batch(sentences[at : at + BATCH])
        scores = model.emissions(words, chars, char_lengths, lengths)
        loss = -model.crf(scores, tags, mask_of(lengths), reduction="token_mean")
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    seconds = time.perf_counter() - start
    return sum(len(s) for s in sentences) / seconds, model, ids


@torch.no_grad()
def decode(model: Textbook, ids: Ids, path: Path) -> float:
    """Tokens a second of tagging a file."""
    sentences = read(path)
    model.eval()
    start = time.perf_counter()
    for at in range(0, len(sentences), BATCH):
        words, chars, char_lengths, _, lengths = ids.batch(sentences[at : at + BATCH])
        scores = model.emissions(words, chars, char_lengths, lengths)
        model.crf.decode(scores, mask_of(lengths))
    return sum(len(s) for s in sentences) / (time.perf_counter() - start)
