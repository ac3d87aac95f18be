"""Imports numpy for the process that compares fingerprints, and for no other: it takes 10 MB and 0.05 s.

Its linear algebra would start a thread for each core when it is imported. Nothing here uses it.
"""

import os
from typing import TypeAlias

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # it reads the environment once
import numpy.typing as npt  # the same

Bools: TypeAlias = npt.NDArray[np.bool_]
Signed: TypeAlias = npt.NDArray[np.int64]
Unsigned: TypeAlias = npt.NDArray[np.uint64]
__all__ = ["Bools", "Signed", "Unsigned", "np"]
