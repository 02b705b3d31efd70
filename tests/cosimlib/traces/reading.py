"""Short SWF logs, and accounts as dictionaries."""

from pathlib import Path

import pandas as pd

from cosimlib.traces import read_swf

DATA = Path(__file__).parents[2] / "data"
JOB = "1 0 5 100 4 -1 -1 4 200 -1 1 7 3 4 2 1 -1 -1"


def swf(tmp_path, *lines, name="log.swf", **options):
    """The workload that `read_swf` returns for these lines."""
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return read_swf(path, verbose=False, **options)


def counts(workload):
    """The account of a workload: numbers of records by action and reason."""
    account = workload.account
    keys = zip(account["action"], account["reason"], strict=True)
    return dict(zip(keys, account["records"], strict=True))


def pm100_table():
    """The rows of a job table like PM100's, with its types: times in a zone, lists of power."""
    times = ["submit_time", "eligible_time", "start_time", "end_time"]
    table = pd.read_csv(DATA / "pm100.csv", parse_dates=times)
    table[times] = table[times].astype("datetime64[us, UTC]")
    power = table["node_power_consumption"].map(lambda text: [float(x) for x in text.split()])
    return table.assign(node_power_consumption=power, job_state=table["job_state"].astype("string"))


def fugaku_table():
    """The rows of F-DATA, with times as times."""
    return pd.read_csv(DATA / "fugaku.csv", parse_dates=["adt", "sdt", "edt"])
