"""What is refused by trial and has an end is fetched where nothing better waits and the budget has room."""

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from app.admin import crawls
from app.admin.board.tally import tally
from app.admin.edit import edit
from app.admin.options import wish_of
from app.admin.report import report
from app.crawl.state.worker import Worker
from app.model import Budgets, CrawlChange
from app.policy.focus.profile_text import text_of
from app.policy.focus.shape import shape_of
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Hit, Site, Web
from tests.features.focus.test_traps import asked, words
from tests.store.rows import one

PRODUCTS = 200  # twice what is fetched of any site
WHERE = " in a profile's [traps]"
FRAME = (
    "Delivery takes two or three working days within the country and a week to all the other countries.",
    "Things that were not used may be sent back within a month at the cost of the buyer.",
)


# what is told of a pattern that stays refused: the start of its paths, as a profile lets them through
ALLOW = {
    "/week/": "/week/",
    "/find?from=": "/find.",
    "/things?size=": "/things.",
    "/find?start=": "/find.",
    "/log/": "/log/",
}


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def page(*lines: str, links: Sequence[str] = ()) -> Answer:
    """A page in a shop's frame: lines of text, and links by their paths."""
    said = "".join(f"<p>{line}</p>" for line in lines)
    named = "".join(f'<li><a href="{link}">{link.strip("/")}</a></li>' for link in links)
    body = f"<!doctype html><html lang=en><body><main>{said}<ul>{named}</ul></main></body></html>"
    return Answer(headers={"Content-Type": "text/html; charset=utf-8"}, body=body.encode())


def product(n: int, links: list[str], frame: Sequence[str] = FRAME) -> Answer:
    """A name, a price and a few numbers, in words that all have."""
    rng = Random(n)
    price, weight, stock = rng.randint(100, 9_999) / 100, rng.randint(1, 900), rng.randint(0, 40)
    return page(
        f"Product {n}",
        f"Price: {price:.2f} EUR",
        f"Weight: {weight} g",
        f"In stock: {stock}",
        *frame,
        links=links,
    )


def shop(
    site: Site, path: Callable[[int], str], *, many: int = PRODUCTS, related: int = 0, frame: Sequence[str] = FRAME
) -> list[str]:
    """A front page, lists of twenty products, and the products."""
    paths = [path(n) for n in range(many)]
    lists = [f"/all/{n}" for n in range(many // 20)]
    site.pages["/"] = page(words("/"), links=lists)
    for n, each in enumerate(lists):
        site.pages[each] = page(words(each), links=paths[20 * n : 20 * n + 20])
    for n, each in enumerate(paths):
        site.pages[each] = product(n, Random(n).sample(paths, related), frame)
    return paths


FORMS = {"/p/8": "/p/{}", "/product-8": "/product-{}", "/item.php?id=8": "/item.php?id={}", "/x/8/view": "/x/{}/view"}


SIZES = [(0, 2), (4, 20), (4, 2), (0, 20)]  # related pages, and the budget as a multiple


def each_form() -> list[Any]:
    """Each form with one of the sizes; with the others in the long form."""
    return [
        pytest.param(form, *size, marks=() if number == at else pytest.mark.faults)
        for number, form in enumerate(FORMS.values())
        for at, size in enumerate(SIZES)
    ]


@pytest.mark.parametrize(("form", "related", "times"), each_form())
def test_a_catalogue_of_thin_pages_is_fetched_whole(
    worker: Worker, site: Site, form: str, related: int, times: int
) -> None:
    paths = shop(site, form.format, related=related)
    start(worker, site.url(), budgets=Budgets(max_pages=times * len(site.pages)))
    run(worker)
    assert set(paths) - set(site.pages_asked) == set()
    assert len(site.pages_asked) == len(set(site.pages_asked))
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state IN ('refused', 'queued')") == 0


@pytest.mark.parametrize("related", [0, 4])
def test_a_catalogue_whose_pages_have_no_frame_is_fetched_whole(worker: Worker, site: Site, related: int) -> None:
    """Nothing but numbers tells one from another."""
    paths = shop(site, "/p/{}".format, related=related, frame=())
    start(worker, site.url(), budgets=Budgets(max_pages=2 * len(site.pages)))
    run(worker)
    assert set(paths) - set(site.pages_asked) == set()


@pytest.mark.parametrize("each", [10, 40])
def test_a_catalogue_in_which_some_pages_have_prose_is_fetched_whole(worker: Worker, site: Site, each: int) -> None:
    """Their pattern turns with each of them, and what is queued by that and refused anew is no growth."""
    paths = shop(site, "/p/{}".format, many=PRODUCTS)
    for n, path in list(enumerate(paths))[each - 1 :: each]:
        site.pages[path] = page(f"Product {n}", words(path))
    start(worker, site.url(), budgets=Budgets(max_pages=2 * len(site.pages)))
    run(worker)
    assert set(paths) - set(site.pages_asked) == set()


def test_a_visit_that_ends_at_its_time_leaves_refused_urls_queued(make: Callable[..., Worker], site: Site) -> None:
    """Where nothing else of the host is: its crawl would end, with URLs refused and its budget unspent."""
    paths = shop(site, "/p/{}".format, many=100)
    worker = make(visit_max_s=1)
    start(worker, site.url(), budgets=Budgets(max_pages=2 * len(site.pages)))
    run(worker, rounds=1_000)
    assert set(paths) - set(site.pages_asked) == set()


def test_more_than_are_kept_of_a_trap_are_fetched(worker: Worker, site: Site) -> None:
    paths = shop(site, "/p/{}".format, many=700)
    start(worker, site.url(), budgets=Budgets(max_pages=2 * len(site.pages)))
    run(worker)
    assert set(paths) - set(site.pages_asked) == set()


# the budget as a multiple of the pages, and what is fetched at least and at most of those that rarely tell something
@pytest.mark.parametrize(("times", "least", "most"), [(3, PRODUCTS - 10, PRODUCTS), (1, 3, 60)])
def test_a_pattern_that_tells_now_and_then_is_fetched_whole_where_all_of_it_fits(
    worker: Worker, site: Site, times: int, least: int, most: int
) -> None:
    """Each third page that is asked for has a line of its own."""
    nth = count()

    def answer(hit: Hit) -> Answer:
        n = next(nth)
        return product(0 if n % 3 else n, [])

    paths = shop(site, "/p/{}".format)
    site.pages |= dict.fromkeys(paths, answer)
    start(worker, site.url(), budgets=Budgets(max_pages=times * len(site.pages) - 40))
    run(worker)
    assert least <= len(asked(site, "/p/")) <= most


def test_an_index_among_refused_pages_is_no_growth_without_end(worker: Worker, site: Site) -> None:
    """Those that it names are of its own pattern, and named nowhere else."""
    paths = shop(site, "/p/{}".format)
    later = [f"/p/{n}" for n in range(PRODUCTS, PRODUCTS + 100)]
    site.pages |= {path: product(PRODUCTS + n, []) for n, path in enumerate(later)}
    site.pages[paths[-20]] = product(PRODUCTS - 20, later)
    start(worker, site.url(), budgets=Budgets(max_pages=2 * len(site.pages)))
    run(worker)
    assert {*paths, *later} - set(site.pages_asked) == set()


def weeks(n: int) -> Answer:
    rng = Random(n)
    sun = f"Sunrise {rng.randint(4, 8)}:{rng.randint(10, 59)}, sunset {rng.randint(16, 21)}:{rng.randint(10, 59)}"
    return page(*FRAME, sun, links=[f"/week/{n + step}" for step in (1, 2, 3)])


def results(n: int) -> Answer:
    return page(f"Results {10 * n} to {10 * n + 9}", *FRAME, links=[f"/find?from={n + step}" for step in (1, 2, 10)])


def facets(n: int) -> Answer:
    return page(f"{n * 7919 % 997} things", *FRAME, links=[f"/things?size={n * 4 + step}" for step in range(1, 5)])


def measured(n: int) -> Answer:
    """Numbers alone."""
    return page(f"{Random(n).randint(0, 99_999)}", links=[f"/find?start={n + step}" for step in (1, 2, 10)])


def logged(n: int) -> Answer:
    """A few words that all have, and numbers."""
    return page(
        f"Values: {Random(n).random():.6f}", f"Load: {n * 7919 % 997}", links=[f"/log/{n + 1}", f"/log/{n * 2}"]
    )


ENDLESS = [
    ("/week/", weeks),
    ("/find?from=", results),
    ("/things?size=", facets),
    ("/find?start=", measured),
    ("/log/", logged),
]


# what has no end, and tells something of its own on each page
@pytest.mark.parametrize(("start_of", "made"), ENDLESS)
def test_what_has_no_end_is_left(worker: Worker, site: Site, start_of: str, made: Callable[[int], Answer]) -> None:
    paths = shop(site, "/p/{}".format, many=100)
    lists = [f"/all/{n}" for n in range(5)]
    site.pages["/"] = page(words("/"), links=[*lists, f"{start_of}1"])
    site.answer = endless(site, start_of, made)  # type: ignore[method-assign, assignment]
    start(worker, site.url(), budgets=Budgets(max_pages=900))
    run(worker)
    assert set(paths) <= set(site.pages_asked)
    assert len(asked(site, start_of)) <= 40
    (line,) = report(worker.engine, "c").verdict
    name = shape_of(f"{start_of}1").name
    assert line.startswith(f"{site.host}{name}: ")
    assert f"allow = ['^{ALLOW[start_of]}']" in line


def test_the_line_that_is_told_lets_a_pattern_through(worker: Worker, site: Site, tmp_path: Path) -> None:
    """As a person types it: the same words on each face, in a profile, and the crawl goes on with what was refused."""
    months = [f"/month/{n}" for n in range(200)]
    site.pages |= {path: page("Nothing is planned so far in this month.") for path in months}
    site.pages["/"] = page(words("/"), links=months)
    start(worker, site.url(), budgets=Budgets(max_pages=900))
    run(worker)
    assert len(asked(site, "/month/")) < 120
    found = report(worker.engine, "c").verdict
    assert tally(worker.engine, "c").verdict == found
    (line,) = [each for each in found if WHERE in each]
    mine = tmp_path / "mine.toml"
    mine.write_text(f"{text_of('general')}\n[traps]\n{line.partition('wanted? ')[2].removesuffix(WHERE)}\n")
    edit(worker.engine, worker.settings, "c", CrawlChange(profile=wish_of(str(mine))))
    crawls.start(worker.engine, "c")
    run(worker)
    assert set(months) == set(asked(site, "/month/"))
    assert WHERE not in "".join(report(worker.engine, "c").verdict)


def test_links_to_nothing_stay_refused(worker: Worker, site: Site) -> None:
    """Beside products that are fetched after all."""
    paths = shop(site, "/p/{}".format, many=140)
    dead = [f"/dead/{n}x" for n in range(150)]
    site.pages["/all/0"] = page(words("all"), links=paths[:20] + dead)
    start(worker, site.url(), budgets=Budgets(max_pages=900))
    run(worker)
    assert set(paths) <= set(site.pages_asked)
    assert len(asked(site, "/dead")) <= 15


@pytest.mark.parametrize("path", ["/things", "/all/of/them"])
def test_facets_that_are_chosen_together_stay_refused(worker: Worker, site: Site, path: str) -> None:
    """Each says how many things it has, in a number of its own: whatever it is refused for, it has no end."""
    paths, known = shop(site, "/p/{}".format, many=100), site.answer

    def chosen(given: dict[str, str]) -> str:
        return f"{path}?{'&'.join(f'{name}={given[name]}' for name in sorted(given))}"

    def answer(hit: Hit) -> Answer:
        if hit.path.partition("?")[0] != path:
            return known(hit)
        given = dict(part.split("=") for part in hit.path.partition("?")[2].split("&") if part)
        others = [{**given, name: f"{value}"} for name in ("colour", "size", "maker") for value in "abcd"]
        return page(f"{Random(hit.path).randint(100, 9_999)} things", *FRAME, links=[chosen(each) for each in others])

    site.pages["/"] = page(words("/"), links=[*(f"/all/{n}" for n in range(5)), path])
    site.answer = answer  # type: ignore[method-assign]
    start(worker, site.url(), budgets=Budgets(max_pages=300))
    run(worker)
    assert set(paths) <= set(site.pages_asked)
    assert len([each for each in site.pages_asked if "&" in each]) <= 10


def endless(site: Site, start_of: str, made: Callable[[int], Answer]) -> Callable[[Hit], Answer]:
    """The site's answers, and pages for any number behind this."""
    known = site.answer

    def answer(hit: Hit) -> Answer:
        rest = hit.path.removeprefix(start_of)
        return made(int(rest)) if rest != hit.path else known(hit)

    return answer
