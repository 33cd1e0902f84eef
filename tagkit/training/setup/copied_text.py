"""What a model has of the one that it starts from, in words."""

from tagkit.features.vocabulary import Vocabulary
from tagkit.models.bundle.transfer import Copied
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.wording import listed, plural, shown_name


def copied_text(copied: Copied, vocabulary: Vocabulary, name: str) -> str:
    """What a model has of its base model, in a sentence."""
    kept = [head for head, fit in copied.heads.items() if fit]
    fresh = [_head(head) for head, fit in copied.heads.items() if not fit]
    units = vocabulary.units if vocabulary.reads_units else None
    unit = "word" if units is None else UNIT_KINDS[units.units.kind].name
    more = len(vocabulary.words) - copied.words
    fresh += [*copied.added, *([plural(more, unit)] if more else [])]
    heads = f" and {_head(listed(kept))}" if kept else ""
    left = f"; left out: {listed(copied.left_out)}" if copied.left_out else ""
    new = f"; new: {', '.join(fresh)}" if fresh else ""
    return f"embeddings, encoder{heads} from {shown_name(name)}{new}{left}"


def _head(titles: str) -> str:
    """The heads of these titles; a language model has only one, without a title."""
    return "head" if titles == "head" else f"head of {titles}"
