"""The script of a live figure, run by Node.js with a model and a Plotly of our own."""

import shutil
import subprocess

import pytest

from cosimlab.explorers.live import SCRIPT

PAGE = """
const code = "export default () => ({ initialize() {}, render({ el }) { el.push('drawn'); } })";
const urls = ["data:text/javascript,throw 1", "data:text/javascript," + code];
URL.createObjectURL = () => urls.shift() ?? "data:text/javascript,throw 2";
URL.revokeObjectURL = () => {};
globalThis.ResizeObserver = class { observe() {} disconnect() {} };
globalThis.window = { addEventListener() {}, removeEventListener() {} };
const { initialize, render } = (await import(process.argv[2])).default();
const model = { get: (name) => name };
const shown = [];
initialize({ model });
await render({ model, el: shown }).catch(() => shown.push("failed"));
for (let times = 0; times < 2; times++) await render({ model, el: shown });
console.log(shown.join(" "));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_a_figure_whose_plotly_did_not_load_tries_again_when_it_is_shown_next(tmp_path):
    for name, text in {"figure.mjs": SCRIPT.read_text(encoding="utf-8"), "page.mjs": PAGE}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = ["node", "page.mjs", "./figure.mjs"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("failed drawn drawn\n", "")
