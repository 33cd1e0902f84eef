"""Strings for strings as a tutorial writes it, beside tagkit: training and decoding.

    python benchmarks/textbook_transducer.py TRAIN.tsv TEST.tsv [--rounds 3]

Both have a BiLSTM over characters (and the parts of SIGMORPHON's features before them), an LSTM
decoder with bilinear attention, 128 units each way, embeddings of 100, batches of 32, one thread.
The plain one computes a step at a time in training, decodes greedily in batches, and by a beam one
source after the other, whose hypotheses are the rows of a batch. Each is trained for one epoch;
what is written then counts in units a second, and both are measured in turn.
"""

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

import tagkit
from tagkit.config import load_config

BATCH, HIDDEN, DIM, MOST = 32, 128, 100, 60
END = 2  # 0 is padding, 1 the unknown symbol
Pair = tuple[list[str], list[str]]


def read(path: Path) -> list[Pair]:
    """Symbols of sources, parts of features first, and characters of targets."""
    pairs = []
    for line in path.read_text("utf-8").splitlines():
        source, target, *features = line.split("\t")
        tags = features[0].split(";") if features else []
        pairs.append(([*(f"<{tag}>" for tag in tags), *source], [*target]))
    return pairs


class Plain(nn.Module):
    """Encoder, attention, decoder."""

    def __init__(self, pairs: list[Pair]) -> None:
        """Fresh weights, as torch draws them."""
        super().__init__()
        self.sources = {
            each: i for i, each in enumerate(dict.fromkeys(s for p in pairs for s in p[0]), 2)
        }
        self.targets = {
            each: i for i, each in enumerate(dict.fromkeys(t for p in pairs for t in p[1]), 3)
        }
        self.read_in = nn.Embedding(len(self.sources) + 2, DIM, padding_idx=0)
        self.encoder = nn.LSTM(DIM, HIDDEN, batch_first=True, bidirectional=True)
        self.embed = nn.Embedding(len(self.targets) + 3, DIM, padding_idx=0)
        self.first = nn.Linear(2 * HIDDEN, HIDDEN)
        self.cell = nn.LSTMCell(DIM, HIDDEN)
        self.attention = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)
        self.read_out = nn.Linear(3 * HIDDEN, HIDDEN)
        self.output = nn.Linear(HIDDEN, len(self.targets) + 3)

    def encode(self, sources: list[list[str]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """States (batch, time, 2 hidden), their mask, and the decoder's first two states."""
        ids = [torch.tensor([self.sources.get(each, 1) for each in source]) for source in sources]
        lengths = torch.tensor([len(each) for each in ids])
        inputs = self.read_in(pad_sequence(ids, batch_first=True))
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        states, (final, _) = self.encoder(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        hidden = torch.tanh(self.first(torch.cat((final[0], final[1]), 1)))
        mask = torch.arange(states.shape[1])[None] < lengths[:, None]
        return states, mask, hidden, torch.zeros_like(hidden)

    def step(
        self, ids: Tensor, states: Tensor, mask: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Log probabilities of the next unit, and the states after it."""
        hidden, cell = self.cell(self.embed(ids), (hidden, cell))
        scores = (states @ self.attention(hidden).unsqueeze(2)).squeeze(2)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(1)
        context = (weights.unsqueeze(1) @ states).squeeze(1)
        features = torch.tanh(self.read_out(torch.cat((hidden, context), 1)))
        return self.output(features).log_softmax(1), hidden, cell

    def loss(self, pairs: list[Pair]) -> Tensor:
        """Mean negative log probability of a unit, by teacher forcing."""
        states, mask, hidden, cell = self.encode([source for source, _ in pairs])
        gold = pad_sequence(
            [
                torch.tensor([self.targets.get(each, 1) for each in target] + [END])
                for _, target in pairs
            ],
            batch_first=True,
        )
        ids, losses = torch.full((len(pairs),), END), []
        for wanted in gold.unbind(1):
            log_probs, hidden, cell = self.step(ids, states, mask, hidden, cell)
            losses.append(
                nn.functional.nll_loss(log_probs, wanted, ignore_index=0, reduction="sum")
            )
            ids = wanted
        return torch.stack(losses).sum() / (gold > 0).sum()

    @torch.no_grad()
    def greedy(self, sources: list[list[str]]) -> int:
        """Units written for a batch of sources, ends included."""
        states, mask, hidden, cell = self.encode(sources)
        ids, done, units = (
            torch.full((len(sources),), END),
            torch.zeros(len(sources), dtype=torch.bool),
            0,
        )
        for _ in range(MOST):
            log_probs, hidden, cell = self.step(ids, states, mask, hidden, cell)
            ids = log_probs.argmax(1)
            units += int((~done).sum())
            done |= ids == END
            if bool(done.all()):
                break
        return units

    @torch.no_grad()
    def beam(self, source: list[str], width: int) -> int:
        """Units of the best string of a source."""
        states, mask, hidden, cell = self.encode([source])
        ids, scores, paths = torch.full((1,), END), torch.zeros(1), [[]]
        finished: list[tuple[float, list[int]]] = []
        for _ in range(MOST):
            rows = len(ids)
            log_probs, hidden, cell = self.step(
                ids, states.expand(rows, -1, -1), mask.expand(rows, -1), hidden, cell
            )
            best, places = (scores[:, None] + log_probs).flatten().topk(width - len(finished))
            kept: list[tuple[float, int, list[int]]] = []
            for score, place in zip(best.tolist(), places.tolist(), strict=True):
                parent, unit = divmod(place, log_probs.shape[1])
                path = [*paths[parent], unit]
                if unit == END:
                    finished.append((score, path))
                else:
                    kept.append((score, parent, path))
            if not kept:
                break
            parents = torch.tensor([parent for _, parent, _ in kept])
            hidden, cell = hidden[parents], cell[parents]
            scores = torch.tensor([score for score, _, _ in kept])
            paths = [path for _, _, path in kept]
            ids = torch.tensor([path[-1] for path in paths])
        finished += [(score, path) for score, path in zip(scores.tolist(), paths, strict=True)]
        return len(max(finished)[1])


def train_plain(pairs: list[Pair]) -> tuple[Plain, float]:
    """A model after an epoch, and pairs a second."""
    torch.manual_seed(1)
    model = Plain(pairs)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    pairs = random.Random(1).sample(pairs, len(pairs))
    start = time.perf_counter()
    for at in range(0, len(pairs), BATCH):
        optimizer.zero_grad()
        model.loss(pairs[at : at + BATCH]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    return model.eval(), len(pairs) / (time.perf_counter() - start)


def train_ours(train: Path, test: Path, folder: str) -> tuple[tagkit.Predictor, float]:
    """Likewise; the time is that of the epoch, with dev of twenty pairs."""
    lines = test.read_text("utf-8").splitlines(keepends=True)
    dev = Path(folder, "dev.tsv")
    dev.write_text("".join(lines[:20]), "utf-8")
    config = load_config(None, [
        "task=transduce", f"data.train_file={train}", f"data.dev_file={dev}", "train.threads=1",
        f"encoder.hidden={HIDDEN}", f"decoder.hidden={HIDDEN}", f"embeddings.word_dim={DIM}",
        "decoder.attention=bilinear", "decoder.input_feeding=false", "train.max_epochs=1",
        f"train.batch_size={BATCH}", "train.lr=0.003", f"output.dir={folder}/run",
    ])  # fmt: skip
    trained = tagkit.train(config)
    pairs = len(train.read_text("utf-8").splitlines())
    return trained.predictor, pairs / trained.epochs[0].seconds


def compared(plain: float, ours: float) -> str:
    """Two rates and their ratio."""
    return f"plain {plain:,.0f}, tagkit {ours:,.0f}, {ours / plain:.2f} times"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    pairs, tests = read(given.train), read(given.test)
    plain, plain_speed = train_plain(pairs)
    with tempfile.TemporaryDirectory() as folder:
        ours, our_speed = train_ours(given.train, given.test, folder)
        print(f"training, pairs/s: {compared(plain_speed, our_speed)}")
        lines = given.test.read_text("utf-8").splitlines()
        for width in (1, 5):
            rates: tuple[list[float], list[float]] = [], []
            for _ in range(given.rounds):
                start = time.perf_counter()
                sources = [source for source, _ in tests]
                if width == 1:
                    units = sum(
                        plain.greedy(sources[at : at + BATCH])
                        for at in range(0, len(sources), BATCH)
                    )
                else:
                    units = sum(plain.beam(source, width) for source in sources)
                rates[0].append(units / (time.perf_counter() - start))
                start = time.perf_counter()
                found = ours.predict(lines, beam=width, batch_size=BATCH, max_units=MOST)
                units = sum(len(each.text) + 1 for each in found)
                rates[1].append(units / (time.perf_counter() - start))
            print(f"beam {width}, units/s: {compared(*map(statistics.median, rates))}")


if __name__ == "__main__":
    main()
