"""Classes of the nodes of trees: what is learnt of them, what is predicted, and how it is scored.

Socher et al. 2013: each phrase of a text has a class, which the head of classes gives its node as
it gives the root that of the text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import DataError
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.targets import Target
from tagkit.features.batching.trees import PARSE, tree_of
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.output import ModelOutput
from tagkit.nn.heads.classification import ClassHead
from tagkit.nn.trees.encoder import node_mask
from tagkit.text.records import Prediction, Sentence
from tagkit.text.trees import Tree

NODES = "nodes"  # name of a batch's classes of nodes
_NONE = -1  # in place of the class of a node that has none


def resolved_tree(config: Config, corpus: Corpus) -> Config:
    """The configuration with the tree that is read, where it reads any.

    Raises:
        DataError: parses are asked for, and a text has none.
    """
    wanted = config.encoder.read_tree
    if wanted not in ("auto", PARSE):
        return config
    splits = (split for split in (corpus.train, corpus.dev, corpus.test) if split is not None)
    without = [each.path for each in splits if any(s.tree is None for s in each.sentences)]
    if wanted == PARSE and without:
        raise DataError(
            f"{without[0]}: encoder.tree = 'parse' reads trees in brackets (format trees), and "
            "texts there have none: name encoder.tree=balanced, left or right"
        )
    encoder = config.encoder.model_copy(update={"tree": "balanced" if without else PARSE})
    return config.model_copy(update={"encoder": encoder})


def node_labels(config: Config, sentences: Sequence[Sentence]) -> list[str]:
    """The classes of labelled nodes below the roots, where they are learnt."""
    if not _learns_nodes(config, sentences):
        return []
    trees = (sentence.tree for sentence in sentences if sentence.tree is not None)
    return [label for tree in trees for label in tree.labels[:-1] if label]


def _learns_nodes(config: Config, sentences: Sequence[Sentence]) -> bool:
    wanted = config.encoder.read_tree and config.data.tree_targets == "nodes"
    return bool(wanted) and any(sentence.tree is not None for sentence in sentences)


def node_targets(
    config: Config, sentences: Sequence[Sentence], vocabulary: Vocabulary
) -> Mapping[str, Target]:
    """The classes of nodes, where these are learnt: of those whose words are a labelled phrase.

    The tree that is read need not be the corpus's own: of that, words and the whole text are nodes
    of every other tree, and some phrases may be. The root has the class of the text.
    """
    if not _learns_nodes(config, sentences):
        return {}
    rows: list[tuple[int, int]] = []
    for sentence in sentences:
        known = {} if sentence.tree is None else sentence.tree.by_span()
        known[0, len(sentence)] = sentence.labels[0]
        spans = tree_of(sentence, config.encoder.read_tree).spans

        def number(span: tuple[int, int], known: Mapping[tuple[int, int], str] = known) -> int:
            label = known.get(span)
            found = vocabulary.class_id(label) if label else None
            return _NONE if found is None else found

        # Beside each word the inner node of its number, of which there is none for the first.
        inner = [_NONE, *map(number, spans)]
        rows += [(number((at, at + 1)), each) for at, each in enumerate(inner)]
    values = np.array(rows, dtype=np.int64)
    return {NODES: Target(values, "token", count=int((values != _NONE).sum()))}


def node_loss(head: ClassHead, states: Tensor, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the nodes that have a class, summed, and their number.

    Args:
        head: whose pooling is the final state.
        states: (batch, 2 time - 1, hidden) of all nodes.
        batch: with `node_targets`; a text's weight is that of each of its nodes.
    """
    found = batch.target(NODES)  # (batch, time, 2) of words, and of inner nodes from column 1 on
    numbers = torch.cat((found[:, :, 0], found[:, 1:, 1]), dim=1)  # (batch, 2 time - 1)
    labelled = node_mask(batch.tokens.mask) & (numbers != _NONE)
    # (labelled nodes, classes) of 0 and 1
    gold = nn.functional.one_hot(numbers[labelled], len(head.class_weights))
    weights = batch.weights
    if weights is not None:
        weights = weights.unsqueeze(1).expand(labelled.shape)[labelled]
    return head.loss(*_as_texts(states[labelled]), gold, weights)


def _as_texts(nodes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """States of nodes, (nodes, hidden), as a head reads those of texts of one token each."""
    return nodes.unsqueeze(1), nodes, nodes.new_ones(len(nodes), 1, dtype=torch.bool)


def node_probabilities(head: ClassHead, states: Tensor) -> Tensor:
    """(batch, nodes, classes) on the CPU, with the head's temperature, of all nodes' states."""
    scores, _ = head.scores(*_as_texts(states.flatten(0, 1)))
    found = head.probabilities(scores / head.temperature).cpu()
    return found.view(*states.shape[:2], -1)


def with_trees(
    predictions: Sequence[Prediction],
    sentences: Sequence[Sentence],
    shape: str,
    output: ModelOutput,
    classes: Sequence[str],
) -> list[Prediction]:
    """Predictions with the class of each node: in the parse that a text has, or the tree read.

    Args:
        predictions: of a batch's texts.
        sentences: the texts.
        shape: of the tree that is read.
        output: of the batch.
        classes: of the model.
    """
    assert output.node_probs is not None
    time = (output.node_probs.shape[1] + 1) // 2
    probs, best = (each.tolist() for each in output.node_probs.max(2))  # (batch, nodes) each
    found = []
    for row, (prediction, sentence) in enumerate(zip(predictions, sentences, strict=True)):
        tree = tree_of(sentence, shape)
        nodes = tree.after_children()
        if shape == PARSE and sentence.tree is not None:  # one node for all with the same words
            at = {tree.span(node): node for node in nodes}
            nodes = [at[span] for span in sentence.tree.spans]
        columns = [node if node >= 0 else time - 1 - node for node in nodes]
        read = Tree(
            tuple(map(tree.span, nodes)),
            tuple(classes[best[row][column]] for column in columns),
            tuple(probs[row][column] for column in columns),
        )
        found.append(replace(prediction, tree=read))
    return found
