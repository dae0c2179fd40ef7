"""A proxy in front of an HTTP server that drops headers, answers late or wrongly, or loses answers."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_OF_A_CONNECTION = {"connection", "transfer-encoding", "content-length", "keep-alive"}


@dataclass
class Faults:
    """What the proxy does to a request. `about` chooses the requests by method and path; each is counted."""

    drops: frozenset[str] = frozenset()
    """Headers that the server does not see, in lower case."""
    about: Callable[[str, str], bool] = lambda method, path: True
    waits: float = 0.0
    """Seconds before the request goes on."""
    fails: int = 0
    """So many of the chosen requests are answered with 503, and the server does not see them."""
    loses: int = 0
    """So many of the chosen requests reach the server, and their answers get lost."""
    seen: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    """Those of the chosen requests, with names in lower case."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def take(self, name: str) -> bool:
        """Use up one of the faults of this name; False when none is left."""
        with self._lock:
            left: int = getattr(self, name)
            setattr(self, name, max(left - 1, 0))
            return left > 0


@contextmanager
def faulty(endpoint: str, faults: Faults) -> Iterator[str]:
    """Yield the address of a proxy to a server."""
    place = urlsplit(endpoint)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            is_chosen = faults.about(self.command, self.path)
            if is_chosen:
                faults.seen.append((self.command, self.path))
                faults.headers.append({name.lower(): value for name, value in self.headers.items()})
                time.sleep(faults.waits)
                if faults.take("fails"):
                    self._answer(503, [], b"<Error><Code>SlowDown</Code></Error>")
                    return
            server = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in faults.drops}
            server.request(self.command, self.path, body or None, headers)
            answer = server.getresponse()
            content = answer.read()
            server.close()
            if is_chosen and faults.take("loses"):
                self.close_connection = True
                self.connection.close()
            else:
                self._answer(answer.status, answer.getheaders(), content)

        def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in _OF_A_CONNECTION:
                    self.send_header(name, value)
            length = {name.lower(): value for name, value in headers}.get("content-length", "0")
            self.send_header("Content-Length", length if self.command == "HEAD" else str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
