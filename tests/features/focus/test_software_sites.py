"""A crawl of sites as known software makes them: it gets the good pages, and leaves the traps alone.

Each site is drawn anew at each run; the seed is printed where it fails.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random, SystemRandom
from typing import NamedTuple

import pytest

from app.crawl.state.worker import Worker
from app.model import Budgets
from app.policy.focus.shape import shape_of
from tests.crawl.loop import run, start
from tests.crawl.web import Web
from tests.faults.pace import IS_LONG
from tests.features.focus.software_sites import SOFTWARE, Events, Numbers, Software, SoftwareSite


class Got(NamedTuple):
    """Of a crawl: the share of the good pages, of its requests those that went into traps, and into endless ones."""

    good: float
    traps: float
    endless: float
    shown: str


def crawled(worker: Worker, web: Web, kind: type[Software]) -> Got:
    """Crawl a site with a budget of 1.2 times its good pages."""
    seed = SystemRandom().randrange(10**9)
    site = SoftwareSite("127.77.1.3")
    site.software = kind(seed)
    web.sites.append(site)
    good = site.software.good
    start(worker, site.url("/"), budgets=Budgets(max_pages=int(1.2 * len(good))))
    run(replace(worker, rng=Random(seed)))
    asked = site.pages_asked
    traps = [path for path in asked if path not in good | site.software.fair]
    kinds = Counter(shape_of(path).name for path in traps).most_common(9)
    missed = sorted(good - set(asked))
    share, wasted = 1 - len(missed) / len(good), len(traps) / len(asked)
    endless = sum(re.search(kind.endless, path) is not None for path in traps) / len(asked)
    shown = f"{kind.__name__} seed {seed}: {share:.1%} of {len(good)} good pages, {len(asked)} requests, "
    shown += f"{wasted:.1%} on traps, {endless:.1%} endless {kinds}; missed {missed[:3]}"
    return Got(share, wasted, endless, shown)


# The two smaller ones are alone in the long form: test_trap_world crawls them beside another, and allows less.
KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(kind in {Events, Numbers} and not IS_LONG, reason="the long form's"))
    for kind in SOFTWARE
]


# Draws: 74 to 100 % of the good pages (a shop's reviews are fair, and take their share); 0.3 to 13.5 % of the requests
# on traps, on endless ones 13 requests at most.
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_budget_goes_to_the_good_pages(make: Callable[..., Worker], web: Web, kind: type[Software]) -> None:
    got = crawled(make(), web, kind)
    assert got.good >= 0.7, got.shown
    assert got.traps <= 0.2, got.shown
    assert got.endless <= 0.1, got.shown
