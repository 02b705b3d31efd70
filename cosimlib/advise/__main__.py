"""``cosim-advise``, or ``python -m cosimlib.advise``."""

import sys

from cosimlib.advise.command import main

if __name__ == "__main__":
    sys.exit(main())
