"""Credentials of a site of one's own go to that origin alone, never along a redirect, and are kept and shown
nowhere."""

import gzip
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from app.crawl.state.setup import make_sender
from app.crawl.state.worker import Worker
from app.model import Request
from tests.crawl.archiving import Archiving
from tests.crawl.loop import make_settings, run, start
from tests.crawl.web import Site, Web, html, redirect
from tests.store.rows import sql

SECRET = "opensesame"


def test_they_go_to_that_origin_alone_and_are_kept_nowhere(
    database_url: str, make: Callable[..., Worker], web: Web, tmp_path: Path
) -> None:
    own, other = web.site(), web.site()
    own.robots = "User-agent: *\nDisallow:\n"
    own.pages |= {"/": html("/a", other.url("/x")), "/a": redirect(other.url("/moved")), "/b": html()}
    other.pages |= {"/x": html(own.url("/b")), "/moved": html()}
    path = tmp_path / "credentials.toml"
    path.write_text(
        f'["{own.url("/")}"]\ncookie = "k={SECRET}"\nheaders = {{ X-Key = "{SECRET}" }}\nbasic = "u:{SECRET}"\n'
    )
    path.chmod(0o600)
    settings = make_settings(database_url, credentials_file=path)
    sender = make_sender(settings)
    assert SECRET not in str(sender.fields(Request(url=own.url("/"))))
    archiving = Archiving(make(credentials_file=path), tmp_path / "home")
    worker = archiving.worker
    start(worker, own.url(), scope="any")
    run(worker)
    sender.close()
    assert {hit.path for hit in own.log} >= {"/robots.txt", "/", "/a", "/b"}
    for hit in own.log:
        assert (hit.headers["X-Key"], hit.headers["Cookie"]) == (SECRET, f"k={SECRET}")
        assert hit.headers["Authorization"].startswith("Basic ")
    assert {hit.path for hit in other.log} >= {"/x", "/moved"}
    for hit in other.log:
        assert not {"x-key", "cookie", "authorization"} & {name.lower() for name in hit.headers}
    for table in ("fetches", "urls", "pages", "visits", "robots", "hosts", "suppressions"):
        assert sql(worker.engine, f"SELECT FROM {table} AS t WHERE CAST(to_jsonb(t) AS text) LIKE '%{SECRET}%'") == []
    kept = b"".join(gzip.decompress(each.read_bytes()) for each in archiving.close())
    assert kept.count(b"WARC-Type: request") >= len(own.log)
    assert [each for each in (SECRET.encode(), b64encode(f"u:{SECRET}".encode())) if each in kept] == []


@pytest.fixture
def entitled(make: Callable[..., Worker], web: Web, tmp_path: Path) -> tuple[Worker, Site]:
    """A worker with credentials for a site."""
    own = web.site()
    path = tmp_path / "credentials.toml"
    path.write_text(f'["{own.url("/")}"]\nheaders = {{ X-Key = "{SECRET}" }}\n')
    path.chmod(0o600)
    return make(credentials_file=path), own


def test_a_strangers_robots_txt_that_leads_to_it_gets_none(entitled: tuple[Worker, Site], web: Web) -> None:
    worker, own = entitled
    stranger = web.site()
    stranger.robots = redirect(own.url("/logout"))
    own.robots = redirect("/its-robots")
    own.pages |= {"/": html(), "/logout": html(), "/its-robots": "User-agent: *\nDisallow:\n"}
    stranger.pages["/"] = html()
    start(worker, stranger.url())
    run(worker)
    start(worker, own.url(), name="own")
    run(worker)
    keys = {hit.path: hit.headers["X-Key"] for hit in own.log}
    assert keys == {"/logout": None, "/robots.txt": SECRET, "/its-robots": SECRET, "/": SECRET}


def test_nor_does_a_strangers_seed_that_redirects_to_it(entitled: tuple[Worker, Site], web: Web) -> None:
    worker, own = entitled
    stranger = web.site()
    stranger.pages["/"] = redirect(own.url("/private"))
    own.pages["/private"] = html("/logout")
    own.pages["/logout"] = html()
    start(worker, stranger.url())
    run(worker)
    assert not any("X-Key" in hit.headers for hit in own.log)
