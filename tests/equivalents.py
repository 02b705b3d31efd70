"""Mutations of kernels that no test can notice, for they change nothing, each with a reason."""

_ONE_BY_ONE = "equal neighbors that do not move together move right after, to the same moment"
_MORE_WORK = (
    "bounds of holes and of moments only spare work: a job that is looked at all the same has its "
    "earliest start, found from the profile, and stays"
)

EQUIVALENTS: dict[str, dict[str, str]] = {
    "batch/compression.py:compress": {
        "-np.inf -> +np.inf": _MORE_WORK,
        "holes.begin_pass(plan.holes) -> dropped": _MORE_WORK,
        "holes.end_pass(plan.holes) -> dropped": _MORE_WORK,
        "start <= holes.any_since(plan.holes, plan.kind[job]) -> "
        "start < holes.any_since(plan.holes, plan.kind[job])": _MORE_WORK,
        "room >= 2 * jobs.nodes[job] -> room > 2 * jobs.nodes[job]": _ONE_BY_ONE,
        "2 -> 3": _ONE_BY_ONE,
        "moment <= now -> moment < now": (
            "a job that moves to now is listed as due, and the loop starts it at the same instant"
        ),
    },
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
    "eviction/backtracking.py:_search": {
        "visits > 0 -> visits >= 0": "one choice more is tried between two readings of the clock",
    },
    "eviction/blocked.py:_fill_backwards": {
        "0.0 -> 1.0": "all cells are one node-millisecond more, and the least stays the least",
    },
    "eviction/blocked.py:_relax_costs": {
        "from_kill[cell] + kill < best -> from_kill[cell] + kill <= best": (
            "of plans that lose and block as little, another is taken"
        ),
    },
    "eviction/literal.py:_algorithm_1": {
        "b[to, t] > a[n, t] + loss[job] -> b[to, t] >= a[n, t] + loss[job]": (
            "of plans that lose as little, another is taken"
        ),
    },
    "eviction/overlapping.py:plan_overlapping": {
        "min(nodes[:job].sum() + 1, nodes_needed) -> max(nodes[:job].sum() + 1, nodes_needed)": (
            "more cells are filled; no least plan passes them, for a job less would do"
        ),
    },
}
"""By room, file and kernel: the change, as `tests.mutations` tells it, and why nothing changes."""
