"""``python -m cosimlab.slurm``, the same as ``cosim-slurm``."""

import sys

from cosimlab.slurm.command import main

if __name__ == "__main__":
    sys.exit(main())
