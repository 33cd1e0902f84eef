"""Phrases of trees as texts of their own: Socher et al. 2013."""

from dataclasses import replace

from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.format_options import not_of
from tagkit.errors import ConfigError
from tagkit.wording import plural


def distinct_phrases(split: Split) -> Split:
    """Each phrase with its class once: single words occur thousands of times as phrases.

    Raises:
        ConfigError: the texts are no phrases of trees.
    """
    if owners := not_of(split, "tree_phrases"):
        found = f"{split.path} is read as {split.format}"
        problem = f"has an effect on {owners} alone, and {found}; leave it out"
        raise ConfigError("data.tree_phrases", [problem])
    # Keyed by class too: a phrase that occurs with two classes keeps both.
    phrases = {(sentence.words, sentence.labels): sentence for sentence in split.sentences}
    repeated = len(split.sentences) - len(phrases)
    are = "that repeats another is" if repeated == 1 else "that repeat another are"
    said = (f"{split.path}: {plural(repeated, 'phrase')} {are} left out",) if repeated else ()
    return replace(split, sentences=tuple(phrases.values()), notes=(*split.notes, *said))
