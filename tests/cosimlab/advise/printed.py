"""The outputs in ``docs/advise.md``: each stands below the command that prints it.

``python -m tests.cosimlab.advise.printed`` runs the commands and writes what they print into the
page.
"""

import contextlib
import io
import os
import re
import shlex
import time
from pathlib import Path

from cosimlab.advise.command import main as command
from tests.suites import ROOT

PAGE = ROOT / "docs" / "advise.md"
BLOCK = re.compile(r"^```console\n\$ cosim-advise (.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def printed() -> str:
    """The page with what its commands print now, on the clock of UTC."""
    before, zone = Path.cwd(), os.environ.get("TZ")

    def renew(block: re.Match[str]) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            command(shlex.split(block[1]))
        return f"```console\n$ cosim-advise {block[1]}\n{out.getvalue()}```"

    try:
        os.chdir(ROOT)
        os.environ["TZ"] = "UTC"
        time.tzset()
        return BLOCK.sub(renew, PAGE.read_text(encoding="utf-8"))
    finally:
        os.chdir(before)
        os.environ.pop("TZ")
        if zone is not None:
            os.environ["TZ"] = zone
        time.tzset()


def main() -> None:
    """Write the page."""
    PAGE.write_text(printed(), encoding="utf-8")


if __name__ == "__main__":
    main()
