"""Convolution over time: a state is computed from the inputs near it, and from no other state.

    h[t] = f(sum over o of W[o] x[t + d o] + b)      o from -floor(w/2) to ceil(w/2) - 1, dilation d

(Jurafsky and Martin, section 13.7 on convolutional encoders; Goodfellow, Bengio and Courville,
chapter 10, introduction, on convolution over time.) Of several widths w each gives a part of the
values (Kim 2014). With a dilation d, layer l reads every d^l-th input, the topmost every one, so
that the reach of a stack grows with a power of its depth (Strubell et al. 2017, iterated dilated
convolutions). f is the rectifier.

"window" is the books' feed-forward network over the surrounding or last words (Bengio et al. 2003;
Jurafsky and Martin, figs. 9.1 and 13.5a): the same without dilation, and with tanh.

In an encoder of one direction a state reads no input after its own: o from 1 - w to 0.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.layers.layer import EncoderLayer, LayerKind, LayerOptions
from tagkit.nn.padding import zero_padding
from tagkit.nn.recurrence.cell import State

Function = Callable[[Tensor], Tensor]
_FURTHEST = 256  # largest dilation: what no text has is padded, and takes memory


class ConvolutionLayer(EncoderLayer):
    """One layer, of one width or several."""

    def __init__(
        self,
        *,
        inputs: int,
        hidden: int,
        widths: Sequence[int],
        dilation: int,
        causal: bool,
        function: Function,
    ) -> None:
        """`hidden` values are shared out among the widths, the first ones getting what is left.

        Args:
            inputs: values of an input.
            hidden: values of a state.
            widths: inputs that a state reads.
            dilation: steps between two of them.
            causal: whether a state reads nothing after its own input.
            function: of each value.
        """
        super().__init__()
        self.outputs = hidden
        self.dilation = dilation
        self.causal = causal
        self.function = function
        sizes = [hidden // len(widths) + (at < hidden % len(widths)) for at in range(len(widths))]
        self.parts = nn.ModuleList(
            nn.Conv1d(inputs, size, width, dilation=dilation)
            for size, width in zip(sizes, widths, strict=True)
        )
        for part in self.parts:
            assert isinstance(part, nn.Conv1d)
            # A rectifier halves the variance of what it is given (He et al. 2015, eq. 10).
            if function is torch.relu:
                nn.init.kaiming_uniform_(part.weight, nonlinearity="relu")
            else:
                nn.init.xavier_uniform_(part.weight)  # Glorot and Bengio 2010, eq. 16
            assert part.bias is not None
            nn.init.zeros_(part.bias)
        # Inputs before and after its own that a state reads, of each width and of all.
        self.spans = [self._span(width) for width in widths]
        self.before, self.after = (max(span) for span in zip(*self.spans, strict=True))

    def _span(self, width: int) -> tuple[int, int]:
        before = width - 1 if self.causal else width // 2
        return self.dilation * before, self.dilation * (width - 1 - before)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """As described in `EncoderLayer`."""
        inputs = zero_padding(inputs, mask)  # what padding holds would reach the last tokens
        padded = nn.functional.pad(inputs.transpose(1, 2), (self.before, self.after))
        return zero_padding(self._convolved(padded), mask)

    def _convolved(self, padded: Tensor) -> Tensor:
        """(batch, inputs, before + time + after) -> (batch, time, hidden)."""
        stop = padded.shape[2]
        found = [
            part(padded[..., self.before - before : stop - (self.after - after)])
            for part, (before, after) in zip(self.parts, self.spans, strict=True)
        ]
        return self.function(torch.cat(found, 1)).transpose(1, 2)

    def read(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """As described in `EncoderLayer`; the final state is that of the last token."""
        states = self(inputs, mask)
        last = (mask.sum(1) - 1).clamp(min=0)[:, None, None].expand(-1, 1, self.outputs)
        return states, states.gather(1, last).squeeze(1)

    def final_states(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """As described in `EncoderLayer`."""
        return self.read(inputs, mask)[1]

    def carry(self, inputs: Tensor, state: State | None) -> tuple[Tensor, State]:
        """As described in `EncoderLayer`; the state is the last inputs, (before, batch, inputs)."""
        assert self.causal  # else it would have to read the text after it
        assert state is None or isinstance(state, Tensor)
        if state is None:
            state = inputs.new_zeros(self.before, len(inputs), inputs.shape[2])
        # (before, batch, inputs) and (batch, time, inputs) -> (batch, inputs, before + time)
        padded = torch.cat((state.permute(1, 2, 0).to(inputs.dtype), inputs.transpose(1, 2)), 2)
        after = padded[..., padded.shape[2] - self.before :].permute(2, 0, 1).contiguous()
        return self._convolved(padded), after


def _cnn(layer: LayerOptions) -> ConvolutionLayer:
    # The topmost reads every input again, after which no token is left out (Strubell et al. 2017).
    dilation = min(layer.options.dilation**layer.number, _FURTHEST) if not layer.topmost else 1
    return _built(layer, dilation, torch.relu)


def _window(layer: LayerOptions) -> ConvolutionLayer:
    return _built(layer, 1, torch.tanh)


def _built(layer: LayerOptions, dilation: int, function: Function) -> ConvolutionLayer:
    return ConvolutionLayer(
        inputs=layer.inputs, hidden=layer.hidden, widths=layer.options.widths, dilation=dilation,
        causal=not layer.bidirectional, function=function,
    )  # fmt: skip


CNN = LayerKind(_cnn, recurrent=False)
WINDOW = LayerKind(_window, recurrent=False)
