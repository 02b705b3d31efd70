"""Units of time in seconds: minute, hour, day, week."""

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

LATEST = 1e11
"""Seconds, 3,169 years: below it are all times of jobs and windows."""
