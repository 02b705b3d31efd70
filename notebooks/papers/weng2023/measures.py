"""What the claims of Weng et al. are decided by, per list, policy and seed."""

from collections.abc import Mapping, Sequence

import pandas as pd

from cosimlib.display import count
from cosimlib.metrics import mean_interval
from papers.claims import Samples, written
from papers.weng2023.experiment import FIRST_SEED, LAST, LISTS, POLICIES, Study

FULL = 100
"""Percent of the GPUs asked for at which the paper's bars compare policies."""

OTHERS = [name for name in POLICIES if name != "FGD"]
PACKING = [name for name in OTHERS if name != "Random"]
"""The packing-based policies that FGD is compared with."""

OTHER_ON_OWN = "on Alibaba's own list it is another number; the abstract names no list"
ON_TWIN = "needs Alibaba's lists of pods: a twin's mix of pods is made up"


def means(runs: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Mean over seeds with its 95 % interval, one row per list, policy and percent asked for."""
    keys = ["pods", "policy", "arrived"]
    found = runs.groupby(keys, sort=False)[quantity].apply(list)
    rows = [mean_interval(values) for values in found]
    table = pd.DataFrame(rows, index=found.index, columns=["mean", "low", "high"])
    return table.astype(float).reset_index()


def unallocated(runs: pd.DataFrame, arrived: int = FULL) -> pd.DataFrame:
    """GPUs that nobody holds, one row per list and seed, one column per policy."""
    table = runs[runs["arrived"] == arrived]
    idle = (1 - table["allocated"] / 100) * table["total"]
    keys = {"index": ["pods", "seed"], "columns": "policy", "values": "idle"}
    return table.assign(idle=idle).pivot_table(**keys, sort=False)


def unallocated_by_list(runs: pd.DataFrame, lists: Sequence[str]) -> pd.DataFrame:
    """GPUs unallocated where pods have asked for as many as there are, in percent of all.

    Returns
    -------
    pd.DataFrame
        `policy`, `pods` (the list), and `mean`, `std` and `count` over seeds.
    """
    share = 100 * unallocated(runs) / runs["total"].iloc[0]
    found = share.groupby("pods").agg(["mean", "std", "count"]).reindex(lists)
    table = pd.concat({policy: found[policy] for policy in POLICIES}, names=["policy"])
    return table.round(4).reset_index()


def with_whiskers(table: pd.DataFrame) -> pd.DataFrame:
    """The table of `unallocated_by_list` with lists in words, `low` and `high`.

    These are one standard deviation below the mean and above it.
    """
    ends = {"low": table["mean"] - table["std"], "high": table["mean"] + table["std"]}
    return table.assign(pods=table["pods"].map(LISTS), **ends)


def explain_curves(runs: pd.DataFrame) -> str:
    """What a reader of curves of the default list must know who sees the figure alone."""
    seeds = runs.loc[runs["pods"] == "default", "seed"].nunique()
    bands = " Bands are their 95 % confidence intervals." if seeds > 1 else ""
    return f"Means over {count(seeds, 'seed')}.{bands}"


def explain_bars(table: pd.DataFrame) -> str:
    """What a reader of bars of `unallocated_by_list` must know who sees the figure alone."""
    numbers = table.drop_duplicates("pods").set_index("pods")["count"].astype(int)
    seeds = ", ".join(f"{LISTS[name]}: {number}" for name, number in numbers.items())
    if numbers.min() == numbers.max():
        seeds = count(int(numbers.min()), "seed")
    return (
        f"Where pods have asked for {FULL} % of the GPUs. Bars are means over seeds ({seeds}), "
        "whiskers one standard deviation, as in the paper."
    )


def savings(runs: pd.DataFrame) -> pd.DataFrame:
    """What FGD leaves unallocated less than each packing-based policy, mean over seeds.

    Returns
    -------
    pd.DataFrame
        One row per list and policy: `share` of what the other leaves, and `gpus`.
    """
    idle = unallocated(runs).groupby("pods", sort=False).mean()
    rows = {
        (pods, name): {"share": 1 - row["FGD"] / row[name], "gpus": row[name] - row["FGD"]}
        for pods, row in idle.iterrows()
        for name in PACKING
    }
    return pd.DataFrame(rows).T.rename_axis(["pods", "policy"])


def samples(study: Study, runs: pd.DataFrame) -> Mapping[str, Samples]:
    """What was measured for each claim."""
    if not study.own:
        return dict.fromkeys(CLAIMS, Samples(missing=ON_TWIN, ours="not measured"))
    idle, saved = unallocated(runs), savings(runs)
    ahead = {
        pods: (part[OTHERS].min(axis=1) - part["FGD"]).tolist()
        for pods, part in idle.groupby("pods", sort=False)
    }
    return {
        "hundreds-of-fragments": Samples(
            _final_fragments(runs),
            "{:.0f} GPUs",
            why="with the best of the other policies fewer idle GPUs are fragments",
        ),
        "most-allocated": Samples(
            ahead,
            "{:.0f} GPUs more",
            why="another policy allocates as much on some list",
        ),
        "least-fragmentation": Samples(
            _fragments_less(runs),
            "{:.2f} points of all GPUs",
            why="another policy leaves as little fragmented on the way",
        ),
        "unallocated-less": Samples(
            [saved.loc["default", "share"].max()],
            "{:.1f} % less",
            details=_where(saved["share"], "{:.1f} %"),
            why=OTHER_ON_OWN,
        ),
        "additional-gpus": Samples(
            [saved.loc["default", "gpus"].max()],
            "{:.0f} GPUs",
            details=_where(saved["gpus"], "{:.0f} GPUs"),
            why=OTHER_ON_OWN,
            doubt=_rounded(saved.loc["default", "gpus"].max()),
        ),
        "printed-allocation": _printed(runs, "final_allocated"),
        "printed-fragments": _printed(runs, "final_fragmented"),
    }


PRINTED_GPUS = 290.0
CLAIMS = (
    "hundreds-of-fragments",
    "most-allocated",
    "least-fragmentation",
    "unallocated-less",
    "additional-gpus",
    "printed-allocation",
    "printed-fragments",
)


def _rounded(gpus: float) -> str:
    """Why a number of GPUs decides nothing: it is the printed one if that is rounded to tens."""
    near = round(gpus, -1) == PRINTED_GPUS
    return f"{gpus:.0f} is {PRINTED_GPUS:g} if the abstract rounds to tens" if near else ""


def _where(saved: pd.Series, shown: str) -> str:
    """The policy of the default list's largest saving, and the largest of all lists."""
    own, most = saved.loc["default"].idxmax(), written(shown, saved.max())
    return f"default against {own}; of all lists {most}, {' against '.join(saved.idxmax())}"


def _final_fragments(runs: pd.DataFrame) -> list[float]:
    """GPUs that are fragments in the end under the best of the other policies, per seed."""
    end = runs[(runs["pods"] == "default") & (runs["arrived"] == LAST)]
    table = end[end["policy"].isin(PACKING)].groupby("seed")["final_fragmented"]
    return table.min().tolist()


def _fragments_less(runs: pd.DataFrame) -> list[float]:
    """Fragments of FGD less those of the best other policy, mean over the arrivals, per seed."""
    own = runs[runs["pods"] == "default"]
    by_policy = own.pivot_table(index="seed", columns="policy", values="fragmented")
    return (by_policy["FGD"] - by_policy[OTHERS].min(axis=1)).tolist()


def _printed(runs: pd.DataFrame, quantity: str) -> Samples:
    """What the run whose log the authors print leaves in the end, GPUs."""
    one = runs[(runs["pods"] == "default") & (runs["policy"] == "FGD")]
    values = one.loc[one["seed"] == FIRST_SEED, quantity].unique().tolist()
    return Samples(values, "{:.2f} GPUs", why="our run differs from the printed one")
