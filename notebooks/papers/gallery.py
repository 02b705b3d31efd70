"""Gallery: pages of all results, ``python -m papers.gallery FIGURES``.

`index.html` has a card per notebook, `<folder>.html` its figures and verdicts,
`<folder>/<notebook>.ipynb.html` the executed notebook, and `scorecard.html` all claims. They open
from disk. A picture is shown where there is one, and loaded when it comes into sight; the
interactive pages that it leads to share one copy of Plotly. Whatever comes from a log or a paper,
a name or a title, is text on the page and never HTML.
"""

import csv
import html
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template
from urllib.parse import quote

from cosimlab.figures.publishing import write_library
from cosimlib.files import write_whole
from papers.claims import VERDICTS
from papers.images import render_images
from papers.reading import inline, markdown, notebook_body
from papers.results import Figure, Run, read_runs

TEMPLATE = Path(__file__).with_name("gallery.html")
FILTER = Path(__file__).with_name("scorecard.html")
DETAILS = {
    "source": "source",
    "statistic": "statistic",
    "limits": "holds if",
    "reason": "why this limit",
    "data": "data",
    "verdict": "this run",
    "why": "why",
}
"""What is folded under a claim, by the columns of `claims.csv`."""
LINKS = {".html": "interactive", ".csv": "data", ".svg": "drawing", ".txt": "caption"}
"""What leads from a figure to its files."""


def main() -> None:
    """Draw the figures that have no image yet, and write the pages of a folder of results."""
    figures = Path(sys.argv[1])
    runs = read_runs(figures)
    render_images(run.folder for run in runs)
    write_pages(figures, runs)


def write_pages(figures: Path, runs: list[Run]) -> None:
    """Write all pages of a folder that has a folder per run, and the scorecard."""
    with (figures / "claims.csv").open(encoding="utf-8", newline="") as file:
        claims = list(csv.DictReader(file))
    summary = (figures / "scorecard.md").read_text(encoding="utf-8").splitlines()[2]
    write_library(figures)
    for run in runs:
        _write(figures / f"{run.name}.html", run.title, run_page(run))
        if run.notebook.is_file():
            _write(notebook_page(run), run.title, _reading(run))
    _write(figures / "scorecard.html", "Scorecard", scorecard(claims, summary))
    _write(figures / "index.html", "Figures and scorecard", index(runs, summary))


def notebook_page(run: Run) -> Path:
    """Where the executed notebook is as a page."""
    return run.notebook.with_name(f"{run.notebook.name}.html")


def _write(path: Path, title: str, body: str) -> None:
    """One page in the look of all."""
    template = Template(TEMPLATE.read_text(encoding="utf-8"))
    write_whole(path, template.substitute(title=html.escape(title), body=body).encode())


def index(runs: list[Run], summary: str) -> str:
    """The first page: a card per notebook."""
    return (
        "<h1>Figures and scorecard</h1>\n"
        '<p class="dim">Written by <code>make reproduce</code>. Each card leads to the figures '
        "of one notebook, to its claims beside our numbers, and to the notebook itself.</p>\n"
        f'<p><a href="scorecard.html">Scorecard</a>: {html.escape(summary)}</p>\n'
        f'<main class="cards">\n{"".join(map(_card, runs))}</main>'
    )


def _card(run: Run) -> str:
    """One notebook: its picture, question, answer and verdicts."""
    page = f"{_url(run.name)}.html"
    picture = run.picture()
    address = picture if picture.startswith("data:") else _url(picture)
    shown = f'<img loading="lazy" alt="" src="{address}">' if picture else _no_picture()
    return (
        f'<article class="card" id="{_url(run.name)}">'
        f'<a class="picture" href="{page}">{shown}</a>'
        f'<h2><a href="{page}">{html.escape(run.title)}</a></h2>'
        f'<p class="dim">{html.escape(" · ".join(filter(None, [_citation(run), run.data])))}</p>'
        f'<p class="question">{inline(run.question)}</p>'
        f"<p>{inline(run.short_answer)}</p>"
        f"{_verdicts(run.claims)}"
        f'<p class="links">{_links(run, f"{_url(run.name)}/")}</p></article>\n'
    )


def run_page(run: Run) -> str:
    """The page of one notebook: question, answer, figures and claims."""
    facts = " · ".join(filter(None, [run.data, f"{run.record['seconds']:.0f} s"]))
    answer = f'<div class="answer">{markdown(f"**The answer.** {run.answer}")}</div>'
    parts = [
        '<p class="dim"><a href="index.html">All results</a> · '
        '<a href="scorecard.html">Scorecard</a></p>',
        f"<h1>{html.escape(run.title)}</h1>",
        f'<p class="dim">{html.escape(facts)} · {_links(run, f"{_url(run.name)}/")}</p>',
        f'<div class="text">{markdown(run.opening)}</div>',
        answer if run.answer else "",
        _report(run),
        _section("The paper's figures, drawn anew", run, run.redrawn),
        _section("Beyond the paper" if run.redrawn else "Figures", run, run.own),
        _claims_section(run),
    ]
    if not run.figures and run.report is None:
        parts.append("<p>This run published no figures.</p>")
    return "\n".join(filter(None, parts))


def _report(run: Run) -> str:
    """Where the report on a log is; "" where this run wrote none."""
    if run.report is None:
        return ""
    address = f"{_url(run.name)}/{run.report.name}"
    link = f'<a href="{address}">The report on this log</a>'
    return f'<div class="answer"><p>{link}, one page.</p></div>'


def _links(run: Run, folder: str) -> str:
    """Links to a run's report, and to its notebook as a page and for JupyterLab."""
    links = []
    if run.report:
        links.append(f'<a href="{folder}{run.report.name}">the report on the log</a>')
    if run.notebook.is_file():
        name = _url(run.notebook.name)
        links.append(f'<a href="{folder}{_url(notebook_page(run).name)}">notebook</a>')
        links.append(f'<a href="{folder}{name}" download>.ipynb</a>')
    return " · ".join(links)


def _section(heading: str, run: Run, figures: list[Figure]) -> str:
    """Figures under a heading; "" without any."""
    if not figures:
        return ""
    shown = "\n".join(_figure(figure, _citation(run)) for figure in figures)
    return f'<h2>{heading}</h2>\n<div class="figures">\n{shown}\n</div>'


def _figure(figure: Figure, citation: str) -> str:
    """One figure: its picture, caption, and links to the page, the numbers and a drawing."""
    heading = html.escape(figure.title)
    place = _url(figure.page.parent.name)

    def link(suffix: str, text: str) -> str:
        file = figure.page.with_suffix(suffix)
        return f'<a href="{place}/{_url(file.name)}">{text}</a>' if file.is_file() else ""

    shown = _no_picture()
    if figure.picture.is_file():
        shown = f'<img loading="lazy" alt="" src="{place}/{_url(figure.picture.name)}">'
    of = f"Redraws {citation}, {figure.redraws}." if figure.redraws else ""
    notes = [of, *figure.caption]
    small = "".join(f'<span class="note">{html.escape(line)}</span>' for line in notes if line)
    links = filter(None, (link(suffix, text) for suffix, text in LINKS.items()))
    return (
        f'<figure id="{_url(figure.page.stem)}">'
        f'<a href="{place}/{_url(figure.page.name)}" title="{heading}">{shown}</a>'
        f"<figcaption><strong>{heading}</strong>{small}"
        f'<span class="links">{" · ".join(links)}</span></figcaption></figure>'
    )


def _claims_section(run: Run) -> str:
    """What the paper states beside what this run measured; "" where nothing is judged."""
    if not run.claims:
        return ""
    return (
        "<h2>What the paper says, and what we measure</h2>\n"
        f"{_verdicts(run.claims)}\n{_claims(run.claims)}"
    )


def scorecard(claims: list[dict[str, str]], summary: str) -> str:
    """The page of all claims, with filters."""
    return Template(FILTER.read_text(encoding="utf-8")).substitute(
        counts=html.escape(summary),
        systems=_options(dict.fromkeys(claim["system"] for claim in claims)),
        verdicts=_options(VERDICTS),
        claims=_claims(claims),
    )


def _claims(claims: Iterable[Mapping[str, str]]) -> str:
    """A line per claim, whose details are folded."""
    headings = ("verdict", "the paper says", "it prints", "we measure")
    cells = "".join(f"<span>{heading}</span>" for heading in headings)
    lines = "\n".join(map(_claim, claims))
    return f'<div class="claims"><div class="headings">{cells}</div>\n{lines}\n</div>'


def _claim(claim: Mapping[str, str]) -> str:
    """One claim: verdict, statement, the printed value and ours; the rule is folded."""
    cells = {name: html.escape(text) for name, text in claim.items()}
    verdict = cells["best"] or cells["verdict"]
    kind = verdict.replace(" ", "-") if verdict in VERDICTS else "unknown"
    stored = " <small>stored run</small>" if verdict != cells["verdict"] else ""
    folded = "".join(
        f"<dt>{heading}</dt><dd>{cells[name]}</dd>"
        for name, heading in DETAILS.items()
        if cells[name]
    )
    return (
        f'<details data-system="{cells["system"]}" data-verdict="{verdict}"><summary>'
        f'<span class="verdict {kind}">{verdict}{stored}</span><span>{cells["statement"]}</span>'
        f'<span data-heading="it prints">{cells["paper"]}</span>'
        f'<span data-heading="we measure">{cells["ours"]}</span></summary>'
        f"<dl>{folded}</dl></details>"
    )


def _verdicts(claims: list[dict[str, str]]) -> str:
    """How many claims have each verdict by the best evidence, as a bar and in words."""
    found = Counter(claim["best"] or claim["verdict"] for claim in claims)
    counts = {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}
    if not counts:
        return ""
    kinds = {verdict: verdict.replace(" ", "-") for verdict in counts}
    bar = "".join(
        f'<i class="{kinds[verdict]}" style="flex: {number}"></i>'
        for verdict, number in counts.items()
    )
    words = "".join(
        f'<span class="verdict {kinds[verdict]}">{number} {_verb(verdict, number)}</span>'
        for verdict, number in counts.items()
    )
    return f'<div class="counts"><div class="bar">{bar}</div>{words}</div>'


def _verb(verdict: str, number: int) -> str:
    """A verdict after a number of claims: "1 holds", "2 hold"."""
    return verdict.removesuffix("s") if number > 1 and verdict in ("holds", "fails") else verdict


def _reading(run: Run) -> str:
    """The executed notebook, and the way back."""
    return (
        f'<p class="dim"><a href="../{_url(run.name)}.html">Figures and claims</a> · '
        f'<a href="{_url(run.notebook.name)}" download>as .ipynb, for JupyterLab</a></p>\n'
        f'<main class="notebook">\n{notebook_body(run.content)}\n</main>'
    )


def _citation(run: Run) -> str:
    """The paper that the figures' captions name; "" without figures."""
    lines = (figure.caption[-1] for figure in run.figures if figure.caption)
    before, mark, _ = next(lines, "").partition(" · data: ")
    return before if mark else ""


def _no_picture() -> str:
    """What is shown in the place of a picture."""
    return '<span class="none">no picture: open the page</span>'


def _options(names: Iterable[str]) -> str:
    """The options of a list to choose from."""
    return "".join(f"<option>{html.escape(name)}</option>" for name in names)


def _url(name: str) -> str:
    """A file's name as a part of an address."""
    return html.escape(quote(name))


if __name__ == "__main__":
    main()
