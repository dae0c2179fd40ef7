"""Webhook: alerts as one JSON document by POST."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from tidegate.config.monitoring import Webhook
from tidegate.errors import TidegateError
from tidegate.model.health import Snapshot
from tidegate.monitoring.outlets import text_of

TIMEOUT = 15


def post(health: Snapshot, webhook: Webhook) -> None:
    """Send the alerts that are urgent enough; nothing without any. Raises TidegateError for any answer but success."""
    alerts = health.at_least(webhook.at_least)
    if not alerts:
        return
    document: Any = {**health.to_dict(), "text": text_of(health, alerts)}
    if webhook.text_key:
        document = {webhook.text_key: document["text"]}
    headers = {"Content-Type": "application/json", "User-Agent": "tidegate", **webhook.headers}
    request = urllib.request.Request(webhook.url, json.dumps(document, default=str).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT):
            return
    except urllib.error.HTTPError as answer:
        answer.close()
        raise TidegateError(f"the receiver answered {answer.code}.") from None
    except (urllib.error.URLError, ValueError, OSError) as problem:
        reason = getattr(problem, "reason", None) or type(problem).__name__
        raise TidegateError(f"the receiver could not be reached: {reason}.") from None
