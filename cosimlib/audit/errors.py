"""What an audit raises."""


class InfeasibleScheduleError(AssertionError):
    """A simulator made a schedule that no system could have followed."""
