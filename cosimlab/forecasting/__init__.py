"""Forecasts of starts: futures of a queue, and whether their intervals hold on a log's own past.

- `forecast`: when waiting jobs start, and one that is submitted now; `Forecast`
- `backtest`: how often such intervals would have held on a log's past; `Backtest`
- `predict`: run times, from requests, the user's last two jobs, or similar jobs
- `history`: run times of jobs that have ended, as predictions for others
- `futures`: what may follow an instant, simulated under a policy
"""

from cosimlab.forecasting.backtest import Backtest, backtest
from cosimlab.forecasting.forecast import Forecast, forecast
from cosimlab.forecasting.history import predict

__all__ = ["Backtest", "Forecast", "backtest", "forecast", "predict"]
