"""Releases that noise makes, beside others: what attacks may look at, and what the budget answers.

Differential privacy holds beside whatever else an adversary has (Ganta, Kasiviswanathan, Smith:
Composition attacks and auxiliary information in data privacy, KDD 2008, section 4). So counts and
made-up people are judged by the budget alone: no cell of theirs is anybody's. Of a randomised
release the same is true of its sensitive values; its cells are those of a partition, and attacked
like one.

It does not look for a mistake in the noise: that is what verifying and auditing are for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.core.errors import InputError, NotMetError
from shoal.core.schema import Column, Schema
from shoal.core.spend import Spend
from shoal.dp.randomised_response import compute_response_spend
from shoal.ledger.budget import read_stated_spend
from shoal.releases.forms._noise.accounted_spend import read_steps, total_spend
from shoal.releases.forms._noise.answers import read_answers
from shoal.releases.forms._noise.verification import check_releasable
from shoal.releases.forms.counts import COUNT, ESTIMATE, MARGINAL
from shoal.releases.options import COUNTS, NO_INDIVIDUAL_ROWS, NOISY, RANDOMISED
from shoal.releases.published_table import PublishedTable
from shoal.releases.reader import open_frame, parse_released_schema
from shoal.releases.row_listing import read_columns
from shoal.releases.verification import VerifyOptions, check_manifest_form, recount_and_judge

BY_BUDGET = (
    "Noise made one of the two, and no cell of it is anybody's: what it gives away beside the "
    "other is what it spends of the budget."
)
VALUES_BY_BUDGET = (
    "Noise answers for sensitive values of a randomised release: what they give away is what it "
    "spends of the budget."
)


def read_form(published: PublishedTable) -> str:
    """What form a release says that it has; empty for a table of others."""
    return str((published.manifest or {}).get("form", ""))


def has_no_individual_rows(published: PublishedTable) -> bool:
    """Whether no row of it is anybody's: noisy counts, or people made up from them."""
    return read_form(published) in NO_INDIVIDUAL_ROWS


def find_answered_columns(published: PublishedTable) -> frozenset[str]:
    """The columns whose values noise answers for: the sensitive ones of a randomised release."""
    randomised = read_form(published) == RANDOMISED
    return frozenset(c.name for c in published.schema.sensitive) if randomised else frozenset()


def drop_answered_columns(published: PublishedTable) -> PublishedTable:
    """A release without the columns that noise answers for."""
    return drop_columns(published, find_answered_columns(published))


def drop_columns(published: PublishedTable, names: frozenset[str]) -> PublishedTable:
    """A release without some columns, as if they had not been published."""
    listings = {name: listing for name, listing in published.listings.items() if name not in names}
    return (
        published
        if len(listings) == len(published.listings)
        else replace(published, listings=listings)
    )


def check_noise_spend(source: Any, manifest: Mapping[str, Any]) -> None:
    """Refuse noise that is not private: from a seed, or less than the manifest's spend needs.

    What the noise spends is computed anew, from the scale that the manifest states.
    """
    spend = read_stated_spend(manifest)
    if spend.rho is not None and (not spend.delta or manifest.get("form") not in NOISY):
        raise InputError(
            "The manifest states a ρ that no noise of it bears out: only one with a delta has any.",
            "take the manifest as it was published, or publish the release again.",
        )
    check_manifest_form(manifest)
    if manifest.get("form") not in NOISY:
        return
    if manifest.get("releasable") is not True:
        raise NotMetError(
            "The noise of this release is from a seed: whoever has the seed can take it away.",
            "publish it again without a seed; this one is for tests and studies.",
        )
    if not spend or not _covers_noise(manifest, spend) or not _is_verified(source, manifest):
        raise InputError(
            "The manifest states a smaller spend than its noise has.",
            "take the manifest as it was published, or publish the release again.",
        )


def _is_verified(source: Any, manifest: Mapping[str, Any]) -> bool:
    holds = recount_and_judge(source, VerifyOptions()).holds
    check_releasable(manifest)
    return holds


def _covers_noise(manifest: Mapping[str, Any], spend: Spend) -> bool:
    """Whether the noise spends no more than is stated, in ρ too where one is."""
    computed = _compute_noise_spend(manifest, spend)
    if not computed.within(spend):
        return False
    return spend.rho is None or (computed.rho is not None and computed.rho <= spend.rho)


def _compute_noise_spend(manifest: Mapping[str, Any], spend: Spend) -> Spend:
    if manifest.get("form") in NO_INDIVIDUAL_ROWS:
        return total_spend(read_steps(manifest), spend.delta)
    answers = read_answers(manifest).values()
    epsilons = [compute_response_spend(answer.bins.size, answer.keep).epsilon for answer in answers]
    return Spend(sum(epsilons), rho=sum(epsilon**2 for epsilon in epsilons) / 2)


def read_noise_table(table: Path, manifest: Mapping[str, Any]) -> PublishedTable:
    """A table of counts or made-up people, every column as labels: nobody is looked for in it.

    It was verified, so that its columns are those that the manifest says.
    """
    columns = parse_released_schema(dict(manifest)).columns
    stated_roles = {
        column.name: column.role for column in columns if column.role in ("quasi", "sensitive")
    }
    names = list(stated_roles)
    if manifest.get("form") == COUNTS:
        names = [MARGINAL, *names, COUNT, ESTIMATE]
    with open_frame(table, kinds=dict.fromkeys(names, "label"), nulls=()) as frame:
        listings = read_columns(frame, names)
    roles = Schema(tuple(Column(name, stated_roles.get(name, "keep")) for name in names))
    return PublishedTable(table.resolve().parent.name, roles, listings, manifest)
