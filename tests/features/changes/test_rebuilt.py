"""A reader of the events has what `pages` has, while several writers and beat are killed with -9, and begin anew.

FAULTS=long makes it longer: 200 moments and 200 kills take some minutes.
"""

import itertools
import multiprocessing
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

from app.beat.sweep import sweep
from app.config import Settings
from app.crawl.state.setup import make_engine, make_sender, make_worker
from app.crawl.state.worker import Worker
from app.features.changes import rows as cursors
from app.features.changes.feed import Feed
from app.features.changes.rows import EventPlace, PageEvent
from tests.crawl import loop
from tests.crawl.web import Answer, Site, Web, html
from tests.faults.servers import OwnPostgres
from tests.features.changes import writer
from tests.features.changes.rebuilt import Pages, apply, final, stored
from tests.store.rows import sql

MOMENTS, KILLS = (200, 200) if os.environ.get("FAULTS") == "long" else (8, 4)
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload([writer.__name__])
WRITERS, SITES, PAGES = 3, 5, 8
NOINDEX = '<meta name="robots" content="noindex">'
EVENTS = "SELECT xid, id, kind, url, text_sha256 FROM changes WHERE crawl_id = :crawl_id ORDER BY xid, id"
STORED = """SELECT p.url, p.text_sha256 FROM pages AS p JOIN urls AS u USING (host_id, crawl_id, key)
            WHERE p.crawl_id = :crawl_id AND u.gone_at IS NULL"""


class Moods:
    """Pages of some sites, each of which changes now and then, goes, comes again, or asks not to be kept."""

    def __init__(self, web: Web, dice: random.Random) -> None:
        self._dice = dice
        self.sites = [web.site() for _ in range(SITES)]
        for site in self.sites:
            site.pages["/"] = html(*(f"/{n}" for n in range(PAGES)), text=f"Home of {site.host}.")
            for n in range(PAGES):
                site.pages[f"/{n}"] = self._page(site, n)

    def change(self) -> None:
        """Change a few pages."""
        for _ in range(4):
            site, n = self._dice.choice(self.sites), self._dice.randrange(PAGES)
            site.pages[f"/{n}"] = self._page(site, n)

    def _page(self, site: Site, n: int) -> Answer:
        version = self._dice.randrange(1_000)
        text_ = f"Page {n} of {site.host} says {version}."
        return self._dice.choice(
            [
                html(text=text_),
                html(text=text_),
                html(text=text_, headers={"ETag": f'"{version}"'}),
                html(text=text_, head=NOINDEX),
                Answer(status=410),
                Answer(status=500),
            ]
        )


class Reader:
    """A reader that keeps its last cursor alone: each time it is another process, as it were."""

    def __init__(self, engine: Engine, crawl_id: int, dice: random.Random) -> None:
        self._engine, self._crawl_id, self._dice = engine, crawl_id, dice
        self.cursor: str | None = None
        self.pages: Pages = {}
        self.seen: list[EventPlace] = []
        self._last: dict[str, int] = {}

    def read(self, *, whole: bool = False) -> None:
        """Read on, and stop anywhere."""
        after = None if self.cursor is None else cursors.parse(self.cursor)
        feed = Feed(self._engine, self._crawl_id, after=after)
        for event in feed.ready(n=7):
            self._take(event)
            self.cursor = str(feed.at(event))
            if not whole and self._dice.random() < 0.05:
                return
        if feed.cursor.place != EventPlace(0, 0):
            self.cursor = str(feed.cursor)

    def _take(self, event: PageEvent) -> None:
        assert event.place.id > self._last.get(event.url, 0), "out of order"
        self._last[event.url] = event.place.id
        self.seen.append(event.place)
        apply(self.pages, event)


class Writers:
    """Processes that crawl, and beat. `kill` ends one that is at work with SIGKILL, and starts another."""

    def __init__(self, engine: Engine, database_url: str, crawl: str, dice: random.Random) -> None:
        self._engine, self._url, self._crawl, self._dice = engine, database_url, crawl, dice
        self._running: dict[str, Any] = {}
        self._numbers = itertools.count()
        self.killed = self.beats_killed = 0

    def __enter__(self) -> "Writers":
        for _ in range(WRITERS):
            self._start()
        self._start_beat()
        return self

    def __exit__(self, *_: object) -> None:
        for each in [*self._running.values(), self._beat]:
            each.kill()
            each.join()

    def kill(self) -> None:
        at_work = {row["worker"] for row in sql(self._engine, "SELECT DISTINCT worker FROM visits")}
        if names := sorted(at_work & {*self._running}):
            dead = self._running.pop(self._dice.choice(names))
            dead.kill()
            dead.join()
            self.killed += 1
            self._start()
        if names and self.killed % 2:
            self._beat.kill()
            self._beat.join()
            self.beats_killed += 1
            self._start_beat()

    def tend(self) -> None:
        """Start others for those that ended by themselves, as Postgres went under them."""
        for name in [name for name, each in self._running.items() if not each.is_alive()]:
            self._running.pop(name).join()
            self._start()
        if not self._beat.is_alive():
            self._start_beat()

    def _start_beat(self) -> None:
        self._beat = _forks.Process(target=writer.beat, args=(self._url, self._crawl), daemon=True)
        self._beat.start()

    def _start(self) -> None:
        name = f"writer:{next(self._numbers)}"
        self._running[name] = _forks.Process(target=writer.main, args=(self._url, name), daemon=True)
        self._running[name].start()


def same_at_once(engine: Engine, crawl_id: int) -> int:
    """Check, in one snapshot, that the events say what the pages are. Returns how many pages there are."""
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as tx:
        pages: Pages = {}
        for _, _, kind, url, digest in tx.execute(text(EVENTS), {"crawl_id": crawl_id}):
            if kind in {"gone", "withdrawn"}:
                pages.pop(url, None)
            else:
                pages[url] = bytes(digest)
        found = {url: bytes(digest) for url, digest in tx.execute(text(STORED), {"crawl_id": crawl_id})}
        tx.rollback()
    assert pages == found
    return len(pages)


def drive(
    engine: Engine,
    settings: Settings,
    worker: Worker,
    web: Web,
    *,
    moments: int,
    kills: int,
    strike: Callable[[], None],
) -> None:
    """Check it at that many moments, while that many writers are killed.   strike: called after each of these"""
    assert settings.database_url is not None
    dice = random.Random(11)
    moods = Moods(web, dice)
    crawl = loop.start(worker, *(site.url() for site in moods.sites))
    reader, looked = Reader(engine, crawl.id, dice), 0
    with Writers(engine, settings.database_url, crawl.name, dice) as writers:
        until = time.monotonic() + 60 + 6 * (kills + moments)
        while writers.killed < kills or looked < moments:
            assert time.monotonic() < until, "they do not get on"
            time.sleep(dice.random() * 0.1)  # a moment is any
            reader.read()
            looked += same_at_once(engine, crawl.id) > 0
            moods.change()
            if len(reader.seen) >= 5 * (writers.killed + 1):  # they have got on since the last one
                writers.kill()
                strike()
                loop.bring_forward(engine)  # leases of the dead are over
                sweep(engine)
            writers.tend()
    final(engine)
    reader.read(whole=True)
    with engine.connect() as tx:
        written = [EventPlace(xid, id_) for xid, id_, *_ in tx.execute(text(EVENTS), {"crawl_id": crawl.id})]
    assert reader.seen == written, "each once, in their order"
    assert len(written) >= 5 * kills, "something happened between two of them"
    assert reader.pages == stored(engine, crawl.id)
    assert writers.beats_killed > 0


def test_the_events_rebuild_the_pages_at_any_moment(worker: Worker, web: Web) -> None:
    """0 lost, 0 twice for a cursor, 0 out of order for a URL."""
    drive(worker.engine, worker.settings, worker, web, moments=MOMENTS, kills=KILLS, strike=lambda: None)


def test_they_do_while_postgres_is_killed_too(web: Web, reachable_tmp: Path) -> None:
    """With -9, and every time with a writer. A cursor names nothing that a crash takes back."""
    with OwnPostgres(reachable_tmp / "changes") as server:
        settings = loop.make_settings(server.make_database())
        engine, sender = make_engine(settings), make_sender(settings)

        def strike() -> None:
            server.kill()
            server.start()
            engine.dispose()

        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:0")
        drive(engine, settings, worker, web, moments=MOMENTS // 2, kills=max(KILLS // 2, 1), strike=strike)
        sender.close()
        engine.dispose()
