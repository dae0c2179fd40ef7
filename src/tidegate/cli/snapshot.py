"""The command snapshot and its subcommands."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tidegate.cli.options import command_options, config_option, confirm, yes_option
from tidegate.errors import ConfigError

if TYPE_CHECKING:
    from tidegate.api import Snapshots
    from tidegate.cli.output import Output

Command = TypeVar("Command", bound=Callable[..., Any])
filter_option = click.option("--filter", "customer_filter", metavar="FILTER", help="Only snapshots of this filter.")
_KEYS_SHOWN = 20


@click.group()
def snapshot() -> None:
    """Keep snapshots of frames: find what changed since the last one, and archive the whole rows as Parquet.

    Settings come from `snapshots:` in the configuration, from options, or from SNAPSHOT_DATABASE_URL and
    KESTRA_POSTGRES_HOST, _PORT, _DB, _USER and _PASSWORD.

    Example: tidegate snapshot save orders.parquet --filter GREYSON
    """


def snapshot_options(command: Command) -> Command:
    """Add the options that name the snapshot table; the command receives `snapshots` instead."""

    @config_option
    @click.option("--database", metavar="URL", help="The database of the snapshot table, or '${VARIABLE}'.")
    @click.option("--archive", metavar="URL", help="The PostgreSQL database of the archive, or '${VARIABLE}'.")
    @click.option("--table", metavar="TABLE", help="The snapshot table.")
    @click.option("--key", "keys", multiple=True, metavar="COLUMN", help="A column of the business key; repeat it.")
    @command_options
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        config: Path,
        database: str | None,
        archive: str | None,
        table: str | None,
        keys: tuple[str, ...],
        output: Output,
        **kwargs: Any,
    ) -> Any:
        settings = {"database": database, "archive": archive, "table": table, "business_key": keys or None}
        return command(*args, snapshots=_opened(config, settings, output), output=output, **kwargs)

    return wrapped  # type: ignore[return-value]


def _opened(config: Path, settings: dict[str, Any], output: Output) -> Snapshots:
    """Return the snapshots of the configuration, if it has some; options and variables come first without."""
    from tidegate.api import Snapshots
    from tidegate.config import Redactor

    found = _configured(config)
    if found is not None:
        settings = {**{name: getattr(found, name) for name in type(found).model_fields}, **_named(settings)}
    snapshots = Snapshots.open(**settings)
    chosen = snapshots.settings
    places = [place for place in (chosen.database, chosen.archive) if place is not None]
    output.redact = Redactor.of(*places).redact
    return snapshots


def _configured(config: Path) -> Any:
    from tidegate.config import load_project

    return load_project(config).snapshots if config.exists() else None


def _named(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


@snapshot.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--from", "from_table", metavar="TABLE", help="Take the rows of a table of the database instead.")
@click.option("--where", default="", metavar="SQL", help="Only rows of the table that meet this condition.")
@click.option("--filter", "customer_filter", required=True, metavar="FILTER", help="Whose snapshot it is.")
@click.option("--batch", metavar="UUID", help="The batch id: saving the same batch again changes nothing.")
@click.option("--tag", "tags", multiple=True, metavar="NAME=VALUE", help="A tag of the archive; may be repeated.")
@snapshot_options
def save(
    file: Path | None,
    from_table: str | None,
    where: str,
    customer_filter: str,
    batch: str | None,
    tags: tuple[str, ...],
    snapshots: Snapshots,
    output: Output,
) -> int:
    """Save the rows of a Parquet or CSV file, or of a table, as the newest snapshot of a filter.

    Example: tidegate snapshot save --from orders --where "customer = 'GREYSON'" --filter GREYSON
    """
    saved = snapshots.save(_rows(snapshots, file, from_table, where), customer_filter, batch, _tags(tags))
    place = f"archive {saved.archive_id}" if saved.archive_id is not None else "no archive"
    output.facts(
        {**vars(saved), "columns": dict(saved.columns)},
        f"{customer_filter}: {saved.rows:,} rows saved as batch {saved.batch_id}, {place}",
    )
    return 0


@snapshot.command("list")
@filter_option
@snapshot_options
def list_(customer_filter: str | None, snapshots: Snapshots, output: Output) -> int:
    """List the snapshots in the snapshot table, and those in the archive.

    Example: tidegate snapshot list --filter GREYSON
    """
    kept = snapshots.snapshots(customer_filter)
    archives = snapshots.archives(customer_filter) if snapshots.has_archive else []
    lines = [
        *(
            f"table    {each.snapshot_date[:19]}  {each.customer_filter:<20} {each.rows:>12,} rows  {each.state}"
            for each in kept
        ),
        *(
            f"archive  {each.snapshot_date[:19]}  {each.customer_filter:<20} {each.rows:>12,} rows  {each.archive_id}"
            f"  {each.parquet_size:,} bytes, {each.compression_ratio:g}x smaller, until {each.retention_until}"
            for each in archives
        ),
    ]
    facts = {
        "snapshots": [{**vars(each), "columns": dict(each.columns)} for each in kept],
        "archives": [{**vars(each), "compression_ratio": each.compression_ratio} for each in archives],
    }
    output.facts(facts, "\n".join(lines) or "no snapshot yet")
    return 0


@snapshot.command()
@click.argument("what", nargs=-1, metavar="[FILE | BEFORE AFTER]")
@click.option("--from", "from_table", metavar="TABLE", help="Compare the rows of a table of the database.")
@click.option("--where", default="", metavar="SQL", help="Only rows of the table that meet this condition.")
@filter_option
@snapshot_options
def diff(
    what: tuple[str, ...],
    from_table: str | None,
    where: str,
    customer_filter: str | None,
    snapshots: Snapshots,
    output: Output,
) -> int:
    """Show what changed: between the last snapshot and a file or a table, or between two archives.

    Example: tidegate snapshot diff 41 42
    """
    if len(what) == 2 and all(part.isdigit() for part in what):
        found = snapshots.compare(int(what[0]), int(what[1]))
        counts = {name: getattr(found, name).num_rows for name in ("new", "changed", "deleted")}
        counts["unchanged"] = found.unchanged
        cells = found.changes.cells.to_pylist()
        lines = [_counted(counts), *_cell_lines(cells, snapshots.settings.business_key)]
        output.facts({"rows": counts, "columns": dict(found.changes.columns), "cells": cells}, "\n".join(lines))
        return 0
    if not customer_filter or len(what) > 1:
        raise ConfigError(
            "It is not clear what to compare.",
            "Nothing was read.",
            "Give a file (or `--from TABLE`) and `--filter`, or the ids of two archives.",
        )
    rows = _rows(snapshots, Path(what[0]) if what else None, from_table, where)
    changes = snapshots.detect(rows, customer_filter)
    keys = {
        name: changes[name].select(list(snapshots.settings.business_key)).to_pylist()
        for name in ("new", "changed", "deleted")
    }
    lines = [_counted(changes.rows), *_key_lines(keys)]
    output.facts({"rows": dict(changes.rows), "since": changes.since, "keys": keys}, "\n".join(lines))
    return 0


@snapshot.command()
@click.argument("archive_id", type=int, required=False, metavar="[ARCHIVE]")
@filter_option
@click.option("--at", metavar="TIME", help="The newest snapshot until this day or moment.")
@click.option(
    "-o", "--output", "path", type=click.Path(path_type=Path), required=True, help="The Parquet file to write."
)
@snapshot_options
def load(
    archive_id: int | None,
    customer_filter: str | None,
    at: str | None,
    path: Path,
    snapshots: Snapshots,
    output: Output,
) -> int:
    """Write an archived snapshot as a Parquet file.

    Example: tidegate snapshot load --filter GREYSON --at 2026-01-31 -o orders.parquet
    """
    archive = snapshots.find_archive(archive_id, customer_filter=customer_filter, at=at)
    size = snapshots.export(archive, path)
    facts = {"archive_id": archive.archive_id, "file": str(path), "rows": archive.rows, "bytes": size}
    output.facts(facts, f"{path}: {archive.rows:,} rows of {archive.customer_filter}, {size:,} bytes")
    return 0


@snapshot.command()
@click.option("--days", type=int, default=30, show_default=True, help="How many days back.")
@filter_option
@snapshot_options
def stats(days: int, customer_filter: str | None, snapshots: Snapshots, output: Output) -> int:
    """Show rows, sizes and compression of the archive, per filter.

    Example: tidegate snapshot stats --days 90
    """
    found = snapshots.statistics(days, customer_filter)
    lines = [
        f"{row['customer_filter']:<20} {row['archives']:>6,} archives {row['rows']:>14,} rows {row['bytes']:>16,} bytes"
        f"  {row['average_compression_ratio']:g}x smaller  {str(row['oldest'])[:10]} to {str(row['newest'])[:10]}"
        for row in found
    ]
    output.facts({"days_back": days, "filters": found}, "\n".join(lines) or f"no archive in the last {days} days")
    return 0


@snapshot.command()
@click.option("--keep-days", type=int, help="Remove older archives. The default is `retention_days`.")
@click.option("--keep", type=int, help="How many snapshots of a filter the table keeps. The default is `keep`.")
@click.option("--dry-run", is_flag=True, help="Only show which archives would be removed.")
@yes_option
@snapshot_options
def clean(
    keep_days: int | None, keep: int | None, dry_run: bool, yes: bool, snapshots: Snapshots, output: Output
) -> int:
    """Remove archives beyond their retention, and snapshots beyond the window of the table.

    Example: tidegate snapshot clean --keep-days 90 --dry-run
    """
    expired = snapshots.clean_archive(keep_days, dry_run=True) if snapshots.has_archive else []
    if not dry_run:
        confirm(f"{len(expired)} archives will be removed. Go on?", yes)
        expired = snapshots.clean_archive(keep_days, dry_run=False) if snapshots.has_archive else []
    removed = [] if dry_run else snapshots.clean_table(keep=keep)
    word = "would be removed" if dry_run else "removed"
    lines = [
        *(
            f"{word}: archive {each['archive_id']} of {each['customer_filter']}, {each['bytes']:,} bytes"
            for each in expired
        ),
        f"{len(expired)} archives and {len(removed)} snapshots of the table {word}",
    ]
    output.facts({"dry_run": dry_run, "archives": expired, "snapshots": len(removed)}, "\n".join(lines))
    return 0


@snapshot.command()
@click.argument("archive_id", type=int, required=False, metavar="[ARCHIVE]")
@snapshot_options
def validate(archive_id: int | None, snapshots: Snapshots, output: Output) -> int:
    """Compare the bytes of every archive with their hashes, and columns and rows with what was saved.

    Example: tidegate snapshot validate
    """
    found = snapshots.problems(archive_id)
    corrupt = {number: [each.what for each in problems] for number, problems in found.items() if problems}
    lines = [f"archive {number}: {', '.join(problems)}" for number, problems in corrupt.items()]
    output.facts(
        {"archives": len(found), "corrupt": corrupt},
        "\n".join([*lines, f"{len(found) - len(corrupt):,} of {len(found):,} archives are valid"]),
    )
    return 3 if corrupt else 0


@snapshot.command()
@click.option("--for", "kind", required=True, metavar="KIND", help="`sqlserver`, `postgresql` or `mysql`.")
@click.option("--of-archive", is_flag=True, help="The archive instead of the snapshot table.")
@click.option("--table", metavar="TABLE", help="The snapshot table.")
@click.option("--key", "keys", multiple=True, metavar="COLUMN", help="A column of the business key; repeat it.")
@click.option("--attribute", "attributes", multiple=True, metavar="COLUMN", help="A further column; repeat it.")
@click.option("--partitioned", is_flag=True, help="With partitions by the hash of the filter.")
@command_options
def ddl(
    kind: str,
    of_archive: bool,
    table: str | None,
    keys: tuple[str, ...],
    attributes: tuple[str, ...],
    partitioned: bool,
    output: Output,
) -> int:
    """Print the statements that create the snapshot table, or the archive. Connects to no server.

    Example: tidegate snapshot ddl --for sqlserver > orders_unified_snapshot.sql
    """
    from tidegate.api import snapshot_ddl
    from tidegate.plugins import database_class

    statements = snapshot_ddl(
        kind,
        archive=of_archive,
        table=table,
        business_key=keys or None,
        attributes=attributes or None,
        partition_by_filter=partitioned,
    )
    end = database_class(kind).statement_end
    output.facts({"statements": statements}, "\n".join(f"{statement}{end}" for statement in statements))
    return 0


def _rows(snapshots: Snapshots, file: Path | None, from_table: str | None, where: str) -> Any:
    if (file is None) == (from_table is None) or (where and from_table is None):
        raise ConfigError(
            "The rows are not named once.", "Nothing was read.", "Give a file, or `--from TABLE` and maybe `--where`."
        )
    return snapshots.rows_of_file(file) if file is not None else snapshots.rows_of_table(str(from_table), where)


def _tags(tags: Iterable[str]) -> dict[str, str]:
    pairs = [tag.partition("=") for tag in tags]
    if any(not name or not equals for name, equals, _ in pairs):
        raise ConfigError("A tag is not written as NAME=VALUE.", "Nothing was read.", "Write --tag pipeline=orders_v3.")
    return {name: value for name, _, value in pairs}


def _counted(counts: Any) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in ("new", "changed", "unchanged", "deleted"))


def _key_lines(keys: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the first keys of each kind of change."""
    lines = []
    for name, rows in keys.items():
        lines += [f"  {name}: {', '.join(map(str, row.values()))}" for row in rows[:_KEYS_SHOWN]]
        lines += [f"  {name}: ... and {len(rows) - _KEYS_SHOWN:,} more"] if len(rows) > _KEYS_SHOWN else []
    return lines


def _cell_lines(cells: list[dict[str, Any]], key: Iterable[str]) -> list[str]:
    lines = [
        f"  {', '.join(str(cell[name]) for name in key)}: {cell['column']}: {cell['before']} -> {cell['after']}"
        for cell in cells[:_KEYS_SHOWN]
    ]
    return [*lines, f"  ... and {len(cells) - _KEYS_SHOWN:,} more cells"] if len(cells) > _KEYS_SHOWN else lines
