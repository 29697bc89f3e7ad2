"""One row a person: what every release counts on."""

from __future__ import annotations

from shoal.errors import InputError
from shoal.frames.frame import Frame
from shoal.schema import Schema


def check_people(frame: Frame, schema: Schema) -> None:
    """One row a person: where a column says who a row is about, nobody may come twice."""
    if schema.person is None:
        return
    profile = frame.profile()[schema.person.name]
    repeated = profile.rows - profile.nulls - profile.distinct
    if repeated:
        raise InputError(
            f"{repeated:,} rows are about people who have a row already "
            f"(column {schema.person.name!r}).",
            "keep one row a person, for example the latest.",
        )
