"""Pages of before the events have theirs after the upgrade: a reader that begins at the start has all of them."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from app.admin import crawls
from app.crawl.state.worker import Worker
from app.features.changes.feed import Feed
from tests.crawl import loop
from tests.crawl.web import Answer, Web, html
from tests.features.changes.rebuilt import final, rebuilt, stored
from tests.store import revisions


@pytest.fixture
def before(worker: Worker, web: Web) -> Iterator[Engine]:
    """A database of the revision before, with pages that are new, changed and gone."""
    site = web.site()
    site.pages |= {"/": html("/a", "/b", text="Home."), "/a": html(text="A page."), "/b": html(text="Another.")}
    loop.start(worker, site.url())
    loop.run(worker)
    site.pages |= {"/a": html(text="It says more."), "/b": Answer(status=410)}
    crawls.go_round(worker.engine, "c", worker.settings)
    loop.run(worker)
    revisions.move(worker.engine, "0036")
    yield worker.engine
    revisions.move(worker.engine, "head")


def test_pages_of_before_have_events(before: Engine) -> None:
    revisions.move(before, "0039")
    final(before)
    kinds = [event.kind for event in Feed(before, 1).ready()]
    assert sorted(kinds) == ["changed", "gone", "new", "new"]
    assert rebuilt(before, 1) == stored(before, 1)
    assert len(stored(before, 1)) == 2
