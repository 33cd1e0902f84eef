"""Precision, recall, F1 and accuracy: numbers first.

    precision = correct / predicted, recall = correct / gold, F1 = 2 P R / (P + R)
A span is correct when its start, end and label are (Jurafsky and Martin, "Sequence Labeling for
Parts of Speech and Named Entities", section on evaluation; Tjong Kim Sang and De Meulder 2003).
"""

from collections.abc import Sequence

from tagkit.schemes import to_spans

Tags = Sequence[Sequence[str]]


def span_f1(gold: Tags, predicted: Tags) -> float:
    """Micro F1 of spans by the rules of conlleval, 0 to 1; 0 where there are no spans at all."""
    correct = found = wanted = 0
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        gold_spans, predicted_spans = set(to_spans(gold_tags)), set(to_spans(predicted_tags))
        correct += len(gold_spans & predicted_spans)
        wanted += len(gold_spans)
        found += len(predicted_spans)
    return 2 * correct / (found + wanted) if correct else 0.0


def accuracy(gold: Tags, predicted: Tags) -> float:
    """Share of tokens whose tag is right, 0 to 1; 0 without tokens."""
    correct = total = 0
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        correct += sum(a == b for a, b in zip(gold_tags, predicted_tags, strict=True))
        total += len(gold_tags)
    return correct / total if total else 0.0
