"""What a person needs to publish: versions and dependencies agree, the paper has JOSS's form."""

import json
import re
import tomllib

import pandas as pd
import pytest
import yaml
from packaging.requirements import Requirement

from papers.scorecard import FIVE_PAPERS
from tests.suites import ROOT

PAPER = ROOT / "docs" / "joss" / "paper.md"


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def project():
    return tomllib.loads(text_of("pyproject.toml"))["project"]


def recipe():
    return yaml.safe_load(text_of(".ci/conda/recipe.yaml"))


def paper():
    """The heading of the paper, and its text."""
    _, heading, text = PAPER.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(heading), text


def test_all_files_say_the_same_version():
    versions = {
        "CITATION.cff": yaml.safe_load(text_of("CITATION.cff"))["version"],
        ".zenodo.json": json.loads(text_of(".zenodo.json"))["version"],
        "recipe": recipe()["context"]["version"],
        "CHANGELOG.md": re.search(r"^## \[(.+?)\]", text_of("CHANGELOG.md"), re.M)[1],
    }
    assert versions == dict.fromkeys(versions, project()["version"])


def test_the_conda_recipe_asks_for_what_pyproject_asks_for():
    asked = dict(line.split(maxsplit=1) for line in recipe()["requirements"]["run"])
    assert asked.pop("python") == project()["requires-python"]
    wanted = {r.name: str(r.specifier) for r in map(Requirement, project()["dependencies"])}
    assert asked == wanted
    points = dict(each.split(" = ") for each in recipe()["build"]["python"]["entry_points"])
    assert points == project()["scripts"]
    assert recipe()["about"]["license"] == project()["license"]


def test_the_conda_recipe_is_one_for_its_builder():
    builder = pytest.importorskip("rattler_build", reason="py-rattler-build is not installed")
    parsed = builder.Stage0Recipe.from_file(str(ROOT / ".ci" / "conda" / "recipe.yaml"))
    (variant,) = parsed.render()
    made = variant.recipe.package
    assert (str(made.name), str(made.version)) == (project()["name"], project()["version"])


def test_what_builds_the_package_is_pinned_with_hashes():
    text = text_of(".ci/build.txt")
    blocks = [block for block in re.split(r"\n(?=\S)", text.rstrip()) if not block.startswith("#")]
    names = {re.match(r"[\w.-]+", block)[0] for block in blocks}
    assert names >= {"build", "editables", "hatchling", "uv"}
    assert all("==" in block and "--hash=sha256:" in block for block in blocks)
    assert "://" not in text


@pytest.mark.parametrize("name", [".ci/setup", ".ci/wheel"])
def test_tools_are_installed_with_hashes_only(name):
    installs = re.findall(r"^.*pip\"? install.*$", text_of(name), re.M)
    fetching = [line for line in installs if "--no-deps -e ." not in line and "$built" not in line]
    assert fetching and all("--require-hashes" in line for line in fetching)


def test_the_paper_has_the_heading_that_the_journal_asks_for():
    heading, _ = paper()
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= heading.keys()
    assert "`" not in heading["title"]
    assert re.fullmatch(r"[1-9]\d? [A-Z][a-z]+ \d{4}", heading["date"])
    assert (PAPER.parent / heading["bibliography"]).is_file()
    known = {each["index"] for each in heading["affiliations"]}
    assert all(author["affiliation"] in known for author in heading["authors"])


def test_the_paper_has_the_parts_and_the_length_that_the_journal_asks_for():
    _, text = paper()
    assert re.findall(r"^# (.+)$", text, re.M) == [
        "Summary",
        "Statement of need",
        "State of the field",
        "Software design",
        "Research impact statement",
        "AI usage disclosure",
        "Acknowledgements",
        "References",
    ]
    assert 750 <= len(text.split()) <= 1_000  # the journal allows 1,750


def test_the_paper_counts_the_claims_as_the_stored_runs_do():
    claims = pd.read_csv(ROOT / "data" / "claims.csv")
    claims = claims[claims["source"].str.match(FIVE_PAPERS)]
    names = pd.MultiIndex.from_frame(claims[["system", "claim"]])
    quick, larger = (
        pd.read_csv(ROOT / "data" / f"{scale}-scale.csv")
        .drop_duplicates(["system", "claim"], keep="last")
        .set_index(["system", "claim"])["verdict"]
        .reindex(names)
        for scale in ("quick", "paper")
    )
    best = larger.where(larger.notna() & (larger != "unknown"), quick).fillna("timed")
    found = best.value_counts()
    said = (
        f"Of {len(claims)} claims of five papers, {found['holds']} hold under every reading, "
        f"{found['fails']} fail, {found['unknown']} are unknown and {found['by construction']} "
        f"hold by construction; {found['timed']} are times that depend on the machine."
    )
    assert said in " ".join(paper()[1].split())


def test_every_citation_of_the_paper_is_in_its_bibliography_and_the_other_way_round():
    cited = set(re.findall(r"@(\w+)", paper()[1]))
    listed = re.findall(r"^@\w+\{(\w+),", text_of("docs/joss/paper.bib"), re.M)
    assert len(listed) == len(set(listed))
    assert cited == set(listed)


def test_the_table_of_peers_is_that_of_the_page_on_speed():
    numbers_of = re.compile(r"^\| [^|]+ \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", re.M)
    rows = numbers_of.findall(paper()[1])
    # The page has shares of equal starts, too.
    speed = re.sub(r" \([\d.]+ %\)", "", text_of("docs/speed.md"))
    assert len(rows) >= 5 and set(rows) <= set(numbers_of.findall(speed))
