"""Workflows of the CI: actions are pinned by commit, jobs are limited in time and in rights."""

import re

import pytest
import yaml

from tests.suites import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"\s*(?:- )?uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(path):
    used = [line for line in path.read_text().splitlines() if "uses:" in line]
    assert used and [line for line in used if not PINNED.fullmatch(line)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_may_read_only_and_end(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    endless = [name for name, job in workflow["jobs"].items() if "timeout-minutes" not in job]
    assert endless == []


def test_the_lock_is_audited_every_night():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())
    # YAML takes "on" for a truth.
    assert workflow[True]["schedule"]
    runs = [step.get("run", "") for step in workflow["jobs"]["audit"]["steps"]]
    assert any(run.startswith("pip-audit --requirement requirements.lock") for run in runs)
