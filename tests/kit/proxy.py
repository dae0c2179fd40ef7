"""A TCP proxy to a real server that breaks one connection at a chosen word."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass, field
from types import TracebackType
from urllib.parse import urlsplit, urlunsplit


@dataclass
class Wire:
    """Forwards all bytes until a connection with this purpose sends the word. That connection is cut, once.

    With `after`, the server still receives the word and acts on it, but only so many bytes of its answer arrive.
    An empty purpose matches every connection. The word is searched in the given encoding.
    """

    url: str
    purpose: str
    word: str
    after: int | None = None
    encoding: str = "utf-8"
    host: str = "127.0.0.1"
    cuts: int = 0
    _listener: socket.socket = field(init=False, repr=False)
    _threads: list[threading.Thread] = field(default_factory=list, repr=False)
    _open: list[socket.socket] = field(default_factory=list, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._listener = socket.create_server((self.host, 0), family=family)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def end(self) -> str:
        """Return the URL that clients connect to."""
        parts = urlsplit(self.url)
        login, host = parts.netloc.rpartition("@")[0], f"[{self.host}]" if ":" in self.host else self.host
        return urlunsplit(parts._replace(netloc=f"{login}@{host}:{self.port}"))

    def __enter__(self) -> Wire:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _shut(self._listener, *self._open)
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        place = urlsplit(self.url)
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((place.hostname, place.port))
                self._open += [client, server]
                muted = threading.Event()
                self._start(self._up, client, server, muted)
                self._start(self._down, client, server, muted)

    def _up(self, client: socket.socket, server: socket.socket, muted: threading.Event) -> None:
        ours, word = not self.purpose, self.word.encode(self.encoding)
        with contextlib.suppress(OSError):
            while sent := client.recv(65536):
                ours = ours or f"tidegate {self.purpose} ".encode() in sent
                if ours and word in sent and self._cut_now():
                    if self.after is None:
                        break
                    muted.set()
                server.sendall(sent)
        if not muted.is_set():
            _shut(client, server)

    def _down(self, client: socket.socket, server: socket.socket, muted: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while (sent := server.recv(65536)) and not muted.is_set():
                client.sendall(sent)
            client.sendall(sent[: self.after or 0])
        _shut(client, server)

    def _cut_now(self) -> bool:
        with self._turn:
            self.cuts += 1
            return self.cuts == 1

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()


def _shut(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
