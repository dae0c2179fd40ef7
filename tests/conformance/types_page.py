"""Write the tables of docs/types.md: recorded results, and for SQL Server the types that the code declares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from conformance.journey import ROADS_OF_SQLSERVER, Outcome, Road, Side, Traveller, from_sqlserver
from conformance.servers.sqlserver import FAMILIES, OWN_TYPES
from kit.copies import database_at
from tidegate.databases.mysql import Mysql
from tidegate.databases.postgresql import Postgresql
from tidegate.databases.redshift import Redshift
from tidegate.databases.sqlserver import SqlServer
from tidegate.databases.sqlserver.types import logical_type
from tidegate.hashing.arrow import arrow_type
from tidegate.interfaces import Database
from tidegate.model.columns import Column
from tidegate.model.connection import Connection
from tidegate.model.names import TableName

LABELS = {
    "mysql": "MySQL, MariaDB",
    "postgresql": "PostgreSQL",
    "sqlserver": "SQL Server",
    "redshift": "Amazon Redshift",
}
OF_REDSHIFT = """\
## With Amazon Redshift

**No Redshift was run.** The tables below show what the code declares for columns of a real server. Lengths of texts and
bytes are those of Redshift's VARCHAR and VARBYTE, which count bytes: a value that is longer is refused before the load.
`tests/stories/test_redshift.py` loads values of these types into a double; [proved.md](proved.md) says what that shows.
"""
OF_SQLSERVER = """\
## With SQL Server

**No SQL Server was run.** The tables below were not recorded. They show what the code declares (where another database
is the source: for columns of a real server), and as verdict what `tests/conformance/test_sqlserver_journeys.py` and
`test_sqlserver_own_types.py` demand of a server that speaks TDS. [proved.md](proved.md) says what a compatible server
has shown of it.
"""

_TEXTS = (
    *("char", "varchar", "character", "text", "tinytext", "mediumtext", "longtext", "name", "bpchar", '"char"'),
    *("nchar", "nvarchar", "ntext"),
)
_NUMBERS = count(1)


def section(road: Road, rows: Iterable[str]) -> str:
    source, target = LABELS[road.source], LABELS[road.target]
    head = f"| {source} | lake | {target} | verdict |\n| --- | --- | --- | --- |"
    lines = "\n".join(rows)
    return f"## {source} to {target}\n\n{head}\n{lines}\n"


def row(outcome: Outcome, road: Road, verdict: str = "") -> str:
    lake = ", else ".join(f"`{kind}`" for kind in outcome.lake) or "-"
    target = f"`{outcome.target}`" if outcome.target else "-"
    return f"| `{outcome.type.removesuffix(' NULL')}` | {lake} | {target} | {verdict or arrived(outcome, road)} |"


def arrived(outcome: Outcome, road: Road) -> str:
    is_text = outcome.target.split("(")[0].split(" ")[0] in _TEXTS
    was_text = outcome.type.split("(")[0].split(" ")[0] in _TEXTS or road.source == road.target
    how = "as text" if is_text and not was_text else "exact"
    if not outcome.refused:
        return how
    return f"{how}, values such as `{repr(outcome.refused[0])[1:-1]}` are refused"


# What the code declares


def nowhere(kind: str) -> Database:
    made = {"mysql": Mysql, "postgresql": Postgresql, "sqlserver": SqlServer, "redshift": Redshift}[kind]
    return made(Connection(kind, "nowhere", 1, "none"))


def from_sqlserver_sections() -> str:
    """The sections of the roads that begin at SQL Server. They need no server."""
    roads = [road for road in ROADS_OF_SQLSERVER if road.source == "sqlserver"]
    return "\n".join(section(road, _rows_from_sqlserver(road)) for road in roads)


def _rows_from_sqlserver(road: Road) -> list[str]:
    tried = [from_sqlserver(sample, road.target) for samples in FAMILIES.values() for sample in samples]
    of_its_own = [Traveller(kind, "", ()) for kind in OWN_TYPES]
    return [row(declared(one, _column(one.type), road), road) for one in (*tried, *of_its_own)]


def _column(kind: str) -> Column:
    """As the catalog would describe it."""
    held = logical_type(kind)
    copy = "binary(8)" if kind == "rowversion" else ""  # which the server alone can write
    return Column("c", kind, held.storage_type, logical_type=held, database="sqlserver", portable_type=copy)


def declared(one: Traveller, column: Column, road: Road) -> Outcome:
    """What would become of it, if all is as the code says."""
    target = nowhere(road.target).declare(column).type
    bare = target.partition(" CHARACTER SET ")[0].partition(" COLLATE ")[0]
    return Outcome(one.type, [str(arrow_type(column.storage_type))], bare, refused=[value for value, _ in one.never])


def rows_declared(source: Side, road: Road, travellers: Sequence[Traveller]) -> list[str]:
    """The columns are real ones of a source, as its catalog describes them."""
    table = f"declared_{next(_NUMBERS)}"
    source.create(table, {str(place): one.type for place, one in enumerate(travellers)})
    database = database_at(source.url)
    name = TableName(database.default_schema, table)
    with database.connect("test", read_only=True) as session:
        columns = {column.name: column for column in session.table_schemas([name])[name].columns}
    found = [(declared(one, columns[str(place)], road), columns[str(place)]) for place, one in enumerate(travellers)]
    return [row(outcome, road, _refused(road, column)) for outcome, column in found]


def _refused(road: Road, column: Column) -> str:
    """What the target says of every value of a column, or of long ones; empty for a type that takes all of them."""
    if road.target != "redshift":
        return ""
    target = nowhere(road.target)
    if target.refused_types([column]):
        return "refused, unless it is copied as text"
    return "exact, longer values are refused" if target.cautions([column]) else ""
