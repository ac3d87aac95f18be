"""How far a sitemap's lastmod is believed (SPEC M2): as far as it has told the truth, scored against what fetches saw.

A claim is put to the test when its page is fetched again: a lastmod after the last fetch says "changed since", one before it says
"not changed". The first fetch of a page proves nothing. changefreq and priority are recorded and ignored: nobody tests them.
"""

from datetime import datetime, timedelta

BELIEVED_SHARE = 0.8
FUTURE = timedelta(days=1)  # clocks and time zones differ; what is further off is no statement about the past


def plausible(lastmod: datetime | None, now: datetime) -> datetime | None:
    """None for a page that was last changed in the future."""
    return lastmod if lastmod is not None and lastmod <= now + FUTURE else None


def is_true(lastmod: datetime, *, fetched_at: datetime, changed: bool) -> bool | None:
    """fetched_at: the fetch before.   changed: since then, as we saw. None: rightly "not changed", which is no feat."""
    if lastmod > fetched_at:
        return changed
    return False if changed else None


def is_believed(claims: int, true_claims: int) -> bool:
    """Once it has told the truth, and as long as it does so four times in five; one lie more than that and it is not."""
    return true_claims > 0 and true_claims >= BELIEVED_SHARE * claims
