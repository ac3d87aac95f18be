"""Raises the score of a URL that waits, where further pages that name it say that it is worth more (promise S3).

Most URLs of a site are named first by a table of contents, which is about anything. What counts is the mean relevance
of all pages that name a URL, and the best of their anchors. Only URLs of the visited host are raised: nobody else
writes them. Nothing is lowered, and nothing changes its lane.
"""

from datetime import datetime

from app.crawl.frontier.worth import FoundAt
from app.crawl.state.finder import Finder
from app.crawl.state.part import SettlePart
from app.crawl.state.settling import Settling
from app.model import Url
from app.policy.focus.score import Parts, handed_on, named, raised, score, unpacked
from app.store import urls
from app.store.url_rows import Raise


def hear(
    finder: Finder, crawl_id: int, url: Url, place: FoundAt, anchor: str | datetime | None, *, stands: bool
) -> bool:
    """Count a page that names a URL of the visited host; a score that rises goes into the batch.

    Returns whether the URL is remembered from an earlier page.

    stands: it has a row.   The crawl has topics, and the place a relevance.
    """
    focus, namings = finder.picked.focus[crawl_id], finder.worker.namings
    relevance, words = place.relevance or 0.0, anchor if isinstance(anchor, str) else ""
    found = namings.hear(crawl_id, url.key, relevance)
    if found is None:
        if stands:  # named by others, or long ago: taken to be worth as much as this page says
            scored = score(focus.profile, url, depth=place.depth, anchor=words, worth=focus.vocabulary.worth)
            namings.note(crawl_id, url.key, relevance, handed_on(scored.parts, relevance).packed())
        return False
    parts = raised(
        unpacked(found.parts),
        anchor=named(focus.profile, url.target, words, focus.vocabulary.worth),
        relevance=found.relevance,
    )
    if parts is not None:
        namings.raised(crawl_id, url.key, parts.packed())
        finder.batch.add(RAISES, _row(finder.host_id, crawl_id, url.key, parts))
    return True


def _row(host_id: int, crawl_id: int, key: bytes, parts: Parts) -> Raise:
    return {
        "host_id": host_id,
        "crawl_id": crawl_id,
        "key": key,
        "score": parts.score,
        "score_parts": parts.packed(),
    }


def _write(settling: Settling) -> None:
    last = {(row["crawl_id"], row["key"]): row for row in settling.rows(RAISES)}
    urls.raise_scores(settling.tx, list(last.values()))


RAISES: SettlePart[Raise] = SettlePart(name="raises", rank=30, write=_write, words=lambda _: "a raised score")
