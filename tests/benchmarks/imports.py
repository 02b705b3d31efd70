"""Processor time of the front door: `import cosimlib` in a new process."""

import statistics
import subprocess
import sys

TIMED = """
import time
begin = time.process_time()
import cosimlib
print(time.process_time() - begin)
"""


def import_rows(repeat: int = 7) -> list[tuple]:
    """The median of several new processes, after one that fills the caches of bytecode."""
    command = [sys.executable, "-c", TIMED]
    runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(repeat + 1)]
    seconds = statistics.median(float(run.stdout) for run in runs[1:])
    return [("import cosimlib: processor time", seconds, "s", "<= 0.15")]
