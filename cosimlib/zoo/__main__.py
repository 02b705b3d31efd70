"""``make zoo``, or ``python -m cosimlib.zoo``."""

import sys

from cosimlib.zoo.command import main

if __name__ == "__main__":
    sys.exit(main())
