"""Whether measured samples have the readings that `data/readings.csv` names."""

from collections.abc import Mapping

from papers.claims import Samples
from papers.stored import read_readings


def assert_readings(system: str, samples: Mapping[str, Samples]) -> None:
    """Every claim with readings is measured under each of them, and no other has any."""
    table = read_readings().query("system == @system and admissible == 'yes'")
    named = table.groupby("claim")["reading"].agg(set).to_dict()
    measured = {claim: set(one.readings) for claim, one in samples.items() if one.readings}
    assert measured == {claim: names for claim, names in named.items() if claim in samples}
