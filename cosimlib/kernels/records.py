"""Records: one row per job, node or machine, with a field for each of its numbers.

A kernel takes one array of records in the place of an array per field. Each array that is handed
from kernel to kernel costs time to compile, and the fields of a row lie together in memory.
"""

import numpy as np
import numpy.typing as npt


def record_type(*, floats: str = "", integers: str = "") -> np.dtype:
    """Type of records with these fields, whose names are separated by spaces."""
    fields = [(name, "f8") for name in floats.split()]
    return np.dtype(fields + [(name, "i8") for name in integers.split()])


def records(n: int | tuple[int, int], dtype: np.dtype, **columns: npt.ArrayLike) -> np.recarray:
    """Records of zeros, but for the columns that are named."""
    table = np.zeros(n, dtype).view(np.recarray)
    for name, values in columns.items():
        table[name] = values
    return table
