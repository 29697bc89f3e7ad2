"""The pages of a forecast and of a validation, drawn from their JSON.

A forecast says what others may expose, a validation how true forecasts come. Both are for the
publisher: they say where a release is weak.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.forecast import (
    DEFAULT,
    chart_chances,
    chart_estimated_and_true,
    chart_estimates,
    chart_reliability,
    format_interval,
)
from shoal.reports.document import Block, Callout, Chart, Fact, Fields, Page, Section, Table
from shoal.reports.format import format_percent

Numbers = Mapping[str, Any]
MAX_CLASSES = 20
"""How many of the classes at risk are on the page; the JSON has more."""


def render_forecast(facts: Numbers) -> Page:
    """Return the page of a forecast, from its JSON."""
    return Page(
        "What another release may expose",
        (_estimates(facts), _where(facts), _settings(facts), _rests_on(facts)),
        lead=str(facts["sentence"]),
        foot="Made by `shoal forecast`. For the publisher: it says where a release is weak.",
        data={**facts, "public": False},
    )


def _estimates(facts: Numbers) -> Section:
    words = (
        "Who is in two releases can be looked up in both: only the values that both classes hold "
        f"are left. A class is exposed where somebody is left with fewer than "
        f"{facts['settings']['l']} values of `{facts['on']}`.",
    )
    rows = tuple(
        (
            estimate["name"],
            format_percent(estimate["risk"], 1),
            _interval(estimate),
            estimate["assumes"],
        )
        for estimate in facts["estimates"]
    )
    head = ("Estimator", "Exposed", "Nine in ten", "It takes it that")
    chart = Chart(
        chart_estimates(facts["estimates"], facts["classes"]),
        "The forecast stands by the simulation. The paper's own figures are beside it because "
        "they are the paper's: they know nothing of the overlap, and take columns for "
        "independent.",
    )
    return Section("How many classes", words, (*render_by_column(facts), chart, Table(head, rows)))


def render_by_column(facts: Numbers) -> list[Block]:
    """The forecast for each sensitive column, the worst first; empty where there is only one."""
    if not facts["by_column"]:
        return []
    rows = tuple(
        (
            column["on"],
            format_percent(column["risk"], 1),
            format_interval(column["interval"]),
            f"{column['classes_with_few_values']:,} of {facts['classes']:,}",
            column["rule"],
        )
        for column in facts["by_column"]
    )
    head = (
        "sensitive column",
        "classes exposed",
        "nine in ten",
        "with too few values already",
        "others publish under",
    )
    return [Table(head, rows, f"Each sensitive column; drawn below: {facts['on']}")]


def _interval(estimate: Numbers) -> str:
    few = estimate["interval"] is None and estimate["name"] == DEFAULT
    return "too few repeats" if few else format_interval(estimate["interval"])


def _where(facts: Numbers) -> Section:
    default = next(estimate for estimate in facts["estimates"] if estimate["name"] == DEFAULT)
    blocks: list[Block] = [Chart(chart_chances(default["by_probability"]))]
    if few := facts["classes_with_few_values"]:
        many = f"{few:,} class{' has' if few == 1 else 'es have'}"
        warning = f"{many} fewer values than that already: no other release is needed there."
        blocks.append(Callout(warning, "warning"))
    if listed := facts["exposed"][:MAX_CLASSES]:
        blocks.append(_classes(listed))
    words = (
        "To lower the chance, make classes larger or their values more varied: publish with the "
        "rule `composition`, a higher k, or a rule on values.",
    )
    return Section("Which classes", words, tuple(blocks))


def _classes(listed: Sequence[Numbers]) -> Table:
    names = list(listed[0].get("labels", {}))
    rows = tuple(
        (
            class_["class"],
            class_["row"],
            class_["rows"],
            class_["values"],
            format_percent(class_["probability"], 1),
            *(
                "(missing)" if class_["labels"][name] is None else str(class_["labels"][name])
                for name in names
            ),
        )
        for class_ in listed
    )
    head = ("Class", "First row", "Rows", "Values", "Chance", *names)
    return Table(head, rows, caption="The classes most at risk")


def _same_people(settings: Numbers) -> dict[str, str]:
    """The share of our people who are in all the others, and the risk under other shares."""
    share = settings.get("same_people")
    if share is None:
        return {}
    risks = settings.get("by_same_people", {})
    ends = [f"with {float(end):.0%} {risk:.1%} of the classes" for end, risk in risks.items()]
    both = f" (the worse: {', '.join(ends)})" if ends else ""
    return {"In all of them": f"{share:.0%} of them{both}"}


def _settings(facts: Numbers) -> Section:
    settings = facts["settings"]
    fields = {
        "Other releases": settings["others"],
        "Rows of each": f"{settings['rows']:,}",
        "Our people in each": f"{settings['people']:,} of {facts['rows']:,}",
        **_same_people(settings),
        "Their other people": _other_people(settings),
        "Their method": settings["method"],
        "Their rule": settings["rule"],
        "Releases drawn": settings["repeats"],
        "Seed": settings["seed"],
    }
    items = tuple(Fact(name, value) for name, value in fields.items())
    return Section("What was supposed of the others", (), (Fields(items),))


def _other_people(settings: Numbers) -> str:
    if not settings["population"]:
        return "like ours"
    values = ", and values as common as there" if settings["population_values"] else ""
    return f"drawn from the population that was given{values}"


def _rests_on(facts: Numbers) -> Section:
    each = [
        f"{estimate['name'].capitalize()}: {'; '.join(estimate['assumptions'])}."
        for estimate in facts["estimates"]
        if not estimate["name"].startswith("paper, best")
    ]
    own = [f"{text[0].upper()}{text[1:]}." for text in facts["assumptions"]]
    words = (
        " ".join(own),
        *each,
        "Nobody knows how many people a release that does not exist yet will share with ours: the "
        "overlap is what you say it is. Try several.",
    )
    return Section("What the numbers rest on", tuple(filter(None, words)))


def render_validation(facts: Numbers) -> Page:
    """Return the page of a validation, from its JSON."""
    settings, trials = facts["settings"], facts["trials"]
    real = [trial["real"] for trial in trials]
    return Page(
        "How true forecasts come",
        (_came_true(facts), _chances(facts), _tried(facts)),
        lead=f"In {len(trials):,} trials on samples of {settings['size']:,} people "
        f"{format_percent(min(real), 1)} to {format_percent(max(real), 1)} of the classes came to "
        "be exposed.",
        foot="Made by `shoal forecast --validate`. For the publisher: nothing was published.",
        data={**facts, "public": False},
    )


def _came_true(facts: Numbers) -> Section:
    words = (
        "Two samples of the table that share some people were published as if by two. Each "
        "estimator saw the first release and the number of people in both; the attack on both "
        "releases says what came true.",
        "Error (the mean of what they differ by) and bias are in percentage points of classes; the "
        "Brier score is the mean squared difference of chances from what came of them, 0 is best. "
        "Covered are the settings whose real risk lay in the interval that was told, which nine in "
        "ten should; an interval takes 19 releases drawn.",
        "A forecast stands by the simulation, also where the closed form comes a little closer "
        "here: it is told how others publish, and it tells a range. The closed form has no range, "
        "does not know the others' method and rule, and rests on a number that was chosen where "
        "both publish by Mondrian with the same k.",
    )
    note = "Both scales grow by square roots, so that small shares can be told apart."
    chart = Chart(chart_estimated_and_true(facts["trials"], facts["scores"]), note)
    blocks = (*_tried_columns(facts), chart, _scores(facts["scores"]))
    return Section("Estimated and real", words, blocks)


def _tried_columns(facts: Numbers) -> list[Block]:
    if not facts["by_column"]:
        return []
    rows = tuple(
        (
            column["on"],
            *(
                format_percent(end([trial["real"] for trial in column["trials"]]), 1)
                for end in (min, max)
            ),
            *(f"{100 * column['scores'][name]['mae']:.2f}" for name in facts["scores"]),
        )
        for column in facts["by_column"]
    )
    head = (
        "sensitive column",
        "exposed, from",
        "to",
        *(f"error, {name}" for name in facts["scores"]),
    )
    return [Table(head, rows, f"Each sensitive column; drawn below: {facts['on']}")]


def _scores(scores: Mapping[str, Numbers]) -> Table:
    rows = tuple(
        (
            name,
            f"{100 * score['mae']:.2f}",
            f"{100 * score['bias']:.2f}".replace("-", "−"),
            "–" if score["correlation"] is None else f"{score['correlation']:.3f}",
            f"{score['brier']:.4f}",
            "–" if score["covered"] is None else format_percent(score["covered"], 1),
        )
        for name, score in scores.items()
    )
    head = ("Estimator", "Error", "Bias", "Correlation", "Brier score", "Covered")
    return Table(head, rows, caption="Over all settings")


def _chances(facts: Numbers) -> Section:
    words = (
        "An estimator tells every class its chance of being exposed. Where chances are right, of "
        "the classes with a chance of about 30% about 30% come to be exposed. Below the straight "
        "line too much risk was told, above it too little.",
    )
    return Section(
        "Chances and what came of them", words, (Chart(chart_reliability(facts["scores"])),)
    )


def _tried(facts: Numbers) -> Section:
    settings = facts["settings"]
    fields = {
        "Table": f"{facts['rows']:,} rows",
        "Learnt": facts["on"],
        "Each sample": f"{settings['size']:,} people of its own",
        "In both": _list_numbers(settings["overlaps"]),
        "Method of both": settings["method"],
        "k": _list_numbers(settings["ks"]),
        "l": _list_numbers(settings["ls"]),
        "Seeds": settings["seeds"],
        "Releases drawn for each": settings["repeats"],
    }
    items = tuple(Fact(name, value) for name, value in fields.items())
    words = (
        "Here both tables are samples of one, and the overlap and the other's method and k are "
        "known. Where they are not, a forecast is as right as what was supposed.",
        *facts["notes"],
    )
    return Section("What was tried", words, (Fields(items),))


def _list_numbers(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:,}" for number in numbers)
