"""One URL on its way through a visit, the row that says what became of it, and its page as features get it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from app.crawl.state.batch import Batch, ReadDocument
from app.crawl.state.picked import Picked
from app.model import Cause, Header, Outcome, Page, Reply, Request, RequestKind, Url
from app.parse.html.html import READER
from app.policy.lifecycle import UrlEvent, UrlState, url_after
from app.policy.outcome import TRANSIENT
from app.policy.recrawl import ChangeRate
from app.store.fetches import Fetch
from app.store.pages import PageRow
from app.store.url_rows import Due, Result

if TYPE_CHECKING:
    from app.crawl.page.preferences import Wishes

_FOR_GOOD = {301, 308}
_SPENT = {UrlEvent.FAILED, UrlEvent.EXHAUSTED}
_KEPT = {*_SPENT, UrlEvent.REQUEUED}


@dataclass(slots=True)
class InBatch:
    """The parts of a batch that an attempt has filled.

    result   its URL's; None: it has none yet, or none at all: its host was given up
    reading  its document and links;   awaits: a browser is to open it
    wished   what its owner wishes, of a page or a 304; None: it is neither
    """

    result: Result | None = None
    reading: ReadDocument | None = None
    awaits: bool = False
    wished: "Wishes | None" = None


@dataclass(slots=True, kw_only=True)  # not frozen: that takes three times as long, once a page
class Attempt:
    """A fetch and what it was for. Nothing of it is set again: `replace` makes another.

    attempts  with this one
    logged    its row of the log;   brought: what it has put into the batch
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
    logged: Fetch | None = None
    sink: BinaryIO | None = None
    isolated: bool = False
    is_unread: bool = False
    brought: InBatch = field(default_factory=InBatch)

    @property
    def failures_of_its_class(self) -> int:
        """With this one: tries in a row that ended in the same class of failure, network or server (promise P8)."""
        due = self.due
        return 1 + (due.failures.network if self.outcome is Outcome.BROKEN else due.failures.server)

    @property
    def is_conditional(self) -> bool:
        return self.request.etag is not None or self.request.last_modified is not None

    @property
    def is_new(self) -> bool:
        """It brought a document of its own, not word that the one on record stands."""
        is_document = not self.is_unread and self.outcome in {Outcome.PAGE, Outcome.UNWANTED}
        return is_document and self.reply.status != 304

    @property
    def page_sha256(self) -> bytes | None:
        """The digest of the body, of a page that was read; else None."""
        return self.body_sha256 if self.outcome is Outcome.PAGE and not self.is_unread else None


class Conclusion(NamedTuple):
    """The end of one URL's way through a visit.

    attempt      None: it was not fetched
    due_s        seconds until it is looked at again;   interval_s: between two recrawls; None: as before
    belief       how often it changes; None: as before
    score        None: as before
    text_sha256, body_sha256  None: as before, or the attempt's
    cause        why it ended;   detail: more of it, or of an unwanted answer
    sends        the form of the URL that is sent from now on; None: as before
    whole        it is asked for without validators the next time
    wishes       of the page; None: it was not seen, what is on record stays
    """

    event: UrlEvent
    attempt: Attempt | None = None
    due_s: float | None = None
    interval_s: float | None = None
    belief: ChangeRate | None = None
    score: float | None = None
    text_sha256: bytes | None = None
    body_sha256: bytes | None = None
    changed: bool = False
    cause: Cause | None = None
    detail: str | None = None
    alias_of: str | None = None
    sends: str | None = None
    whole: bool = False
    wishes: "Wishes | None" = None


def conclude(batch: Batch, picked: Picked, due: Due, end: Conclusion) -> None:
    """Put the URL's result into the batch."""
    row = _result(due, end)
    if end.sends is not None:
        row["sends"] = end.sends
    if due.kind == RequestKind.SITEMAP:
        row["kind"] = due.kind  # it may have been asked for as a page
    batch.results.append(row)
    if end.attempt is not None:
        end.attempt.brought.result = row
    if due.fetched_at is None and end.event is not UrlEvent.REQUEUED:
        batch.tallies.left += 1
        picked.fetched_first()


def _result(due: Due, end: Conclusion) -> Result:
    event, attempt, wishes = end.event, end.attempt, end.wishes
    network, server, parse = _failures(due, event, attempt)
    etag, last_modified = _validators(due, end)
    cause, detail = _why(due, end)
    return {
        "host_id": due.host_id,
        "crawl_id": due.crawl_id,
        "key": due.key,
        "state": url_after(UrlState.QUEUED, event).value,
        "attempts": _attempts(due, event, attempt),
        "network_failures": network,
        "server_failures": server,
        "parse_failures": parse,
        "retrying": event is UrlEvent.FAILED,
        # Halved without end, a score would leave the range of Postgres' real.
        "score": None if end.score is None else max(end.score, 1e-30),
        "due_s": end.due_s,
        "interval_s": end.interval_s if end.interval_s is not None else due.rhythm.interval_s,
        "change_shape": end.belief.shape if end.belief else due.rhythm.change_shape,
        "change_s": end.belief.seconds if end.belief else due.rhythm.change_s,
        "etag": etag,
        "last_modified": last_modified,
        "body_sha256": end.body_sha256 or (attempt.page_sha256 if attempt else None) or due.known.body_sha256,
        "text_sha256": end.text_sha256 or due.known.text_sha256,
        "reader": READER if end.text_sha256 else due.known.reader,
        "status": attempt.reply.status if attempt else None,
        "outcome": attempt.outcome.value if attempt else due.outcome,
        "cause": cause,
        "detail": detail,
        "directives": wishes.directives if wishes else due.directives,
        "opt_out": wishes.opt_out if wishes else due.opt_out,
        "alias_of": end.alias_of,
        "moved": event is UrlEvent.ALIASED and attempt is not None and _is_moved(due, attempt),
        "fetched": attempt is not None and event is not UrlEvent.REQUEUED,
        "changed": end.changed,
    }


def _is_moved(due: Due, attempt: Attempt) -> bool:
    """Whether a URL that had a page leads to another for good: it says so, or leads there for the second time."""
    is_again = due.outcome == Outcome.REDIRECT
    had_page, status = due.known.text_sha256 is not None, attempt.reply.status
    return attempt.outcome is Outcome.REDIRECT and had_page and (is_again or status in _FOR_GOOD)


def _attempts(due: Due, event: UrlEvent, attempt: Attempt | None) -> int:
    """Tries that count from now on: a good ending forgets them."""
    if event in _SPENT:
        return attempt.attempts if attempt else due.attempts
    return due.attempts if event is UrlEvent.REQUEUED else 0


def _why(due: Due, end: Conclusion) -> tuple[str | None, str | None]:
    """The cause on record from now on, and more of it."""
    if end.cause is not None:
        return end.cause, end.detail
    if end.wishes is not None:
        return end.wishes.kept_out, None
    return (due.cause, due.detail) if end.event in _KEPT else (None, end.detail)


def _failures(due: Due, event: UrlEvent, attempt: Attempt | None) -> tuple[int, int, int]:
    """Failures of the network, the server and the reading, in a row; a good ending forgets them."""
    network, server, parse = due.failures.network, due.failures.server, due.failures.parse
    if event not in _KEPT:
        return 0, 0, 0
    if event is UrlEvent.REQUEUED or attempt is None:
        return network, server, parse
    if attempt.is_unread:
        return network, server, parse + 1
    if attempt.outcome is Outcome.BROKEN or attempt.reply.status in TRANSIENT:
        return network + 1, server, parse
    if attempt.outcome in {Outcome.UNWANTED, Outcome.CLIENT_ERROR}:  # no failure of the server: asked for whole
        return network, server, parse
    return network, server + 1, parse


def _validators(due: Due, end: Conclusion) -> tuple[str | None, str | None]:
    """ETag and Last-Modified for the next request: the page's own; after a 304 those on record, renewed by it."""
    known, attempt = due.known, end.attempt
    if end.whole:
        return None, None
    if attempt is None:
        return known.etag, known.last_modified
    etag, last_modified = attempt.reply.validator(Header.ETAG), attempt.reply.validator(Header.LAST_MODIFIED)
    if attempt.is_new:
        return etag, last_modified
    if attempt.reply.status == 304:
        return etag or known.etag, last_modified or known.last_modified
    return known.etag, known.last_modified


class PageRead(NamedTuple):
    """A page that was read: an answer, or the document that a browser made of one.

    base    the URL that its links are joined to
    wished  what its owner wishes to happen with it
    row     what is stored of it; None: nothing is
    """

    attempt: Attempt
    document: Page
    base: str
    wished: "Wishes"
    row: PageRow | None
