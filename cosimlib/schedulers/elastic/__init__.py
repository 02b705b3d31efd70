"""Elastic partitions: a host lends nodes to partitions, and takes some back on demand."""

from cosimlib.schedulers.elastic.records import HOST, USER, ElasticSchedule
from cosimlib.schedulers.elastic.simulation import combine, simulate_elastic
from cosimlib.schedulers.elastic.worth import generator, is_seconds, policy_number, priorities

__all__ = [
    "HOST",
    "USER",
    "ElasticSchedule",
    "combine",
    "generator",
    "is_seconds",
    "policy_number",
    "priorities",
    "simulate_elastic",
]
