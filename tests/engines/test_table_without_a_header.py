"""A table without a header: nobody's row is taken for names and published."""

from __future__ import annotations

import pytest
import xlsxwriter
from click.testing import CliRunner

import shoal
from shoal.cli.main import main
from shoal.core.errors import InputError, UsageError

RECORDS = [
    ("50-59", "male", "80333", "negative"),
    ("50-59", "male", "80333", "positive"),
    ("40-49", "female", "80333", "negative"),
    ("40-49", "female", "80331", "positive"),
]
BARE = "\n".join(";".join(record) for record in RECORDS * 3) + "\n"
ROLES = ["--quasi", "50-59", "--quasi", "male", "--quasi", "80333", "--sensitive", "negative"]
NUMBERED = [
    "--quasi",
    "column 1",
    "--quasi",
    "column 2",
    "--drop",
    "column 3",
    "--sensitive",
    "column 4",
]
RULE = ["-m", "k-anonymity k=2", "-m", "distinct-diversity l=2 on='column 4'"]


@pytest.fixture
def bare(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text(BARE)
    return path


def typed(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def refusal(result):
    """The exit code, what the message says of the header, and the cells that it quotes."""
    message = result.output + (result.stderr or "")
    named = [words for words in ("no header", "--no-header", "--header-row 1") if words in message]
    return result.exit_code, named, [cell for cell in RECORDS[0] if cell in message]


REFUSED_WITHOUT_A_VALUE = (5, ["no header", "--no-header", "--header-row 1"], [])


def test_publish_refuses_a_first_row_that_is_data_before_anything_is_written(bare, tmp_path):
    out = tmp_path / "release"
    result = typed("publish", bare, *ROLES, "-m", "k-anonymity k=2", "-o", out)
    assert refusal(result) == REFUSED_WITHOUT_A_VALUE
    assert [path.name for path in tmp_path.iterdir()] == ["bare.csv"]


def test_noise_refuses_it_too(bare, tmp_path):
    schema = shoal.Schema.of(drop=["50-59", "80333"]).set(
        {
            "male": shoal.quasi(domain=("male", "female")),
            "negative": shoal.sensitive(domain=("positive", "negative")),
        }
    )
    with pytest.raises(InputError, match="no header"):
        shoal.publish(bare, schema, form="counts", epsilon=1, marginals=1, out=tmp_path / "noisy")
    assert not (tmp_path / "noisy").exists()


def test_schema_refuses_it_and_writes_no_file(bare, tmp_path):
    out = tmp_path / "schema.toml"
    assert refusal(typed("schema", bare, "-o", out)) == REFUSED_WITHOUT_A_VALUE
    assert not out.exists()


def test_frontier_refuses_it(bare):
    result = typed("frontier", bare, *ROLES, "-m", "k-anonymity k=2")
    assert refusal(result) == REFUSED_WITHOUT_A_VALUE


def test_a_pool_takes_no_such_table(bare, tmp_path):
    pooled = tmp_path / "pool"
    words = dict.fromkeys(["50-59", "male", "80333"], shoal.quasi(kind="category"))
    agreed = shoal.Schema.of(provider="from").set(
        {**words, "negative": shoal.sensitive(kind="category")}
    )
    (tmp_path / "agreed.toml").write_text(agreed.to_toml())
    settings = ["-s", tmp_path / "agreed.toml", "--provider", "North", "--provider", "South"]
    started = typed("pool", "init", pooled, *settings, "-m", "m-privacy m=1 (k-anonymity k=2)")
    assert started.exit_code == 0, started.output
    assert (
        refusal(typed("pool", "add", pooled, "--provider", "North", bare))
        == REFUSED_WITHOUT_A_VALUE
    )


def test_the_hint_works_and_every_row_is_published(bare, tmp_path):
    out = tmp_path / "release"
    result = typed("publish", bare, "--no-header", *NUMBERED, *RULE, "-o", out)
    assert result.exit_code == 0, result.output
    lines = (out / "table.csv").read_text().splitlines()
    assert lines[0] == "column 1;column 2;column 4"
    assert len(lines) == 1 + len(RECORDS) * 3


def test_a_header_that_is_stated_is_believed(tmp_path):
    path = tmp_path / "years.csv"
    path.write_text("age,2019,2020\n" + "30,a,b\n" * 3 + "40,b,a\n" * 3)
    roles = ["--quasi", "age", "--sensitive", "2019", "--drop", "2020", "-m", "k-anonymity k=2"]
    assert typed("publish", path, *roles, "-o", tmp_path / "no").exit_code == 5
    stated = typed("publish", path, "--header-row", 1, *roles, "-o", tmp_path / "yes")
    assert stated.exit_code == 0, stated.output
    assert (tmp_path / "yes" / "table.csv").read_text().startswith("age,2019\n")


def test_a_header_further_down_in_a_text_file_can_be_stated(tmp_path):
    path = tmp_path / "titled.csv"
    path.write_text("Export,of,May\nage,sex,ill\n30,f,flu\n40,m,cold\n")
    frame = shoal.open(path, header_row=2)
    assert [field.name for field in frame.fields] == ["age", "sex", "ill"]
    assert frame.count_rows() == 2


def test_one_name_that_looks_like_a_value_is_still_a_header(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("age,sex,2020\n" + "30,f,a\n" * 3 + "40,m,b\n" * 3)
    assert typed("schema", path).exit_code == 0


def test_a_sheet_without_a_header_is_read_from_its_first_row(tmp_path):
    book = xlsxwriter.Workbook(str(tmp_path / "bare.xlsx"))
    sheet = book.add_worksheet()
    for place, record in enumerate(RECORDS):
        sheet.write_row(place, 0, record)
    book.close()
    frame = shoal.open(tmp_path / "bare.xlsx", header=False)
    assert [field.name for field in frame.fields] == [f"column {n}" for n in (1, 2, 3, 4)]
    assert frame.count_rows() == len(RECORDS)
    assert refusal(typed("schema", tmp_path / "bare.xlsx")) == REFUSED_WITHOUT_A_VALUE


def test_no_header_and_a_row_of_it_contradict_each_other(bare):
    with pytest.raises(UsageError, match="without a header"):
        shoal.open(bare, header=False, header_row=1)


def test_look_still_shows_such_a_table(bare):
    assert typed("look", bare).exit_code == 0
