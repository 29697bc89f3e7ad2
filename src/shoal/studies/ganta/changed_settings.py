"""Releases made otherwise than in the figures: what ganta-headline changes, and how it is done.

A setting may change which rows are kept and how many each release has, the method, whether equal
people are divided at a median, how codes are read, which column is cut first, and how far sensitive
values are apart. With nothing changed the releases are those of the figures.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import shoal
from shoal import InputError, Schema
from shoal.data.data_folder import find_file
from shoal.studies.claims import Row
from shoal.studies.ganta.pairs import (
    ALL,
    OVERLAP,
    attack_people,
    draw_subsets,
    find_common_people,
    keep_rows,
    number_people,
    own_class_size,
    publish_parts,
    tabulate_finding,
)
from shoal.studies.tables import Sample

HIERARCHIES = "hierarchies/adult"
"""Where the data folder has ARX's hierarchies of Adult's columns."""
RANKED = frozenset({"age", "educrec"})
"""Columns of IPUMS whose codes are in an order that means something."""
ORDERS = ("", "small domains first", "large domains first")
"""In which order columns are cut that are equally wide, as all are at first."""


# Measuring


def measure_changed_pair(
    sample: Sample,
    *,
    k: int,
    seed: int,
    rows_kept: str = ALL,
    size: int = 0,
    method: str = "mondrian",
    relaxed: bool = False,
    **read: str,
) -> Row:
    """Two releases made by this setting and attacked; ``read`` is for `prepare_table`."""
    people = keep_rows(sample, rows_kept)
    parts = draw_subsets(people.rows, releases=2, overlap=OVERLAP, size=size, seed=seed)
    table, schema = prepare_table(people, **read)
    rule = f"k-anonymity k={k}"
    with publish_parts(
        table, schema, [rule] * 2, [method] * 2, parts, **_method_parameters(relaxed)
    ) as releases:
        row = tabulate_finding(
            releases,
            attack_people(*number_people(table, schema), releases, find_common_people(parts)),
        )
    return {name: row[name] for name in ("pvp_100", "pvp_25", "pvp_100_honest", "pvp_25_honest")}


def measure_class_sizes(
    sample: Sample,
    *,
    k: int,
    seed: int,
    rule: str,
    rows_kept: str = ALL,
    size: int = 0,
    method: str = "mondrian",
    relaxed: bool = False,
    **read: str,
) -> Row:
    """The class sizes of one release made by this setting, under k-anonymity and ``rule``."""
    people = keep_rows(sample, rows_kept)
    parts = draw_subsets(people.rows, releases=2, overlap=OVERLAP, size=size, seed=seed)[:1]
    table, schema = prepare_table(people, **read)
    far = f" distance={read['values']}" if read.get("values") else ""
    requirement = f"k-anonymity k={k}" + (f" & {rule}{far}" if rule else "")
    with publish_parts(
        table, schema, [requirement], [method], parts, **_method_parameters(relaxed)
    ) as (release,):
        own = own_class_size(release, schema)
    rows, classes = release.verdict.rows, release.verdict.classes
    return {"own_class_size": own, "class_size": rows / classes, "classes": classes}


def measure_without_value(sample: Sample, *, k: int, seed: int) -> Row:
    """Two releases as in the figures: who is given away, of those with a value and without."""
    parts = draw_subsets(sample.rows, releases=2, overlap=OVERLAP, size=0, seed=seed)
    table, people, rule = sample.columns(), find_common_people(parts), f"k-anonymity k={k}"
    none = np.asarray(pc.equal(table[sample.sensitive], sample.empty[sample.sensitive]))[people]
    with publish_parts(table, sample.schema, [rule] * 2, ["mondrian"] * 2, parts) as releases:
        with_numbers = number_people(table, sample.schema)
        empty, some = (
            attack_people(*with_numbers, releases, group) for group in (people[none], people[~none])
        )
    exposed = empty.exposed + some.exposed
    return {
        "none": 100 * float(none.mean()),
        "none_of_given_away": 100 * empty.exposed / max(exposed, 1),
        "pvp_100_none": 100 * empty.exposed / empty.people,
        "pvp_100_some": 100 * some.exposed / some.people,
        "pvp_100": 100 * exposed / (empty.people + some.people),
    }


def _method_parameters(relaxed: bool) -> dict[str, bool]:
    """The method's parameters; only Mondrian knows this one."""
    return {"relaxed": True} if relaxed else {}


# How a table is read


def prepare_table(
    people: Sample,
    *,
    codes: str = "",
    order: str = "",
    values: str = "",
    unknown: str = "",
    hierarchies: str = "",
) -> tuple[pa.Table, Schema]:
    """The table with its columns in this order, its categories and values read in this way.

    ``unknown`` is a quasi-identifier that is left out; ``hierarchies`` is the hash of those along
    which columns are cut.
    """
    table = people.columns()
    domains = {name: len(table[name].unique()) for name in people.quasi}
    first = (0, 1, -1)[ORDERS.index(order)]
    quasi = [name for name in people.quasi if name != unknown]
    names = sorted(quasi, key=lambda name: first * domains[name])
    trees = _read_hierarchies(people, hierarchies) if hierarchies else {}
    roles = {
        name: shoal.quasi(how)
        for name in names
        if (how := trees.get(name) or _read_codes(name, codes))
    }
    if values:
        how = shoal.ordered() if values == "ordered" else shoal.tree(_group_by_hundreds(people))
        roles[people.sensitive] = shoal.sensitive(how)
    schema = Schema.of(quasi=names, sensitive=people.sensitive).set(roles)
    return table.select([*names, people.sensitive]), schema


def _read_codes(name: str, codes: str) -> Any:
    """How a column's values are read; nothing where as they come."""
    if codes == "ordered":
        return shoal.ordered()
    return shoal.flat() if codes == "flat" and name not in RANKED else None


def _group_by_hundreds(people: Sample) -> list[list[Any]]:
    """Occupations by the hundreds of their codes, which are the census's major groups."""
    codes = sorted(people.table[people.sensitive].unique().to_pylist())
    return [[code, f"{code // 100}00", "*"] for code in codes]


# Hierarchies, which are files beside the data


def hash_hierarchies(sample: Sample) -> str:
    """A hash of the hierarchies of the table's columns; nothing where they are not all here."""
    here = all(find_file(f"{HIERARCHIES}/{name}.csv") for name in sample.quasi)
    return _hash_texts(_read_texts(sample)) if here and not sample.stand_in else ""


def _read_hierarchies(sample: Sample, expected: str) -> dict[str, Any]:
    texts = _read_texts(sample)
    if _hash_texts(texts) != expected:
        raise InputError(
            f"The files in {HIERARCHIES} are not those with which the study began.",
            "leave the data folder as it is while a study runs, and start again.",
        )
    return {name: shoal.from_arx_csv(text) for name, text in texts.items()}


def _read_texts(sample: Sample) -> dict[str, str]:
    texts = {}
    for name in sample.quasi:
        place = find_file(f"{HIERARCHIES}/{name}.csv")
        if place is None:
            raise InputError(
                f"{HIERARCHIES} has no file for the column {name}.",
                "put it back, or run the study again without the folder.",
            )
        texts[name] = place.read_text(encoding="utf-8")
    return texts


def _hash_texts(texts: Mapping[str, str]) -> str:
    joined = "\0".join(f"{name}\0{text}" for name, text in texts.items())
    return hashlib.sha256(joined.encode()).hexdigest()
