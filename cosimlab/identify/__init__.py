"""Which rule made a schedule: FCFS, first fit, EASY, conservative backfilling, or none of them.

Simulators of "EASY backfilling" rarely agree, because the name leaves details open, and some do not
do what their papers say. `identify` compares a schedule with 269 rules. It judges each
decision by itself, and shows the first one that no rule explains, with the few jobs that decide it.

- `identify`, `Identification`: the shares of all rules, and the nearest
- `Witness`: a decision that a rule would not make
- `RULES`: the rules by name
- the command ``python -m cosimlab.identify jobs.csv``
"""

from cosimlab.identify.identification import Identification, identify
from cosimlab.identify.rules import RULES
from cosimlab.identify.witness import Witness

__all__ = ["RULES", "Identification", "Witness", "identify"]
