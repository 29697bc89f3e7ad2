"""What a pool's providers agree on before anybody hands in a row: schema, rule, method, names.

The agreement is one file, ``pool.json``, and its signature is the SHA-256 of that file, so that
everybody can compute it with any tool. A hash shows that the file is the one that was agreed on;
it does not show who wrote it: for that the providers compare it over a channel they trust.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from shoal.core.axis import Axis
from shoal.core.column import ROLES_LEFT_OUT, Column, Field
from shoal.core.errors import InputError, UsageError
from shoal.core.labels import format_count
from shoal.core.model import (
    All,
    Model,
    format_parameter,
    min_class_rows,
    split_rule,
    unwrap_rule,
)
from shoal.core.schema import Schema
from shoal.core.theory.collusion import explain_untestable
from shoal.models import rule as parse_rule
from shoal.models.alpha_k import AlphaK
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.models.m_privacy import MPrivacy
from shoal.models.recursive_diversity import RecursiveDiversity
from shoal.models.t_closeness import TCloseness
from shoal.releases import manifest
from shoal.releases.judgement import find_unjudged_columns
from shoal.releases.options import Request, parse_method_parameters
from shoal.releases.providers import check_providers, find_largest_m

EDITION = 1
PROVIDER = "provider"
"""The column that says who provided a row, where the schema names none."""
MAX_NAME_LENGTH = 100
"""Letters of a provider's name."""
MIN_HASH_DIGITS = 12
"""Digits of a hash that tell agreements apart."""


@dataclass(frozen=True)
class Agreement:
    """What is agreed on."""

    schema: Schema
    """With the kind and the hierarchy of every column, and a column for the provider."""
    rule: Model
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    hold_back: float = 0.0
    """The share of rows that may be suppressed."""
    providers: tuple[str, ...] = ()
    """Who takes part; empty: whoever hands in rows."""
    created: str = ""

    @property
    def column(self) -> Column:
        """The column that says who provided a row."""
        provider = self.schema.provider
        assert provider is not None, "an agreement's schema has a provider"
        return provider

    @property
    def against(self) -> tuple[MPrivacy, ...]:
        """The parts of the rule that hold against coalitions."""
        return tuple(part for part in split_rule(self.rule) if isinstance(part, MPrivacy))

    @property
    def m(self) -> int:
        """How many providers may work together against all that those parts ask."""
        return self.against[0].m

    @property
    def inside(self) -> Model:
        """What is asked of the rows that a coalition leaves."""
        return All(tuple(part for wrapped in self.against for part in unwrap_rule(wrapped)))

    @property
    def outside(self) -> tuple[Model, ...]:
        """The parts that are not held against partners: no test of them is known."""
        return tuple(part for part in split_rule(self.rule) if not isinstance(part, MPrivacy))

    @property
    def unjudged(self) -> list[str]:
        """The sensitive columns that nothing inside is about."""
        requirements = tuple(
            part for part in split_rule(self.inside) if not _is_met_by_every_class(part)
        )
        return find_unjudged_columns(
            All(requirements), [column.name for column in self.schema.sensitive]
        )

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse providers who are too few, or whose names could be taken for one another's."""
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise UsageError(f"The provider {twice[0]!r} is named twice.", "name each one once.")
        axis = Axis(self.column.name, "category", "flat", tuple(names))
        check_providers(axis, find_largest_m(self.rule))

    def check_name(self, name: str, others: Sequence[str]) -> None:
        """Refuse one who does not take part, or whose name is nearly another's."""
        if self.providers and name not in self.providers:
            raise UsageError(
                f"{name!r} is not one of the pool's {len(self.providers):,} providers.",
                f"they are: {', '.join(self.providers)}.",
            )
        if others:
            axis = Axis(self.column.name, "category", "flat", tuple({*others, name}))
            if axis.size > 1:
                check_providers(axis)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "edition": EDITION,
            "schema": self.schema.to_toml(),
            "rule": str(self.rule),
            "method": self.method,
            "parameters": dict(self.parameters),
            "hold_back": self.hold_back,
            "providers": list(self.providers),
            "created": self.created,
        }

    @classmethod
    def parse(cls, text: str) -> Agreement:
        """The agreement that ``to_json`` wrote."""
        try:
            stored = json.loads(text)
            edition = int(stored.pop("edition"))
            if edition > EDITION:
                raise InputError(
                    f"The pool is of edition {edition}; this program reads up to {EDITION}.",
                    "update Shoal.",
                )
            schema, rule = Schema.parse(stored["schema"]), parse_rule(stored["rule"])
            names = tuple(map(str, stored["providers"]))
            return cls(**{**stored, "schema": schema, "rule": rule, "providers": names})
        except (ValueError, KeyError, TypeError, AttributeError, UsageError):
            raise InputError("pool.json cannot be read.", "take a whole copy of it.") from None


def make_agreement(
    schema: Schema,
    rule: Model | str,
    *,
    method: str,
    providers: Sequence[str],
    hold_back: float,
    parameters: Mapping[str, Any],
    created: str,
) -> Agreement:
    """The agreement, with everything settled that publishing will need; refuses what is not."""
    model = parse_rule(rule) if isinstance(rule, str) else rule
    parameters = parse_method_parameters(method, parameters)
    Request(schema=schema, rule=model, method=method, parameters=parameters, hold_back=hold_back)
    _check_rule(model)
    names = tuple(check_provider_name(name) for name in providers)
    completed = complete_schema(schema)
    _check_sensitive(model, [column.name for column in completed.sensitive])
    agreement = Agreement(completed, model, method, dict(parameters), hold_back, names, created)
    if len(names) == 1:
        raise InputError(
            "One provider is named: there is nobody to publish together with.",
            "name all of them, or none: then whoever adds rows takes part.",
        )
    if names:
        agreement.check_names(names)
    return agreement


def check_provider_name(name: str) -> str:
    """A provider's name without blanks around it.

    >>> check_provider_name(" St Anna ")
    'St Anna'
    """
    name = name.strip()
    if not name or not name.isprintable():
        raise UsageError("A provider needs a name that can be printed.", "write --provider NAME.")
    if len(name) > MAX_NAME_LENGTH:
        raise UsageError(
            f"A provider's name has {len(name):,} letters; {MAX_NAME_LENGTH} are the most.",
            "give it a short one.",
        )
    return name


def _check_rule(rule: Model) -> None:
    """A pool is for rules that hold against the partners themselves, all of them for one m."""
    against = [part for part in split_rule(rule) if isinstance(part, MPrivacy)]
    outside = [
        p for p in split_rule(rule) if not isinstance(p, MPrivacy) and not explain_untestable(p)
    ]
    line = _format_option(_wrap_in_m_privacy(rule))
    if not against or max(part.m for part in against) < 1:
        raise UsageError(
            "The rule promises nothing against providers who know their own rows.",
            f"wrap it: {line}.",
        )
    if all(_is_met_by_every_class(part) for wrapped in against for part in unwrap_rule(wrapped)):
        raise UsageError(
            f"The rule inside m-privacy promises nothing: every class meets {against[0].rule}.",
            f"ask for more: {_format_option(_wrap_in_m_privacy(rule))}.",
        )
    if outside:
        raise UsageError(
            f"Outside m-privacy nothing holds against partners: {' & '.join(map(str, outside))}.",
            f"put it inside: {line}.",
        )
    if len({part.m for part in against}) > 1:
        raise UsageError(
            "The rule has more than one m, and the partners are promised one.",
            f"ask for the same against all of them: {line}.",
        )
    if "population" in rule.needs:
        raise UsageError(
            "A pool has no table of the population to compare with.",
            "ask for a rule about the rows themselves.",
        )


def _wrap_in_m_privacy(rule: Model) -> str:
    own = [part for part in split_rule(rule) if isinstance(part, MPrivacy)]
    outside = [
        str(p) for p in split_rule(rule) if not isinstance(p, MPrivacy) and explain_untestable(p)
    ]
    inside = [
        str(part)
        for part in unwrap_rule(rule)
        if not explain_untestable(part) and not _is_met_by_every_class(part)
    ]
    within = inside or ["k-anonymity k=5"]
    m = max([1, *(part.m for part in own)])
    return " & ".join([f"m-privacy m={m} ({' & '.join(dict.fromkeys(within))})", *outside])


def _is_met_by_every_class(part: Model) -> bool:
    """Whether every class meets a requirement, whatever is in it: k = 1, l = 1, t = 1."""
    if isinstance(part, TCloseness):
        return Fraction(part.t) >= 1
    if isinstance(part, RecursiveDiversity):
        return part.l == 1 and Fraction(part.c) > 1
    counted = isinstance(part, KAnonymity | DistinctDiversity | EntropyDiversity | AlphaK)
    return counted and min_class_rows(part) == 1


def _format_option(rule: Model | str) -> str:
    text = str(rule)
    return f"-m {shlex.quote(text)}" if '"' in text else f'-m "{text}"'


def _check_sensitive(rule: Model, names: Sequence[str]) -> None:
    """Refuse a rule about a column that is not sensitive, or that leaves open which it is about."""
    for part in unwrap_rule(rule):
        if not (fact := _describe_unclear_column(part, names)):
            continue
        if not names:
            raise UsageError(fact, 'give a column the role "sensitive" in schema.toml.')
        more = [f"on={format_parameter(name)}" for name in names[1:]]
        if more:
            more.append(f"on={format_parameter('*'.join(names[:2]))} for two together")
        line = _format_option(_with_first_column(rule, names))
        raise UsageError(
            fact, f"name one: {line}{''.join(f'; or {alternative}' for alternative in more)}"
        )


def _describe_unclear_column(part: Model, names: Sequence[str]) -> str:
    """What is wrong with the sensitive column that a requirement is about; "": nothing."""
    if "sensitive" not in part.needs or not hasattr(part, "on"):
        return ""
    if not names:
        return f"{part} needs a sensitive column, and the schema names none."
    if part.on is None:
        unstated = f"{part} does not say which of {len(names):,} sensitive columns it is about."
        return unstated if len(names) > 1 else ""
    unknown = [name for name in part.on.split("*") if name not in names]
    return f"{part}: {unknown[0]!r} is not a sensitive column." if unknown else ""


def _with_first_column(rule: Any, names: Sequence[str]) -> Model:
    """The rule with every requirement that is unclear about the first sensitive column."""
    if isinstance(rule, All):
        return All(tuple(_with_first_column(model, names) for model in rule.models))
    if isinstance(rule, MPrivacy):
        return replace(rule, rule=_with_first_column(rule.rule, names))
    return replace(rule, on=names[0]) if _describe_unclear_column(rule, names) else rule  # type: ignore[no-any-return]


def complete_schema(schema: Schema) -> Schema:
    """The schema with every hierarchy written out and a column for the provider.

    Kinds must be stated: two providers' files, each read by what it holds, might not fit. Reasons
    and comments are left out: they say how many values and rows one provider's table has.
    """
    without_kind = [
        c.name for c in schema.columns if not c.kind and c.role not in (*ROLES_LEFT_OUT, PROVIDER)
    ]
    if without_kind:
        raise UsageError(
            f"The schema does not state the kinds of: {', '.join(without_kind)}.",
            "shoal schema FILE > schema.toml writes them, for you to correct.",
        )
    fields = [Field(c.name, c.kind or "category") for c in schema.columns]
    fitted = _with_provider_column(schema.fit(fields))
    if kept_names := [column.name for column in fitted.keep]:
        raise UsageError(
            f"Columns are kept as they are, which no rule judges: {', '.join(kept_names)}.",
            "make them quasi-identifiers, or leave them out (identifier).",
        )
    plain = Schema(tuple(replace(column, reason="") for column in fitted.columns))
    return manifest.inline_taxonomies(plain)


def _with_provider_column(schema: Schema) -> Schema:
    """The schema with its provider's names read as words; a column for them where it has none."""
    own = schema.provider
    if own is not None:
        words = replace(own, kind="category")
        return Schema(tuple(words if c is own else c for c in schema.columns))
    if PROVIDER in schema.names:
        raise UsageError(
            f"The column {PROVIDER!r} has another role, and the pool adds one of that name.",
            f'rename it, or give it the role "{PROVIDER}".',
        )
    return Schema((*schema.columns, Column(PROVIDER, PROVIDER, "category")))


def check_agreement_hash(signature: str, stated: str | None) -> None:
    """Refuse where a provider agreed on something else; the beginning of the hash is enough."""
    if stated is None:
        return
    stated = stated.strip().lower()
    if len(stated) < MIN_HASH_DIGITS:
        raise UsageError(
            f"The agreement is given by {format_count(len(stated), 'digit')}, which may begin "
            "another's.",
            f"give at least {MIN_HASH_DIGITS} of the SHA-256 that you wrote down.",
        )
    if not signature.startswith(stated):
        raise InputError(
            f"The pool's agreement is {signature[:MIN_HASH_DIGITS]}…, not the one given.",
            "compare pool.json with the others'.",
        )
