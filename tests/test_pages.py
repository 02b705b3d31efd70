"""Pages whose Python is executed say what it prints."""

import pytest

from tests import pages
from tests.suites import THOROUGH

QUICK = [path for path in pages.PAGES if path != pages.OWN_POLICY]


@pytest.mark.parametrize("path", pages.PAGES if THOROUGH else QUICK, ids=lambda path: path.name)
def test_a_page_shows_what_its_python_prints(path):
    shown = path.read_text(encoding="utf-8")
    assert pages.executed(path) == shown, "run: python -m tests.pages"
