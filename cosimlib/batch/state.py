"""State of a batch system that a scheduler may know: waiting and running jobs, no true run times.

Every array is read-only and has one value per job. A policy sees the same names and types with and
without Numba.
"""

from typing import NamedTuple

import numpy as np


class Waiting(NamedTuple):
    """Waiting jobs, in order of submission (ties: the lower row).

    Parameters
    ----------
    job : np.ndarray of int64
        Rows of the workload.
    submit_time : np.ndarray of float64
        Seconds.
    requested_time : np.ndarray of float64
        Seconds; infinite if unknown.
    nodes : np.ndarray of int64
    columns : np.ndarray of float64, one row per column that `simulate` was asked to show
    """

    job: np.ndarray
    submit_time: np.ndarray
    requested_time: np.ndarray
    nodes: np.ndarray
    columns: np.ndarray


class Running(NamedTuple):
    """Running jobs, in order of their expected ends (ties: the lower row).

    Parameters
    ----------
    job : np.ndarray of int64
        Rows of the workload.
    start_time : np.ndarray of float64
        Seconds.
    expected_end : np.ndarray of float64
        Seconds, ascending: ``start_time + requested_time``, or now for a job that exceeds it.
    nodes : np.ndarray of int64
    columns : np.ndarray of float64, one row per column that `simulate` was asked to show
    """

    job: np.ndarray
    start_time: np.ndarray
    expected_end: np.ndarray
    nodes: np.ndarray
    columns: np.ndarray


class Capacity(NamedTuple):
    """Open nodes of the machine, from now on, as far as windows of its calendar are known now.

    Parameters
    ----------
    time : np.ndarray of float64
        Seconds, ascending; the first is not after now.
    nodes : np.ndarray of int64
        Nodes that are open from each time to the next, whether jobs hold them or not.
    """

    time: np.ndarray
    nodes: np.ndarray


class State(NamedTuple):
    """State of a batch system at one instant, after its ends and then its submissions.

    Parameters
    ----------
    now : float
        Seconds.
    free_nodes, total_nodes : int
        Open nodes that no job holds; all nodes of the machine.
    waiting : Waiting
    running : Running
    capacity : Capacity
    """

    now: float
    free_nodes: int
    total_nodes: int
    waiting: Waiting
    running: Running
    capacity: Capacity
