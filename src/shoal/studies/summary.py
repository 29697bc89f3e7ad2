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
from shoal.studies.outcome import EDITION, PAGE, RESULTS, read_results
from shoal.studies.pages.checked import make_claims_page

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
                "study": study["study"],
                "paper": study["paper"]["short"],
                "results": f"{study['study']}/{RESULTS}",
                **claim,
            }
            for study in self.studies
            for claim in study["claims"]
        ]
        return {
            "edition": EDITION,
            "studies": [study["study"] for study in self.studies],
            "stand_in": [study["study"] for study in self.studies if study["stand_in"]],
            "codes": {study["study"]: study["made"]["code"] for study in self.studies},
            "claims": claims,
        }

    def __str__(self) -> str:
        verdicts = [claim["verdict"] for study in self.studies for claim in study["claims"]]
        claims = [verdict for verdict in verdicts if verdict != FOUND]
        counts = ", ".join(
            f"{claims.count(verdict)} {verdict}" for verdict in dict.fromkeys(claims)
        )
        head = f"{len(self.studies)} studies, {len(claims)} claims of the papers checked"
        lines = [f"{head}: {counts}." if counts else f"{head}."]
        if len(set(self.to_json()["codes"].values())) > 1:
            lines.append("They were made by different code: run all of them again to compare them.")
        return "\n".join([*lines, f"Written: {self.folder / INDEX}"])


def check_folder(folder: Path) -> Checked:
    """Read the folder's studies and write its page and its JSON."""
    documents = [read_results(folder / name) for name in experiments()]
    result = Checked([document for document in documents if document is not None], folder)
    write_file(folder / INDEX, make_claims_page(result.studies, PAGE, RESULTS).html())
    write_file(folder / SUMMARY, json.dumps(result.to_json(), ensure_ascii=False, indent=1) + "\n")
    return result
