"""What each database declares that it can do, and how a missing capability is refused."""

from __future__ import annotations

from dataclasses import fields, replace
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import Any

import pytest

from kit.filebase import Filebase
from tidegate import databases
from tidegate.config.tables import table_model
from tidegate.databases.mysql import Mysql
from tidegate.databases.postgresql import Postgresql
from tidegate.databases.redshift import Redshift
from tidegate.databases.sqlserver import SqlServer
from tidegate.errors import Unsupported
from tidegate.interfaces import Capabilities, Database
from tidegate.interfaces.capabilities import CAPABILITY_NAMES
from tidegate.model.connection import Connection
from tidegate.plugins import database
from tidegate.tables.found import Catalogs
from tidegate.tables.resolve import resolve

KINDS: list[type[Database]] = [Postgresql, Mysql, SqlServer, Redshift, Filebase]
FIELDS = [field.name for field in fields(Capabilities)]

# fmt: off
TRUTHS = {  #                  PostgreSQL MySQL  SQL Server Redshift filebase
    "transactional_ddl":        (True,  False, True,  False, True),
    "enforced_keys":            (True,  True,  True,  False, True),
    "session_locks":            (True,  True,  True,  True,  True),
    "streams_into_transaction": (True,  True,  False, False, True),
    "exported_snapshots":       (True,  False, False, False, False),
    "read_only_sessions":       (True,  True,  False, False, True),
    "native_partitions":        (True,  True,  True,  False, False),
    "row_versions":             (False, False, True,  False, False),
    "bulk_from_files":          (False, False, False, True,  False),
    "schemas_are_databases":    (False, True,  False, False, False),
    "updates_identity":         (True,  True,  False, False, True),
    "surrogate_keys":           (True,  True,  True,  True,  False),
    "alters_columns":           (True,  True,  True,  True,  False),
}
# fmt: on


@pytest.mark.parametrize("name", FIELDS)
def test_capabilities_of_each_database(name: str):
    assert tuple(getattr(kind.capabilities, name) for kind in KINDS) == TRUTHS[name]


def test_a_capability_has_no_default():
    """So every plug-in states every capability: a new one cannot be forgotten."""
    with pytest.raises(TypeError, match="missing 13 required keyword-only arguments"):
        Capabilities()  # type: ignore[call-arg]


def test_every_database_folder_declares_capabilities():
    kinds = [module.name for module in iter_modules(databases.__path__) if not module.name.startswith("_")]
    found = {kind: vars(type(database(Connection(kind, "nowhere", 1, "none"))))["capabilities"] for kind in kinds}
    assert [kind for kind, declared in found.items() if not isinstance(declared, Capabilities)] == []
    assert kinds == ["mysql", "postgresql", "redshift", "sqlserver"]


def test_every_capability_has_a_name_for_users():
    assert list(CAPABILITY_NAMES) == FIELDS


def test_a_missing_capability_is_refused_with_a_way_out():
    mysql = Mysql(Connection("mysql", "nowhere", 3306, "none"))
    with pytest.raises(Unsupported) as refusal:
        mysql.require("row_versions", for_="`changes: rowversion`", instead="Use `changes: timestamp`.")
    assert (
        str(refusal.value) == "MySQL has no row versions, which `changes: rowversion` needs.\nUse `changes: timestamp`."
    )


def test_a_present_capability_is_not_refused():
    Mysql(Connection("mysql", "nowhere", 3306, "none")).require("surrogate_keys", for_="`surrogate_key`")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            {"kind": "incremental", "changes": "rowversion"},
            "MySQL has no row versions, which `changes: rowversion` of orders needs",
        ),
        (
            {"kind": "scd2", "business_keys": ["id"], "surrogate_key": "number"},
            "Numberless has no columns that number rows by themselves, which `surrogate_key` of orders needs",
        ),
    ],
)
def test_tables_ask_for_capabilities_before_anything_is_read(table: dict[str, Any], words: str):
    """The catalogs have no session: whoever read a table would fail with another error."""

    class Numberless(Mysql):
        label = "Numberless"
        capabilities = replace(Mysql.capabilities, surrogate_keys=False)

    place = Connection("mysql", "nowhere", 3306, "none")
    source, target = (SimpleNamespace(database=kind(place)) for kind in (Mysql, Numberless))
    model = table_model(table["kind"], table.get("changes"))
    with pytest.raises(Unsupported, match=words):
        resolve(model.model_validate({**table, "name": "orders"}), Catalogs(source, target, {}, {}))  # type: ignore[arg-type]
