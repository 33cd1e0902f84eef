"""Write the sample corpus of inflection: lemmas of an invented language, forms, and features.

Usage: python data/make_forms.py [--out DIR] [--seed N]

    tarok    getarögen    V;PST;PL

Suffixes have the vowels of their stem, front or back; a last k or p becomes g or b before a vowel;
the past of verbs has a prefix, and moves the last vowel to the front. The same seed always gives
the same bytes. No lemma of dev or test is in train.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

SIZES = {"train": 1000, "dev": 100, "test": 200}
LEMMA_FORMS = 4  # of each lemma
ONSETS = (*"bdfghklmnprstvz", "st", "kr", "tr", "pl", "")
CODAS = ("", "", "", "n", "r", "l", "s")
LAST = (*"kkpprlnstm", "nk", "st")
BACK, FRONT = "aou", "eöü"
FEATURES = {
    "N": ("N;NOM;PL", "N;ACC;SG", "N;ACC;PL", "N;GEN;SG", "N;GEN;PL", "N;LOC;SG"),
    "V": ("V;PRS;SG", "V;PRS;PL", "V;PST;SG", "V;PST;PL", "V;INF", "V;IMP;PL"),
}
# A is a or e, U is u or ü, by the vowels of the stem.
SUFFIXES = {
    "NOM": "", "ACC": "nA", "GEN": "Un", "LOC": "dAr", "PRS": "At", "PST": "", "INF": "mAk",
    "IMP": "In",
}  # fmt: skip
PLURALS = {"N": "lAr", "V": "An"}
SOFT = {"k": "g", "p": "b"}


def stem(draw: random.Random) -> str:
    """A stem of two or three syllables, with vowels of one kind."""
    vowels = draw.choice((BACK, FRONT))
    syllables = [draw.choice(ONSETS) + draw.choice(vowels) + draw.choice(CODAS)
                 for _ in range(draw.choice((1, 1, 2)))]  # fmt: skip
    return "".join(syllables) + draw.choice(ONSETS) + draw.choice(vowels) + draw.choice(LAST)


def form(lemma: str, features: str) -> str:
    """The form of a lemma that has these features."""
    kind, *parts = features.split(";")
    found = lemma
    if "PST" in parts:
        place = max(found.rfind(vowel) for vowel in BACK + FRONT)
        moved = FRONT[BACK.index(found[place])] if found[place] in BACK else found[place]
        found = "ge" + found[:place] + moved + found[place + 1 :]
    is_back = found.rstrip("bdfghklmnprstvz")[-1] in BACK
    ending = SUFFIXES[parts[0]]
    ending = (PLURALS[kind] if "PL" in parts else "") + ending
    ending = ending.replace("A", "a" if is_back else "e").replace("U", "u" if is_back else "ü")
    ending = ending.replace("I", "i")
    if ending and ending[0] in BACK + FRONT + "i":
        found = found[:-1] + SOFT.get(found[-1], found[-1])
    return found + ending


def main() -> None:
    """Write the three files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "forms")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(f"forms {options.seed}")
    known: set[str] = set()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, size in SIZES.items():
        lines = []
        while len(lines) < size:
            lemma = stem(draw)
            if lemma in known:
                continue
            known.add(lemma)
            kind = draw.choice(sorted(FEATURES))
            for features in draw.sample(FEATURES[kind], LEMMA_FORMS):
                lines.append(f"{lemma}\t{form(lemma, features)}\t{features}\n")
        draw.shuffle(lines)
        path = options.out / f"{name}.tsv"
        path.write_text("".join(lines[:size]), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
