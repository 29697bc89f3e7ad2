"""Charts of studies: what they say follows from the numbers."""

from __future__ import annotations

import pytest

from shoal.pages.drawing import headline, svg, table
from shoal.pages.studies import checks_chart, loss_chart


def values(spec):
    return spec["data"]["values"]


def runs():
    for size in (150, 750):
        for name, base in (("direct", 3.0), ("binary", 2.0), ("exact", 0.0)):
            for m in range(1, 5):
                yield {"verifier": name, "class_rows": size, "m": m, "checks": base**m,
                       "seconds": 1e-4 * max(base, 1) ** m}  # fmt: skip


def test_checks_are_drawn_by_verifier_for_each_class_size():
    spec = checks_chart(list(runs()))
    assert headline(spec) == "For one class exact takes 0.1 ms at the most, direct 8.1 ms"
    titles = [panel["title"]["text"] for panel in spec["vconcat"][0]["hconcat"]]
    assert titles == ["a class of 150 rows", "a class of 750 rows"]
    assert len(spec["vconcat"]) == 2  # checks above time
    assert all(one["drawn"] >= 1 for one in values(spec))  # no logarithm of nothing
    assert {row[3] for row in table(spec)[1] if row[0] == "exact"} == {0.0}  # told as it is
    assert svg(spec).startswith("<svg")


def losses(factor: float):
    for split in ("exponential", "uniform"):
        for method, of in (("provider-aware", factor), ("mondrian", 1.0)):
            for m in (1, 2):
                for seed in (-1, 1):
                    yield {"method": method, "split": split, "m": m, "classes": 100,
                           "loss": of * (0.1 * m + 0.01 * seed)}  # fmt: skip


@pytest.mark.parametrize(("factor", "said"), [(0.88, "12% less"), (1.25, "25% more")])
def test_losses_are_means_over_seeds_and_compared(factor, said):
    spec = loss_chart(list(losses(factor)))
    assert headline(spec) == f"Against 2 providers provider-aware loses {said} than mondrian"
    assert len(values(spec)) == 8
    first = values(spec)[0]
    assert (first["m"], first["loss"]) == (1, pytest.approx(0.1 * factor))
    assert [panel["title"]["text"] for panel in spec["hconcat"]] == [
        "exponential split",
        "uniform split",
    ]
    assert svg(spec).startswith("<svg")


def test_one_method_alone_is_compared_with_nothing():
    rows = [row for row in losses(1) if row["method"] == "mondrian"]
    assert headline(loss_chart(rows)).startswith("Loss of detail of mondrian")
    assert headline(loss_chart([])) == "No release was made"
    assert headline(checks_chart([])) == "No verifier was run"
