"""What waits for its first fetch, for the tests of the frontier's caps."""

from hashlib import sha256

from sqlalchemy import Engine

from app.crawl.state.worker import Worker
from app.model import Refusal
from app.store import db, hosts, urls
from app.store.crawls import Crawl
from tests.crawl.web import Answer, Hit, Site, html
from tests.store.rows import admission, one, sql

FULL = Refusal.FRONTIER_FULL.value
CAP = 20


def waiting(engine: Engine, site: Site | None = None) -> int:
    """URLs of active crawls that are queued and were never fetched."""
    query = """SELECT count(*) FROM urls AS u JOIN crawls AS c ON c.id = u.crawl_id JOIN hosts AS h ON h.id = u.host_id
               WHERE u.state = 'queued' AND u.fetched_at IS NULL AND c.state = 'active'
                 AND (CAST(:name AS text) IS NULL OR h.name = :name)"""
    return int(one(engine, query, name=site.host if site else None))


def estimate(engine: Engine, site: Site) -> int:
    return int(one(engine, "SELECT unfetched FROM hosts WHERE name = :name", name=site.host))


def refused(engine: Engine) -> dict[str, str]:
    """{URL: detail} of what the log says was evicted."""
    rows = sql(engine, "SELECT url, detail FROM suppressions WHERE reason = :full", full=FULL)
    return {row["url"]: row["detail"] for row in rows}


def state(engine: Engine, url: str) -> str | None:
    """None: it is not in the frontier."""
    rows = sql(engine, "SELECT state FROM urls WHERE url = :url", url=url)
    return str(rows[0]["state"]) if rows else None


def plant(worker: Worker, crawl: Crawl, site: Site, *paths: str, score: float = 0.1) -> None:
    """Links of the site that somebody found, in the frontier and told to the host. In the lane of the seeds, behind
    them."""
    with db.transaction(worker.engine) as tx:
        host_id = hosts.ids(tx, [site.host])[site.host]
        found = [site.url(path) for path in paths]
        rows = [
            admission(
                host_id,
                crawl.id,
                key=sha256(url.encode()).digest(),
                url=url,
                score=score,
                lane=0,
                depth=9,
                found_on=site.url("/somewhere"),
            )
            for url in found
        ]
        assert sum(urls.admit(tx, [row]).rows for row in rows) == len(paths)  # one by one: ids in this order
    count(worker.engine)


def count(engine: Engine) -> None:
    """The hosts' rows say what is there, as of now."""
    sql(
        engine,
        """UPDATE hosts SET unfetched_at = clock_timestamp(), unfetched = (
               SELECT count(*) FROM urls AS u JOIN crawls AS c ON c.id = u.crawl_id
               WHERE u.host_id = hosts.id AND u.state = 'queued' AND u.fetched_at IS NULL AND c.state = 'active')""",
    )


def branches(engine: Engine, site: Site, *, width: int, seen: list[int]) -> None:
    """The site has no end: each page links to so many deeper ones. seen: what waited whenever one was asked for."""

    class Endless(dict):  # type: ignore[type-arg]
        def get(self, path: str, default: object = None) -> object:
            return answer if path.startswith("/t/") or path == "/" else default

    def answer(hit: Hit) -> Answer:
        seen.append(waiting(engine, site))
        folder = "/t" if hit.path == "/" else hit.path
        name = hit.path.translate(str.maketrans("0123456789/", "abcdefghijz"))  # /t/1/11 is not /t/11/1
        text = " ".join(f"{name}{end}" for end in "abcdefgh")  # of its own: it is no trap
        return html(*(f"{folder}/{number}" for number in range(width)), text=text)

    site.pages = Endless()


def flat(site: Site, links: int) -> list[str]:
    """A page of so many links to pages without any. Returns their paths."""
    paths = [f"/{number:04d}" for number in range(links)]
    site.pages |= {path: html(text=path) for path in paths}
    site.pages["/"] = html(*paths)
    return paths
