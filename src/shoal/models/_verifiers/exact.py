"""exact: each part of the rule by its own quickest way, without trying coalitions one by one."""

from __future__ import annotations

from shoal.core.model import Model, parse_whole_number
from shoal.core.tally import Groups
from shoal.core.theory.collusion import count_members, find_breaches
from shoal.models._verifiers.lattice import VerifierResult, check_single_class


def verify_exact(model: Model, class_: Groups, m: int) -> VerifierResult:
    """The coalition that breaks a class, if there is one, for any rule that has an exact test.

    Rows: the providers with most rows are the worst. Distinct values: the coalition must hold all
    rows of all but l − 1 values, a minimum q-union, searched after a kernel. Rules that are not
    row-monotone: any of a coalition's rows may be taken away, each rule by its own test. The
    meaning is the paper's (S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for collaborative
    data publishing, CollaborateCom 2011, definition 2.1); the tests are Shoal's. Counted as one
    check, since it does not ask coalition by coalition.

    Does not name the smallest coalition, nor all: one that breaks the class.
    """
    check_single_class(class_)
    most = count_members(class_.contributed, parse_whole_number(m, "m", 0))
    return VerifierResult(find_breaches(model, class_, most).of(0), 1)
