"""Vector to sequence: the class of a text is known to the network that writes it.

    p(x[1..n] | c) = product over t of p(x[t] | x[1..t-1], c)

(Goodfellow, Bengio and Courville, section 10.2.4, fig. 10.9, eq. 10.35 and after.) The vector of
the class is the initial state of the network, an input of every step, or both, as the book has it.
"""

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.weights import fresh_linear


class Condition(nn.Module):
    """Vectors of classes, and states to begin with.

    Attributes:
        log_prior: (classes,) log probability of each class, as counted in training.
        every_step: whether the vector is an input of every step.
    """

    log_prior: Tensor

    def __init__(self, *, classes: int, dim: int, context: str, hidden: int, states: int) -> None:
        """Fresh weights.

        Args:
            classes: their number.
            dim: of the network's inputs.
            context: "initial", "every-step" or "both".
            hidden: values of a state.
            states: their number, of all layers.
        """
        super().__init__()
        self.embedding = nn.Embedding(classes, dim)
        nn.init.xavier_uniform_(self.embedding.weight)  # Glorot and Bengio 2010, eq. 16
        self.every_step = context != "initial"
        self.hidden = hidden
        self.initial = None
        if context != "every-step":
            self.initial = fresh_linear(dim, hidden, states)
        self.register_buffer("log_prior", torch.zeros(classes))

    def forward(self, classes: Tensor) -> Tensor:
        """(rows,) classes -> (rows, dim)."""
        vectors: Tensor = self.embedding(classes)
        return vectors

    def states(self, vectors: Tensor) -> list[Tensor]:
        """(rows, dim) -> (1, rows, hidden) of each state; none where they begin with zeros."""
        if self.initial is None:
            return []
        found = torch.tanh(self.initial(vectors)).unsqueeze(0)
        return [*torch.split(found, self.hidden, dim=2)]
