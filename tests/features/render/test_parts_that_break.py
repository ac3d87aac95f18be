"""A bug while a page is rendered costs its rendering, or one of its requests: no turn, and no host its lease."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.browser.values import Answer as Answered
from app.browser.values import Refused
from app.crawl.state.worker import Worker
from app.errors import ServiceError
from app.features.render.turn import TurnEnding
from app.model import Refusal, Reply, Request, Unsent, Url
from app.model.render import RenderRefusal as R
from app.policy.url import Canon
from tests.crawl.loop import go, start
from tests.crawl.visit.robots_states import expire
from tests.crawl.visit.test_visit_robots_costly import COSTLY, LINKS
from tests.crawl.web import Answer, Site, Web
from tests.features.render.shells import Stand, render, rows, script, turns


@pytest.fixture(autouse=True)
def log() -> Iterator[list[Any]]:
    """What is logged, and not printed: a traceback with a worker's state takes seconds to lay out."""
    with capture_logs() as lines:
        yield lines


class FaultyCanon(Canon):
    def canonicalise(self, text: str) -> Url | Refusal:
        if text.endswith("/poison.js"):
            raise IndexError("of a request")
        return super().canonicalise(text)


class OddFields(dict[str, str]):
    """Fields that cannot be looked through for a wall."""

    def __iter__(self) -> Iterator[str]:
        raise LookupError("of the fields")


def odd(worker: Worker) -> Worker:
    """The worker, with a sender whose answers for /odd.js cannot be judged."""
    send = worker.send

    def sent(request: Request) -> Reply | Unsent:
        reply = send(request)
        assert isinstance(reply, Reply)
        return reply._replace(headers=OddFields(reply.headers)) if request.url.endswith("/odd.js") else reply

    return replace(worker, send=sent)


def leases(worker: Worker) -> int:
    n: int = rows(worker, "SELECT count(*) AS n FROM hosts WHERE lease_until IS NOT NULL")[0].n
    return n


def broken() -> None:
    raise KeyError("of the browser's words")


@pytest.mark.parametrize(
    ("stand", "said"),
    [
        (Stand(does=broken), 'KeyError: "of the browser\'s words"'),
        (Stand(asks=["/poison.js"]), "IndexError: of a request"),
        (Stand(options={"url": 7}), "AttributeError"),
    ],
    ids=["browser", "request", "document"],
)
def test_a_rendering_that_breaks_fails_at_once_and_its_host_goes_on(
    worker: Worker, site: Site, stand: Stand, said: str, log: list[Any]
) -> None:
    worker = replace(worker, canon=FaultyCanon())
    start(worker, site.url("/"))
    go(worker)
    assert render(worker, stand) == 1
    (row,) = rows(worker, "SELECT state, cause FROM renders")
    assert row.state == "failed"
    assert said in row.cause
    assert row.cause.startswith("rendering it raised ")
    assert [line["event"] for line in log if line.get("exc_info")] == ["render.page_crashed"]
    assert leases(worker) == 0
    assert rows(worker, "SELECT count(*) AS n FROM pages WHERE rendered_at IS NOT NULL")[0].n == 0


@pytest.mark.parametrize("is_own", [True, False], ids=["its own host", "another"])
def test_a_request_that_breaks_is_one_that_failed(
    worker: Worker, site: Site, web: Web, log: list[Any], is_own: bool
) -> None:
    host = site if is_own else web.site()
    host.pages["/odd.js"] = script()
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(asks=[host.url("/odd.js"), "/app.js"])
    assert render(odd(worker), stand) == 1
    assert stand.got[0] == Refused(R.FAILED)
    assert isinstance(stand.got[1], Answered)
    assert rows(worker, "SELECT state FROM renders")[0].state == "done"
    assert [line["event"] for line in log if line.get("exc_info")] == ["render.request_crashed"]
    assert host.paths.count("/odd.js") == 1
    logged = rows(worker, f"SELECT outcome FROM fetches WHERE url = '{host.url('/odd.js')}'")
    assert [each.outcome for each in logged] == ["broken"]
    assert leases(worker) == 0


def test_a_failure_of_ours_blames_no_rendering(worker: Worker, site: Site) -> None:
    def away() -> None:
        raise ServiceError("Postgres at db", "out of reach")

    start(worker, site.url("/"))
    go(worker)
    with pytest.raises(ServiceError):
        turns(worker, Stand(does=away)).run()
    (row,) = rows(worker, "SELECT state, attempts FROM renders")
    assert (row.state, row.attempts) == ("due", 0)


@pytest.mark.parametrize("is_own", [True, False], ids=["its own host", "another"])
def test_a_request_that_robots_txt_makes_too_costly_says_so(worker: Worker, site: Site, web: Web, is_own: bool) -> None:
    host = site if is_own else web.site()
    host.robots = COSTLY
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(asks=[host.url(LINKS[0]), host.url("/no/1.js")])
    render(worker, stand)
    assert stand.got == [Refused(R.TOO_COSTLY), Refused(R.ROBOTS)]
    (row,) = rows(worker, "SELECT refused FROM renders")
    assert row.refused == {"too_costly": 1, "robots": 1}
    assert not {LINKS[0], "/no/1.js"} & set(host.paths)


def test_a_page_that_became_too_costly_says_so(worker: Worker, site: Site) -> None:
    path = LINKS[0]
    site.pages[path] = site.pages["/"]
    start(worker, site.url(path))
    go(worker)
    site.robots = Answer(headers={"Content-Type": "text/plain"}, body=COSTLY.encode())
    expire(worker)
    assert turns(worker, Stand()).run() is TurnEnding.DONE
    (row,) = rows(worker, "SELECT state, cause FROM renders")
    assert (row.state, row.cause) == ("failed", "robots.txt has too many patterns to judge it by")
