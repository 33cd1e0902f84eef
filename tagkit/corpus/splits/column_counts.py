"""How many labels each of several tag columns of a corpus has, in a few words."""

from tagkit.corpus.records.dataset import Split
from tagkit.corpus.source.layout import NO_TAGS
from tagkit.text.records import TagColumn
from tagkit.text.scheme_detection import count_steps, judge
from tagkit.text.schemes import DISPLAY, OUTSIDE, has_spans
from tagkit.wording import plural


def column_counts(split: Split) -> str:
    """'UPOS 14 labels, FEATS 30 values, MISC.NER 4 types (IOB2)'; empty without several columns."""
    columns: dict[str, list[TagColumn]] = {}
    for sentence in split.sentences:
        for column in sentence.columns:
            columns.setdefault(column.name, []).append(column)
    parts = []
    for name, values in columns.items():
        seen = {value for column in values for value in column.values}
        if name in NO_TAGS:  # a lemma may look like a tag of a span
            parts.append(f"{name} {plural(len(seen), 'value')}")
            continue
        scheme = judge(count_steps(column.values for column in values)).scheme
        if has_spans(scheme):
            types = {value.partition("-")[2] for value in seen - {OUTSIDE}}
            parts.append(f"{name} {plural(len(types), 'type')} ({DISPLAY[scheme]})")
        else:
            parts.append(f"{name} {plural(len(seen), 'label')}")
    return ", ".join(parts)
