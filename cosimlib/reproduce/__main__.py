"""`python -m cosimlib.reproduce`: run the notebooks whose results are out of date."""

# The processes that execute notebooks import this file too, and need none of the command.
if __name__ == "__main__":
    import sys

    from cosimlib.reproduce.command import main

    sys.exit(main())
