"""Optional packages, and one that is imported without the part that takes long."""

import subprocess
import sys

CODE = """
import sys
import cosimlib as cs
cs.figures.plot_table
print("jsonschema" in sys.modules, "rfc3987_syntax" in sys.modules)
import jsonschema
import rfc3987_syntax
jsonschema.validate({"n": 1}, {"properties": {"n": {"type": "integer"}}})
"""


def test_figures_come_without_a_grammar_of_web_addresses_and_hide_it_from_nobody():
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "False"]
