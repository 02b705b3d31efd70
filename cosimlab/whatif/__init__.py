"""What if the machine were another one: a log's own record, replayed without a policy.

Textbook policies explain little of the waits that logs record. So no policy is assumed: `what_if`
replays the record in its own order of starts, on the same machine and on the changed one, and the
effect is the ratio of the mean waits of the two. docs/what-if.md has the rule, and how often its
intervals held the truth where that is known.

- `what_if`: nodes, a run-time limit, users who are gone, other run times; `WhatIf`, its answer
- `compare_answers`: which of two changes shortens waits more; `Pair`
- `Reason`: why there is no number, with its kind
- `question_of`: the argument of `what_if` that a text such as ``"nodes=+10%"`` names
- `records_of`: the record of each pool of nodes of a log, `Record`
- `classify`: why each job waited, `Classes`: at once, capacity, follows, limited, held
- `replay`: the waits of a record on a changed machine
- `rules`: the frozen limits, each with its reason
"""

from cosimlab.whatif import rules
from cosimlab.whatif.answer import WhatIf, what_if
from cosimlab.whatif.changes import question_of
from cosimlab.whatif.comparing import Pair, compare_answers
from cosimlab.whatif.reasons import Reason
from cosimlab.whatif.record import CLASSES, Classes, Record, classify, records_of
from cosimlab.whatif.replaying import replay

__all__ = [
    "CLASSES",
    "Classes",
    "Pair",
    "Reason",
    "Record",
    "WhatIf",
    "classify",
    "compare_answers",
    "question_of",
    "records_of",
    "replay",
    "rules",
    "what_if",
]
