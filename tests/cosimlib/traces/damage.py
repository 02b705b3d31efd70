"""Files damaged at random: bytes cut out, doubled, swapped or changed, lines dropped or doubled.

Each must be a workload or a TraceError that names the file.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cosimlab.writers import write_csv, write_parquet
from cosimlib import traces
from cosimlib.traces import TraceError
from cosimlib.workload import Workload
from tests.cosimlib.traces.reading import DATA, fugaku_table, pm100_table

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


def sample(name: str, folder: Path) -> bytes:
    """A file of a format; parquet is made of the rows that are stored as CSV."""
    stored = DATA / name
    if stored.is_file():
        return stored.read_bytes()
    path = folder / f"sample-{Path(name).name}"
    if name.startswith("columns"):
        workload = traces.read_swf(DATA / "odd.swf", verbose=False)
        write = write_csv if name.endswith(".csv") else write_parquet
        write(workload, path)
    elif name == "pm100.parquet":
        pm100_table().to_parquet(path, index=False)
    else:
        fugaku_table().to_parquet(path, index=False)
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
