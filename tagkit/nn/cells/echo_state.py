"""The echo-state network: a reservoir of leaky units with random weights that are not trained.

    h[t] = a * h[t-1] + (1 - a) * tanh(W x[t] + U h[t-1]),  h[-1] = 0

Jaeger 2001; Jaeger et al. 2007 for leaky units; Goodfellow, Bengio and Courville, section 10.8. U
is sparse, and scaled to a spectral radius, the largest absolute value of its eigenvalues: near 1,
so that the past echoes for long, and mostly below, so that it fades. W and U stay as they are
drawn, and are saved with the model, beside a bias that is 0; what reads the states is trained. A
gradient still passes through the states to the word embeddings, which are trained unless they are
frozen.
"""

import torch
from torch import Tensor, nn

from tagkit.nn.cells.leaky import LeakyNetwork
from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.weights import spectral_radius

SPARSITY = 0.9  # share of the recurrent weights that are 0
RADIUS = 0.9  # of a reservoir where the options give none: its echoes fade


class EchoStateNetwork(LeakyNetwork):
    """A reservoir; its leaking rates alone are trained, where they are to be."""

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """Weights drawn and scaled as the options say."""
        super().__init__(inputs, hidden, options)
        nn.init.uniform_(self.weight_ih, -1.0, 1.0)
        radius = RADIUS if options.spectral_radius is None else options.spectral_radius
        weights = _reservoir(self.weight_hh, radius)
        self.weight_hh = nn.Parameter(weights)
        for parameter in (self.weight_ih, self.weight_hh, self.bias):
            parameter.requires_grad_(False)


def _reservoir(like: Tensor, radius: float) -> Tensor:
    """Sparse random weights of this spectral radius, (hidden, hidden)."""
    hidden = len(like)
    if like.is_meta:  # a model to be loaded has shapes alone
        return torch.empty_like(like)
    # Each unit reads equally many others, at least one: units that follow one another back to the
    # first make a circle, so that the spectral radius is not 0.
    read = max(1, round((1 - SPARSITY) * hidden))
    # The places of the largest of random numbers are a random choice: (hidden, read)
    chosen = torch.rand(hidden, hidden).topk(read).indices
    weights = torch.zeros(hidden, hidden).scatter_(1, chosen, torch.randn(hidden, read))
    return weights * (radius / spectral_radius(weights))


ECHO_STATE = Cell(build=EchoStateNetwork)
