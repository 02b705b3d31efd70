"""Pictures of schedules and of what was measured on them."""
