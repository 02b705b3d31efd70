"""``python -m cosimlab.report``, the same as ``cosim-report``."""

import sys

from cosimlab.report.command import main

if __name__ == "__main__":
    sys.exit(main())
