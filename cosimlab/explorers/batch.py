"""Explorer of batch policies: Gantt chart, utilization and queue of one machine.

Every control simulates the jobs of the days chosen again, which takes milliseconds for some
hundreds. Registered policies are offered beside the built-in ones.
"""

import inspect
from functools import partial
from typing import Any

import numpy as np

from cosimlab.explorers.answer import Answer, jobs_of
from cosimlab.explorers.knobs import Knob, Settings, cached, needs
from cosimlab.explorers.logs import estimated, mean_wait
from cosimlab.explorers.panel import Panel, explorer
from cosimlab.explorers.timeline import Timeline
from cosimlab.figures.gantt import plot_batch
from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.audit import audit
from cosimlib.batch import ORDERS
from cosimlib.display import or_unknown, percent
from cosimlib.metrics import offered_load, overtaking, summarize
from cosimlib.policies import BUILT_IN, SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

OFFERED = ("FCFS", "first fit", "EASY", "conservative", "conservative (replanned)")
"""Built-in policies; those that users register are offered too."""
ESTIMATES = {
    "given": "as the users gave them",
    "exact": "exact",
    "factor": "factor × run time",
    "Tsafrir": "round values (Tsafrir et al.)",
}
NODES, LOAD = 64, 0.9


@explorer
def explore_batch(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    *,
    jobs: int = 300,
    **settings: Any,
) -> Panel:
    """Explorer of a batch policy: Gantt chart, utilization, queue and metrics.

    Parameters
    ----------
    source : Workload or Schedule, optional
        By default `synthetic.lublin` on 64 nodes. Of a schedule the workload.
    system : System, optional
        Of one partition; by default the source's own machine, or one that holds its jobs.
    jobs : int, default 300
        How many are made, or taken in a row where the days chosen are busy.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `policy`, `order`, `load`, `seed`, `estimates` and `factor`; of a source
        of several days also `period`, the first and the last one.

    Other Parameters
    ----------------
    policy : str, default "EASY"
        One of `OFFERED`, or the name of a policy of your own (see `cosimlib.register`).
    order : str, default "submit"
        One of `batch.ORDERS`, for policies that take an order.
    load : float, optional
        Offered load: by default .9 of made jobs, and of a source its own. At its own load a
        source is simulated as it is, else the times between submissions are scaled.
    estimates : str, optional
        One of `ESTIMATES`: by default as given where every job of a source has one, else exact.
    factor : float, default 5.0
        What run times are multiplied by where `estimates` is ``"factor"``.
    seed : int, default 0
        Of Tsafrir's estimates.

    Raises
    ------
    TypeError
        If `source` is not a workload or schedule.
    ValueError
        If no job of the source fits, or a setting is out of range.
    InfeasibleScheduleError
        If the schedule of a policy of your own could not have happened; jobs that never start
        are counted under the figure.

    Examples
    --------
    >>> import cosimlab as lab
    >>> panel = lab.explore_batch(jobs=40)
    >>> panel.choose(policy="FCFS")
    >>> panel.settings["policy"]
    'FCFS'
    """
    if source is None:
        system = system or System.of(NODES)
        source = synthetic.lublin(jobs, nodes=system.total_nodes, load=LOAD, seed=0)
    timeline = Timeline(source, system, jobs, partial(estimated, all_made=True))
    given = bool(timeline.log.workload.jobs["requested_time"].notna().any())
    known = [name for name in ESTIMATES if given or name != "given"]
    knobs = [
        Knob("policy", "EASY", "policy", options=_policies()),
        Knob(
            "order",
            "submit",
            "queue order",
            options=ORDERS,
            off_when=lambda now: (
                "" if _takes_order(now["policy"]) else f"{now['policy']} takes no order"
            ),
        ),
        timeline.load_knob(1.5),
        Knob("estimates", known[0], "estimates", options=known, named=ESTIMATES.__getitem__),
        Knob(
            "factor",
            5.0,
            "factor of estimates",
            low=1,
            high=20,
            step=0.5,
            off_when=needs("only the estimates factor × run time use it", estimates=("factor",)),
        ),
        Knob(
            "seed",
            0,
            "seed of estimates",
            high=50,
            whole=True,
            off_when=needs("only round values are drawn at random", estimates=("Tsafrir",)),
        ),
    ]
    workload = cached(
        lambda now: _with_estimates(timeline.loaded(now), now),
        "period",
        "load",
        "estimates",
        "factor",
        "seed",
    )

    def draw(now: Settings) -> Answer:
        schedule = _simulated(workload(now), timeline.log.system, now)
        load = or_unknown(offered_load(schedule.workload, schedule.system), ".2f")
        wait = mean_wait(schedule.jobs["wait_time"])
        title = f"{schedule.policy}, offered load {load}: {wait}"
        return Answer(
            plot_batch(schedule, title=title),
            _facts(schedule),
            timeline.part(now).notes,
            _numbers(schedule),
            lambda: jobs_of(schedule),
        )

    return Panel(knobs, draw, settings, timeline=timeline)


def _policies() -> list[str]:
    """Names of the policies that can be explored now."""
    own = [name for name, simulate in SIMULATORS.items() if simulate is not BUILT_IN.get(name)]
    return list(dict.fromkeys([*OFFERED, *own]))


def _takes_order(policy: str) -> bool:
    """Whether a policy has the knob `order`."""
    try:
        knobs = inspect.signature(SIMULATORS[policy]).parameters.values()
    except ValueError:
        return False
    return any(knob.name == "order" or knob.kind is knob.VAR_KEYWORD for knob in knobs)


def _with_estimates(workload: Workload, now: Settings) -> Workload:
    """The jobs with the requested times that the controls ask for."""
    if now["estimates"] == "Tsafrir":
        return synthetic.with_estimates(workload, seed=now["seed"])
    if now["estimates"] == "given":
        return workload
    factor = now["factor"] if now["estimates"] == "factor" else 1.0
    return synthetic.with_scaled_estimates(workload, factor)


def _simulated(workload: Workload, machine: System, now: Settings) -> Schedule:
    """The schedule that the controls ask for; those of policies of one's own are checked."""
    policy = now["policy"]
    knobs = {"order": now["order"]} if _takes_order(policy) else {}
    schedule = SIMULATORS[policy](workload, machine, **knobs)
    check.instance(f"the result of {policy!r}", schedule, Schedule)
    if SIMULATORS[policy] is not BUILT_IN.get(policy):
        _audit_started(schedule)
    return schedule


def _audit_started(schedule: Schedule) -> None:
    """Raise an error if the jobs that start could not have run so."""
    starts = np.isfinite(schedule.start_time)
    if type(schedule) is Schedule and not starts.all():
        kept = schedule.workload.keep(starts, "never starts")
        times = schedule.start_time[starts], schedule.end_time[starts]
        schedule = Schedule(kept, schedule.system, schedule.policy, *times)
    audit(schedule)


def _numbers(schedule: Schedule) -> dict[str, float]:
    """What two policies are compared by."""
    row = summarize([schedule]).iloc[0]
    return {
        "mean wait (h)": float(row["wait_time"]) / HOUR,
        "mean bounded slowdown": float(row["bounded_slowdown"]),
        "utilization (%)": 100 * float(row["utilization"]),
        "makespan (h)": float(row["makespan"]) / HOUR,
        "jobs that overtook another": float(overtaking(schedule).sum()),
        "jobs that never start": float(np.isnan(schedule.start_time).sum()),
    }


def _facts(schedule: Schedule) -> list[str]:
    """The line under the figure."""
    row, never = summarize([schedule]).iloc[0], int(np.isnan(schedule.start_time).sum())
    return [
        f"{schedule.workload.name}: {mean_wait(schedule.jobs['wait_time'])}",
        f"mean bounded slowdown {or_unknown(row['bounded_slowdown'], ',.1f', ' (τ = 10 s)')}",
        f"utilization {percent(row['utilization'], 1)} from first submission to last end",
        f"makespan {or_unknown(row['makespan'] / HOUR, ',.1f', ' h')}",
        f"{int(overtaking(schedule).sum()):,} of {int(row['jobs']):,} jobs overtook one submitted "
        "before them",
        f"{never:,} never start" if never else "",
    ]
