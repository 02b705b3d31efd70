"""Advice for a live Slurm."""
