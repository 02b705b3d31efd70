"""Polyakov and Dubenskaya (GRID 2018): filler containers on idle nodes."""
