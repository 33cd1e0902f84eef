"""For which spans, or words, a tagger works: scores by what training has seen, and by length."""

from markupsafe import Markup

from tagkit.evaluation.analysis.slices import Slices, WordAccuracy
from tagkit.evaluation.html_report.tables import score_table, side_by_side
from tagkit.html.chart import share_bar
from tagkit.html.colours import Palette
from tagkit.html.elements import share, table


def draw_slices(slices: Slices, palette: Palette) -> Markup | None:
    """A table for each division of the spans; nothing without spans."""
    tables = [
        score_table(f"By {title}", "slice", scores.items())
        for title, scores in slices.divisions().items()
    ]
    return side_by_side(*tables) if tables else None


def draw_words(words: WordAccuracy, palette: Palette) -> Markup:
    """The accuracy of known and of unknown words."""
    rows = [
        (name, share(accuracy) if tokens else "–", share_bar(accuracy), tokens)
        for name, accuracy, tokens in words.rows()
    ]
    return table("By the words in training", ("words", "accuracy", "", "tokens"), rows)
