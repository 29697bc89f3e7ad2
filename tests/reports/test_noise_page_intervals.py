"""The report on randomised numbers and dates, whose answers are labels of intervals."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

import shoal

pd = pytest.importorskip("pandas")

DAYS = [date(1960, 1, 1) + timedelta(days=97 * i) for i in range(60)]
PEOPLE = pd.DataFrame(
    {"g": ["a", "b"] * 30, "pay": [5.0 * (i % 20) for i in range(60)], "born": DAYS}
)
LEARNT = {
    "pay": shoal.sensitive(shoal.intervals(25), kind="number", bounds=(0, 100)),
    "born": shoal.sensitive(kind="date", bounds=(date(1950, 1, 1), date(1999, 12, 31))),
}


def test_labels_of_intervals_stand_beside_the_original(tmp_path):
    schema = shoal.Schema(()).set(g=shoal.quasi(domain=["a", "b"]), **LEARNT)
    options = {"form": "randomised", "epsilon": 2}
    shoal.publish(PEOPLE, schema, "k-anonymity k=5", out=tmp_path / "r", **options)
    page = shoal.report(tmp_path / "r", original=PEOPLE, on="pay").to_json()
    assert "Differential privacy" in str(page)
    audit = shoal.audit(tmp_path / "r", original=PEOPLE)
    assert list(audit.utility["marginals"]["columns"]) == ["g"]


def test_names_with_commas_are_told_apart(tmp_path):
    named = {"Pay, net": LEARNT["pay"], "born": LEARNT["born"]}
    schema = shoal.Schema(()).set(g=shoal.quasi(domain=["a", "b"]), **named)
    people = PEOPLE.rename(columns={"pay": "Pay, net"})
    options = {"form": "randomised", "epsilon": 2}
    shoal.publish(people, schema, "k-anonymity k=5", out=tmp_path / "r", **options)
    with pytest.raises(shoal.UsageError, match='drawn for: "Pay, net", born'):
        shoal.estimates(tmp_path / "r")
    findings = shoal.red_team(tmp_path / "r", targets=people)
    assert {column.on for column in findings.columns} == {"Pay, net", "born"}
