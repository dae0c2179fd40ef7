"""The settings of `monitoring:`: when an alert is raised, and where figures and alerts go."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from tidegate.settings import Count, CountFromZero, Duration, Names, Settings, Share, Size, Text, wrong

HOUR, DAY = 3600, 86_400
WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Severity = Literal["info", "warning", "critical"]


def _days(value: Any) -> Any:
    named = {"daily": WEEK, "weekdays": WEEK[:5]}
    found = named.get(value, (value,) if isinstance(value, str) else value)
    if not isinstance(found, (list, tuple)) or not found or not {str(day).lower()[:3] for day in found} <= {*WEEK}:
        raise wrong("must be `daily`, `weekdays`, or a list of days such as [mon, tue]")
    return tuple(str(day).lower()[:3] for day in found)


def _factor(value: Any) -> Any:
    if isinstance(value, bool):
        raise wrong("must be a number of 1 or more")
    return value


def _time_of_day(value: Any) -> Any:
    # YAML takes 07:30 without quotes for a number of base 60.
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 24 * 60:
        return f"{value // 60:02}:{value % 60:02}"
    try:
        time.fromisoformat(str(value))
    except ValueError:
        raise wrong('must be a time of day, as in "07:30"') from None
    return str(value)


Factor = Annotated[float, BeforeValidator(_factor), Field(ge=1, allow_inf_nan=False)]
TimeOfDay = Annotated[str, BeforeValidator(_time_of_day)]


class Thresholds(Settings):
    """When an alert is raised. A threshold of `null` switches its alert off."""

    no_load: Duration | None = DAY
    """Critical: no run of the table succeeded for this long, not even one that had nothing to do."""
    unmoved: Duration | None = 2 * DAY
    """Warning: runs succeed, and for this long no row was loaded. Days that the calendar leaves out do not count."""
    proof_age: Duration | None = 7 * DAY
    """Warning: for this long no load and no `verify` compared source and target."""
    slow: Factor | None = 5.0
    """Warning: the newest run took more than so many times as long as it usually does; a switch likewise."""
    slow_from: Duration = 10
    """A run of fewer seconds is never called slow; a switch of fewer than a tenth of them neither."""
    success_rate: Share | None = 0.99
    """Warning: a smaller share of the loads succeeded, and of the switches."""
    calendar: Annotated[tuple[str, ...], BeforeValidator(_days)] = WEEK
    """The days that have data: `daily`, `weekdays`, or a list of days."""
    holidays: tuple[date, ...] = ()
    """Days of the calendar that have no data."""
    due: TimeOfDay | None = None
    """When the data of a day must be in the target, as in "07:30". Without it, nothing is called late."""
    timezone: Text = "UTC"
    """The time zone of `due` and of the calendar."""
    lag: CountFromZero = 1
    """How many days of the calendar the newest value may be behind when it is due: 1 is yesterday's value."""

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError):
            raise wrong("must be the name of a time zone, as in Europe/London") from None
        return value


class Webhook(Settings):
    """An address that gets the alerts as one JSON document by POST. A URL alone is enough."""

    url: Text = Field(repr=False)
    """Where the document goes. It may hold a secret: write `${WEBHOOK_URL}`."""
    headers: Mapping[str, str] = Field(default={}, repr=False)
    """Further headers, as in `{Authorization: Bearer ${TOKEN}}`."""
    at_least: Severity = "warning"
    """Alerts of this severity and above are sent."""
    text_key: Text | None = None
    """Send only `{<this key>: text}`, as chat services take it: `text` for Slack, Teams and Mattermost."""

    @model_validator(mode="before")
    @classmethod
    def _from_url(cls, given: Any) -> Any:
        return {"url": given} if isinstance(given, str) else given


class Command(Settings):
    """A program that gets the alerts as one JSON document on its standard input. A list of words alone is enough."""

    run: Names
    """The program with its arguments. No shell reads them."""
    at_least: Severity = "warning"
    """Alerts of this severity and above start the program."""
    timeout: Duration = 60
    """After how many seconds the program is ended."""

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, given: Any) -> Any:
        return {"run": given} if isinstance(given, (str, list, tuple)) else given


class Apprise(Settings):
    """Notifications by the library apprise: mail, Slack, Teams, PagerDuty, and a hundred more."""

    urls: Names = Field(repr=False)
    """Addresses as apprise writes them. They hold secrets: write `${ALERT_URL}`."""
    at_least: Severity = "warning"
    """Alerts of this severity and above are sent."""

    @model_validator(mode="before")
    @classmethod
    def _from_urls(cls, given: Any) -> Any:
        return {"urls": given} if isinstance(given, (str, list, tuple)) else given


class OpenLineageSettings(Settings):
    """Where events of OpenLineage go. A URL alone is enough."""

    url: Text
    """The address of the receiver, as in http://marquez:5000. `file:events.jsonl` writes to a file."""
    namespace: Text = "tidegate"
    """The namespace of the jobs."""
    api_key: Text | None = Field(default=None, repr=False)
    """The key that the receiver asks for."""

    @model_validator(mode="before")
    @classmethod
    def _from_url(cls, given: Any) -> Any:
        return {"url": given} if isinstance(given, str) else given


class MonitoringSettings(Thresholds):
    """When an alert is raised, and where figures and alerts go. `tables` has other thresholds for some tables."""

    staging_bytes: Size | None = 10 * 2**30
    """Warning: staging tables and archives of replaced partitions have more bytes together."""
    parallel_efficiency: Share | None = 0.5
    """Warning: parallel loads of the newest run used a smaller share of the connections that they had."""
    recent: Duration = DAY
    """Infos tell what happened in this time: partitions that were created, work by hand, other settings."""
    window: Duration = 7 * DAY
    """The success rate counts loads of this time."""
    repeat: Duration | None = DAY
    """An alert that still holds is sent again after this time. With `null`, it is sent once, and when it ended."""
    history: Count = 200
    """How many runs of the history are read, at most."""
    tables: Mapping[str, Mapping[str, Any]] = {}
    """Other thresholds by table or pattern: `{"sales_*": {unmoved: 1 hour}}`. The first that matches holds."""
    after_run: bool = True
    """Whether figures and alerts go out after each run, repair or verification, too, not only by `tidegate monitor`."""
    prometheus: Path | None = None
    """A file for the textfile collector of the node exporter, as in /var/lib/node_exporter/tidegate.prom."""
    webhook: Webhook | None = None
    """An address that gets the alerts by POST."""
    command: Command | None = None
    """A program that gets the alerts on its standard input."""
    apprise: Apprise | None = None
    """Notifications by apprise; needs the extra `notify`."""
    opentelemetry: Text | None = None
    """An OTLP receiver by HTTP, as in http://localhost:4318; needs the extra `opentelemetry`."""
    openlineage: OpenLineageSettings | None = None
    """A receiver of lineage; needs the extra `openlineage`."""

    @field_validator("prometheus")
    @classmethod
    def _beside_the_configuration(cls, given: Path | None, seen: ValidationInfo) -> Path | None:
        return given and ((seen.context or {}).get("folder", Path()) / given.expanduser()).absolute()

    @field_validator("tables")
    @classmethod
    def _known_thresholds(cls, given: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        known = Thresholds.setting_names()
        for name, thresholds in given.items():
            for key in thresholds:
                if key not in known:
                    raise wrong(f"has `{key}` for {name}, which is no threshold; there are {', '.join(known)}")
            Thresholds.model_validate(thresholds)
        return given

    def for_table(self, table: str) -> Thresholds:
        """Return the thresholds of a table."""
        own = next((own for name, own in self.tables.items() if fnmatchcase(table.lower(), name.lower())), {})
        shared = {name: getattr(self, name) for name in Thresholds.model_fields}
        return Thresholds.model_validate({**shared, **own})

    @property
    def outlets(self) -> list[str]:
        """Return the names of the outlets that are set."""
        names = ("prometheus", "webhook", "command", "apprise", "opentelemetry", "openlineage")
        return [name for name in names if getattr(self, name) is not None]

    @property
    def secrets(self) -> list[str]:
        """Return what must not be printed: addresses with tokens in them, and headers."""
        hidden = [] if self.webhook is None else [self.webhook.url, *self.webhook.headers.values()]
        hidden += [] if self.apprise is None else list(self.apprise.urls)
        if self.openlineage is not None and self.openlineage.api_key:
            hidden.append(self.openlineage.api_key)
        return hidden
