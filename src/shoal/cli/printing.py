"""Results on standard output, progress on standard error; plain where nobody watches.

Rich is loaded only when a table or a bar is drawn.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

from shoal.core import interruption

if TYPE_CHECKING:
    from shoal import Verdict

NOT_MET, EXPOSED = 3, 4
"""The exit codes where a requirement does not hold, and where a limit is exceeded."""
PROMISE = "differential-privacy"
"""How a requirement is called that noise meets."""
Step = Callable[[str, int, int], None]
"""Called with a step's name, how much is done and how much there is."""


class Result(Protocol):
    """What every verb returns."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""


def write_as_utf8() -> None:
    """Write UTF-8 whatever the locale says; a name that is no text is escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


class _Outlet:
    """A stream whose reader may go away (``| head``): what is left then goes nowhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, if anybody reads."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._gone()
            return len(text)

    def flush(self) -> None:
        """Hand on what was written, if anybody reads."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._gone()

    def _gone(self) -> None:
        """Send the rest, and what Python itself flushes at exit, nowhere."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


@contextmanager
def tolerate_lost_outlets() -> Iterator[None]:
    """Print to readers that may go away, or that are not there: a run ends as it would have."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        # Python has no stream where its file was closed (``>&-``).
        sys.stdout, sys.stderr = (cast(TextIO, _Outlet(stream or nowhere)) for stream in before)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = before


def print_text(text: str) -> None:
    """Print to standard output at once."""
    print(text, flush=True)


@dataclass(frozen=True)
class Output:
    """Where a verb prints: text, or one JSON document; with ``quiet`` nothing but the latter."""

    as_json: bool = False
    quiet: bool = False

    @property
    def prints_text(self) -> bool:
        """Whether a text would be printed at all."""
        return not (self.as_json or self.quiet)

    def show(self, result: Result, text: str | None = None) -> None:
        """Print a result as JSON, or as the text: the result's own unless another is given."""
        if self.as_json:
            self.show_document(result.to_json())
        elif not self.quiet:
            print_text(str(result) if text is None else text)

    def show_document(
        self, document: dict[str, Any], text: str = "", indent: int | None = 2
    ) -> None:
        """Print a document as JSON, or the text that says the same."""
        if self.as_json:
            print_text(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent))
        elif not self.quiet:
            print_text(text)

    @contextmanager
    def show_progress(self) -> Iterator[Step]:
        """A bar for each step on standard error, where that is a terminal; else silence."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda step, done, total: _raise_if_stopped()
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}"), BarColumn(bar_width=30), TimeElapsedColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            tasks: dict[str, Any] = {}

            def step(name: str, done: int, total: int) -> None:
                _raise_if_stopped()
                if name not in tasks:
                    for earlier in tasks.values():
                        bars.update(earlier, total=1, completed=1)
                    tasks[name] = bars.add_task(name, total=None)
                # A step of one part says when it starts and ends, not how far it is: it pulses.
                bars.update(tasks[name], completed=done, total=total if total > 1 or done else None)

            yield step


def _raise_if_stopped() -> None:
    if interruption.stop_requested.is_set():  # a library may have swallowed the interrupt
        raise KeyboardInterrupt


def format_table(
    head: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[int] = ()
) -> str:
    """An aligned table; in a terminal it wraps to its width and the head is bold.

    ``right`` are the positions of columns of numbers.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout)
    if not console.is_terminal:
        return _aligned([head, *rows], right)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for at, word in enumerate(head):
        grid.add_column(word, justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(" ".join(str(cell).split())) for cell in row))
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _aligned(rows: Sequence[Sequence[object]], right: Sequence[int]) -> str:
    """The rows in columns as wide as their widest cell: thousands of them take no time."""
    from rich.cells import cell_len, set_cell_size

    texts = [[" ".join(str(cell).split()) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]

    def align(position: int, text: str) -> str:
        if position in right:
            return " " * (widths[position] - cell_len(text)) + text
        return set_cell_size(text, widths[position])

    lines = ("  ".join(align(position, text) for position, text in enumerate(row)) for row in texts)
    return "\n".join(line.rstrip() for line in lines)


def describe_verdict(verdict: Verdict) -> str:
    """Whether a table holds, in a sentence, then requirement by requirement."""
    outcome = "holds" if verdict.holds else "DOES NOT HOLD"
    one_row_each = verdict.people is None or verdict.people == verdict.rows
    of_people = "" if one_row_each else f" of {_format_persons(verdict.people or 0)}"
    in_classes = f" in {format_class_count(verdict.classes)}" if verdict.classes else ""
    head = f"{verdict.rows:,} rows{of_people}{in_classes}, {verdict.how}: {outcome}"
    lines = [head, "", describe_judgements(verdict)]
    reasons = dict.fromkeys(part.reason for part in verdict.judgements if part.reason)
    lines += [f"Not evaluated: {why}" for why in reasons]
    if verdict.changed:
        lines.append(f"WARNING: {verdict.changed}.")
    if verdict.unjudged:
        lines.append(f"WARNING: {_warn_unjudged(verdict.unjudged)}")
    if verdict.people_not_evaluated:
        lines.append(f"People are not evaluated: {verdict.people_not_evaluated}.")
    if verdict.kept_columns_k is not None:
        lines += ["", f"k over quasi-identifiers and kept columns: {verdict.kept_columns_k:,}"]
    return "\n".join((*lines, *[f"\n{line}" for line in describe_missing_values(verdict)]))


def _warn_unjudged(columns: Sequence[str]) -> str:
    return (
        f"no requirement is about {', '.join(columns)}: everybody in a class may share one value "
        'there. Ask for one, such as -m "distinct-diversity l=2", with on=COLUMN where several are '
        "sensitive."
    )


def describe_missing_values(verdict: Verdict) -> list[str]:
    """How rows without a sensitive value were judged, by column."""
    return [
        f"{rows:,} rows have no {name}: judged as the worst value for each requirement."
        for name, rows in verdict.missing.items()
    ]


def describe_judgements(verdict: Verdict) -> str:
    """What each requirement reaches, how much of the table fails, and the worst class.

    Noisy counts and made-up people have no classes that could fail.
    """
    shown = 6 if verdict.classes else 3
    rows = []
    for judgement in verdict.judgements:
        labels = ", ".join(
            f"{key} {value}" for key, value in judgement.worst.get("class", {}).items()
        )
        worst = f"{judgement.worst['rows']:,} rows" if "rows" in judgement.worst else "–"
        worst += (
            f" of {_format_persons(judgement.worst['people'])}"
            if "people" in judgement.worst
            else ""
        )
        worst += f": {labels}" if labels else ""
        worst += _describe_coalition(judgement.worst)
        failing = f"{judgement.failing_classes:,}", f"{judgement.failing_rows:,}"
        if judgement.model.startswith(PROMISE):  # what noise promises is no matter of classes
            failing = "–", "–"
        held = "yes" if judgement.holds else "not evaluated" if judgement.reason else "NO"
        reached = "–" if judgement.reason else format_fact(judgement.reached)
        rows.append((held, judgement.model, reached, *failing, worst)[:shown])
    head = ("holds", "requirement", "reached", "failing classes", "failing rows", "worst class")
    return format_table(head[:shown], rows, right=(2, 3, 4)[: shown - 2])


def _describe_coalition(worst: Mapping[str, Any]) -> str:
    if "members" not in worst:
        return ""
    names, members = ", ".join(worst.get("coalition", ())), worst["members"]
    providers = names or f"{members:,} provider{'' if members == 1 else 's'}"
    return f"; {providers} together would leave {worst['left']:,}"


def _format_persons(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"


def format_class_count(count: int) -> str:
    """So many classes, in words."""
    return f"{count:,} class{'' if count == 1 else 'es'}"


WORDS = {
    "rows": "people in the table, exactly: not public",
    "held_back": "rows held back",
    "starred": "rows printed as *",
    "parts": "parts that the table was made in",
    "value": "what was minimised",
    "nodes": "combinations of levels there are",
    "checked": "combinations of levels that were made",
    "complete": "the search came to its end",
    "steps": "steps from all as it is to all as *",
    "judged": "steps that were judged",
    "rounds": "rounds, each with its levels",
    "complementary": "rows held back for the others' sake only",
    "combinations": "pairs and triples of columns that were tested",
    "shortest": "fewest people of a class when it was made",
    "size": "fewest people of a class when it was made",
    "k": "fewest people of a class when it was made",
    "joined": "classes that were joined to meet the rule",
    "block": "most people of a block",
    "blocks": "blocks that the table was divided into",
}
"""What the numbers of methods mean; others are shown by their names."""


def format_facts(facts: Mapping[str, Any]) -> str:
    """The numbers among a publisher's facts, one a line."""
    words = WORDS | ({"value": f"least {facts['measure']}"} if "measure" in facts else {})
    numbers = ((key, value) for key, value in facts.items() if isinstance(value, int | float))
    rows = [(words.get(key, key.replace("_", " ")), format_fact(value)) for key, value in numbers]
    return format_table(("measure", "value"), rows, right=(1,)) if rows else ""


MAX_LISTED = 20
"""So many minimal combinations of levels are shown; the JSON has them all."""


def format_levels(facts: Mapping[str, Any], form: str = "partition") -> list[str]:
    """What a method by levels found: each column's level, how good it is, what else would pass."""
    if "levels" not in facts:
        return []
    tops = facts.get("levels_of", {})
    levels = (
        f"{name} {level}" + (f" of {tops[name]}" if name in tops else "")
        for name, level in facts["levels"].items()
    )
    head = "Levels" if form == "partition" else "Levels at which classes were made"
    lines = [f"{head}: {', '.join(levels)} (0: as it is; the highest: *)."]
    if "complete" in facts:
        lines.append(_describe_search(facts))
    return [*lines, *_format_minimal(facts.get("minimal", ()), facts["levels"])]


def _describe_search(facts: Mapping[str, Any]) -> str:
    measured = f"{facts['measure']} {format_fact(facts['value'])}"
    searched = f"{facts['checked']:,} of {facts['nodes']:,} combinations of levels"
    if facts["complete"]:
        return f"The least {measured}: {searched} were made, no other can be better."
    return (
        f"The least {measured} that was found. The search was stopped by its limit after "
        f"{searched}: a better one may exist (allow more with --set nodes=… or seconds=…)."
    )


def _format_minimal(
    combinations: Sequence[Mapping[str, int]], chosen: Mapping[str, int]
) -> list[str]:
    if not combinations:
        return []
    rows = [
        (*combination.values(), "chosen" if combination == chosen else "")
        for combination in combinations[:MAX_LISTED]
    ]
    shown = format_table((*chosen, ""), rows, right=range(len(chosen)))
    more = len(combinations) - MAX_LISTED
    head = "Minimal combinations of levels (they pass, and none finer by one level does):"
    return ["", head, shown, *([f"… and {more:,} more (--json has all)."] if more > 0 else [])]


def format_fact(value: float) -> str:
    """A number as a person writes it: whole where whole or large, else four digits; yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    whole = math.isfinite(value) and (value == int(value) or abs(value) >= 10_000)
    return f"{value:,.0f}" if whole else f"{value:.4g}"
