"""A physical standby of an embedded PostgreSQL: it replays the writes of its primary and is read-only."""

from __future__ import annotations

import psycopg

from kit.processes import wait_until
from tidegate.demo.embedded import EmbeddedPostgres


class Standby(EmbeddedPostgres):
    """A standby in a temporary folder. It has the databases, roles and passwords of `primary`, which must run."""

    def __init__(self, primary: EmbeddedPostgres) -> None:
        super().__init__(durable=False)
        self._primary = primary

    def wait_until_replayed(self) -> None:
        """Wait until the standby shows everything that the primary has committed."""
        with psycopg.connect(self._primary.url()) as primary, psycopg.connect(self.url()) as standby:
            (written,) = primary.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone() or ("",)
            wait_until(
                lambda: (
                    standby.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [written]).fetchone() == (True,)
                ),
                "the standby has replayed what the primary wrote",
            )

    def _initialise(self) -> None:
        """Copy the primary's cluster instead of creating a new one."""
        if self._data.is_dir():
            return
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(self._primary._password())
        self._data.mkdir(mode=0o700)
        self._account.own(self._data)
        self._run("pg_basebackup", "-R", "-c", "fast", "--no-sync", "-D", str(self._data), "-d", self._primary.url())
