"""Running a study, or all of them, into a folder that remembers how far it was."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import shoal
from shoal import OutputError, Schema, UsageError
from shoal.releases.folder import ensure_folder, lock_folder
from shoal.reports.document import check_page_place
from shoal.studies import experiments
from shoal.studies.claims import Row
from shoal.studies.experiment import Experiment, Paper
from shoal.studies.kept import Kept
from shoal.studies.keys import code, plain
from shoal.studies.laboratory import Lab, Pool, Progress, processes, quiet
from shoal.studies.named import several
from shoal.studies.outcome import PAGE, RESULTS, Study, results
from shoal.studies.summary import INDEX, Checked, checked
from shoal.studies.tables import OWN, Sample, own

LOCK = ".study.lock"
"""The file that says that a run is at work in a folder."""


@dataclass(frozen=True)
class Asked:
    """How studies are run."""

    seeds: int | None = None
    stand_in: bool = False
    settings: Mapping[str, Any] | None = None
    table: Sample | None = None
    """A user's own table in place of the paper's."""


@dataclass(frozen=True)
class Plan:
    """A study that can be run: its tables are here, and its settings are known."""

    name: str
    paper: Paper
    experiment: Experiment
    samples: Mapping[str, Sample]
    settings: Mapping[str, Any]
    seeds: range


def study(
    name: str,
    out: str | Path | None = None,
    *,
    seeds: int | None = None,
    stand_in: bool = False,
    replace: bool = False,
    data: Any = None,
    schema: Schema | None = None,
    jobs: int | None = 1,
    progress: Progress = quiet,
    reading: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Study:
    """Make one table or figure of a paper again; with ``out``, write it to the folder out/name.

    ``seeds``: how often what is drawn is drawn. ``stand_in`` studies made-up people in
    place of the paper's data. ``data`` (with its ``schema``) is a table of your own, for the
    studies that allow it. ``jobs`` measure side by side, None: as many as there are cores. Further
    ``settings`` replace the study's own. What a run that was stopped had measured is not measured
    again; ``replace`` writes over results of other settings.
    """
    _check_name(name)
    _check_seeds(seeds)
    if data is None and schema is not None:
        raise UsageError("A schema needs its data.", "name the table as well.")
    if data is not None and stand_in:
        raise UsageError("A table of your own needs no stand-in.", "leave one of the two out.")
    table = None if data is None else own(data, schema, **(reading or {}))
    asked = Asked(seeds, stand_in, settings, table)
    plan, folder = _plan(name, asked), None if out is None else Path(out)
    with _held(folder, [plan], replace), processes(jobs) as pool:
        return _run(plan, folder, pool, progress)


def study_all(
    out: str | Path,
    *,
    seeds: int | None = None,
    stand_in: bool = False,
    replace: bool = False,
    jobs: int | None = 1,
    progress: Progress = quiet,
    told: Callable[[Study], None] = lambda study: None,
) -> Checked:
    """Make every table and figure of the papers again, and check what the papers claim.

    What was measured before is taken as it is, so that a run that was stopped goes on. ``told``
    hears of every study that is done.
    """
    _check_seeds(seeds)
    folder, asked = Path(out), Asked(seeds, stand_in)
    # All the data first: nothing is worse than to lack it at the end.
    several((data for _, one in experiments().values() for data in one.data), stand_in)
    plans = [_plan(name, asked) for name in experiments()]
    with _held(folder, plans, replace), processes(jobs) as pool:
        for at, plan in enumerate(plans, 1):
            step = f"{plan.name} ({at} of {len(plans)})"
            told(_run(plan, folder, pool, _named(progress, step)))
        return checked(folder)


@contextmanager
def _held(folder: Path | None, plans: Sequence[Plan], replace: bool) -> Iterator[None]:
    """The folder, while no other run writes to it: two would take each other's files away."""
    if folder is None:
        yield
        return
    with lock_folder(folder, LOCK, wait=False):
        check_page_place(folder / INDEX, internal=False, name="study")
        for plan in plans:
            _check_ours(folder / plan.name)
            if not replace:
                _check_same(folder / plan.name, plan)
        yield


def _check_ours(folder: Path) -> None:
    """Refuse to write over a page that is somebody else's."""
    if folder.is_dir():
        check_page_place(folder / PAGE, internal=False, name="study")


def _named(progress: Progress, step: str) -> Progress:
    """The same, told under another name."""
    return lambda _, done, total: progress(step, done, total)


def _check_name(name: str) -> None:
    known = experiments()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "`shoal study --list` names them."
        raise UsageError(f"There is no study {name!r}.", hint)


def _check_seeds(seeds: int | None) -> None:
    if seeds is not None and seeds < 1:
        raise UsageError("A study needs a seed at least.", "write for example seeds=3.")


def _plan(name: str, asked: Asked) -> Plan:
    paper, experiment = experiments()[name]
    settings = _settings(experiment, asked.settings or {})
    drawn = asked.seeds if asked.seeds and experiment.seeds > 1 else experiment.seeds
    return Plan(name, paper, experiment, _samples(experiment, asked), settings, range(drawn))


def _run(plan: Plan, folder: Path | None, pool: Pool | None, progress: Progress) -> Study:
    lab = Lab(plan.name, plan.samples, plan.settings, plan.seeds, Kept(folder), pool, progress)
    rows = [plain(row, "A row") for row in plan.experiment.measure(lab)]
    found = _study(plan, lab, rows)
    if folder is None:
        return found
    found = replace(found, files=found.write(ensure_folder(folder / plan.name)))
    checked(folder)
    return found


def _study(plan: Plan, lab: Lab, rows: Sequence[Row]) -> Study:
    """The claims are of the paper's data with the paper's settings alone."""
    experiment, samples = plan.experiment, list(plan.samples.values())
    theirs = dict(plan.settings) == _settings(experiment, {})
    said = theirs and not any(one.stand_in or one.name == OWN for one in samples)
    before = lab.kept.seconds - lab.kept.now
    made_by = {
        "version": shoal.__version__,
        "code": code(),
        "seconds": round(lab.kept.seconds, 3),
        "before": round(before, 3),
    }
    return Study(
        plan.name,
        plan.paper,
        experiment.shows,
        _told(samples),
        plan.settings,
        plan.seeds,
        rows,
        tuple(experiment.claims(rows)) if said else (),
        experiment.charts(rows),
        experiment.notes,
        made_by,
        parameters=tuple(lab.parameters),
        usual={"settings": dict(experiment.settings), "seeds": experiment.seeds},
    )


def _told(samples: Iterable[Sample]) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "told": one.told,
            "rows": one.rows,
            "sha256": None if one.name == OWN else one.sha256,
            "stand_in": one.stand_in,
        }
        for one in samples
    ]


def _settings(experiment: Experiment, asked: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(asked) - set(experiment.settings)):
        raise UsageError(
            f"This study has no setting {unknown[0]!r}.",
            f"its settings are: {', '.join(experiment.settings) or 'none'}.",
        )
    return {**experiment.settings, **asked}


def _samples(experiment: Experiment, asked: Asked) -> dict[str, Sample]:
    if asked.table is None:
        return several(experiment.data, asked.stand_in)
    if not experiment.own:
        able = ", ".join(name for name, (_, one) in experiments().items() if one.own)
        raise UsageError("This study runs on the paper's data alone.", f"yours can go to: {able}.")
    return {OWN: asked.table}


def _check_same(folder: Path, plan: Plan) -> None:
    """Refuse to write over results of other settings, of other data, or of who knows what.

    Of a table of the user's own nothing says whether it is the same: it is not written over.
    """
    if not (folder / RESULTS).exists():
        return
    asked = plain(
        {
            "settings": dict(plan.settings),
            "seeds": list(plan.seeds),
            "data": _told(plan.samples.values()),
        },
        "A study",
    )
    found = results(folder)
    if OWN in plan.samples or found is None or any(found[key] != asked[key] for key in asked):
        raise OutputError(
            f"{folder.name!r} holds results of this study with other settings or data.",
            "choose another folder, or write over them with --replace.",
        )
