"""For which spans, or words, a tagger works: scores by what training has seen, and by length."""

from collections.abc import Mapping

from markupsafe import Markup

from tagkit.evaluation.html_report.tables import score_table, side_by_side
from tagkit.evaluation.scores import Score
from tagkit.evaluation.slices import Slices, WordAccuracy
from tagkit.html.chart import share_bar
from tagkit.html.colours import Palette
from tagkit.html.elements import share, table


def draw_slices(slices: Slices, palette: Palette) -> Markup | None:
    """A table for each division of the spans; nothing without spans."""
    divisions: dict[str, Mapping[str, Score] | None] = {
        "By the words in training": slices.seen,
        "By the spans of the type in training": slices.frequency,
        "By tokens of the span": slices.span_length,
        "By tokens of the sentence": slices.sentence_length,
    }
    tables = [
        score_table(title, "slice", scores.items()) for title, scores in divisions.items() if scores
    ]
    return side_by_side(*tables) if tables else None


def draw_words(words: WordAccuracy, palette: Palette) -> Markup:
    """The accuracy of known and of unknown words."""
    rows = [
        (name, share(accuracy) if tokens else "–", share_bar(accuracy), tokens)
        for name, accuracy, tokens in (
            ("known words", words.known, words.known_tokens),
            ("unknown words", words.unknown, words.unknown_tokens),
        )
    ]
    return table("By the words in training", ("words", "accuracy", "", "tokens"), rows)
