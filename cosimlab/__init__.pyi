from . import comparison as comparison
from . import figures as figures
from . import forecasting as forecasting
from . import gym as gym
from . import testing as testing
from . import twins as twins
from .advise import advise as advise
from .closures import closures as closures
from .comparison import compare as compare
from .comparison import compare_solvers as compare_solvers
from .comparison import drain_or_evict as drain_or_evict
from .convert import convert as convert
from .explorers import explore_advise as explore_advise
from .explorers import explore_batch as explore_batch
from .explorers import explore_coscheduling as explore_coscheduling
from .explorers import explore_elastic as explore_elastic
from .explorers import explore_eviction as explore_eviction
from .explorers import explore_filling as explore_filling
from .explorers import explore_ondemand as explore_ondemand
from .explorers import explore_timesharing as explore_timesharing
from .forecasting import backtest as backtest
from .forecasting import forecast as forecast
from .forecasting import predict as predict
from .identify import identify as identify
from .report import report as report
from .sweep import sweep as sweep

__version__: str
