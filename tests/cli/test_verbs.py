"""Each verb as a person types it."""

import json

import pytest

K10 = ("-m", "k-anonymity k=10")


@pytest.fixture
def published(shoal, roles):
    result = shoal("publish", "patients.csv", *roles, *K10, "-o", "release")
    assert result.exit_code == 0, result.output
    return result


def test_look_shows_roles_with_reasons_and_how_many_are_unique(shoal):
    result = shoal("look", "patients.csv")
    assert result.exit_code == 0
    head = next(line for line in result.stdout.splitlines() if line.startswith("column"))
    assert head.split() == ["column", "kind", "role", "distinct", "nulls", "why"]
    assert "the name says 'age'" in result.stdout
    assert "of 400 people" in result.stdout
    assert "+ " in result.stdout


def test_look_takes_roles(shoal):
    assert "as you said" in shoal("look", "patients.csv", "--keep", "sex").stdout
    wrong = shoal("look", "patients.csv", "--keep", "sexx")
    assert wrong.exit_code == 5
    assert 'Did you mean "sex"?' in wrong.stderr


def test_plain_output_has_no_boxes_escapes_or_trailing_space(shoal):
    for line in shoal("look", "patients.csv").stdout.splitlines():
        assert line == line.rstrip()
        assert not set(line) & set("\x1b│─┃━┏")


def test_schema_to_file_and_back(shoal, here):
    assert shoal("schema", "patients.csv", "-o", "schema.toml").exit_code == 0
    assert (here / "schema.toml").read_text() == shoal("schema", "patients.csv").stdout
    again = shoal("schema", "patients.csv", "-o", "schema.toml")
    assert again.exit_code == 5
    assert "exists already" in again.stderr
    result = shoal("publish", "patients.csv", "-s", "schema.toml", *K10, "--dry-run")
    assert result.exit_code == 0, result.output


def test_schema_keeps_a_files_comments_and_adds_what_it_lacks(shoal, here):
    (here / "mine.toml").write_text('[columns]\nsex = "quasi"  # as agreed\n', encoding="utf-8")
    text = shoal("schema", "patients.csv", "-s", "mine.toml").stdout
    assert "# as agreed" in text
    assert "[columns.diagnosis]" in text


def test_flags_override_the_file(shoal):
    shoal("schema", "patients.csv", "-o", "schema.toml")
    text = shoal("schema", "patients.csv", "-s", "schema.toml", "--keep", "sex", "--json").stdout
    columns = json.loads(text)["columns"]
    assert columns["sex"]["role"] == "keep"
    assert columns["age"]["role"] == "quasi"


def test_publish_and_verify(shoal, here, published):
    assert "400 rows in" in published.stdout
    assert (here / "release" / "table.csv").is_file()
    assert (here / "release.private").is_dir()
    result = shoal("verify", "release")
    assert result.exit_code == 0
    assert "holds" in result.stdout


def test_publish_never_overwrites_unless_told(shoal, roles, published):
    again = shoal("publish", "patients.csv", *roles, *K10, "-o", "release")
    assert again.exit_code == 2
    assert "--replace" in again.stderr
    assert (
        shoal("publish", "patients.csv", *roles, *K10, "-o", "release", "--replace").exit_code == 0
    )


def test_a_dry_run_writes_nothing(shoal, here, roles):
    before = sorted(here.iterdir())
    result = shoal(
        "publish", "patients.csv", *roles, *K10, "-o", "release", "--dry-run", "--explain"
    )
    assert result.exit_code == 0
    assert "Nothing was written" in result.stdout
    assert "k-anonymity k=10" in result.stdout
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize("format_", ["csv", "xlsx", "parquet", "feather"])
def test_publish_writes_each_format(shoal, here, roles, format_):
    result = shoal(
        "publish", "patients.csv", *roles, *K10, "-o", "release", "--format", format_, "--relaxed"
    )
    assert result.exit_code == 0, result.output
    assert (here / "release" / f"table.{format_}").is_file()
    assert shoal("verify", "release").exit_code == 0


def test_publish_needs_roles_a_requirement_and_a_folder(shoal, roles):
    for arguments, hint in (
        ((*K10, "-o", "release"), "-s schema.toml"),
        ((*roles, "-o", "release"), '-m "k-anonymity'),
        ((*roles, *K10), "--dry-run"),
    ):
        result = shoal("publish", "patients.csv", *arguments)
        assert result.exit_code == 2
        assert hint in result.stderr


def test_a_column_has_one_role(shoal):
    result = shoal("look", "patients.csv", "--quasi", "age", "--keep", "age")
    assert result.exit_code == 2
    assert "as quasi and as keep" in result.stderr


def test_what_cannot_be_met_is_3_and_explained(shoal, here, roles):
    rule = ("-m", "entropy-diversity l=300", "-o", "release")
    result = shoal("publish", "patients.csv", *roles, *rule, "--explain")
    assert result.exit_code == 3
    assert "reaches" in result.stderr
    assert "No part that mondrian finds meets it" in result.stderr
    assert not (here / "release").exists()


def test_verify_of_what_does_not_hold_is_3(shoal, published):
    result = shoal("verify", "release", "-m", "k-anonymity k=300", "--show")
    assert result.exit_code == 3
    assert "DOES NOT HOLD" in result.stdout
    assert "age " in result.stdout
    alone = shoal("verify", "release", "-m", "k-anonymity k=300", "--json")
    assert alone.exit_code == 3
    assert json.loads(alone.stdout)["holds"] is False


def test_verify_of_any_table(shoal, here):
    (here / "t.csv").write_text("age;d\n*;a\n*;b\n", encoding="utf-8")
    roles = ("--quasi", "age", "--sensitive", "d", "--delimiter", ";")
    assert shoal("verify", "t.csv", *roles, "-m", "k-anonymity k=2").exit_code == 0
    assert shoal("verify", "t.csv", *roles, "-m", "k-anonymity k=3").exit_code == 3


def test_audit_prints_what_is_reached(shoal, published):
    result = shoal("audit", "release", "--original", "patients.csv", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["edition"] == 1
    assert found["rows"] == 400
    reached = {one["model"]: one["value"] for one in found["reached"]}
    assert reached["k-anonymity"] >= 10
    assert "k-anonymity" in shoal("audit", "release").stdout


def test_hierarchies_of_a_folder(shoal, here, roles):
    (here / "trees").mkdir()
    (here / "trees" / "sex.csv").write_text("f;anyone\nm;anyone\n", encoding="utf-8")
    given = ("--hierarchies", "trees")
    result = shoal("publish", "patients.csv", *roles, *K10, "-o", "release", *given)
    assert result.exit_code == 0, result.output
    (here / "trees" / "sex.csv").write_text("f;anyone\n", encoding="utf-8")
    result = shoal("publish", "patients.csv", *roles, *K10, "--dry-run", *given)
    assert result.exit_code == 5
    assert "'sex'" in result.stderr or '"sex"' in result.stderr
    result = shoal("publish", "patients.csv", *roles, *K10, "--dry-run", "--hierarchies", ".")
    assert result.exit_code == 2


def test_a_schema_finds_its_hierarchies_beside_itself(shoal, here):
    (here / "roles").mkdir()
    (here / "roles" / "sex.csv").write_text("f;anyone\nm;anyone\n", encoding="utf-8")
    text = '[columns.sex]\nrole = "quasi"\nhierarchy = {file = "sex.csv"}\n'
    (here / "roles" / "schema.toml").write_text(text, encoding="utf-8")
    (here / "t.csv").write_text("sex\nf\nm\nf\nm\n", encoding="utf-8")
    arguments = (
        "publish",
        "t.csv",
        "-s",
        "roles/schema.toml",
        "-m",
        "k-anonymity k=2",
        "--dry-run",
    )
    assert shoal(*arguments).exit_code == 0
    (here / "roles" / "sex.csv").unlink()
    assert shoal(*arguments).exit_code == 5


@pytest.mark.parametrize("verb", ["look", "schema", "audit", "verify", "publish"])
def test_a_missing_file_is_5(shoal, verb):
    extra = {
        "audit": ["--quasi", "age"],
        "verify": ["--quasi", "age", *K10],
        "publish": ["--quasi", "age", *K10, "--dry-run"],
    }
    result = shoal(verb, "absent.csv", *extra.get(verb, []))
    assert result.exit_code == 5
    assert "absent.csv" in result.stderr


def test_a_missing_schema_is_5(shoal):
    result = shoal("publish", "patients.csv", "-s", "absent.toml", *K10, "--dry-run")
    assert result.exit_code == 5


def test_data(shoal, here):
    assert "st_anna.csv" in shoal("data", "list").stdout.splitlines()
    assert "st_anna.csv" in json.loads(shoal("data", "list", "--json").stdout)["tables"]
    assert shoal("data", "copy", "sweeney_fig2.csv").exit_code == 0
    assert (here / "sweeney_fig2.csv").stat().st_size > 0
    assert shoal("data", "copy", "sweeney_fig2.csv").exit_code == 5
    assert shoal("data", "copy", "nothing.csv").exit_code == 2


def test_quiet_prints_nothing(shoal, roles):
    for arguments in (
        ("look", "patients.csv"),
        ("publish", "patients.csv", *roles, *K10, "--dry-run"),
        ("data", "list"),
    ):
        result = shoal(*arguments, "--quiet")
        assert (result.exit_code, result.output) == (0, "")


def test_reading_options_reach_the_reader(shoal, here):
    (here / "t.csv").write_text("a|day\n1,5|01/02/2024\n-|03/02/2024\n", encoding="utf-8")
    options = ("--delimiter", "|", "--decimal", ",", "--day-first", "--null", "-")
    columns = json.loads(shoal("look", "t.csv", *options, "--json").stdout)["columns"]
    assert [column["kind"] for column in columns] == ["number", "date"]
    assert columns[0]["nulls"] == 1


def test_publish_says_what_no_requirement_is_about(shoal, roles):
    for rule, unjudged in (("k-anonymity k=10", ["diagnosis"]), ("distinct-diversity l=2", [])):
        done = shoal("publish", "patients.csv", *roles, "-m", rule, "--dry-run", "--json")
        assert json.loads(done.stdout)["unjudged"] == unjudged
    assert (
        "no requirement"
        not in shoal("publish", "patients.csv", *roles, "-m", rule, "--dry-run").stdout
    )


def test_publish_takes_the_order_of_a_chain(shoal, roles):
    asked = [*roles, *K10, "--method", "chain", "--dry-run", "--json"]
    first = [shoal("publish", "patients.csv", *asked, "--order", name) for name in ("sex", "zip")]
    levels = [json.loads(one.stdout)["levels"] for one in first]
    assert levels[0]["sex"] > 0
    assert levels[1]["zip"] > 0
    wrong = shoal("publish", "patients.csv", *roles, *K10, "--dry-run", "--order", "sex")
    assert wrong.exit_code == 2
