"""Read `conf/tables.yml`: a list of tables, each with its `cdc_strategy`. It becomes the settings of `tidegate.yml`.

    s3:
      incremental_path: incremental
    tables:
      - name: "settlement.settlement_claim_detail"
        cdc_strategy: hybrid
        cdc_timestamp_column: update_at
        cdc_id_column: ID

A table may have every other setting that a table of `tidegate.yml` has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidegate.config.document import At, Document, Problem, composed, named, text_of
from tidegate.config.kinds import (
    DEFAULT_STRATEGY,
    DEFAULT_TIMESTAMP,
    GENERATED,
    STRATEGIES,
    VERSIONED,
    VERSIONS_OF_COPIES,
    Strategy,
)
from tidegate.config.reading import Build, nearest_name
from tidegate.config.secrets import Variables, refusal
from tidegate.config.tables import ConfiguredTable, setting_names
from tidegate.model.names import TableName

NAME, STRATEGY, TIMESTAMP, ID, SCD = "name", "cdc_strategy", "cdc_timestamp_column", "cdc_id_column", "scd_type"
OWN_KEYS = (NAME, STRATEGY, TIMESTAMP, ID, SCD)
_TOP = ("tables", "s3")
_S3 = ("incremental_path",)


@dataclass(frozen=True)
class TablesFile:
    """What `tables.yml` says: the settings of each table, by its name, and where in its lake entries are kept."""

    path: Path
    tables: Mapping[TableName, Mapping[str, Any]]
    incremental_path: str | None = None
    lines: Mapping[At, int] = field(default_factory=dict)

    def find(self, source_db: str, table: str) -> TableName | None:
        """Return the entry of a table: that of its database, then one that names no database."""
        return next((name for name in (TableName(source_db, table), TableName("", table)) if name in self.tables), None)

    def checked(self, defaults: Mapping[str, Any], variables: Variables) -> dict[str, ConfiguredTable]:
        """Return all tables with the defaults of a project. Raises one error for all problems, with their lines."""
        raw = {**defaults, "tables": {str(name): settings for name, settings in self.tables.items()}}
        return Build(raw, variables, str(self.path), self.lines).only_tables()


def read_tables_file(path: Path) -> TablesFile:
    """Raises ConfigError for a file that is missing, and for all that it should not have, with line and remedy."""
    node, document = composed(text_of(path), path), Document()
    raw = document.value(node) if node else None
    if not isinstance(raw, Mapping):
        raise refusal(f"{path}:1: the file has no `tables:`.", "Write `tables:` and a list of them below.")
    reader = _Reader(path, document)
    found = reader.tables(raw)
    reader.raise_problems()
    s3 = raw.get("s3")
    chosen = s3.get("incremental_path") if isinstance(s3, Mapping) else None
    return TablesFile(path, found, chosen, reader.lines)


@dataclass
class _Reader:
    path: Path
    document: Document
    lines: dict[At, int] = field(default_factory=dict)

    def tables(self, raw: Mapping[str, Any]) -> dict[TableName, Mapping[str, Any]]:
        for key in raw:
            self._known((key,), _TOP)
        s3, given = raw.get("s3"), raw.get("tables")
        for key in s3 if isinstance(s3, Mapping) else ():
            self._known(("s3", key), _S3)
        if not isinstance(given, list):
            self._problem(("tables",), "must be a list of tables", "Write `- name: customers` below `tables:`.")
            return {}
        found: dict[TableName, Mapping[str, Any]] = {}
        for position, entry in enumerate(given):
            name = self._name(("tables", position), entry)
            if name in found:
                self._problem(("tables", position), f"names {name} again", "Keep one of them.")
            elif name is not None:
                found[name] = self._settings(("tables", position), name, entry)
        return found

    def _name(self, at: At, entry: Any) -> TableName | None:
        if not isinstance(entry, Mapping) or not entry.get(NAME):
            self._problem(at, "has no `name`", "Write `- name: customers`, or `- name: sales_db.customers`.")
            return None
        try:
            return TableName.parse(str(entry[NAME]))
        except ValueError:
            text = "is no table's name"
            self._problem((*at, NAME), text, 'Write it as customers, sales_db.customers or sales_db."odd.name".')
            return None

    def _settings(self, at: At, name: TableName, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an entry as `tidegate.yml` has it."""
        known = sorted({*OWN_KEYS, *setting_names()})
        for key in entry:
            self._known((*at, key), known)
            self._line(at, name, key, key)
        self._line(at, name, "", "")
        written = str(entry.get(STRATEGY) or DEFAULT_STRATEGY)
        if "kind" in entry or "changes" in entry:
            return {key: value for key, value in entry.items() if key != NAME}
        if written not in STRATEGIES:
            nearest = nearest_name(written, STRATEGIES)
            question = f"Did you mean `{nearest}`?" if nearest else f"Write one of: {', '.join(STRATEGIES)}."
            self._problem((*at, STRATEGY), f"is `{written}`, which is no strategy", question)
            return {}
        settings = translated(STRATEGIES[written], entry)
        for key, setting in ((STRATEGY, "changes"), *_columns(STRATEGIES[written])):
            self._line(at, name, key, setting)
        return settings

    def _line(self, at: At, name: TableName, key: str, setting: str) -> None:
        """Remember the line of a key as that of the setting which it becomes."""
        source: At = (*at, key) if key else at
        place: At = ("tables", str(name), setting) if setting else ("tables", str(name))
        if source in self.document.lines:
            self.lines[place] = self.document.lines[source]

    def _known(self, at: At, names: Any) -> None:
        if at[-1] not in names:
            nearest = nearest_name(str(at[-1]), names)
            question = f"Did you mean `{nearest}`?" if nearest else f"Known here: {', '.join(names)}."
            self._problem(at, "is no setting", question)

    def _problem(self, at: At, happened: str, remedy: str) -> None:
        self.document.problems.append(Problem(at, f"{named(at)} {happened}.", remedy))

    def raise_problems(self) -> None:
        """Raise one error for all problems, each with its line."""
        found = self.document.problems
        if found:
            lines = [f"{self.path}:{self._line_of(one.at)}: {one.happened} {one.remedy}" for one in found]
            remedy = "Correct this line." if len(found) == 1 else f"Correct these {len(found)} lines."
            raise refusal("\n".join(lines), remedy)

    def _line_of(self, at: At) -> int:
        known = (self.document.lines[at[:size]] for size in range(len(at), 0, -1) if at[:size] in self.document.lines)
        return next(known, 1)


def translated(strategy: Strategy, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of `tidegate.yml` that an entry with this strategy stands for."""
    rest = {key: value for key, value in entry.items() if key not in OWN_KEYS}
    columns = {setting: entry[key] for key, setting in _columns(strategy) if entry.get(key)}
    if strategy.timestamp:
        columns.setdefault(strategy.timestamp, DEFAULT_TIMESTAMP)
    is_versioned = str(entry.get(SCD)) == "2" or rest.get("load") == VERSIONED
    if is_versioned and not strategy.timestamp and not strategy.id:
        return {**VERSIONS_OF_COPIES, **GENERATED, **rest}
    load = {**GENERATED} if is_versioned else {"load": strategy.load} if strategy.load else {}
    return {"kind": strategy.kind, "changes": strategy.change, **columns, **load, **rest}


def _columns(strategy: Strategy) -> list[tuple[str, str]]:
    pairs = ((TIMESTAMP, strategy.timestamp), (ID, strategy.id))
    return [(key, setting) for key, setting in pairs if setting]
