"""``python -m cosimlib.report``, the same as ``cosim-report``."""

import sys

from cosimlib.report.command import main

if __name__ == "__main__":
    sys.exit(main())
