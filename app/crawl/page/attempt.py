"""One URL on its way through a visit, and the row that says what became of it."""

from dataclasses import dataclass
from typing import BinaryIO

from app.crawl.page.preferences import Wishes
from app.crawl.state.visit import Stay
from app.model import Cause, Header, Outcome, Reply, Request, Url
from app.policy import recrawl
from app.policy.lifecycle import UrlEvent, UrlState, url_after
from app.store.urls import Due, Result

_SPENT = {UrlEvent.FAILED, UrlEvent.EXHAUSTED}
_KEPT = {*_SPENT, UrlEvent.DEFERRED}
LEAST_SCORE = 1e-30  # halved without end, a score would leave the range of Postgres' real


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A fetch and what it was for.

    attempts  with this one
    sink      where a sitemap's body is
    isolated  it was counted ahead, and is read apart;   is_unread: its reader died, or none was free
    """

    due: Due
    url: Url
    attempts: int
    request: Request
    reply: Reply
    outcome: Outcome
    body_sha256: bytes | None
    sink: BinaryIO | None = None
    isolated: bool = False
    is_unread: bool = False

    @property
    def failures_of_its_class(self) -> int:
        """With this one: tries in a row that ended in the same class of failure, network or server (SPEC P8)."""
        due = self.due
        return 1 + (due.network_failures if self.outcome is Outcome.BROKEN else due.server_failures)


def conclude(
    stay: Stay,
    due: Due,
    event: UrlEvent,
    *,
    attempt: Attempt | None = None,
    due_s: float | None = None,
    interval_s: float | None = None,
    score: float | None = None,
    text_sha256: bytes | None = None,
    body_sha256: bytes | None = None,
    changed: bool = False,
    cause: Cause | None = None,
    detail: str | None = None,
    alias_of: str | None = None,
    sends: str | None = None,
    wishes: Wishes | None = None,
) -> None:
    """Put the URL's result into the batch. attempt None: it was not fetched. due_s: seconds until it is looked at again.

    detail: more of the cause.   sends: the form of the URL that is sent from now on.
    wishes: of the page; None: it was not seen, what is on record stays.
    """
    state = url_after(UrlState.QUEUED, event)
    reply = attempt.reply if attempt else None
    is_read = attempt is not None and not attempt.is_unread
    is_page = attempt is not None and is_read and attempt.outcome is Outcome.PAGE
    is_new = (
        attempt is not None
        and is_read
        and attempt.outcome in {Outcome.PAGE, Outcome.UNWANTED}
        and attempt.reply.status != 304
    )
    network, server, parse = _failures(due, event, attempt)
    on_record, more = _why(due, event, cause, detail, wishes)
    row: Result = {
        "host_id": stay.host_id,
        "crawl_id": due.crawl_id,
        "key": due.key,
        "state": state.value,
        "attempts": (attempt.attempts if attempt else due.attempts)
        if event in _SPENT
        else due.attempts
        if event is UrlEvent.DEFERRED
        else 0,
        "network_failures": network,
        "server_failures": server,
        "parse_failures": parse,
        "retrying": event is UrlEvent.FAILED,
        "score": None if score is None else max(score, LEAST_SCORE),
        "due_s": due_s,
        "interval_s": interval_s if interval_s is not None else due.interval_s,
        "etag": _validator(reply, Header.ETAG, due.etag, fresh=is_new),
        "last_modified": _validator(reply, Header.LAST_MODIFIED, due.last_modified, fresh=is_new),
        "body_sha256": body_sha256 or (attempt.body_sha256 if attempt and is_page else None) or due.body_sha256,
        "text_sha256": text_sha256 or due.text_sha256,
        "status": reply.status if reply else None,
        "outcome": attempt.outcome.value if attempt else due.outcome,
        "cause": on_record,
        "detail": more,
        "directives": wishes.directives if wishes else due.directives,
        "opt_out": wishes.opt_out if wishes else due.opt_out,
        "alias_of": alias_of,
        "fetched": attempt is not None and event is not UrlEvent.DEFERRED,
        "changed": changed,
    }
    if sends is not None:
        row["sends"] = sends
    stay.batch.results.append(row)
    if due.fetched_at is None and event is not UrlEvent.DEFERRED:
        stay.batch.left += 1
        stay.unfetched = max(stay.unfetched - 1, 0)


def _why(
    due: Due, event: UrlEvent, cause: Cause | None, detail: str | None, wishes: Wishes | None
) -> tuple[str | None, str | None]:
    """The cause on record from now on, and more of it."""
    if cause is not None:
        return cause, detail
    if wishes is not None:
        return wishes.kept_out, None
    return (due.cause, due.detail) if event in _KEPT else (None, None)


def _failures(due: Due, event: UrlEvent, attempt: Attempt | None) -> tuple[int, int, int]:
    """Failures of the network, the server and the reading, in a row; a good ending forgets them."""
    network, server, parse = due.network_failures, due.server_failures, due.parse_failures
    if event not in _KEPT:
        return 0, 0, 0
    if event is UrlEvent.DEFERRED or attempt is None:
        return network, server, parse
    if attempt.is_unread:
        return network, server, parse + 1
    if attempt.outcome is Outcome.BROKEN:
        return network + 1, server, parse
    return network, server + 1, parse


def interval_s(stay: Stay, due: Due, *, changed: bool | None) -> float:
    """Seconds until the page's next recrawl."""
    settings = stay.kit.settings
    return recrawl.next_interval_s(
        due.interval_s,
        changed=changed,
        base_s=settings.recrawl_base_s,
        min_s=settings.recrawl_min_s,
        max_s=settings.recrawl_max_s,
    )


def _validator(reply: Reply | None, name: Header, before: str | None, *, fresh: bool) -> str | None:
    """A page's own validator; after a 304 the one that was sent may be renewed; else the one we had."""
    sent = reply.header(name) if reply else None
    if fresh:
        return sent
    return (sent or before) if reply and reply.status == 304 else before
