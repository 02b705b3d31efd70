"""Weng et al., USENIX ATC 2023: placing tasks that share GPUs without leaving fragments."""
