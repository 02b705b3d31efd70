"""Parameter sweeps: a function on a grid of arguments and seeds, in parallel, as one tidy table.

The function returns rows. One point of the grid with one seed is a *cell*. joblib computes the
cells: in this process, in worker processes (loky), or as `joblib.parallel_config` says, for example
on a Dask cluster. With a folder, each cell is a file, so that an interrupted sweep can continue::

    def waits(policy, seed):
        log = synthetic.lublin(1000, seed=seed)
        return metrics.summarize([SIMULATORS[policy](log, log.machine)])

    sweep(waits, {"policy": ["FCFS", "EASY"]}, range(20), executor="cores", folder="waits")
"""

import copyreg
import hashlib
import importlib.util
import inspect
import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import closing
from functools import cache, partial
from importlib import import_module
from itertools import product
from pathlib import Path
from threading import Thread
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar, Literal, NamedTuple

import joblib
import numpy as np
import pandas as pd
from joblib.hashing import NumpyHasher
from tqdm import tqdm

from cosimlab.folders import check_folder
from cosimlib import checks as check
from cosimlib.extras import needed_by
from cosimlib.files import write_whole

SEED, ERROR = "seed", "error"
PACKAGES = ("cosimlib", "cosimlab")
PAPERS = "papers"
"""Packages whose source decides what a cell computes: always, and where its function is of one."""
DELAY = 1.0
"""Seconds before a progress bar appears."""
WORKERS = "COSIMLIB_WORKERS"
"""Environment variable: how many processes ``executor="cores"`` means."""

Workers = int | Literal["cores"] | None
"""Where cells are computed; `sweep` says what each value means."""
Row = dict[str, Any]
Outcome = list[Row] | str
"""The rows of a cell, or the text of its error."""

# Functions in notebooks refer to packages that load their parts lazily; these modules have a class
# of their own, which cloudpickle does not know.
copyreg.pickle(type(sys.modules["cosimlib"]), lambda module: (import_module, (module.__name__,)))
copyreg.pickle(type(sys.modules["cosimlab"]), lambda module: (import_module, (module.__name__,)))


def _forget_workers() -> None:
    """In a forked process, forget the parent's workers: they are not ours, and never answer us."""
    loky: Any = sys.modules.get("joblib.externals.loky.reusable_executor")
    if loky is not None:
        loky._executor = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)


class SweepWarning(UserWarning):
    """Warning that cells of a sweep have failed."""


class BrokenSweepError(RuntimeError):
    """Workers of a sweep died, or cannot compute its cells."""


def sweep(
    function: Callable[..., Any],
    grid: Mapping[str, Any],
    seeds: Iterable[int] | None = None,
    *,
    shared: Mapping[str, Any] | None = None,
    executor: Workers = None,
    folder: str | Path | None = None,
    errors: Literal["table", "raise"] = "table",
) -> "SweepTable":
    """Table of a function's rows, for every point of a grid and every seed; computed in parallel.

    Parameters
    ----------
    function : function
        Called by keyword with one value of each argument in `grid`, with `seed` if there are
        seeds, and with all of `shared`. Returns rows: a dict, a list of dicts or a DataFrame, of
        numbers, texts, True, False and None; the named levels of a DataFrame's index are columns.
        It may be defined in a notebook.
    grid : dict of str to list or dict
        Values of each argument. The table shows numbers and texts as they are; functions, workloads
        and systems by their names; values of a dict by their keys.
    seeds : iterable of int, optional
        For example ``range(20)``.
    shared : dict of str to any, optional
        Arguments that are equal in every cell, such as a workload; the table does not show them.
    executor : int or "cores", optional
        Number of worker processes. ``"cores"``: one per core, or the number in the environment
        variable `COSIMLIB_WORKERS`. None: compute one cell after the other in this process, or use
        the backend of a surrounding `joblib.parallel_config`, such as ``"dask"``.
    folder : str or Path, optional
        Folder that stores the cells, one file each. A later call reads a finished cell from there
        if the function, the arguments and the source of this package are unchanged. A function is
        unchanged if its name, its compiled code, and the values and functions that it refers to are
        unchanged (of a function of an installed package: its name and code). Files that the
        function reads and versions of other packages are not checked.
    errors : {"table", "raise"}, default "table"
        What happens if the function raises an error. ``"table"``: the cell becomes one row with the
        text of the error in the column `error`, and a `SweepWarning` is issued. ``"raise"``: the
        error is raised, with a note that names the cell. The next call computes the cell again.

    Returns
    -------
    SweepTable
        A data frame: the arguments of the grid, `seed` if there are seeds, and the columns of the
        rows; in the order of the grid, with the last argument changing fastest, then the seeds; the
        order of computation does not matter. Its `to_xarray` gives an array per column instead.

    Raises
    ------
    ValueError
        Before anything runs: if arguments do not fit together, if a function or value cannot be
        sent to a worker, or if the path cannot be a folder.
    TypeError
        If the function does not return rows.
    BrokenSweepError
        If a worker process was killed. Finished cells stay in the folder, if there is one.
    OSError
        If the folder cannot be written, for example because the disk is full. The error names the
        folder. Finished cells stay.

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> def waits(order, seed):
    ...     log = cs.synthetic.lublin(500, load=0.8, seed=seed)
    ...     schedule = cs.simulate_fcfs(log, log.machine, order=order)
    ...     return {"wait": round(cs.metrics.wait_time(schedule).mean())}
    >>> lab.sweep(waits, {"order": ["submit", "smallest"]}, seeds=range(2))
          order  seed   wait
    0    submit     0  30516
    1    submit     1  38767
    2  smallest     0   2616
    3  smallest     1   1131
    """
    for name, given in (("grid", grid), ("shared", {} if shared is None else shared)):
        check.that(name, given, isinstance(given, Mapping), "a dict of values by argument")
    check.choice("errors", errors, ("table", "raise"))
    check.that("folder", folder, isinstance(folder, str | Path), "a path", none=True)
    common, columns = dict(shared or {}), [*grid, *([] if seeds is None else [SEED])]
    _check_function(function, [*columns, *common])
    workers, place = _workers(executor), None if folder is None else Path(folder)
    check_folder("folder", place or Path())
    source = package_digest(PACKAGES)
    key = [source, digest("function", function)]
    key += [f"{name}={digest(f'shared[{name!r}]', common[name])}" for name in sorted(common)]
    cells = _cells(grid, seeds, key)
    done = {cell.number: rows for cell in cells if (rows := _read(place, cell)) is not None}
    missing = [cell for cell in cells if cell.number not in done]
    bar = tqdm(
        total=len(cells),
        initial=len(done),
        desc=getattr(function, "__name__", None),
        unit="cell",
        delay=DELAY,
        leave=False,
        **bar_options(),
    )
    call, taken = partial(function, **common), [*columns, ERROR]
    constant = call, taken, errors == "raise", source, os.getpid()
    with bar, closing(_outcomes(partial(_compute, *constant), missing, workers)) as outcomes:
        for number, outcome in outcomes:
            done[number] = outcome
            if place is not None and not isinstance(outcome, str):
                _write(place, cells[number], outcome)
            bar.update()
    return _table(cells, columns, done)


class SweepTable(pd.DataFrame):
    """The data frame of a sweep, which knows the arguments of its grid.

    What is selected or computed from it is an ordinary data frame.
    """

    _metadata: ClassVar[list[str]] = ["_arguments"]
    _arguments: list[str]

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        """The class of what pandas makes from it."""
        return pd.DataFrame

    def to_xarray(self, *others: str) -> Any:
        """Arrays over the grid: one dimension per argument, and one for seeds.

        Parameters
        ----------
        *others : str
            Columns that are dimensions, too, where a cell has several rows.

        Returns
        -------
        xarray.Dataset
            A variable per remaining column.

        Raises
        ------
        ImportError
            If xarray is not installed; it is in the extra ``xarray``.
        ValueError
            If there is no such column, or several rows have the same place in the grid.

        Examples
        --------
        >>> import cosimlab as lab
        >>> def power(base, exponent):
        ...     return {"power": base**exponent}
        >>> table = lab.sweep(power, {"base": [2, 3], "exponent": [1, 2, 3]})
        >>> table.to_xarray()["power"].sel(base=3).values.tolist()
        [3, 9, 27]
        """
        with needed_by("to_xarray"):
            import xarray  # noqa: F401  pandas needs it
        for name in others:
            check.choice("others", name, [*self.columns])
        dimensions = list(dict.fromkeys([*self._arguments, *others]))
        repeated = self[self.duplicated(dimensions)]
        if not repeated.empty:
            first = repeated[dimensions].iloc[:1].to_dict("records")[0]
            place = ", ".join(f"{name}={value!r}" for name, value in first.items())
            raise ValueError(
                f"several rows with {place}; expected one: give to_xarray the names of columns "
                "that tell them apart"
            )
        return pd.DataFrame(self).set_index(dimensions).to_xarray()


def bar_options() -> dict[str, bool]:
    """Options of tqdm that hide a progress bar in files and pipes, and show it elsewhere.

    Returns
    -------
    dict
        Arguments of tqdm, which writes to the error stream.
    """
    stream = sys.stderr
    if stream is None or type(stream).__module__.startswith("ipykernel"):
        return {"disable": True} if stream is None else {}
    return {} if stream.isatty() else {"disable": True}


def count_cores() -> int:
    """Number of processes of ``executor="cores"``: `COSIMLIB_WORKERS`, or the number of cores."""
    given = os.environ.get(WORKERS, str(joblib.cpu_count()))
    number = int(given) if given.isdecimal() else given
    check.whole(WORKERS, number, 1, where="environment variable")
    return int(number)


def _workers(executor: Workers) -> int | None:
    """The number of workers, or None for what `joblib.parallel_config` says."""
    if executor == "cores":
        return count_cores()
    expected = "a number of processes, 'cores' or None (elsewhere: within joblib.parallel_config)"
    check.that("executor", executor, executor is None or check.is_whole(executor, 1), expected)
    return executor


def _check_function(function: Callable[..., Any], names: list[Any]) -> None:
    """Refuse arguments that the function does not know, and parameters that get nothing."""
    check.that("function", function, callable(function), "a function")
    for name in names:
        fine = isinstance(name, str) and name != ERROR and names.count(name) == 1
        check.that("name of an argument", name, fine, f"texts but {ERROR!r}, each of them once")
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except TypeError as error:
        raise ValueError(f"function: {error}; give values in grid, seeds or shared") from None


class _Cell(NamedTuple):
    """A point of the grid with a seed.

    Its place in the table, what the function gets, what the table shows of it, and the key that
    identifies its result.
    """

    number: int
    arguments: dict[str, Any]
    labels: Row
    key: str


def _cells(grid: Mapping[str, Any], seeds: Iterable[int] | None, key: list[str]) -> list[_Cell]:
    """All cells, the last argument fastest; `key` is what else their results depend on."""
    axes = {name: _axis(f"grid[{name!r}]", values) for name, values in grid.items()}
    if seeds is not None:
        axes[SEED] = _axis("seeds", seeds)
        for seed, *_ in axes[SEED]:
            check.whole("a seed", seed, 0)
    cells = []
    for number, values in enumerate(product(*axes.values())):
        point = dict(zip(axes, values, strict=True))
        labels, arguments, digests = ({n: point[n][part] for n in point} for part in range(3))
        text = "\n".join([*key, *sorted(map("=".join, digests.items()))])
        cells.append(_Cell(number, arguments, labels, hashlib.sha256(text.encode()).hexdigest()))
    return cells


def _axis(name: str, given: Any) -> list[tuple[Any, Any, str]]:
    """Label, value and digest of each value of one argument."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | set | frozenset)
    check.that(name, given, several, "a list of values, or a dict of values by label")
    pairs = given.items() if isinstance(given, Mapping) else [(_label(name, v), v) for v in given]
    axis = [(_number(label), _number(value), digest(name, value)) for label, value in pairs]
    check.that(name, [], bool(axis), "at least one value")
    label, times = Counter(label for label, _, _ in axis).most_common(1)[0]
    expected = "values that differ, or a dict of values by label"
    check.that(f"a repeated value of {name}", label, times == 1, expected)
    return axis


def _label(name: str, value: Any) -> Any:
    """What the table shows of a value: itself where it is plain, else its name."""
    if value is None or isinstance(value, str | bool | np.bool_) or check.is_number(value):
        return value
    for text in (getattr(value, "name", None), getattr(value, "__name__", None), str(value)):
        if isinstance(text, str) and 0 < len(text) <= 60 and " at 0x" not in text:
            return text
    raise ValueError(f"a {type(value).__name__} in {name} has no short name; give a dict by label")


def _number(value: Any) -> Any:
    """Python's own number in place of NumPy's."""
    return value.item() if isinstance(value, np.generic) else value


@cache
def package_digest(packages: tuple[str, ...]) -> str:
    """Hexadecimal digest of the source of packages, as it is on disk."""
    source = hashlib.sha256()
    for name in packages:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for path in sorted(Path(folder).rglob("*.py")):
                source.update(path.read_bytes())
    return source.hexdigest()


def digest(name: str, value: Any) -> str:
    """Hexadecimal digest of an argument's content; an error names the argument.

    Equal digits mean equal values; equal values that were made in different ways may differ.
    """
    try:
        return _Hasher().hash(value)
    except Exception as error:  # an object's own __reduce__ may raise anything
        raise ValueError(
            f"{name} cannot be identified by its content, nor sent to a worker: {error}; "
            "expected plain data, functions, or objects that can be pickled"
        ) from error


class _Hasher(NumpyHasher):
    """joblib's hash of a value, with functions by their code and what they refer to."""

    def save(self, obj: Any) -> None:
        """Pickle a value, or what identifies it."""
        if callable(obj) and not isinstance(obj, type | FunctionType):
            obj = getattr(obj, "__wrapped__", obj)  # kernels, cached functions
        if isinstance(obj, CodeType):
            obj = obj.co_code, obj.co_consts, obj.co_names, obj.co_varnames
        elif isinstance(obj, ModuleType):
            obj = obj.__name__, _source(obj.__name__)
        elif isinstance(obj, frozenset):
            obj = set(obj)
        super().save(obj)

    def save_function(self, function: FunctionType) -> None:
        """Pickle what identifies a function, which may refer to itself."""
        self.memoize(function)
        self.save(_parts(function))

    dispatch = NumpyHasher.dispatch | {FunctionType: save_function}


def _parts(function: FunctionType) -> tuple[Any, ...]:
    """A function's name, code, defaults, and the values that it encloses or, if a user's, reads."""
    code, cells = function.__code__, function.__closure__ or ()
    read = set() if _is_installed(function.__module__) else _names(code)
    known = {name: function.__globals__[name] for name in read & function.__globals__.keys()}
    enclosed = [cell.cell_contents for cell in cells]
    name = function.__module__, function.__qualname__, _source(function.__module__)
    return *name, code, function.__defaults__, function.__kwdefaults__, enclosed, known


def _source(module: str | None) -> str:
    """Digest of all papers for a module of theirs, which may use any other; else nothing."""
    root = (module or "").partition(".")[0]
    return package_digest((PAPERS,)) if root == PAPERS else ""


def _names(code: CodeType) -> set[str]:
    """Global names and attributes that a function's code reads, inner functions included."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_installed(module: str | None) -> bool:
    """Whether a module is of this package, of Python or installed, rather than a user's own."""
    root = (module or "").partition(".")[0]
    parts = Path(getattr(sys.modules.get(root), "__file__", None) or "").parts
    is_named = root in {*PACKAGES, PAPERS, *sys.stdlib_module_names}
    is_placed = not {"site-packages", "dist-packages"}.isdisjoint(parts)
    return root != "__main__" and (is_named or is_placed)


def _outcomes(compute: Callable[..., Any], cells: list[_Cell], workers: int | None) -> Any:
    """The number and the outcome of each cell, as they come."""
    ahead = 1000 if workers is None else "2 * n_jobs"  # a cluster may grow
    how = {"return_as": "generator_unordered", "pre_dispatch": ahead}
    try:
        parallel = joblib.Parallel(n_jobs=workers, **how)
    except ValueError as error:
        known = "expected a backend that can, such as 'loky', 'threading' or 'dask'"
        raise ValueError(f"results do not come one by one ({error}); {known}") from error
    try:
        yield from parallel(joblib.delayed(compute)(cell) for cell in cells)
    except BrokenExecutor as error:
        raise BrokenSweepError(
            f"{str(error).partition('. ')[0]}, perhaps as memory was full: use fewer processes; "
            "with a folder, the next call computes only cells that are missing"
        ) from error


def _compute(
    call: Callable,
    columns: list[str],
    raises: bool,
    source: str,
    caller: int,
    cell: _Cell,
) -> tuple[int, Outcome]:
    """The number and the outcome of one cell."""
    _end_with(caller)
    if package_digest(PACKAGES) != source:
        raise BrokenSweepError("a worker has another version of cosimlib; install the same there")
    try:
        result = call(**cell.arguments)
    except Exception as error:  # a sweep goes on whatever one cell does
        if not raises:
            return cell.number, f"{type(error).__name__}: {error}"
        labels = ", ".join(f"{name}={value!r}" for name, value in cell.labels.items())
        error.add_note(f"in the cell {labels}")
        raise
    return cell.number, _rows(result, columns)


@cache
def _end_with(caller: int) -> None:
    """End this process soon after its parent, where that is the caller and was killed."""

    def watch() -> None:
        while os.getppid() == caller:
            time.sleep(1.0)
        os._exit(1)

    if os.getppid() == caller:
        Thread(target=watch, daemon=True).start()


def _rows(result: object, taken: Collection[str]) -> list[Row]:
    """A function's result as rows of plain values."""
    if isinstance(result, pd.DataFrame):
        named = [name for name in result.index.names if name is not None]
        result = (result.reset_index(named) if named else result).to_dict("records")
    rows = [result] if isinstance(result, Mapping) else result
    if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
        expected = "a dict, a list of dicts or a DataFrame"
        raise TypeError(f"the function returned {result!r:.60}; expected {expected}")
    return [{name: _entry(name, row[name], taken) for name in row} for row in rows]


def _entry(name: Any, value: Any, taken: Collection[str]) -> bool | int | float | str | None:
    """A value that JSON holds exactly, in a column whose name is free."""
    plain = None if value is pd.NA or value is pd.NaT else _number(value)
    free = isinstance(name, str) and name not in taken
    if free and isinstance(plain, bool | int | float | str | None):
        return plain
    raise TypeError(
        f"the function returned {value!r:.60} in column {name!r}; expected a number, a text, True, "
        f"False or None, in a column with a name other than {', '.join(taken)}"
    )


def _read(folder: Path | None, cell: _Cell) -> list[Row] | None:
    """The rows of a cell that is done; None if it is not, or if the file is not this cell's."""
    if folder is None:
        return None
    try:
        content = json.loads((folder / f"{cell.key}.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("key") != cell.key:
        return None
    rows = content.get("rows")
    is_table = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return rows if is_table else None


def _write(folder: Path, cell: _Cell, rows: list[Row]) -> None:
    """Keep the rows of a cell; an error, such as a full disk, names the folder."""
    content = {"key": cell.key, "cell": cell.labels, "rows": rows}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{cell.key}.json", f"{json.dumps(content)}\n".encode())
    except OSError as error:
        reason = f"{error.strerror or error}; cells written until now stay"
        raise OSError(error.errno, reason, str(folder)) from error


def _table(cells: list[_Cell], columns: list[str], outcomes: Mapping[int, Outcome]) -> SweepTable:
    """The rows of all cells, in order; a cell that failed is a row with the text of its error."""
    records = []
    for cell in cells:
        outcome = outcomes[cell.number]
        rows = [{ERROR: outcome}] if isinstance(outcome, str) else outcome
        records += [{**cell.labels, **row} for row in rows]
    found = sorted((name for record in records for name in record), key=ERROR.__eq__)
    failed = [record for record in records if ERROR in record]
    table = SweepTable(records, columns=[*dict.fromkeys([*columns, *found])])
    table._arguments = columns
    if failed:
        share = f"{len(failed)} of {len(cells)} cells failed; see the column {ERROR!r}"
        warnings.warn(f"{share}. The first: {failed[0]}", SweepWarning, stacklevel=3)
    return table
