"""Mutations of kernels that no test can notice, for they change nothing, each with a reason."""

EQUIVALENTS: dict[str, dict[str, str]] = {}
"""By room, file and kernel: the change, as `tests.mutations` tells it, and why nothing changes."""
