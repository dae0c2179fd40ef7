"""The settings of a bucket, from the words of `lake: {store: …}` to those of obstore."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""Settings as a value that can be hashed, so that one process opens one store."""

_RETRIES = "retries"
# What concerns the connection, by the names of the HTTP client.
_CLIENT = {"ca_file": "root_certificate", "allow_http": "allow_http", "timeout": "timeout", _RETRIES: _RETRIES}
_STORE = {"encryption": "server_side_encryption", "kms_key_id": "sse_kms_key_id"}
# Credentials of this process go with the tasks: other machines may have none, or others. Without any, the store asks
# the machine or the container that it runs in.
_ENVIRONMENT = {
    "access_key_id": "AWS_ACCESS_KEY_ID",
    "secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "session_token": "AWS_SESSION_TOKEN",
    "region": "AWS_REGION",
    "endpoint": "AWS_ENDPOINT_URL",
}


def read_settings(url: str, settings: Mapping[str, str]) -> tuple[Pairs, Pairs]:
    """Return the settings of the store and those of its connections."""
    given = {**_from_environment(url), **settings}
    client = {_CLIENT[name]: value for name, value in given.items() if name in _CLIENT}
    if given.get("endpoint", "").startswith("http://"):
        client["allow_http"] = "true"
    store = {_STORE.get(name, name): value for name, value in given.items() if name not in _CLIENT}
    if "path_style" in store:
        store["virtual_hosted_style_request"] = "false" if store.pop("path_style") == "true" else "true"
    return tuple(sorted(store.items())), tuple(sorted(client.items()))


def _from_environment(url: str) -> dict[str, str]:
    if not url.startswith(("s3://", "s3a://")):
        return {}
    return {name: os.environ[variable] for name, variable in _ENVIRONMENT.items() if os.environ.get(variable)}


@functools.lru_cache(maxsize=32)
def opened_store(url: str, options: Pairs, client: Pairs) -> Any:
    """Return the store of a bucket; one for each process, since it keeps connections."""
    from obstore.store import from_url

    config: Any = dict(options) or None
    given = dict(client)
    retries: Any = {"max_retries": int(given.pop(_RETRIES))} if _RETRIES in given else None
    return from_url(url, config=config, client_options=_client_options(given), retry_config=retries)


def _client_options(client: Mapping[str, str]) -> Any:
    options: dict[str, Any] = {
        name: value == "true" if value in ("true", "false") else value for name, value in client.items()
    }
    if "root_certificate" in options:
        options["root_certificate"] = Path(options["root_certificate"]).read_bytes()
    return options or None
