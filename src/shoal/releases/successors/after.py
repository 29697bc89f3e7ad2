"""A release after others that may be about the same people: what those published links the rows.

`treat_published_as_quasi` makes quasi-identifiers of the columns that earlier releases have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shoal.core.errors import InputError, UsageError
from shoal.core.model import Model, unwrap_rule
from shoal.core.schema import Schema
from shoal.releases.companion import find_release
from shoal.releases.manifest import refuse_noisy
from shoal.releases.reader import open_frame


def treat_published_as_quasi(schema: Schema, rule: Model, after: Any) -> Schema:
    """The schema for a release that follows others: what they have is a quasi-identifier too.

    A sensitive or kept column that an earlier release published as it is joins the rows of both
    (Sweeney 2002, section 4.2), so nobody may stand out with it either. It does not see what the
    rows of both say together where they can be joined all the same.
    """
    earlier_columns = {
        name for source in list_earlier(after) for name in _list_published_columns(source, schema)
    }
    _refuse_renamed(schema, earlier_columns)
    linking = [c.name for c in (*schema.sensitive, *schema.keep) if c.name in earlier_columns]
    for part in unwrap_rule(rule):
        on = getattr(part, "on", None)
        judged = on.split("*") if on else [column.name for column in schema.sensitive]
        taken = [name for name in judged if name in linking]
        if "sensitive" in part.needs and taken:
            raise UsageError(
                f"{part} judges columns that an earlier release published, which are "
                f"quasi-identifiers now: {', '.join(taken)}.",
                "leave that requirement out, or base the release on the earlier one instead "
                "(--based-on).",
            )
    columns = (replace(c, role="quasi") if c.name in linking else c for c in schema.columns)
    return replace(schema, columns=tuple(columns))


def _refuse_renamed(schema: Schema, earlier_columns: set[str]) -> None:
    """A column that an earlier release has under nearly its name would not be noticed as that."""
    others = {_fold_name(name) for name in earlier_columns.difference(schema.names)}
    published = [c.name for c in (*schema.sensitive, *schema.keep) if c.name not in earlier_columns]
    alike = [name for name in published if _fold_name(name) in others]
    if alike:
        raise UsageError(
            "An earlier release has columns of nearly the same name, so that it is not clear what "
            f"is public already: {', '.join(alike)}.",
            "give them the names that they have there; or others, if they are something else.",
        )


def _fold_name(name: str) -> str:
    return re.sub(r"[\s_]+", "", name.casefold())


def list_earlier(after: Any) -> list[Any]:
    """Earlier releases as they may be given: a list of them, one alone, or none."""
    return list(after) if isinstance(after, list | tuple) else [] if after is None else [after]


def _list_published_columns(source: Any, schema: Schema) -> Sequence[str]:
    """The columns of an earlier release; one that shares none with the schema is the wrong one."""
    release = find_release(source)
    if release is not None:
        refuse_noisy(release[1], "has no rows that another release could be linked with")
        names = tuple(release[1]["columns"])
    else:
        with open_frame(source) as frame:
            names = tuple(field.name for field in frame.fields)
    if not set(names) & set(schema.names):
        raise InputError(
            "An earlier release has no column of this one.", "give releases of the same table."
        )
    return names
