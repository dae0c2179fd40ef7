"""The command ui."""

from __future__ import annotations

import os
import secrets
import signal
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options, config_option, open_project

if TYPE_CHECKING:
    from tidegate.cli.output import Output

TOKEN = "TIDEGATE_UI_TOKEN"
_SHORTEST_TOKEN = 16


@click.command()
@config_option
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", help="A further name in the address of the browser."
)
@click.option(
    "--refresh",
    type=click.FloatRange(5),
    default=60.0,
    show_default=True,
    help="Seconds between two looks at source, lake and target, while the page is open.",
)
@click.option("--open", "is_opened", is_flag=True, help="Open the page in the browser of this machine.")
@command_options
def ui(
    config: Path, port: int, host: str, names: tuple[str, ...], refresh: float, is_opened: bool, output: Output
) -> int:
    """Serve a live page about the project, read-only, until Ctrl+C.

    It needs the token in the address that is printed; TIDEGATE_UI_TOKEN sets one that stays. It starts no Spark. It
    speaks HTTP without encryption, so beyond this machine put it behind a tunnel or a proxy.

    Example: tidegate ui --port 8642
    """
    from tidegate.ui.server import LiveServer
    from tidegate.ui.watch import Watch

    open_project(config, output)  # a mistake in the file is told here, not on the page
    watch = Watch(lambda: open_project(config, output), refresh)
    server = LiveServer(watch, host, port, _token(), names)
    output.facts({"address": server.address}, f"{server.address}\nCtrl+C ends it.")
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.close).start())
    if is_opened:
        webbrowser.open(server.address)
    try:
        server.serve()
    except KeyboardInterrupt:
        threading.Thread(target=server.close, daemon=True).start()
    return 0


def _token() -> str:
    """Return the token of the environment, or a new one."""
    given = os.environ.get(TOKEN, "")
    if not given:
        return secrets.token_urlsafe(24)
    if len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.replace("-", "").replace("_", "").isalnum():
        from tidegate.errors import ConfigError

        raise ConfigError(
            f"{TOKEN} must have at least {_SHORTEST_TOKEN} letters, digits, - or _.", "No page is served."
        )
    return given
