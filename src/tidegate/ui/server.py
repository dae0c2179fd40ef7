"""Serve the live page over HTTP: read-only, for whoever has the token, under the names that the user allowed.

What protects the page
 * A token, compared in constant time. The address that the command prints carries it once; from then on a cookie does,
   which scripts cannot read.
 * The name in the Host header. A web site whose name is made to point to this machine is refused.
 * A content security policy that allows files of this server only, and no frame around the page.
 * Only GET and HEAD. Nothing here changes anything.
"""

from __future__ import annotations

import hmac
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tidegate._version import __version__
from tidegate.errors import ConfigError
from tidegate.reports.live import Shown, asset_of, content_of, frame, icon
from tidegate.ui.watch import Watch

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MOST_READERS = 32
"""How many browsers may watch at the same time: each has a thread."""
_HEARTBEAT_SECONDS = 15.0
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_NO_TOKEN = "This page needs its token: open the address that `tidegate ui` printed when it started.\n"
_OTHER_HOST = "This server is not reached under this name. `tidegate ui --allow-host NAME` allows another one.\n"


@dataclass(frozen=True)
class Door:
    """Who may come in: the token, and the names of this server."""

    token: str
    names: frozenset[str]

    def knows_host(self, header: str | None) -> bool:
        """Return whether a Host header names this server, whatever its port is: a tunnel may have another one."""
        try:
            return (urlsplit(f"//{header}").hostname or "") in self.names
        except ValueError:
            return False

    def opens(self, token: str | None) -> bool:
        return hmac.compare_digest((token or "").encode(), self.token.encode())


class LiveServer:
    """The server of one project's live page. `serve` returns when `close` is called."""

    def __init__(self, watch: Watch, host: str, port: int, token: str, names: Iterable[str] = ()) -> None:
        self._watch = watch
        door = Door(token, frozenset(name.lower() for name in (*LOOPBACK, host, *names)))
        try:
            self._server = _Server((host, port), _handler_of(watch, door))
        except OSError as problem:
            raise ConfigError(
                f"Nothing can listen at {host}, port {port}: {problem.strerror or problem}.",
                "No page is served.",
                "`--port 0` takes any free port.",
            ) from None
        self.port: int = self._server.server_address[1]
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        self.place = f"http://{shown}:{self.port}/"

    @property
    def address(self) -> str:
        """Return the address with the token, for the user who started the page."""
        return f"{self.place}?token={self._server.token}"

    def serve(self) -> None:
        self._watch.start()
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        self._watch.close()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], handler: type[_Handler]) -> None:
        import socket

        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.token = handler.door.token
        super().__init__(address, handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser that went away is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    wbufsize = 1 << 16  # headers and body leave together
    watch: Watch
    door: Door
    readers: threading.BoundedSemaphore

    def version_string(self) -> str:
        return "tidegate"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the first address has the token in it."""

    def do_GET(self) -> None:
        if not self.door.knows_host(self.headers.get("Host")):
            self._answer(421, "text/plain", _OTHER_HOST)
            return
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if "token" in query:
            self._come_in(path, query["token"][0])
        elif not self.door.opens(self._token()):
            self._answer(401, "text/plain", _NO_TOKEN, {"WWW-Authenticate": 'Bearer realm="tidegate ui"'})
        elif path == "/events":
            self._events()
        else:
            self._show(path, query)

    do_HEAD = do_GET

    def _come_in(self, path: str, token: str) -> None:
        """Turn the token of the address into a cookie, and lead on to the address without it."""
        if not self.door.opens(token):
            self._answer(401, "text/plain", _NO_TOKEN)
            return
        cookie = f"{self._cookie}={token}; HttpOnly; SameSite=Lax; Path=/"
        self._answer(303, "text/plain", "", {"Location": path, "Set-Cookie": cookie})

    @property
    def _cookie(self) -> str:
        """Return the name of the cookie: browsers do not keep the cookies of two ports apart."""
        return f"tidegate-{self.server.server_address[1]}"  # type: ignore[index]

    def _token(self) -> str | None:
        scheme, _, given = (self.headers.get("Authorization") or "").partition(" ")
        if scheme.lower() == "bearer":
            return given.strip()
        try:
            found = SimpleCookie(self.headers.get("Cookie") or "").get(self._cookie)
        except CookieError:
            return None
        return found.value if found else None

    def _show(self, path: str, query: dict[str, list[str]]) -> None:
        shown = self.watch.shown
        found: tuple[str, str] | None = None
        if path == "/":
            found = "text/html", frame(__version__)
        elif path == "/icon.svg":
            found = "image/svg+xml", icon()
        elif path == "/facts.json":
            found = "application/json", json.dumps(shown.look.raw or {}, default=str)
        elif path == "/table":
            content = content_of(shown.facts, query.get("name", [""])[0])
            found = ("text/html", content) if content is not None else None
        elif path.startswith("/parts/"):
            part = shown.parts.get(path.removeprefix("/parts/"))
            found = ("text/html", part) if part is not None else None
        else:
            found = asset_of(path)
        if found is None:
            self._answer(404, "text/plain", "There is no such page.\n")
        else:
            self._answer(200, *found)

    def _answer(self, status: int, kind: str, text: str, further: dict[str, str] | None = None) -> None:
        body = text.encode("utf-8")
        self.send_response(status)
        own = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        for name, value in {**_HEADERS, **own, **(further or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _events(self) -> None:
        """Send the tags of all parts whenever one changes, until the browser leaves or the server ends."""
        if self.command == "HEAD" or not self.readers.acquire(blocking=False):
            self._answer(503, "text/plain", "Too many browsers watch this page.\n")
            return
        self.watch.reader_came()
        try:
            self.send_response(200)
            for name, value in {**_HEADERS, "Content-Type": "text/event-stream", "Connection": "close"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.close_connection = True
            self._send_changes()
        except OSError:
            return  # the browser left
        finally:
            self.watch.reader_left()
            self.readers.release()

    def _send_changes(self) -> None:
        sent: Shown | None = None
        while not self.watch.is_closed:
            shown = self.watch.changed_since(sent, _HEARTBEAT_SECONDS)
            if shown is sent:
                self.wfile.write(b": still here\n\n")
            else:
                self.wfile.write(f"event: parts\ndata: {json.dumps(dict(shown.tags))}\n\n".encode())
            sent = shown
            self.wfile.flush()


def _handler_of(watch: Watch, door: Door) -> type[_Handler]:
    readers = threading.BoundedSemaphore(MOST_READERS)
    return type("Handler", (_Handler,), {"watch": watch, "door": door, "readers": readers})
