"""A pool: several providers publish one table, on one machine, by a trusted third party.

They agree on a schema and on a rule that holds against each other (m-privacy; S. Goryczka, L. Xiong
and B. C. M. Fung: m-privacy for collaborative data publishing, CollaborateCom 2011, section I, the
setting with a trusted third party); each hands in its rows; one release is made of all of them.
The partners get a joint certificate, and each of them a page on what the others could learn.

The third party sees every row. It is not protected against, nor is anything encrypted: without
such a party a secure multi-party protocol would be needed, which this is not.
"""

from __future__ import annotations

from shoal.pool.results import Added, Agreed, Pooled, Status
from shoal.pool.verbs import pool_add, pool_init, pool_publish, pool_status

__all__ = [
    "Added",
    "Agreed",
    "Pooled",
    "Status",
    "pool_add",
    "pool_init",
    "pool_publish",
    "pool_status",
]
