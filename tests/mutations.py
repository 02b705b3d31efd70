"""Mutation testing of kernels: do the tests of a room notice if one of its kernels is wrong?

`python -m tests.mutations` changes one place of one kernel at a time (an arithmetic or comparison
operator, `min` for `max`, a constant, `and` for `or`, a statement dropped), runs the tests of the
file's room that enter the kernel, interpreted (`judging` tells how), and tells which changes were
*caught* (a test failed, or took much too long) and which *survived*. A sample takes as many
mutations of each file as it can.

Results are kept in a file, one line per mutation, named by the kernel's text: a run that was
stopped goes on where it was, and a kernel that was edited is judged anew. Survivors are missing
tests, or *equivalent*: the kernel does the same, only differently. Those that were found to be so
are listed with a reason in `equivalents`, and do not count.
"""

import argparse
import ast
import json
import multiprocessing
import os
import random
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import chain, groupby, zip_longest
from pathlib import Path

import pytest

from cosimlib.kernels.fingerprint import PACKAGE
from tests.equivalents import EQUIVALENTS
from tests.mutants import ROOT, Mutation, mutations_of

RESULTS = ROOT / "data" / "cache" / "mutations.jsonl"
LEFT_OUT = ("tests/kernels/test_fingerprint.py", "tests/kernels/test_jit.py")
"""Tests of the compiler's cache, which look at no kernel."""
OPTIONS = ("-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-m", "not browser")
PLAIN = {"NUMBA_DISABLE_JIT": "1", "COSIMLIB_WORKERS": "1", "TQDM_DISABLE": "1"}
"""Environment of the processes that judge."""


def rooms_of(file: str) -> tuple[str, ...]:
    """The folders of tests for a file of the package.

    For kernels that rooms share they are those of batch, too, or else of all that use them.
    """
    room, name = Path(file).parts[1:3]
    if room != "kernels":
        return (f"tests/{room}",)
    users = _users(Path(name).stem)
    return ("tests/kernels", *(f"tests/{each}" for each in sorted(users & {"batch"} or users)))


def _users(module: str) -> set[str]:
    """Rooms with kernels that import a module of shared kernels, or one that imports it."""
    rooms: set[str] = set()
    for path, imported in _imported_kernels().items():
        if {module, "jit"} <= imported:
            room = path.parts[0]
            rooms |= _users(path.stem) if room == "kernels" else {room}
    return rooms


@cache
def _imported_kernels() -> dict[Path, set[str]]:
    """For every file of the package, the modules of shared kernels that it imports."""
    shared, found = f"{PACKAGE.name}.kernels", {}
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names = {alias.name for node in froms if node.module == shared for alias in node.names}
        inside = {str(node.module).removeprefix(f"{shared}.") for node in froms}
        found[path.relative_to(PACKAGE)] = names | inside
    return found


def judge(rooms: Sequence[str], mutations: Sequence[Mutation], results: Path) -> None:
    """Run the tests of rooms on mutations, and note for each what it was caught by."""
    from tests.judging import Judge

    plugin = Judge(mutations, partial(noted, results))
    asked = [*rooms, *OPTIONS, *(f"--ignore={path}" for path in LEFT_OUT)]
    if pytest.main(asked, plugins=[plugin]) != pytest.ExitCode.OK:
        raise RuntimeError(f"{' '.join(rooms)}: tests fail without a mutation")


def noted(results: Path, mutation: Mutation, found: str) -> None:
    """Add what became of a mutation to the file of results."""
    row = {"key": mutation.key, "mutation": str(mutation), "caught": bool(found), "by": found}
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{'caught' if found else 'SURVIVED':9}{mutation}", flush=True)


def chosen(places: Sequence[str], sample: int, seed: int) -> list[Mutation]:
    """Mutations of the package's kernels, or of those in some places; a sample takes file by file
    in turn, at random within a file."""
    files = [list(mutations_of(path)) for path in sorted(PACKAGE.rglob("*.py"))]
    if places:
        files = [[m for m in each if _place(m).startswith(tuple(places))] for each in files]
    if not sample:
        return list(chain(*files))
    for each in files:
        random.Random(f"{seed} {each[0].file if each else ''}").shuffle(each)
    in_turn = chain(*zip_longest(*files))
    return [each for each in in_turn if each is not None][:sample]


def _place(mutation: Mutation) -> str:
    """Room, file and kernel, such as ``batch/plan.py:compress``."""
    return f"{mutation.file.removeprefix(f'{PACKAGE.name}/')}:{mutation.kernel}"


def equivalent(mutation: Mutation) -> bool:
    """Whether a mutation is listed as one that changes nothing."""
    return mutation.change in EQUIVALENTS.get(_place(mutation), {})


def outdated() -> list[str]:
    """Entries of `equivalents` that are no change of a kernel any more."""
    files = sorted({PACKAGE / place.split(":")[0] for place in EQUIVALENTS})
    there = {(_place(each), each.change) for path in files for each in mutations_of(path)}
    listed = [(place, change) for place, changes in EQUIVALENTS.items() for change in changes]
    return [f"{place}: {change}" for place, change in listed if (place, change) not in there]


def earlier(results: Path) -> dict[str, dict]:
    """Results of mutations that were judged before, by their names."""
    if not results.exists():
        return {}
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return {row["key"]: row for row in rows}


def main() -> int:
    """Judge mutations and tell the share that is caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    told = "such as batch, batch/plan.py or batch/plan.py:compress; default: all"
    parser.add_argument("places", nargs="*", help=told)
    parser.add_argument("--sample", type=int, default=200, help="how many; 0: all (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", "1")),
                        help="rooms at once")  # fmt: skip
    parser.add_argument("--again", action="store_true", help="judge earlier survivors anew")
    parser.add_argument("--results", type=Path, default=RESULTS, help="default: %(default)s")
    parser.add_argument("--list", action="store_true", help="only tell the mutations")
    asked = parser.parse_args()
    mutations = chosen(asked.places, asked.sample, asked.seed)
    if asked.list:
        print(*mutations, sep="\n")
        return 0
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    before = earlier(asked.results)
    known = {key for key, row in before.items() if row["caught"] or not asked.again}
    left = [each for each in mutations if each.key not in known and not equivalent(each)]
    print(f"{len(mutations)} mutations, {len(mutations) - len(left)} of them judged before")
    for each in outdated():
        print(f"listed as equivalent, but there is none: {each}")
    judge_all(left, asked.jobs, asked.results)
    return tell(mutations, earlier(asked.results))


def judge_all(mutations: Sequence[Mutation], jobs: int, results: Path) -> None:
    """Judge mutations room by room, each room in a process of its own."""
    os.environ |= PLAIN
    rooms = groupby(sorted(mutations, key=lambda each: rooms_of(each.file)),
                    key=lambda each: rooms_of(each.file))  # fmt: skip
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawn, max_tasks_per_child=1) as pool:
        asked = [pool.submit(judge, room, list(each), results) for room, each in rooms]
        for each in asked:
            each.result()


def tell(mutations: Sequence[Mutation], results: dict[str, dict]) -> int:
    """Print how many are caught, and what survived; 1 where anything did."""
    same = [each for each in mutations if equivalent(each)]
    left = [each for each in mutations if each not in same]
    rows = [results[each.key] for each in left]
    survived = [each for each, row in zip(left, rows, strict=True) if not row["caught"]]
    caught = len(rows) - len(survived)
    print(f"{len(same)} of {len(mutations)} are equivalent; of the other {len(rows)} "
          f"{caught} are caught ({caught / max(1, len(rows)):.1%}); survived:")  # fmt: skip
    print(*survived, sep="\n")
    return int(bool(survived))


if __name__ == "__main__":
    sys.exit(main())
