"""`import cosimlib as cs`: light, complete, and said in one list."""

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

import cosimlib as cs
from cosimlib import __main__ as commands
from cosimlib.extras import EXTRAS, needed_by
from tests.suites import ROOT

HEAVY = {"IPython", "ipywidgets", "numba", "numpy", "pandas", "plotly"}
LAZY = ["cosimlib", "cosimlib.explorers", "cosimlib.figures"]


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


def test_figures_and_explorers_load_what_is_used_only():
    """And no grammar of web addresses, which jsonschema would load, and which stays importable."""
    show = "print(*(m for m in sys.modules if 'cosimlib.' in m or m.startswith('rfc3987')))"
    code = f"import sys, cosimlib as cs; cs.figures.plot_lines; {show}; cs.explore_eviction; {show}"
    code += "; import jsonschema, rfc3987_syntax; jsonschema.validate(1, {'type': 'integer'})"
    figures, explorers = map(str.split, run(code).splitlines())
    assert "cosimlib.figures.charts" in figures and "cosimlib.figures.elastic" not in figures
    assert "rfc3987_syntax" not in figures
    assert "cosimlib.explorers.eviction" in explorers
    assert "cosimlib.explorers.batch" not in explorers


def test_audit_is_the_function_whatever_is_imported_first():
    """A module is called alike: importing it must not take the function's place."""
    modules = "import cosimlib.audit, cosimlib.convert; from cosimlib.audit import audit_rule"
    show = "import cosimlib as cs; print(callable(cs.audit), callable(cs.convert))"
    assert run(f"{modules}; {show}") == "True True\n"


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="simulate_esay"):
        _ = cs.simulate_esay
    with pytest.raises(ImportError, match="simulate_esay"):
        exec("from cosimlib import simulate_esay")


def test_every_plot_is_at_the_top_of_figures():
    modules = [
        import_module(f"cosimlib.figures.{m.name}") for m in iter_modules(cs.figures.__path__)
    ]
    plots = {name for module in modules for name in vars(module) if name.startswith("plot_")}
    assert len(plots) > 10
    assert plots <= set(cs.figures.__all__)


LACKING = {
    "cs.explore_batch": ("explore_batch", "ipywidgets"),
    "cs.BatchEnv": ("BatchEnv", "gymnasium"),
    "cs.read_pm100('job_table.parquet')": ("reading job_table.parquet", "pyarrow"),
    "from cosimlib.explorers import explore_eviction": ("explore_eviction", "ipywidgets"),
}
"""What needs an optional package: the name that its error has, and the package."""


def test_a_missing_extra_says_what_to_install():
    hidden = sorted({package for _, package in LACKING.values()})
    program = f"""
import sys
sys.modules.update(dict.fromkeys({hidden}))
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


def test_an_import_that_fails_for_another_reason_is_passed_on():
    expected = "No module named 'no_such_module'"
    with pytest.raises(ModuleNotFoundError, match=expected), needed_by("a test"):
        import_module("no_such_module")


def test_extras_have_the_packages_that_errors_say_they_have():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package, extra in EXTRAS.items():
        names = [Requirement(line).name for line in project["optional-dependencies"][extra]]
        assert package in names


def test_the_package_is_typed_for_editors():
    assert (ROOT / "cosimlib" / "py.typed").is_file()


def test_the_package_as_a_command_tells_all_commands():
    package = Path(cs.__file__).parent
    own = {path.parent.name for path in package.glob("*/__main__.py")}
    own |= {
        path.stem
        for path in package.glob("[!_]*.py")
        if '__name__ == "__main__"' in path.read_text()
    }
    assert own == set(commands.COMMANDS)
    told = commands.text()
    assert all(f"python -m cosimlib.{name} " in told for name in own)
    ended = subprocess.run([sys.executable, "-m", "cosimlib"], capture_output=True, text=True)
    assert ended.stdout == f"{told}\n" and ended.stderr == ""
