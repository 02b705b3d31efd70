"""Notebooks run into `figures/`: only those that changed, each wholly or not at all."""
