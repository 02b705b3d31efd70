"""``cosim-advise``, or ``python -m cosimlab.advise``."""

import sys

from cosimlab.advise.command import main

if __name__ == "__main__":
    sys.exit(main())
