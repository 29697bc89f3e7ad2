"""How a release that was just published is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.cli.printing import judged, levels, measured, missing

if TYPE_CHECKING:
    from shoal import Release

_BECAME = ("frozen", "widened", "new", "gone")


def told(release: Release, explain: bool) -> str:
    """The outcome, what was found besides, and where everything lies."""
    lines, based = [str(release)], "rows_frozen" in release.private
    if not based:  # else only what is new was made at one level
        lines += levels(release.private, release.manifest["form"])
    if release.by_noise:
        lines += _noisy(release)
    if explain:
        lines += [line for block in _explained(release) if block for line in ("", block)]
    if based:
        lines += _based(release.private)
    if "people_in_both" in release.private:
        lines += _alike(release.private)
    if "admission" in release.private:
        lines.append(str(release.private["admission"]))
    if "public_before" in release.private:
        lines.append(_after(release.private["public_before"]))
    lines += [f"WARNING: {note}" for note in warnings(release)]
    lines += missing(release.verdict)
    if release.folder is None:
        return "\n".join((*lines, "Nothing was written (dry run)."))
    return "\n".join((*lines, *_placed(release)))


def warnings(release: Release) -> list[str]:
    """The notes on what may undo the promise: columns that repeat, and such that no rule is about.

    Columns that repeat may say that a person has several rows, where each was taken for a person.
    """
    notes = [str(note) for note in release.private.get("notes", [])]
    repeats = [note for note in notes if note in release.private.get("repeats", [])]
    bare = notes if release.private["unjudged"] else []
    return repeats + [note for note in bare if note.startswith("no requirement is about ")]


def _placed(release: Release) -> list[str]:
    """Where it lies; what a seed drew is no release, and that is said last."""
    beside = f"Private companion in {release.companion}: keep it, do not publish it."
    private = [] if release.companion is None else [beside]
    if release.by_noise and not release.manifest["releasable"]:
        return [*private, f"Written for tests to {release.folder}; NOT to be released."]
    return [f"Published in {release.folder}, read again and verified.", *private]


def _explained(release: Release) -> list[str]:
    """What each requirement reaches, and how that came about where it was not told already."""
    facts = {k: v for k, v in release.private.items() if k != "explanation"}
    how = "" if "expected" in facts else str(release.private["explanation"])
    return [judged(release.verdict), measured(facts), how]


def _noisy(release: Release) -> list[str]:
    """How much noise there is, and where the original was read how far the counts have moved."""
    facts: Mapping[str, Any] = release.private
    lines = []
    if "expected" in facts:
        lines.append(str(facts["explanation"]))
    for name, chance in facts.get("true_answers", {}).items():
        part = ">99.9%" if chance > 0.999 else f"{chance:.1%}"
        lines.append(f"{part} of the answers of {name} are true; the others are drawn at random.")
    if "utility" in facts:
        moved = _moved(facts["utility"])
        lines.append(f"{moved} (for you alone: it is counted from the original).")
    return lines


def _moved(useful: Mapping[str, Any]) -> str:
    """How far columns and pairs have moved, and how much of that no noise is to blame for."""
    if useful["marginals"] is None:
        return f"How far columns and pairs have moved is {useful['reason']}"
    bins = f", of which bins alone: {useful['bins']:.1%}" if "bins" in useful else ""
    told = f"Columns and pairs of them have moved by {useful['marginals']:.1%}"
    return f"{told} of what publishing nothing would{bins}"


def _based(facts: Mapping[str, Any]) -> list[str]:
    """What became of the rows of the release that this one is based on."""
    kept, wider, new, gone = (facts[f"rows_{what}"] for what in _BECAME)
    lines = [
        f"Against the earlier release: {kept:,} rows keep their cells, {wider:,} have wider ones, "
        f"{new:,} are new, {gone:,} are gone."
    ]
    if few := facts["rows_new_few"]:
        lines.append(
            f"Warning: {few:,} new rows are in classes with old ones and do not meet the rule "
            "among themselves: whoever compares the releases may tell them apart. Publish when "
            "more have come, or let them be held back (--hold-back)."
        )
    return [*lines, "Base the next release on this one: two that have one base can be linked."]


def _alike(facts: Mapping[str, Any]) -> list[str]:
    """What the recoding of another release did not cover, and who is in that too."""
    lines = []
    if rows := facts["rows_not_covered"]:
        lines.append(f"The release's recoding does not cover {rows:,} rows: they are held back.")
    if people := facts["people_in_both"]:
        lines.append(
            f"Warning: {people:,} people are in the other release too: whoever links the two has "
            "both of their rows. For the same people again there is --based-on."
        )
    return lines


def _after(names: Sequence[str]) -> str:
    """What the earlier releases were found to have."""
    told = ", ".join(names) or "no column that would be published as it is"
    return f"Public already, and so generalised too: {told}."
