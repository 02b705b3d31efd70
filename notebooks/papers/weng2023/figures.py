"""Figures: fragmentation and allocation as pods arrive, and what stays unallocated by kind of list.

Numbers of figures are the paper's, as the simulator's README gives them.
"""

from collections.abc import Callable, Sequence

import pandas as pd
import plotly.graph_objects as go

from cosimlab.figures import lines, theme
from cosimlib.display import count
from papers.paper import Drawing
from papers.weng2023.experiment import LISTS, POLICIES
from papers.weng2023.measures import FULL, means, unallocated

ASKED = "GPUs that pods have asked for, % of the cluster"
HATCHES = ("", "/", "x", ".", "\\", "+")


def curve(runs: pd.DataFrame, quantity: str, title: str, label: str) -> Drawing:
    """A quantity under each policy as pods of the default list arrive."""
    own = runs[runs["pods"] == "default"]
    table = means(own, quantity).round(4)
    seeds = own["seed"].nunique()
    band = ("low", "high") if seeds > 1 else None
    labels = {"arrived": ASKED, "mean": label, "policy": ""}
    picture = lines(
        table, x="arrived", y="mean", line="policy", band=band, title=title, labels=labels
    )
    picture.update_traces(mode="lines")
    bands = " Bands are their 95 % confidence intervals." if band else ""
    return Drawing(picture, table, f"Means over {count(seeds, 'seed')}.{bands}")


def fragmentation_amount(runs: pd.DataFrame) -> Drawing:
    """Figure 7a: fragmented GPUs, in percent of all."""
    title = "Figure 7a. Fragmented GPUs as pods arrive"
    return curve(runs, "fragmented", title, "fragments, % of all GPUs")


def fragmentation_ratio(runs: pd.DataFrame) -> Drawing:
    """Figure 7b: fragmented GPUs, in percent of the idle ones."""
    title = "Figure 7b. Fragmented part of the idle GPUs as pods arrive"
    return curve(runs, "fragmentation_ratio", title, "fragments, % of idle GPUs")


def allocation(runs: pd.DataFrame) -> Drawing:
    """Figure 9a: allocated GPUs, in percent of all, from where policies part."""
    shown = runs[runs["arrived"] >= 80]
    title = "Figure 9a. Allocated GPUs as pods arrive"
    return curve(shown, "allocated", title, "allocated, % of all GPUs")


def bars(runs: pd.DataFrame, lists: Sequence[str], title: str) -> Drawing:
    """Unallocated GPUs under each policy, where pods have asked for as many as there are."""
    share = 100 * unallocated(runs) / runs["total"].iloc[0]
    found = share.groupby("pods").agg(["mean", "std", "count"])
    found = found.reindex(["default", *lists])
    picture = theme.figure(title=title, barmode="group")
    for place, policy in enumerate(POLICIES):
        picture.add_trace(_bars(found[policy], policy, place))
    picture.update_yaxes(title="unallocated, % of all GPUs")
    table = pd.concat({policy: found[policy] for policy in POLICIES}, names=["policy"]).round(4)
    note = (
        f"Where pods have asked for {FULL} % of the GPUs. Bars are means over seeds "
        f"({_seeds(found)}), whiskers one standard deviation, as in the paper."
    )
    return Drawing(picture, table.reset_index(), note)


def _bars(part: pd.DataFrame, policy: str, place: int) -> go.Bar:
    """The bars of one policy, one per list."""
    spread = part["std"].round(4).astype(object).where(part["std"].notna(), None)
    return go.Bar(
        x=[LISTS[name] for name in part.index],
        y=part["mean"].round(4).tolist(),
        name=policy,
        marker=theme.bar(theme.color(policy, place), HATCHES[place]),
        error_y={
            "type": "data",
            "array": spread.tolist(),
            "thickness": 1,
            "width": 2,
            "color": theme.BLACK,
        },
    )


def _seeds(found: pd.DataFrame) -> str:
    """How many seeds each list has, in words."""
    numbers = found[next(iter(POLICIES))]["count"].astype(int)
    if numbers.min() == numbers.max():
        return count(int(numbers.min()), "seed")
    return ", ".join(f"{LISTS[name]}: {number}" for name, number in numbers.items())


def gpu_sharing(runs: pd.DataFrame) -> Drawing:
    """Figure 11: lists with other parts of pods that share GPUs."""
    lists = ["gpushare40", "gpushare100"]
    return bars(runs, lists, "Figure 11. Unallocated GPUs by part of pods that share GPUs")


def several_gpus(runs: pd.DataFrame) -> Drawing:
    """Figure 12: lists with more pods of several GPUs."""
    lists = ["multigpu20", "multigpu50"]
    return bars(runs, lists, "Figure 12. Unallocated GPUs by part of pods of several GPUs")


def gpu_models(runs: pd.DataFrame) -> Drawing:
    """Figure 13: a list of pods that name models of GPU."""
    return bars(runs, ["gpuspec25"], "Figure 13. Unallocated GPUs where pods name a model")


def without_gpus(runs: pd.DataFrame) -> Drawing:
    """Figure 14: a list with more pods without GPU."""
    return bars(runs, ["cpu100"], "Figure 14. Unallocated GPUs with more pods without GPU")


FIGURES: dict[str, Callable[..., Drawing]] = {
    "figure-7a": fragmentation_amount,
    "figure-7b": fragmentation_ratio,
    "figure-9a": allocation,
    "figure-11": gpu_sharing,
    "figure-12": several_gpus,
    "figure-13": gpu_models,
    "figure-14": without_gpus,
}
