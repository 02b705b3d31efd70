"""Mutation testing of kernels: do the tests of a room notice if one of its kernels is wrong?

`python -m tests.mutations` changes one place of one kernel at a time (an arithmetic or comparison
operator, `min` for `max`, a constant, `and` for `or`, a statement dropped), runs the tests of the
file's room on a copy of the project, and tells which changes were *caught* (a test failed, or took
much too long) and which *survived*. Tests run interpreted first, where nothing is to be compiled,
and then, if none failed, compiled and with all their examples.

Results are kept in a file, one line per mutation, named by the kernel's text: a run that was
stopped goes on where it was, and a kernel that was edited is judged anew. Survivors are missing
tests, or *equivalent*: the kernel does the same, only differently.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from cosimlib.kernels.fingerprint import PACKAGE
from tests.mutants import ROOT, Mutation, mutations_of

RESULTS = ROOT / "data" / "cache" / "mutations.jsonl"
COPIED = (
    "cosimlib",
    "tests",
    "notebooks",
    "docs",
    "pyproject.toml",
    "data/claims.csv",
    "data/paper-scale.csv",
)
TRACES = os.environ.get("COSIMLIB_TRACES") or str(ROOT / "data" / "traces")
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
PATIENCE = 5.0
"""How many times as long as without a mutation tests may take, and a minute."""
IGNORED = ("tests/kernels/test_fingerprint.py", "tests/kernels/test_jit.py")
"""Tests of the compiler's cache, which look at no kernel."""
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no")


def rooms_of(file: str) -> tuple[str, ...]:
    """The folders of tests for a file of the package; for kernels that rooms share batch's, too."""
    room = Path(file).parts[1]
    return ("tests/kernels", "tests/batch") if room == "kernels" else (f"tests/{room}",)


def copied_project() -> Path:
    """A copy of what tests read, in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="mutations-"))
    for name in COPIED:
        (folder / name).parent.mkdir(exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def failing(
    folder: Path, rooms: Sequence[str], *, compiled: bool, limit: float | None = None
) -> str:
    """The first test of some rooms that fails in a copy, ``"too long"``, or nothing."""
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": "0" if compiled else "1",
        "COSIMLIB_TRACES": TRACES,
        "COSIMLIB_WORKERS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    run = [sys.executable, "-m", "pytest", *rooms, *OPTIONS]
    run += [f"--ignore={path}" for path in IGNORED]
    try:
        done = subprocess.run(
            run, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return "too long"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0] if lines else f"ended with {done.returncode}"


class Judge:
    """Runs the tests of rooms on mutations, each in one of some copies, and keeps what it saw."""

    def __init__(self, jobs: int, compiled: bool, results: Path) -> None:
        self.compiled, self.results = compiled, results
        self.limits: dict[tuple[tuple[str, ...], bool], float] = {}
        self.measuring = Lock()
        self.copies: SimpleQueue[Path] = SimpleQueue()
        for _ in range(jobs):
            self.copies.put(copied_project())

    def judge(self, mutation: Mutation) -> None:
        """Whether a mutation is caught, and by what."""
        folder, rooms = self.copies.get(), rooms_of(mutation.file)
        try:
            found = self._found(folder, mutation, rooms, False)
            if not found and self.compiled:
                found = self._found(folder, mutation, rooms, True)
        finally:
            self.copies.put(folder)
        row = {"key": mutation.key, "mutation": str(mutation), "caught": bool(found), "by": found}
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(f"{'caught' if found else 'SURVIVED':9}{mutation}", flush=True)

    def _found(
        self, folder: Path, mutation: Mutation, rooms: tuple[str, ...], compiled: bool
    ) -> str:
        """What of the rooms' tests fails on a mutation."""
        limit, path = self._limit(folder, rooms, compiled), folder / mutation.file
        whole = path.read_bytes()
        try:
            path.write_text(mutation.text(), encoding="utf-8")
            return failing(folder, rooms, compiled=compiled, limit=limit)
        finally:
            path.write_bytes(whole)

    def _limit(self, folder: Path, rooms: tuple[str, ...], compiled: bool) -> float:
        """Seconds that the rooms' tests may take, measured without a mutation; they must pass."""
        with self.measuring:
            if (rooms, compiled) not in self.limits:
                begin = time.perf_counter()
                if found := failing(folder, rooms, compiled=compiled):
                    raise RuntimeError(f"{' '.join(rooms)} fails without a mutation: {found}")
                seconds = time.perf_counter() - begin
                self.limits[rooms, compiled] = PATIENCE * seconds + 60
                how = "compiled" if compiled else "interpreted"
                print(f"{' '.join(rooms)}, {how}: {seconds:.0f} s without a mutation", flush=True)
            return self.limits[rooms, compiled]

    def close(self) -> None:
        """Remove the copies."""
        while not self.copies.empty():
            shutil.rmtree(self.copies.get(), ignore_errors=True)


def chosen(places: Sequence[str], sample: int, seed: int) -> list[Mutation]:
    """Mutations of the package's kernels, or of those in some places; some of them, at random."""
    every = [each for path in sorted(PACKAGE.rglob("*.py")) for each in mutations_of(path)]
    if places:
        every = [each for each in every if _place(each).startswith(tuple(places))]
    random.Random(seed).shuffle(every)
    return every[:sample] if sample else every


def _place(mutation: Mutation) -> str:
    """Room, file and kernel, such as ``batch/plan.py:compress``."""
    return f"{mutation.file.removeprefix(f'{PACKAGE.name}/')}:{mutation.kernel}"


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
    parser.add_argument(
        "--jobs", type=int, default=int(os.environ.get("JOBS", "1")), help="at once"
    )
    parser.add_argument("--interpreted", action="store_true", help="do not compile for survivors")
    parser.add_argument("--results", type=Path, default=RESULTS, help="default: %(default)s")
    parser.add_argument("--list", action="store_true", help="only tell the mutations")
    asked = parser.parse_args()
    mutations = chosen(asked.places, asked.sample, asked.seed)
    if asked.list:
        print(*mutations, sep="\n")
        return 0
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    before = earlier(asked.results)
    left = [each for each in mutations if each.key not in before]
    print(f"{len(mutations)} mutations, {len(mutations) - len(left)} of them judged before")
    if left:
        judge = Judge(asked.jobs, not asked.interpreted, asked.results)
        try:
            with ThreadPoolExecutor(asked.jobs) as pool:
                list(pool.map(judge.judge, left))
        finally:
            judge.close()
        before = earlier(asked.results)
    rows = [before[each.key] for each in mutations]
    caught = sum(row["caught"] for row in rows)
    print(f"{caught} of {len(rows)} caught ({caught / max(1, len(rows)):.0%}); survived:")
    print(*(row["mutation"] for row in rows if not row["caught"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
