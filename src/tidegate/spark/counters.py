"""How many rows the running tasks have moved so far, where they run on the machine of the driver.

Spark tells what a task did when the task ends, and a large load is one task. So tasks of this machine also send their
counts as datagrams to a port of the loopback. Each carries a random token, which only the tasks have. They are for
people who watch: one that is lost or comes late changes nothing. Tasks on other machines are counted when they end.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import threading
import time
from dataclasses import dataclass, field

from tidegate.interfaces.worker import Progress

_HOST = "127.0.0.1"
_MOST_BYTES = 512
_PAUSE_SECONDS = 0.5


@dataclass(frozen=True)
class CounterAddress:
    """Where tasks send their counts. It travels in their closure."""

    port: int
    token: str = field(repr=False)

    def progress(self, group: str, member: int = 0) -> Progress:
        """Return a counter that is known to the driver as this member of a group."""
        return _SentProgress(address=self, group=group, member=member)


@dataclass
class _SentProgress(Progress):
    """Sends what it counted, twice a second at most."""

    address: CounterAddress | None = None
    group: str = ""
    member: int = 0
    _sent_at: float = 0.0

    def add(self, rows: int) -> None:
        super().add(rows)
        now = time.monotonic()
        if self.address is None or now - self._sent_at < _PAUSE_SECONDS:
            return
        self._sent_at = now
        told = json.dumps([self.address.token, self.group, self.member, self.rows])
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(told.encode(), (_HOST, self.address.port))


class Counters:
    """The driver's end. Without an `address` only tasks that ended are counted."""

    def __init__(self, *, are_sent: bool) -> None:
        self.ended = Progress()
        """Rows of tasks that ended."""
        self.address: CounterAddress | None = None
        self._socket: socket.socket | None = None
        self._running: dict[str, dict[int, int]] = {}
        self._over: set[str] = set()
        self._lock = threading.Lock()
        if are_sent:
            with contextlib.suppress(OSError):
                self._listen()

    def _listen(self) -> None:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setblocking(False)
        receiver.bind((_HOST, 0))
        self._socket = receiver
        self.address = CounterAddress(receiver.getsockname()[1], secrets.token_urlsafe(16))

    def end(self, group: str, rows: int) -> None:
        """Count the rows of a group that ended, instead of what its tasks sent."""
        with self._lock:
            self._over.add(group)
            self._running.pop(group, None)
            self.ended.add(rows)

    def rows(self) -> int:
        """Return how many rows were moved so far."""
        with self._lock:
            self._receive()
            return self.ended.rows + sum(sum(members.values()) for members in self._running.values())

    def _receive(self) -> None:
        while self._socket is not None:
            try:
                self._note(json.loads(self._socket.recv(_MOST_BYTES)))
            except ValueError:
                continue
            except OSError:  # nothing more has come
                return

    def _note(self, told: object) -> None:
        match told:
            case [str(token), str(group), int(member), int(rows)]:
                expected = self.address.token if self.address else ""
                if secrets.compare_digest(token, expected) and group not in self._over:
                    members = self._running.setdefault(group, {})
                    members[member] = max(members.get(member, 0), rows)  # a task that is repeated begins anew

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
