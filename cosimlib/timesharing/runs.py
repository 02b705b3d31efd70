"""Runs of batch scheduling and time-sharing: simulated, audited, summarized, cached in files.

The file of a summary is named by what the run depends on: parameters and the package's source.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from multiprocessing import parent_process
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from cosimlib import checks as check
from cosimlib.audit import audit
from cosimlib.display import bar_options
from cosimlib.files import write_whole
from cosimlib.kernels.fingerprint import source_hash
from cosimlib.sweep import Workers, sweep
from cosimlib.system import System
from cosimlib.timesharing.batch import simulate_batch
from cosimlib.timesharing.noise import STEP
from cosimlib.timesharing.simulation import check_knobs, simulate_timesharing
from cosimlib.timesharing.summary import RunSummary, check_warm_up, summarize_run
from cosimlib.units import DAY
from cosimlib.workload import Workload

SHOWN_AFTER = 20.0
"""Seconds after which a run shows how far it is."""

CHECKED = ("overhead", "spmd", "noise", "step", "queue", "seed")
"""Knobs that are checked before a file is looked for: a wrong one may equal a right one."""


def _named(simulate: Callable[..., Any]) -> dict[str, Any]:
    """Defaults of a simulator's knobs: a run is the same whether they are named or not."""
    knobs = inspect.signature(simulate).parameters.values()
    return {k.name: k.default for k in knobs if k.default is not k.empty and k.name != "watch"}


BATCH_KNOBS, SHARING_KNOBS = _named(simulate_batch), _named(simulate_timesharing)


class Policies(NamedTuple):
    """Summaries of the runs that are compared, of the same jobs on the same machine."""

    batch: RunSummary
    shared: RunSummary
    unlimited_memory: RunSummary
    not_spmd: RunSummary
    not_spmd_batch: RunSummary


def run_policies(
    workload: Workload,
    system: System,
    *,
    noise: float | None = None,
    step: float = STEP,
    warm_up: float = 100 * DAY,
    cache: str | Path | None = None,
    seed: int = 0,
    executor: Workers = None,
) -> Policies:
    """Runs of batch, time-sharing, with unlimited memory, and of both with jobs that are not SPMD.

    Knobs are those that `run_batch` and `run_timesharing` both take; `spmd` is varied. The runs are
    computed where `executor` says, see `sweep`.
    """
    knobs: dict[str, Any] = {"noise": noise, "step": step, "seed": seed}
    knobs |= {"warm_up": warm_up, "cache": cache}
    runs = {
        "batch": partial(run_batch, **knobs),
        "shared": partial(run_timesharing, **knobs),
        "unlimited_memory": partial(run_timesharing, memory=False, **knobs),
        "not_spmd": partial(run_timesharing, spmd=False, **knobs),
        "not_spmd_batch": partial(run_batch, spmd=False, **knobs),
    }
    shared = {"workload": workload, "system": system}
    table = sweep(_summary, {"run": runs}, shared=shared, executor=executor, errors="raise")
    told = dict(zip(table["run"], table["summary"], strict=True))
    return Policies(**{run: RunSummary.from_dict(json.loads(text)) for run, text in told.items()})


def _summary(run: Callable[..., RunSummary], workload: Workload, system: System) -> dict[str, str]:
    """A run's summary as a row."""
    return {"summary": json.dumps(run(workload, system).as_dict())}


def run_batch(
    workload: Workload,
    system: System,
    *,
    warm_up: float = 100 * DAY,
    cache: str | Path | None = None,
    **knobs: Any,
) -> RunSummary:
    """Summary of `simulate_batch` with `knobs`; kept in the folder `cache` if one is given.

    Jobs submitted in the first `warm_up` seconds do not count, by default the paper's 100 days.
    """
    _check(workload, warm_up, cache, knobs)
    parameters = {"policy": "batch", **_inputs(workload, system, warm_up)}
    parameters |= BATCH_KNOBS | knobs

    def run() -> RunSummary:
        return summarize_run(simulate_batch(workload, system, **knobs), warm_up=warm_up)

    return cached_summary(cache, parameters, run)


def run_timesharing(
    workload: Workload,
    system: System,
    *,
    warm_up: float = 100 * DAY,
    cache: str | Path | None = None,
    memory: bool = True,
    **knobs: Any,
) -> RunSummary:
    """Summary of `simulate_timesharing` with `knobs`, audited.

    With ``memory=False`` memory is unlimited.

    Jobs submitted in the first `warm_up` seconds do not count, by default the paper's 100 days.
    A run of more than 20 seconds shows how many jobs have been submitted. Interrupted, it leaves
    nothing behind.
    """
    _check(workload, warm_up, cache, knobs)
    check.flag("memory", memory)
    parameters = {"policy": "time-sharing", **_inputs(workload, system, warm_up), "memory": memory}
    parameters |= SHARING_KNOBS | knobs

    def run() -> RunSummary:
        machine = system if memory else replace(system, memory_per_node=float("nan"))
        # In a worker process the bar is that of the sweep.
        hidden = {"disable": True} if parent_process() else bar_options()
        delay = {"delay": SHOWN_AFTER, "leave": False} | hidden
        with tqdm(total=len(workload), unit=" jobs", **delay) as bar:
            schedule = simulate_timesharing(workload, machine, watch=_shown_on(bar), **knobs)
        summary = summarize_run(audit(schedule), warm_up=warm_up)
        return summary if memory else replace(summary, policy=_without_memory(summary.policy))

    return cached_summary(cache, parameters, run)


def _check(
    workload: Workload, warm_up: float, cache: str | Path | None, knobs: dict[str, Any]
) -> None:
    """Validate arguments before anything is simulated."""
    check_warm_up(workload, warm_up)
    if cache is not None:
        cache_folder(cache)
    check_knobs(**{name: value for name, value in knobs.items() if name in CHECKED})


def _shown_on(bar: tqdm) -> Callable[[float, int], None]:
    """Moves a bar to the number of jobs submitted."""
    return lambda now, submitted: bar.update(submitted - bar.n)


def _without_memory(policy: str) -> str:
    """The policy's name, saying that memory is unlimited."""
    if policy.endswith(")"):
        return policy[:-1] + ", memory unlimited)"
    return policy + " (memory unlimited)"


def _inputs(workload: Workload, system: System, warm_up: float) -> dict[str, Any]:
    """What a run depends on besides its knobs: hash of the jobs, machine, warm-up."""
    digest = hashlib.sha256()
    columns = [workload.jobs[c] for c in ("submit_time", "run_time", "requested_time", "nodes")]
    for column in [*columns, workload.column("memory")]:
        digest.update(column.to_numpy(np.float64).tobytes())
    return {
        "data": workload.name,
        "jobs": digest.hexdigest(),
        "nodes": system.total_nodes,
        "memory_per_node": str(float(system.memory_per_node)),
        "warm_up": warm_up,
    }


def cached_summary(
    folder: str | Path | None, parameters: Mapping[str, Any], run: Callable[[], RunSummary]
) -> RunSummary:
    """Summary that `run` returns, read from its file where it was run before.

    Parameters
    ----------
    folder : str, Path or None
        Where files are kept, such as ``data/cache``; None: keep none.
    parameters : mapping of str to numbers, strings, booleans or None
        All that the run depends on besides the package's source. Equal values are the same run,
        NumPy's and Python's.
    run : callable
        Simulates and summarizes. If it fails or is interrupted no file is written.

    Notes
    -----
    A file that cannot be read as a summary is ignored and written anew.
    """
    if folder is None:
        return run()
    folder = cache_folder(folder)
    plain = {name: _plain(name, value) for name, value in parameters.items()}
    path = folder / f"timesharing-{_key(plain)}.json"
    kept = _read(path)
    if kept is not None:
        return kept
    summary = run()
    folder.mkdir(parents=True, exist_ok=True)
    record = {"parameters": plain, "summary": summary.as_dict()}
    write_whole(path, json.dumps(record).encode())
    return summary


def project_cache() -> Path:
    """``data/cache`` of the project at or above the working directory, else inside it."""
    here = Path.cwd()
    for root in (here, *here.parents):
        if (root / "data" / "claims.csv").is_file():
            return root / "data" / "cache"
    return here / "data" / "cache"


def cache_folder(cache: str | Path) -> Path:
    """The folder of summaries; what names none is refused."""
    usable = isinstance(cache, str | Path) and str(cache).strip() != ""
    check.that("cache", cache, usable, "a folder, such as 'data/cache'", none=True)
    return Path(cache)


def _key(parameters: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits for these parameters and the package's source."""
    text = json.dumps([source_hash(), dict(parameters)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(name: str, value: Any) -> str | int | float | bool | None:
    """A parameter as JSON writes it, the same for equal ones: 1 for 1.0, but not for True."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return int(number) if number.is_integer() else number
    raise TypeError(
        f"{name}={value!r} is of type {type(value).__name__}, which names no file; expected a "
        "number, a string, True, False or None, or no cache"
    )


def _read(path: Path) -> RunSummary | None:
    """The summary in a file, if there is one."""
    try:
        return RunSummary.from_dict(json.loads(path.read_text())["summary"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
