"""Starts the dashboard as a process of its own, and says beforehand whether it can be served."""

import ipaddress
import os
import signal
import socket
import sys
from collections.abc import Callable

from app.config import Settings
from app.errors import InputError
from app.local.children import spawn, stop

STOPS_S = 10.0


def argv() -> list[str]:
    """The command of the web process, without the working folder on its path (as `app.local.stack`)."""
    return [sys.executable, "-P", "-m", "app.web"]


def address(settings: Settings) -> str:
    """The URL at which a browser on this machine finds it."""
    host, _, port = settings.web_listen.rpartition(":")
    at_all = ipaddress.ip_address(host.strip("[]")).is_unspecified
    return f"http://{'127.0.0.1' if at_all else host}:{port}/"


def check(settings: Settings) -> None:
    """Whether it may be served there. Raises InputError: elsewhere than on loopback it wants a login."""
    host = settings.web_listen.rpartition(":")[0].strip("[]")
    is_open = not settings.web_users and not settings.web_proxy
    if is_open and not ipaddress.ip_address(host).is_loopback:
        raise InputError(
            f"TIPTOE_WEB_LISTEN={settings.web_listen}",
            "is not loopback, and there is no login; make a user with `tiptoe web --new-user NAME`",
        )


def bound(settings: Settings) -> socket.socket:
    """A socket that listens there. Raises InputError: the port is taken, or the address is not this machine's."""
    host, _, port = settings.web_listen.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # by this asyncio knows that it may not delay
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, int(port)))
        made.listen(128)
    except OSError as error:
        made.close()
        remedy = f"cannot be listened on ({error.strerror}); set TIPTOE_WEB_LISTEN to another address and port"
        raise InputError(settings.web_listen, remedy) from error
    return made


def run(database_url: str, broker_url: str | None, *, started: Callable[[], None]) -> int:
    """Run the web process in the foreground until it ends, or we are to. Returns its exit code."""
    env = {**os.environ, "TIPTOE_DATABASE_URL": database_url}
    if broker_url:
        env["TIPTOE_BROKER_URL"] = broker_url
    child = spawn(argv(), env=env, log_path=None, death_signal=signal.SIGTERM)
    try:
        started()
        return child.wait()
    finally:
        stop(child, signal=signal.SIGTERM, timeout_s=STOPS_S)
