"""Papers: their experiments, measures, figures and verdicts, which only their notebooks use."""
