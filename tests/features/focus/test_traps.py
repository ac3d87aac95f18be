"""A visit refuses what brings nothing new, counts it, and takes back what turns out to be worth it."""

from collections.abc import Callable
from random import Random

import pytest

from app.admin import explain, focus
from app.admin.crawls import find
from app.admin.edit import edit
from app.admin.seeds import add
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.model import Budgets, CrawlChange
from app.policy.focus.patterns import SMALL_SITE
from tests.crawl.loop import go, run, start
from tests.crawl.web import Hit, Site, Web, html
from tests.store.rows import one, sql

AMPLE = Budgets(max_pages=10 * SMALL_SITE)  # more than is fetched here, and too little to fetch all of a larger site

DAYS = 250
LOST = "Nothing takes place here on this day of the year and nobody knows of anything that might"


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def words(seed: object) -> str:
    rng = Random(str(seed))
    return " ".join("".join(rng.choice("abcdefghij") for _ in range(6)) for _ in range(40))


def calendar(site: Site, *, text: Callable[[int], str]) -> list[str]:
    """A front page that names good pages, and days of a calendar, each of which names the next ten."""
    good = [f"/docs/{n}x" for n in range(20)]
    days = [f"/day/{n}" for n in range(DAYS)]
    site.pages |= {path: html(text=words(path)) for path in good}
    site.pages |= {path: html(*days[n : n + 10], text=text(n)) for n, path in enumerate(days)}
    site.pages["/"] = html(*good, *days[: SMALL_SITE + 50], text=words("/"))
    return days


def asked(site: Site, start: str) -> list[str]:
    return [path for path in site.pages_asked if path.startswith(start)]


def pattern(worker: Worker, name: str) -> dict[str, object]:
    (row,) = sql(worker.engine, "SELECT * FROM url_patterns WHERE pattern = :name", name=name)
    return row


def test_nothing_is_refused_of_a_site_that_takes_little_of_the_budget(worker: Worker, site: Site) -> None:
    calendar(site, text=lambda n: LOST)
    start(worker, site.url(), budgets=Budgets(max_pages=30 * DAYS))
    run(worker)
    assert len(asked(site, "/day")) == DAYS


def test_days_that_say_nothing_new_are_refused(worker: Worker, site: Site) -> None:
    calendar(site, text=lambda n: LOST)
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len(asked(site, "/docs")) == 20
    assert len(asked(site, "/day")) < 20
    found = pattern(worker, "/day/#")
    assert found["fetched"] == len(asked(site, "/day"))
    assert found["new"] == 1
    assert int(str(found["refused"])) >= SMALL_SITE
    refused = sql(worker.engine, "SELECT DISTINCT cause, detail FROM urls WHERE state = 'refused'")
    assert [tuple(row.values()) for row in refused] == [("trap", "/day/#")]
    assert find(worker.engine, "c").state == "finished"


# Four pages differ in two parts of their text: one behind its first 840 characters, one as far behind its middle. Of
# phrases every fourth is compared, by a hash that is another in each process: so more than half of what is looked at
# differs, where less than a third would do.
@pytest.mark.parametrize("budgets", [Budgets(), AMPLE])
def test_as_much_of_a_text_is_looked_at_where_nothing_is_refused(worker: Worker, site: Site, budgets: Budgets) -> None:
    def lines(part: object, count: int) -> list[str]:
        return [words((part, n)) for n in range(count)]

    own = {
        n: [*lines("top", 3), *lines(n, 4), *lines("middle", 10), *lines((n, "more"), 4), *lines("end", 7)]
        for n in range(4)
    }
    paths = [f"/long/{n}" for n in own]
    site.pages |= {f"/long/{n}": html(text="\n".join(own[n])) for n in own}
    site.pages["/"] = html(*paths, text=words("/"))
    start(worker, site.url(), budgets=budgets)
    run(worker)
    assert pattern(worker, "/long/#")["fetched"] == 4
    assert pattern(worker, "/long/#")["new"] == 4, "pages whose text counts as new"


def test_days_that_say_something_are_fetched(worker: Worker, site: Site) -> None:
    days = calendar(site, text=words)
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert asked(site, "/day") == sorted(set(asked(site, "/day")), key=asked(site, "/day").index)
    assert set(asked(site, "/day")) == set(days)
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE cause = 'trap'") == 0


def test_a_list_is_worth_the_pages_that_it_names(worker: Worker, site: Site) -> None:
    """Its own text is always the same."""
    lists = [f"/list?page={n}" for n in range(SMALL_SITE + 60)]
    for n, path in enumerate(lists):
        site.pages[path] = html(f"/item/{n}x", text=LOST)
        site.pages[f"/item/{n}x"] = html(text=words(n))
    site.pages["/"] = html(*lists, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len(asked(site, "/item")) >= 0.95 * len(lists)


def test_pages_without_text_prove_nothing(worker: Worker, site: Site) -> None:
    """Scripts may fill them."""
    paths = [f"/app/{n}" for n in range(SMALL_SITE + 50)]
    site.pages |= {path: html() for path in paths}
    site.pages["/"] = html(*paths, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert set(asked(site, "/app")) == set(paths)


def test_a_pattern_that_turns_gets_its_urls_back(worker: Worker, site: Site) -> None:
    """From a seed, which no trap refuses, they are worth it again."""
    calendar(site, text=lambda n: LOST)
    crawl = start(worker, site.url(), budgets=AMPLE)
    run(worker)
    before = len(asked(site, "/day"))
    seeds = [f"/day/{n}" for n in range(1_000, 1_004)]
    site.pages |= {f"/day/{n}": html(text=words(n)) for n in range(2_000)}
    add(worker.engine, worker.settings, crawl, [site.url(path) for path in seeds])
    run(worker)
    assert len(asked(site, "/day")) > before + SMALL_SITE - 30
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE cause = 'trap'") == 0


# path → the reason why no crawl follows it
@pytest.mark.parametrize(
    ("path", "reason"), [("/a/b" * 4, "trap_repeats"), ("/" + "/".join(f"s{n}" for n in range(25)), "trap_depth")]
)
def test_a_path_that_gives_a_trap_away_is_refused_and_can_be_forced(
    worker: Worker, site: Site, path: str, reason: str
) -> None:
    site.pages["/"] = html(path, "/a", text=words(1))
    site.pages |= {path: html(text=words(2)), "/a": html(text=words(3))}
    crawl = start(worker, site.url(), budgets=AMPLE, keep_fresh=True)
    run_a_while(worker)
    assert site.pages_asked == ["/", "/a"]
    assert one(worker.engine, "SELECT reason FROM suppressions") == reason
    assert focus.force(worker.engine, worker.settings, site.url(path), crawl.name) == [crawl.name]
    run_a_while(worker)
    assert site.pages_asked == ["/", "/a", path]


def run_a_while(worker: Worker) -> None:
    for _ in range(3):
        go(worker)


def test_a_url_that_nobody_met_is_not_forced(worker: Worker, site: Site) -> None:
    start(worker, site.url(), budgets=AMPLE)
    with pytest.raises(InputError, match="no crawl ever met it"):
        focus.force(worker.engine, worker.settings, site.url("/never"), None)


def test_a_forced_url_passes_where_a_retried_one_does_not(worker: Worker, site: Site) -> None:
    calendar(site, text=lambda n: LOST)
    start(worker, site.url(), budgets=AMPLE, keep_fresh=True)
    for _ in range(20):
        run_a_while(worker)
    refused = str(one(worker.engine, "SELECT url FROM urls WHERE cause = 'trap' ORDER BY id LIMIT 1"))
    path = refused.removeprefix(site.url(""))
    explain.retry(worker.engine, worker.settings, refused, None)
    run_a_while(worker)
    assert path not in site.pages_asked
    assert focus.force(worker.engine, worker.settings, refused, None) == ["c"]
    run_a_while(worker)
    assert site.pages_asked.count(path) == 1
    assert one(worker.engine, "SELECT cause FROM urls WHERE url = :url", url=refused) is None


def test_what_the_profile_allows_is_no_trap(worker: Worker, site: Site) -> None:
    days = calendar(site, text=lambda n: LOST)
    start(worker, site.url(), budgets=AMPLE, profile="[traps]\nallow = ['^/day/']\n")
    run(worker)
    assert set(asked(site, "/day")) == set(days)


def test_a_running_crawl_gets_its_new_profile(worker: Worker, site: Site) -> None:
    """From the next pick on: a broken one never reaches it."""

    def change(hit: Hit) -> object:
        with pytest.raises(InputError):
            edit(worker.engine, worker.settings, "c", CrawlChange(profile="[rest]\nweight = 2\n"))
        edit(worker.engine, worker.settings, "c", CrawlChange(profile="[rest]\nlane = 3\nweight = 0.2\n"))
        return html("/first", text=words(0))

    site.pages["/"] = change  # type: ignore[assignment]
    site.pages["/first"] = html("/second", text=words(1))
    site.pages["/second"] = html(text=words(2))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    found = {row["url"]: (row["lane"], round(row["score"], 2)) for row in sql(worker.engine, "SELECT * FROM urls")}
    assert found[site.url("/first")] == (1, 0.48)
    assert found[site.url("/second")] == (3, 0.17)


def test_an_operator_sees_patterns_and_what_comes_first(worker: Worker, site: Site) -> None:
    calendar(site, text=lambda n: LOST)
    crawl = start(worker, site.url(), budgets=AMPLE)
    go(worker)
    rows = {row["pattern"]: row for row in focus.patterns_of(worker.engine, site.host)}
    assert rows["/docs/w#"]["verdict"] == "brings new text"
    assert rows["/day/#"]["verdict"] == "brings nothing new"
    assert rows["/day/#"]["held"] == one(worker.engine, "SELECT count(*) FROM urls WHERE cause = 'trap'")
    add(worker.engine, worker.settings, crawl, [site.url("/late")])
    (first,) = focus.top(worker.engine, crawl.name, 1)
    assert (first["url"], first["lane"], first["parts"].base) == (site.url("/late"), 0, 1.0)


def test_without_a_budget_no_pattern_is_refused(worker: Worker, web: Web) -> None:
    """Pages that differ in a number and say the same may be all that a site has: they wait, and none is missed."""
    site = web.site()
    paths = [f"/page-{n}" for n in range(2 * SMALL_SITE)]
    site.pages["/"] = html(*paths)
    site.pages |= {path: html(text="The same words on each of these pages, and nothing else.") for path in paths}
    start(worker, site.url())
    run(worker)
    assert set(paths) <= set(site.paths)
