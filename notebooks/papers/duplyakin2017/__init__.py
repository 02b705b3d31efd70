"""Duplyakin, Johnson and Ricci (ScienceCloud 2017): elastic partitions and preemption vectors."""
