"""`rebuild_indexes`: plain indexes are set aside while all rows of a table are replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tidegate.errors import RunFailed

if TYPE_CHECKING:
    from kit.copied import Copied, Copies

SETTINGS = {"kind": "static", "merge_strategy": "replace", "rebuild_indexes": True}
ALL = "SELECT code, name FROM codes"
INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'codes'"
FILES = "SELECT relfilenode FROM pg_class WHERE relname IN ('by_name', 'partial', 'codes_pkey', 'unique_name')"


def filled(copies: Copies, target: str) -> Copied:
    copied = copies("postgresql", target)
    for run in (copied.in_source, copied.in_target):
        run("CREATE TABLE codes (code integer PRIMARY KEY, name varchar(20))")
    copied.in_source("INSERT INTO codes SELECT n, 'name ' || n FROM generate_series(1, 50) AS n")
    return copied


def indexed(copied: Copied) -> None:
    copied.in_target(
        "CREATE INDEX by_name ON codes (name DESC, code);\nCREATE UNIQUE INDEX unique_name ON codes (name)"
    )
    copied.in_target("CREATE INDEX partial ON codes (lower(name)) WHERE code > 7")


@pytest.mark.parametrize("settings", [{}, {"load": "replace"}])
def test_plain_indexes_are_built_once(copies: Copies, settings: dict[str, Any]):
    copied = filled(copies, "postgresql")
    indexed(copied)
    before, files = copied.rows("target", INDEXES), copied.rows("target", FILES)
    chosen = {name: value for name, value in SETTINGS.items() if name != "merge_strategy" or not settings}
    with copied.tidegate({"codes": {**chosen, **settings}}) as synced:
        synced.run()
        copied.assert_equal(ALL)
        assert copied.rows("target", INDEXES) == before
        assert len(copied.rows("target", FILES) & files) == 2  # the key and the unique index stayed


def test_failed_load_keeps_the_indexes(copies: Copies):
    copied = filled(copies, "postgresql")
    indexed(copied)
    before, files = copied.rows("target", INDEXES), copied.rows("target", FILES)
    copied.in_target(
        "CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.name := NEW.name || '!';"
        " RETURN NEW; END$$;\nCREATE TRIGGER other BEFORE INSERT ON codes FOR EACH ROW EXECUTE FUNCTION other()"
    )
    with copied.tidegate({"codes": SETTINGS}) as synced, pytest.raises(RunFailed):
        synced.run()
    assert copied.rows("target", INDEXES) == before
    assert copied.rows("target", FILES) == files
    assert copied.rows("target", "SELECT count(*) FROM codes") == {(0,): 1}


def test_database_without_ddl_in_transactions_refuses(copies: Copies):
    copied = filled(copies, "mysql")
    with copied.tidegate({"codes": SETTINGS}) as synced, pytest.raises(RunFailed, match="rebuild_indexes: true"):
        synced.run()
