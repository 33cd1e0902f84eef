"""Results of benchmarks/language.py as tables."""

import statistics
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def tables(rows: Sequence[Row]) -> str:
    """Markdown tables of all kinds of runs that are there."""
    makers = {"ptb": word_table, "characters": character_table, "speed": speed_table}
    return "\n\n".join(
        maker(own)
        for kind, maker in makers.items()
        if (own := [row for row in rows if row["kind"] == kind])
    )


def word_table(rows: Sequence[Row]) -> str:
    """Perplexity of each setting and limit, mean and sample deviation over seeds."""
    lines = _head(["PTB, words", "weights", "limit", "seeds", "epochs", "dev perplexity",
                   "test perplexity", "minutes", "tokens/s"])  # fmt: skip
    for own in _groups(rows):
        lines.append(
            _line(
                own[0]["setting"],
                f"{own[0]['weights']:,}",
                _limit(own[0]),
                str(len(own)),
                _mean(own, "trained_epochs", 0),
                _mean(own, "dev_perplexity", 1),
                _mean(own, "test_perplexity", 1),
                f"{statistics.mean(row['elapsed_minutes'] for row in own):.0f}",
                f"{statistics.mean(row['tokens_per_s'] for row in own):,.0f}",
            )
        )
    return "\n".join(lines)


def character_table(rows: Sequence[Row]) -> str:
    """Bits per character of n-grams and networks."""
    lines = _head(["War and Peace, characters", "weights", "limit", "seeds", "dev bits",
                   "test bits", "minutes"])  # fmt: skip
    for own in _groups(rows):
        first = own[0]
        is_ngram = first["setting"] == "kneser-ney"
        lines.append(
            _line(
                f"{first['order']}-gram, Kneser-Ney" if is_ngram else first["setting"],
                "-" if is_ngram else f"{first['weights']:,}",
                "-" if is_ngram else _limit(first),
                "-" if is_ngram else str(len(own)),
                _mean(own, "dev_bits", 3),
                _mean(own, "test_bits", 3),
                f"{statistics.mean(row['elapsed_minutes'] for row in own):.1f}",
            )
        )
    return "\n".join(lines)


def speed_table(rows: Sequence[Row]) -> str:
    """Median tokens a second, and the median of the rounds' ratios."""
    lines = _head(["training steps", "tagkit, tokens/s", "torch, tokens/s", "torch / tagkit",
                   "rounds"])  # fmt: skip
    for own in _groups(rows):
        ours, bare = (statistics.median(row[name] for row in own) for name in ("ours", "bare"))
        ratios = sorted(row["bare"] / row["ours"] for row in own)
        lines.append(
            _line(
                own[0]["setting"],
                f"{ours:,.0f}",
                f"{bare:,.0f}",
                f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
                str(len(own)),
            )
        )
    return "\n".join(lines)


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that differ by seed or round alone, in the order of the file."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = tuple(row.get(name) for name in ("setting", "order", "minutes", "epochs", "steps"))
        found.setdefault(key, []).append(row)
    return [*found.values()]


def _limit(row: Row) -> str:
    parts = [f"{row['minutes']:g} min"] if row["minutes"] else []
    return ", ".join(parts + ([f"{row['epochs']} epochs"] if row["epochs"] else [])) or "default"


def _mean(rows: Sequence[Row], name: str, digits: int) -> str:
    values = [row[name] for row in rows]
    spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{spread}"


def _head(names: Sequence[str]) -> list[str]:
    return [_line(*names), _line("---", *["---:"] * (len(names) - 1))]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
