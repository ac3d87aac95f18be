"""A worker whose rests are long, a site, and an audit after each test."""

from collections.abc import Callable, Iterator

import pytest

from app.admin import audit
from app.crawl.state.worker import Worker
from tests.crawl.web import Site, Web, html


@pytest.fixture
def worker(make: Callable[..., Worker]) -> Worker:
    """Long rests, so that nothing happens twice unless a test says `later`; a host is not given up soon."""
    return make(backoff_base_s=1000.0, backoff_max_s=86_400.0, host_failures_max=100, new_host_failures_max=100)


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {path: html(text=path) for path in ("/", "/a", "/b", "/no")}
    return site


@pytest.fixture(autouse=True)
def auditors(worker: Worker) -> Iterator[list[Worker]]:
    """Whatever happened: the audit, which judges each request by the history of copies, finds nothing wrong."""
    auditors = [worker]
    yield auditors
    assert audit.audit(worker.engine, auditors[-1].settings, None).violations == 0
