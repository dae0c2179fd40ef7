"""Keys of the layout `schemas`: the database of the source, the schema of the target, the table, and the day.

    incremental/sales_db/reporting_sales/customers/year=2024/month=08/day=15/customers_2024-08-15_10-30-00_1.parquet

Facts that shape this file
 * Each part of a key is one level: what could be taken for a slash, a leading dot or underscore is escaped. So no two
   names lead to one place, whatever characters they have.
 * Hadoop takes a colon in a file name for the end of a scheme, so Spark cannot list a folder with such a name. The lake
   writes `10-30-00`; `generate_s3_key` keeps the time as its caller wrote it.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from urllib.parse import quote

from tidegate.errors import ConfigError

INCREMENTAL = "incremental"
# Table, column and value stand in one file name, and file systems take 255 bytes.
_LONGEST_NAME = 80
SHORTENED = "~"
_TIME = "%Y-%m-%d %H:%M:%S"


def generate_s3_key(
    source_db: str,
    target_schema: str,
    table_name: str,
    timestamp: str,
    batch_id: int,
    incremental_path: str = INCREMENTAL,
) -> str:
    """Return the key of one batch of rows. `timestamp` is `2024-08-15 10:30:00`."""
    try:
        datetime.strptime(timestamp, _TIME)
    except ValueError:
        raise ConfigError(
            f"The timestamp {timestamp!r} of a key is not of the form 2024-08-15 10:30:00.",
            "Nothing was read or written.",
        ) from None
    folder = day_folder(table_folder(incremental_path, source_db, target_schema, table_name), timestamp)
    return f"{folder}/{component(table_name)}_{timestamp.replace(' ', '_')}_{batch_id}.parquet"


def table_folder(incremental_path: str, source_db: str, target_schema: str, table: str) -> str:
    """Return the folder of all entries of a table."""
    return "/".join([incremental_path.strip("/"), *map(component, (source_db, target_schema, table))])


def day_folder(folder: str, timestamp: str) -> str:
    """Return the folder of the day on which a timestamp begins. Raises ValueError for what begins with no day."""
    day = datetime.strptime(timestamp[:10], "%Y-%m-%d")
    return f"{folder}/{day:year=%Y/month=%m/day=%d}"


def component(text: str) -> str:
    """Return one level of a key. `.` and `..` lead elsewhere, and readers skip names that begin with `_` or `.`."""
    return re.sub("^[._]", lambda first: f"%{ord(first[0]):02X}", safe(text))


def safe(text: str) -> str:
    """Return a name for the file system: unsafe characters escaped, long names shortened by a hash."""
    escaped = quote(text, safe="").replace("~", "%7E")
    if len(escaped) <= _LONGEST_NAME:
        return escaped
    return escaped[:60] + SHORTENED + hashlib.sha256(text.encode()).hexdigest()[:16]
