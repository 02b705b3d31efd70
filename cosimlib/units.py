"""Units of time in seconds: minute, hour, day, week."""

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY
