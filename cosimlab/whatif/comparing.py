"""Which of two changes of one log shortens its waits more.

Both answers replay the same record, so their errors are alike: of a log whose replay promises too
much, it promises too much of both. So two changes are compared by pairs: each draw takes the same
weeks for both, and the ratio of the two effects has an interval of its own, which is shorter than
what the intervals of both effects would allow.
"""

from typing import NamedTuple

import numpy as np

from cosimlab.whatif import rules
from cosimlab.whatif.answer import WhatIf, draws_of, effects_drawn, tails
from cosimlab.whatif.changes import MORE_NODES
from cosimlib import checks as check


class Pair(NamedTuple):
    """Effect of one change ÷ effect of another, on the mean wait.

    Parameters
    ----------
    ratio : float
        Below 1 where the first change shortens waits more.
    low, high : float
        Ends of the 90 % interval.
    """

    ratio: float
    low: float
    high: float


def compare_answers(one: WhatIf, other: WhatIf, *, seed: int = 0) -> Pair:
    """Effect of one change on the mean wait ÷ that of another change of the same log.

    The interval adds, as squares on a log scale, the 5th and 95th percentile over 400 draws of the
    weeks, the same for both changes, and the error of the method for such pairs.

    Parameters
    ----------
    one, other : WhatIf
        Answers of one log, both with a number.
    seed : int, default 0
        Of the draws of weeks.

    Raises
    ------
    ValueError
        If the answers are of other jobs, or one has no number.
    """
    check.seed(seed)
    check.instance("one", one, WhatIf)
    check.instance("other", other, WhatIf)
    for name, answer in (("one", one), ("other", other)):
        check.that(name, answer.change, not answer.why, "an answer with a number")
    alike = one.waits[["job", "recorded"]].equals(other.waits[["job", "recorded"]])
    check.that("other", other.name, alike, f"an answer about the jobs of {one.name}")
    draws = draws_of(one.waits, seed)
    own, drawn = effects_drawn(one.waits.dropna(), draws)
    other_own, other_drawn = effects_drawn(other.waits.dropna(), draws)
    effect = own - other_own
    below, above = tails(effect, drawn - other_drawn)
    of_nodes = one.what == other.what == MORE_NODES
    error = pair_error(effect, one.strict, of_nodes=of_nodes)
    low, high = effect - np.hypot(below, error), effect + np.hypot(above, error)
    return Pair(*np.exp([effect, low, high]).tolist())


def pair_error(effect: float, strict: bool, *, of_nodes: bool) -> float:
    """Half of the method's own 90 % interval of the ratio of two effects, on a log scale.

    `of_nodes` is whether both changes are more nodes.
    """
    if strict:
        return rules.STRICT_ERROR
    error = rules.PAIR_ERROR + rules.PAIR_ERROR_PER_EFFECT * abs(effect)
    if of_nodes:
        error = rules.PAIR_OF_NODES_ERROR + rules.PAIR_OF_NODES_ERROR_PER_EFFECT * abs(effect)
    return min(error, rules.MOST_PAIR_ERROR)
