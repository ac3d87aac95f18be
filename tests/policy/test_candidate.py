"""How a URL enters the frontier: the state and the cause follow from the event, by the transition table."""

import pytest

from app.model import Cause, RequestKind, Url
from app.policy.candidate import SEED_PARTS, SEED_SCORE, Candidate, in_front
from app.policy.focus.score import SEED
from app.policy.lifecycle import URL_TRANSITIONS, UrlEvent, UrlState
from app.policy.url import Canon


def url(text: str) -> Url:
    found = Canon().canonicalise(text)
    assert isinstance(found, Url)
    return found


def link(event: UrlEvent) -> Candidate:
    return Candidate(
        1, url("http://h/a"), RequestKind.PAGE, lane=1, score=0.5, depth=1, hops=0, found_on="http://h/", event=event
    )


@pytest.mark.parametrize(
    ("event", "state", "cause"),
    [
        (UrlEvent.ADMITTED, UrlState.QUEUED, None),
        (UrlEvent.DISALLOWED, UrlState.REFUSED, Cause.ROBOTS),
        (UrlEvent.DEFERRED, UrlState.RESTING, None),
    ],
)
def test_the_event_gives_the_state_and_the_cause(event: UrlEvent, state: UrlState, cause: Cause | None) -> None:
    assert (link(event).state, link(event).cause) == (state, cause)


@pytest.mark.parametrize("event", [event for event in UrlEvent if (None, event) not in URL_TRANSITIONS])
def test_an_event_that_brings_nothing_in_gives_no_state(event: UrlEvent) -> None:
    with pytest.raises(KeyError):
        _ = link(event).state


def test_forms_of_a_url_are_told_apart_and_crawls_too() -> None:
    one, other = (in_front(1, url(f"http://h/{query}"), RequestKind.PAGE) for query in ("?a=1&b=2", "?b=2&a=1"))
    assert one.url.key == other.url.key
    assert len({one.form, other.form, one._replace(crawl_id=2).form}) == 3


@pytest.mark.parametrize("kind", [RequestKind.PAGE, RequestKind.SITEMAP])
def test_seeds_and_sitemaps_come_before_links(kind: RequestKind) -> None:
    found = in_front(1, url("http://h/tag/archive"), kind, depth=2, found_on="http://h/robots.txt")
    assert (found.lane, found.score, found.state) == (0, 1.0, UrlState.QUEUED)
    assert (found.kind, found.depth, found.hops, found.found_on) == (kind, 2, 0, "http://h/robots.txt")


def test_a_seed_has_the_best_score_and_says_so_in_its_parts() -> None:
    assert (SEED.score, SEED.packed()) == (SEED_SCORE, SEED_PARTS)
