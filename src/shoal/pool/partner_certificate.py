"""What a pool's partners are given: a joint certificate, and for each a page of its own.

The certificate says what holds against whom, what no requirement is about (``unjudged`` columns) or
holds against partners (``beside``), and what must be trusted. It names no coalition. Exact are the
numbers of rows and of classes, and nothing else: of the people whom a coalition leaves it says
whether they are k at least, where k is the rule's (10 where it has none, or one under 2). How many
classes break, or are of one provider, is shown to no partner: each knows its own, and the rest
would be a count under k of somebody else's. The certificate says how many members every class
survives (``withstood``), and whether every class is of one provider (``apart``). A provider's page
is about its own rows alone; it shows no other's rows or counts. Both are signed by hash: that of
the agreement, that of the published table, and that of ``certificate.json`` itself. Both say how
many releases of the pool came before (``earlier``).

Suppressed rows are in no class and in no count of the above. The certificate says how many there
are in steps of k (0 only where none may be), and counts as providers those with rows in the table;
a page says how many of its provider's own were suppressed.

What other providers could learn about a provider's rows is counted class by class. A coalition of
up to s *other* providers takes its own rows out of a class. Two things can then go wrong for those
whose rows are left: they are fewer than k (``few``), or they share one sensitive value, which the
coalition then knows for certain (``values``). Each class is taken with the coalition that is worst
for it, so that the counts are an upper bound on what any one coalition could do. They do not say
what providers know besides their own rows, nor what they would guess without being certain.

Counts go to partners, so they are shown in steps of k, zero among the first: neither a count under
k nor a difference of two that is smaller than k can be read from them; ``k`` is 2 or more. A 0
stands only where it follows from the rule, for so many members as every class survives. ``alone``
holds the provider's rows in classes of its own, and how many those are.

They do not protect the pages from each other: who collects several learns the steps of k that
each of them shows. Nor do they hide whether a class has rows of one provider only, or of few.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.atomic_file import create_file, create_json_file
from shoal.core.errors import NotMetError
from shoal.core.histogram import Contributions, Histogram
from shoal.core.model import Model, list_joint_columns, min_class_rows, unwrap_rule
from shoal.core.release import Release
from shoal.core.tally import Groups
from shoal.models.alpha_k import AlphaK
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.models.m_privacy import MPrivacy
from shoal.models.recursive_diversity import RecursiveDiversity
from shoal.pool.agreement import Agreement
from shoal.pool.pool_folder import PoolFolder
from shoal.releases import folder as folder_checks
from shoal.releases import manifest
from shoal.releases.providers import read_row_providers
from shoal.releases.reader import open_labels, parse_released_schema
from shoal.releases.recount import recount
from shoal.reports.pages import pool as pages
from shoal.reports.redact import FEWEST

Rows = NDArray[np.int64]


def count_rows_in_small_classes(providers: Histogram, s: int, k: int) -> Rows:
    """Per provider its rows in classes of which s others can leave fewer than k rows."""
    return _rows(providers, count_rows_left(providers, s) < k)


def count_rows_left(providers: Histogram, s: int) -> Rows:
    """Per class and provider: the rows left of the class without the s largest of the others."""
    order = np.lexsort((-providers.count, providers.class_))
    class_, count = providers.class_, providers.count[order]  # sorted within their classes
    start, end = providers.start[class_], providers.start[class_ + 1]
    upto = np.concatenate(([0], np.cumsum(count)))

    def largest(number: int) -> Rows:
        return np.asarray(upto[np.minimum(start + number, end)] - upto[start])

    among = np.arange(len(count)) - start < s
    taken = np.where(among, largest(s + 1) - count, largest(s))
    left = np.empty_like(count)
    left[order] = providers.rows[class_] - taken
    return left


def count_certain_rows(groups: Groups, s: int) -> Rows:
    """Per provider its rows whose value, in any sensitive column, s others know for certain."""
    is_certain = np.any([_has_single_value(shares, s) for shares in groups.contributions], axis=0)
    return _rows(groups.contributions[0].providers, is_certain)


def _has_single_value(shares: Contributions, s: int) -> NDArray[np.bool_]:
    """Per class and provider: whether without s others all rows of the class have one value.

    That is the provider's own, so it must have one only; and all who have another must go.
    """
    providers = shares.providers
    number = np.cumsum(shares.begins) - 1
    single = np.bincount(number, minlength=len(providers.count)) == 1
    value = shares.value[shares.begins].astype(np.int64)
    same, alike = np.unique(np.stack((providers.class_, value)), axis=1, return_inverse=True)
    loyal = np.bincount(alike.ravel(), weights=single, minlength=same.shape[1])[alike.ravel()]
    return np.asarray(single & (providers.distinct[providers.class_] - loyal <= s))


def count_own_classes(providers: Histogram) -> tuple[Rows, Rows]:
    """Per provider its rows in classes that nobody else has rows in, and how many those are."""
    is_own_class = providers.distinct[providers.class_] == 1
    classes = np.bincount(providers.value[is_own_class], minlength=providers.axis.size)
    return _rows(providers, is_own_class), classes


def _rows(providers: Histogram, classes: NDArray[np.bool_]) -> Rows:
    size = providers.axis.size
    rows = np.bincount(providers.value, weights=providers.count * classes, minlength=size)
    return rows.astype(np.int64)


def round_to_steps(count: int, k: int) -> str:
    """A count as partners may know it: the step of k that it lies in.

    >>> round_to_steps(0, 5), round_to_steps(4, 5), round_to_steps(12, 5)
    ('fewer than 5', 'fewer than 5', '10 to 14')
    """
    low = count // k * k
    return f"{low:,} to {low + k - 1:,}" if low else f"fewer than {k:,}"


def compare_with_k(count: int, k: int) -> str:
    """Whether a count reaches k, and no more.

    What a coalition leaves of a class is shown like this: the rows of a class are public, so that a
    partner who takes its own away could read the others' from any closer number, a step of k too.

    >>> compare_with_k(93, 5), compare_with_k(4, 5)
    ('at least 5', 'fewer than 5')
    """
    return f"{'at least' if count >= k else 'fewer than'} {k:,}"


EDITION = 1
CERTIFICATE = "certificate.json"
OURS = r"certificate\.(json|html)|for-.+\.html"
DIVERSE = DistinctDiversity, EntropyDiversity, RecursiveDiversity
"""Rules by which no class has one value only."""
LONGEST = 100
"""Bytes of a provider's name in that of its page: disks take 255."""
TRUST = (
    "One party, trusted by all partners, saw every row and made the release on its own machine. "
    "No partner was shown another's rows.",
    "Nothing was encrypted: the trusted party could read, keep or change the rows.",
    "The promise is about partners who know the release and their own rows. It says nothing of "
    "what they know besides, of larger coalitions, or of other releases about the same people.",
    "The release was counted again from its file, with the private record of who provided each "
    "row; whoever lacks that record can verify the rule itself, not that it holds against "
    "partners.",
)


@dataclass(frozen=True)
class PartnerFacts:
    """What the certificate and each provider's page say."""

    certificate: Mapping[str, Any]
    pages: Mapping[str, Mapping[str, Any]]
    """By provider."""
    counts: Mapping[str, Any] = field(default_factory=dict)
    """What the third party alone may know: the classes that survive coalitions of 0, 1, … members
    (``survive``), and those of one provider (``of_one_provider``)."""


def locate_partners_folder(out: Path) -> Path:
    """The folder with what the partners of a release are given."""
    return out.parent / f"{out.name}.partners"


def check_partners_folder(folder: Path, replace: bool) -> None:
    """Refuse before any work a folder that could not be written, or is not ours to replace."""
    folder_checks.check_replaceable(folder, CERTIFICATE, replace, OURS, "a pool")


def collect_partner_facts(
    pool: PoolFolder, release: Release, day: date, earlier: int = 0
) -> PartnerFacts:
    """Count the release from its file, with its companion, as partners may know it.

    ``earlier``: how many releases of the pool came before.
    """
    agreement = pool.agreement
    rule, k = agreement.inside, find_smallest_shown_count(agreement.rule)
    suppressed = int(release.private["held_back"])
    groups = _recount_classes(release, rule)
    providers = _count_providers_present(groups, agreement)
    shared_facts = {
        "edition": EDITION,
        "date": day.isoformat(),
        "m": agreement.m,
        "k": k,
        "rule": str(agreement.rule),
        "inside": str(rule),
        "beside": [str(part) for part in agreement.outside],
        "unjudged": agreement.unjudged,
        "earlier": earlier,
        "trust": list(TRUST),
        "agreement": pool.hash,
        "release_sha256": release.manifest["sha256"],
    }
    counts = count_surviving_classes(groups, rule, agreement.m, providers)
    together = describe_coalitions(groups, counts, agreement.m, k, providers)
    certificate = {
        **shared_facts,
        "providers": providers,
        "method": agreement.method,
        "rows": release.verdict.rows,
        "held_back": round_to_steps(suppressed, k) if agreement.hold_back else suppressed,
        "classes": release.verdict.classes,
        "loss": _loss_of_published_rows(release),
        **together,
        **({"signers": sorted(agreement.providers)} if agreement.providers else {}),
    }
    handed_in = {partner.provider: partner.rows for partner in pool.partners}
    pages_of_providers = build_provider_pages(
        groups, rule, shared_facts, handed_in, together["withstood"]
    )
    return PartnerFacts(certificate, pages_of_providers, counts)


def _count_providers_present(groups: Groups, agreement: Agreement) -> int:
    # Raises where one of the agreement has none.
    present = {str(name) for name in groups.contributed.provider.leaves}
    if missing := [name for name in agreement.providers if name not in present]:
        raise NotMetError(
            f"All rows of {', '.join(missing)} would be held back, and the others agreed to "
            "publish together.",
            "agree on a new pool: with a weaker rule, a smaller --hold-back, or without "
            f"{'it' if len(missing) == 1 else 'them'}.",
        )
    return len(present)


def _loss_of_published_rows(release: Release) -> float:
    """In hundredths.

    Suppressed rows count as lost in the release's own number, and all cells can be read from the
    table: from the two together their exact number could be worked out.
    """
    rows, suppressed = release.verdict.rows, int(release.private["held_back"])
    lost = float(release.private["loss"]) * (rows + suppressed) - suppressed
    return round(lost / rows, 2)


def _recount_classes(release: Release, rule: Model) -> Groups:
    schema = parse_released_schema(dict(release.manifest))
    with open_labels(release.path, schema, exact=True) as frame:
        recounted = recount(frame, schema, read_row_providers(release, release.path))
    return Groups.of(recounted.tally, recounted.cut, list_joint_columns(rule))


def find_smallest_shown_count(rule: Model) -> int:
    """The smallest number of people that a count for partners may stand for.

    >>> find_smallest_shown_count(AlphaK("0.5", 5)), find_smallest_shown_count(DistinctDiversity(2))
    (5, 10)
    """
    k = _min_rows_asked(rule)
    return k if k > 1 else FEWEST


def _min_rows_asked(rule: Model) -> int:
    """The smallest class that a rule allows; 0 where it names none."""
    crowds = [p for p in unwrap_rule(rule) if getattr(p, "identity", False) and hasattr(p, "k")]
    return max((int(part.k) for part in crowds), default=0)


def count_surviving_classes(groups: Groups, rule: Model, m: int, providers: int) -> dict[str, Any]:
    """Classes that survive coalitions of each size, and classes of one provider.

    For the third party alone: a partner who takes its own away is left with a count of others'.
    """
    coalition_sizes = MPrivacy(m, rule).per_class(groups)
    return {
        "survive": [int((coalition_sizes >= size).sum()) for size in range(providers)],
        "of_one_provider": int((groups.contributed.provider_counts == 1).sum()),
    }


def describe_coalitions(
    groups: Groups, counts: Mapping[str, Any], m: int, k: int, providers: int
) -> dict[str, Any]:
    """How many members every class survives, and whether the worst of them leave k rows."""
    contributed, classes = (
        groups.contributions[0].providers,
        len(groups.contributed.provider_counts),
    )
    rows_left = {
        s: compare_with_k(int(count_rows_left(contributed, s).min()), k) for s in (m, m + 1)
    }
    beyond = {"beyond": {"members": m + 1, "rows": rows_left[m + 1]}} if m + 1 < providers else {}
    return {
        "withstood": sum(count == classes for count in counts["survive"]) - 1,
        "apart": counts["of_one_provider"] == classes,
        "worst": {"members": m, "rows": rows_left[m]},
        **beyond,
    }


def build_provider_pages(
    groups: Groups,
    rule: Model,
    shared_facts: Mapping[str, Any],
    handed_in: Mapping[str, int],
    withstood: int,
) -> dict[str, dict[str, Any]]:
    """Each provider's own rows, and those that others could learn about, in steps of k.

    ``handed_in`` are the rows of each: those that are in no class were suppressed. Every class
    survives ``withstood`` members, as the certificate says.
    """
    m, k = int(shared_facts["m"]), int(shared_facts["k"])
    contributed = groups.contributions[0].providers
    sizes = range(1, min(m + 1, contributed.axis.size - 1) + 1)
    in_small_classes = {s: count_rows_in_small_classes(contributed, s, k) for s in sizes}
    certain = {s: count_certain_rows(groups, s) for s in sizes} if groups.sensitive else {}
    promises_k, promises_values = _min_rows_asked(rule) >= k, _promises_several_values(rule, groups)
    own_class_rows, classes = count_own_classes(contributed)
    codes = {str(name): code for code, name in enumerate(contributed.axis.leaves)}

    def show_count(rows: Rows, code: int, promised: bool) -> int | str:
        own = int(rows[code])
        return 0 if promised and not own else round_to_steps(own, k)

    def lines(code: int) -> list[dict[str, Any]]:
        return [
            {
                "members": s,
                "few": show_count(in_small_classes[s], code, promises_k and s <= withstood),
            }
            | (
                {"values": show_count(certain[s], code, promises_values and s <= withstood)}
                if certain
                else {}
            )
            for s in sizes
        ]

    def page(name: str, added: int) -> dict[str, Any]:
        own = {"provider": name, "rows": 0, "held_back": added, "lines": []}
        if name not in codes:
            return {**shared_facts, **own}
        code = codes[name]
        rows = int(contributed.total[code])
        own |= {"rows": rows, "held_back": added - rows, "lines": lines(code)}
        if classes[code]:
            own["alone"] = {"rows": int(own_class_rows[code]), "classes": int(classes[code])}
        return {**shared_facts, **own}

    return {name: page(name, added) for name, added in handed_in.items()}


def _promises_several_values(rule: Model, groups: Groups) -> bool:
    """Whether the rule itself says that no class shares one value, in any sensitive column.

    Only what is promised may be shown as a zero: elsewhere it would show what a small count is.
    """
    diverse = [part for part in unwrap_rule(rule) if _asks_for_several_values(part)]
    columns = {getattr(part, "on", None) or groups.names[0] for part in diverse}
    return columns.issuperset(set(groups.names).difference(list_joint_columns(rule)))


def _asks_for_several_values(part: Model) -> bool:
    if isinstance(part, AlphaK):
        return Fraction(part.alpha) < 1
    return isinstance(part, DIVERSE) and min_class_rows(part) > 1


def write_partner_files(folder: Path, facts: PartnerFacts) -> tuple[str, dict[str, str]]:
    """Write the certificate and the pages; returns the certificate's hash and the pages' files."""
    folder.mkdir(mode=0o700)
    create_json_file(folder / CERTIFICATE, facts.certificate, 0o600)
    signature = manifest.hash_file(folder / CERTIFICATE)
    certificate = pages.write_certificate({**facts.certificate, "hash": signature})
    files = name_page_files(facts.pages)
    texts = {files[name]: pages.write_provider_page(page) for name, page in facts.pages.items()}
    for file, text in {"certificate.html": certificate, **texts}.items():
        create_file(folder / file, text.encode(), 0o600)
    return signature, files


def name_page_files(names: Iterable[str]) -> dict[str, str]:
    """A file for each provider, by its name as far as every disk can write it.

    >>> name_page_files(["St Anna", "st/anna", "Höfe"])
    {'St Anna': 'for-St-Anna.html', 'st/anna': 'for-st-anna-2.html', 'Höfe': 'for-Höfe.html'}
    >>> name_page_files(["Spital (West)", "?"])
    {'Spital (West)': 'for-Spital-West.html', '?': 'for-provider.html'}
    """
    files: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        safe_name = re.sub(r"[^\w.-]+", "-", name).encode()[:LONGEST].decode(errors="ignore")
        safe_name = safe_name.strip("-.") or "provider"
        stems = chain((safe_name,), (f"{safe_name}-{number}" for number in count(2)))
        stem = next(candidate for candidate in stems if _fold_name(candidate) not in taken)
        taken.add(_fold_name(stem))
        files[name] = f"for-{stem}.html"
    return files


def _fold_name(stem: str) -> str:
    # What two names have in common that some disk takes for one.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", stem).casefold())
