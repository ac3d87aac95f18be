"""Decides whether to trust a sitemap's lastmod (promise M2), by comparing its claims with what fetches saw.

A claim is tested when its page is fetched again: a lastmod after the last fetch says "changed since", one before it
says "not changed". The first fetch of a page proves nothing. changefreq and priority are recorded and ignored: nothing
tests them.
"""

from datetime import datetime, timedelta

BELIEVED_SHARE = 0.8
FUTURE = timedelta(days=1)  # clocks and time zones differ; a date further ahead is no statement about the past


def plausible(lastmod: datetime | None, now: datetime) -> datetime | None:
    """The lastmod, None where it lies in the future."""
    return lastmod if lastmod is not None and lastmod <= now + FUTURE else None


def is_true(lastmod: datetime, *, fetched_at: datetime, changed: bool) -> bool | None:
    """Whether a claim was true. None: rightly "not changed", which earns no trust.

    fetched_at  the fetch before
    changed     since then, as we saw"""
    if lastmod > fetched_at:
        return changed
    return False if changed else None


def is_believed(claims: int, true_claims: int) -> bool:
    """Whether at least one claim was true, and at least four claims in five."""
    return true_claims > 0 and true_claims >= BELIEVED_SHARE * claims
