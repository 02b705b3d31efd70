"""What the runner compiles before several notebooks start at once."""

from cosimlib.eviction import SOLVERS
from cosimlib.reproduce import warming
from cosimlib.schedulers import SIMULATORS


def test_every_registered_solver_and_simulator_runs_once(monkeypatch):
    called = []

    def noted(register):
        return {
            name: lambda *given, name=name, run=run: called.append(name) or run(*given)
            for name, run in register.items()
        }

    monkeypatch.setattr(warming, "SOLVERS", noted(SOLVERS))
    monkeypatch.setattr(warming, "SIMULATORS", noted(SIMULATORS))
    warming.warm()
    assert called == [*SOLVERS, *SIMULATORS]
