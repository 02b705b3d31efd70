"""What can be said of a machine whose nodes jobs share: what its series add up to.

Jobs that share nodes hold none of them alone, and how fast they were is not kept. Known is how much
useful work was done in each window of the schedule's own series, hence between edges of these.
"""

import numpy as np

from cosimlib.schedule import TimesharedSchedule


def useful_node_seconds(schedule: TimesharedSchedule, edges: np.ndarray) -> np.ndarray:
    """Useful node-seconds from each instant in `edges` to the next.

    Raises
    ------
    ValueError
        For an edge that cuts a window of the series in which somebody runs.
    """
    if not len(schedule.workload):
        return np.zeros(edges.size - 1)
    width, begin, end = schedule.width, schedule.start_time.min(), schedule.end_time.max()
    outside = (edges <= begin) | (edges >= end)
    cuts = ~outside & (edges % width != 0)
    if cuts.any():
        raise ValueError(
            f"{schedule.name}: t={edges[cuts.argmax()]:.15g} is inside a window of the series; "
            f"expected multiples of {width:.15g} s, or all from the first start to the last end"
        )
    done = schedule.series["utilization"].to_numpy() * width * schedule.system.total_nodes
    total = np.append(0.0, np.cumsum(done))
    place = np.clip(edges // width, 0, done.size).astype(np.int64)
    place = np.where(edges <= begin, 0, np.where(edges >= end, done.size, place))
    return np.diff(total[place])
