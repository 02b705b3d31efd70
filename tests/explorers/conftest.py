"""Explorers ask no other process here, whatever is compiled."""

import pytest

from cosimlib.explorers import meanwhile


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """One core, which other processes would have to share: nothing is left to them."""
    monkeypatch.setattr(meanwhile, "count_cores", lambda: 1)
