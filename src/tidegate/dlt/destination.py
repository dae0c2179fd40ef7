"""A destination of dlt: the pipeline that writes to it, what it was given, and the rows that it holds."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.config.dlt import DltSettings
from tidegate.dlt.dispositions import WINDOW
from tidegate.errors import ConfigError, DatabaseError, Locked, TidegateError, Unsupported
from tidegate.interfaces.lake import Lake

if TYPE_CHECKING:
    import pyarrow as pa

ENTRIES = "_tidegate_entries"
"""The table of the destination that says which entries were delivered."""
_FILES = "filesystem"
_CHUNK = 50_000


@dataclass(frozen=True)
class Delivered:
    """What was delivered of one window: the newest row of it in `_tidegate_entries`."""

    rows: int
    hash: str
    delivered_at: str


class Destination:
    """The dataset of one destination. Holds an open pipeline of dlt."""

    def __init__(self, settings: DltSettings, lake: Lake) -> None:
        self.settings = settings
        self.label = f"{settings.destination} {settings.dataset}"
        folder = _folder(settings, lake)
        self._lock = Path(folder or ".") / f"{settings.pipeline}.lock" if folder else None
        # dlt reports its use to its makers unless it is told not to: rows that we deliver are nobody's business.
        os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
        dlt = _dlt()
        try:
            self.pipeline = dlt.pipeline(
                settings.pipeline,
                destination=_destination(dlt, settings),
                dataset_name=settings.dataset,
                pipelines_dir=folder,
            )
        except Exception as problem:
            raise ConfigError(
                f"`dlt:` cannot open {self.label}: {_first_line(problem)}.",
                "Nothing was read or written.",
                "`destination` and `options` are those of dlt: dlthub.com/docs/dlt-ecosystem/destinations.",
            ) from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the working folder: two runs of one pipeline would take each other's packages."""
        if self._lock is None:
            yield
            return
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        with self._lock.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Locked(
                    f"Another process delivers to {self.label}.", "Nothing was written.", "Run again when it ended."
                ) from None
            yield

    @property
    def strategies(self) -> frozenset[str]:
        """Return the merge strategies that tables of the destination have."""
        with self.pipeline.destination_client() as client:
            capabilities = client.capabilities
        names = frozenset(capabilities.supported_merge_strategies or ())
        # Files alone merge nothing; their table formats do.
        return names if self.settings.table_format or not capabilities.supported_table_formats else _of_files(names)

    def spelled(self, name: str) -> str:
        """Return the name as dlt writes it."""
        return str(self._schema().naming.normalize_identifier(name))

    def _schema(self) -> Any:
        """Return the schema that dlt keeps of the dataset; an empty one before the first delivery."""
        if self.pipeline.default_schema_name is None:
            return _dlt().Schema(self.settings.pipeline)
        return self.pipeline.default_schema

    def open(self, *, completes: bool) -> None:
        """Learn what the destination holds. Complete first what an earlier delivery left half-way, if asked."""
        with translated(self.label):
            if completes and self.pipeline.has_pending_data:
                self.pipeline.run()
            self.pipeline.sync_destination()

    def delivered(self) -> dict[str, dict[str, Delivered]]:
        """Return what was delivered, by table and window. Only load packages that were completed count."""
        schema = self._schema()
        if ENTRIES not in schema.tables:
            return {}
        loads = schema.loads_table_name
        with translated(self.label):
            complete = {row["load_id"] for row in self.rows(loads) if row["status"] == 0}
            known = [row for row in self.rows(ENTRIES) if row["_dlt_load_id"] in complete]
        found: dict[str, dict[str, Delivered]] = {}
        for row in sorted(known, key=lambda row: str(row["delivered_at"])):
            entry = Delivered(int(row["row_count"]), row["hash"], str(row["delivered_at"]))
            found.setdefault(row["table_name"], {})[row["window_value"]] = entry
        return found

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [row for rows in self._query(table, ()) for row in rows.to_pylist()]

    def batches(self, table: str, columns: Mapping[str, str], window: str | None = None) -> Iterator[pa.Table]:
        """Yield columns of a table of the destination under the names of the lake, all rows or those of a window."""
        names = {name: self.spelled(name) for name in columns}
        with translated(self.label):
            if self.settings.table_format == "delta":
                yield from self._of_delta(table, names, window)
            else:
                for rows in self._query(self.spelled(table), list(names.values()), window):
                    yield rows.rename_columns(list(names))

    def _query(self, table: str, columns: Sequence[str], window: str | None = None) -> Iterator[pa.Table]:
        """Yield rows of a table; all columns where none is named."""
        # The relations of dlt lean on inner parts of sqlglot, and do not work with every version of it.
        from sqlglot import exp

        with self.pipeline.dataset().sql_client as client:
            path = client.make_qualified_table_name_path(table, quote=False)
            name = exp.Table(**dict(zip(("this", "db", "catalog"), map(_identifier, reversed(path)), strict=False)))
            wanted: list[exp.Expression] = [
                exp.Column(this=_identifier(client.capabilities.casefold_identifier(one))) for one in columns
            ]
            query = exp.select(*wanted or [exp.Star()]).from_(name)
            if window is not None:
                column = exp.Column(this=_identifier(client.capabilities.casefold_identifier(WINDOW)))
                query = query.where(exp.EQ(this=column, expression=exp.Literal.string(window)))
            with client.execute_query(query.sql(dialect=client.capabilities.sqlglot_dialect)) as cursor:
                yield from cursor.iter_arrow(chunk_size=_CHUNK)

    def _of_delta(self, table: str, names: Mapping[str, str], window: str | None) -> Iterator[pa.Table]:
        # duckdb, by which dlt reads files, needs an extension for Delta that it downloads.
        from dlt.common.libs.deltalake import get_delta_tables

        spelled = self.spelled(table)
        found = get_delta_tables(self.pipeline, spelled)[spelled]
        filters = None if window is None else [(WINDOW, "=", window)]
        rows = found.to_pyarrow_table(columns=list(names.values()), filters=filters)
        yield rows.rename_columns(list(names))


def _of_files(names: frozenset[str]) -> frozenset[str]:
    """Return the strategies without a table format: `upsert` of a destination of files needs one."""
    return names if "delete-insert" in names else frozenset()


def _destination(dlt: Any, settings: DltSettings) -> Any:
    """Return the destination. One that can replaces a table from a staging table: readers never see half of it."""
    options = dict(settings.options)
    if settings.destination != _FILES:
        options.setdefault("replace_strategy", "insert-from-staging")
    if hasattr(dlt.destinations, settings.destination):
        return getattr(dlt.destinations, settings.destination)(**options)
    return dlt.common.destination.Destination.from_reference(settings.destination, **options)


def _dlt() -> Any:
    try:
        import dlt
    except ImportError:
        raise Unsupported(
            "dlt is not installed here.", "Nothing was read or written.", 'Install it: pip install "tidegate[dlt]".'
        ) from None
    return dlt


def _identifier(name: str) -> Any:
    from sqlglot import exp

    return exp.to_identifier(name, quoted=True)


def _folder(settings: DltSettings, lake: Lake) -> str | None:
    if settings.folder is not None:
        return str(Path(settings.folder).expanduser().absolute())
    return str(Path(lake.place) / ".tidegate" / "dlt") if Path(lake.place).is_dir() else None


@contextmanager
def translated(label: str) -> Iterator[None]:
    """Turn what dlt raises into an error with a way out."""
    try:
        yield
    except TidegateError:
        raise
    except Exception as problem:
        raise DatabaseError(
            f"{label}: {type(problem).__name__}: {_first_line(problem)}.",
            "Entries whose load package was not completed do not count as delivered.",
            "Remove the cause and run again: it completes what is missing.",
        ) from problem


def _first_line(problem: BaseException) -> str:
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return (lines[0] if lines else type(problem).__name__).rstrip(".")
