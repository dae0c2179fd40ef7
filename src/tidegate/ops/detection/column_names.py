"""Usual names of columns that have a reporting date, a cursor, a flag or a version.

The catalog says nothing else about the meaning of a column. So the lists are short, and the clearest name comes first.
The callers check the type as well, and write the reason for their choice into the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.model.columns import Column, TableSchema


def _names(words: str) -> tuple[str, ...]:
    return tuple(words.split())


# The day that a row was reported for.
DAYS = _names(
    "cobid cobdate cobdt cob reportingdate reportdate businessdate bizdate asofdate asof processdate processingdate "
    "valuationdate snapshotdate partitiondate"
)
# A day or a period, but in many tables only an attribute: signs of versions take precedence.
PERIODS = _names("tradedate loaddate periodid period yyyymm yearmonth datekey dateid")

# Which load brought a row.
LOADS = _names("loadid batchid runid etlbatchid etlrunid")
# When a row was last changed.
CHANGES = _names(
    "lastmodified lastmodifiedat lastmodifiedon lastmodifieddate lastupdated lastupdatedat lastupdatedon "
    "lastupdateddate lastupdate lastchanged modifiedat modifiedon modifieddate updatedat updatedon updateddate "
    "updateat updatetime updatets changedat changedon changeddate dbtupdatedat"
)
# A column that the server itself increases at every change, if its type is `rowversion`. A counter that an application
# keeps under such a name starts at 1 in each row.
ROW_VERSIONS = ("rowversion", "rowver", "timestamp")
# When a row was inserted. An update in place does not change it.
ARRIVALS = _names(
    "loadedat loadtime loadts loadtimestamp loaddatetime loaddate insertedat insertedon inserteddate "
    "createdat createdon createddate"
)

# Start and end of the validity of a version.
STARTS = _names(
    "validfrom validfromdate effectivefrom effectivedate effectivestart effectivestartdate versionstart rowstart "
    "dbtvalidfrom"
)
ENDS = _names(
    "validto validtodate validuntil effectiveto effectiveend effectiveenddate expirydate expirationdate versionend "
    "rowend dbtvalidto"
)
# Whether a version is the current one.
FLAGS = _names(
    "islatest iscurrent latestflag currentflag islatestversion iscurrentversion islatestrecord iscurrentrecord "
    "islatestrow iscurrentrow rowiscurrent latestind currentind currentindicator"
)
# The same, or for instance whether a customer is active: a second sign of versions is needed.
FLAGS_OR_STATES = _names("latest current isactive activeflag activeind active")
VERSIONS = _names("version versionno versionnumber versionnr versionid recordversion revision revisionno")


def plain(name: str) -> str:
    """Return `lastmodified` for LastModified, last_modified and `Last Modified`."""
    return re.sub(r"[\W_]", "", name.casefold())


def is_called(column: Column, names: Sequence[str]) -> bool:
    return plain(column.name) in names


@dataclass(frozen=True)
class Choice:
    """The chosen column, and the second-best one."""

    column: Column
    runner_up: Column | None = None

    @property
    def preference(self) -> tuple[str, ...]:
        """Return a sentence about the second-best column, for users who would prefer it; empty when there is none."""
        return (f"chosen over {self.runner_up.name}, which also fits",) if self.runner_up else ()


def choose(schema: TableSchema, names: Sequence[str], fits: Callable[[Column], bool]) -> Choice | None:
    """Return the column with the clearest name among those that fit; None when no column fits.

    Among equal names a column with an index, then one without nulls, then the first is chosen.
    """
    found = [column for column in schema.columns if is_called(column, names) and fits(column)]
    found.sort(
        key=lambda column: (names.index(plain(column.name)), not schema.has_index_on(column.name), column.nullable)
    )
    return Choice(found[0], found[1] if len(found) > 1 else None) if found else None
