"""A crawl of a trap world with the profile "general": it gets the good pages, and leaves the traps alone.

The world is drawn anew at each run; the seed is printed where it fails. A trap costs as many requests on a small site
as on a large one, so small ones are crawled, and the large one under FAULTS=long.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random, SystemRandom

import pytest

from app.crawl.state.worker import Worker
from app.model import Budgets
from app.policy.focus.shape import shape_of
from tests.crawl.loop import run, start
from tests.crawl.web import Site, Web
from tests.faults.pace import IS_LONG
from tests.features.focus.software_sites import Events, Numbers, SoftwareSite
from tests.features.focus.trap_world import TrapSite, TrapWorld, breadth_first

SIZE = 800  # pages of documentation: 1,700 good pages in all
SMALL = 200  # 420
ALWAYS = {"/robots.txt", "/sitemap.xml"}


@pytest.mark.skipif(not IS_LONG, reason="the long form's")
def test_a_budget_goes_to_the_good_pages(make: Callable[..., Worker], web: Web) -> None:
    seed = SystemRandom().randrange(10**9)
    world = TrapWorld(seed, size=SIZE)
    budget = int(1.2 * len(world.good))
    worker = replace(make(), rng=Random(seed))
    site = TrapSite("127.77.1.2")
    site.world = world
    web.sites.append(site)
    start(worker, site.url("/"), budgets=Budgets(max_pages=budget))
    run(worker)
    asked = [path for path in site.paths if path not in ALWAYS]
    plain = breadth_first(TrapWorld(seed, size=SIZE), budget)
    got, traps = judged(world, asked)
    plain_got, plain_traps = judged(world, plain)
    kinds = Counter(path.split("/")[1].partition("?")[0] for path in asked if path not in world.good)
    shown = f"seed {seed}: {got:.1%} of good, {traps:.1%} on traps {kinds.most_common(9)}"
    shown += f"; breadth first: {plain_got:.1%}, {plain_traps:.1%}"
    print(shown)
    assert got >= 0.95, shown
    assert traps <= 0.12, shown  # 12 draws: 0.046 to 0.054, and one of 0.09, which met the mirror first
    assert plain_got < 0.7, shown


def test_three_small_sites_lose_little_to_traps(make: Callable[..., Worker], web: Web) -> None:
    """One budget for 420, 310 and 170 good pages, of which a plain crawl of the first gets few."""
    seed = SystemRandom().randrange(10**9)
    first = TrapSite("127.77.1.4")
    first.world = TrapWorld(seed, size=SMALL)
    plain, _ = judged(first.world, breadth_first(TrapWorld(seed, size=SMALL), int(1.2 * len(first.world.good))))
    assert plain < 0.7, seed
    sites: list[tuple[Site, set[str], set[str]]] = [(first, first.world.good, set())]
    for number, kind in enumerate((Events, Numbers)):
        site = SoftwareSite(f"127.77.1.{5 + number}")
        site.software = kind(seed)
        sites.append((site, site.software.good, site.software.fair))
    web.sites += [site for site, _, _ in sites]
    every = sum(len(good) for _, good, _ in sites)
    worker = replace(make(), rng=Random(seed))
    start(worker, *(site.url("/") for site, _, _ in sites), budgets=Budgets(max_pages=int(1.2 * every)))
    run(worker)
    asked = [(path, good, fair) for site, good, fair in sites for path in site.pages_asked]
    missed = sum(len(good - set(site.pages_asked)) for site, good, _ in sites)
    traps = sum(path not in good | fair for path, good, fair in asked)
    kinds = Counter(shape_of(path).name for path, good, fair in asked if path not in good | fair).most_common(9)
    shown = f"seed {seed}: {missed} of {every} good pages missed, {traps} of {len(asked)} requests on traps {kinds}"
    print(shown)
    assert missed <= 0.01 * every, shown
    assert traps <= 108, shown  # draws: 58 to 81; a rare one must not fail a build


def judged(world: TrapWorld, asked: list[str]) -> tuple[float, float]:
    """The share of the good pages that were asked for, and the share of requests that went into traps."""
    return len(world.good & set(asked)) / len(world.good), sum(path not in world.good for path in asked) / len(asked)
