"""The cap per host and links from elsewhere: told to the host in lots, and bounded all the same."""

import random
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest

from app.admin import crawls, seeds
from app.clock import monotonic
from app.crawl.state.worker import Worker
from app.model import Budgets
from app.store import db, urls
from tests.crawl.loop import go, run, start
from tests.crawl.waiting import CAP, count, estimate, plant, refused, state, waiting
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import Aside, admission, await_blocked, backend, one, sql

DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


@pytest.fixture
def worker(make: Callable[..., Worker]) -> Worker:
    return make(frontier_max_per_host=CAP, settle_urls=1)


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


@pytest.fixture
def target(worker: Worker, web: Web) -> Site:
    """A host that nobody visits for now, and every page of whose is there."""
    site = web.site()
    start(worker, site.url(), name="other")
    sql(worker.engine, "UPDATE hosts SET state = 'paused', next_fetch_at = NULL")
    return site


def farm(site: Site, target: Site, *, pages: int, links: int) -> None:
    """So many pages, each with so many links to the target that no other has."""
    for number in range(pages):
        found = (target.url(f"/{number}/{link}") for link in range(links))
        site.pages[f"/{number}"] = html(*found, f"/{number + 1}", text=str(number))
    site.pages["/"] = html("/0")


@pytest.mark.parametrize(("pages", "links"), [(40, 3), (12, 100), (2, 1_500)])
def test_a_farm_of_links_to_another_host_is_bounded(
    worker: Worker, site: Site, target: Site, pages: int, links: int
) -> None:
    """Many pages with few links, few with many: within twice the cap and what a process does not tell at once."""
    farm(site, target, pages=pages, links=links)
    start(worker, site.url(), scope="any")
    for _ in range(5):
        go(worker)
    assert f"/{pages}" in site.pages_asked
    assert CAP <= waiting(worker.engine, target) <= 2 * CAP + worker.caches.full_hosts.quantum
    assert len([url for url in refused(worker.engine) if url.startswith(target.url())]) >= pages * links - 2 * CAP - 1


def test_several_workers_each_add_little_beyond(
    make: Callable[..., Worker], web: Web, target: Site, worker: Worker
) -> None:
    farms = [web.site() for _ in range(4)]
    workers = [make(frontier_max_per_host=CAP, settle_urls=1) for _ in farms]
    for number, site in enumerate(farms):
        for page in range(12):
            site.pages[f"/{page}"] = html(
                *(target.url(f"/{number}/{page}/{link}") for link in range(7)), f"/{page + 1}"
            )
        site.pages["/"] = html("/0")
        start(worker, site.url(), scope="any", name=f"farm{number}")
    for turn in range(60):
        go(workers[turn % len(workers)])
    assert all("/12" in site.pages_asked for site in farms)
    assert CAP <= waiting(worker.engine, target) <= 2 * CAP + len(workers)


def test_a_better_link_comes_in_and_the_host_itself_sees_to_the_cap(worker: Worker, site: Site, target: Site) -> None:
    crawl = start(worker, site.url(), scope="any")
    plant(worker, crawl, target, *(f"/low/{number}" for number in range(CAP + 1)))
    site.pages["/"] = html(target.url("/a"), "/more")
    site.pages["/more"] = html(target.url("/b"), "/most", text="more")
    site.pages["/most"] = html(target.url("/c"), text="most")
    for _ in range(4):
        go(worker)
    before = waiting(worker.engine, target)
    assert before == CAP + 5, "the seed, what was planted, and the better ones: nothing is evicted yet"
    sql(worker.engine, "UPDATE hosts SET state = 'idle', next_fetch_at = now() WHERE state = 'paused'")
    seen: list[int] = []
    target.pages |= {
        path: lambda hit: (seen.append(waiting(worker.engine, target)), html(text=hit.path))[1]
        for path in ("/", "/a", "/b", "/c", *(f"/low/{number}" for number in range(CAP + 1)))
    }
    run(worker)
    assert seen[0] == before
    assert max(seen[1:]) <= CAP
    assert {"/a", "/b", "/c", "/"} <= set(target.pages_asked)
    assert crawls.find(worker.engine, "c").state == "finished"


def test_of_many_better_links_at_once_a_few_come_in(worker: Worker, site: Site, target: Site) -> None:
    """Nothing is evicted for them before the host's own visit."""
    crawl = start(worker, site.url(), scope="any")
    plant(worker, crawl, target, *(f"/low/{number}" for number in range(CAP)))
    site.pages["/"] = html(target.url("/a"), "/more")
    site.pages["/more"] = html(*(target.url(f"/more/{number}") for number in range(30)), text="more")
    for _ in range(3):
        go(worker)
    assert waiting(worker.engine, target) == CAP + 2 + worker.caches.full_hosts.quantum
    assert len(refused(worker.engine)) == 30 - worker.caches.full_hosts.quantum


def test_at_twice_the_cap_nothing_more_comes_in(worker: Worker, site: Site, target: Site) -> None:
    """However good it is."""
    crawl = start(worker, site.url(), scope="any")
    plant(worker, crawl, target, *(f"/low/{number}" for number in range(2 * CAP)))
    site.pages["/"] = html(target.url("/a"), "/more")
    site.pages["/more"] = html(target.url("/b"), text="more")
    for _ in range(3):
        go(worker)
    assert (state(worker.engine, target.url("/a")), state(worker.engine, target.url("/b"))) == ("queued", None)
    assert refused(worker.engine).keys() == {target.url("/b")}


def test_a_host_that_has_room_again_takes_links_again(worker: Worker, site: Site, target: Site) -> None:
    """The verdict of a minute is looked at anew after the next settle that meets the host; then it is believed."""
    ahead = [0.0]
    worker = replace(worker, monotonic=lambda: monotonic() + ahead[0])
    crawl = start(worker, scope="any", keep_fresh=True)
    plant(worker, crawl, target, *(f"/old/{number}" for number in range(CAP)), score=0.9)

    def find(*paths: str) -> None:
        """A page of ours links there."""
        site.pages[f"/to{paths[0]}"] = html(*map(target.url, paths), text=paths[0])
        seeds.add(worker.engine, worker.settings, crawl, [site.url(f"/to{paths[0]}")])
        sql(worker.engine, "UPDATE hosts SET next_fetch_at = now(), polite_at = now() WHERE state = 'idle'")
        go(worker)

    find("/first")
    assert state(worker.engine, target.url("/first")) == "queued", "nobody knew"
    find("/second")
    assert refused(worker.engine).keys() == {target.url("/second")}
    sql(worker.engine, "UPDATE urls SET state = 'gone' WHERE url LIKE :old", old=target.url("/old/%"))
    count(worker.engine)
    find("/third")
    assert not worker.caches.full_hosts.is_empty
    ahead[0] = 61.0
    find("/fourth")
    assert refused(worker.engine).keys() == {target.url(path) for path in ("/second", "/third", "/fourth")}
    assert worker.caches.full_hosts.is_empty
    find("/fifth", "/fourth")
    assert state(worker.engine, target.url("/fifth")) == state(worker.engine, target.url("/fourth")) == "queued"


# --- what the rows say --------------------------------------------------------------------------------------------


def test_the_estimate_is_exact_where_everything_is_told(make: Callable[..., Worker], web: Web) -> None:
    """With a cap of 64 each link is told: after a crawl of hosts that link to each other at random every row is
    right."""
    worker = make(frontier_max_per_host=64)
    rng = random.Random(3)
    sites = [web.site() for _ in range(4)]
    paths = [f"/{number}" for number in range(60)]
    for site in sites:
        for path in ("/", *paths):
            links = [rng.choice(sites).url(rng.choice(paths)) for _ in range(6)]
            status = rng.choice([200] * 8 + [404, 410, 500, 301])
            site.pages[path] = html(*links, text=path + site.host, status=status, headers={"Location": links[0]})
    start(worker, *(site.url() for site in sites), budgets=Budgets(max_pages=90))
    count(worker.engine)  # a few seeds are not worth telling
    for turns in range(1, 40):
        go(worker)
        exact = {site.host: waiting(worker.engine, site) for site in sites}
        assert {site.host: estimate(worker.engine, site) for site in sites} == exact, f"after {turns} turns"
        if not sum(exact.values()):
            break
    assert len(web.log) > 90


# --- locks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frontier_full", ["evict", "defer"])
def test_hosts_that_fill_each_other_do_not_lock_each_other_out(
    make: Callable[..., Worker], web: Web, frontier_full: str
) -> None:
    """Four at once, all at their caps, each page links to all of them: somebody's newcomer is what another lets go."""
    worker = make(frontier_max_per_host=CAP, settle_urls=3, frontier_full=frontier_full)
    sites = [web.site() for _ in range(4)]
    rng = random.Random(5)

    def answer(hit: object) -> Answer:
        paths = [f"/{rng.randrange(400)}" for _ in range(20)]
        return html(*(rng.choice(sites).url(path) for path in paths), text=str(rng.random()))

    for site in sites:
        site.pages |= dict.fromkeys(("/", *(f"/{number}" for number in range(400))), answer)
    before = one(worker.engine, DEADLOCKS)
    start(worker, *(site.url() for site in sites), budgets=Budgets(max_pages=120))
    run(worker, threads=4)
    assert one(worker.engine, "SELECT ended_because FROM crawls") in {"max_pages", "done"}
    assert len(refused(worker.engine)) > 100
    assert one(worker.engine, DEADLOCKS) == before
    assert all(waiting(worker.engine, site) <= 2 * CAP + worker.caches.full_hosts.quantum for site in sites)


def test_what_gives_way_is_touched_after_the_newcomers_are_in(worker: Worker, site: Site) -> None:
    """While a settle waits for somebody who admits the same link, nobody can be waiting for what it lets go: a
    cycle."""
    crawl = start(worker, site.url())
    plant(worker, crawl, site, *(f"/low/{number}" for number in range(CAP - 1)))
    site.pages["/"] = html("/a", "/b")
    host_id = one(worker.engine, "SELECT id FROM hosts")
    url = site.url("/a")
    row = admission(host_id, crawl.id, key=sha256(url.encode()).digest(), url=url)
    worst = site.url(f"/low/{CAP - 2}")
    with db.transaction(worker.engine) as tx:
        urls.admit(tx, [row])
        aside = Aside(lambda: go(worker))
        assert await_blocked(worker.engine, backend(tx), aside)
        assert sql(worker.engine, "SELECT url FROM urls WHERE url = :url FOR UPDATE NOWAIT", url=worst)
    aside.outcome()
    assert worst in refused(worker.engine)
    assert state(worker.engine, worst) is None
