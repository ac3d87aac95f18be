"""Links that end like files: three of each ending and host are asked for; what they are decides about the rest."""

import pytest

from app.admin.explain import why
from app.crawl.state.worker import Worker
from app.model import Budgets, Cause, Refusal
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import sql

PICTURE = Answer(body=b"\x89PNG", headers={"Content-Type": "image/png"})


def refused(worker: Worker) -> list[tuple[str, int]]:
    rows = sql(worker.engine, "SELECT url, count, reason FROM suppressions ORDER BY url")
    assert {row["reason"] for row in rows} <= {Refusal.EXTENSION}
    return [(row["url"], row["count"]) for row in rows]


@pytest.mark.parametrize(
    "paths",
    [
        [f"/wiki/{name}.js" for name in ("Node", "D3", "Vue", "Chart", "Moment", "Three")],
        [f"/wiki/File:Harbour_{n}.jpg" for n in range(8)],
        [f"/domain/example{n}.zip" for n in range(8)],
        [f"/title/{n}.PDF?tab=about" for n in range(8)],
    ],
)
def test_pages_that_end_like_files_are_all_fetched(worker: Worker, web: Web, paths: list[str]) -> None:
    site = web.site()
    site.pages["/"] = html(*paths)
    site.pages |= {path: html(text=path) for path in paths}
    start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == sorted(["/", *paths])
    assert refused(worker) == []


@pytest.mark.parametrize("ending", ["png", "zip", "js"])
def test_files_are_asked_for_three_times_and_the_others_leave_one_row(worker: Worker, web: Web, ending: str) -> None:
    site = web.site()
    files = [f"/files/{n}.{ending}" for n in range(20)]
    site.pages["/"] = html(*files[:10], "/more")
    site.pages["/more"] = html(*files)
    site.pages |= dict.fromkeys(files, PICTURE)
    start(worker, site.url())
    run(worker)
    asked = [path for path in site.pages_asked if path.endswith(ending)]
    assert len(asked) == 3
    ((example, count),) = refused(worker)
    assert example.startswith(site.url("/files/"))
    assert count == 17
    causes = {row["cause"] for row in sql(worker.engine, "SELECT cause FROM urls WHERE state = 'refused'")}
    assert causes <= {Cause.EXTENSION}


def test_endings_are_judged_apart_and_so_are_hosts(worker: Worker, web: Web) -> None:
    files, pages = web.site(), web.site()
    of_files, of_pages = [f"/{n}.js" for n in range(6)], [f"/wiki/{n}.js" for n in range(6)]
    pictures = [f"/{n}.gif" for n in range(6)]
    files.pages["/"] = html(*of_files, *(pages.url(path) for path in of_pages))
    files.pages |= dict.fromkeys(of_files, PICTURE)
    pages.pages["/"] = html(*pictures)
    pages.pages |= {path: html() for path in of_pages} | dict.fromkeys(pictures, PICTURE)
    start(worker, files.url(), pages.url(), scope="host")
    run(worker)
    assert len([path for path in files.pages_asked if path.endswith(".js")]) == 3
    assert len([path for path in pages.pages_asked if path.endswith(".js")]) == 6
    assert len([path for path in pages.pages_asked if path.endswith(".gif")]) == 3


def test_links_from_another_host_learn_from_its_requests(worker: Worker, web: Web) -> None:
    there, here = web.site(), web.site()
    first, second = [f"/{n}.jpg" for n in range(5)], [f"/more/{n}.jpg" for n in range(40)]
    there.pages["/"] = html(*first)
    there.pages |= dict.fromkeys([*first, *second], PICTURE)
    here.pages["/"] = html()
    here.pages["/late"] = html(*(there.url(path) for path in second))
    start(worker, there.url(), here.url(), scope="host")
    run(worker)
    here.pages["/"] = html("/late")
    sql(worker.engine, "UPDATE crawls SET state = 'active', finished_at = NULL")
    start(worker, here.url("/late"), there.url("/x"), name="second", scope="host")
    run(worker)
    assert len([path for path in there.pages_asked if path.endswith(".jpg")]) == 6  # three for each crawl
    assert one_count(worker) >= 2


def one_count(worker: Worker) -> int:
    return sum(count for _, count in refused(worker))


def test_a_seed_is_fetched_however_it_ends(worker: Worker, site: Site) -> None:
    site.pages |= {f"/{n}.zip": html() for n in range(5)}
    start(worker, *(site.url(f"/{n}.zip") for n in range(5)), budgets=Budgets(max_depth=0))
    run(worker)
    assert len(site.pages_asked) == 5


def test_redirects_to_another_origin_say_nothing(worker: Worker, web: Web) -> None:
    """As from http to https, or to www: the same path is asked for there."""
    old, new = web.site(), web.site()
    pages = [f"/wiki/{n}.js" for n in range(6)]
    old.pages["/"] = html(*pages)
    old.pages |= {path: Answer(status=301, headers={"Location": new.url(path)}) for path in pages}
    new.pages |= {path: html() for path in pages}
    start(worker, old.url(), new.url())
    run(worker)
    assert sorted(path for path in new.pages_asked if path.endswith(".js")) == pages


def test_an_operator_may_force_a_refused_one(worker: Worker, site: Site) -> None:
    site.pages["/"] = html(*(f"/{n}.png" for n in range(9)))
    site.pages |= {f"/{n}.png": PICTURE for n in range(9)}
    start(worker, site.url(), name="docs")
    run(worker)
    (first, *_) = [row["url"] for row in sql(worker.engine, "SELECT url FROM urls WHERE cause = 'extension'")]
    assert "--force" in why(worker.engine, worker.settings, first).crawls[0].waits_for[0]


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()
