"""Algorithm 1, the binary verifier, run as it is printed, against brute force.

Goryczka et al. 2014, Algorithm 1: take a coalition of all providers but one; settle everything
inside it where it is harmless; else halve the way from a coalition of m up to it. Two of its lines
are misprinted. Line 5 takes coalitions of n - 1 providers where those of the class are meant,
n_G - 1: the others brought nothing to it. Line 6 passes over a coalition that *breaks* the rule
where one that does not is meant (and settles what is inside).

Small random classes are judged by trying every coalition, and by the algorithm with one line as it
is printed, with both lines mended, and by Shoal's own ``binary``. Counted are the wrong answers.

What print leaves open is run every way. Line 5: whether a class of which nothing is left breaks the
rule (by the definition as taken here it does not: nobody is hurt), and if so, whether the m are of
the class's providers or of the table's too. Line 6: whether the search ends once every large
coalition was passed over; if it does not, it goes round for ever, which is counted as no answer.

Not as in the paper: coalitions are taken in the providers' order, not by their scores, which
changes how many are asked about and not what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoal
from shoal.core.axis import Axis
from shoal.models._verifiers import verifiers
from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, Claim, Number, Row, Rows, compute_mean
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.m_privacy.classes import make_class
from shoal.studies.pages.bars import draw_bars

MENDED, OURS = "both lines mended", "Shoal's binary"
ROUND, ENDED = "line 6 as printed", "line 6 as printed, ended"
HARMLESS, HARMFUL = "line 5 as printed, empty is safe", "line 5 as printed, empty breaks"
THROUGHOUT = "n all through, empty breaks"
SETTINGS: dict[str, Any] = {
    "classes": 300,
    "providers": (3, 4, 5),
    "values": 5,
    "rows_each": 5,
    "k": (2, 6),
    "l": (1, 3),
}
Breaks = Callable[[int], bool]
"""Whether a coalition, a bit for each member, breaks the rule for the others."""


def measure(lab: Lab) -> list[Row]:
    """As many classes for every seed."""
    settings = lab.settings
    return lab.measure_cells(
        judge_versions,
        [
            {
                **settings,
                "providers": list(settings["providers"]),
                "k": list(settings["k"]),
                "l": list(settings["l"]),
                "seed": seed,
            }
            for seed in lab.seeds
        ],
    )


@dataclass(frozen=True)
class SmallClass:
    """A small class, the rule that is asked of it, and of how many providers."""

    values: NDArray[np.int32]
    provider: NDArray[np.int32]
    """The providers of the class have the first numbers."""
    n: int
    """The providers of the whole table, some of whom may have brought nothing here."""
    k: int
    l: int
    m: int

    @property
    def present(self) -> int:
        """The providers of the class."""
        return int(self.provider.max()) + 1

    @property
    def most(self) -> int:
        """The members of a coalition that leaves somebody."""
        return min(self.m, self.present - 1)

    def breaks(self, coalition: int, empty: bool = True) -> bool:
        """Whether the rule fails without the coalition's rows; ``empty``: where none are left."""
        left = self.values[(coalition >> self.provider) & 1 == 0]
        if not len(left):
            return empty
        return len(left) < self.k or len(set(left.tolist())) < self.l


def judge_versions(
    classes: int,
    providers: list[int],
    values: int,
    rows_each: int,
    k: list[int],
    l: list[int],
    seed: int,
) -> list[Row]:
    """How often each version is wrong, and how."""
    rng = np.random.default_rng(seed)
    cases = [draw_class(rng, providers, values, rows_each, k, l) for _ in range(classes)]
    truth = [judge_by_brute_force(case) for case in cases]
    return [
        {"version": version, **_count_answers([answer(case) for case in cases], truth)}
        for version, answer in VERSIONS.items()
    ]


def draw_class(
    rng: np.random.Generator,
    providers: list[int],
    values: int,
    rows_each: int,
    k: list[int],
    l: list[int],
) -> SmallClass:
    """A class of some of the providers, each with up to so many rows."""
    n = int(rng.choice(providers))
    counts = rng.integers(1, rows_each, int(rng.integers(1, n, endpoint=True)), endpoint=True)
    provider = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    codes = rng.integers(0, values, len(provider), dtype=np.int32)
    rows, distinct = (int(rng.integers(a, b, endpoint=True)) for a, b in (k, l))
    return SmallClass(codes, provider, n, rows, distinct, int(rng.integers(1, n)))


def judge_by_brute_force(case: SmallClass) -> bool:
    """Whether the class is m-private: by every coalition of at most m that leaves somebody."""
    sizes = range(case.most + 1)
    return not any(
        case.breaks(mask) for size in sizes for mask in _list_coalitions(case.present, size)
    )


def _list_coalitions(providers: int, size: int) -> list[int]:
    return [sum(1 << i for i in members) for members in combinations(range(providers), size)]


def _count_answers(answers: list[bool | None], truth: list[bool]) -> Row:
    pairs = list(zip(answers, truth, strict=True))
    counts = {
        "private": sum(truth),
        "not_private": len(truth) - sum(truth),
        "called_private": sum(given_answer is True and not right for given_answer, right in pairs),
        "called_broken": sum(given_answer is False and right for given_answer, right in pairs),
        "no_answer": sum(given_answer is None for given_answer, _ in pairs),
        "no_answer_private": sum(given_answer is None and right for given_answer, right in pairs),
    }
    wrong = counts["called_private"] + counts["called_broken"] + counts["no_answer"]
    return {**counts, "wrong": wrong, "right": len(truth) - wrong}


# The algorithm


def run_algorithm_1(
    breaks: Breaks, of: int, m: int, providers: int, *, mended: bool = True
) -> bool | None:
    """Whether no coalition of m, of the first ``of``, breaks the rule; None: it never ends.

    ``providers``: those whom all but one of are taken first (line 5). ``mended``: line 6 passes
    over such a coalition where it is harmless, and settles what is inside.
    """
    all_providers, unsettled = (1 << providers) - 1, _list_coalitions(of, m)
    while unsettled:
        before = len(unsettled)
        for above in (all_providers ^ (1 << provider) for provider in reversed(range(providers))):
            within = [coalition for coalition in unsettled if coalition & ~above == 0]
            if not within or (not mended and breaks(above)):
                continue
            safe = above
            if not mended or breaks(above):
                if breaks(within[0]):
                    return False
                safe = _halve(within[0], above, breaks)
            unsettled = [coalition for coalition in unsettled if coalition & ~safe]
        if len(unsettled) == before:
            return None  # the next round would ask the same
    return True


def _halve(below: int, above: int, breaks: Breaks) -> int:
    """The largest harmless coalition that halving the way up finds."""
    while (missing := below ^ above).bit_count() > 1:
        bits = [1 << i for i in range(missing.bit_length()) if missing >> i & 1]
        half = below | sum(bits[: len(bits) // 2])
        if breaks(half):
            above = half
        else:
            below = half
    return below


def _run_in_class(case: SmallClass, mended: bool) -> bool | None:
    """Over the providers of the class, of whom one always stays."""
    return run_algorithm_1(case.breaks, case.present, case.most, case.present, mended=mended)


def _run_in_table(case: SmallClass, empty: bool) -> bool | None:
    """Line 5 as printed: first all but one of the table's providers."""
    return run_algorithm_1(lambda mask: case.breaks(mask, empty), case.present, case.most, case.n)


def _run_ours(case: SmallClass) -> bool:
    axis = Axis.numbered("value", int(case.values.max()) + 1)
    rule = shoal.KAnonymity(case.k) & shoal.DistinctDiversity(case.l)
    class_ = make_class(axis, case.values, case.provider, case.n)
    return verifiers()["binary"](rule, class_, case.m).coalition is None


VERSIONS: Mapping[str, Callable[[SmallClass], bool | None]] = {
    ROUND: lambda case: _run_in_class(case, mended=False),
    ENDED: lambda case: _run_in_class(case, mended=False) is not False,
    HARMLESS: lambda case: _run_in_table(case, empty=False),
    HARMFUL: lambda case: _run_in_table(case, empty=True),
    THROUGHOUT: lambda case: run_algorithm_1(case.breaks, case.n, case.m, case.n),
    MENDED: lambda case: _run_in_class(case, mended=True),
    OURS: _run_ours,
}


# What the paper says of it


def claims(rows: Rows) -> list[Claim]:
    """That each of the two lines, as printed, does what it is for."""
    return [_line_6_claim(rows), _line_5_claim(rows)]


def _version_number(rows: Rows, version: str, column: str, words: str) -> Number:
    return compute_mean(rows, column, said=f"{words}, {version}", version=version)


def _wrong_numbers(rows: Rows, *versions: str) -> tuple[Number, ...]:
    return tuple(
        _version_number(rows, version, "wrong", "wrong or missing answers") for version in versions
    )


def _verdict(printed: tuple[Number, ...], mended: tuple[Number, ...]) -> str:
    """A mistake in print where it errs as printed, however read, and mended never does."""
    if any(number.most == 0 for number in printed):
        return AGREES
    return CORRECTED if all(number.most == 0 for number in mended) else DIFFERS


def _line_6_claim(rows: Rows) -> Claim:
    says = (
        "Algorithm 1 tells m-private classes from others if line 6 passes over every coalition of "
        "all providers but one that breaks the rule."
    )
    printed, mended = _wrong_numbers(rows, ROUND, ENDED), _wrong_numbers(rows, MENDED, OURS)
    broken = _version_number(rows, ROUND, "not_private", "classes that are not m-private")
    none = _version_number(rows, ROUND, "no_answer", "no answer")
    private = _version_number(rows, ROUND, "no_answer_private", "no answer, m-private classes")
    called = _version_number(rows, ENDED, "called_private", "called m-private though they are not")
    why = (
        f"Of {_count_classes(rows)} random classes {broken.mean:.0f} are not m-private. As printed "
        "the "
        f"search goes round for ever on {none.mean - private.mean:.0f} of them and on "
        f"{private.mean:.0f} others; ended after one round in vain, it calls {called.mean:.0f} "
        f"m-private that are not. {_describe_mended(mended)}"
    )
    return Claim(
        says,
        "if I_super breaches: continue",
        (*printed, *mended),
        _verdict(printed, mended),
        why,
        (broken, none, private, called),
    )


def _line_5_claim(rows: Rows) -> Claim:
    """Judged as the definition has it; what else may be meant stands in the reason."""
    says = (
        "Algorithm 1 tells m-private classes from others if line 5 takes coalitions of n - 1 of "
        "the table's n providers."
    )
    printed, mended = _wrong_numbers(rows, HARMLESS), _wrong_numbers(rows, MENDED, OURS)
    others = _wrong_numbers(rows, HARMFUL, THROUGHOUT)
    called = _version_number(
        rows, HARMLESS, "called_private", "called m-private though they are not"
    )
    why = (
        f"Such a coalition may hold all rows of a class, and who leaves nobody hurts nobody: of "
        f"{_count_classes(rows)} random classes {called.mean:.0f} are called m-private that are "
        "not. If "
        f"to leave nobody counted as a breach, {others[0].mean:.0f} answers would be wrong; if "
        f"the m too were taken from all of the table's providers, {others[1].mean:.0f}. "
        f"{_describe_mended(mended)}"
    )
    return Claim(
        says, "n - 1", (*printed, *mended), _verdict(printed, mended), why, (called, *others)
    )


def _count_classes(rows: Rows) -> str:
    return f"{rows[0]['classes']:,}"


def _describe_mended(mended: tuple[Number, ...]) -> str:
    if all(number.most == 0 for number in mended):
        return "With both lines mended, and by Shoal's own, every answer is that of brute force."
    return "With both lines mended answers are wrong as well: the reason was not found."


# Drawn

OUTCOMES = {
    "right": "right",
    "called_private": "wrongly private",
    "called_broken": "wrongly broken",
    "no_answer": "none",
}
LABELS = {"version": "algorithm 1", "count": "classes", "answer": "answer"}


def charts(rows: Rows) -> Mapping[str, Spec]:
    """The answers of every version."""
    shown = [
        {"version": row["version"], "answer": words, "count": row[column], "seed": row["seed"]}
        for row in rows
        for column, words in OUTCOMES.items()
    ]
    errs = [
        f"{version} {compute_mean(rows, 'wrong', version=version).mean:.0f}"
        for version in (ROUND, HARMLESS)
    ]
    return {
        "answers": draw_bars(
            shown,
            x="version",
            y="count",
            by="answer",
            labels=LABELS,
            title=f"Wrong or missing answers on {_count_classes(rows)} classes: {'; '.join(errs)}; "
            f"mended {compute_mean(rows, 'wrong', version=MENDED).mean:.0f}",
            about="Bars: on how many small random classes each version of algorithm 1 answers as "
            "brute force does, wrongly, or never; whiskers from the least to the most of the "
            "seeds.",
        )
    }


EXPERIMENT = Experiment(
    "Algorithm 1: the binary verifier as printed and mended, against brute force",
    measure,
    claims,
    charts,
    settings=SETTINGS,
    seeds=5,
    notes=(
        "Classes are small and random: up to 5 providers with up to 5 rows each, k from 2 to 6, l "
        "from 1 to 3, any m below the number of the table's providers.",
        "Definition 2.1 breaks off in print before its condition. It is taken as: for every "
        "coalition of m providers, every table between what they leave and the whole meets the "
        "rule; a coalition that leaves nobody hurts nobody.",
        "What print leaves open is run every way. Line 6 is called mistaken because both ways err; "
        "line 5 because the way that follows from the definition does.",
    ),
)
