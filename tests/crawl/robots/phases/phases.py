"""robots.txt that comes, goes and ages."""

from app.crawl.state.worker import Worker
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site
from tests.store.rows import one, sql

HOUR, DAY = 3600.0, 86_400.0
COPY = "User-agent: *\nDisallow: /no"
ANSWERS = Answer(status=500)
SILENT = Answer(drop=True)


def learn(worker: Worker, site: Site, robots_txt: Answer | str = COPY) -> None:
    """A crawl that reads robots.txt as it is while it can be had."""
    site.robots = robots_txt
    start(worker, site.url(), name="first")
    run(worker)
    site.log.clear()


def lose(worker: Worker, site: Site, answer: Answer, *paths: str, **columns: object) -> None:
    """robots.txt is due and cannot be had any more, when there are these pages to fetch."""
    site.robots = answer
    expire(worker)
    start(worker, *map(site.url, paths), name="more", **columns)
    go(worker)


def expire(worker: Worker) -> None:
    sql(worker.engine, "UPDATE robots SET expires_at = now() - interval '1 second'")


def pass_by(worker: Worker, seconds: float) -> None:
    """So much time, for robots.txt, its history and the log; every rest is over."""
    shift = f"- make_interval(secs => {seconds})"
    for table, column in [
        ("robots", "unreachable_since"),
        ("robots", "fetched_at"),
        ("robots", "expires_at"),
        ("robots_copies", "since"),
        ("robots_copies", "unreachable_since"),
        ("fetches", "started_at"),
        ("fetches", "ended_at"),
        ("hosts", "next_fetch_at"),
        ("hosts", "polite_at"),
        ("hosts", "blocked_until"),
    ]:
        sql(worker.engine, f"UPDATE {table} SET {column} = {column} {shift}")


def later(worker: Worker, seconds: float) -> None:
    pass_by(worker, seconds)
    go(worker)


def states(worker: Worker, crawl: str = "more") -> dict[str, str]:
    """{path: state}"""
    rows = sql(
        worker.engine,
        "SELECT url, u.state FROM urls AS u JOIN crawls AS c ON c.id = crawl_id WHERE c.name = :name",
        name=crawl,
    )
    return {"/" + row["url"].split("/", 3)[3]: row["state"] for row in rows}


def resting(worker: Worker) -> str:
    return str(one(worker.engine, "SELECT waits_for FROM v_host_status"))
