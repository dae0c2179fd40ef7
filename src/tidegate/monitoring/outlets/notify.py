"""Notifications by apprise, which knows a hundred services by URL."""

from __future__ import annotations

from tidegate.config.monitoring import Apprise
from tidegate.errors import TidegateError, Unsupported
from tidegate.model.health import News, Snapshot
from tidegate.monitoring.outlets import text_of


def notify(health: Snapshot, settings: Apprise, news: News) -> None:
    """Send what is new. Raises TidegateError when a service did not take it."""
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
    head, _, body = text_of(health, news).partition("\n")
    kind = {"critical": apprise.NotifyType.FAILURE, "warning": apprise.NotifyType.WARNING}
    worst = news.alerts[0].severity if news.alerts else "info"
    # It returns False instead of raising.
    if not sender.notify(title=head, body=body, notify_type=kind.get(worst, apprise.NotifyType.INFO)):
        raise TidegateError("a service of apprise did not take the notification.")
