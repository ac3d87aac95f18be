"""A page without any statement costs a look: no row, no query, no request more than without the feature."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from app import plugins
from app.crawl.state.worker import Worker
from app.features.rights.rows import MOST_BEFORE, of_document
from app.policy import tdm
from app.policy.tdm import Signal
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html
from tests.store.rows import one
from tests.store.statements import statements

PAGES = 30
WITHOUT = tuple(name for name in plugins.BUILT_IN if name != "app.features.rights.part")


@pytest.fixture
def asked(engine: Engine) -> Iterator[list[str]]:
    """The queries that were run, each by its text."""
    made: list[str] = []
    with statements(engine, made.append):
        yield made


def crawl(worker: Worker, web: Web, name: str, **header: str) -> None:
    """A crawl of a small site."""
    site = web.site()
    head = {each.replace("_", "-"): value for each, value in header.items()}
    site.pages["/"] = html(*(f"/{n}" for n in range(PAGES)), headers=head)
    site.pages |= {f"/{n}": html(text=f"Page {n} of many.", headers=head) for n in range(PAGES)}
    start(worker, site.url(), name=name)
    run(worker)
    assert len(site.paths) == PAGES + 2


@pytest.fixture
def both(make: Callable[..., Worker]) -> tuple[Worker, Worker]:
    whole = make()
    return whole, replace(whole, hooks=plugins.hooks(WITHOUT))


def of_rights(asked: list[str]) -> list[str]:
    return [each for each in asked if "rights" in each or "licences" in each or "statements (" in each]


def test_a_silent_site_is_asked_and_written_as_without_the_feature(
    both: tuple[Worker, Worker], web: Web, asked: list[str]
) -> None:
    whole, without = both
    crawl(without, web, "warm")
    asked.clear()
    crawl(without, web, "without")
    least = len(asked)
    assert least
    asked.clear()
    crawl(whole, web, "whole")
    assert of_rights(asked) == []
    assert len(asked) <= least + PAGES // 2, "how many settles there are depends on the clock"
    assert one(whole.engine, "SELECT count(*) FROM rights") == 0


def test_pages_that_state_the_same_share_a_set_and_are_written_with_their_settle(
    both: tuple[Worker, Worker], web: Web, asked: list[str]
) -> None:
    whole, _ = both
    crawl(whole, web, "stating", content_signal="ai-train=no")
    assert one(whole.engine, "SELECT count(*) FROM rights") == PAGES + 1
    assert one(whole.engine, "SELECT count(*) FROM statements") == 1
    settles = len([each for each in asked if "INSERT INTO rights" in each])
    assert 0 < settles < PAGES / 2


def test_statements_of_304s_do_not_add_up_without_end() -> None:
    """A header may name new uses each time, and what was stated before stands, too: reservations first."""
    stands: list[Signal] = [*tdm.of_reply({"content-signal": "ai-train=no"})]
    for n in range(100):
        said = tdm.of_reply({"content-signal": ", ".join(f"a{n}-{each}=yes" for each in range(20))})
        stands = [*said, *of_document(stands, said)]
    assert len(stands) == MOST_BEFORE + 20
    assert stands[0].name == "a99-0"
    assert tdm.reserved(stands)
