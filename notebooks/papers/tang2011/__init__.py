"""Tang et al. (2011): coscheduling of mates on coupled machines."""
