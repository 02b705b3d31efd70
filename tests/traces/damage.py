"""Files damaged at random: bytes cut out, doubled, swapped or changed, lines dropped or doubled.

``python -m tests.traces.damage 10000`` reads so many damaged files per reader; each must be a
workload or a TraceError that names the file, within ten seconds.
"""

import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pandas as pd

from cosimlib import traces
from cosimlib.traces import TraceError
from cosimlib.workload import Workload
from tests.traces.reading import DATA, pm100_table

SAMPLES: dict[str, tuple[Callable[..., Workload], str]] = {
    "swf": (traces.read_swf, "odd.swf"),
    "frontier": (traces.read_swf, "frontier.swf"),
    "alcf": (traces.read_alcf, "polaris.csv"),
    "sacct-text": (traces.read_sacct, "slurm-24.11/sacct_X_parsable2_epoch.txt"),
    "sacct-json": (traces.read_sacct, "slurm-24.11/sacct.json"),
    "batsim-csv": (traces.read_batsim, "batsim-jobs.csv"),
    "batsim-json": (traces.read_batsim, "batsim-workload.json"),
    "pbs": (traces.read_pbs, "pbs-accounting"),
    "alibaba": (traces.read_alibaba, "alibaba/job_info_df.csv"),
    "fugaku-csv": (traces.read_fugaku, "fugaku.csv"),
    "fugaku": (traces.read_fugaku, "fugaku.parquet"),
    "pm100": (traces.read_pm100, "pm100.parquet"),
    "columns-csv": (traces.read_columns, "columns.csv"),
    "columns": (traces.read_columns, "columns.parquet"),
}
SPECIAL = b"|\n,{}[]\"0-:;=\xff n9.\x00e+K\x1f\r'()"
SECONDS = 10


def sample(name: str, folder: Path) -> bytes:
    """A file of a format; parquet is made of the rows that are stored as CSV."""
    stored = DATA / name
    if stored.is_file():
        return stored.read_bytes()
    path = folder / f"sample-{Path(name).name}"
    if name.startswith("columns"):
        workload = traces.read_swf(DATA / "odd.swf", verbose=False)
        write = traces.write_csv if name.endswith(".csv") else traces.write_parquet
        write(workload, path)
    elif name == "pm100.parquet":
        pm100_table().to_parquet(path, index=False)
    else:
        table = pd.read_csv(DATA / "fugaku.csv", parse_dates=["adt", "sdt", "edt"])
        table.to_parquet(path, index=False)
    return path.read_bytes()


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one to six damages."""
    content = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        if not content:
            return b""
        place, length = chance.randrange(len(content)), chance.randint(1, 40)
        kind = chance.randrange(7)
        if kind == 0:
            del content[place : place + length]
        elif kind == 1:
            content[place:place] = content[place : place + length]
        elif kind == 2:
            content[place] = chance.choice(SPECIAL)
        elif kind == 3:
            content[place] = chance.randrange(256)
        elif kind == 4:
            del content[place:]
        elif kind == 5:
            content[place:place] = str(10 ** chance.randrange(25)).encode()
        else:
            lines = bytes(content).split(b"\n")
            row = chance.randrange(len(lines))
            lines[row : row + 1] = [lines[row]] * chance.randrange(3)
            content = bytearray(b"\n".join(lines))
    return bytes(content)


def outcomes(name: str, trials: int, folder: Path, seed: int = 1) -> Counter[str]:
    """How many damaged files of a format were read, and how many refused with a TraceError."""
    read, stored = SAMPLES[name]
    whole, chance = sample(stored, folder), random.Random(seed)
    path = folder / Path(stored).name
    counts: Counter[str] = Counter()
    for trial in range(trials):
        path.write_bytes(damaged(whole, chance))
        try:
            workload = read(path, verbose=False)
        except TraceError as error:
            assert str(path) in str(error), f"trial {trial}: {error}"
            counts["refused"] += 1
        else:
            assert len(workload) and (workload.jobs["nodes"] >= 1).all(), f"trial {trial}"
            counts["read"] += 1
    return counts


def main(trials: int, names: list[str]) -> None:
    """Print the outcomes per reader, the slowest file, and the growth of memory."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"over {SECONDS} s")

    signal.signal(signal.SIGALRM, stop)
    for name in names or SAMPLES:
        read, stored = SAMPLES[name]
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            whole, chance = sample(stored, folder), random.Random(1)
            path = folder / Path(stored).name
            counts: Counter[str] = Counter()
            odd: dict[str, str] = {}
            slowest, before = 0.0, getrusage(RUSAGE_SELF).ru_maxrss
            for trial in range(trials):
                content = damaged(whole, chance)
                path.write_bytes(content)
                begin = time.perf_counter()
                signal.alarm(SECONDS)
                try:
                    counts["read" if len(read(path, verbose=False)) else "empty"] += 1
                except TraceError as error:
                    counts["refused" if str(path) in str(error) else "refused, no file"] += 1
                except Exception as error:
                    kind = f"{type(error).__name__}: {str(error)[:80]}"
                    counts["other error"] += 1
                    if kind not in odd:
                        Path(f"{tempfile.gettempdir()}/damaged-{name}-{trial}").write_bytes(content)
                        odd[kind] = str(trial)
                finally:
                    signal.alarm(0)
                slowest = max(slowest, time.perf_counter() - begin)
            grown = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                f"{name}: {dict(counts)}, slowest {slowest:.2f} s, memory +{grown:.0f} MB",
                flush=True,
            )
            for kind, first in odd.items():
                print(f"    trial {first}: {kind}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, sys.argv[2:])
