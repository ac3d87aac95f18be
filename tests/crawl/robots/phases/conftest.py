"""robots.txt that comes, goes and ages. Fixtures."""

from collections.abc import Callable

import pytest

from app.crawl.state.worker import Kit
from tests.crawl.web import Site, Web, html


@pytest.fixture
def kit(make: Callable[..., Kit]) -> Kit:
    """Long rests, so that nothing happens twice unless a test says `later`; a host is not given up soon."""
    return make(backoff_base_s=1000.0, backoff_max_s=86_400.0, host_failures_max=100, new_host_failures_max=100)


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {path: html(text=path) for path in ("/", "/a", "/b", "/no")}
    return site
