"""The figure of a Slurm report: mean waits of groups of jobs under each configuration."""

from typing import TYPE_CHECKING

from cosimlab.figures.charts import bars, plot_empty
from cosimlab.figures.publishing import CaptionedFigure, captioned
from cosimlib.units import HOUR, MINUTE

if TYPE_CHECKING:
    from cosimlab.slurm import SlurmReport

SHOWN = 12
"""Groups of a kind that are drawn, those with most waiting."""
PANELS = 4


def plot_sites(report: "SlurmReport", *, title: str) -> CaptionedFigure:
    """Mean wait of each account, QOS, partition and size of jobs: who gains, and who loses.

    Parameters
    ----------
    report : SlurmReport
        As `cosimlab.slurm.report_on` returns it.
    title : str
    """
    if not hasattr(report, "not_modeled"):
        kind = type(report).__name__
        raise TypeError(f"report is of type {kind}; expected a SlurmReport, as report_on returns")
    if report.groups.empty:
        return plot_empty(title, "The site does not fit its record, so there is no number.")
    table = report.groups[report.groups["kind"] != "all"]
    waited = (table["mean"] * table["jobs"]).groupby([table["kind"], table["group"]]).sum()
    most = waited.groupby(level="kind").nlargest(SHOWN).droplevel(0).index
    table = table.set_index(["kind", "group"]).loc[most].reset_index()
    several = table.groupby("kind")["group"].nunique()
    kinds = [kind for kind in several.index if several[kind] > 1][:PANELS] or [several.index[0]]
    table = table[table["kind"].isin(kinds)]
    unit, name = (HOUR, "hours") if table["mean"].max() >= HOUR else (MINUTE, "minutes")
    picture = bars(
        table.assign(wait=table["mean"] / unit),
        x="group",
        y="wait",
        group="site",
        panel="kind",
        own="x",
        title=title,
        labels={"wait": f"mean wait ({name})", "kind": "by", "group": ""},
    )
    return captioned(picture, " ".join(report.notes))
