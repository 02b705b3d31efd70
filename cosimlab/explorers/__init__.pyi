from .advise import explore_advise as explore_advise
from .batch import explore_batch as explore_batch
from .coscheduling import explore_coscheduling as explore_coscheduling
from .elastic import explore_elastic as explore_elastic
from .eviction import explore_eviction as explore_eviction
from .filling import explore_filling as explore_filling
from .ondemand import explore_ondemand as explore_ondemand
from .timesharing import explore_timesharing as explore_timesharing
