"""What the recording asks of ``import shoal``: functions that print what they are given back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import shoal

RULES = (
    "k-anonymity k=5",
    "k-anonymity k=10 & t-closeness t=0.2 on=diagnosis distance=ordered",
    "m-privacy m=2 (k-anonymity k=5 & distinct-diversity l=3)",
    "recursive-diversity c=2 l=3",
    "ck-safety c=0.6 k=2",
    "delta-presence low=0.1 high=0.9",
    "composition l=2 alpha=0.95",
)
BAD = (
    "",
    "&",
    "k-anonymity",
    "k-anonymity k=0",
    "k-anonymity k=2.5",
    "k-anonymity k=5 k=6",
    "k-anonymity k=5 (k-map k=2)",
    "t-closeness t=2",
    "nothing x=1",
    "k-anonymity 'k=5",
)


def show(name: str, value: Any) -> None:
    """A line about a value."""
    if hasattr(value, "to_json"):
        value = value.to_json()
    print(f"{name}: {json.dumps(value, ensure_ascii=False, default=str)}")


def show_error(name: str, call: Any) -> None:
    """The error that a call raises."""
    try:
        value = call()
    except shoal.ShoalError as error:
        print(f"{name}: {type(error).__name__} {error.exit_code}: {error.fact} Hint: {error.hint}")
    else:
        print(f"{name}: no error, {value!r}")


def _schema() -> shoal.Schema:
    return shoal.Schema.parse(Path("schema.toml").read_text(encoding="utf-8"))


def hierarchies() -> None:
    made = {
        "intervals": shoal.intervals(5, 10, 20),
        "prefixes": shoal.prefixes(),
        "dates": shoal.dates("month", "year"),
        "flat": shoal.flat(),
        "ordered": shoal.ordered("low", "middle", "high", "highest"),
    }
    for name, hierarchy in made.items():
        show(name, repr(hierarchy))


def schemas() -> None:
    schema = _schema()
    print(schema)
    print(schema.to_toml() if hasattr(schema, "to_toml") else "")
    show_error("unknown role", lambda: shoal.Schema.parse('[columns]\na = "quasy"\n'))
    show_error("not TOML", lambda: shoal.Schema.parse("[columns"))
    show("of", str(shoal.Schema.of(quasi=["a"], sensitive="b", identifier=["c"])))


def rules() -> None:
    for text in RULES:
        show(text, [str(shoal.rule(text)), repr(shoal.rule(text))])
    show("and", str(shoal.KAnonymity(5) & shoal.DistinctDiversity(2)))
    for text in BAD:
        show_error(text, lambda text=text: shoal.rule(text))


def beliefs() -> None:
    for prior in (None, 0.1, {"flu": 0.7, "other": 0.3}):
        print(shoal.semantic_privacy(1, prior=prior))
    print(shoal.semantic_privacy(0.5, 1e-9, 1000))
    men, women = {"flu": 2, "lung": 2, "mumps": 1}, {"flu": 2, "a": 1, "b": 1, "c": 1}
    where = {"Charlie": 0, "Hannah": 1}
    for known in ([], "Hannah.disease=flu -> Charlie.disease=flu", "not Charlie.disease=mumps"):
        print(shoal.belief([men, women], where, known, "Charlie.disease=flu"))
    show_error("atom", lambda: shoal.belief([men], {"Ed": 0}, "nonsense", "Ed.disease=flu"))


def disclosure() -> None:
    for knowledge in ("implications", "negations"):
        found = shoal.max_disclosure([[2, 2, 1], [2, 1, 1, 1]], 3, knowledge=knowledge, exact=True)
        show(knowledge, [*map(str, found)])


def releases() -> None:
    schema, rule = _schema(), "k-anonymity k=5 & entropy-diversity l=2"
    ours = shoal.publish("people.csv", schema, rule, out="ours")
    theirs = shoal.publish("others.csv", schema, rule, out="theirs")
    print(ours)
    show("manifest keys", sorted(ours.manifest))
    show("private keys", sorted(ours.private))
    print(shoal.verify("ours"))
    print(shoal.audit("ours", schema))
    finding = shoal.attack("intersection", [ours, theirs], targets="people.csv", seed=1)
    print(finding)
    print(shoal.red_team([ours, theirs], targets="people.csv", seed=1))
    print(shoal.forecast(ours, overlap=100, repeats=3))
    print(shoal.frontier("people.csv", schema, ["k-anonymity k=5"], methods=["mondrian"]))
    print(shoal.look("people.csv"))


def errors() -> None:
    schema = _schema()
    show_error("method", lambda: shoal.publish("people.csv", schema, "k-anonymity k=5", method="x"))
    show_error("form", lambda: shoal.publish("people.csv", schema, "k-anonymity k=5", form="x"))
    show_error("attack", lambda: shoal.attack("x", ["people.csv"], schema=schema))
    show_error("file", lambda: shoal.open("nothing.csv"))
    show_error("bundled", lambda: shoal.bundled.path("nothing.csv"))
    show_error("study", lambda: shoal.study("nothing"))
    show_error("not met", lambda: shoal.publish("people.csv", schema, "k-anonymity k=9999"))


def studies() -> None:
    for name, (_, experiment) in shoal.experiments().items():
        show(name, [experiment.shows, experiment.seeds, list(experiment.data)])


def estimates() -> None:
    for by in ([], ["sex"], ["age", "sex"]):
        print(shoal.estimates("randomised", by=by))
    show_error("counts", lambda: shoal.estimates("counts"))


def audits_of_noise() -> None:
    for name, epsilon in (("as promised", 2), ("too little noise", 0.05)):
        found = shoal.audit_epsilon(
            lambda table, generator: table + generator.laplace(0, 0.5, table.shape),
            [10.0],
            [11.0],
            epsilon,
            runs=400,
            seed=1,
        )
        print(name, found)


def reads_a_report() -> None:
    page = shoal.report("ours", original="people.csv", context={"publisher": "St. Anna"})
    show("keys", sorted(page.data))
    show("holds", page.data["holds"])


def trusts_a_publisher() -> None:
    with shoal.Ledger("releases.db") as ledger:
        show("before", list(ledger.check()))
    with shoal.Ledger("releases.db", key="lake.key") as ledger:
        show("of another key", list(ledger.check()))


def synthesises_by_a_seed() -> None:
    """Made-up people depend on the processor's arithmetic, but one seed gives the same."""
    schema = shoal.Schema.parse(Path("noise.toml").read_text(encoding="utf-8"))
    tables = []
    for number in range(2):
        release = shoal.publish(
            "people.csv",
            schema,
            form="synthetic",
            epsilon=1,
            delta=1e-6,
            marginals=1,
            seed=1,
            out=f"seeded-{number}",
        )
        tables.append(sorted(Path(release.path).read_text(encoding="utf-8").splitlines()))
        show("releasable", release.manifest["releasable"])
        shutil.rmtree(f"seeded-{number}")
        shutil.rmtree(f"seeded-{number}.private")
    show("the same", tables[0] == tables[1])
