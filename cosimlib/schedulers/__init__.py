"""Simulators: a workload meets a system and becomes a schedule."""
