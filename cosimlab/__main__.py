"""`python -m cosimlab`: the commands that there are."""

COMMANDS = {
    "report": "report on a job log as one page (also: cosim-report)",
    "zoo": "compare all policies on all logs on this machine",
    "identify": "tell which rule made the starts of a CSV of jobs",
    "convert": "convert a job log into another format",
    "advise": "list jobs of a Slurm to stop, to free nodes by a deadline (also: cosim-advise)",
    "slurm": "your Slurm from its configuration: as recorded, and changed (also: cosim-slurm)",
    "launch": "JupyterLab on copies of the notebooks (in a checkout only)",
    "app": "the explorers as web pages, without code",
}


def text() -> str:
    """One line per command, and where to look further."""
    width = max(map(len, COMMANDS))
    lines = [f"  python -m cosimlab.{name:<{width}}  {what}" for name, what in COMMANDS.items()]
    before = (
        "In Python or a notebook: import cosimlib as cs, import cosimlab as lab.\n"
        "Commands, each with --help:\n"
    )
    after = (
        "\nIn a checkout, make lists more commands, and docs/start.md is where to begin; elsewhere "
        "help(cosimlib)\nand help(cosimlab) list all names."
    )
    return "\n".join([before, *lines, after])


if __name__ == "__main__":
    print(text())
