"""Papers: their experiments, measures, figures and verdicts, which only their notebooks use."""

import pandas as pd

# A table looks up its columns by Python objects. It makes them anew from each table's names where
# PyArrow holds these, which takes a quarter of the time of runs that make many small tables.
pd.options.mode.string_storage = "python"
