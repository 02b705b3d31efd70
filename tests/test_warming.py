"""What the runner compiles before several notebooks start at once."""

import subprocess
import sys
from pathlib import Path

import numba
import pytest

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
from numba.core.registry import CPUDispatcher
from cosimlib.reproduce.warming import warm
warm()
from cosimlib.eviction import backtracking, dynamic, greedy
from cosimlib.schedulers import backfilling
cold = [
    name for module in (backtracking, dynamic, greedy, backfilling)
    for name, value in vars(module).items()
    if isinstance(value, CPUDispatcher) and not value.signatures
]
print(cold)
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled without the JIT")
def test_every_kernel_of_solvers_and_simulators_is_compiled():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
