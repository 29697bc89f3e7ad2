"""Verify: read the published file again and recount it; nothing the maker said is trusted."""

from __future__ import annotations

from typing import Any

from shoal.core.model import Model
from shoal.core.release import Verdict
from shoal.core.schema import Schema
from shoal.releases.forms._noise.verification import check_releasable
from shoal.releases.manifest import publishes_answers
from shoal.releases.reader import find_release_unchecked
from shoal.releases.verification import VerifyOptions, recount_and_judge


def verify(
    source: Any,
    schema: Schema | None = None,
    rule: Model | str | None = None,
    *,
    population: Any = None,
    accept_keep: bool = False,
    with_persons: bool = False,
    show: bool = False,
    after: Any = (),
    **reading: Any,
) -> Verdict:
    """Recount a release folder, a ``Release`` or any table, and judge it by a rule.

    Where people have several rows, classes are counted by distinct persons: of a release by its
    private companion, without which people are not evaluated; of another table by its person
    column. A rule about providers (m-privacy) is judged with the release's private companion, which
    alone tells who provided each row.

    Parameters
    ----------
    source
        A release's folder, a ``Release``, or a table: a file, a data frame, an open ``Frame``.
    schema
        What the columns are. A release folder says so itself; another table needs one.
    rule
        What is to hold, such as ``"k-anonymity k=5"``. A release folder says what it promises;
        another table needs one.
    population
        A table of the people whom the release is taken from, for rules that compare with it.
    accept_keep
        Whether a table with kept columns is judged all the same: no rule judges what they add.
    with_persons
        Whether the table may have its person column: the copy at hand has one, and what is
        published does not.
    show
        Whether the worst classes are named by their labels.
    after
        Releases of the same people that are public already. Columns that they have are
        quasi-identifiers here, since the two can be linked by them; what linking them gives is not
        looked at.
    **reading
        How the file is written, as in ``shoal.open``.

    Returns
    -------
    Verdict
        Whether the rule holds, what each of its models reaches, and in how many rows and classes.

    Raises
    ------
    UsageError
        A table that is no release comes without schema or rule, or what is asked for has no meaning
        for a release of this form.
    InputError
        The file meets the rule and is not the one that was published, or it cannot be read.
    NotMetError
        The table holds columns that are never published (identifiers, people, providers) or kept
        ones, or the noise of a release comes from a seed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> age, illness = ["[20-29]"] * 3 + ["[30-39]"] * 3, ["flu", "cold", "none"] * 2
    >>> table = pa.table({"age": age, "illness": illness})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["illness"])
    >>> verdict = shoal.verify(table, schema, "k-anonymity k=3")
    >>> verdict.holds, verdict.rows, verdict.classes
    (True, 6, 2)
    """
    options = VerifyOptions(
        schema=schema,
        rule=rule,
        population=population,
        accept_keep=accept_keep,
        with_persons=with_persons,
        show=show,
        after=after,
        reading=reading,
    )
    verdict = recount_and_judge(source, options)
    release = find_release_unchecked(source)
    if release is not None and publishes_answers(release[1]):
        check_releasable(release[1])
    return verdict
