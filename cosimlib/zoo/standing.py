"""Standing of the policies in the zoo: medians and intervals over the logs drawn anew."""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.zoo.runs import MEASURES

BASELINE = "EASY"


def standing(runs: pd.DataFrame, baseline: str = BASELINE) -> pd.DataFrame:
    """Each policy's measures per log, and paired with a baseline's.

    Parameters
    ----------
    runs : pd.DataFrame
        Of `run_zoo`.
    baseline : str, default "EASY"

    Returns
    -------
    pd.DataFrame
        One row per log, policy and measure: `median`, `low` and `high` of the logs drawn (from the
        least to the most: of 20 logs a 90 % interval); `ratio`, `ratio_low` and `ratio_high` of
        the policy's number to the baseline's on the same log drawn, missing where that is 0;
        `verdict` is "lower" or "higher" than the baseline where it is so on every log drawn,
        "equal" where all are equal, else "cannot tell". Policies that failed have no row.
    """
    check.choice("baseline", baseline, list(dict.fromkeys(runs["policy"])))
    fine = runs[runs["error"].isna()] if "error" in runs else runs
    long = fine.melt(["log", "replicate", "policy"], list(MEASURES), "measure")
    base = long[long["policy"] == baseline].drop(columns="policy")
    paired = long.merge(base, on=["log", "replicate", "measure"], suffixes=("", "_of_baseline"))
    paired["difference"] = paired["value"] - paired["value_of_baseline"]
    paired["ratio"] = paired["value"] / paired["value_of_baseline"].where(lambda value: value != 0)
    cells = paired.groupby(["log", "policy", "measure"], sort=False)
    least, most = cells["difference"].min(), cells["difference"].max()
    table = pd.DataFrame(
        {
            "median": cells["value"].median(),
            "low": cells["value"].min(),
            "high": cells["value"].max(),
            "ratio": cells["ratio"].median(),
            "ratio_low": cells["ratio"].min(),
            "ratio_high": cells["ratio"].max(),
            "verdict": np.select(
                [(least == 0) & (most == 0), least > 0, most < 0],
                ["equal", "higher", "lower"],
                "cannot tell",
            ),
        }
    )
    return table.reset_index()


def speeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Jobs per second of processor time, medians over the logs drawn; policies by logs."""
    rate = runs["jobs"] / runs["seconds"].clip(lower=1e-6)
    wide = runs.assign(rate=rate).pivot_table("rate", "policy", "log", "median", sort=False)
    return wide.reindex(index=dict.fromkeys(runs["policy"]))
