"""Arrays by their dtype, as the whole package writes them in its types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ScoreArray = NDArray[np.float64]
AnyArray = NDArray[Any]
"""An array of any type."""
