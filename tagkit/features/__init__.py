"""Records -> ids -> padded batches."""

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
