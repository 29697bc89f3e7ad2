"""Demo: the story runs, the README tells it, and its page names nothing of the machine."""

from __future__ import annotations

import getpass
import json
import platform
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoal
from shoal import bundled
from shoal.cli.main import main
from shoal.reports.demo import make_hospital_schema
from shoal.reports.document import Page

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def demo_and_output(tmp_path_factory):
    """The demo, as the command line makes it where an earlier one lies, and what it prints."""
    folder, demos = tmp_path_factory.mktemp("demo") / "story", []
    folder.mkdir()
    earlier, release = bundled.path("st_anna.csv"), folder / "st_anna-k-anonymity"
    shoal.publish(earlier, make_hospital_schema(), "k-anonymity k=9", out=release)
    for name in ("index.html", "report.html"):
        Page("The earlier story", ()).write(folder / name)

    def keep(*arguments, **options):
        demos.append(run_demo(*arguments, **options))
        return demos[0]

    run_demo = shoal.demo
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shoal, "demo", keep)
        done = CliRunner().invoke(main, ["demo", "-o", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    return demos[0], json.loads(done.stdout)


@pytest.fixture(scope="module")
def demo(demo_and_output):
    return demo_and_output[0]


def test_the_page_and_the_releases_are_there(demo):
    assert demo.page.is_file()
    folders = {path.name for path in demo.page.parent.iterdir() if path.is_dir()}
    assert {"st_anna-k-anonymity", "harbour-k-anonymity"} <= folders
    for folder in folders:
        if not folder.endswith(".private"):
            assert shoal.verify(demo.page.parent / folder).holds


def test_people_are_exposed_and_diversity_helps(demo):
    weak, strong = demo.findings.values()
    assert weak.people == strong.people > 400
    assert weak.exposed > strong.exposed
    assert weak.details["exposed_before"] < weak.exposed
    assert str(weak.exposed) in str(demo)


def test_json_has_the_facts(demo):
    facts = demo.to_json()
    assert facts["edition"] == 1
    assert set(facts) >= {"page", "report", "linked", "rows", "unique", "releases", "findings"}


def test_most_patients_have_a_name_on_the_voter_list(demo):
    assert demo.linked.attack == "linking"
    assert demo.linked.details["certain"] > 400
    assert f"{demo.linked.details['certain']:,}" in demo.page.read_text(encoding="utf-8")


def test_the_report_tells_what_the_join_found(demo):
    weak = demo.findings["k-anonymity"]
    text = demo.report.read_text(encoding="utf-8")
    assert f"{weak.exposed:,} of {weak.people:,} people" in text


def test_the_page_names_nothing_of_the_machine(demo):
    text = "".join(path.read_text(encoding="utf-8") for path in (demo.page, demo.report))
    assert text.count("<svg") > 8
    for own in (str(demo.page.parent), platform.node(), str(Path.home()) + "/", "/tmp"):
        assert own not in text, own
    if len(getpass.getuser()) > 5:
        assert getpass.getuser() not in text


def test_the_readme_tells_what_it_finds(demo):
    weak, text = demo.findings["k-anonymity"], README.read_text(encoding="utf-8")
    assert f"{weak.people} patients were in both" in text
    assert f"a single possible diagnosis for {weak.exposed} of them" in text


def test_it_can_be_run_again_and_on_the_command_line(demo_and_output):
    demo, printed = demo_and_output
    assert printed["edition"] == 1
    assert printed["findings"]["k-anonymity"]["exposed"] == demo.findings["k-anonymity"].exposed
    assert Path(printed["page"]) == demo.page
    for page in (demo.page, demo.report):
        assert "The earlier story" not in page.read_text(encoding="utf-8")
    manifest = json.loads((demo.page.parent / "st_anna-k-anonymity/manifest.json").read_text())
    assert manifest["rule"] == "k-anonymity k=5"
