"""Strings for strings: inflection, pronunciation, translation, copying; texts given their class.

    python benchmarks/transduction.py inflection --languages german english --pairs 1000 --test
    python benchmarks/transduction.py pronunciation
    python benchmarks/transduction.py translation
    python benchmarks/transduction.py copying
    python benchmarks/transduction.py classes --texts 50 200 1000

Each run trains with the options of this file, and `--set KEY=VALUE` beside them, then scores dev
and, with `--test`, test. A row is one line of JSON. Of a dictionary one word in ten is test by its
hash, one in twenty dev; a word is right that has any of its listed pronunciations. `translation`
scores test by length of the source. `classes` compares the generative classifier with
`task = "classify"` on the same first texts, and its perplexity with that of a model without labels.
"""

import argparse
import json
import random
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from corpora import DATA

import tagkit
from tagkit.config import load_config
from tagkit.evaluation.reports.string_report import string_report
from tagkit.text.units import WordUnits

BUCKETS = ((1, 4), (5, 6), (7, 8), (9, 11), (12, 99))  # words of a source


def main() -> None:
    """Run what the command names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=sorted(KINDS))
    parser.add_argument("--languages", nargs="+", default=["german"])
    parser.add_argument("--pairs", type=int, help="the first of train")
    parser.add_argument("--texts", nargs="+", type=int, default=[50, 200, 1000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], dest="options")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--output", type=Path, help="folder of the models; else they are removed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for row in KINDS[args.what](args, Path(name)):
            print(json.dumps(row), flush=True)


def _train(
    files: Sequence[Path], folder: Path, options: Sequence[str], seed: int
) -> dict[str, Any]:
    """Train on the first two files; scores on dev and seconds."""
    flags = {
        "data.train_file": str(files[0]), "data.dev_file": str(files[1]), "train.seed": seed,
        "train.threads": 1, "output.dir": str(folder),
    }  # fmt: skip
    began = time.perf_counter()
    trained = tagkit.train(load_config(None, options, {**flags}), force=True)
    return {
        "dev": round(100 * trained.best.score, 2), "epochs": len(trained.epochs),
        "minutes": round((time.perf_counter() - began) / 60, 1), "seed": seed,
    }  # fmt: skip


def _right(model: Path, pairs: Sequence[tuple[str, str]], beam: int) -> list[str]:
    """What the model writes for each source."""
    predictor = tagkit.load(model, "cpu")
    return [each.text for each in predictor.stream((source for source, _ in pairs), beam=beam)]


def _first(path: Path, count: int | None, place: Path) -> Path:
    if count is None:
        return path
    with path.open(encoding="utf-8") as lines:
        place.write_text("".join(islice(lines, count)), encoding="utf-8")
    return place


def inflection(args: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """SIGMORPHON 2017: exact matches."""
    place = DATA / "sigmorphon2017"
    for language in args.languages:
        train = _first(place / f"{language}-train-high.tsv", args.pairs, folder / "train.tsv")
        dev, test = (place / f"{language}-{part}.tsv" for part in ("dev", "test"))
        for seed in args.seeds:
            model = (args.output or folder) / f"{language}-{args.pairs or 'all'}-{seed}"
            row = {"language": language, "pairs": args.pairs}
            row |= _train([train, dev], model, ["task=transduce", *args.options], seed)
            if args.test:
                row["test"] = _exact(model, test, args.beam)
            yield row


def _exact(model: Path, file: Path, beam: int) -> float:
    rows = [line.split("\t") for line in file.read_text("utf-8").splitlines()]
    found = _right(model, [(f"{lemma}\t{features}", form) for lemma, form, features in rows], beam)
    right = sum(one == form for one, (_, form, _) in zip(found, rows, strict=True))
    return round(100 * right / len(rows), 2)


def pronunciation(args: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """CMUdict without stress: words without any listed pronunciation, and the error of phones."""
    words: dict[str, list[str]] = defaultdict(list)
    for line in (DATA / "cmudict" / "cmudict.dict").read_text("latin-1").splitlines():
        word, *stressed = line.partition(" #")[0].split()
        phones = " ".join(phone.rstrip("012") for phone in stressed)
        name = word.partition("(")[0]
        words[name] += [phones] * (phones not in words[name])
    parts: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    test = []
    for word, said in sorted(words.items()):
        twentieth = zlib.crc32(word.encode()) % 20
        part = "test" if twentieth < 2 else "dev" if twentieth == 2 else "train"
        test += [(word, said)] * (part == "test")
        parts[part] += [f"{word}\t{one}" for one in (said if part == "train" else said[:1])]
    random.Random(1).shuffle(parts["dev"])
    parts["dev"] = parts["dev"][:1000]
    files = [folder / f"{part}.tsv" for part in parts]
    for file, lines in zip(files, parts.values(), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    options = ["task=transduce", "data.target_unit=tokens", *args.options]
    for seed in args.seeds:
        model = (args.output or folder) / f"cmudict-{seed}"
        row: dict[str, Any] = {"words": len(words), "pairs": len(parts["train"])}
        row |= _train(files, model, options, seed)
        if args.test:
            found = _right(model, [(word, "") for word, _ in test], args.beam)
            report = string_report([tuple(said) for _, said in test], found, WordUnits("blanks"))
            row |= {"test_words": len(test), "wer": 100 - 100 * report.headline,
                    "per": 100 * report.parts()["unit_error_rate"]}  # fmt: skip
        yield row


def translation(args: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """English to French: BLEU and chrF with attention and without, by length of the source."""
    place = DATA / "tatoeba-eng-fra"
    rows = [line.split("\t") for line in (place / "test.tsv").read_text("utf-8").splitlines()]
    pairs = [(source, target) for source, target, *_ in rows]
    usual = ["task=transduce", "data.source_unit=word", "data.target_unit=word",
             "embeddings.min_count=2", "train.metric=bleu", *args.options]  # fmt: skip
    # Without attention the decoder has as many weights more as the attention has.
    for attention, hidden in (("additive", 200), ("none", 256)):
        for seed in args.seeds:
            model = (args.output or folder) / f"translation-{attention}-{seed}"
            options = [*usual, f"decoder.attention={attention}", f"decoder.hidden={hidden}"]
            row: dict[str, Any] = {"attention": attention}
            row |= _train([place / "train.tsv", place / "dev.tsv"], model, options, seed)
            if args.test:
                found = _right(model, pairs, args.beam)
                row["weights"] = tagkit.load(model, "cpu").model.saved_weights
                for low, high in ((1, 99), *BUCKETS):
                    chosen = [at for at, (source, _) in enumerate(pairs)
                              if low <= len(source.split()) <= high]  # fmt: skip
                    report = string_report(
                        [(pairs[at][1],) for at in chosen], [found[at] for at in chosen],
                        WordUnits("blanks"),
                    )  # fmt: skip
                    scores = report.parts()
                    row[f"{low}-{high}"] = [len(chosen), scores["bleu"], scores["chrf"]]
            yield row


def copying(args: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Digits: 1 to 20 in training, 21 to 100 in test."""
    dice = random.Random(1)
    files = [folder / f"{part}.tsv" for part in ("train", "dev", "test")]
    for file, count, low, high in zip(
        files, (5000, 300, 400), (1, 1, 21), (20, 20, 100), strict=True
    ):
        drawn = ["".join(dice.choices("0123456789", k=dice.randint(low, high)))
                 for _ in range(count)]  # fmt: skip
        file.write_text("".join(f"{each}\t{each}\n" for each in drawn))
    options = ["task=transduce", "encoder.hidden=64", "embeddings.word_dim=32",
               "decoder.attention=monotone", "train.max_epochs=24", "train.patience=24",
               *args.options]  # fmt: skip
    for seed in args.seeds:
        row = _train(files, (args.output or folder) / f"copying-{seed}", options, seed)
        pairs = [(line.split("\t")[0],) * 2 for line in files[2].read_text().splitlines()]
        found = _right((args.output or folder) / f"copying-{seed}", pairs, args.beam)
        right = [one == target for one, (_, target) in zip(found, pairs, strict=True)]
        yield row | {"test": round(100 * sum(right) / len(right), 2)}


def classes(args: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Language models given the class, beside a model without it and `classify`."""
    trec = {}
    for part in ("train", "test"):
        trec[part] = folder / f"trec-{part}.txt"
        text = (DATA / "trec" / f"{part}.txt").read_text("latin-1")
        lines = text.splitlines()
        random.Random(1).shuffle(lines)
        trec[part].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    travel = {part: Path("data/travel") / f"{part}.tsv" for part in ("train", "test")}
    for name, files in (("trec", trec), ("travel", travel)):
        for count in args.texts:
            few = _first(files["train"], count, folder / f"{name}-{count}{files['train'].suffix}")
            # A model without labels: one whose labels say nothing, one line's A, the next one's B.
            same = {}
            for file in (few, files["test"]):
                same[file] = folder / f"{file.stem}-same.tsv"
                cut = " " if name == "trec" else "\t"
                texts = [line.split(cut, 1)[1] for line in file.read_text("utf-8").splitlines()]
                same[file].write_text(
                    "".join(f"{'AB'[at % 2]}\t{text}\n" for at, text in enumerate(texts)), "utf-8"
                )
            for seed in args.seeds:
                row = {"corpus": name, "texts": count, "seed": seed}
                for what, options, own, test in (
                    ("given", ["task=language-model"], few, files["test"]),
                    ("alone", ["task=language-model"], same[few], same[files["test"]]),
                    ("classify", ["task=classify"], few, files["test"]),
                ):
                    if what != "classify":
                        options += ["data.condition=label", "data.context=line", *args.options]
                    config = load_config(None, options, {
                        "data.train_file": str(own), "train.seed": seed, "train.threads": 1,
                        "output.dir": str(folder / "model"),
                    })  # fmt: skip
                    tagkit.train(config, force=True)
                    report = tagkit.evaluate(test, model=folder / "model", device="cpu")
                    row[what] = {
                        name: round(value, 4) for name, value in report.parts().items()
                        if name in ("perplexity", "class_accuracy", "accuracy")
                    }  # fmt: skip
                yield row


KINDS = {
    "inflection": inflection, "pronunciation": pronunciation, "translation": translation,
    "copying": copying, "classes": classes,
}  # fmt: skip

if __name__ == "__main__":
    main()
