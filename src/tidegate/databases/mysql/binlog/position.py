"""A place in a binary log, as file and offset and as GTIDs.

Facts that shape this file
 * A GTID finds its place on any server of a replication group. File and offset are places of one server, and its files
   may begin anew (`RESET MASTER`); the time when a file began tells one from a later file of the same name.
 * MariaDB's is `domain-server-sequence`, one for each domain, the newest: `0-1-4711,1-2-7`.
 * MySQL's is the set of all transactions of each source: `3e11fa47-...:1-77:80`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.errors import ConfigError

_FILE = re.compile(r"(?P<file>[^\s:@~]+):(?P<offset>\d+)(?:@(?P<began>\d+))?(?:~(?P<at>\d+))?")
_MARIADB = re.compile(r"\d+-\d+-\d+(,\d+-\d+-\d+)*")
_MYSQL = re.compile(r"[0-9a-fA-F-]{36}:[^\s]+")


@dataclass(frozen=True)
class LogPosition:
    """A place between two transactions. Written as `binlog.000007:4711@1763520000~1763521111 0-1-4711`."""

    file: str = ""
    offset: int = 0
    began: int = 0
    """When the file began, in seconds since 1970; 0 where nobody knows."""
    gtid: str = ""
    at: int = 0
    """When the log ended here, in seconds since 1970; 0 where nobody knows."""

    @classmethod
    def parse(cls, text: str) -> LogPosition:
        """Return a position out of its text, or of what people write: `binlog.000007:4711`, or GTIDs alone."""
        gtid, place = "", None
        for part in re.sub(r",\s+", ",", text.strip()).split():
            if _MARIADB.fullmatch(part) or _MYSQL.fullmatch(part):
                gtid = part
            elif (found := _FILE.fullmatch(part)) is not None:
                place = found
            else:
                raise ConfigError(
                    f"`{part}` is no place in a binary log.",
                    "Nothing was read or written.",
                    "Write it as `binlog.000007:4711`, as `0-1-4711` (MariaDB) or as a set of GTIDs (MySQL).",
                )
        if place is None:
            return cls(gtid=gtid)
        return cls(place["file"], int(place["offset"]), int(place["began"] or 0), gtid, int(place["at"] or 0))

    def __str__(self) -> str:
        began = f"@{self.began}" if self.began else ""
        at = f"~{self.at}" if self.at else ""
        place = f"{self.file}:{self.offset}{began}{at}" if self.file else ""
        return " ".join(filter(None, (place, self.gtid)))

    @property
    def order(self) -> tuple[int, int]:
        """Return what sorts places of one server."""
        return number_of(self.file), self.offset


def number_of(file: str) -> int:
    """Return the number of a file, such as 7 for `binlog.000007`."""
    digits = file.rpartition(".")[2]
    return int(digits) if digits.isdigit() else 0


def mariadb_sequences(gtid: str) -> dict[int, int]:
    """Return the newest sequence number of each domain."""
    parts = [part.split("-") for part in gtid.split(",") if part]
    return {int(domain): int(sequence) for domain, _, sequence in parts}


def encoded_set(gtid: str) -> bytes:
    """Return a set of MySQL's GTIDs as a dump command takes it."""
    sources = [part.strip().split(":") for part in gtid.replace("\n", "").split(",") if part.strip()]
    encoded = len(sources).to_bytes(8, "little")
    for uuid, *intervals in sources:
        encoded += bytes.fromhex(uuid.replace("-", "")) + len(intervals).to_bytes(8, "little")
        for interval in intervals:
            first, _, last = interval.partition("-")
            encoded += int(first).to_bytes(8, "little") + (int(last or first) + 1).to_bytes(8, "little")
    return encoded
