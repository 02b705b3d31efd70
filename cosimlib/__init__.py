"""A research workbench for co-scheduling on supercomputers."""
