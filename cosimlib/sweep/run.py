"""Sweep: what is to be computed, where, and the table of it."""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pandas as pd
from tqdm import tqdm

from cosimlib import checks as check
from cosimlib.display import bar_options
from cosimlib.kernels.fingerprint import source_hash
from cosimlib.sweep.calls import Direct, Sent, Work
from cosimlib.sweep.digests import qualified_name
from cosimlib.sweep.folder import Folder
from cosimlib.sweep.grid import ERROR, Cell, axes, cells_of, check_function, digest_of
from cosimlib.sweep.pools import (
    CORES,
    Outcomes,
    Workers,
    check_open,
    count_cores,
    in_this_process,
    on_executor,
    on_workers,
)
from cosimlib.sweep.work import SCRATCH

DELAY = 1.0
"""Seconds before a bar of progress appears."""


class SweepWarning(UserWarning):
    """Cells of a sweep have failed."""


def sweep(
    function: Callable[..., Any],
    grid: Mapping[str, Any],
    seeds: Iterable[int] | None = None,
    *,
    shared: Mapping[str, Any] | None = None,
    executor: Workers = None,
    folder: str | Path | None = None,
    errors: Literal["table", "raise"] = "table",
) -> pd.DataFrame:
    """Rows of a function for every point of a grid and every seed, as one tidy table.

    Parameters
    ----------
    function : function
        Called by keyword with one value of each argument in `grid`, with `seed` where there are
        seeds, and with all of `shared`. Returns rows: a dict, a list of dicts or a DataFrame, of
        numbers, texts, True, False and None; the named levels of a DataFrame's index are columns.
    grid : dict of str to list or dict
        Values by argument. The table shows numbers and texts as they are, functions, workloads and
        systems by their names, and what is given as a dict by its keys.
    seeds : iterable of int, optional
        Such as ``range(20)``.
    shared : dict of str to any, optional
        Arguments that are the same in every cell, such as a workload; no columns of the table.
    executor : int, "cores" or Executor, optional
        Where cells are computed. None: one after the other, here. A number: as many processes,
        replaced when they die. ``"cores"``: as many as this process has cores, or as the
        environment variable `COSIMLIB_WORKERS` says; here, where that is one. Any
        `concurrent.futures.Executor`: threads, Dask's ``client.get_executor()``.
    folder : str or Path, optional
        Where cells are kept, one file each. A later call takes from there what it need not compute:
        the cells with the same function, arguments and source of this package. Data that the
        function reads itself and versions of other packages do not count.
    errors : {"table", "raise"}, default "table"
        A cell fails where the function raises an error or its worker died three times. It is then
        one row with its arguments and the text of the error in a column `error`, and a
        `SweepWarning` says so; or the error is raised. It is tried again at the next call.

    Returns
    -------
    pd.DataFrame
        The arguments of the grid, `seed` if there are seeds, and the columns of the rows; in the
        order of the grid with the last argument fastest and then the seeds, wherever and whenever
        cells were computed.

    Raises
    ------
    ValueError
        Before anything runs: for arguments that do not fit together, a function or values that
        cannot be sent to a worker, an executor that is shut down, a folder of something else.
    NotRowsError
        Where the function returns something else than rows, a `TypeError`.
    OSError
        Where the folder cannot be written; cells written until then stay.

    Examples
    --------
    >>> import cosimlib as cs
    >>> def waits(order, seed):
    ...     log = cs.synthetic.lublin(500, load=0.8, seed=seed)
    ...     schedule = cs.simulate_fcfs(log, log.machine, order=order)
    ...     return {"wait": round(cs.metrics.wait_time(schedule).mean())}
    >>> cs.sweep(waits, {"order": ["submit", "smallest"]}, seeds=range(2))
          order  seed   wait
    0    submit     0  30516
    1    submit     1  38767
    2  smallest     0   2616
    3  smallest     1   1131
    """
    mapping = isinstance(shared, Mapping)
    check.that("shared", shared, mapping, "a dict of values by argument", none=True)
    common = dict(shared or {})
    varied = axes(grid, seeds)
    check_function(function, varied, common)
    check.choice("errors", errors, ("table", "raise"))
    check.that("folder", folder, isinstance(folder, str | Path), "a path", none=True)
    place = _place(executor)
    source = source_hash()
    given = [digest_of(f"shared[{name!r}]", common[name]) for name in sorted(common)]
    key = source, digest_of("function", function), digest_of("shared", [sorted(common), given])
    cells = cells_of(varied, *(part.encode() for part in key))
    store = Folder(None if folder is None else Path(folder), qualified_name(function))
    rows = {cell.digest: store.rows(cell.digest) for cell in cells}
    due = list({cell.digest: cell for cell in cells if rows[cell.digest] is None}.values())
    failed: dict[str, Exception] = {}
    name = getattr(function, "__name__", "").strip("_") or None
    bar = tqdm(total=len(rows), initial=len(rows) - len(due), desc=name, unit="cell",
               delay=DELAY, leave=False, **bar_options())  # fmt: skip
    with bar, _outcomes(Work(function, common, varied), due, place, store) as outcomes:
        for cell, outcome in outcomes:
            if outcome.error is not None:
                if outcome.broken or errors == "raise":
                    raise _noted(outcome.error, cell)
                failed[cell.digest] = outcome.error
            else:
                store.keep(cell.digest, cell.labels, outcome.lines)
                rows[cell.digest] = [json.loads(line) for line in outcome.lines]
            bar.update()
    missing = [cell for cell in due if rows[cell.digest] is None and cell.digest not in failed]
    assert not missing, f"{len(missing)} cells were lost on the way, such as {missing[0].labels}"
    return _table(cells, varied, rows, failed)


def _place(executor: Workers) -> Executor | int | None:
    """Where cells are computed: an executor, a number of processes, or None for here."""
    if executor is None or isinstance(executor, Executor):
        if executor is not None:
            check_open(executor)
        return executor
    if isinstance(executor, str):
        check.choice("executor", executor, [CORES])
        cores = count_cores()
        return cores if cores > 1 else None
    expected = "a number of processes, 'cores', a concurrent.futures.Executor or None"
    if hasattr(executor, "get_executor"):
        expected += "; of a Dask client give client.get_executor()"
    check.that("executor", executor, check.is_whole(executor, 1), expected)
    return int(executor)


@contextmanager
def _outcomes(
    work: Work, due: list[Cell], place: Executor | int | None, store: Folder
) -> Iterator[Outcomes]:
    """The outcomes of cells as they come; what computes them is ended with the context."""
    with ExitStack() as stack:
        call: Direct | Sent = Direct(work)
        if due and place is not None and not isinstance(place, ThreadPoolExecutor):
            call = Sent(work)
        store.make()
        if isinstance(call, Sent) and (folder := _shared_folder(place, store, stack)) is not None:
            call.write(folder)
        if not due or place is None:
            outcomes = in_this_process(due, call)
        elif isinstance(place, Executor):
            outcomes = on_executor(due, call, place)
        else:
            module = getattr(work.function, "__module__", None) or "__main__"
            outcomes = on_workers(due, call, place, module)
        yield stack.enter_context(closing(outcomes))


def _shared_folder(place: Executor | int | None, store: Folder, stack: ExitStack) -> Path | None:
    """Where workers find large values; None where there is no place that they surely see."""
    if store.shared is not None or isinstance(place, Executor):
        return store.shared
    beside = os.environ.get(SCRATCH)
    return Path(stack.enter_context(TemporaryDirectory(prefix="cosimlib-sweep-", dir=beside)))


def _noted(error: Exception, cell: Cell) -> Exception:
    """A cell's error, with a note that says which cell it was."""
    told = ", ".join(f"{name}={value!r}" for name, value in cell.labels.items())
    error.add_note(f"in the cell {told}")
    return error


def _table(
    cells: list[Cell],
    varied: Iterable[str],
    rows: Mapping[str, list[dict[str, Any]] | None],
    failed: Mapping[str, Exception],
) -> pd.DataFrame:
    """The rows of all cells, in order; those that failed are a row with the error's text."""
    records = []
    for cell in cells:
        if cell.digest in failed:
            error = failed[cell.digest]
            records.append({**cell.labels, ERROR: f"{type(error).__name__}: {error}"})
        else:
            records += [{**cell.labels, **row} for row in rows[cell.digest] or ()]
    columns = {name: None for record in records for name in record if name != ERROR}
    table = pd.DataFrame(records, columns=list({**dict.fromkeys(varied), **columns}))
    if failed:
        table[ERROR] = [record.get(ERROR) for record in records]
        first = next(record for record in records if ERROR in record)
        share = f"{len(failed)} of {len(rows)} cells failed; see the column {ERROR!r}"
        warnings.warn(f"{share}. The first: {first}", SweepWarning, stacklevel=3)
    return table
