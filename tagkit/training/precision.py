"""Mixed precision: the forward pass in 16 bits, weights and their updates in 32.

See Micikevicius et al. 2018, "Mixed Precision Training". torch's own means are used, not those of
Accelerate, which fixes one precision for the whole program: a program may train twice.
"""

import torch

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """A context in which torch chooses 16 bits for the operations that tolerate it."""
    mixed = precision != "fp32"
    # A dtype is asked for even where nothing is cast, and float32 is none that torch accepts.
    dtype = _DTYPES[precision] if mixed else torch.bfloat16
    return torch.autocast(device.type, dtype=dtype, enabled=mixed)


def loss_scaler(device: torch.device, precision: str) -> torch.amp.GradScaler:
    """What multiplies the loss before the backward pass, and divides the gradients after it.

    In fp16 whatever is under 6e-8 becomes 0, which small gradients are. bf16 has the exponents of
    fp32 and needs no scale; there, and in fp32, the scaler returns what it is given.
    """
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")
