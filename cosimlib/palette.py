"""Colors of figures, from the palette of Okabe and Ito for color-blind readers, by name.

A policy, a solver or an action has the same color in every figure.
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


def register_color(name: str, color: str | None = None) -> None:
    """Give a policy a color: this one, or else the one of `OWN` that the fewest have.

    The fourth policy without a color given shares that of the first, and so on.
    """
    taken = list(_registered.values())
    if color or name not in {**NAMED, **_registered}:
        _registered[name] = color or min(OWN, key=taken.count)


def unregister_color(name: str) -> None:
    """Take the color of a policy back."""
    _registered.pop(name, None)


def color(name: str, place: int = 0) -> str:
    """The color of a named policy, solver or action; of the `place`-th line for other names."""
    return _registered.get(name) or NAMED.get(name, CYCLE[place % len(CYCLE)])
