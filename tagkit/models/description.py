"""What a model is, in the words that the console, train.log and `tagkit info` share."""

from dataclasses import dataclass

from tagkit.config import Config, training_scheme
from tagkit.evaluation.metrics import Kind, added_metrics, headline_column, history_key

# As textbooks write them.
_CELLS = {"lstm": "LSTM", "gru": "GRU", "elman": "Elman RNN"}
_TAG_HEADS = {"crf": "CRF", "softmax": "softmax", "viterbi": "softmax + tag bigrams"}


@dataclass(frozen=True, slots=True)
class Description:
    """A model's task and architecture.

    Attributes:
        encoder: the recurrent layers, such as "2-layer BiLSTM".
        heads: what stands on them, such as "CRF" or "attention pooling".
        unit: what an example is: "sentence" or "text".
        kinds: of the labels that it predicts, tags before classes.
        reads_columns: whether words and features are read from columns of a file.
    """

    encoder: str
    heads: tuple[str, ...]
    unit: str
    kinds: tuple[Kind, ...]
    reads_columns: bool

    @property
    def architecture(self) -> str:
        """Encoder and heads, such as "BiLSTM with CRF"."""
        return f"{self.encoder} with {' and '.join(self.heads)}"

    @property
    def measure(self) -> str:
        """Head of the column of dev's headline: "F1", "acc.", or "mean"."""
        return headline_column(self.kinds)

    @property
    def predicts_classes(self) -> bool:
        """Whether texts get classes."""
        return Kind.CLASS in self.kinds or Kind.CLASSES in self.kinds

    def columns(self) -> dict[str, str]:
        """Heads of the columns beside the headline's, by the metrics' names in history.jsonl."""
        return {
            history_key(metric, kind): metric.column
            for kind in self.kinds
            for metric in added_metrics(kind)
        }


def describe(config: Config) -> Description:
    """The description of a model with a resolved configuration.

    The scheme and whether a text may have several classes are facts of the corpus, which
    training writes into the configuration; here neither is "auto" any more.
    """
    encoder = config.encoder
    both = "Bi" if encoder.bidirectional else ""
    layers = f"{encoder.layers}-layer " if encoder.layers > 1 else ""
    heads: list[str] = []
    kinds: list[Kind] = []
    if config.task != "classify":
        heads.append(_TAG_HEADS[config.head.kind])
        kinds.append(Kind.TOKENS if training_scheme(config) == "labels" else Kind.SPANS)
    if config.task != "tag":
        heads.append(f"{config.head.pooling} pooling")
        kinds.append(Kind.CLASSES if config.head.multi_label == "yes" else Kind.CLASS)
    return Description(
        encoder=f"{layers}{both}{_CELLS[encoder.cell]}",
        heads=tuple(heads),
        unit="text" if config.task == "classify" else "sentence",
        kinds=tuple(kinds),
        reads_columns=config.task != "classify",
    )
