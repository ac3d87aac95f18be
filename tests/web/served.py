"""The dashboard on a free port of loopback, in a thread of this process, and a browser for it."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode, urlsplit

import requests
from sqlalchemy import Engine
from starlette.applications import Starlette

from app.config import Settings, load
from app.local import dashboard
from app.runtime.slow_clients import SlowClients
from app.web.app import PAGE_S, make_app
from app.web.serve import WebConnection, WebServer
from tests.crawl.web import NETWORKS
from tests.faults import waiting

TIMEOUT_S = 30


@dataclass
class Browser:
    """A person's browser: it keeps cookies, and sends a form's token with the form."""

    url: str
    app: Starlette
    session: requests.Session = field(default_factory=requests.Session)

    def get(self, path: str, **more: object) -> requests.Response:
        return self.session.get(f"{self.url}{path}", allow_redirects=False, timeout=TIMEOUT_S, **more)  # type: ignore[arg-type]

    def until(self, path: str, words: str) -> requests.Response:
        """Ask as a page does for a part that is being made, until it has these words. Raises AssertionError."""
        return waiting.until(
            lambda: answer if words in (answer := self.get(path)).text else None, f"{words!r} on {path}"
        )

    def post(self, path: str, **fields: str) -> requests.Response:
        """Send a form as a browser would, after the page that has it."""
        form = f"{path}?{urlencode({'subject': fields.get('subject', '')})}" if path.startswith("/act/") else "/"
        token = token_of(self.get(form).text)
        return self.send(path, {"token": token, **fields})

    def send(self, path: str, fields: dict[str, str], **headers: str) -> requests.Response:
        return self.session.post(
            f"{self.url}{path}", data=fields, headers=headers, allow_redirects=False, timeout=TIMEOUT_S
        )

    @property
    def entrance(self) -> str:
        """A URL that opens the dashboard: where a token is the login, with a new one."""
        settings = self.app.state.board.settings
        return f"{self.url}/?{urlsplit(dashboard.invite(settings)).query}"

    @property
    def cookies(self) -> str:
        """Its cookies, as a header."""
        return "; ".join(f"{each.name}={each.value}" for each in self.session.cookies)

    def anew(self) -> "Browser":
        """Another browser, without cookies."""
        return Browser(self.url, self.app)

    def entered(self) -> "Browser":
        """Another browser, which opened it by the URL that was printed."""
        other = self.anew()
        other.session.get(self.entrance, timeout=TIMEOUT_S, allow_redirects=False)
        return other


def token_of(page: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', page)
    return unescape(found[1]) if found else ""


def settings_of(database_url: str, **overrides: object) -> Settings:
    values: dict[str, object] = {
        "_env_file": None,
        "database_url": database_url,
        "allow_networks": NETWORKS,
        "web_listen": "127.0.0.1:0",
        "contact": "you@example.org",
    }
    return load(**{**values, **overrides})


@contextmanager
def served(
    engine: Engine,
    settings: Settings,
    *,
    clients: SlowClients[WebConnection] | None = None,
    bound: socket.socket | None = None,
    page_s: float = PAGE_S,
) -> Iterator[Browser]:
    """Serve until the block ends. Its socket listens from the start, so no request comes too early.

    bound: a socket that listens already, to which clients may be connected.   page_s: that a page may take
    """
    with closing(bound or dashboard.bound(settings)) as listening, TemporaryDirectory(prefix="tiptoe-") as folder:
        home = settings.home if settings.home.is_absolute() else Path(folder)
        app = make_app(settings.model_copy(update={"home": home}), engine, page_s=page_s)
        server = WebServer(app, clients)
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            browser = Browser(f"http://127.0.0.1:{port}", app)
            yield browser.entered() if app.state.board.users.is_by_token else browser
        finally:
            server.should_exit = True
            thread.join()
