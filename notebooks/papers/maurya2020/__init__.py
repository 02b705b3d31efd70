"""Maurya et al. (DS-RT 2020): evicting batch jobs for on-demand ones."""
