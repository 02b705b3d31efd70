"""Colors of policies, solvers and actions, from Okabe and Ito's palette for color-blind readers.

Each name has the same color in every figure.
"""

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

_registered: dict[str, str] = {}


def register_color(name: str) -> None:
    """Give a policy the color of `OWN` that is used least, unless it has one in `NAMED`.

    Only three colors are free for policies of your own; the fourth policy shares the color of the
    first.
    """
    taken = list(_registered.values())
    if name not in NAMED:
        _registered.setdefault(name, min(OWN, key=taken.count))


def unregister_color(name: str) -> None:
    """Remove the color of a policy."""
    _registered.pop(name, None)


def color(name: str, place: int = 0) -> str:
    """Color of a named policy, solver or action; for other names, the color of line `place`."""
    return NAMED.get(name) or _registered.get(name, CYCLE[place % len(CYCLE)])
