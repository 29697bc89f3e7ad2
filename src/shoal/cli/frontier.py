"""``shoal frontier``: methods and strengths side by side, to choose from."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import ACCEPT_KEEP, FILE, Roles, Verb, example, output, own, reading, roles
from shoal.cli.printing import progress, show

if TYPE_CHECKING:
    from shoal import Frontier

SHARE = click.FloatRange(0, 1)


@click.command(
    "frontier",
    cls=Verb,
    epilog=example(
        "shoal frontier patients.csv -s schema.toml -o frontier/",
        "shoal frontier patients.csv -s schema.toml --methods mondrian,chain --strengths 5,10",
        'shoal frontier patients.csv -s schema.toml -m "k-anonymity k=5" \\',
        '    -m "k-anonymity k=5 & entropy-diversity l=3" --risk value --max-loss 0.2',
    ),
)
@click.argument("source")
@own("-m", "--model", "models", multiple=True, metavar="TEXT",
     help='A rule to try, one strength; several joined by "&". Repeatable.')  # fmt: skip
@own("--strengths", metavar="K,K", help="Without -m: the k to try; else 2,5,10,25,50.")
@own("--methods", metavar="NAME,NAME", help="The methods to try; else all.")
@own("-o", "--out", type=FILE, metavar="DIR",
     help="Keep finished points and the page there; a run that was stopped goes on.")  # fmt: skip
@own("--risk", type=click.Choice(("identity", "value")), default="identity", show_default=True,
     help="The frontier's: picking a person's row, or guessing the value.")  # fmt: skip
@own("--on", metavar="COL", help="What to learn, where several columns are sensitive.")
@own("--max-loss", type=SHARE, metavar="LOSS", help="Choose: the least risk with no more loss.")
@own("--max-risk", type=SHARE, metavar="RISK", help="Choose: the least loss with no more risk.")
@own("--hold-back", type=SHARE, default=0.0, metavar="SHARE",
     help="Share of rows that may be left out, such as 0.05.")  # fmt: skip
@own("--population", metavar="FILE", help="The population, for k-map and delta-presence.")
@own("--replace", is_flag=True, help="Start anew where another comparison is kept.")
@ACCEPT_KEEP
@roles
@reading
@output
def command(
    source: str, models: tuple[str, ...], strengths: str | None, max_loss: float | None,
    max_risk: float | None, roles: Roles, reading: dict[str, Any], as_json: bool, quiet: bool,
    **asked: Any,
) -> None:  # fmt: skip
    """Compare methods and strengths: risk against utility.

    Every method makes a release under every rule, as a dry run: nothing is published. Each is
    attacked by whoever knows everybody's quasi-identifiers, and its loss is measured. On the
    frontier (*) are those than which no other has less risk without more loss. Interrupted, it
    keeps the points that are finished, and goes on when it is run again.
    """
    import shoal

    schema = roles.needed()
    kept = asked["out"]
    try:
        with (
            progress(quiet) as step,
            closing(shoal.open(source, kinds=schema.kinds, **reading)) as table,
        ):
            found: Frontier = shoal.frontier(
                table, schema, models or None, strengths=_numbers(strengths), progress=step, **asked
            )
    except KeyboardInterrupt:
        if kept is None:
            raise
        raise shoal.Interrupted(
            "Stopped; the points that were finished are kept.", "run it again to go on."
        ) from None
    chosen = None
    if max_loss is not None or max_risk is not None:
        chosen = found.best(loss=max_loss, risk=max_risk)
    show(found, as_json, quiet, _text(found, chosen, kept))


def _numbers(text: str | None) -> list[int] | None:
    from shoal import UsageError

    if text is None:
        return None
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise UsageError(
            "--strengths are whole numbers.", "write for example --strengths 5,10,25."
        ) from None


def _text(found: Frontier, chosen: Any, kept: Path | None) -> str:
    lines = [str(found)]
    if chosen is not None:
        lines += ["", f'Chosen: -m "{chosen.rule}" --method {chosen.method}']
    if kept is not None:
        lines.append(f"The page: {kept / 'frontier.html'}")
    return "\n".join(lines)
