"""Seconds in longer units of time, which tables and figures use."""

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY
