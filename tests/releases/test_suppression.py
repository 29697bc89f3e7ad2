"""Classes are held back until the others hold, also where one class spoils the rest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.core.tally import Cut, Groups
from shoal.releases.reader import open_frame
from shoal.releases.suppression import suppress_failing_classes
from shoal.releases.tallying import encode

SCHEMA = shoal.Schema.of(quasi=["age"], sensitive=["ill"])


def table(*classes: list[int]) -> pa.Table:
    """One age for each class, with so many people who have each of the values."""
    rows = [
        (age, f"{v:03}")
        for age, one in enumerate(classes)
        for v, n in enumerate(one)
        for _ in range(n)
    ]
    ages, values = zip(*rows, strict=True)
    return pa.table({"age": ages, "ill": values})


def tallied(people: pa.Table):
    """The table's tally, and a cut of it with a class for each age."""
    with open_frame(people) as frame:
        tally = encode(frame, SCHEMA.fit(frame.fields)).tally
    entry = np.arange(tally.entries, dtype=np.int32)
    return tally, Cut.of(tally, entry, tally.keys[0].astype(np.int32))


@pytest.mark.parametrize("extra", ["", " & distinct-diversity l=3"])
def test_one_uniform_class_goes_and_the_rest_stays(extra):
    """Who knows that all of a class are ill alike can make anything of it: every class fails."""
    people = table([2, 2, 1, 1], [9], [2, 1, 1, 1], [3, 2, 2, 2])
    tally, cut = tallied(people)
    rule = shoal.rule(f"ck-safety c=0.9 k=1{extra}")
    assert not rule.holds(Groups.of(tally, cut)).any()
    settled = suppress_failing_classes(tally, cut, rule, 9)
    assert (settled.suppressed, settled.classes) == (9, 3)
    assert rule.holds(Groups.of(tally, settled)).all()
    for method in ("mondrian", "chain"):
        asked = {"method": method, "hold_back": 0.36, "dry_run": True}
        assert shoal.publish(people, SCHEMA, rule, **asked).private["held_back"] <= 9


def test_classes_that_are_safe_alone_go_one_by_one_until_the_rest_is():
    """105/523 and less alone, 49/244 together: each is safe at 0.2008, and both are not."""
    tally, cut = tallied(table([1] * 7, [14] + [1] * 78))
    rule = shoal.rule("ck-safety c=0.2008 k=2")
    assert rule.holds_alone(Groups.of(tally, cut)).all()
    settled = suppress_failing_classes(tally, cut, rule, 99)
    assert settled.classes == 1
    assert rule.holds(Groups.of(tally, settled)).all()


def test_the_share_that_a_refusal_names_is_enough():
    people = table([2, 2, 1, 1], [9], [2, 1, 1, 1], [1, 1], [2, 2, 2, 2])
    tally, cut = tallied(people)
    rule = shoal.rule("ck-safety c=0.9 k=1")
    with pytest.raises(shoal.NotMetError) as error:
        suppress_failing_classes(tally, cut, rule, 1)
    share = float(error.value.hint.split("--hold-back ")[1].split(",")[0])
    assert suppress_failing_classes(tally, cut, rule, int(share * tally.rows)).suppressed == 11
