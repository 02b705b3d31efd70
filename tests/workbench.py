"""The workbench without extras: ``python workbench.py``; 1 where a name of its door is broken.

It needs the installed package only: `.ci/wheel` copies it elsewhere. What an extra brings must say
which extra that is; every other name must load.
"""

import sys

import cosimlab as lab
from cosimlib.extras import EXTRAS


def main() -> int:
    """Load every name of the front door, and one that draws and one that learns."""
    status = 0
    for name in (*lab.__all__, "figures.lines", "gym.BatchEnv"):
        value = lab
        try:
            for part in name.split("."):
                value = getattr(value, part)
        except ImportError as error:
            if not any(
                f'pip install "cosimlib[{extra}]"' in str(error) for extra in EXTRAS.values()
            ):
                print(f"{name}: {error}", file=sys.stderr)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
