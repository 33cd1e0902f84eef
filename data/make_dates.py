"""Write the sample corpus of dates: as people write them, and as ISO 8601 has them.

Usage: python data/make_dates.py [--out DIR] [--seed N]

    on Tuesday, 3rd of March 1998    1998-03-03

The same seed always gives the same bytes. No date of dev or test is in train.
"""

from __future__ import annotations

import argparse
import random
from datetime import date, timedelta
from pathlib import Path

SIZES = {"train": 1500, "dev": 200, "test": 200}
FIRST, LAST = date(1900, 1, 1), date(2079, 12, 31)
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# {d} day, {o} with its ending, {m} month by name, {n} by number, {y} year, {w} day of the week
FORMS = (
    "{d} {m} {y}", "{m} {d}, {y}", "{o} {m} {y}", "{m} {o}, {y}", "the {o} of {m} {y}",
    "{w}, {d} {m} {y}", "{w}, {m} {d}, {y}", "on {w}, {o} of {m} {y}", "{d}.{n}.{y}", "{y}/{n}/{d}",
    "{m} the {o} in {y}", "{d}-{m}-{y}", "{y}, {m} {d}",
)  # fmt: skip
LOWER, SHORT, NO_COMMA = 0.25, 0.35, 0.2  # shares of dates that are written so


def ordinal(day: int) -> str:
    """A day with its ending: 1st, 2nd, 3rd, 11th."""
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def written(day: date, draw: random.Random) -> str:
    """A date as somebody may write it."""
    month, week = MONTHS[day.month - 1], DAYS[day.weekday()]
    if draw.random() < SHORT:
        month, week = month[:3], week[:3]
    text = draw.choice(FORMS).format(
        d=day.day, o=ordinal(day.day), m=month, n=day.month, y=day.year, w=week
    )
    if draw.random() < NO_COMMA:
        text = text.replace(",", "")
    return text.lower() if draw.random() < LOWER else text


def main() -> None:
    """Write the three files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "dates")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(f"dates {options.seed}")
    count = sum(SIZES.values())
    days = [FIRST + timedelta(each) for each in draw.sample(range((LAST - FIRST).days + 1), count)]
    options.out.mkdir(parents=True, exist_ok=True)
    for name, size in SIZES.items():
        lines = [f"{written(day, draw)}\t{day.isoformat()}\n" for day in days[:size]]
        del days[:size]
        path = options.out / f"{name}.tsv"
        path.write_text("".join(lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
