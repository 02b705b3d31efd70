"""Mutations of kernels that no test can notice, for they change nothing, each with a reason."""

EQUIVALENTS: dict[str, dict[str, str]] = {
    "batch/loop.py:_forget_started": {
        "counts[FIRST] < counts[LAST] -> counts[FIRST] >= counts[LAST]": (
            "the loop behind it closes gaps at the front, too; the first only saves it work"
        ),
    },
    "coscheduling/loop.py:_change": {
        "1 -> 2": "that a machine is due, and that one went down, is asked as above 0 only",
    },
    "coscheduling/passes.py:_ranked": {
        "1 -> 2": "one too many of the jobs is asked for, of which there are no more",
    },
}
"""By room, file and kernel: the change, as `tests.mutations` tells it, and why nothing changes."""
