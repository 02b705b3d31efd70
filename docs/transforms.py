"""Picture of probability integral transforms in docs/forecast.md: ``python -m docs.transforms``.

Needs the log KTH-SP2 (`cosimlib.traces.fetch_trace`) and a Chromium.
"""

from pathlib import Path

import cosimlab as lab
import cosimlib as cs

INSTANTS, FUTURES = 200, 50


def main() -> None:
    """Test forecasts on the log's past, and draw."""
    log = cs.load_trace("KTH-SP2", verbose=False)
    tested = lab.backtest(log, instants=INSTANTS, futures=FUTURES)
    print(tested)
    picture = lab.figures.plot_pit(
        tested.pit, title=f"Waits of KTH-SP2 in their forecasts, {INSTANTS} instants"
    )
    picture.write_image(Path(__file__).parent / "transforms.png", width=900, height=420)


if __name__ == "__main__":
    main()
