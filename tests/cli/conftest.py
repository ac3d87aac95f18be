"""tiptoe: run a command in this process, against the module's database.   site: one of a small web, crawled as
`docs`."""

import functools
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from app.browser import find
from app.browser.values import BrowserProblem, Chromium
from app.cli import make_app
from app.crawl.state.setup import make_sender, make_worker
from tests.crawl import loop
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import clean


@dataclass(frozen=True)
class Ran:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Terminal(io.StringIO):
    """What `redirect_stdout` takes for a terminal."""

    def isatty(self) -> bool:
        return True


Tiptoe = Callable[..., Ran]
_trial = find.trial


def run(*args: str, stdin: str | bytes | None = None) -> Ran:
    with CliRunner().isolation(input=stdin) as (out, err, _):
        with pytest.raises(SystemExit) as ended:
            command_tree().main(args=args, prog_name="tiptoe")
        sys.stdout.flush()
        sys.stderr.flush()
        code = ended.value.code
        assert isinstance(code, int)
        return Ran(code, out.getvalue().decode(), err.getvalue().decode())


@functools.cache
def command_tree() -> Any:
    """The tree of commands, which holds nothing from one run to the next: to make it takes longer than most runs."""
    return typer.main.get_command(make_app())


@functools.cache
def _tried(chromium: Chromium) -> BrowserProblem | None:
    """What `doctor` finds of this machine's browser, by a trial like any other: each takes half a second of CPU."""
    return _trial(chromium)


@pytest.fixture
def tiptoe(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tiptoe:
    """No .env of whoever runs the tests, a database that is there, and a browser that was tried once."""
    monkeypatch.setattr(find, "trial", _tried)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIPTOE_DATABASE_URL", database_url)
    monkeypatch.setenv("TIPTOE_CONTACT", "you@example.org")
    monkeypatch.setenv("TIPTOE_ALLOW_NETWORKS", "127.0.0.0/8")
    return run


@pytest.fixture(scope="module")
def site(database_url: str) -> Iterator[Site]:
    """Crawled to its end once for the module; its server answers until the module's last test."""
    settings = loop.make_settings(database_url)
    sender = make_sender(settings)
    with clean(database_url) as engine, Web() as web:
        site = web.site()
        site.robots = "User-agent: *\nDisallow: /private\nSitemap: http://a.test/sitemap.xml\n"
        site.pages |= {
            "/": html("/a", "/private/x", "/broken", "http://elsewhere.test/"),
            "/a": html(title="Page \x1b[31mA", text="Words of its own."),
            "/broken": Answer(status=500),
        }
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:0")
        loop.start(worker, site.url(), name="docs")
        loop.run(worker)
        yield site
    sender.close()
