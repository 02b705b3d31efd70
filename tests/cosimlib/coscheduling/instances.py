"""Random small instances of coupled machines, for hypothesis, in both simulators."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from cosimlib.coscheduling import simulate_coscheduling
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.coscheduling.naive import Coupled


@st.composite
def instances(draw, max_jobs=14, releases=(None, 5, 20, 1200), outages=True):
    """Jobs on one to three machines, groups of mates among them, schemes and knobs."""
    nodes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    unit = draw(st.sampled_from([1, 60, 300]))
    n = draw(st.integers(1, max_jobs))
    submit = sorted(draw(st.lists(st.integers(0, 12), min_size=n, max_size=n)))
    machine = draw(st.lists(st.integers(0, len(nodes) - 1), min_size=n, max_size=n))
    run = draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    beyond = draw(st.lists(st.integers(-4, 8), min_size=n, max_size=n))
    part = draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    team = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    jobs = [
        {
            "id": job,
            "machine": machine[job],
            "submit": submit[job] * unit,
            "run": run[job] * unit,
            "requested": max(1, (run[job] + beyond[job]) * unit),
            "nodes": 1 + part[job] * nodes[machine[job]] // 8,
            "mates": [],
        }
        for job in range(n)
    ]
    for number in range(4):
        members = {machine[job]: job for job in range(n) if team[job] == number}.values()
        for job in members:
            jobs[job]["mates"] = sorted(mate for mate in members if mate != job)
    knobs = {
        "order": draw(st.sampled_from(["wfp", "submit"])),
        "interval": draw(st.sampled_from([r and (r if r > 100 else r * unit) for r in releases])),
        "after": draw(st.sampled_from([0, 3 * unit, 600])),
        "offset": draw(st.sampled_from([0, 1, 7])),
        "share": draw(st.sampled_from([0.3, 0.6, 1.0])),
        "max_yields": draw(st.sampled_from([np.inf, 0, 2])),
        "most_idle": draw(st.sampled_from([np.inf, np.inf, 0, unit / 600, unit / 60])),
        "only_yielding": draw(st.booleans()),
        "least_remaining": draw(st.sampled_from([0, 300])),
    }
    moments = st.tuples(st.integers(0, len(nodes) - 1), st.integers(0, 20), st.integers(1, 10))
    drawn = draw(st.lists(moments, max_size=2)) if outages else []
    knobs["outages"] = [(m, begin * unit, (begin + length) * unit) for m, begin, length in drawn]
    schemes = "".join(draw(st.sampled_from("HY")) for _ in nodes)
    return jobs, nodes, schemes, knobs


def workload_of(jobs):
    """The instance's jobs as a workload; a group's mates name each other in a ring."""
    rows = [
        {
            "submit_time": job["submit"],
            "run_time": job["run"],
            "requested_time": job["requested"],
            "nodes": job["nodes"],
            "partition": f"m{job['machine']}",
            "mate": min((m for m in job["mates"] if m > job["id"]), default=min(job["mates"]))
            if job["mates"]
            else None,
        }
        for job in jobs
    ]
    return Workload(pd.DataFrame(rows).astype({"mate": "Int64"}), "random")


def simulated(instance, **changes):
    """The schedule of an instance."""
    jobs, nodes, schemes, knobs = instance
    options = {
        "schemes": schemes,
        "order": knobs["order"],
        "release_interval": knobs["interval"],
        "release_after": knobs["after"],
        "release_offset": knobs["offset"],
        "held_share": knobs["share"],
        "max_yields": None if knobs["max_yields"] == np.inf else knobs["max_yields"],
        "most_idle": None if knobs["most_idle"] == np.inf else knobs["most_idle"],
        "mate_rule": "yielding" if knobs["only_yielding"] else "queuing",
        "outages": [(f"m{m}", begin, end) for m, begin, end in knobs["outages"]],
        "least_remaining": knobs["least_remaining"],
    }
    system = System("random", {f"m{m}": count for m, count in enumerate(nodes)})
    return simulate_coscheduling(workload_of(jobs), system, **(options | changes))


def naive_run(instance):
    """The run of the slow simulator on an instance."""
    jobs, nodes, schemes, knobs = instance
    return Coupled(jobs, nodes, schemes, **knobs).simulate()


def held_for_a_mate():
    """A's job 0 holds five nodes for 1,800 s, released once at 1,200 s; B's mate comes then."""
    jobs = {"submit_time": [0, 600, 1800], "run_time": 3600, "requested_time": 3600}
    jobs |= {"nodes": [5, 2, 4], "partition": list("AAB"), "mate": [2, None, 0]}
    machines = System.of(A=10, B=10)
    return simulate_coscheduling(Workload(pd.DataFrame(jobs), "small"), machines, schemes="HH")
