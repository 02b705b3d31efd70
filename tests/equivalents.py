"""Mutations of kernels that no test can notice, for they change nothing, each with a reason."""

_ONE_BY_ONE = "equal neighbors that do not move together move right after, to the same moment"
_MORE_WORK = (
    "bounds of holes and of moments only spare work: a job that is looked at all the same has its "
    "earliest start, found from the profile, and stays"
)

_UNUSED = "room for one more, which is not used"
_NONE = "any number below 0 says that there is none"
_LISTED = "whether reservations are in the heap or not only decides where the next one is looked up"
_LISTED_TWICE = "a job that is in the heap is listed again at the moment at which it is there"
_NO_START = "no reservation is at either infinity"
_ROUNDING = "a relative change of 1e-13 is rounding, which may be taken or left"
_EITHER = "of two bottlenecks with the same level either will do, with the same rate"
_SUMMED_ANEW = "the sum is kept by whatever moves rates; anew it is the same but for rounding"
_LOOKS_ANEW = "all nodes of the job are then looked at, which finds the limit that it had"
_ONCE_MORE = "the level is then computed once more, from limits that do not bind: the same"
_NO_LIMIT = "without a limit the bound is infinite, and nobody asks which node it is of"

_WANTS = "every job wants a node, so that none starts where none is free"
_ONE_BLOCK = "the same jobs lie in the same order, in blocks made anew one block sooner or later"
_RESERVED_NOW = "jobs get now the reservations that they would get if they were looked at later"
_KNOWN_LESS = (
    "while nodes are only taken, what was known of a kind before stays true: less is spared"
)
_WHOLE_PASS = "a pass over the whole queue starts what a look at the new job alone would"
_STRIDES = "what is not passed over in strides is passed over one by one"
_MOST = "`TAKEN` is the largest number of its kind"
_EITHER_SIDE = "either side may make room, if there is any"

EQUIVALENTS: dict[str, dict[str, str]] = {
    "batch/compression.py:compress": {
        "-np.inf -> +np.inf": _MORE_WORK,
        "holes.begin_pass(plan.holes) -> dropped": _MORE_WORK,
        "holes.end_pass(plan.holes) -> dropped": _MORE_WORK,
        "start <= holes.any_since(plan.holes, kind) -> start < holes.any_since(plan.holes, kind)": (
            _MORE_WORK
        ),
        "room >= 2 * nodes -> room > 2 * nodes": _ONE_BY_ONE,
        "2 * nodes -> 3 * nodes": _ONE_BY_ONE,
        "plan.unlisted[0] < np.inf -> plan.unlisted[0] <= np.inf": _LISTED_TWICE,
        "moment == start -> moment > start": "a job that moves to where it is changes nothing",
        "(-np.inf, 0, 0, -np.inf) -> (-np.inf, 0, 1, -np.inf)": _NO_START,
        "-np.inf -> +np.inf [2]": _NO_START,
        "-np.inf -> +np.inf [3]": _NO_START,
        "moment <= now -> moment < now": (
            "a job that moves to now is listed as due, and the loop starts it at the same instant"
        ),
    },
    "batch/conservative.py:_replanned": {
        "planned > 0 -> planned > 1": _LISTED,
        "planned > 0 -> planned >= 0": _LISTED,
    },
    "batch/plan.py:renew": {
        "extend(jobs, plan, started, order, 0, now, free, np.inf, False) -> "
        "extend(jobs, plan, started, order, 0, now, free, np.inf, True)": _LISTED,
    },
    "batch/plan.py:_reserve": {
        "max(now, holes.none_before(plan.holes, kind)) -> "
        "min(now, holes.none_before(plan.holes, kind))": (
            "the search begins now, at the profile's first moment, and finds nothing before the "
            "moment before which there is nothing"
        ),
        "place - 1 -> place - 2": "any place before the first is passed by it",
        "place - 1 -> place + 1": _RESERVED_NOW,
        "place > wanted -> place >= wanted": "it is asked twice whether that job begins in time",
        "place > wanted -> place <= wanted": _RESERVED_NOW,
        "wanted == order.size -> wanted > order.size": _RESERVED_NOW,
        "holes.learn(plan.holes, kind, moment) -> dropped": _KNOWN_LESS,
        "holes.learn(plan.holes, kind, moment) -> dropped [2]": _KNOWN_LESS,
    },
    "batch/easy.py:_in_order": {
        "(total_nodes, 0, -np.inf, total_nodes) -> (total_nodes, 1, -np.inf, total_nodes)": (
            "the head is asked for only once it is found, together with its shadow time"
        ),
        "now <= shadow_time -> now < shadow_time": _WHOLE_PASS,
        "rank[head] <= rank[new] -> rank[head] < rank[new]": _WHOLE_PASS,
        "new + 1 -> new - 1": _WHOLE_PASS,
        "free > 0 -> free >= 0": _WANTS,
        "free > 0 -> free >= 0 [2]": (
            "nothing starts where no node is free; once one is, the head is found anew"
        ),
        "counts[WAITING] > 1 -> counts[WAITING] >= 1": (
            "the promise to a head that waits alone is the one that it has when another job comes"
        ),
    },
    "batch/easy.py:_promise": {
        "(FOREVER, 0) -> (FOREVER, 1)": "every job ends by then, and needs no extra nodes",
    },
    "batch/fcfs.py:_in_order_of_submission": {
        "ends[0][0] <= now -> ends[0][0] < now": (
            "nodes that come free now are still taken back if the job lacks them, and else later"
        ),
    },
    "batch/fcfs.py:_in_order": {
        "free > 0 -> free >= 0": _WANTS,
    },
    "batch/loop.py:_forget_started": {
        "counts[FIRST] < counts[LAST] -> counts[FIRST] >= counts[LAST]": (
            "the loop behind it closes gaps at the front, too; the first only saves it work"
        ),
    },
    "coscheduling/simulation.py:_change": {
        "state.machine.needs_pass[machine] = 1 -> state.machine.needs_pass[machine] = 2": (
            "a machine has a pass where this is not 0"
        ),
        "1 -> 2": "that some went down is asked as above 0 only",
    },
    "coscheduling/kernel.py:_ranked": {
        "fitting + 1 -> fitting + 2": _UNUSED,
        "fitting += 1 -> fitting += 2 [3]": (
            "one too many of the jobs is asked for, of which there are no more"
        ),
    },
    "elastic/kernel.py:_empty_log": {
        "(0, 0, 0.0, 0.0, 0, 0) -> (0, 0, 0.0, 0.0, 1, 0)": (
            "what is in an empty list only gives it a type"
        ),
    },
    "elastic/waste.py:_cover": {
        "wanted + 1 -> wanted + 2": _UNUSED,
        "wanted + 1 -> wanted + 2 [2]": _UNUSED,
    },
    "elastic/waste.py:_waste": {"-1 -> -2": _NONE, "-1 -> -2 [2]": _NONE},
    "eviction/search.py:_search": {
        "visits > 0 -> visits >= 0": "one choice more is tried between two readings of the clock",
    },
    "eviction/overlapping.py:_fill_backwards": {
        "table[0, 0] = 0.0 -> table[0, 0] = 1.0": (
            "all cells are one node-millisecond more, and the least stays the least"
        ),
    },
    "eviction/dynamic.py:relax": {
        "from_kill[cell] + kill < best -> from_kill[cell] + kill <= best": (
            "of plans that lose and block as little, another is taken"
        ),
    },
    "eviction/dynamic.py:_algorithm_1": {
        "b[to, t] > a[n, t] + loss[job] -> b[to, t] >= a[n, t] + loss[job]": (
            "of plans that lose as little, another is taken"
        ),
    },
    "eviction/overlapping.py:plan_overlapping": {
        "min(jobs.nodes[:job].sum() + 1, nodes_needed) -> "
        "max(jobs.nodes[:job].sum() + 1, nodes_needed)": (
            "more cells are filled; no least plan passes them, for a job less would do"
        ),
    },
    "eviction/plan.py:order_of_writes": {
        "writes.release[job] + writes.app_write[job] -> "
        "writes.release[job] - writes.app_write[job]": (
            "a write that would end after the horizon has no length and is released at its end; "
            "any other ends within it"
        ),
    },
    "filling/slots.py:_compress": {
        "start < last_start -> start <= last_start": (
            "an equal job with the same reservation is searched for from now on, in vain up to the "
            "moment before which there was nothing for the previous one"
        ),
    },
    "kernels/availability.py:min_free": {
        "place + 1 -> place + 2 [3]": (
            "the last breakpoint is left out, from which on all nodes are free: no minimum is there"
        ),
    },
    "kernels/holes.py:empty": {
        "np.zeros(1, np.int64) -> np.zeros(2, np.int64)": _UNUSED,
        "class_of(total_nodes) + 1 -> class_of(total_nodes) + 2": _UNUSED,
    },
    "kernels/holes.py:forget": {
        "holes.coming[:] = np.inf -> dropped": (
            "they are read at the end of a pass only, and each pass begins with none"
        ),
        "REMEMBERED + 1 -> REMEMBERED + 2": "any number above `REMEMBERED` is too many",
        "REMEMBERED + 1 -> REMEMBERED - 1": (
            "the holes opened since are then looked at one by one, without which no job has an "
            "earlier start than that of the plan made anew"
        ),
    },
    "kernels/holes.py:first_since": {
        "first >= start -> first > start": (
            "either answer is not before the start, which is all that is asked"
        ),
    },
    "kernels/holes.py:note": {
        "-1 -> -2 [3]": "no class is below either",
        "left - STRIDE >= first -> left - STRIDE > first": _STRIDES,
        "right + STRIDE <= last -> right + STRIDE < last": _STRIDES,
    },
    "kernels/holes.py:_all_free": {
        "fine = True -> fine = False": _STRIDES,
        "free[place] >= nodes -> free[place] > nodes": _STRIDES,
    },
    "kernels/holes.py:_lower": {
        "beginnings[origin + length] > moment -> beginnings[origin + length] >= moment": (
            "what begins at the moment already is written as it was"
        ),
    },
    "kernels/ranked.py:_most_blocks": {
        "2 * waiting // FILLED + 16 -> 2 * waiting // FILLED + 17": _ONE_BLOCK,
    },
    "kernels/ranked.py:submit": {
        "counts[BLOCKS] > _most_blocks(counts[WAITING]) -> "
        "counts[BLOCKS] >= _most_blocks(counts[WAITING])": _ONE_BLOCK,
    },
    "kernels/ranked.py:fits": {
        "place + 1 -> place + 2": "only whether the first of the places is found is asked",
    },
    "kernels/ranked.py:next_fitting": {
        "(_highest(ranked, jobs, free, now, shadow_time, extra), 0) -> "
        "(_highest(ranked, jobs, free, now, shadow_time, extra), 1)": (
            "where scores decide, every search is one of all blocks"
        ),
        "(-1, 0) -> (-1, 1)": "a search that found none does not go on",
        "-1 -> -2": _NONE,
    },
    "kernels/ranked.py:_highest": {
        "-1 -> -2": _NONE,
        "-1.0 -> -2.0": "no score is below 0",
        "most > best -> most >= best": "of such a block no score is higher, and it changes nothing",
    },
    "kernels/ranked.py:_block_of": {
        "low + high + 1 -> low + high + 2": (
            "the search halves what is left anywhere above the low end, and not above the high one"
        ),
    },
    "kernels/ranked.py:_make_anew": {
        "waiting.wanted[place] != TAKEN -> waiting.wanted[place] < TAKEN": _MOST,
    },
    "kernels/ranked.py:_bound": {
        "ranked.waiting.wanted[place] != TAKEN -> ranked.waiting.wanted[place] < TAKEN": _MOST,
    },
    "kernels/rising.py:reserve": {
        "jobs > 1 -> jobs >= 1": "of one job the room that was found holds one",
    },
    "kernels/sieve.py:empty": {
        "n // BLOCK -> n * BLOCK": "more blocks than the queue fills, of which none is read",
    },
    "kernels/sieve.py:search": {"free > 0 -> free >= 0": _WANTS},
    "kernels/shifts.py:make_room": {
        "first > 0 -> first > 1": _EITHER_SIDE,
        "place - first < last - place -> place - first <= last - place": _EITHER_SIDE,
        "place - first < last - place -> place - first >= last - place": _EITHER_SIDE,
        "place - first -> place + first": _EITHER_SIDE,
        "last - place -> last + place": _EITHER_SIDE,
    },
    "kernels/sorting.py:ascending": {
        "first + 1 -> first - 1": "a number is not moved past the first of its stretch",
        "width < size -> width <= size": "all is merged with nothing, and stays as it is",
    },
    "ondemand/kernel.py:_next_to_kill": {"-1 -> -2": _NONE},
    "ondemand/state.py:start_job": {
        "own.stage = RUNNING -> dropped": (
            "the stage is asked when a job is called or submitted; no job has begun by then, for "
            "calls come before submissions"
        ),
    },
    "timesharing/maxmin.py:join": {
        "mine < level -> mine <= level": _EITHER,
        "-1 -> +1": "a job has a node, whose finite level takes the place of what stood there",
        "-1 -> -2": _NONE,
        "-1 -> -2 [2]": _NONE,
        "(0.0, -1) -> (1.0, -1)": (
            "where this bound lets a job become too fast, its other nodes are settled after that"
        ),
    },
    "timesharing/maxmin.py:_settle_node": {
        "new > lowest -> new >= lowest": (
            "no job rises; limits below its rate are of nodes that are still to be settled"
        ),
        "new != level and (not abs(new - level) <= TOLERANCE * min(new, level)) -> "
        "new != level or not abs(new - level) <= TOLERANCE * min(new, level)": _ROUNDING,
        "abs(new - level) <= TOLERANCE * min(new, level) -> "
        "abs(new - level) < TOLERANCE * min(new, level)": _ROUNDING,
        "new - level -> new + level": _ROUNDING,
        "1.0 - TOLERANCE -> 1.0 + TOLERANCE": _ROUNDING,
        "1.0 - TOLERANCE -> 1.0 + TOLERANCE [2]": _ROUNDING,
        "new < sharing.jobs[job].rate * (1.0 - TOLERANCE) -> "
        "new <= sharing.jobs[job].rate * (1.0 - TOLERANCE)": _ROUNDING,
        "max(sharing.jobs[job].bound, sharing.jobs[job].rate * (1.0 - TOLERANCE)) > new -> "
        "max(sharing.jobs[job].bound, sharing.jobs[job].rate * (1.0 - TOLERANCE)) >= new": _EITHER,
        "sharing.limit[place] < new -> sharing.limit[place] <= new": _EITHER,
        "new == np.inf -> new != np.inf": _SUMMED_ANEW,
        "new == np.inf -> new > np.inf": _SUMMED_ANEW,
        "sharing.used[node] = used -> dropped": _SUMMED_ANEW,
    },
    "timesharing/maxmin.py:_find_limits": {
        "(False, sharing.level[node]) -> (True, sharing.level[node])": _ONCE_MORE,
        "sharing.jobs[job].bound >= wanted -> sharing.jobs[job].bound > wanted": _ONCE_MORE,
        "sharing.limit[place] < wanted -> sharing.limit[place] <= wanted": _ONCE_MORE,
        "at < 0 -> at <= 0": _LOOKS_ANEW,
        "at < 0 -> at >= 0": _LOOKS_ANEW,
        "at < 0 -> at < 1": _LOOKS_ANEW,
        "at == node -> at != node": _LOOKS_ANEW,
        "at == node -> at > node": _LOOKS_ANEW,
        "limit < np.inf -> limit <= np.inf": _NO_LIMIT,
        "-1 -> +1": _NO_LIMIT,
        "-1 -> -2": _NONE,
    },
    "timesharing/placement.py:_place_anywhere": {
        "loads.least[block] >= bound + (wanted > 0) -> loads.least[block] > bound + (wanted > 0)": (
            "a block is looked at in which no node is taken"
        ),
    },
}
"""By room, file and kernel: the change, as `tests.mutations` tells it, and why nothing changes."""
