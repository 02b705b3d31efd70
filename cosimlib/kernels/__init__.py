"""Mathematics shared by two rooms or more: arrays in, arrays out, NumPy and Numba only."""
