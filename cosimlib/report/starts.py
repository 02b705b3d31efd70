"""Section of a report: how well starts of waiting jobs could have been forecast on this log."""

import numpy as np

from cosimlib.display import count, percent
from cosimlib.forecasting import Backtest, backtest
from cosimlib.forecasting.backtest import FEW_INSTANTS
from cosimlib.report.log import Log
from cosimlib.report.page import Section

TITLE = "When would a job start?"
INSTANTS, FEWEST_INSTANTS, FUTURES = 90, 12, 20
"""Past instants at which starts are forecast, at most and at least, and futures per forecast."""

QUEUE = 200.0
"""Mean number of waiting jobs from which on fewer instants are taken."""

SHOWN = {"coverage_50": "50 % intervals hold (%)", "coverage_80": "80 % intervals hold (%)",
         "pinball": "loss (h)"}  # fmt: skip


def starts_section(log: Log) -> Section:
    """How often forecasts of starts would have held in the past, against simple ones."""
    lacking = next((log.lacks[name] for name in ("starts", "waits", "requests")
                    if name in log.lacks), "")  # fmt: skip
    waits = np.nan_to_num(log.schedule.jobs["wait_time"].to_numpy(dtype=float))
    if lacking or not (waits > 0).any():
        why = "submissions, starts and requested times" if lacking else "jobs that wait"
        sentence = f"How well starts can be forecast is open: a log with {why} would show it."
        return Section("starts", TITLE, (sentence,))
    first, last = log.schedule.span
    queue = waits.sum() / max(last - first, 1.0)
    most = min(2 * log.budget, INSTANTS * QUEUE / max(queue, QUEUE))
    number = int(np.clip(most, FEWEST_INSTANTS, INSTANTS))
    try:
        tested = backtest(log.schedule, instants=number, futures=FUTURES, seed=log.seed)
    except ValueError as error:
        sentence = f"How well starts can be forecast is open: {error}."
        return Section("starts", TITLE, (sentence,))
    if tested.instants <= FEW_INSTANTS:
        sentence = f"How well starts can be forecast is open: {tested.sentence}."
        return Section("starts", TITLE, (sentence,))
    table = tested.scores[list(SHOWN)].rename(columns=SHOWN)
    table.iloc[:, :2] *= 100
    caption = f"Forecasts of {count(len(tested.judged), 'past wait')}"
    how_to_read = (
        "The loss (pinball loss, mean over five quantiles) is least for a forecast that is sharp "
        "and holds. The static plan is EASY with requested times and without further submissions, "
        "as squeue --start plans. The corrected forecast adds what earlier forecasts missed."
    )
    return Section("starts", TITLE, (_finding(tested),), (), {caption: table}, how_to_read)


def _finding(tested: Backtest) -> str:
    """What a backtest found, in one sentence."""
    scores = tested.scores
    held = (
        f"at {tested.instants} past instants, 80 % intervals held "
        f"{percent(scores['coverage_80'].iloc[0], 0)} of {count(len(tested.judged), 'wait')}"
    )
    if not tested.calibrated:
        return f"Forecasts of when waiting jobs start are not calibrated for this log: {held}."
    ratio = scores["loss_ratio"]["static plan"]
    return (
        f"When waiting jobs start can be forecast: {held}. The loss is {ratio:.2f} of that of a "
        "plan by requested times alone, as squeue --start makes it."
    )
