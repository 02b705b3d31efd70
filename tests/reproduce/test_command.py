"""What the runner compiles before several notebooks start at once."""

from cosimlib.eviction import SOLVERS
from cosimlib.policies import SIMULATORS
from cosimlib.reproduce import command


def test_every_registered_solver_and_simulator_runs_once(monkeypatch):
    called = []

    def noted(register):
        return {
            name: lambda *given, name=name, run=run: called.append(name) or run(*given)
            for name, run in register.items()
        }

    monkeypatch.setattr(command, "SOLVERS", noted(SOLVERS))
    monkeypatch.setattr(command, "SIMULATORS", noted(SIMULATORS))
    command.warm()
    assert called == [*SOLVERS, *SIMULATORS]
