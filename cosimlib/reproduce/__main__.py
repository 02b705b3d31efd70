"""`python -m cosimlib.reproduce`: run the notebooks whose results are out of date."""

# The processes that execute notebooks import this file too, and need none of the command.
if __name__ == "__main__":
    from cosimlib.reproduce.interrupts import leave_at_once

    leave_at_once()

    import sys

    from cosimlib.extras import needed_by

    try:
        with needed_by("python -m cosimlib.reproduce"):
            from cosimlib.reproduce.command import main
    except ImportError as error:
        sys.exit(str(error))
    sys.exit(main())
