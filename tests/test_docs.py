"""Pages: links, live figures, names, lengths, and what their Python prints."""

import ast
import doctest
import inspect
import json
import re
import shutil
from dataclasses import replace

import pytest

import cosimlab as lab
import cosimlib as cs
from docs import scores
from docs.build import notebook_of, relink, staged_places
from docs.figures import PLOTLY, copy_notebook
from docs.plots import PLOTS, example_figure
from docs.reference import reference_pages
from docs.systems import SYSTEMS, opening, section, system_pages
from tests import pages
from tests.suites import ROOT, THOROUGH

PLACES = staged_places()


def test_links_lead_to_pages_and_those_without_one_are_text():
    origin = ROOT / "notebooks" / "explore" / "filling.ipynb"
    text = "[a](../4-filling.ipynb) [b](../../README.md) [c](https://x.y) ![d](../../docs/e.png)"
    expected = "[a](../../notebooks/4-filling.ipynb) b [c](https://x.y) ![d](../../e.png)"
    assert relink(text, origin, PLACES) == expected
    linked = relink("[![](../pictures/4-filling.png)](../4-filling.ipynb)", origin, PLACES)
    picture = "![](../../notebooks/pictures/4-filling.png)"
    assert linked == f"[{picture}](../../notebooks/4-filling.ipynb)"
    unlinked = "[no link]" * 50 + "[" + "no end " * 500
    assert relink(unlinked, origin, PLACES) == unlinked
    own = relink(
        "[w](CONTRIBUTING.md#style) [own](docs/own-policy.md)",
        ROOT / "README",
        {
            ROOT / "README": "readme.md",
            **PLACES,
        },
    )
    assert own == "[w](contributing.md#style) [own](own-policy.md)"


def test_every_page_of_results_has_a_notebook():
    pages = sorted((ROOT / "docs" / "results").glob("*.md"))
    assert pages and all(notebook_of(page).endswith(f"-{page.stem}") for page in pages)


def test_every_page_is_in_a_list_of_contents():
    pages = {place.rpartition(".")[0] for place in PLACES.values()} - {"index"}
    pages |= {f"systems/{room}" for room in SYSTEMS} | {"api/index"}
    listed = set()
    for path in ROOT.glob("docs/*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
            listed |= {line for line in block.splitlines() if line and not line.startswith(":")}
    assert listed == pages


def test_a_page_of_a_system_has_question_picture_model_results_and_deviations():
    pages = system_pages(ROOT, lambda text, at: relink(text, at, PLACES))
    assert sorted(pages) == sorted(f"systems/{room}.md" for room in SYSTEMS)
    for name, text in pages.items():
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert headings[1:] == [
            "The model",
            "What we found",
            "What differs from the paper, and what is assumed",
        ]
        assert len(text) > 2_000, name
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            if not link.startswith(("http", "../api")):
                inside = link.removeprefix("../")
                found = ROOT / "docs" / inside
                assert inside in PLACES.values() or found.exists() or (ROOT / inside).exists(), link


def test_deviations_are_the_last_text_that_begins_so(tmp_path):
    path = tmp_path / "9-new.ipynb"
    texts = [
        "# A title\n\nA question?",
        "## What containers do\n",
        "## What deviates from the paper\n\nAll.",
    ]

    def write(texts):
        cells = [{"cell_type": "markdown", "source": [text]} for text in texts]
        path.write_text(json.dumps({"cells": cells}), encoding="utf-8")

    write([*texts, "the end"])
    assert opening(path) == ("A title", "A question?", "All.")
    write(texts[:2])
    with pytest.raises(ValueError, match=r"9-new\.ipynb: no text begins with '## What deviates"):
        opening(path)


def test_a_heading_that_is_missing_is_named():
    with pytest.raises(ValueError, match=r"speed\.md has no heading like 'None'"):
        section(ROOT / "docs" / "speed.md", "None")


def test_the_reference_has_every_name_of_the_front_doors_and_of_the_rooms():
    pages = reference_pages()
    known = {"api/index.md"}
    for package in (cs, lab):
        values = {name: getattr(package, name) for name in dir(package)}
        rooms = {name for name, value in values.items() if inspect.ismodule(value)}
        page = {
            room: f"{package.__name__}.{room}" if f"api/{room}.md" in known else room
            for room in rooms
        }
        known |= {f"api/{name}.md" for name in (package.__name__, *page.values())}
        front = pages[f"api/{package.__name__}.md"]
        documented = re.findall(r"^\.\. auto(?:function|class):: (\w+)", front, re.M)
        assert sorted(documented) == sorted(values.keys() - rooms)
        for room in rooms:
            missing = [
                name
                for name in getattr(values[room], "__all__", [])
                if callable(getattr(values[room], name))
                and not re.search(rf"\b{name}\b", pages[f"api/{page[room]}.md"])
            ]
            assert not missing, f"{room}: {missing}"
    assert pages.keys() == known


@pytest.mark.parametrize("name", [name for names in PLOTS.values() for name in names])
def test_the_example_of_a_plot_draws_what_it_shows(name):
    assert len(example_figure(name).data) >= 1
    text = inspect.getdoc(getattr(lab.figures, name))
    parsed = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(parsed, out=report.append).failed == 0, "".join(report)


def test_a_plot_without_an_example_is_named():
    with pytest.raises(ValueError, match=r"lab\.figures\.plot_table: its docstring has no example"):
        example_figure("plot_table")


def test_figures_are_live_and_names_in_them_end_no_script(tmp_path):
    attack = "</script><script>alert(1)"
    figure = {"data": [{"y": [1], "name": attack}], "layout": {"width": 900, "height": 300}}
    output = {"output_type": "display_data", "metadata": {}, "data": {PLOTLY: figure}}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["see ", "this"]},
        {"cell_type": "code", "metadata": {}, "source": "x", "outputs": [output, dict(output)]},
    ]
    (tmp_path / "one.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "source" / "notebooks").mkdir(parents=True)
    target = tmp_path / "source" / "notebooks" / "one.ipynb"
    copy_notebook(tmp_path / "one.ipynb", target, str.upper)
    text, code = json.loads(target.read_text(encoding="utf-8"))["cells"]
    assert text["source"] == "SEE THIS"
    pages = [output["data"]["text/html"] for output in code["outputs"]]
    assert [page.count('src="../_static/plotly.min.js"') for page in pages] == [1, 0]
    for page in pages:
        assert "alert(1)" in page and attack not in page
        assert page.count("</script>") == page.count("<script")
        assert '"width"' not in page and "height: 300px" in page


README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMED = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")))


def test_it_is_short():
    assert len(README.split()) <= 600
    first = README.split("```python\n")[1].split("```")[0]
    assert len([line for line in first.splitlines() if line]) <= 10
    assert re.findall("^## (.+)", README, flags=re.MULTILINE) == [
        "Install",
        "Two commands",
        "Ten lines of Python",
        "Your own log",
        "Links",
    ]


def anchor(heading: str) -> str:
    """The name by which GitHub and the built pages link to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


WRITTEN = sorted((*ROOT.glob("docs/*.md"), *ROOT.glob("docs/results/*.md")))


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_a_page_has_up_to_900_words_or_its_contents(path):
    """Contents are a link to each heading of the second level, below the title."""
    text = path.read_text(encoding="utf-8")
    headings = re.findall(
        "^## (.+)", re.sub("^```.*?^```", "", text, flags=re.DOTALL | re.M), flags=re.M
    )
    contents = re.search(r"^Contents: (.+?)\n\n", text, flags=re.DOTALL | re.MULTILINE)
    assert contents or len(text.split()) <= 900
    listed = re.findall(r"\]\(#([^)]+)\)", contents[1] if contents else "")
    assert not contents or listed == [anchor(heading) for heading in headings]


@pytest.mark.parametrize("page", NAMED)
def test_make_targets_links_and_files_that_a_page_names_are_there(page):
    """Files are paths between backticks that begin with a folder of the project."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"(?:`|^)make ([a-z-]+)\b(?!/)", text, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"no target {target}"
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if not link.startswith("http"):
            assert ((ROOT / page).parent / link).exists(), f"{link} is not there"
    named = re.findall(r"`((?:cosimlib|cosimlab|tests|docs|data|notebooks)/[\w./-]+)`", text)
    generated = ("data/cache", "data/traces")
    missing = [name for name in named if not (ROOT / name).exists()]
    assert [name for name in missing if not name.startswith(generated)] == []


CODE = [
    pytest.param(path, block, id=f"{path.stem}-{number}")
    for path in sorted((ROOT / "docs").glob("*.md"))
    for number, block in enumerate(
        re.findall(r"^```(?:python|py)\n(.*?)^```$", path.read_text("utf-8"), re.DOTALL | re.M)
    )
]


def resolved(node):
    """What a dotted name that begins with `cs.` or `lab.` means; None for another expression."""
    if isinstance(node, ast.Name):
        return {"cs": cs, "lab": lab}.get(node.id)
    above = resolved(node.value) if isinstance(node, ast.Attribute) else None
    return getattr(above, node.attr) if inspect.ismodule(above) or inspect.isclass(above) else None


@pytest.mark.parametrize(("path", "block"), CODE)
def test_code_that_needs_a_log_or_a_cluster_has_names_and_arguments_that_are_there(path, block):
    for node in ast.walk(ast.parse(block)):
        resolved(node)
        called = resolved(node.func) if isinstance(node, ast.Call) else None
        if callable(called):
            places = [None for each in node.args if not isinstance(each, ast.Starred)]
            words = {each.arg: None for each in node.keywords if each.arg}
            inspect.signature(called).bind_partial(*places, **words)


def test_an_old_name_or_argument_in_a_page_is_found():
    check = test_code_that_needs_a_log_or_a_cluster_has_names_and_arguments_that_are_there
    with pytest.raises(AttributeError, match="simulate_magic"):
        check(None, "cs.simulate_magic(1)")
    with pytest.raises(TypeError, match="walltime"):
        check(None, "schedule = cs.audit(cs.simulate_easy(workload, system, walltime=3))")


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder with files of the names that pages use, where a reader runs their code."""
    (tmp_path / "path" / "of" / "your").mkdir(parents=True)
    data = ROOT / "tests" / "data"
    shutil.copy(data / "odd.swf", tmp_path / "path" / "of" / "your" / "log")
    shutil.copy(data / "slurm-24.11" / "sacct_X_parsable2_epoch.txt", tmp_path / "log.txt")
    for path in (data / "alibaba").iterdir():
        shutil.copy(path, tmp_path)
    jobs = cs.synthetic.with_estimates(cs.synthetic.lublin(300, load=1.1, seed=1), seed=1)
    starts = cs.simulate_easy(jobs, jobs.machine).start_time
    recorded = replace(jobs, jobs=jobs.jobs.assign(recorded_start=starts))
    cs.traces.write_swf(recorded, tmp_path / "my.log")
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["calendar", "identify", "nodes", "report", "your-log"])
def test_the_python_of_a_page_without_outputs_runs(name, reader):
    path = ROOT / "docs" / f"{name}.md"
    assert pages.executed(path) == path.read_text(encoding="utf-8")


@pytest.mark.traces
@pytest.mark.compiled("forecasts and replicates of a real log")
@pytest.mark.parametrize("name", ["forecast", "intervals"] if THOROUGH else ["forecast"])
def test_the_python_of_a_page_on_a_real_log_runs(name, trace_path):
    trace_path("KTH-SP2-1996-2.1-cln.swf.gz")
    path = ROOT / "docs" / f"{name}.md"
    assert pages.executed(path) == path.read_text(encoding="utf-8")


LONG = (pages.OWN_POLICY, pages.OWN_SOLVER)
QUICK = [path for path in pages.PAGES if path not in LONG]


@pytest.mark.parametrize("path", pages.PAGES if THOROUGH else QUICK, ids=lambda path: path.name)
def test_a_page_shows_what_its_python_prints(path):
    shown = path.read_text(encoding="utf-8")
    assert pages.executed(path) == shown, "run: python -m tests.pages"


@pytest.mark.parametrize(("name", "order"), [("SPT", "shortest"), ("SAF", "SAF"), ("WFP3", "wfp")])
def test_scores_of_all_waiting_jobs_are_those_of_the_package(name, order, monkeypatch):
    """With one foremost job, every score is first come, first served."""
    monkeypatch.setattr(scores, "FIRST", 0)
    jobs = cs.synthetic.lublin(400, load=1.5, seed=1).jobs
    whole = jobs.assign(requested_time=jobs["run_time"].clip(lower=1))
    workload = cs.Workload(whole, "model", cs.System.of(128))
    arrays = workload.arrays(workload.machine)
    fcfs = cs.simulate_fcfs(workload, workload.machine)
    ordered = cs.simulate_fcfs(workload, workload.machine, order=order)
    assert (fcfs.start_time != ordered.start_time).any()
    assert scores.starts(name, arrays, 128, 1).tolist() == fcfs.start_time.tolist()
    assert scores.starts(name, arrays, 128, 400).tolist() == ordered.start_time.tolist()
