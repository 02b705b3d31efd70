"""Short SWF logs, and accounts as dictionaries."""

from pathlib import Path

from cosimlib.traces import read_swf

DATA = Path(__file__).parents[1] / "data"
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
