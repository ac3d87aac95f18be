"""How hostile hosts are crawled here, and what must hold whatever they do: judged by their access logs and by SQL."""

import itertools

from sqlalchemy import Engine

from app.crawl.state.worker import Worker
from tests.hostile.origin import Host, HostileOrigin
from tests.store.rows import sql, url

SHORT_S = 0.6  # the deadline where a host never comes to an end
LONG_S = 10.0  # and where it does, however busy the machine is
LATE_S = 10.0  # that a busy machine holds us up; a host without end would hold us for ever, and FT25 says 1 s
CAP_BYTES = 100_000
READ_AHEAD_BYTES = 1024 * 1024  # a body is read to its cap and this much more (FT26)
OVERLAP_S = 0.005  # of two clocks that read one after the other
TRIES = 3  # of a URL that fails by itself
HOPS = 10
ROBOTS_TRIES = 4  # of a host that never answered


def assert_decent(worker: Worker, origin: HostileOrigin) -> None:
    """What holds whatever a host does: one request at a time, each ended in time, bytes bounded, nothing left open."""
    deadline_s = {True: worker.settings.robots_deadline_s, False: worker.settings.request_deadline_s}
    assert origin.quiet(), "nobody holds a connection with an answer under way"
    for host in origin.hosts.values():
        for line in host.log:
            assert line.took_s <= deadline_s[line.path.startswith("/robots")] + LATE_S, line
            assert line.sent <= CAP_BYTES + READ_AHEAD_BYTES or line.target == "/robots.txt", line
        for earlier, later in itertools.pairwise(sorted(host.log, key=lambda line: line.start)):
            assert earlier.end is not None
            assert later.start >= earlier.end - OVERLAP_S, (earlier, later)
        if host.log:
            assert host.targets[0].startswith("/robots"), "robots.txt comes before anything else"
    assert sql(worker.engine, "SELECT url, state FROM urls WHERE state = 'queued' OR retrying") == []
    assert sql(worker.engine, "SELECT name, state FROM hosts WHERE state <> 'idle'") == []


def ending(engine: Engine, host: Host) -> tuple[str, str | None, str | None]:
    """State and outcome of the seed, and the failure of its last fetch."""
    seed = url(engine, host.url())
    fetches = sql(engine, "SELECT failure FROM fetches WHERE url = :url ORDER BY id", url=host.url())
    return seed["state"], seed["outcome"], fetches[-1]["failure"] if fetches else None


def stored(engine: Engine, host: Host) -> bool | None:
    """Whether the seed's page was cut at the cap; None: it is not kept as a page."""
    rows = sql(engine, "SELECT truncated FROM pages WHERE url = :url", url=host.url())
    return rows[0]["truncated"] if rows else None
