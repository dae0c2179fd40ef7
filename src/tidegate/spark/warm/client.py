"""The way from a command to a warm engine: a session of Spark Connect, and the lease that keeps the engine running."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.spark.launch import without_fork_handlers
from tidegate.spark.warm import locks
from tidegate.spark.warm.folder import Address, EngineFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEASE_SECONDS = 1.0
_RETRIES = 4  # with pauses of 0.1, 0.3, 0.9 and 2.7 s: an engine on this machine is there or it is gone


@dataclass(frozen=True)
class Lease:
    """The right to use an engine. It is not stopped before the lease is closed."""

    address: Address
    lock: locks.FileLock

    def close(self) -> None:
        self.lock.close()


def lease(folder: EngineFolder) -> Lease | None:
    """Return a lease of the engine in this folder; None where none runs. Raises NotPrivate."""
    if folder.address() is None:
        return None
    lock = locks.take(folder.in_use, shared=True, wait=_LEASE_SECONDS)
    if lock is None:
        return None  # it is being stopped
    try:
        address = folder.address()  # it may have ended before we had the lease
    except BaseException:
        lock.close()
        raise
    if address is None:
        lock.close()
        return None
    return Lease(address, lock)


def connect(address: Address) -> SparkSession:
    """Return a new session. It leaves the process as it was: classic sessions can be opened beside it."""
    without_fork_handlers()
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    class Loopback(DefaultChannelBuilder):
        """pyspark sends a token without TLS only to the name `localhost`, which may be another address than ours."""

        def toChannel(self) -> Any:
            token = grpc.access_token_call_credentials(address.token)
            credentials = grpc.composite_channel_credentials(grpc.local_channel_credentials(), token)
            return self._secure_channel(self.endpoint, credentials)

    direct = [("grpc.enable_http_proxy", 0)]
    builder: Any = ConnectSession.builder
    session = builder.channelBuilder(Loopback(f"sc://127.0.0.1:{address.port}", direct)).create()
    retry = DefaultPolicy(max_retries=_RETRIES, initial_backoff=100, backoff_multiplier=3, max_backoff=3000)
    session.client.set_retry_policies([retry])
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # the error that follows says it
    found: SparkSession = session
    return found


def disconnect(session: Any) -> None:
    """End a session. An engine that is gone has none to end, and is not waited for."""
    session.client.set_retry_policies([])
    with suppress(Exception):
        session.client.release_session()
    with suppress(Exception):
        session.client.close()
