"""Notifications by apprise, which knows a hundred services by URL."""

from __future__ import annotations

from tidegate.config.monitoring import Apprise
from tidegate.errors import TidegateError, Unsupported
from tidegate.model.health import Snapshot
from tidegate.monitoring.outlets import text_of


def notify(health: Snapshot, settings: Apprise) -> None:
    """Send the alerts that are urgent enough. Raises TidegateError when a service did not take them."""
    alerts = health.at_least(settings.at_least)
    if not alerts:
        return
    try:
        import apprise
    except ImportError:
        raise Unsupported(
            "apprise is not installed.", "Nothing was sent.", 'Run `pip install "tidegate[notify]"`.'
        ) from None
    sender = apprise.Apprise()
    for number, url in enumerate(settings.urls, 1):
        if not sender.add(url):
            raise TidegateError(f"apprise does not understand address {number} of {len(settings.urls)}.")
    head, _, body = text_of(health, alerts).partition("\n")
    kind = {"critical": apprise.NotifyType.FAILURE, "warning": apprise.NotifyType.WARNING}
    # It returns False instead of raising.
    if not sender.notify(title=head, body=body, notify_type=kind.get(health.severity, apprise.NotifyType.INFO)):
        raise TidegateError("a service of apprise did not take the notification.")
