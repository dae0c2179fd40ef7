"""`tidegate grants`: the script for an administrator, for each database, without asking a server."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from tidegate.cli.main import main

PROJECT = """\
source: {source}
target: {target}
lake: ./lake
tables:
  daily: {{kind: partition, partition_column: cob, source_table: sales.daily}}
  codes: {{kind: static}}
"""
SQLSERVER = "sqlserver://o'neil:x@nowhere/prod"
POSTGRESQL = "postgresql://loader:x@nowhere/uat"
MYSQL = "mysql://loader:x@nowhere/uat"


def granted(tmp_path: Path, source: str, target: str) -> dict[str, list[str]]:
    path = tmp_path / "tidegate.yml"
    path.write_text(PROJECT.format(source=source, target=target))
    result = CliRunner().invoke(main, ["grants", "-c", str(path), "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.output))


def test_sql_server_to_sql_server(tmp_path: Path):
    assert granted(tmp_path, SQLSERVER, SQLSERVER.replace("prod", "uat")) == {
        "source": [
            "GRANT SELECT, VIEW DEFINITION ON OBJECT::[sales].[daily] TO [o'neil]",
            "GRANT SELECT, VIEW DEFINITION ON OBJECT::[dbo].[codes] TO [o'neil]",
            "-- to see every security policy and foreign key: GRANT VIEW DEFINITION TO [o'neil]",
            "-- to copy masked columns unmasked: GRANT UNMASK TO [o'neil]",
        ],
        "target": [
            "IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]')",
            "GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON SCHEMA::[tidegate] TO [o'neil]",
            "GRANT CREATE TABLE TO [o'neil]",
            "IF OBJECT_ID(N'[dbo].[daily]') IS NOT NULL"
            " GRANT SELECT, INSERT, DELETE, ALTER ON OBJECT::[dbo].[daily] TO [o'neil]"
            " ELSE GRANT SELECT, INSERT, DELETE, ALTER ON SCHEMA::[dbo] TO [o'neil]",
            "IF OBJECT_ID(N'[dbo].[codes]') IS NOT NULL"
            " GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON OBJECT::[dbo].[codes] TO [o'neil]"
            " ELSE GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON SCHEMA::[dbo] TO [o'neil]",
            "-- to see every security policy and foreign key: GRANT VIEW DEFINITION TO [o'neil]",
            "-- to see how much space the log has: IF SERVERPROPERTY('EngineEdition') = 5 EXEC sys.sp_executesql"
            " N'GRANT VIEW DATABASE STATE TO [o''neil]'"
            " ELSE IF CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) >= 16 EXEC master.sys.sp_executesql"
            " N'GRANT VIEW SERVER PERFORMANCE STATE TO [o''neil]'"
            " ELSE EXEC master.sys.sp_executesql N'GRANT VIEW SERVER STATE TO [o''neil]'",
        ],
    }


def test_postgresql_to_mysql(tmp_path: Path):
    assert granted(tmp_path, POSTGRESQL, MYSQL) == {
        "source": [
            'GRANT USAGE ON SCHEMA "public" TO "loader"',
            'GRANT USAGE ON SCHEMA "sales" TO "loader"',
            'GRANT SELECT ON "sales"."daily" TO "loader"',
            'GRANT SELECT ON "public"."codes" TO "loader"',
        ],
        "target": [
            "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE TEMPORARY TABLES, ALTER, INDEX, TRIGGER"
            " ON `uat`.* TO 'loader'",
        ],
    }


def test_mysql_to_postgresql(tmp_path: Path):
    assert granted(tmp_path, MYSQL, POSTGRESQL) == {
        "source": [
            "GRANT SELECT, SHOW VIEW, TRIGGER ON `sales`.`daily` TO 'loader'",
            "GRANT SELECT, SHOW VIEW, TRIGGER ON `uat`.`codes` TO 'loader'",
        ],
        "target": [
            'GRANT CREATE, TEMPORARY ON DATABASE "uat" TO "loader"',
            'GRANT USAGE, CREATE ON SCHEMA "public" TO "loader"',
            """DO 'BEGIN IF to_regclass(''"public"."daily"'') IS NOT NULL THEN"""
            """ GRANT SELECT, INSERT, DELETE ON "public"."daily" TO "loader"; END IF; END'""",
            """DO 'BEGIN IF to_regclass(''"public"."codes"'') IS NOT NULL THEN"""
            """ GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."codes" TO "loader"; END IF; END'""",
        ],
    }


def test_as_text_it_is_a_script(tmp_path: Path):
    path = tmp_path / "tidegate.yml"
    path.write_text(PROJECT.format(source=POSTGRESQL, target=MYSQL))

    script = CliRunner().invoke(main, ["grants", "-c", str(path)]).output

    head, first, *_ = script.splitlines()
    assert head.startswith("-- source: run this at postgresql://loader@")
    assert first == 'GRANT USAGE ON SCHEMA "public" TO "loader";'
    assert script.splitlines()[5].startswith("-- target: run this at mysql://")
