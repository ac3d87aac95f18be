"""Finds out who may look and who may steer: users of the settings, a proxy's word, or a token that was printed.

A session is a signed value in a cookie: nothing is stored, and a new
password ends the sessions of the old one.
"""

import hmac
import ipaddress
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from starlette.datastructures import Headers

from app.config import Settings
from app.config.values import ANYONE, Network
from app.local import dashboard
from app.policy.passwords import as_octets, as_text, matches

SESSION_S = 12 * 3600
LOCAL_S = 30 * 24 * 3600  # it ends with the process, too
WRONG_MOST, WRONG_WITHIN_S = 10, 60.0
LOCAL = "local"  # on loopback without users: whoever had the token of the printed URL


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A person at a browser. name: None for nobody in particular.   seat: what their forms are tied to"""

    name: str | None
    may_steer: bool
    seat: str


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user of the settings. hash: "" for one who only comes by a proxy."""

    name: str
    may_steer: bool
    hash: str


class Users:
    """The users of one process. clock: seconds since the epoch."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self.is_by_token = dashboard.is_by_token(settings)
        self._home = settings.home
        parts = [value.split(":") for value in settings.web_users]
        named = [User(name=name, may_steer=role == "steer", hash="".join(rest)) for name, role, *rest in parts]
        self._users = {user.name: user for user in named if user.name != ANYONE}
        self._anyone_reads = any(user.name == ANYONE for user in named)
        self._header, self._network = _proxy(settings.web_proxy)
        self._clock = clock
        self._wrong: deque[float] = deque(maxlen=WRONG_MOST)
        self._trying = threading.Lock()
        # A hash is what nobody else knows: names alone could be guessed, and a session signed by whoever does.
        self._key = sha256("\n".join(settings.web_users if self.has_login else [secrets.token_hex(32)]).encode())

    @property
    def has_login(self) -> bool:
        return any(user.hash for user in self._users.values())

    @property
    def is_held(self) -> bool:
        """Whether there were too many wrong passwords: others are not even tried for a while."""
        return len(self._wrong) == WRONG_MOST and self._clock() - self._wrong[0] < WRONG_WITHIN_S

    def login(self, name: str, password: str) -> str | None:
        """A session for the right password, else None. An unknown name takes as long as a wrong password.

        One try at a time: many at once would take 16 MiB each, and be more than are allowed.
        """
        user = self._users.get(name)
        kept = user.hash if user is not None and user.hash else _NOBODY
        with self._trying:
            if self.is_held:
                return None
            right = matches(password, kept)
            if right and user is not None and user.hash:
                return self._session(name, SESSION_S)
            self._wrong.append(self._clock())
            return None

    def admit(self, token: str) -> str | None:
        """A session for a token that was not used before, else None."""
        return self._session(LOCAL, LOCAL_S) if dashboard.admit(self._home, token) else None

    def viewer(self, *, session: str, seat: str, client: str, headers: Headers) -> Viewer | None:
        """The person behind a request; None: a login is wanted.   seat: the cookie of browsers without a session"""
        if self.is_by_token:
            is_local = self._by_session(session) == LOCAL
            return Viewer(name=LOCAL, may_steer=True, seat=seat) if is_local else None
        name = self._by_session(session) or self._by_proxy(client, headers)
        if name is not None:
            user = self._users.get(name)
            return Viewer(name=name, may_steer=user is not None and user.may_steer, seat=session or name)
        return Viewer(name=None, may_steer=False, seat=seat) if self._anyone_reads else None

    def token(self, seat: str) -> str:
        """The token that a form of this seat must send."""
        return self._sign(f"form\n{seat}")

    def _session(self, name: str, seconds: int) -> str:
        until = f"{name}\n{int(self._clock()) + seconds}"
        return f"{as_text(until.encode())}.{self._sign(until)}"

    def _by_session(self, session: str) -> str | None:
        try:
            until = as_octets(session.partition(".")[0]).decode()
        except ValueError:
            return None
        name, _, end = until.partition("\n")
        signed = session.partition(".")[2].encode("utf-8", "replace")  # a cookie in quotes holds any character
        if not hmac.compare_digest(self._sign(until).encode(), signed) or int(end) < self._clock():
            return None
        if self.is_by_token:
            return name
        user = self._users.get(name)
        return name if user is not None and user.hash else None  # others never log in here

    def _by_proxy(self, client: str, headers: Headers) -> str | None:
        if not self._header or self._network is None:
            return None
        try:
            is_proxy = ipaddress.ip_address(client) in self._network
        except ValueError:
            return None
        names = headers.getlist(self._header) if is_proxy else []
        return names[0] or None if len(names) == 1 else None  # of two, one may be the client's own

    def _sign(self, text: str) -> str:
        return as_text(hmac.digest(self._key.digest(), text.encode(), "sha256"))


def _proxy(setting: str | None) -> tuple[str, Network | None]:
    header, _, network = (setting or "").partition("=")
    return header.lower(), ipaddress.ip_network(network) if network else None


_NOBODY = f"scrypt.{as_text(bytes(16))}.{as_text(bytes(32))}"
