"""Mixed precision: the forward pass in 16 bits, weights and their updates in 32.

See Micikevicius et al. 2018, "Mixed Precision Training". This uses torch's autocast and scaler, not
Accelerate's, which fix one precision for the whole program: a program may train several models.
"""

import torch

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """A context in which torch chooses 16 bits for the operations that tolerate it."""
    mixed = precision != "fp32"
    # torch checks the dtype even where nothing is cast, and does not accept float32.
    dtype = _DTYPES[precision] if mixed else torch.bfloat16
    return torch.autocast(device.type, dtype=dtype, enabled=mixed)


def loss_scaler(device: torch.device, precision: str) -> torch.amp.GradScaler:
    """Multiplies the loss before the backward pass, and divides the gradients after it.

    In fp16 numbers below 6e-8, such as small gradients, become 0. bf16 has the exponents of fp32
    and needs no scale; for both the scaler is disabled and changes nothing.
    """
    scaler = torch.amp.GradScaler(device.type, enabled=precision == "fp16")
    # Its first call makes its tensors. Of several processes one may have no sentence in its first
    # step, and would unscale its gradients, which are zeros, before it has scaled a loss.
    scaler.scale(torch.zeros((), device=device))
    return scaler
