"""Output layers over many units by name. A layer is one module here and one row of `SOFTMAXES`."""

from collections.abc import Callable

from tagkit.nn.softmax import adaptive, full, sampled
from tagkit.nn.softmax.layer import SoftmaxOptions, UnitSoftmax

# The keys are the values that the configuration allows for `head.softmax`, beside "auto".
SOFTMAXES: dict[str, Callable[[SoftmaxOptions], UnitSoftmax]] = {
    "full": full.build,
    "adaptive": adaptive.build,
    "sampled": sampled.build,
}
