"""What the papers claim, checked: the claims of all studies in a folder on one page.

Written from the studies' ``results.json`` alone; every number on it says in which of them, and of
which rows, it is the mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.core.atomic_file import write_file
from shoal.studies import experiments
from shoal.studies.claims import FOUND
from shoal.studies.outcome import EDITION, PAGE, RESULTS, results
from shoal.studies.pages.study import checked_page

SUMMARY = "claims.json"
INDEX = "index.html"


@dataclass(frozen=True)
class Checked:
    """Every claim of every study in a folder, beside what came out."""

    studies: Sequence[Mapping[str, Any]]
    """The studies' own JSON."""
    folder: Path

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        claims = [
            {
                "study": one["study"],
                "paper": one["paper"]["short"],
                "results": f"{one['study']}/{RESULTS}",
                **claim,
            }
            for one in self.studies
            for claim in one["claims"]
        ]
        return {
            "edition": EDITION,
            "studies": [one["study"] for one in self.studies],
            "stand_in": [one["study"] for one in self.studies if one["stand_in"]],
            "codes": {one["study"]: one["made"]["code"] for one in self.studies},
            "claims": claims,
        }

    def __str__(self) -> str:
        verdicts = [claim["verdict"] for one in self.studies for claim in one["claims"]]
        claims = [one for one in verdicts if one != FOUND]
        told = ", ".join(f"{claims.count(one)} {one}" for one in dict.fromkeys(claims))
        head = f"{len(self.studies)} studies, {len(claims)} claims of the papers checked"
        lines = [f"{head}: {told}." if told else f"{head}."]
        if len(set(self.to_json()["codes"].values())) > 1:
            lines.append("They were made by different code: run all of them again to compare them.")
        return "\n".join([*lines, f"Written: {self.folder / INDEX}"])


def checked(folder: Path) -> Checked:
    """Read the folder's studies and write its page and its JSON."""
    found = [results(folder / name) for name in experiments()]
    result = Checked([one for one in found if one is not None], folder)
    write_file(folder / INDEX, checked_page(result.studies, PAGE, RESULTS).html())
    write_file(folder / SUMMARY, json.dumps(result.to_json(), ensure_ascii=False, indent=1) + "\n")
    return result
