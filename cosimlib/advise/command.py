"""Command ``cosim-advise``: lists the jobs to stop for K nodes by a deadline; stops none itself."""

import argparse
import html
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cosimlib import checks as check
from cosimlib.advise.advice import Advice, advise, spectrum_of
from cosimlib.advise.checkpoints import read_model, seconds_of
from cosimlib.advise.cluster import read_cluster
from cosimlib.advise.explain import explanation
from cosimlib.advise.listing import commands_of, document_of
from cosimlib.advise.text import text_of, title_of
from cosimlib.files import write_whole

DESCRIPTION = """List the jobs to stop so that a burst gets its nodes in time, at the least loss.
This is advice only: no job is touched. Free nodes are used first, then nodes of jobs that end in
time (by their limits). The other nodes come from the jobs whose end loses the fewest node-hours.
Jobs that share a node are stopped together."""
EXAMPLES = """examples:
  cosim-advise 64 --within 15m                        on the cluster: runs squeue and sinfo
  cosim-advise 64 squeue.json sinfo.json              saved output of squeue --json and sinfo --json
  squeue --json | cosim-advise 64 - sinfo.json        "-" is standard input
  cosim-advise 64 --when 2h --history sacct.txt       when would a job with 64 nodes for 2 h start?
  cosim-advise 8 --partition gpu --constraint 'a100|h100' --model site.toml --explain

The exit status is 0 if the nodes can be free by some deadline, 3 if they cannot, 1 for an error."""
IMPOSSIBLE = 3


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    made = argparse.ArgumentParser(
        "cosim-advise", description=DESCRIPTION, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    made.add_argument("nodes", type=int, help="number of whole nodes that the burst needs")
    made.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="output of squeue --json and of sinfo --json; without files both are run",
    )
    made.add_argument("--within", default="15m", metavar="TIME", help="last deadline; default: 15m")
    made.add_argument(
        "--step", default="1m", metavar="TIME", help="time between deadlines; default: 1m"
    )
    made.add_argument("--by", metavar="TIME", help="list jobs for this deadline; default: the last")
    made.add_argument("--partition", "-p", metavar="NAME", help="only nodes of this partition")
    made.add_argument(
        "--constraint",
        "-C",
        metavar="FEATURES",
        help="only nodes with these features, such as a&(b|c)",
    )
    made.add_argument("--model", metavar="FILE", help="checkpoint model of applications (TOML)")
    made.add_argument(
        "--now",
        type=float,
        metavar="SECONDS",
        help="time of the saved output, since 1970, if the output lacks it",
    )
    made.add_argument(
        "--when", metavar="TIME", help="instead: when would a job of this length start?"
    )
    made.add_argument("--history", metavar="FILE", help="output of sacct, for --when")
    shown = made.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print the advice as JSON")
    shown.add_argument(
        "--commands", action="store_true", help="print the commands to type; none is run"
    )
    shown.add_argument(
        "--explain", action="store_true", help="explain why these jobs and not others"
    )
    made.add_argument(
        "--html", metavar="FILE", help="write a figure of the least loss for any number of nodes"
    )
    made.add_argument("--watch", metavar="TIME", help="repeat at this interval, until Ctrl-C")
    return made


OF_ADVICE = (
    "within", "step", "by", "constraint", "model", "json", "commands", "explain", "html", "watch",
)  # fmt: skip
"""Options about jobs to stop; they cannot be used together with --when."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command's status (see `EXAMPLES`)."""
    chosen = parser().parse_args(arguments)
    try:
        pause = None if chosen.watch is None else seconds_of(chosen.watch, "--watch", above=0)
        if pause is None:
            return _once(chosen)
        for flag, wrong in (("-", "-" in chosen.files), ("--html", chosen.html)):
            check.that("--watch", chosen.watch, not wrong, f"no {flag} beside it")
        return _again(chosen, pause)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read, such as head, has read enough; Python would complain at its end.
        sys.stdout = None
        return 0
    except (OSError, ValueError, MemoryError, ImportError) as error:
        print(f"cosim-advise: {error}", file=sys.stderr)
        return 1


def _once(chosen: argparse.Namespace) -> int:
    if chosen.when is not None:
        # Simulators are loaded for this alone.
        from cosimlib.advise.when import forecast_of, when_text

        for name in OF_ADVICE:
            unset = getattr(chosen, name) == parser().get_default(name)
            check.that("--when", chosen.when, unset, f"no --{name} beside it")
        check.whole("nodes", chosen.nodes, 1)
        cluster = read_cluster(*chosen.files, now=chosen.now)
        made, notes = forecast_of(
            cluster, chosen.nodes, seconds_of(chosen.when, "--when", above=0),
            partition=chosen.partition, history=chosen.history, live=not chosen.files,
        )  # fmt: skip
        print(when_text(cluster, made, notes))
        return 0
    check.that("--history", chosen.history, chosen.history is None, "--when beside it")
    advice = _advice(chosen)
    _print(chosen, advice)
    if chosen.html:
        _write(advice, Path(chosen.html))
    return 0 if advice.possible else IMPOSSIBLE


def _again(chosen: argparse.Namespace, pause: float) -> int:
    """Print advice again and again; if Slurm's commands fail, print a message and try again."""
    while True:
        try:
            advice = _advice(chosen)
            if sys.stdout.isatty():
                print("\033[H\033[2J", end="")
            _print(chosen, advice)
        except ValueError as error:
            print(f"cosim-advise: {error}", file=sys.stderr)
        print(flush=True)
        try:
            time.sleep(pause)
        except KeyboardInterrupt:
            return 0


def _advice(chosen: argparse.Namespace) -> Advice:
    within = seconds_of(chosen.within, "--within")
    step = seconds_of(chosen.step, "--step", above=0)
    model = None if chosen.model is None else read_model(chosen.model)
    check.whole("nodes", chosen.nodes, 1)
    return advise(
        chosen.nodes, read_cluster(*chosen.files, now=chosen.now), within=within, step=step,
        model=model, partition=chosen.partition, constraint=chosen.constraint,
    )  # fmt: skip


def _print(chosen: argparse.Namespace, advice: Advice) -> None:
    by = None if chosen.by is None else seconds_of(chosen.by, "--by")
    if chosen.json:
        print(json.dumps(document_of(advice), indent=1, ensure_ascii=False, allow_nan=False))
    elif chosen.commands:
        print("\n".join(commands_of(advice, by)))
    else:
        print(text_of(advice, by))
        if chosen.explain:
            print(f"\n{explanation(advice, by)}")
    # Here rather than at Python's end, where a reader that has gone away is an error.
    sys.stdout.flush()


def _write(advice: Advice, path: Path) -> None:
    """The spectrum as a page that needs no network."""
    # Drawing is loaded for this alone: it takes as long as all the rest.
    from cosimlib.figures.eviction import plot_advice
    from cosimlib.figures.publishing import page

    picture = plot_advice(
        spectrum_of(advice), nodes_needed=advice.nodes_needed, deadline=advice.horizon,
        title=html.escape(title_of(advice)),
    )  # fmt: skip
    write_whole(path, page(picture, include_plotlyjs=True).encode())
    print(f"{path}: the least loss for any number of nodes", file=sys.stderr)
