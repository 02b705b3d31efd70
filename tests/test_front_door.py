"""`import cosimlib as cs`, `import cosimlab as lab`: light, complete, each said in one list."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from packaging.requirements import Requirement

import cosimlab as lab
import cosimlib as cs
from cosimlab import __main__ as commands
from cosimlib.extras import EXTRAS, needed_by
from tests.suites import ROOT

HEAVY = {"IPython", "ipywidgets", "numba", "numpy", "pandas", "plotly"}
WORKBENCH = {"joblib", "plotly", "pooch", "tqdm"}
"""Packages that no simulator and no solver needs."""
LAZY = ["cosimlib", "cosimlab", "cosimlab.explorers", "cosimlab.figures"]


def run(code: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed(module) -> list[str]:
    """The names in a docstring's table of contents: lines of the form "- `name`, `name`: ..."."""
    lines = re.findall(r"^- ((?:`\w+`(?:, )?)+): \S", module.__doc__, re.M)
    return [name for line in lines for name in re.findall(r"`(\w+)`", line)]


@pytest.mark.parametrize("name", LAZY)
def test_docstring_stub_and_all_name_the_same(name):
    module = import_module(name)
    stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    stubbed = [alias.asname for node in imports for alias in node.names]
    assert sorted(listed(module)) == sorted(module.__all__) == sorted(stubbed) == dir(module)
    assert len(set(stubbed)) == len(stubbed)


@pytest.mark.parametrize("name", LAZY)
def test_every_name_loads(name):
    module = import_module(name)
    for attribute in module.__all__:
        value = getattr(module, attribute)
        assert getattr(value, "__name__", attribute).rpartition(".")[2] in (attribute, "load")


def test_an_import_loads_nothing_heavy():
    loaded = run("import sys, cosimlib; print(*sorted({m.partition('.')[0] for m in sys.modules}))")
    assert not HEAVY & set(loaded.split())


def test_no_simulator_and_no_solver_loads_what_only_the_workbench_needs():
    use = "cs.simulate_easy, cs.simulate_ondemand, cs.solve_dynamic, cs.load_trace, cs.audit"
    show = "print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = set(run(f"import sys, cosimlib as cs; {use}; {show}").split())
    assert "numba" in loaded and not WORKBENCH & loaded


@pytest.mark.parametrize(("door", "most"), [(cs, 45), (lab, 30)], ids=["cosimlib", "cosimlab"])
def test_a_front_door_fits_on_a_screen(door, most):
    assert len(door.__all__) <= most


def test_figures_and_explorers_load_what_is_used_only():
    """And no grammar of web addresses, which jsonschema would load, and which stays importable."""
    show = "print(*(m for m in sys.modules if 'cosimlab.' in m or m.startswith('rfc3987')))"
    code = f"import sys, cosimlab as lab; lab.figures.lines; {show}; "
    code += f"lab.explore_eviction; {show}"
    code += "; import jsonschema, rfc3987_syntax; jsonschema.validate(1, {'type': 'integer'})"
    figures, explorers = map(str.split, run(code).splitlines())
    assert "cosimlab.figures.charts" in figures and "cosimlab.figures.elastic" not in figures
    assert "rfc3987_syntax" not in figures
    assert "cosimlab.explorers.eviction" in explorers
    assert "cosimlab.explorers.batch" not in explorers


def test_audit_is_the_function_whatever_is_imported_first():
    """A module is called alike: importing it must not take the function's place."""
    modules = "import cosimlib.audit, cosimlab.convert; from cosimlib.audit import audit_rule"
    show = (
        "import cosimlib as cs, cosimlab as lab; print(callable(cs.audit), callable(lab.convert))"
    )
    assert run(f"{modules}; {show}") == "True True\n"


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="simulate_esay"):
        _ = cs.simulate_esay
    with pytest.raises(ImportError, match="simulate_esay"):
        exec("from cosimlib import simulate_esay")


def test_every_plot_is_at_the_top_of_figures():
    modules = [
        import_module(f"cosimlab.figures.{m.name}") for m in iter_modules(lab.figures.__path__)
    ]
    plots = {name for module in modules for name in vars(module) if name.startswith("plot_")}
    assert len(plots) > 10
    assert plots <= set(lab.figures.__all__)


LACKING = {
    "lab.explore_batch": ("explore_batch", "ipywidgets"),
    "lab.figures.lines": ("lines", "plotly"),
    "lab.gym.BatchEnv": ("BatchEnv", "gymnasium"),
    "cs.traces.read_pm100('job_table.parquet')": ("reading job_table.parquet", "pyarrow"),
    "from cosimlab.explorers import explore_eviction": ("explore_eviction", "ipywidgets"),
}
"""What needs an optional package: the name that its error has, and the package."""


def test_a_missing_extra_says_what_to_install():
    hidden = sorted({package for _, package in LACKING.values()})
    program = f"""
import sys
sys.modules.update(dict.fromkeys({hidden}))
import cosimlab as lab
import cosimlib as cs
for code in {list(LACKING)}:
    try:
        exec(code)
    except ImportError as error:
        print(error)
"""
    assert run(program).splitlines() == [
        f'{what} needs {package}: pip install "cosimlib[{EXTRAS[package]}]"'
        for what, package in LACKING.values()
    ]


def test_the_app_without_its_extra_is_one_line():
    program = """
import runpy, sys
sys.modules["nbformat"] = None
try:
    runpy.run_module("cosimlab.app", run_name="__main__")
except SystemExit as error:
    print(error)
"""
    expected = 'python -m cosimlab.app needs nbformat: pip install "cosimlib[app]"\n'
    assert run(program) == expected


def test_an_import_that_fails_for_another_reason_is_passed_on():
    expected = "No module named 'no_such_module'"
    with pytest.raises(ModuleNotFoundError, match=expected), needed_by("a test"):
        import_module("no_such_module")


def test_extras_have_the_packages_that_errors_say_they_have():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package, extra in EXTRAS.items():
        names = [Requirement(line).name for line in project["optional-dependencies"][extra]]
        assert package in names


def test_the_package_as_a_command_tells_all_commands():
    package = Path(lab.__file__).parent
    own = {path.parent.name for path in package.glob("*/__main__.py")}
    own |= {
        path.stem
        for path in package.glob("[!_]*.py")
        if '__name__ == "__main__"' in path.read_text()
    }
    assert own == set(commands.COMMANDS)
    told = commands.text()
    assert all(f"python -m cosimlab.{name} " in told for name in own)
    ended = subprocess.run([sys.executable, "-m", "cosimlab"], capture_output=True, text=True)
    assert ended.stdout == f"{told}\n" and ended.stderr == ""
