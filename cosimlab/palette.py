"""Colors of policies, solvers and actions, from Okabe and Ito's palette for color-blind readers.

Each name has the same color in every figure.
"""

from cosimlib.policies import BUILT_IN, SIMULATORS

BLACK, GREY = "#222222", "#BBBBBB"
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
WINE = "#882255"
OWN = (PURPLE, YELLOW, WINE)
"""Colors of registered policies: those that no batch policy has in `NAMED`."""

NAMED = {
    "dynamic": BLUE,
    "greedy": GREEN,
    "backtracking": VERMILION,
    "spectrum": PURPLE,
    "as printed": ORANGE,
    "least loss (paper)": BLUE,
    "least loss, waits overlap": PURPLE,
    "recorded": BLACK,
    "FCFS": ORANGE,
    "EASY": BLUE,
    "conservative": GREEN,
    "EASY (sjbf)": SKY,
    "first fit": VERMILION,
    "batch": BLUE,
    "time-sharing": VERMILION,
    "time-sharing (memory unlimited)": GREEN,
    "not filled": GREEN,
    "filling A": BLUE,
    "filling B, save": ORANGE,
    "filling B, kill": VERMILION,
    "filling C, 10 slots": SKY,
    "base": GREY,
    "ideal": BLACK,
    "HH": BLUE,
    "HY": SKY,
    "YH": ORANGE,
    "YY": VERMILION,
    "kill": VERMILION,
    "wait": BLACK,
    "reserve": PURPLE,
    "dynamic_blocked": ORANGE,
    "share": GREEN,
    "shrink": SKY,
    "preempt": WINE,
    "N & SPAA": SKY,
    "CUP & PAA": PURPLE,
    "app": GREEN,
    "sys": SKY,
    "keep": GREY,
    "spare": SKY,
}

_own: dict[str, str] = {}


def _own_colors() -> dict[str, str]:
    """Colors of the registered policies that have none in `NAMED`.

    Each gets the color of `OWN` that is used least when it is first seen, and keeps it while it is
    registered. Only three colors are free; the fourth policy shares the color of the first.
    """
    names = [name for name in SIMULATORS if name not in BUILT_IN and name not in NAMED]
    for name in _own.keys() - set(names):
        del _own[name]
    for name in names:
        taken = list(_own.values())
        _own.setdefault(name, min(OWN, key=taken.count))
    return _own


def color(name: str, place: int = 0) -> str:
    """Color of a named policy, solver or action; for other names, the color of line `place`."""
    return NAMED.get(name) or _own_colors().get(name, CYCLE[place % len(CYCLE)])
