"""What an audit raises, and what it demands of every schedule."""

from cosimlib.schedule import Schedule


class InfeasibleScheduleError(AssertionError):
    """A simulator made a schedule that no system could have followed."""


def check_lengths(schedule: Schedule) -> None:
    """Raise where there is not one start and one end a job."""
    n = len(schedule.workload)
    for given, times in (("starts", schedule.start_time), ("ends", schedule.end_time)):
        if len(times) != n:
            raise InfeasibleScheduleError(
                f"{schedule.policy}: {len(times)} {given} for the {n} jobs "
                f"of {schedule.workload.name}"
            )
