"""Pages whose Python runs: each block of output stands below the code that prints it.

``python -m tests.pages`` runs the pages and writes what they print into them.
"""

import contextlib
import io
import re
from pathlib import Path
from unittest import mock

from cosimlib.policies import BUILT_IN, SIMULATORS

ROOT = Path(__file__).resolve().parents[1]
OWN_POLICY = ROOT / "docs" / "own-policy.md"
OWN_SOLVER = ROOT / "docs" / "own-solver.md"
CLUSTER = ROOT / "docs" / "cluster.md"
START = ROOT / "docs" / "start.md"
PAGES = (ROOT / "README.md", START, OWN_POLICY, OWN_SOLVER, CLUSTER)
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def executed(path: Path) -> str:
    """The page with what its code prints now; one block of code sees the names of those before.

    It sees the package's policies alone, and those that it registers are forgotten.
    """
    names: dict[str, object] = {"__name__": "page"}
    printed = io.StringIO()

    def renew(block: re.Match[str]) -> str:
        kind, text = block.groups()
        if kind == "text":
            return f"```text\n{printed.getvalue()}```"
        printed.seek(0)
        printed.truncate()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, path.name, "exec"), names)
        return block[0]

    with mock.patch.dict(SIMULATORS, BUILT_IN, clear=True):
        return BLOCK.sub(renew, path.read_text(encoding="utf-8"))


def function(path: Path, name: str) -> object:
    """A function of a page, made by its block alone but for NumPy."""
    blocks = [text for kind, text in BLOCK.findall(path.read_text(encoding="utf-8"))]
    source = next(text for text in blocks if f"def {name}(" in text)
    definition = re.search(rf"^def {name}\(.*?(?=^\S|\Z)", source, flags=re.DOTALL | re.MULTILINE)
    assert definition
    names: dict[str, object] = {}
    exec("import numpy as np\n" + definition[0], names)
    return names[name]


def main() -> None:
    """Run all pages and write them."""
    for path in PAGES:
        path.write_text(executed(path), encoding="utf-8")


if __name__ == "__main__":
    main()
