"""Starts the dashboard as a process of its own, says beforehand whether it can be served, and invites people to it.

On loopback without a login only the user who runs it may steer it: other users of the machine reach its port as well.
So its URL is printed with a token, of which home's run/ holds the hash, in a folder that only this user can read. It is
used once: the hash is removed. Whoever may write there may make another.
"""

import fcntl
import ipaddress
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from app.config import Settings
from app.errors import InputError
from app.local.children import spawn, stop
from app.local.home import is_held, open_home, take

INVITED_S = 12 * 3600.0
TOKEN = "token"  # the name of the field in the URL
_INVITED = "web-invited-"


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
    if is_by_token(settings) and not ipaddress.ip_address(host).is_loopback:
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


def is_by_token(settings: Settings) -> bool:
    """Whether a token stands for the login: nobody is named in the settings."""
    return not settings.web_users and not settings.web_proxy


def invite(settings: Settings) -> str:
    """The URL with a new token, which is good for one use within INVITED_S. Without tokens, the plain one."""
    if not is_by_token(settings):
        return address(settings)
    run = open_home(settings.home).run
    for old in run.glob(f"{_INVITED}*"):
        with suppress(FileNotFoundError):  # it is being used
            if _is_old(old):
                old.unlink()
    token = secrets.token_urlsafe(32)
    os.close(os.open(_invitation(run, token), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return f"{address(settings)}?{TOKEN}={token}"


def admit(home: Path, token: str) -> bool:
    """Use a token up. Returns whether it was good."""
    invitation = _invitation(home / "run", token)
    try:
        is_old = _is_old(invitation)
        invitation.unlink()  # of two who come at once, one removes it
    except FileNotFoundError:
        return False
    return not is_old


@contextmanager
def noted(settings: Settings) -> Iterator[None]:
    """Context in which `is_served` tells other commands of this home that this process serves there."""
    if not is_by_token(settings):
        yield
        return
    open_home(settings.home)
    lock = take(_served(settings), fcntl.LOCK_EX, waiting_for="an older dashboard", log=lambda _: None)
    try:
        yield
    finally:
        os.close(lock)


def is_served(settings: Settings) -> bool:
    """Whether a dashboard of this home is served there, to which `invite` leads."""
    place = _served(settings)
    return is_by_token(settings) and place.parent.is_dir() and is_held(place)


def _served(settings: Settings) -> Path:
    return settings.home / "run" / f"web-{settings.web_listen}"


def _invitation(run: Path, token: str) -> Path:
    return run / f"{_INVITED}{sha256(token.encode()).hexdigest()}"


def _is_old(invitation: Path) -> bool:
    return time.time() - invitation.stat().st_mtime > INVITED_S


def run(settings: Settings, *, started: Callable[[], None]) -> int:
    """Run the web process in the foreground until it ends, or we are to. Returns its exit code."""
    assert settings.database_url is not None
    env = {**os.environ, "TIPTOE_DATABASE_URL": settings.database_url, "TIPTOE_HOME": str(settings.home.resolve())}
    if settings.broker_url:
        env["TIPTOE_BROKER_URL"] = settings.broker_url
    child = spawn(argv(), env=env, log_path=None, death_signal=signal.SIGTERM)
    try:
        started()
        return child.wait()
    finally:
        stop(child, signal=signal.SIGTERM, timeout_s=10.0)
