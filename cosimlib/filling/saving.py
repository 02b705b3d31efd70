"""Checkpoint intervals of filler containers: what policy C keeps at each, and Young's formula.

A container that is killed loses what it computed since it was saved last. Saved often, it pays for
the saves; saved seldom, it loses much. If kills come at random, one per M slots of a container's
time, and a save costs t slots, an interval of k slots costs ``t / k`` for saves and ``k / 2M`` for
lost work, which is least at ``k = √(2tM)`` (J. W. Young, A First Order Approximation to the Optimum
Checkpoint Interval, Communications of the ACM 17(9), 1974).

When containers are saved changes no start of any job: one schedule under policy B that kills has
all that is needed.
"""

import math
from dataclasses import replace

from cosimlib import checks as check
from cosimlib.filling.schedule import FilledSchedule, policy_name, split_by_saves


def saved_every(schedule: FilledSchedule, slots: int) -> FilledSchedule:
    """The schedule under policy C, of one under policy B that kills.

    Parameters
    ----------
    schedule : FilledSchedule
        Simulated with ``policy="B", reclaim="kill"``.
    slots : int
        After how many a container is saved, `save_every` of `simulate_filling`.

    Raises
    ------
    ValueError
        For a schedule under another policy.
    """
    check.whole("slots", slots, 1)
    fine = (schedule.filling, schedule.reclaim) == ("B", "kill")
    check.that("policy", schedule.policy, fine, "'filling B, kill', whose containers run on")
    return replace(
        schedule,
        policy=policy_name("C", "kill", slots),
        filling="C",
        save_every=int(slots),
        containers=split_by_saves(schedule.containers, slots * schedule.slot),
    )


def slots_between_kills(
    schedule: FilledSchedule, *, start: float | None = None, end: float | None = None
) -> float:
    """Slots that containers run per container that is killed, in a window (s); inf without kills.

    The M of Young's formula. Without a window it is of the whole schedule.
    """
    first = -math.inf if start is None else start
    last = math.inf if end is None else end
    check.window(first, last)
    table = schedule.containers
    inside = table["end_time"].clip(upper=last) - table["start_time"].clip(lower=first)
    slots = float(table["nodes"] @ inside.clip(lower=0.0)) / schedule.slot
    killed = ~table["saved"].astype(bool) & table["end_time"].between(first, last)
    kills = int(table.loc[killed, "nodes"].sum())
    return slots / kills if kills else math.inf


def young_interval(overhead: float, between_kills: float) -> float:
    """Young's interval between saves, ``√(2tM)`` slots, for saves of `overhead` slots.

    Parameters
    ----------
    overhead : float
        The paper's t, slots per start and save.
    between_kills : float
        M, the mean of slots between kills, as of `slots_between_kills`; may be infinite.
    """
    check.number("overhead", overhead, least=0)
    fine = check.is_number(between_kills) and between_kills > 0
    check.that("between_kills", between_kills, fine, "slots above 0, or infinity")
    return math.sqrt(2 * overhead * between_kills) if overhead else 0.0
