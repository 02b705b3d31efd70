"""Gymnasium environment for reinforcement learning of batch scheduling.

An episode schedules consecutive jobs of a workload on an empty machine, in the event loop of
`simulate`. The agent sees the first jobs of the queue, its *window*. It acts whenever a job in the
window fits on the free nodes: it starts one such job, and acts again at the same instant, or lets
time pass to the next event.

**Observation**, a dictionary of two boxes of numbers from 0 to 1; times are on a logarithmic scale,
``log(1 + t) / log(1 + week)``; a week or more is 1:

``waiting``  one row per job in the window, in order of submission (zeros without a job):
             1, time waited, requested time, nodes over all nodes, 1 if it fits
``machine``  share of free nodes; share of waiting jobs, ``log(1 + n) / log(1 + jobs)``; share of
             nodes that are expected to be free after each of `HORIZONS` if nothing starts

**Action**: the place in the window of the job to start, or `window` to let time pass.
`action_masks` and ``info["action_mask"]`` say which actions are possible, in the form of
sb3-contrib's MaskablePPO. An impossible action is replaced by the first possible one.

**Reward**: minus the increase of the episode's average bounded slowdown while time passes. Each job
begins with a slowdown of 1, so the rewards of an episode add up to 1 minus the average bounded
slowdown of its schedule.

Importing this module registers the id `ID`, so that ``gymnasium.make("cosimlab/Batch-v0")`` makes
an environment.
"""

import math
from typing import Any

import numpy as np

from cosimlib import checks as check
from cosimlib.batch import loop
from cosimlib.batch import machine as machines
from cosimlib.batch.loop import Tables
from cosimlib.batch.machine import Machine
from cosimlib.batch.simulation import prepared
from cosimlib.extras import needed_by
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.schedule import Schedule
from cosimlib.synthetic import lublin, with_scaled_estimates
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE, WEEK
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

with needed_by("BatchEnv"):
    import gymnasium
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded

HORIZONS = (10 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR, DAY)
"""Seconds ahead of now for which the environment tells the expected free nodes."""

LONGEST = math.log1p(WEEK)
"""The logarithm at which times count as 1."""

ID = "cosimlab/Batch-v0"
"""The name of the environment in Gymnasium's register."""

FEATURES = 5
"""Numbers that the agent sees per waiting job."""


class BatchEnv(gymnasium.Env):
    """Batch scheduling as a Gymnasium environment: start one waiting job, or let time pass.

    Parameters
    ----------
    workload : Workload
    system : System
        Of one partition.
    window : int, default 32
        Number of waiting jobs that the agent sees and may start: those submitted first.
    jobs : int, optional
        Consecutive jobs per episode, from a random row on; by default 256. None takes all jobs of
        the workload, and so does a larger number.
    tau : float, default 10.0
        Threshold of the bounded slowdown in the reward, in seconds.

    Raises
    ------
    ValueError
        If the window, the number of jobs or the threshold is out of range.
    InvalidWorkloadError
        For a workload without jobs, and where a job is wider than the system, or the system has
        several partitions.

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> jobs = cs.synthetic.lublin(300, nodes=64, load=0.9, seed=1)
    >>> workload = cs.synthetic.with_scaled_estimates(jobs)
    >>> environment = lab.gym.BatchEnv(workload, workload.machine, window=8, jobs=64)
    >>> observation, info = environment.reset(seed=0)
    >>> environment.action_space
    Discrete(9)
    """

    def __init__(
        self,
        workload: Workload,
        system: System,
        *,
        window: int = 32,
        jobs: int | None = 256,
        tau: float = 10.0,
    ) -> None:
        check_run(workload, system)
        check.whole("window", window, 1)
        check.number("tau", tau, above=0.0, kind="seconds")
        check.whole("jobs", jobs, 1, none="for all of the workload")
        if len(workload) == 0:
            raise InvalidWorkloadError(f"{workload.name}: no jobs; expected at least one")
        self.workload, self.system = workload, system
        self.window, self.tau = window, float(tau)
        self.jobs = min(jobs or len(workload), len(workload))
        self._all = loop.machine_of(prepared(workload, system)).jobs
        self._first = 0
        self._began = False
        self._begin_episode(0)
        self._horizons = np.array(HORIZONS)
        self.action_space = spaces.Discrete(window + 1)
        self.observation_space = spaces.Dict(
            {
                "waiting": spaces.Box(0.0, 1.0, (window, FEATURES), np.float32),
                "machine": spaces.Box(0.0, 1.0, (2 + len(HORIZONS),), np.float32),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begin an episode at a random row of the workload, or at ``options["first"]``."""
        super().reset(seed=seed)
        latest = len(self.workload) - self.jobs
        first = (options or {}).get("first")
        check.whole("options['first']", first, 0, latest, none=True)
        self._first = int(self.np_random.integers(latest + 1)) if first is None else int(first)
        self._begin_episode(self._first)
        _let_time_pass(self._machine, self._tables, self.window, self.tau)
        self._began = True
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """Start a job or let time pass; an episode terminates when its last job has started.

        Raises
        ------
        ResetNeeded
            Before the first `reset`, and once the episode has terminated.
        ValueError
            For an action that is none.
        """
        self._check_began("step()")
        if self._machine.state.now == np.inf:
            raise ResetNeeded("the episode has terminated; call reset() to begin the next")
        if not self.action_space.contains(action):
            raise ValueError(f"action={action!r}; expected a whole number from 0 to {self.window}")
        mask = self.action_masks()
        if not mask[action]:
            action = int(mask.argmax())
        growth = _act(self._machine, self._tables, action, self.window, self.tau)
        terminated = bool(self._machine.state.now == np.inf)
        reward = -float(growth) / self.jobs
        return self._observation(), reward, terminated, False, self._info()

    def action_masks(self) -> np.ndarray:
        """Mask of the possible actions: start each job of the window that fits, let time pass."""
        self._check_began("action_masks()")
        mask = np.zeros(self.window + 1, dtype=np.bool_)
        _mark_possible(self._machine, self._tables, mask)
        return mask

    @property
    def schedule(self) -> Schedule:
        """Schedule of the episode's jobs, once it has terminated.

        Raises
        ------
        ResetNeeded
            Before the first `reset`.
        ValueError
            Before the end of the episode.
        """
        self._check_began("schedule")
        start_time = self._machine.jobs.start_time.copy()
        unstarted = int(np.isnan(start_time).sum())
        if unstarted:
            raise ValueError(
                f"{unstarted} of the episode's {self.jobs} jobs have not started yet; step on "
                "until terminated is True"
            )
        rows = np.arange(len(self.workload))
        here = (rows >= self._first) & (rows < self._first + self.jobs)
        workload = self.workload.keep(here, "not in the episode")
        return Schedule.from_starts(workload, self.system, start_time, "agent")

    def _begin_episode(self, first: int) -> None:
        """Let the episode's jobs, from this row on, come to an empty machine."""
        total_nodes = self.system.total_nodes
        jobs = self._all[first : first + self.jobs].copy().view(np.recarray)
        self._machine = machines.empty(jobs, None, total_nodes, loop.STATE, now=-np.inf)
        no_columns, timetable = np.empty((0, self.jobs)), loop.always_open(total_nodes)
        self._tables = loop.tables_of(no_columns, total_nodes, timetable)

    def _check_began(self, what: str) -> None:
        """Raise before the first episode."""
        if not self._began:
            raise ResetNeeded(f"{what} needs an episode; call reset() first, which begins one")

    def _observation(self) -> dict[str, np.ndarray]:
        """The two arrays that the agent sees."""
        waiting = np.zeros((self.window, FEATURES), np.float32)
        machine = np.zeros(2 + len(HORIZONS), np.float32)
        _observe(
            self._machine, self._tables, self.system.total_nodes, self._horizons, waiting, machine
        )
        return {"waiting": waiting, "machine": machine}

    def _info(self) -> dict[str, Any]:
        """The instant, in seconds, and the mask."""
        return {"now": float(self._machine.state.now), "action_mask": self.action_masks()}


def make(workload: Workload | None = None, system: System | None = None, **knobs: Any) -> BatchEnv:
    """The environment as ``gymnasium.make("cosimlab/Batch-v0", ...)`` makes it.

    Parameters
    ----------
    workload : Workload, optional
        By default 2,000 jobs of `lublin` for 128 nodes, at a load of 0.9, which ask for exactly
        their run times.
    system : System, optional
        By default the machine of the workload.
    **knobs
        Keyword arguments of `BatchEnv`.

    Examples
    --------
    >>> import cosimlab as lab
    >>> import gymnasium
    >>> environment = gymnasium.make(lab.gym.ID, window=8, jobs=64)
    >>> observation, info = environment.reset(seed=0)
    >>> observation["waiting"].shape
    (8, 5)
    """
    if workload is None:
        workload = with_scaled_estimates(lublin(2000, nodes=128, load=0.9, seed=0))
    machine = check.machine(system or workload.machine, workload.name)
    return BatchEnv(workload, machine, **knobs)


gymnasium.register(ID, entry_point=make)


@allocating_kernel
def _act(machine: Machine, tables: Tables, action: int, window: int, tau: float) -> float:
    """Start a job of the window or let time pass, until a job fits; return what slowdowns grew."""
    jobs, ends, expected, _, state = machine
    if action < window:
        loop.start(jobs, ends, expected, state, tables, np.full(1, action))
        if _fits(machine, tables, window):
            return 0.0
    return _let_time_pass(machine, tables, window, tau)


@kernel
def _let_time_pass(machine: Machine, tables: Tables, window: int, tau: float) -> float:
    """Go on until a job of the window fits, or to the end; return what bounded slowdowns grew."""
    jobs, ends, expected, edges, state = machine
    growth = 0.0
    while True:
        before = state.now
        loop.advance(jobs, ends, expected, edges, state, tables, np.inf)
        if state.now == np.inf:
            return growth
        for place in range(state.first, state.last):
            job = jobs[tables.waiting.job[place]]
            bound = max(job.run_time, tau)
            growth += max(1.0, (state.now - job.submit_time + job.run_time) / bound)
            growth -= max(1.0, (before - job.submit_time + job.run_time) / bound)
        if _fits(machine, tables, window):
            return growth


@kernel
def _fits(machine: Machine, tables: Tables, window: int) -> bool:
    """Whether a job of the window fits."""
    state = machine.state
    for place in range(state.first, min(state.last, state.first + window)):
        if tables.waiting.nodes[place] <= state.free:
            return True
    return False


@kernel
def _mark_possible(machine: Machine, tables: Tables, mask: np.ndarray) -> None:
    """Mark the possible actions; time may pass while there is something to wait for."""
    state, window = machine.state, mask.size - 1
    for place in range(state.first, min(state.last, state.first + window)):
        mask[place - state.first] = tables.waiting.nodes[place] <= state.free
    to_come = state.submitted < machine.jobs.size
    mask[window] = to_come or state.running > 0 or state.first == state.last


@kernel
def _observe(
    machine: Machine,
    tables: Tables,
    total_nodes: int,
    horizons: np.ndarray,
    seen: np.ndarray,
    summary: np.ndarray,
) -> None:
    """Write what the agent sees into two arrays of zeros."""
    state, waiting, running = machine.state, tables.waiting, tables.running
    for place in range(state.first, min(state.last, state.first + len(seen))):
        row, wanted = place - state.first, waiting.nodes[place]
        seen[row, 0] = 1.0
        seen[row, 1] = _scaled(state.now - waiting.submit_time[place])
        seen[row, 2] = _scaled(waiting.requested_time[place])
        seen[row, 3] = wanted / total_nodes
        seen[row, 4] = 1.0 if wanted <= state.free else 0.0
    summary[0] = state.free / total_nodes
    summary[1] = math.log1p(state.last - state.first) / math.log1p(machine.jobs.size)
    free, place = state.free, 0
    for index in range(horizons.size):
        until = state.now + horizons[index]
        while place < state.running and running.expected_end[place] <= until:
            free += running.nodes[place]
            place += 1
        summary[2 + index] = free / total_nodes


@kernel
def _scaled(seconds: float) -> float:
    """A time on the logarithmic scale."""
    return min(1.0, math.log1p(seconds) / LONGEST)
