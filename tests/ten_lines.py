"""The ten lines of README by themselves: ``python ten_lines.py README.md``; 1 where they differ.

It needs the installed package only, and none of the checkout: `.ci/wheel` copies it elsewhere.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

BLOCKS = re.compile(r"^```python\n(.*?)^```\n+```text\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def main(readme: Path) -> int:
    """Run the first block of Python and compare what it prints with the text below it."""
    source, shown = BLOCKS.search(readme.read_text(encoding="utf-8")).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, readme.name, "exec"), {"__name__": "page"})
    if printed.getvalue() == shown:
        return 0
    print(
        f"{readme.name} shows\n{shown}\nbut this is printed\n{printed.getvalue()}", file=sys.stderr
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
