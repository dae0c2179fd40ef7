"""Telling names: what columns are usually called when they hold a reporting date, a mark, a flag or a version.

A name is all that a catalog says about the meaning of a column. So the lists are short, the most telling name comes
first, and whoever uses them checks the type as well and says in the file what was taken for what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.model.columns import Column, Shape


def _each(words: str) -> tuple[str, ...]:
    return tuple(words.split())


# The day that a row was reported for.
DAYS = _each(
    "cobid cobdate cobdt cob reportingdate reportdate businessdate bizdate asofdate asof processdate processingdate "
    "valuationdate snapshotdate partitiondate"
)
# A day or a period, but in many tables a mere attribute: versions are believed before these are.
PERIODS = _each("tradedate loaddate periodid period yyyymm yearmonth datekey dateid")

# Which load brought a row.
LOADS = _each("loadid batchid runid etlbatchid etlrunid")
# When a row was last changed.
CHANGES = _each(
    "lastmodified lastmodifiedat lastmodifiedon lastmodifieddate lastupdated lastupdatedat lastupdatedon "
    "lastupdateddate lastupdate lastchanged modifiedat modifiedon modifieddate updatedat updatedon updateddate "
    "updateat updatetime updatets changedat changedon changeddate dbtupdatedat"
)
# What a server itself moves at every change, if the type says so: a counter that an application keeps under such a
# name starts anew in each row.
ROW_VERSIONS = ("rowversion", "rowver", "timestamp")
# When a row came. It does not move when the row is updated in place.
ARRIVALS = _each(
    "loadedat loadtime loadts loadtimestamp loaddatetime loaddate insertedat insertedon inserteddate "
    "createdat createdon createddate"
)

# From when to when a version holds.
STARTS = _each(
    "validfrom validfromdate effectivefrom effectivedate effectivestart effectivestartdate versionstart rowstart "
    "dbtvalidfrom"
)
ENDS = _each(
    "validto validtodate validuntil effectiveto effectiveend effectiveenddate expirydate expirationdate versionend "
    "rowend dbtvalidto"
)
# Whether a version is the one that holds.
FLAGS = _each(
    "islatest iscurrent latestflag currentflag islatestversion iscurrentversion islatestrecord iscurrentrecord "
    "islatestrow iscurrentrow rowiscurrent latestind currentind currentindicator"
)
# The same, or whether a customer is active: a second sign has to agree.
FLAGS_OR_STATES = _each("latest current isactive activeflag activeind active")
VERSIONS = _each("version versionno versionnumber versionnr versionid recordversion revision revisionno")


def plain(name: str) -> str:
    """LastModified, last_modified and `Last Modified` are one name."""
    return re.sub(r"[\W_]", "", name.casefold())


def is_called(column: Column, names: Sequence[str]) -> bool:
    return plain(column.name) in names


@dataclass(frozen=True)
class Choice:
    """The column that was chosen, and the one that it was chosen before."""

    column: Column
    runner_up: Column | None = None

    @property
    def before(self) -> tuple[str, ...]:
        """Says so, for whoever would have chosen the other."""
        return (f"chosen before {self.runner_up.name}, which would fit as well",) if self.runner_up else ()


def choose(shape: Shape, names: Sequence[str], fits: Callable[[Column], bool]) -> Choice | None:
    """The most telling name among the columns that fit; of equal names one with an index, without nulls, the first."""
    found = [column for column in shape.columns if is_called(column, names) and fits(column)]
    found.sort(key=lambda column: (names.index(plain(column.name)), not shape.indexed(column.name), column.nullable))
    return Choice(found[0], found[1] if len(found) > 1 else None) if found else None
