"""Records -> ids -> padded batches, as arrays: no module here imports torch."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Arrays = npt.NDArray[Any]
# What a batch is made of: arrays here, tensors in networks (`models/base/device.py`).
Array = TypeVar("Array")
