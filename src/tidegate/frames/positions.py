"""Order positions of logs, which every server writes in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

_NUMBER, _HEXADECIMAL = "^[0-9]+$", "^0[xX][0-9a-fA-F]+$"
_HALVES, _FILE = "^[0-9a-fA-F]+/[0-9a-fA-F]+$", "^(.*):([0-9]+)$"


def sortable(position: Column) -> Column:
    """Return a text that sorts as the position does: `1042`, SQL Server's `0x0001A5F`, PostgreSQL's `16/B374D848`, or
    MySQL's `binlog.000007:4711`."""
    from pyspark.sql import functions as F

    halves = F.split(F.lower(position), "/")
    file, offset = F.regexp_extract(position, _FILE, 1), F.regexp_extract(position, _FILE, 2)
    return (
        F.when(position.rlike(_NUMBER), _padded(position))
        .when(position.rlike(_HEXADECIMAL), _padded(F.substring(F.lower(position), 3, 1000)))
        .when(position.rlike(_HALVES), F.concat(_padded(halves.getItem(0)), _padded(halves.getItem(1))))
        .when(position.rlike(_FILE), F.concat(file, F.lit(":"), _padded(offset)))
        .otherwise(position)
    )


def _padded(digits: Column) -> Column:
    from pyspark.sql import functions as F

    return F.lpad(F.regexp_replace(digits, "^0+(?=.)", ""), 40, "0")
