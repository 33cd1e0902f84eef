"""A description of a model, in the words that the console and `tagkit info` share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tagkit.config import Config
from tagkit.evaluation.scores.metrics import Kind, added_metrics, headline_column, history_key
from tagkit.wording import joined

# What people read of a row of `LAYERS` or of `HEADS` whose name alone does not say it. Not in these
# rows: a model is described without torch.
LAYER_NAMES = {
    "lstm": "LSTM",
    "gru": "GRU",
    "elman": "Elman RNN",
    "lstm-peephole": "peephole LSTM",
    "gru-reset-before": "reset-before GRU",
    "leaky": "leaky RNN",
    "skip": "skip RNN",
    "skip-lstm": "skip LSTM",
    "clockwork": "clockwork RNN",
    "output-feedback": "output-feedback RNN",
    "echo-state": "echo-state network",
    "sru": "SRU",
    "deep-transition": "deep-transition RNN",
    "recurrent-highway": "recurrent highway network",
    "ntm": "neural Turing machine",
    "cnn": "CNN",
    "window": "feed-forward network",
    "tree-rnn": "tree RNN",
    "rntn": "RNTN",
    "tree-lstm": "Tree-LSTM",
}
# Where it has a name of its own, and where the name says so.
ONE_WAY = {"transformer": "causal transformer", "cnn": "causal CNN"}
BOTH_WAYS = ("cnn", "window")
HEAD_NAMES = {
    "crf": "CRF",
    "viterbi": "softmax + tag bigrams",
    "feedback": "tag feedback",
}
# Of the values of `head.end`.
ENDS: Mapping[str, tuple[str, ...]] = {
    "symbol": (), "halt": ("Bernoulli halt",), "length": ("predicted length",)
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Description:
    """A model's task and architecture.

    Attributes:
        encoder: its layers, such as "2-layer BiLSTM".
        heads: what reads their states, such as "CRF" or "attention pooling".
        unit: what an example is: "sentence" or "text".
        measure: head of the column of dev's headline, such as "F1", "acc." or "mean".
        columns: heads of the columns beside the headline's, by the metrics' names in
            history.jsonl.
        reads_columns: whether words and features are read from columns of a file.
        use: the command that uses such a model.
        shares: whether the scores in `columns` are shares, which people see in percent.
    """

    encoder: str
    heads: tuple[str, ...]
    unit: str
    measure: str
    columns: Mapping[str, str]
    reads_columns: bool
    use: str = "predict"
    shares: bool = True

    @property
    def architecture(self) -> str:
        """Encoder and heads, such as "BiLSTM with CRF"."""
        return f"{self.encoder} with {joined(self.heads, 'and')}"


def encoder_name(config: Config) -> str:
    """The recurrent layers and those after them, such as "2-layer residual BiLSTM and MLP"."""
    encoder = config.encoder
    name, both = LAYER_NAMES.get(encoder.cell, encoder.cell), ""
    if encoder.read_tree:
        name += " over parses" if encoder.tree == "parse" else f" over {encoder.tree} trees"
    elif not encoder.bidirectional:
        name = ONE_WAY.get(encoder.cell, name)
    elif encoder.cell not in BOTH_WAYS:  # "BiLSTM", but "bidirectional leaky RNN"
        both = "Bi" if name[0].isupper() else "bidirectional "
    layers = f"{encoder.layers}-layer " if encoder.layers > 1 else ""
    if encoder.connection != "none":
        layers += f"{encoder.connection} "
    below = "MLP and " if encoder.input_layers else ""
    output = " and MLP" if encoder.output_layers else ""
    ensemble = f"{encoder.ensemble_size} x " if encoder.ensemble_size > 1 else ""
    return f"{ensemble}{below}{layers}{both}{name}{output}"


def tag_heads(config: Config) -> tuple[str, ...]:
    """What gives the tags of a text, such as "CRF"."""
    beside = config.head.feature_crf
    linear = ("CRF of word features",) if isinstance(beside, int) and beside else ()
    return (head_name(config), *linear)


def head_name(config: Config) -> str:
    """What gives the tags of one column, such as "CRF"."""
    return HEAD_NAMES.get(config.head.kind, config.head.kind)


def class_heads(config: Config) -> tuple[str, ...]:
    """What gives the classes of a text, such as "max pooling"."""
    head = config.head
    linear = ("bag of words",) if isinstance(head.bag_of_words, int) and head.bag_of_words else ()
    pooling = "root" if config.encoder.read_tree else head.pooling
    return (f"{pooling} pooling", *linear)


def metric_columns(kinds: Sequence[Kind]) -> tuple[str, dict[str, str]]:
    """`Description.measure` and `Description.columns` of a model that predicts these labels."""
    beside = {
        history_key(metric, kind): metric.column for kind in kinds for metric in added_metrics(kind)
    }
    return headline_column(kinds), beside
