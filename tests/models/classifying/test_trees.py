"""Targets of nodes: by their words, whatever the tree that is read."""

from tagkit.config import load_config
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.classifying.trees import NODES, node_labels, node_targets
from tagkit.text.records import Sentence
from tagkit.text.trees import Tree

WORDS = ("not", "a", "film")
TREE = Tree(((0, 1), (1, 2), (2, 3), (1, 3), (0, 3)), ("no", "", "x", "y", "z"))
PARSED = Sentence(WORDS, labels=("z",), tree=TREE)
BARE = Sentence(WORDS, labels=("x",))


def vocabulary() -> Vocabulary:
    nothing: tuple[str, ...] = ()
    return Vocabulary(
        words=nothing, vector_words=nothing, only_vectors=False, chars=nothing, affixes=nothing,
        tags=nothing, classes=("x", "y", "z"), features=(), lowercase=True, normalize_digits=True,
        columns=(), forms=(), units=None,
    )  # fmt: skip


def targets(tree: str, *sentences: Sentence, learnt: str = "nodes") -> list[list[int]] | None:
    config = load_config(
        overrides=["task=classify", "encoder.cell=rntn", f"encoder.tree={tree}",
                   f"data.tree_targets={learnt}"]
    )  # fmt: skip
    found = node_targets(config, sentences, vocabulary())
    return found[NODES].values.tolist() if found else None


def test_a_node_has_the_class_of_the_phrase_with_its_words() -> None:
    # Beside each word its class, and that of an inner node; -1 of none, and of an unknown class.
    assert targets("parse", PARSED) == [[-1, -1], [-1, 1], [0, 2]]
    assert targets("left", PARSED) == [[-1, -1], [-1, -1], [0, 2]]
    assert targets("right", PARSED) == [[-1, -1], [-1, 1], [0, 2]]


def test_a_text_without_a_tree_has_the_class_of_its_root_alone() -> None:
    assert targets("left", PARSED, BARE) == [
        [-1, -1], [-1, -1], [0, 2], [-1, -1], [-1, -1], [-1, 0],
    ]  # fmt: skip
    assert targets("left", BARE) is None
    assert targets("parse", PARSED, learnt="root") is None


def test_classes_that_only_nodes_have_are_learnt() -> None:
    for learnt, expected in (("nodes", ["no", "x", "y"]), ("root", [])):
        config = load_config(
            overrides=["task=classify", "encoder.cell=rntn", f"data.tree_targets={learnt}"]
        )
        assert node_labels(config, [PARSED, BARE]) == expected
