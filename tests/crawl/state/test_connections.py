"""Idle connections of a process: one for each host that it may have in hand."""

import resource

import pytest

from app.crawl.state.setup import make_sender
from app.model import Reply, Request
from tests.crawl.loop import make_settings
from tests.crawl.web import Web, html


@pytest.fixture
def descriptors(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (request.param, request.param))


@pytest.mark.parametrize(
    ("threads", "descriptors", "hosts", "kept"),
    [
        (4, 1_024, 32, True),
        (4, 1_024, 33, False),
        (4, resource.RLIM_INFINITY, 32, True),
        (4, 62, 31, True),
        (4, 62, 32, False),
    ],
    indirect=["descriptors"],
)
def test_hosts_that_take_turns_keep_their_connections(
    web: Web, database_url: str, descriptors: None, threads: int, hosts: int, kept: bool
) -> None:
    site = web.site()
    site.pages["/"] = html()
    settings = make_settings(database_url, concurrency=threads, resolve=f"*.turns.test={site.host}")
    sender = make_sender(settings)
    times = []
    for _ in range(2):
        replies = [sender.send(Request(url=f"http://n{n}.turns.test:{site.port}/")) for n in range(hosts)]
        times.append([each.connect_ms for each in replies if isinstance(each, Reply)])
    sender.close()
    assert None not in times[0]
    assert times[1].count(None) == (hosts if kept else 0), "one too many, and each is closed before its turn"
