"""The options that verbs share, and what is made of them: a schema, an opened table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.printing import Output

if TYPE_CHECKING:
    from shoal import Frame, Hierarchy, Schema

Function = Callable[..., Any]
FILE = click.Path(path_type=Path)


class Share(click.FloatRange):
    """A part of the whole: 0.05, or 5%."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The share from 0 to 1."""
        text = str(value).strip()
        try:  # as decimals, so that 0.1% is the 0.001 that somebody else writes
            share = float(Decimal(text[:-1]) / 100 if text.endswith("%") else Decimal(text))
        except (ArithmeticError, ValueError):
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"{text!r} is no share: write for example 0.05 or 5%.", param)
        return share


SHARE = Share(0, 1)


class Option(click.Option):
    """An option that knows its section of the help."""

    def __init__(self, *names: Any, section: str = "Options", **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


class Verb(click.Command):
    """A command whose help shows its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, the verb's own options first."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                name = getattr(parameter, "section", "Options")
                sections.setdefault(name, []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


option = functools.partial(click.option, cls=Option)
"""An option of one verb only."""
ACCEPT_KEEP = option(
    "--accept-keep", is_flag=True, help="Accept that kept columns make classes smaller."
)
"""The same for every verb that judges classes."""
ON = option(
    "--on",
    multiple=True,
    metavar="COL",
    help="A column to learn; repeatable. Unless given, every sensitive one.",
)
"""The same for every verb that attacks, forecasts or compares."""

model_option = functools.partial(option, "-m", "--model", "models", multiple=True, metavar="TEXT")
"""A requirement; what it is for differs from verb to verb."""
population_option = functools.partial(
    option,
    "--population",
    metavar="FILE",
    help="The population, for k-map and delta-presence.",
)
one_row_option = functools.partial(
    option,
    "--one-row",
    metavar="TEXT",
    help="The row that stands for a person who has several: "
    '"latest by COL", "first by COL", "random".',
)
hold_back_option = functools.partial(
    option,
    "--hold-back",
    type=SHARE,
    default=0.0,
    metavar="SHARE",
    help="Share of rows that may be left out, such as 0.05 or 5%.",
)
choice_option = functools.partial(
    option,
    "--choice",
    metavar="NAME",
    help="Provider-aware: when providers are parted (least, quasi, apart, score).",
)
FORMATS = ("csv", "csv.gz", "parquet", "feather", "arrow", "xlsx")
"""The file formats that a release may be written in."""
SEED = option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="For what is drawn."
)
SHOW = option(
    "--show", "labels", is_flag=True, help="Let findings name values; for your eyes only."
)
CONTROL = option(
    "--control", metavar="FILE", help="People who are in none of the releases, to compare with."
)
SAMPLE = option(
    "--sample", type=click.IntRange(1), metavar="N", help="Attack so many of the targets only."
)


def add_attack_relations(command: Function) -> Function:
    """Options for what the attacked releases are to each other."""
    same = option(
        "--same-table", "relation", flag_value="same table", help="The releases are of one table."
    )
    grown = option(
        "--over-time",
        "relation",
        flag_value="over time",
        help="The later ones are of a table grown.",
    )
    decorated: Function = same(grown(command))
    return decorated


def require(condition: object, fact: str, hint: str) -> None:
    """Refuse a command line that does not meet a condition."""
    from shoal import UsageError

    if not condition:
        raise UsageError(fact, hint)


def check_folder_replaceable(folder: Path, replace: bool) -> None:
    """Refuse a folder that holds a release, unless it may be replaced."""
    free = replace or not (folder / "manifest.json").exists()
    require(free, f"{folder.name!r} exists already.", "choose another folder, or add --replace.")


def format_examples(*lines: str) -> str:
    """Command lines for the end of a help text."""
    return "\n".join(("\b", "Example:", *(f"  {line}" for line in lines)))


RELATIONS = {
    "overlapping": "It is of another table, about some of the same people.",
    "over time": "It is of their table, grown.",
    "same table": "It is of the same table as the earlier ones.",
}
"""What a release may be to the earlier ones, and the help of the flag that says so."""


def add_relation_options(command: Function, make_option: Callable[..., Any] = option) -> Function:
    """Options for what a release is to the earlier ones, where that is known."""
    for words, text in RELATIONS.items():
        flag = make_option(f"--{words.replace(' ', '-')}", "relation", flag_value=words, help=text)
        command = flag(command)
    return command


ROLES = {
    "quasi": "Others may know it; generalised.",
    "sensitive": "Nobody should learn it.",
    "identifier": "Points at a person; left out.",
    "provider": "Who provided the row; never published.",
    "person": "Who the row is about; never published.",
    "weight": "Survey weight; not published.",
    "keep": "Published as it is.",
    "drop": "Left out; '*_id' or '*' for all that are not named.",
}


@dataclass(frozen=True)
class Roles:
    """What the command line says about columns: a schema file, flags, a folder of hierarchies."""

    file: Path | None = None
    flags: dict[str, str] = field(default_factory=dict)
    hierarchies: Path | None = None

    @property
    def is_stated(self) -> bool:
        """Whether the command line says anything."""
        return self.file is not None or bool(self.flags) or self.hierarchies is not None

    def schema(self) -> Schema | None:
        """The schema file with the flags over it; None where neither is given."""
        stated = self._stated(self._list_hierarchy_columns())
        return None if stated is None else self._with_hierarchies(stated)

    def needed(self) -> Schema:
        """The schema, or an error that says how to give one."""
        from shoal import UsageError

        schema = self.schema()
        if schema is None:
            raise UsageError(
                "Nothing says what the columns are.",
                "add -s schema.toml (shoal schema writes one), or --quasi COLUMN and so on.",
            )
        return schema

    def suggested(self, source: str, reading: dict[str, Any]) -> tuple[Frame, Schema]:
        """The opened table, and a role for each column: as stated, else as suggested."""
        from shoal import Schema
        from shoal import open as open_table

        stated = self._stated() or Schema(())
        frame = open_table(source, kinds=stated.kinds, **reading)
        suggested = Schema.suggest(frame)
        stated = stated.expand(suggested.names)
        for name in stated.names:
            suggested.column(name)  # a name that the table lacks is an error with a hint
        more = tuple(column for column in suggested.columns if column.name not in stated.names)
        # Without a file the flags alone would put their columns first; the table's order is better.
        if self.file is None:
            roles = {column.name: column.role for column in stated.columns}
            changed = {n: r for n, r in roles.items() if suggested.column(n).role != r}
            return frame, self._with_hierarchies(suggested.set(changed))
        return frame, self._with_hierarchies(replace(stated, columns=(*stated.columns, *more)))

    def _stated(self, quasi: Sequence[str] = ()) -> Schema | None:
        from shoal import Schema

        if self.file is None and not self.flags and not quasi:
            return None
        from_hierarchies = dict.fromkeys(quasi, "quasi")
        return self._with_flags(
            Schema(()).set(from_hierarchies) if self.file is None else self._read()
        )

    def _list_hierarchy_columns(self) -> list[str]:
        """The columns that a folder of hierarchies names, where nothing else names any as quasi."""
        if self.hierarchies is None or self.file or "quasi" in self.flags.values():
            return []
        return sorted(self._files())

    def _read(self) -> Schema:
        from shoal import Schema

        file = self.file or Path()
        return Schema.parse(read_text(file), files=lambda name: read_text(file.parent / name))

    def _with_flags(self, schema: Schema) -> Schema:
        """The roles of the flags; a column that has that role already keeps its settings."""
        now = {column.name: column.role for column in schema.columns}
        changed = {name: role for name, role in self.flags.items() if now.get(name) != role}
        return schema.set(changed)

    def _with_hierarchies(self, schema: Schema) -> Schema:
        from shoal import UsageError

        if self.hierarchies is None:
            return schema
        files = self._files()
        wanted = [c.name for c in (*schema.quasi, *schema.sensitive) if c.name in files]
        if not wanted:
            raise UsageError(
                f"No file in {self.hierarchies} is named after a column.",
                "name each COLUMN.csv after its quasi-identifier or sensitive column.",
            )
        trees = {name: _read_hierarchy(files[name]) for name in wanted}
        columns = (
            replace(column, hierarchy=trees.get(column.name, column.hierarchy))
            for column in schema.columns
        )
        return replace(schema, columns=tuple(columns))

    def _files(self) -> dict[str, Path]:
        from shoal import UsageError

        folder = self.hierarchies or Path()
        if not folder.is_dir():
            raise UsageError(f"There is no folder {folder}.", "check the path.")
        return {file.stem: file for file in folder.glob("*.csv")}


def _read_hierarchy(file: Path) -> Hierarchy | None:
    from shoal import HierarchyError, from_arx_csv

    try:
        return from_arx_csv(read_text(file), source=str(file))
    except HierarchyError as error:
        raise HierarchyError(f"{file}: {error.fact}", error.hint) from None


def read_text(path: Path) -> str:
    """A text file, as UTF-8."""
    from shoal import InputError

    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).", "check the path.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8.", "save it as UTF-8.") from None


def write_new_file(path: Path, content: bytes) -> None:
    """A new file; one that exists is never overwritten."""
    from shoal import OutputError

    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise OutputError(f"{path} exists already.", "name another file with -o.") from None
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written ({error.strerror}).", "name another file with -o."
        ) from None


def add_role_options(command: Function) -> Function:
    """Options for the roles of columns; the command gets them as ``roles``."""

    @functools.wraps(command)
    def with_roles(*args: Any, **options: Any) -> Any:
        flags = {role: options.pop(role) for role in ROLES}
        roles = Roles(options.pop("schema_file"), _assign_roles(flags), options.pop("hierarchies"))
        return command(*args, roles=roles, **options)

    role_options = [
        _option(
            "-s",
            "--schema",
            "schema_file",
            type=FILE,
            metavar="FILE",
            help="Roles from a TOML file; the flags below override it.",
        ),
        *(
            _option(f"--{role}", role, multiple=True, metavar="COL", help=text)
            for role, text in ROLES.items()
        ),
        _option(
            "--hierarchies",
            type=FILE,
            metavar="DIR",
            help="Hierarchies in ARX's format, one COLUMN.csv each; these are the quasi-"
            "identifiers where none is given.",
        ),
    ]
    return _apply_options(with_roles, role_options)


def _option(*names: str, section: str = "Roles of columns (repeatable)", **settings: Any) -> Any:
    return click.option(*names, cls=Option, section=section, **settings)


def _apply_options(
    command: Function, options: Sequence[Callable[[Function], Function]]
) -> Function:
    for option in reversed(options):
        command = option(command)
    return command


def _assign_roles(flags: dict[str, Sequence[str]]) -> dict[str, str]:
    from shoal import UsageError

    roles: dict[str, str] = {}
    for role, names in flags.items():
        for name in names:
            if roles.setdefault(name, role) != role:
                raise UsageError(
                    f"Column {name!r} is given as {roles[name]} and as {role}.", "choose one."
                )
    return roles


_READING_SECTION = "Reading (recognised unless set)"
READING = (
    "delimiter",
    "quote",
    "encoding",
    "decimal",
    "day_first",
    "nulls",
    "sheet",
    "header_row",
    "header",
    "query",
)


def add_reading_options(command: Function) -> Function:
    """Options for reading a table; the command gets those that were set as ``reading``."""

    @functools.wraps(command)
    def with_reading(*args: Any, **options: Any) -> Any:
        values = {name: options.pop(name) for name in READING}
        reading = {name: value for name, value in values.items() if value not in (None, ())}
        if reading.get("delimiter") in ("tab", "\\t"):
            reading["delimiter"] = "\t"
        return command(*args, reading=reading, **options)

    option = functools.partial(_option, section=_READING_SECTION)
    reading_options = [
        option("--delimiter", metavar="CHAR", help="Between fields; 'tab' for a tab."),
        option("--quote", metavar="CHAR", help="Around fields."),
        option("--encoding", metavar="NAME", help="Such as utf-8 or latin-1."),
        option("--decimal", type=click.Choice([".", ","]), help="Decimal sign."),
        option("--day-first/--month-first", "day_first", default=None, help="Order in dates."),
        option(
            "--null",
            "nulls",
            multiple=True,
            metavar="MARK",
            help="A mark that means null; repeatable.",
        ),
        option("--sheet", metavar="NAME", help="Sheet of a workbook."),
        option(
            "--header-row",
            type=click.IntRange(1),
            metavar="N",
            help="Row of a file or sheet that names the columns.",
        ),
        option(
            "--no-header",
            "header",
            is_flag=True,
            flag_value=False,
            default=None,
            help='The first row is data: columns are called "column 1", "column 2", …',
        ),
        option("--query", metavar="SQL", help="Query of a database."),
    ]
    return _apply_options(with_reading, reading_options)


def add_output_options(command: Function) -> Function:
    """The options of every verb for what it prints; the command gets them as ``output``."""

    @functools.wraps(command)
    def with_output(*args: Any, as_json: bool, quiet: bool, **options: Any) -> Any:
        return command(*args, output=Output(as_json, quiet), **options)

    return _apply_options(
        with_output,
        [
            _option(
                "--json",
                "as_json",
                is_flag=True,
                section="Output",
                help="Print the result as JSON, all else on stderr.",
            ),
            _option(
                "-q",
                "--quiet",
                is_flag=True,
                section="Output",
                help="Print nothing but errors, files and JSON.",
            ),
        ],
    )


def add_table_options(command: Function) -> Function:
    """The options of a verb on a table: ``roles``, ``reading`` and ``output``."""
    return add_role_options(add_reading_options(add_output_options(command)))
