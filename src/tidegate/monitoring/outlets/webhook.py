"""Webhook: alerts as one JSON document by POST."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

from tidegate.config.monitoring import Webhook
from tidegate.errors import TidegateError
from tidegate.model.health import News, Snapshot
from tidegate.monitoring.outlets import document_of

TIMEOUT = 15


def post(health: Snapshot, webhook: Webhook, news: News) -> None:
    """Send what is new. Raises TidegateError for any answer but success."""
    document = document_of(health, news)
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
