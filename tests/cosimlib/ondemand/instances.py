"""Random small machines with bursts, for the simulator and for its oracle alike."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlib.calendar import ALWAYS_OPEN, KINDS, UNANNOUNCED, Calendar
from cosimlib.kernels.records import records
from cosimlib.ondemand import Reserve
from cosimlib.ondemand.kernel import simulate
from cosimlib.ondemand.policies import DEADLINES, NOTICES, POLICIES
from cosimlib.ondemand.schedule import (
    OnDemandSchedule,
    eviction_table,
    stretch_table,
)
from cosimlib.ondemand.state import REQUEST, RULES
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.ondemand.naive import Job, Machine
from tests.cosimlib.ondemand.naive_calendar import ClosingMachine


class Instance(NamedTuple):
    """Jobs as a table of one row per job or burst, the machine's nodes, and the rules."""

    table: pd.DataFrame
    nodes: int
    rules: dict[str, Any]
    calendar: Calendar = ALWAYS_OPEN


def draw_windows(seed: int, instance: Instance) -> Instance:
    """The same machine with windows, which may overlap."""
    random = np.random.default_rng([seed, 2])
    n = int(random.integers(1, 5))
    start = random.integers(0, 60, n)
    kind = random.choice(KINDS, n)
    known = np.where(np.isin(kind, UNANNOUNCED), start, start - random.integers(0, 50, n))
    nodes = random.integers(1, instance.nodes + 1, n)
    windows = {"start": start, "end": start + random.integers(1, 25, n), "nodes": nodes}
    return instance._replace(calendar=Calendar(windows | {"kind": kind, "known_from": known}))


def draw(seed: int, policy: str, *, most: int = 14) -> Instance:
    """A machine on which bursts come while most nodes are taken."""
    random = np.random.default_rng(seed)
    nodes, n = int(random.integers(4, 10)), int(random.integers(2, most))
    burst = random.random(n) < 0.35
    run_time = np.where(burst, random.integers(1, 8, n), random.integers(1, 24, n))
    app = random.integers(1, 4, n)
    submit = np.sort(random.integers(0, 30, n)).astype(float)
    told = random.random(n) < 0.7
    notice = np.maximum(submit - random.integers(0, 9, n), 0)
    expected = np.maximum(notice, submit + random.integers(-5, 6, n))
    rules = {
        "policy": policy,
        "deadline": str(random.choice(list(DEADLINES))),
        "weight": float(random.choice([0.0, 0.5, 2.0, 7.0])),
        "notice": str(random.choice(list(NOTICES))),
        "reserved": int(random.integers(1, nodes + 1)) if policy == "reserve" else 0,
        "step": int(random.integers(1, 4)),
        "patience": int(random.integers(0, 4)),
    }
    malleable = ~burst & (random.random(n) < 0.9)
    rules["turn"] = float(random.choice([0.25, 0.5, 0.5, 0.75]))
    ahead = burst & told & (rules["notice"] != "ignore")
    if rules["notice"] == "prepare":
        notice = np.maximum(notice, expected - random.integers(0, 9))
    width = random.integers(1, nodes + 1, n)
    table = pd.DataFrame(
        {
            "submit": submit,
            "run": run_time,
            "requested": np.maximum(1, run_time + random.integers(-3, 9, n)),
            "nodes": width,
            "burst": burst,
            "least": np.where(malleable, random.integers(1, width + 1), width),
            "interval": np.where(random.random() < 0.15, np.inf, random.integers(2, 9, n)),
            "app": app,
            "sys": app + random.integers(0, 4, n),
            "longest": random.integers(0, 11, n),
            "call": np.where(ahead & (notice < submit), notice, np.inf),
            "expected_at": np.where(told, expected, submit),
        }
    )
    return Instance(table, nodes, rules)


FIELDS = [
    ("submit_time", "submit"),
    ("run_time", "run"),
    ("requested_time", "requested"),
    ("nodes", "nodes"),
    ("on_demand", "burst"),
    ("interval", "interval"),
    ("app_write", "app"),
    ("sys_write", "sys"),
    ("longest_delay", "longest"),
    ("call_time", "call"),
    ("expected_arrival", "expected_at"),
    ("least_nodes", "least"),
]
"""Fields of a job, and the columns of an instance that hold them."""


def arguments(instance: Instance) -> tuple[np.recarray, np.recarray]:
    """An instance as the compiled loop takes it."""
    table, rules = instance.table, instance.rules
    interval = table["interval"].where(~table["burst"], np.inf)
    asked = {name: interval if name == "interval" else table[named] for name, named in FIELDS}
    jobs = records(len(table), REQUEST, **asked)
    given = {name: rules[name] for name in ("reserved", "weight", "step", "patience", "turn")}
    return jobs, records(
        1,
        RULES,
        total_nodes=instance.nodes,
        mechanism=POLICIES[rules["policy"]],
        deadline=DEADLINES[rules["deadline"]],
        notice=NOTICES[rules["notice"]],
        **given,
    )


def schedule_of(instance: Instance) -> OnDemandSchedule:
    """Our schedule of an instance, as `simulate_ondemand` would return it."""
    jobs, rules = arguments(instance)
    start_time, end_time, stretches, evictions = simulate(jobs, rules, calendar=instance.calendar)
    columns = ("submit_time", "run_time", "requested_time", "nodes", "longest_delay")
    table = pd.DataFrame({name: getattr(jobs, name) for name in columns})
    names = ("interval", "app_write", "sys_write")
    policy = instance.rules["policy"]
    return OnDemandSchedule(
        Workload(table, "random"),
        System.of(instance.nodes),
        policy,
        start_time,
        end_time,
        on_demand=jobs.on_demand == 1,
        mechanism=policy,
        stretches=stretch_table(stretches),
        evictions=eviction_table(evictions),
        checkpoints=pd.DataFrame({name: getattr(jobs, name) for name in names}),
        reserved=instance.rules["reserved"],
        least_nodes=jobs.least_nodes,
        calendar=instance.calendar,
    )


def theirs(instance: Instance, machine: type[Machine] = Machine) -> Machine:
    """What the oracle makes of it."""
    rows = instance.table.to_dict("records")
    jobs = [
        Job(number, **{name: _whole(value) for name, value in row.items()})
        for number, row in enumerate(rows)
    ]
    if not len(instance.calendar):
        return machine(jobs, instance.nodes, **instance.rules)
    table = instance.calendar.on_machine(instance.nodes)[["start", "end", "nodes", "known_from"]]
    windows = list(table.itertuples(index=False, name=None))
    return ClosingMachine(jobs, instance.nodes, **instance.rules, windows=windows)


def _whole(value: Any) -> Any:
    """A whole number where it is one; no checkpoints are an interval that no run reaches."""
    return int(value) if value == value and abs(value) < 1e9 else value


SIX = {name: {"policy": name} for name in ("wait", "kill", "dynamic", "dynamic_blocked")}
SIX |= {f"reserve {n}": {"policy": Reserve(n)} for n in (1, 4)}
STREAM = {"rate": 200.0, "nodes": 4, "run_time": 60.0, "longest_delay": 240.0}


def sixty_jobs() -> Workload:
    """Jobs of up to five nodes and 15 minutes, over three hours; some of a debug queue."""
    draws = np.random.default_rng(1)
    run_time = draws.integers(50, 900, 60).astype(float)
    table = pd.DataFrame(
        {
            "submit_time": np.sort(draws.integers(1_000, 12_000, 60)),
            "run_time": run_time,
            "requested_time": run_time + 60,
            "nodes": draws.integers(1, 6, 60),
            "queue": np.where(draws.random(60) < 0.2, "debug", "batch"),
        }
    )
    return Workload(table, "sixty")
