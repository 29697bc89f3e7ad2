"""A table without a header: its first row is somebody's, and no error prints it."""

from __future__ import annotations

import pytest
import xlsxwriter

import shoal

ROW = ["34", "Anna Smith", "13053", "flu"]
OTHERS = [["41", "Bo Berg", "13068", "cold"], ["29", "Cy Lee", "13053", "flu"]]
SCHEMA = shoal.Schema.of(quasi=["age", "zip"], sensitive="illness")


@pytest.fixture(params=["csv", "xlsx"])
def headless(tmp_path, request):
    path = tmp_path / f"people.{request.param}"
    rows = [ROW, *OTHERS, *OTHERS]
    if request.param == "csv":
        path.write_text("".join(",".join(row) + "\n" for row in rows))
    else:
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            for place, row in enumerate(rows):
                sheet.write_row(place, 0, row)
    return path


def publish(path):
    shoal.publish(path, SCHEMA, "k-anonymity k=2")


def publish_with_kinds(path):
    shoal.publish(path, SCHEMA.set(age=shoal.quasi(kind="number")), "k-anonymity k=2")


def publish_by_nothing(path):
    shoal.publish(path, shoal.Schema(()), "k-anonymity k=2")


def publish_by_a_typing_error(path):
    shoal.publish(path, shoal.Schema.of(quasi="fly"), "k-anonymity k=2")


def open_with_kinds(path):
    shoal.open(path, kinds={"age": "number"})


def ask_for_values(path):
    shoal.open(path).values(["age"])


def audit(path):
    shoal.audit(path, SCHEMA)


@pytest.mark.parametrize(
    "call",
    [
        publish,
        publish_with_kinds,
        publish_by_nothing,
        publish_by_a_typing_error,
        open_with_kinds,
        ask_for_values,
        audit,
    ],
)
def test_an_error_about_a_table_without_a_header_shows_no_cell(headless, call):
    with pytest.raises(shoal.ShoalError) as caught:
        call(headless)
    assert not [cell for cell in ROW if cell in str(caught.value)]
    assert "header" in str(caught.value)


def test_a_row_of_words_is_not_shown_where_no_name_of_the_schema_is_in_it(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("Anna,Smith,flu\nBo,Berg,cold\n")
    with pytest.raises(shoal.SchemaError) as caught:
        publish(path)
    assert "Anna" not in str(caught.value)


def test_a_row_whose_words_are_values_of_their_columns_is_not_shown(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("Anna,Smith,flu\nBo,Berg,flu\nCy,Lee,cold\n")
    with pytest.raises(shoal.UsageError) as caught:
        shoal.open(path).values(["age"])
    assert "Anna" not in str(caught.value)


def test_equal_cells_of_a_first_row_are_told_by_their_places(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("34,smith,f,smith\n41,berg,m,berg\n")
    with pytest.raises(shoal.InputError, match="Columns have the same name: 2 and 4") as caught:
        shoal.open(path)
    assert "smith" not in str(caught.value)


def test_a_header_that_the_schema_knows_is_listed(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,postcode,illness\n34,13053,flu\n41,13068,cold\n")
    with pytest.raises(shoal.SchemaError, match='The table has: "age", "postcode", "illness"'):
        publish(path)


def test_a_column_is_still_found_by_a_similar_name(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,zip_,illness\n34,13053,flu\n41,13068,cold\n")
    with pytest.raises(shoal.SchemaError, match='Did you mean "zip_"'):
        publish(path)
