"""Seeds come in whatever their neighbours look like; a crawl that exists is taken up as it stands."""

import math
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.admin import crawls as seed
from app.admin import explain
from app.admin import seeds as new_seeds
from app.admin.seeds import Added
from app.beat.finish import finish
from app.crawl.state.worker import Kit
from app.crawl.visit import settle
from app.crawl.visit.visit import take_up
from app.errors import InputError
from app.model import VisitEnding
from app.policy.lifecycle_visit import VisitEvent
from app.store import crawls, db, hosts, urls
from app.store.crawls import Budgets, Crawl
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html
from tests.store.rows import Aside, admission, await_blocked, backend, claim, host, make_crawl, make_host, one, sql


def add(kit: Kit, *lines: str, name: str = "c") -> Added:
    return new_seeds.add(kit.engine, kit.settings, seed.find(kit.engine, name), lines)


def stored(kit: Kit) -> list[str]:
    return [row["url"] for row in sql(kit.engine, "SELECT url FROM urls ORDER BY url")]


# --- lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ("http://a.test", "http://a.test/"),
        ("  http://a.test/x  \r\n", "http://a.test/x"),
        ("HTTP://A.Test:80/x/../y#f", "http://a.test/y"),
        ("\ufeffhttp://a.test/", "http://a.test/"),
        ("a.test/x", "https://a.test/x"),
        ("http://a.test/a,b", "http://a.test/a,b"),  # a comma of its own
        ("# http://a.test/", None),
        ("", None),
        ("   ", None),
    ],
)
def test_a_line_is_a_seed(kit: Kit, line: str, url: str | None) -> None:
    seed.create(kit.engine, "c")
    added = add(kit, line)
    assert stored(kit) == ([url] if url else [])
    assert (added.added, added.bad_count) == (1 if url else 0, 0)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "not a URL"),
        ("url", "not a URL"),  # the head of a CSV
        ("ftp://a.test/", "only http"),
        ("http://u:p@a.test/", "user name"),
        ("http://a.test/" + "x" * 2083, "2,083"),
        ("http://", "not a URL"),
        ("javascript:alert(1)", "only http"),
        ("http://a.test:99999/", "not a URL"),
    ],
)
def test_bad_lines_are_named_by_number_and_good_ones_kept(kit: Kit, line: str, why: str) -> None:
    seed.create(kit.engine, "c")
    added = add(kit, "# a comment", "http://a.test/1", line, "", "http://a.test/2", line)
    assert stored(kit) == ["http://a.test/1", "http://a.test/2"]
    assert (added.added, added.bad_count, [bad.line for bad in added.bad]) == (2, 2, [3, 6])
    assert why in added.bad[0].why
    assert str(added.bad[0]).startswith("line 3: ")


def test_of_very_many_bad_lines_the_first_thousand_are_named_and_all_counted(kit: Kit) -> None:
    seed.create(kit.engine, "c")
    added = add(kit, *["no url"] * 1_500, "http://a.test/")
    assert (len(added.bad), added.bad_count, added.added) == (1_000, 1_500, 1)


def test_repeats_are_known(kit: Kit) -> None:
    seed.create(kit.engine, "c")
    first = add(kit, "http://a.test/", "http://a.test", "http://a.test/?utm_source=x", "http://b.test/")
    second = add(kit, "http://a.test/", "http://c.test/")
    assert (first.added, first.known) == (2, 2)
    assert (second.added, second.known) == (1, 1)


def test_many_seeds_come_in_batches(kit: Kit) -> None:
    seed.create(kit.engine, "c")
    lines = [f"http://h{number % 7}.test/{number}" for number in range(12_000)]
    added = add(kit, *lines)
    assert (added.added, added.known) == (12_000, 0)
    assert one(kit.engine, "SELECT count(*) FROM hosts WHERE next_fetch_at IS NOT NULL") == 7


def test_a_seed_is_due_at_once_first_in_line(kit: Kit) -> None:
    seed.create(kit.engine, "c")
    add(kit, "http://a.test/blog/x")
    (row,) = sql(kit.engine, "SELECT state, lane, score, depth, found_on FROM urls")
    assert row == {"state": "queued", "lane": 0, "score": 1.0, "depth": 0, "found_on": None}
    found = host(kit.engine, 1)
    assert found["next_fetch_at"] <= found["now"]


def test_seeds_that_settles_admit_at_the_same_time_do_not_deadlock(kit: Kit) -> None:
    """A settle admits, then reserves pages of the crawl; adding seeds must take its locks in the same order."""
    crawl_id = make_crawl(kit.engine, "c", max_pages=100)
    host_id = make_host(kit.engine, "1.test")
    row = admission(host_id, crawl_id, "/")
    with db.transaction(kit.engine) as tx:
        urls.admit(tx, [{**row, "url": "http://1.test/", "key": _key(kit, "http://1.test/")}])
        aside = Aside(lambda: add(kit, "http://1.test/"))
        await_blocked(kit.engine, backend(tx), aside)
        assert crawls.reserve(tx, crawl_id=crawl_id, n=5) == 5
    assert aside.outcome().known == 1


def _key(kit: Kit, text: str) -> bytes:
    url = kit.canon.canonicalise(text)
    assert not isinstance(url, str)
    return url.key


def test_seeds_start_a_crawl_that_has_just_ended(kit: Kit) -> None:
    """A new one has no URL yet when beat looks, and ends; whoever made it knows nothing of that."""
    crawl = seed.create(kit.engine, "c")
    finish(kit.engine)
    assert one(kit.engine, "SELECT state FROM crawls") == "finished"
    new_seeds.add(kit.engine, kit.settings, crawl, ["http://a.test/"])
    assert one(kit.engine, "SELECT state FROM crawls") == "active"


# --- scope ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "column", "first", "then"),
    [
        ("host", "scope_hosts", ["www.a.co.uk"], ["b.test", "www.a.co.uk"]),
        ("domain", "scope_domains", ["a.co.uk"], ["a.co.uk", "b.test"]),
        ("prefix", "scope_prefixes", ["http://www.a.co.uk/docs/"], ["http://b.test/", "http://www.a.co.uk/docs/"]),
    ],
)
def test_a_scope_widens_with_its_seeds(kit: Kit, kind: str, column: str, first: list[str], then: list[str]) -> None:
    crawl = seed.create(kit.engine, "c", scope_kind=kind)
    add(kit, "http://www.a.co.uk/docs/index.html")
    assert getattr(seed.find(kit.engine, "c"), column) == first
    add(kit, "http://b.test/x", "http://www.a.co.uk/docs/other")
    found = seed.find(kit.engine, "c")
    assert getattr(found, column) == then
    others = {"scope_hosts", "scope_domains", "scope_prefixes"} - {column}
    assert all(getattr(found, other) == [] for other in others)
    assert found.revision > crawl.revision, "workers read it anew"


def test_a_worker_that_knows_the_scope_learns_that_it_widened(kit: Kit, web: Web) -> None:
    first, second = web.site(), web.site()
    first.pages["/"] = html(second.url("/a"))
    second.pages["/"] = html("/a")
    start(kit, first.url())
    run(kit)
    assert second.paths == []
    add(kit, second.url())
    run(kit)
    assert second.pages_asked == ["/", "/a"]


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"scope_kind": "web"}, "scope 'web'"),
        ({"include": ["("]}, "include"),
        ({"exclude": ["[a"]}, "exclude"),
        ({"budgets": Budgets(max_depth=-1)}, "max_depth"),
        ({"budgets": Budgets(max_pages=0)}, "max_pages"),
        ({"budgets": Budgets(max_bytes=-1)}, "max_bytes"),
        ({"budgets": Budgets(max_seconds=0)}, "max_seconds"),
        ({"budgets": Budgets(max_pages=10**20)}, "max_pages"),
        ({"budgets": Budgets(max_bytes=10**20)}, "max_bytes"),
        ({"budgets": Budgets(max_depth=2**31)}, "max_depth"),
        ({"budgets": Budgets(max_seconds=1e308)}, "max_seconds"),
        ({"budgets": Budgets(max_seconds=math.nan)}, "max_seconds"),
    ],
)
def test_a_crawl_that_cannot_work_is_not_made(kit: Kit, columns: dict[str, Any], names: str) -> None:
    with pytest.raises(InputError, match=names.replace("(", r"\(")):
        seed.create(kit.engine, "c", **columns)
    assert one(kit.engine, "SELECT count(*) FROM crawls") == 0


@pytest.mark.parametrize("name", ["", "x" * 101, "a\nb", "a\x00b"])
def test_a_name_is_printable(kit: Kit, name: str) -> None:
    with pytest.raises(InputError, match="crawl name"):
        seed.create(kit.engine, name)


def test_names_are_taken_once_and_unknown_ones_named(kit: Kit) -> None:
    seed.create(kit.engine, "one")
    with pytest.raises(InputError, match="there is one of this name"):
        seed.create(kit.engine, "one")
    with pytest.raises(InputError, match="there are: one"):
        seed.find(kit.engine, "two")


# --- taking up again --------------------------------------------------------------------------------------------


def put(kit: Kit, state: str, because: str | None = None) -> None:
    sql(
        kit.engine,
        """UPDATE crawls SET state = :s, ended_because = :b, finished_at = CASE WHEN :s = 'finished' THEN now() END""",
        s=state,
        b=because,
    )


def take_up_again(
    kit: Kit, *lines: str, budgets: Budgets | None = None, again: bool = False
) -> tuple[str, bool, list[str]]:
    said: list[str] = []
    crawl, runs = seed.take_up_again(
        kit.engine,
        kit.settings,
        seed.find(kit.engine, "c"),
        lines,
        budgets=budgets or Budgets(),
        keep_fresh=False,
        again=again,
        say=said.append,
    )
    return crawl.state, runs, said


@pytest.mark.parametrize(
    ("state", "because", "queued", "goes_on"),
    [
        ("active", None, True, True),
        ("paused", None, True, True),
        ("finished", "operator", True, True),
        ("finished", "max_pages", True, True),  # the new command has no such budget
        ("finished", "done", False, False),
    ],
)
def test_a_crawl_goes_on_if_it_can(kit: Kit, state: str, because: str | None, queued: bool, goes_on: bool) -> None:
    start(kit, "http://a.test/")
    if not queued:
        sql(kit.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    sql(kit.engine, "UPDATE hosts SET next_fetch_at = NULL")
    put(kit, state, because)
    found, runs, said = take_up_again(kit, "http://a.test/")
    assert (found, runs) == (("active", True) if goes_on else ("finished", False))
    assert len(said) == 1
    assert ("--again" in said[0]) is not goes_on
    if goes_on:
        assert one(kit.engine, "SELECT count(*) FROM hosts WHERE next_fetch_at IS NOT NULL") == 1, "it is woken"


def test_a_crawl_at_its_budget_still_says_what_to_raise(kit: Kit) -> None:
    start(kit, "http://a.test/", budgets=Budgets(max_pages=5))
    sql(kit.engine, "INSERT INTO crawl_hosts (crawl_id, host_id, pages) VALUES (1, 1, 5)")
    put(kit, "finished", "max_pages")
    found, runs, said = take_up_again(kit, budgets=Budgets(max_pages=5))
    assert (found, runs) == ("finished", False)
    assert "raise --max-pages" in said[0]
    assert take_up_again(kit, budgets=Budgets(max_pages=6))[:2] == ("active", True)


def budget_row(kit: Kit) -> tuple[int | None, int, int]:
    """max_pages, pages_reserved, pages in this round."""
    (row,) = sql(kit.engine, "SELECT max_pages, pages_reserved FROM crawls")
    pages = one(kit.engine, "SELECT coalesce(sum(pages), 0) FROM crawl_hosts")
    return row["max_pages"], row["pages_reserved"], int(pages)


def grant(kit: Kit, n: int) -> int:
    with db.transaction(kit.engine) as tx:
        return crawls.reserve(tx, crawl_id=1, n=n)


def test_the_same_command_grants_no_page_twice(kit: Kit) -> None:
    """50 of 100 pages are in the hands of running visits when it is given once more."""
    start(kit, "http://a.test/", budgets=Budgets(max_pages=100))
    assert grant(kit, 50) == 50
    take_up_again(kit, budgets=Budgets(max_pages=100))
    assert grant(kit, 100) == 50
    take_up_again(kit, budgets=Budgets(max_pages=120))
    assert grant(kit, 100) == 20


def test_again_keeps_the_grants_of_running_visits(kit: Kit) -> None:
    """30 pages came, 50 more are in hand: those come in the new round, or are given back."""
    start(kit, "http://a.test/", budgets=Budgets(max_pages=100))
    grant(kit, 80)
    sql(kit.engine, "INSERT INTO crawl_hosts (crawl_id, host_id, pages) VALUES (1, 1, 30)")
    take_up_again(kit, budgets=Budgets(max_pages=100), again=True)
    assert budget_row(kit) == (100, 50, 0)
    grant(kit, -50)
    assert budget_row(kit) == (100, 0, 0)


def test_again_locks_counters_before_the_crawl(kit: Kit) -> None:
    """As a settle does, which counts its pages and reserves further ones."""
    start(kit, "http://a.test/", budgets=Budgets(max_pages=100))
    count = {"crawl_id": 1, "host_id": 1, "pages": 1, "fetches": 1, "failed": 0, "bytes": 0}
    with db.transaction(kit.engine) as tx:
        crawls.count(tx, [count])
    with db.transaction(kit.engine) as tx:
        crawls.count(tx, [count])
        aside = Aside(lambda: seed.go_round(kit.engine, seed.find(kit.engine, "c")))
        assert await_blocked(kit.engine, backend(tx), aside)
        assert crawls.reserve(tx, crawl_id=1, n=5) == 5
    aside.outcome()


def test_again_holds_no_url_while_it_waits_for_a_host(kit: Kit) -> None:
    """A settle of the second host writes the first one's URLs while --again waits for the second."""
    start(kit, "http://a.test/", "http://b.test/")
    sql(kit.engine, "UPDATE urls SET state = 'resting', due_at = now()")
    with db.transaction(kit.engine) as tx:
        hosts.lock(tx, [2])
        aside = Aside(lambda: seed.go_round(kit.engine, seed.find(kit.engine, "c")))
        assert await_blocked(kit.engine, backend(tx), aside)
        tx.execute(text("UPDATE urls SET score = 0.5"))
    assert aside.outcome() == 0, "both have a next contact already"
    assert one(kit.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 2


def test_again_goes_round_a_large_host_in_lots(kit: Kit) -> None:
    start(kit, *(f"http://a.test/{n}" for n in range(40)), *(f"http://{h}.test/" for h in "bcdefgh"))
    sql(kit.engine, "UPDATE urls SET state = 'resting', due_at = now()")
    with db.transaction(kit.engine) as tx, pytest.MonkeyPatch.context() as patch:
        patch.setattr(urls, "LOT_URLS", 4)
        lots = urls.lots_of_round(tx, 1)
        assert [lot.ids for lot in lots] == [[1]] * 10 + [[2, 3, 4, 5], [6, 7, 8]]
        gone = [urls.go_round(tx, 1, lot).total() for lot in lots]
    assert sum(gone) == 47
    assert max(gone) < 15, "keys are spread over their range"


@pytest.mark.parametrize("act", ["retry", "forget"])
def test_operators_change_a_url_under_its_host(kit: Kit, act: str) -> None:
    start(kit, "http://a.test/")
    with db.transaction(kit.engine) as tx:
        hosts.lock(tx, [1])
        aside = Aside(lambda: getattr(explain, act)(kit.engine, kit.settings, "http://a.test/", None))
        assert await_blocked(kit.engine, backend(tx), aside)
        tx.execute(text("UPDATE urls SET score = 0.5"))
    assert aside.outcome() == ["c"]


def test_a_first_budget_waits_for_the_visits_that_had_none(kit: Kit, engine: Engine) -> None:
    """What they have in hand was never granted: until they have left, the whole budget is theirs."""
    start(kit, "http://a.test/")
    sql(engine, "UPDATE hosts SET next_fetch_at = now() - interval '1 minute', queue = 'host-00'")
    (offer,) = claim(engine)
    stay = take_up(kit, offer.host_id, offer.token)
    assert stay is not None
    take_up_again(kit, budgets=Budgets(max_pages=5))
    finish(engine)
    assert grant(kit, 1) == 0
    stay.move(VisitEvent.SERVED)
    settle.leave(stay, VisitEnding.NOTHING_DUE)
    finish(engine)
    assert grant(kit, 9) == 5


def test_new_seeds_bring_a_finished_crawl_to_life(kit: Kit) -> None:
    start(kit, "http://a.test/")
    sql(kit.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    put(kit, "finished", "done")
    assert take_up_again(kit, "http://b.test/")[:2] == ("active", True)


@pytest.mark.parametrize(("state", "because"), [("active", None), ("paused", None), ("finished", "done")])
def test_again_goes_round(kit: Kit, state: str, because: str | None) -> None:
    start(kit, "http://a.test/")
    sql(kit.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    sql(kit.engine, "UPDATE hosts SET next_fetch_at = NULL")
    put(kit, state, because)
    assert take_up_again(kit, again=True)[:2] == ("active", True)
    assert one(kit.engine, "SELECT state FROM urls") == "queued"
    assert one(kit.engine, "SELECT next_fetch_at IS NOT NULL FROM hosts") is True
    assert one(kit.engine, "SELECT round FROM crawls") == 2


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"scope_kind": "host"}, "scope host: crawl c has the scope domain already"),
        ({"include": ["/b"]}, "include /b: crawl c has the include /a already"),
        ({"exclude": ["/x", "/y"]}, "exclude /x /y: crawl c has the exclude none already"),
        ({"scope_kind": "galaxy"}, "scope 'galaxy': use one of"),
    ],
)
def test_reach_is_what_the_crawl_was_made_with(kit: Kit, given: dict[str, Any], why: str) -> None:
    crawl = start(kit, "http://a.test/", scope_kind="domain", include=["/a"], budgets=Budgets(max_pages=5))
    with pytest.raises(InputError, match=why):
        again_with(kit, crawl, **given)
    assert seed.find(kit.engine, "c").max_pages == 5, "nothing of such a command counts"
    again_with(kit, crawl, scope_kind="domain", include=["/a"])
    assert seed.find(kit.engine, "c").max_pages is None


def again_with(kit: Kit, crawl: Crawl, **given: Any) -> None:
    seed.take_up_again(
        kit.engine, kit.settings, crawl, (), budgets=Budgets(), keep_fresh=False, again=False, say=print, **given
    )


def test_manners_change_where_they_are_given_and_stay_where_not(kit: Kit) -> None:
    crawl = start(kit, "http://a.test/", sitemaps="declared", honour_opt_outs=True)
    take_up_again(kit)
    kept = seed.find(kit.engine, "c")
    assert (kept.sitemaps, kept.honour_opt_outs) == ("declared", True)
    seed.set_manners(kit.engine, crawl, sitemaps="none", honour_opt_outs=False)
    changed = seed.find(kit.engine, "c")
    assert (changed.sitemaps, changed.honour_opt_outs) == ("none", False)
    with pytest.raises(InputError, match="use one of: none, declared, all"):
        seed.set_manners(kit.engine, crawl, sitemaps="some")


def test_seeds_added_to_a_crawl_at_its_budget_wake_all_its_hosts(kit: Kit) -> None:
    start(kit, "http://a.test/")
    sql(kit.engine, "UPDATE hosts SET next_fetch_at = NULL")
    put(kit, "finished", "max_pages")
    add(kit, "http://b.test/")
    assert seed.find(kit.engine, "c").state == "active"
    assert one(kit.engine, "SELECT count(*) FROM hosts WHERE next_fetch_at IS NULL") == 0


@pytest.mark.parametrize(
    ("act", "state", "message"),
    [
        (seed.pause, "paused", "only an active crawl"),
        (seed.pause, "finished", "only an active crawl"),
        (seed.finish, "finished", "finished already"),
    ],
)
def test_what_cannot_be_done_to_a_crawl_says_why(kit: Kit, act: Any, state: str, message: str) -> None:
    crawl = seed.create(kit.engine, "c")
    put(kit, state)
    with pytest.raises(InputError, match=message):
        act(kit.engine, crawl)


# --- seeds that can be contacted --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seeds", "problems"),
    [
        (["http://127.0.0.1/"], []),
        (["http://127.0.0.1/", "http://10.0.0.1/"], ["10.0.0.1 is not public"]),
        (["http://127.0.0.1/", "nonsense"], ["not a URL"]),
        (["http://127.0.0.1/", "http://no-such-host.invalid/"], ["does not resolve"]),
        (["http://127.0.0.1/", "http://8.8.8.8/"], ["who answers for the crawl"]),
    ],
)
def test_seeds_are_checked_one_by_one(kit: Kit, seeds: list[str], problems: list[str]) -> None:
    found = new_seeds.check_seeds(kit.settings, seeds)
    assert len(found) == len(problems)
    assert all(problem in line for problem, line in zip(problems, found, strict=True))


@pytest.mark.parametrize("only", ["http://10.0.0.1/", "nonsense", "http://no-such-host.invalid/"])
def test_when_no_seed_is_any_good_it_is_an_error(kit: Kit, only: str) -> None:
    with pytest.raises(InputError):
        new_seeds.check_seeds(kit.settings, [only])
