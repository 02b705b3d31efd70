"""Why a what-if has no number: kinds of reasons, each with what would decide the question.

Some reasons are of the record, whatever the change is: the record is not met on the same machine,
jobs starve, the machine is too small for its record, or most waiting is held. The others are of one
change, so that another may have a number.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlab.whatif import rules
from cosimlab.whatif.evidence import NO_HELP_WAS_FALSE
from cosimlab.whatif.record import HELD as HELD_CLASS
from cosimlab.whatif.record import LIMITED as LIMITED_CLASS
from cosimlib.display import count, duration, percent
from cosimlib.traces.oddities import TOLERATED, Oversubscription

NO_WAIT = "no wait"
FEW_WAIT = "few wait"
TOO_SMALL = "too small a machine"
NOT_MET = "record not met"
STARVATION = "starvation"
TOO_WIDE = "too wide"
NO_HELP = "more nodes would not help"
HELD = "held"
NO_PLACE = "no place"
"""Kinds of reasons."""

OF_RECORD = (TOO_SMALL, NOT_MET, STARVATION, NO_HELP, HELD)
"""Kinds that hold for every change of the record."""


@dataclass(frozen=True)
class Reason:
    """Why there is no number.

    Parameters
    ----------
    kind : str
        Such as ``"starvation"``.
    sentence : str
        In words, without a capital and a full stop.
    rest : str, optional
        What explains it, in the same way.
    decides : str, optional
        What would decide the question, as a whole sentence.
    sure : str, optional
        How often this was false where the truth is known.
    mark : str, default ": "
        What stands between `sentence` and `rest`.
    """

    kind: str
    sentence: str
    rest: str = ""
    decides: str = ""
    sure: str = ""
    mark: str = ": "

    def __str__(self) -> str:
        rest = f"{self.mark}{self.rest}" if self.rest else ""
        sure = f" ({self.sure})" if self.sure else ""
        return f"{self.sentence}{rest}{sure}"

    @property
    def of_record(self) -> bool:
        """Whether it holds for every change of the record."""
        return self.kind in OF_RECORD


class Seen(NamedTuple):
    """What is seen of a record and its replays, and decides whether there is a number.

    Parameters
    ----------
    wait_time : np.ndarray
        Recorded, of the jobs that are there after the change (s).
    fit : float
        Mean wait of the replay on the same machine ÷ that recorded.
    beyond : Oversubscription
        Nodes held beyond the machine.
    passed_over : float
        Share of the waiting by jobs that many later ones overtook, see `Classes`.
    waiting : pd.DataFrame
        Classes of waiting, see `WhatIf`.
    gone : int
        Jobs that are too wide for the changed machine.
    gone_work : float
        Their share of the node-hours.
    strict_and_cut : bool
        Whether (nearly) no job overtakes, and a limit cuts jobs.
    """

    wait_time: np.ndarray
    fit: float
    beyond: Oversubscription
    passed_over: float
    waiting: pd.DataFrame
    gone: int
    gone_work: float
    strict_and_cut: bool


def reason_of(seen: Seen, *, more_nodes: bool) -> Reason | None:
    """The first reason why there is no number; None if there is one."""
    found = (
        _of_waits(seen.wait_time),
        _of_machine(seen.beyond),
        _of_fit(seen.fit),
        _of_starvation(seen.passed_over),
        _of_width(seen.gone, seen.gone_work),
        _of_holds(held_share(seen.waiting), more_nodes),
        _of_place(seen.strict_and_cut),
    )
    return next((reason for reason in found if reason is not None), None)


def held_share(waiting: pd.DataFrame) -> float:
    """Share of the waited node-hours of *limited* and *held* jobs while their nodes were free."""
    held = waiting.iloc[[LIMITED_CLASS, HELD_CLASS]]
    return float(held["free_node_hours"].sum() / max(waiting["node_hours"].sum(), 1.0))


def _of_waits(wait_time: np.ndarray) -> Reason | None:
    """Hardly anyone waits."""
    if not wait_time.size or wait_time.mean() < rules.LEAST_MEAN_WAIT:
        return Reason(
            NO_WAIT,
            f"the mean wait is below {duration(rules.LEAST_MEAN_WAIT)}",
            "there is none to change",
        )
    waiting = int((wait_time > rules.NO_WAIT).sum())
    if waiting >= rules.FEWEST_WAITING:
        return None
    return Reason(
        FEW_WAIT,
        f"{count(waiting, 'job')} waited",
        f"at least {rules.FEWEST_WAITING} are needed",
        f"A longer log, in which {rules.FEWEST_WAITING} jobs wait, would decide it.",
        mark="; ",
    )


def _of_machine(beyond: Oversubscription) -> Reason | None:
    """Jobs hold more nodes than there are."""
    if beyond.share <= TOLERATED:
        return None
    sentence, _, rest = beyond.lack.partition(": ")
    decides = "Count cores if jobs share nodes, or give the machine's size with --nodes."
    return Reason(TOO_SMALL, sentence, rest, decides)


def _of_fit(fit: float) -> Reason | None:
    """The record is not met on the same machine."""
    if fit >= rules.LEAST_FIT:
        return None
    return Reason(
        NOT_MET,
        f"the replay on the same machine gives {percent(fit)} of the recorded mean wait",
        f"at least {percent(rules.LEAST_FIT)} is needed: something that the log does not show "
        "decides when jobs start",
        "A record of holds, reservations and nodes out of service would show what it is.",
        mark="; ",
    )


def _of_starvation(passed_over: float) -> Reason | None:
    """Many jobs overtake those that wait."""
    if passed_over <= rules.MOST_PASSED_OVER:
        return None
    return Reason(
        STARVATION,
        f"{percent(passed_over)} of the waiting is by jobs that more than "
        f"{rules.MANY_OVERTAKERS} later jobs of their size overtook",
        "jobs starve, and the order of starts would change",
        "A simulation of the rule by which the site starts jobs would decide it.",
    )


def _of_width(gone: int, share: float) -> Reason | None:
    """Much of the work cannot run on the changed machine."""
    if share <= rules.MOST_TOO_WIDE:
        return None
    return Reason(
        TOO_WIDE,
        f"{count(gone, 'job')} with {percent(share)} of the node-hours cannot run on the changed "
        "machine",
        "what becomes of them decides how long the others wait",
        "A machine on which these jobs fit has a number.",
    )


def _of_holds(share: float, more_nodes: bool) -> Reason | None:
    """Most waiting was held."""
    if share <= rules.MOST_HELD:
        return None
    passed = f"{percent(share, 0)} of the waited node-hours passed while the job's nodes were free"
    if more_nodes:
        return Reason(NO_HELP, "more nodes would not help", passed, sure=NO_HELP_WAS_FALSE)
    return Reason(HELD, "most waiting is held", passed)


def _of_place(strict_and_cut: bool) -> Reason | None:
    """In a strict order, it decides where the pieces of a job that is cut stand."""
    if not strict_and_cut:
        return None
    return Reason(
        NO_PLACE,
        "hardly any job overtakes another, and jobs that restart lose their place in the order",
        "the replay does not know their new one",
        "A simulation of FCFS with the limit would decide it.",
    )
