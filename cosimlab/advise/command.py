"""Command ``cosim-advise``: lists the jobs to stop for K nodes by a deadline; stops none itself.

Advice is printed as text, as a JSON document, or as the commands that an operator would type.

The commands are printed and never run. If jobs wait, as many nodes as the burst needs are reserved
first, free ones before others: waiting jobs would take the freed nodes, for example other tasks of
a stopped array. Jobs that Slurm may requeue are requeued and held, so that they do not start again
on the nodes that they gave up. Other jobs are cancelled: those that forbid requeuing, and those of
`salloc` and `srun`, which Slurm refuses to requeue.

All that is printed may be pasted at once into bash, zsh or sh. A shell reads the whole block in
brackets before it runs a line of it; the block waits for the time of each step, and Ctrl-C ends it.
If the nodes cannot be reserved, no job is stopped. A job whose checkpoint fails keeps running. What
undoes the steps is a function, which does nothing until it is called. Comments stand on lines of
their own and have no character that a shell would act on, because an interactive zsh runs them as
commands; what is said in the block is therefore printed by `echo`.
"""

import argparse
import html
import json
import math
import re
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from cosimlab.advise.advice import Advice, Choice, advise, spectrum_of
from cosimlab.advise.checkpoints import read_model, seconds_of
from cosimlab.advise.cluster import read_cluster
from cosimlab.advise.text import (
    clean,
    explanation,
    lost,
    nodes_of,
    notes_on,
    text_of,
    title_of,
    unused,
)
from cosimlab.ending import Arguments, status_of
from cosimlib import checks as check
from cosimlib.display import count, duration
from cosimlib.eviction.problem import MOST_STEPS
from cosimlib.extras import needed_by
from cosimlib.files import check_page, write_whole
from cosimlib.traces.hosts import fold_hosts
from cosimlib.units import DAY, HOUR

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

TIME is 90s, 15m, 2h, 1h30m or 1d; a number alone is seconds.
The exit status is 0 if the nodes can be free by some deadline (with --commands: by the one asked
for), 3 if they cannot, 1 for an error."""
IMPOSSIBLE = 3
LASTS = "1h"
"""How long a burst lasts, if `--duration` does not say it."""

USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*\$?")
"""Name of a user, as Unix and directory services have them."""

NEGATIVE = re.compile(r"-\d+(?:\.\d+)?(?:[smhd]\S*)?")
FORMAT = "cosim-advise 2"
RESERVATION = "cosim-burst"
HARMLESS = " .,:_/%+-=@"
"""Characters of comments, beside letters and digits, on which no shell acts."""


OPTIONS = {
    "--within": ("15m", "TIME", "last deadline; default: 15m"),
    "--step": (
        "1m",
        "TIME",
        "least time between deadlines, of which 20 are shown; default: 1m",
    ),
    "--by": (None, "TIME", "list jobs for this deadline; default: the last"),
    "--partition": (None, "NAME", "only nodes of this partition"),
    "--constraint": (None, "FEATURES", "only nodes with these features, such as 'a&(b|c)'"),
    "--model": (None, "FILE", "checkpoint model of applications (TOML)"),
    "--now": (None, "SECONDS", "time of the saved output, since 1970, if the output lacks it"),
    "--duration": (None, "TIME", "for --commands: how long the burst lasts; default: 1h"),
    "--user": (None, "NAME", "for --commands: who runs the burst; default: whoever types them"),
    "--when": (None, "TIME", "instead: when would a job of this length start?"),
    "--history": (None, "FILE", "output of sacct, for --when"),
    "--html": (None, "FILE", "write a figure of the least loss for any number of nodes"),
    "--watch": (None, "TIME", "repeat at this interval, until Ctrl-C"),
}
"""Options with a value: the default, what the value is, and help."""
FLAGS = {
    "--json": "print the advice as JSON",
    "--commands": "print the commands to type; none is run",
    "--explain": "explain why these jobs and not others",
}


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    made = Arguments(
        "cosim-advise",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("nodes", type=int, help="number of whole nodes that the burst needs")
    files = "output of squeue --json and of sinfo --json; without files both are run"
    made.add_argument("files", nargs="*", metavar="FILE", help=files)
    for option, (default, metavar, text) in OPTIONS.items():
        kind = float if option == "--now" else str
        made.add_argument(option, default=default, type=kind, metavar=metavar, help=text)
    shown = made.add_mutually_exclusive_group()
    for flag, text in FLAGS.items():
        shown.add_argument(flag, action="store_true", help=text)
    return made


OF_ADVICE = (
    "within",
    "step",
    "by",
    "constraint",
    "model",
    "json",
    "commands",
    "duration",
    "user",
    "explain",
    "html",
    "watch",
)
"""Options about jobs to stop; they cannot be used together with --when."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command's status (see `EXAMPLES`)."""
    given = sys.argv[1:] if arguments is None else arguments
    return status_of("cosim-advise", partial(_advise, parser().parse_args(_joined(given))))


def _joined(arguments: Sequence[str]) -> list[str]:
    """Arguments in which a value below 0 is joined to its option, so that its check names it.

    argparse takes ``-1h`` for another option.
    """
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in OPTIONS and NEGATIVE.fullmatch(argument):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _advise(chosen: argparse.Namespace) -> int:
    """Advise once, or again and again."""
    pause = None if chosen.watch is None else seconds_of(chosen.watch, "--watch", above=0)
    if pause is None:
        return _once(chosen)
    for flag, wrong in (("-", "-" in chosen.files), ("--html", chosen.html is not None)):
        check.that("--watch", chosen.watch, not wrong, f"no {flag} beside it")
    return _again(chosen, pause)


def _once(chosen: argparse.Namespace) -> int:
    if chosen.when is not None:
        # Simulators are loaded for this alone.
        from cosimlab.advise.when import forecast_of, when_text
        from cosimlab.forecasting.forecast import MOST_HOURS

        for name in OF_ADVICE:
            unset = getattr(chosen, name) == parser().get_default(name)
            check.that("--when", chosen.when, unset, f"no --{name} beside it")
        check.whole("nodes", chosen.nodes, 1)
        seconds = seconds_of(chosen.when, "--when", above=0)
        fine = seconds <= MOST_HOURS * HOUR
        check.that("--when", chosen.when, fine, f"at most {MOST_HOURS // 24}d")
        cluster = read_cluster(*chosen.files, now=chosen.now)
        made, notes = forecast_of(
            cluster,
            chosen.nodes,
            seconds,
            partition=chosen.partition,
            history=chosen.history,
            live=not chosen.files,
        )
        print(when_text(cluster, made, notes))
        return 0
    check.that("--history", chosen.history, chosen.history is None, "--when beside it")
    for name in ("duration", "user"):
        value = getattr(chosen, name)
        check.that(f"--{name}", value, value is None or chosen.commands, "--commands beside it")
    fine = chosen.user is None or USER.fullmatch(chosen.user) is not None
    check.that("--user", chosen.user, fine, "the name of a user")
    if chosen.html is not None:
        check_page("--html", chosen.html, *chosen.files, chosen.model)
        _drawing()
    advice = _advice(chosen)
    if chosen.commands and not advice.choice(_by(chosen)).possible:
        print(f"cosim-advise: {impossible(advice, _by(chosen))}", file=sys.stderr)
        return IMPOSSIBLE
    _print(chosen, advice)
    if chosen.html is not None:
        _write(advice, Path(chosen.html))
    return 0 if advice.possible else IMPOSSIBLE


def _again(chosen: argparse.Namespace, pause: float) -> int:
    """Print advice again and again; if Slurm's commands fail, print a message and try again."""
    while True:
        try:
            advice = _advice(chosen)
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
    by = _by(chosen)
    steps = f"at most {MOST_STEPS:,} steps of --step, which is {chosen.step}; take a longer step"
    check.that("--within", chosen.within, within / step <= MOST_STEPS, steps)
    fine = by is None or by <= within
    check.that("--by", chosen.by, fine, f"at most {chosen.within}, which is --within")
    model = None if chosen.model is None else read_model(chosen.model)
    check.whole("nodes", chosen.nodes, 1)
    return advise(
        chosen.nodes,
        read_cluster(*chosen.files, now=chosen.now),
        within=within,
        step=step,
        by=by,
        model=model,
        partition=chosen.partition,
        constraint=chosen.constraint,
    )


def _by(chosen: argparse.Namespace) -> float | None:
    """The deadline that is asked for (s); None for the last."""
    return None if chosen.by is None else seconds_of(chosen.by, "--by")


def impossible(advice: Advice, deadline: float | None) -> str:
    """Words on nodes that cannot be had by a deadline."""
    moment = advice.choice(deadline).moment
    return (
        f"nodes_needed={advice.nodes_needed}; expected at most {moment.reachable}, "
        f"which can be free by {duration(moment.deadline)}"
    )


def _print(chosen: argparse.Namespace, advice: Advice) -> None:
    by = _by(chosen)
    if chosen.json:
        print(json.dumps(document_of(advice), indent=1, allow_nan=False))
    elif chosen.commands:
        lasts = seconds_of(chosen.duration or LASTS, "--duration", above=0)
        print("\n".join(commands_of(advice, by, lasts=lasts, user=chosen.user)))
    else:
        print(text_of(advice, by))
        if chosen.explain:
            print(f"\n{explanation(advice, by)}")


def _drawing() -> tuple[Callable[..., Any], Callable[..., str]]:
    """What draws advice and makes a page of it.

    It is loaded for `--html` alone: that takes as long as all the rest.
    """
    with needed_by("--html"):
        from cosimlab.figures.eviction import plot_advice
        from cosimlab.figures.publishing import page
    return plot_advice, page


def _write(advice: Advice, path: Path) -> None:
    """The spectrum as a page that needs no network."""
    plot_advice, page = _drawing()
    picture = plot_advice(
        spectrum_of(advice),
        nodes_needed=advice.nodes_needed,
        deadline=advice.horizon,
        title=html.escape(title_of(advice)),
    )
    write_whole(path, page(picture, include_plotlyjs=True).encode())
    print(f"{path}: the least loss for any number of nodes", file=sys.stderr)


def document_of(advice: Advice) -> dict[str, Any]:
    """Advice as a document for `json.dumps`: the rows of `table` and `jobs`; null if unknown."""
    snapshot, cluster = advice.snapshot, advice.cluster
    table = advice.table().astype(object)
    rows = table.where(table.notna(), None).to_dict("records")
    deadlines = [
        row
        | {f"nodes {how}": fold_hosts(names) for how, names in nodes_of(advice, choice).items()}
        | {"jobs": advice.jobs(choice.moment.deadline).to_dict("records")}
        for row, choice in zip(rows, advice.choices, strict=True)
    ]
    return {
        "format": FORMAT,
        "nodes_needed": advice.nodes_needed,
        "partition": snapshot.partition,
        "constraint": snapshot.constraint,
        "model": snapshot.model.source or None,
        "cluster": cluster.name,
        "slurm": cluster.release or None,
        "now": cluster.now,
        "unused": unused(snapshot),
        "waiting": cluster.waiting,
        "held": cluster.held,
        "possible": advice.possible,
        "deadlines": deadlines,
        "notes": notes_on(snapshot),
    }


def commands_of(
    advice: Advice,
    deadline: float | None = None,
    *,
    lasts: float = HOUR,
    user: str | None = None,
) -> list[str]:
    """Lines to paste into a shell, all at once: a block that does each step at its time.

    Before it stands a function that ends the burst, ``cosim_burst_over``, to be called afterwards.

    Parameters
    ----------
    advice : Advice
    deadline : float, optional
        Seconds from now; by default the last.
    lasts : float, default 3600.0
        Seconds that the burst lasts: its nodes are reserved until so long after the deadline.
    user : str, optional
        Who runs the burst; by default whoever types the commands.

    Raises
    ------
    ValueError
        If the nodes cannot be had by the deadline, or the moment of the queue is doubtful.
    """
    check.seconds("lasts", lasts, above=0.0)
    if advice.cluster.doubt:
        raise ValueError(
            f"no commands for a queue of {advice.cluster.moment:%Y-%m-%d %H:%M %Z}: "
            f"{advice.cluster.doubt}"
        )
    choice = advice.choice(deadline)
    if not choice.possible:
        raise ValueError(impossible(advice, deadline))
    said, reservation = _reservation(advice, choice, lasts, user)
    steps, held = _steps(advice, choice)
    lines = [comment(title_of(advice, deadline)), *map(comment, said)]
    if not steps and not reservation:
        return [*lines, comment("the nodes are free: nothing is to be done")]
    after = [f"scontrol delete reservationname={RESERVATION}"] * bool(reservation)
    after += [f"scontrol release {','.join(held)}"] * bool(held)
    over = [f"{OVER}() {{", *after, "}"] if after else []
    done = f"done: once the burst is over, type {OVER}" if after else "done"
    block = [*_functions(steps), *reservation, *_timed(steps), echo(done)]
    return [*lines, *map(comment, PASTED), *over, "(", *block, ") </dev/null"]


class Step(NamedTuple):
    """Something to do at a time after the beginning (s): what is said, and lines of commands.

    `stops` is whether it stops a job.
    """

    at: float
    said: str
    commands: tuple[str, ...]
    stops: bool = False


def _steps(advice: Advice, choice: Choice) -> tuple[list[Step], list[str]]:
    """Steps in order of time, at the same time stops before checkpoints; jobs that are held."""
    table, steps, stopped = advice.cluster.jobs, [], set()
    held: list[str] = []
    for taken in choice.jobs().itertuples():
        job = table.iloc[taken.job]
        leader = int(job["leader"]) or int(job["job_id"])
        name = str(leader) if job["leader"] else str(job["label"])
        checkpoint, before = _checkpoint(advice, taken, job, name)
        steps += checkpoint
        if leader in stopped:
            continue
        stopped.add(leader)
        requeues = bool(job["requeue"])
        held += [name] if requeues else []
        command = f"scontrol requeuehold {name}" if requeues else f"scancel {name}"
        owner = clean(str(job["user"]))
        whose = f"job {name} of user {owner}" if owner else f"job {name}"
        kills = taken.action == "kill"
        why = f"loses {lost(taken.loss)} node-hours" if kills else "after its checkpoint"
        said = f"{whose} is stopped, {why}"
        steps.append(Step(taken.end, said, (f"{before}{command}",), stops=True))
    return sorted(steps, key=lambda step: (step.at, not step.stops)), held


def _timed(steps: Sequence[Step]) -> list[str]:
    """Lines that do each step at its time."""
    lines, reached = [], 0
    for step in steps:
        at = math.ceil(step.at)
        if at > reached:
            lines += [echo(f"waits until {duration(at)} after the beginning"), f"from {at}"]
            reached = at
        lines += [echo(step.said), *step.commands]
    return lines


def _functions(steps: Sequence[Step]) -> list[str]:
    """The functions that the steps call."""
    commands = {line.split(" ")[0] for step in steps for line in step.commands}
    lines = [BEGIN, FROM] if any(step.at > 0 for step in steps) else []
    lines += [FAILED, UNLESS_FAILED] if "unless_failed" in commands else []
    return lines + [WRITTEN] * ("written" in commands)


OVER = "cosim_burst_over"
"""The function that ends a burst."""

PASTED = (
    "all lines may be pasted at once: the block in brackets waits for the time of each step",
    "Ctrl-C ends it: what was stopped by then stays stopped",
)
BEGIN = "begin=$(date +%s)"
FROM = 'from() { while [ $(($(date +%s) - begin)) -lt "$1" ]; do sleep 1; done; }'
"""Shell function that waits until so many seconds after the beginning."""

FAILED = "failed="
UNLESS_FAILED = (
    'unless_failed() { case "$failed" in *" $1 "*) echo "job $1 keeps running: no checkpoint" ;; '
    '*) shift; "$@" ;; esac; }'
)
"""Shell function that runs a command unless the checkpoint of a job has failed."""

WRITTEN = (
    "written() { printf 'job %s: type y once its checkpoint is written: ' \"$1\"; "
    'read -r answer </dev/tty && [ "$answer" = y ]; }'
)
"""Shell function that asks whether a checkpoint is written."""


def echo(text: str) -> str:
    """A command that prints a text, without a character that a shell would act on."""
    return f"echo {shlex.quote(comment(text).removeprefix('# '))}"


def comment(text: str) -> str:
    """A line that explains, without a character that a shell would act on."""
    return "# " + "".join(c if c.isalnum() or c in HARMLESS else "_" for c in text)


def _reservation(
    advice: Advice, choice: Choice, lasts: float, user: str | None
) -> tuple[list[str], list[str]]:
    """What is said of the reservation that keeps waiting jobs off the nodes, and its command.

    Both are empty if no job waits.
    """
    if advice.cluster.waiting == advice.cluster.held:
        return [], []
    nodes = reserved_nodes(advice, choice)
    seconds = math.ceil(choice.moment.deadline + lasts)
    days, rest = divmod(seconds, round(DAY))
    length = f"{days}-{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    users = '"$(id -un)"' if user is None else shlex.quote(user)
    blocked = lost(len(nodes) * seconds / HOUR)
    said = [
        f"this reserves {count(len(nodes), 'node')} for {duration(seconds)}: "
        f"{blocked} node-hours that waiting jobs cannot use",
        f"start the burst with --reservation={RESERVATION}",
    ]
    command = (
        f"scontrol create reservation reservationname={RESERVATION} starttime=now "
        f"duration={length} users={users} flags=ignore_jobs nodes={shlex.quote(fold_hosts(nodes))}"
    )
    return said, [f"{command} || exit 1"]


def reserved_nodes(advice: Advice, choice: Choice) -> list[str]:
    """The nodes of a burst, as many as it needs: free ones, then those of jobs that end, the rest.

    Free nodes that Slurm does not plan for a waiting job come first.
    """
    cluster = advice.cluster
    planned = set(cluster.nodes.index[cluster.nodes["planned"].astype(bool)])
    free, *others = nodes_of(advice, choice).values()
    free = sorted(free, key=lambda name: name in planned)
    return [name for names in (free, *others) for name in names][: advice.nodes_needed]


def _checkpoint(advice: Advice, taken: Any, job: pd.Series, name: str) -> tuple[list[Step], str]:
    """The step before a job with a checkpoint is stopped, and what guards the stop of `name`."""
    label = str(job["label"])
    if taken.action == "app":
        reached = f"job {label} reaches its own checkpoint: Ctrl-C if it is not written"
        return [Step(taken.stop, reached, ())], ""
    if taken.action != "sys" or not math.isfinite(taken.begin):
        return [], ""
    template = advice.snapshot.judged["checkpoint_command"].iloc[taken.job]
    if not template:
        said = f"job {label}: take a system-level checkpoint here"
        return [Step(taken.begin, said, ())], f"written {name} && "
    command = template.replace("{job}", shlex.quote(label))
    guarded = (f"{{ {command}", f'}} || failed="$failed {name} "')
    said = f"job {label}: system-level checkpoint"
    return [Step(taken.begin, said, guarded)], f"unless_failed {name} "
