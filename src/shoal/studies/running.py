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
from shoal.releases.options import Progress, ignore_progress
from shoal.reports.document import check_page_place
from shoal.studies import experiments
from shoal.studies.claims import Row
from shoal.studies.datasets import load_datasets
from shoal.studies.experiment import Experiment, Paper
from shoal.studies.keys import hash_code, to_plain
from shoal.studies.laboratory import Lab, ProcessPool, open_process_pool
from shoal.studies.outcome import PAGE, RESULTS, Study, read_results
from shoal.studies.stored_measurements import StoredMeasurements
from shoal.studies.summary import INDEX, Checked, check_folder
from shoal.studies.tables import OWN, Sample, read_own_table

LOCK = ".study.lock"
"""The file that says that a run is at work in a folder."""


@dataclass(frozen=True)
class RunOptions:
    """How studies are run."""

    seeds: int | None = None
    stand_in: bool = False
    settings: Mapping[str, Any] | None = None
    table: Sample | None = None
    """A user's own table in place of the paper's."""


@dataclass(frozen=True)
class StudyPlan:
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
    progress: Progress = ignore_progress,
    reading: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Study:
    """Make one table or figure of a paper again.

    What a run that was stopped had measured is not measured again.

    Parameters
    ----------
    name
        The study's name, such as ``"martin-figure-2"``; `experiments` lists them.
    out
        The folder in which a folder of the study's name gets its page, CSV and JSON.
    seeds
        How often what is random is drawn.
    stand_in
        Whether made-up people take the place of the paper's data.
    replace
        Whether results of other settings may be written over.
    data, schema
        A table of your own and its schema, for the studies that allow it.
    jobs
        How many measurements run side by side; None: as many as there are cores.
    progress
        Called with a step's name, how much is done and how much there is.
    reading
        How the file of ``data`` is written, as in `open`.
    **settings
        Settings of the study, in place of its own.

    Returns
    -------
    Study
        What was measured, beside what the paper claims.

    Raises
    ------
    UsageError
        There is no such study or setting, or the study takes no table of your own.
    InputError
        The paper's data is not at hand and ``stand_in`` is not asked for.
    """
    _check_name(name)
    _check_seeds(seeds)
    if data is None and schema is not None:
        raise UsageError("A schema needs its data.", "name the table as well.")
    if data is not None and stand_in:
        raise UsageError("A table of your own needs no stand-in.", "leave one of the two out.")
    table = None if data is None else read_own_table(data, schema, **(reading or {}))
    options = RunOptions(seeds, stand_in, settings, table)
    plan, folder = _plan(name, options), None if out is None else Path(out)
    with _lock_folder(folder, [plan], replace), open_process_pool(jobs) as pool:
        return _run(plan, folder, pool, progress)


def study_all(
    out: str | Path,
    *,
    seeds: int | None = None,
    stand_in: bool = False,
    replace: bool = False,
    jobs: int | None = 1,
    progress: Progress = ignore_progress,
    told: Callable[[Study], None] = lambda study: None,
) -> Checked:
    """Make every table and figure of the papers again, and check what the papers claim.

    What was measured before is taken as it is, so that a run that was stopped goes on.

    Parameters
    ----------
    out
        The folder in which every study gets a folder of its own.
    seeds, stand_in, replace, jobs, progress
        As in `study`.
    told
        Called with every study that is done.

    Returns
    -------
    Checked
        Each claim of the papers, and whether it holds here.

    Raises
    ------
    InputError
        Data of a paper is not at hand and ``stand_in`` is not asked for.
    """
    _check_seeds(seeds)
    folder, options = Path(out), RunOptions(seeds, stand_in)
    # All the data first: nothing is worse than to lack it at the end.
    load_datasets(
        (data for _, experiment in experiments().values() for data in experiment.data), stand_in
    )
    plans = [_plan(name, options) for name in experiments()]
    with _lock_folder(folder, plans, replace), open_process_pool(jobs) as pool:
        for at, plan in enumerate(plans, 1):
            step = f"{plan.name} ({at} of {len(plans)})"
            told(_run(plan, folder, pool, _rename_step(progress, step)))
        return check_folder(folder)


@contextmanager
def _lock_folder(folder: Path | None, plans: Sequence[StudyPlan], replace: bool) -> Iterator[None]:
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
    if folder.is_dir():
        check_page_place(folder / PAGE, internal=False, name="study")


def _rename_step(progress: Progress, step: str) -> Progress:
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


def _plan(name: str, options: RunOptions) -> StudyPlan:
    paper, experiment = experiments()[name]
    settings = _merge_settings(experiment, options.settings or {})
    seeds = options.seeds if options.seeds and experiment.seeds > 1 else experiment.seeds
    return StudyPlan(
        name, paper, experiment, _load_samples(experiment, options), settings, range(seeds)
    )


def _run(
    plan: StudyPlan, folder: Path | None, pool: ProcessPool | None, progress: Progress
) -> Study:
    lab = Lab(
        plan.name,
        plan.samples,
        plan.settings,
        plan.seeds,
        StoredMeasurements(folder),
        pool,
        progress,
    )
    rows = [to_plain(row, "A row") for row in plan.experiment.measure(lab)]
    result = _make_study(plan, lab, rows)
    if folder is None:
        return result
    result = replace(result, files=result.write(ensure_folder(folder / plan.name)))
    check_folder(folder)
    return result


def _make_study(plan: StudyPlan, lab: Lab, rows: Sequence[Row]) -> Study:
    """The claims are of the paper's data with the paper's settings alone."""
    experiment, samples = plan.experiment, list(plan.samples.values())
    theirs = dict(plan.settings) == _merge_settings(experiment, {})
    is_comparable = theirs and not any(sample.stand_in or sample.name == OWN for sample in samples)
    before = lab.stored.seconds - lab.stored.now
    made_by = {
        "version": shoal.__version__,
        "code": hash_code(),
        "seconds": round(lab.stored.seconds, 3),
        "before": round(before, 3),
    }
    return Study(
        plan.name,
        plan.paper,
        experiment.shows,
        _describe_samples(samples),
        plan.settings,
        plan.seeds,
        rows,
        tuple(experiment.claims(rows)) if is_comparable else (),
        experiment.charts(rows),
        experiment.notes,
        made_by,
        parameters=tuple(lab.parameters),
        usual={"settings": dict(experiment.settings), "seeds": experiment.seeds},
    )


def _describe_samples(samples: Iterable[Sample]) -> list[dict[str, Any]]:
    return [
        {
            "name": sample.name,
            "told": sample.description,
            "rows": sample.rows,
            "sha256": None if sample.name == OWN else sample.sha256,
            "stand_in": sample.stand_in,
        }
        for sample in samples
    ]


def _merge_settings(experiment: Experiment, changes: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(changes) - set(experiment.settings)):
        raise UsageError(
            f"This study has no setting {unknown[0]!r}.",
            f"its settings are: {', '.join(experiment.settings) or 'none'}.",
        )
    return {**experiment.settings, **changes}


def _load_samples(experiment: Experiment, options: RunOptions) -> dict[str, Sample]:
    if options.table is None:
        return load_datasets(experiment.data, options.stand_in)
    if not experiment.own:
        able = ", ".join(name for name, (_, experiment) in experiments().items() if experiment.own)
        raise UsageError("This study runs on the paper's data alone.", f"yours can go to: {able}.")
    return {OWN: options.table}


def _check_same(folder: Path, plan: StudyPlan) -> None:
    """Refuse to write over results of other settings, of other data, or of who knows what.

    Of a table of the user's own nothing says whether it is the same: it is not written over.
    """
    if not (folder / RESULTS).exists():
        return
    wanted = to_plain(
        {
            "settings": dict(plan.settings),
            "seeds": list(plan.seeds),
            "data": _describe_samples(plan.samples.values()),
        },
        "A study",
    )
    earlier = read_results(folder)
    if OWN in plan.samples or earlier is None or any(earlier[key] != wanted[key] for key in wanted):
        raise OutputError(
            f"{folder.name!r} holds results of this study with other settings or data.",
            "choose another folder, or write over them with --replace.",
        )
