"""``python -m cosimlab.identify``."""

import sys

from cosimlab.identify.command import main

if __name__ == "__main__":
    sys.exit(main())
