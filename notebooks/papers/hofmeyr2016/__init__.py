"""Hofmeyr et al. (HPCC 2016): time-sharing the nodes of a supercomputer."""
