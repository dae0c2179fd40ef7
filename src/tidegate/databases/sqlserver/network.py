"""Whether a server can be reached at all, in words.

Facts that shape this file
 * For a closed port and for an unknown host, the driver tries until its login times out, and then it tells a number
   ("TCP Provider: Error code 0x2749").
 * A named instance without a port is looked up by UDP. A listener of several subnets has addresses that do not answer.
   The driver does both.
"""

from __future__ import annotations

import socket
from functools import lru_cache

from tidegate.errors import Unreachable
from tidegate.model.connection import Connection

_PORT = 1433
_REMEDY = "Check host and port, and that the server is up and listens on TCP."


def require_listener(connection: Connection, timeout: float) -> None:
    """Raise Unreachable for an unknown host, a closed port, and a host that does not answer in time."""
    options = dict(connection.options)
    if (options.get("instance") and not connection.port) or options.get("multi_subnet_failover"):
        return
    problem = _problem(connection.host, connection.port or _PORT, timeout)
    if problem:
        raise Unreachable(f"No connection to {connection.display}: {problem}.", "Nothing was read or written.", _REMEDY)


def _problem(host: str, port: int, timeout: float) -> str:
    try:
        _reach(host, port, timeout)
    except socket.gaierror as error:
        return f"the host name {host} is unknown ({error.strerror})"
    except ConnectionRefusedError:
        return f"nothing listens on port {port} of {host}"
    except TimeoutError:
        return f"{host} did not answer on port {port} within {timeout:g} seconds"
    except OSError as error:
        return f"{host} cannot be reached on port {port} ({error.strerror})"
    return ""


@lru_cache
def _reach(host: str, port: int, timeout: float) -> None:
    """Connect once. A process asks only until it succeeded: later sessions save the round trip."""
    socket.create_connection((host, port), timeout).close()
