"""What a manifest of noise says: its privacy, and all that follows from the noise of its steps.

The section on privacy has the fields of public deployment registries (Dwork, Kohli, Mulligan:
Differential privacy in practice: expose your epsilons!, 2019): the unit that is protected, the
neighbour relation, the parameters, the mechanism and how several are composed. It adds what is
*not* protected, which no number says.

A manifest of counts or made-up people is written by what is known before the rows are read. Whoever
verifies a release writes it once more, from form, schema, marginals, steps and spend, and compares:
a word that does not follow is somebody else's, and a field that is not known might say what nobody
may know, such as how many rows there are. What the steps were is the publisher's word; that they
are complete can be seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.core.errors import InputError, ShoalError
from shoal.core.spend import Spend, format_budget
from shoal.dp.mechanisms import GAUSSIAN, LAPLACE
from shoal.dp.opendp_library import SOURCE, describe_randomness
from shoal.engines.one_row import RANDOM, is_one_row
from shoal.releases import manifest as record
from shoal.releases.forms._noise.accounted_spend import (
    ALONE,
    CHOICE,
    CHOOSING,
    EVERY,
    PAIRS,
    Step,
    describe_composition,
    read_steps,
)
from shoal.releases.forms._noise.plan import Columns, MarginalPlan
from shoal.releases.options import COUNTS, SYNTHETIC

PERSON = "one person: everything that the table says of them"
ADDED = "tables that differ by adding or removing one person's row"
SEEDED = "seeded: not to be released"
NOT_PROTECTED = (
    "what is the same with and without any one person, such as that a disease is common where "
    "somebody lives",
    "several people together: for a group of n the epsilon is n times as large",
    "somebody who has several rows in the table: one row is one person here",
)
"""What differential privacy of one row says nothing about."""


def describe_privacy(
    spend: Spend,
    *,
    unit: str,
    neighbours: str,
    mechanism: str,
    scale: float | None,
    sensitivity: str,
    composition: str,
    seed: int | None,
    post_processing: Sequence[str] = (),
    not_protected: Sequence[str] = NOT_PROTECTED,
    **more: Any,
) -> dict[str, Any]:
    """The manifest's section on privacy; ``more`` stands at its end.

    >>> describe_privacy(Spend(1), unit=PERSON, neighbours=ADDED, mechanism="discrete Laplace",
    ...     scale=1.0, sensitivity="1", composition="none", seed=3)["randomness"]
    'seeded: not to be released'
    """
    kind = "approximate" if spend.delta else "pure"
    return {
        "definition": f"{kind} differential privacy",
        "model": "central",
        "unit": unit,
        "neighbours": neighbours,
        **spend.to_json(),
        "mechanism": mechanism,
        "scale": scale,
        "sensitivity": sensitivity,
        "composition": composition,
        "randomness": describe_randomness() if seed is None else SEEDED,
        "post_processing": list(post_processing),
        "not_protected": list(not_protected),
        **more,
    }


def names_random_source(stated: Any, releasable: Any) -> bool:
    """Whether a manifest names a source of noise that there is, and the one that its mark says.

    Of the library any version will do: it need not be the one that is installed here.

    >>> names_random_source("dice", True)
    False
    >>> names_random_source(SEEDED, True), names_random_source(SEEDED, False)
    (False, True)
    """
    if releasable is True:
        return re.fullmatch(rf"{re.escape(SOURCE)} \(OpenDP \d+(\.\d+)*\)", str(stated)) is not None
    return releasable is False and stated == SEEDED


def name_promise(spend: Spend) -> str:
    """The promise as a judgement names it: the model and its parameters.

    >>> name_promise(Spend("1/3", 1e-6))
    'differential-privacy epsilon=1/3 delta=1e-06'
    """
    delta = f" delta={format_budget(spend.delta)}" if spend.delta else ""
    return f"differential-privacy epsilon={format_budget(spend.epsilon)}{delta}"


AGAIN = "publish it again, or take the files as they were published."
STATED, CHOSEN = {"marginals": "stated"}, {"marginals": "chosen"}
"""How a synthetic table came to its marginals: before a row was read, or by noisy scores."""
AFTERWARDS = {
    COUNTS: ("estimates: least squares, so that marginals that share columns agree",),
    SYNTHETIC: ("a graphical model is fitted to the noisy counts", "people are drawn from it"),
}
"""What is done with noisy counts, without another look at the rows."""
OF_THE_FILE = ("edition", "file", "rows", "defused_cells", "sha256", "ledgers")
"""What only the written file can tell, and at which head a ledger admitted it."""
OF_THE_PEOPLE = ("people", "one_row")
"""What is said of the people, where a column told them apart: nothing follows from it."""


def describe_noise_release(
    form: str,
    plan: MarginalPlan,
    marginals: Sequence[Columns],
    steps: Sequence[Step],
    spend: Spend,
    seed: int | None,
) -> dict[str, Any]:
    """All that a manifest says but for its file.

    Domains and bounds are in it: they are the publisher's own statements, as the bins are.
    """
    public = record.inline_taxonomies(record.published_schema(plan.schema))
    mechanisms = " and ".join(dict.fromkeys(step.mechanism for step in steps))
    choice = any(step.mechanism == CHOICE for step in steps)
    synthetic = CHOSEN if choice else STATED
    return {
        "form": form,
        "columns": {column.name: column.role for column in public.columns},
        "schema": public.to_toml(),
        "rule": "",
        "method": mechanisms,
        "parameters": dict(synthetic) if form == SYNTHETIC else {},
        "marginals": plan.list_names(marginals),
        "spend": spend.to_json(),
        "releasable": seed is None,
        "privacy": describe_privacy(
            spend,
            unit=PERSON,
            neighbours=ADDED,
            mechanism=mechanisms,
            scale=max(step.scale for step in steps if step.mechanism != CHOICE),
            sensitivity="one count of each marginal, by 1"
            + ("; the score of a pair, by 1" if choice else ""),
            composition=describe_composition(steps),
            seed=seed,
            post_processing=AFTERWARDS[form],
            steps=[step.to_json() for step in steps],
        ),
    }


def check_people_stated(manifest: Mapping[str, Any]) -> None:
    """Refuse to be told more of people than that each has one row, and which."""
    each = manifest.get("people", record.ONE_ROW_EACH)
    which = manifest.get("one_row", RANDOM)
    if each != record.ONE_ROW_EACH or not is_one_row(which):
        raise InputError(
            f"The manifest has fields that no release of this form has: "
            f"{', '.join(OF_THE_PEOPLE)}.",
            AGAIN,
        )


def check_description(manifest: Mapping[str, Any], plan: MarginalPlan) -> None:
    """Refuse a manifest that says anything but what follows from its steps."""
    steps, spend, privacy = read_steps(manifest), read_spend(manifest), manifest["privacy"]
    marginals = read_marginals(manifest, plan)
    if {name: privacy.get(name) for name in spend.to_json()} != spend.to_json():
        raise InputError("The manifest states two different spends.", AGAIN)
    if (spend.rho is None) != (not spend.delta):
        raise InputError("The manifest has a rho without a delta, or a delta without one.", AGAIN)
    _check_steps(manifest, steps, marginals, len(plan.bins))
    if not names_random_source(privacy.get("randomness"), manifest.get("releasable")):
        raise InputError(
            "The manifest does not say where its noise comes from, or says two things.", AGAIN
        )
    seed = None if manifest["releasable"] else 0
    right = describe_noise_release(str(manifest["form"]), plan, marginals, steps, spend, seed)
    right["privacy"]["randomness"] = privacy["randomness"]  # of whichever version
    check_people_stated(manifest)
    if more := sorted({*manifest} - {*right, *OF_THE_FILE, *OF_THE_PEOPLE}):
        raise InputError(
            f"The manifest has fields that no release of this form has: {', '.join(more)}.", AGAIN
        )
    if wrong := find_differences(manifest, right):
        raise InputError(
            f"The manifest does not say what follows from its noise: {', '.join(wrong)}.", AGAIN
        )


def read_spend(manifest: Mapping[str, Any]) -> Spend:
    """What a manifest says that was spent."""
    try:
        return Spend.from_json(manifest["spend"])
    except (KeyError, TypeError, AttributeError, ShoalError):
        raise InputError("The manifest does not say what was spent.", AGAIN) from None


def read_marginals(manifest: Mapping[str, Any], plan: MarginalPlan) -> tuple[Columns, ...]:
    """The marginals that a manifest says were measured."""
    try:
        return plan.marginals(tuple(tuple(columns) for columns in manifest["marginals"]))
    except (ShoalError, KeyError, TypeError):
        raise InputError(
            "The manifest does not name the marginals that were measured.", AGAIN
        ) from None


def _check_steps(
    manifest: Mapping[str, Any], steps: Sequence[Step], marginals: Sequence[Columns], columns: int
) -> None:
    """Refuse steps that a release of this form is not made by: one left out would spend nothing."""
    noise = GAUSSIAN if read_spend(manifest).delta else LAPLACE
    if manifest.get("form") == SYNTHETIC and manifest.get("parameters") == CHOSEN:
        pairs = columns - 1
        right = [(ALONE, noise, columns), (CHOOSING, CHOICE, pairs), (PAIRS, noise, pairs)]
        drawn = "sha256" in manifest or len(marginals) > columns  # else it is a dry run
        whole = [(column,) for column in range(columns)] == list(marginals[:columns])
        whole = whole and (not drawn or _is_spanning_tree(marginals[columns:], columns))
    else:
        right, whole = [(EVERY, noise, len(marginals))], True
    if not whole or [(step.what, step.mechanism, step.times) for step in steps] != right:
        raise InputError(
            "The steps of the manifest are not those by which its marginals are measured.", AGAIN
        )


def _is_spanning_tree(pairs: Sequence[Columns], columns: int) -> bool:
    """Whether pairs join so many columns into a tree.

    >>> [_is_spanning_tree(pairs, 3) for pairs in ([(0, 1), (1, 2)], [(0, 1), (0, 1)], [(0, 1)])]
    [True, False, False]
    """
    part = list(range(columns))
    for pair in pairs:
        if len({part[column] for column in pair}) < 2 or len(pair) > 2:
            return False
        stays, gone = (part[column] for column in pair)
        part = [stays if own == gone else own for own in part]
    return len(pairs) == columns - 1


def find_differences(manifest: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """The fields that say something else; those on privacy one by one."""
    differences = [name for name, value in right.items() if manifest.get(name) != value]
    if "privacy" not in differences:
        return differences
    stated, own = manifest["privacy"], right["privacy"]
    wrong = [
        name
        for name in (*own, *(n for n in stated if n not in own))
        if (name in stated, stated.get(name)) != (name in own, own.get(name))
    ]
    at = differences.index("privacy")
    return [*differences[:at], *(f"privacy.{name}" for name in wrong), *differences[at + 1 :]]
