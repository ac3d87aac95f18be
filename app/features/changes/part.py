"""Writes the events of pages, by the hooks, in the settle that changes them, and sends them to subscribers.

Events come behind all that a settle writes of the pages. They are sent in order, at least once, to each subscriber at
its own pace. A subscriber is lent to one sender at a time. One that does not answer rests, longer each time, and costs
the others nothing. Requests go through the guard that all requests go through, with a bounded time, and no body of the
answer is read but a little JSON.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Final

import orjson
import structlog
from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.page.attempt import Attempt
from app.crawl.page.read import PAGES
from app.crawl.state.part import SettlePart, SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.setup import make_sender
from app.crawl.state.visit import Visit
from app.errors import InputError, NotSent
from app.features.changes import rows, webhooks
from app.features.changes.feed import Feed
from app.features.changes.rows import Filters, PageEvent, TurnedUrl
from app.features.changes.webhooks import DueWebhook
from app.hooks import Janitor, answers
from app.model import Failure, Outcome, Reply, Request, Unsent
from app.policy.lifecycle import UrlState
from app.store import db
from app.store.page_list import like

EVENTS_MOST: Final = 100  # of a message
DEADLINE_S: Final = 10.0
ANSWER_BYTES: Final = 16 * 1024
REST_S, REST_MOST_S = 5.0, 3_600.0
Send = Callable[[Request], Reply | Unsent]


def _write(settling: Settling) -> None:
    """Write what a settle made new, changed, and deleted. A page that is there again has one event alone."""
    again = settling.brought.get(TURNED, ())
    kept = [page for page in settling.brought[PAGES] if page.is_changed and page[:3] not in again]
    rows.dropped(settling.tx, settling.dropped)
    rows.kept(settling.tx, kept)


TURNED: SettlePart[TurnedUrl] = SettlePart(
    name="turned",
    rank=194,
    write=lambda settling: rows.turned(settling.tx, settling.rows(TURNED)),
    words=lambda _: "that a page is gone, or there again",
)


@answers
def steps() -> Sequence[SettleStep]:
    return [TURNED, SettleStep(name="changes", rank=195, write=_write)]


@answers
def janitors() -> Sequence[Janitor]:
    return [
        Janitor(name="forget_changes", every_s=60.0, act=forget),
        Janitor(name="webhooks", every_s=1.0, act=deliver),
    ]


@answers
def answered(visit: Visit, attempt: Attempt) -> None:
    """Note a URL whose page may be gone now, or there again. Of a URL that never had a page nothing is noted."""
    due, result = attempt.due, attempt.brought.result
    if result is None or (due.known.text_sha256 is None and due.gone_at is None):
        return
    is_gone = result["moved"] or result["state"] == UrlState.GONE
    if due.gone_at is None if is_gone else due.gone_at is not None and _is_page(result["outcome"]):
        row: TurnedUrl = {
            "host_id": visit.host_id,
            "crawl_id": due.crawl_id,
            "key": due.key,
            "was_gone": not is_gone,
        }
        visit.batch.add(TURNED, row)


def _is_page(outcome: str | None) -> bool:
    return outcome in {Outcome.PAGE, Outcome.UNCHANGED}


# Keeps the events within their time: old ones go, but for the last of each page that is there.


_log = structlog.get_logger()


def forget(engine: Engine, settings: Settings) -> int:
    """Delete old events, a number of lots. Returns how many."""
    forgotten = 0
    for _ in range(20):  # lots a run
        looked, gone = rows.forget(engine, keep_days=settings.changes_keep_days)
        forgotten += gone
        if looked < rows.FORGOTTEN_AT_ONCE:
            break
    if forgotten:
        _log.info("changes.forgotten", events=forgotten)
    return forgotten


def deliver(engine: Engine, settings: Settings, send: Send | None = None, *, most: int = EVENTS_MOST) -> int:
    """Send messages to subscribers that are due. Returns how many were taken.

    send  None: a sender of its own;   most: events of a message
    """
    until, taken = time.monotonic() + 5.0, 0  # a run sends no message after it
    with ExitStack() as stack:
        while time.monotonic() < until:
            with db.transaction(engine) as tx:
                due = webhooks.claim(tx, lease_s=60.0)  # it outlasts the message: reading its events, and the deadline
            if due is None:
                break
            if send is None:  # of this run alone: subscribers are few, and most runs find none due
                own = make_sender(settings)
                stack.callback(own.close)
                send = own.send
            taken += _serve(engine, due, send, most)
    return taken


def message(due: DueWebhook, events: list[PageEvent], feed: Feed) -> tuple[str, bytes]:
    """The id and the body of a message."""
    last = str(feed.at(events[-1]))
    said = [
        {
            "id": str(feed.at(event)),
            "change": event.kind,
            "at": event.at,
            "url": event.url,
            "host": event.host,
            "title": event.title,
            "why": event.why,
        }
        for event in events
    ]
    return last, orjson.dumps({"crawl": due.crawl, "events": said, "cursor": last})


def rest_s(failures: int) -> float:
    """Seconds until the next try.   failures: in a row, before this one"""
    return float(min(REST_S * 2 ** min(failures, 20), REST_MOST_S))


def _serve(engine: Engine, due: DueWebhook, send: Send, most: int) -> bool:
    """Send a subscriber its next message, and note what became of it. Returns whether it was taken."""
    filters = Filters(kinds=due.kinds, url_like=like(due.pattern) if due.pattern else None)
    try:
        feed = Feed(engine, due.crawl_id, after=due.cursor, filters=filters)
        events = [*islice(feed.ready(n=most), most)]
        why = _post(due, events, feed, send) if events else None
    except InputError as error:
        why = f"{error.what}: {error.remedy}; tiptoe webhook replay {due.id} --from start"
    except NotSent as error:  # for want of a socket or a name server of ours
        why = str(error)
    with db.transaction(engine) as tx:
        if why is None:
            webhooks.sent(tx, due, feed.cursor, n=len(events))
        else:
            webhooks.failed(tx, due, why[:200], rest_s=rest_s(due.failures))
    url = webhooks.shown_url(due.url)
    if why is not None:
        _log.warning("webhook.failed", webhook=due.id, crawl=due.crawl, url=url, failures=due.failures + 1, why=why)
    elif due.failures:
        _log.info("webhook.answers_again", webhook=due.id, crawl=due.crawl, url=url, failures=due.failures)
    return why is None


def _post(due: DueWebhook, events: list[PageEvent], feed: Feed, send: Send) -> str | None:
    """Send a message. Returns why it was not taken."""
    last, body = message(due, events, feed)
    signed = webhooks.fields(due.secret, message=last, at=int(time.time()), body=body)
    reply = send(
        Request(
            url=due.url,
            method="POST",
            content=body,
            fields={"Content-Type": "application/json", **signed},
            wanted_types=("application/json",),
            max_body_bytes=ANSWER_BYTES,
            deadline_s=DEADLINE_S,
        )
    )
    return why_not(reply)


def why_not(reply: Reply | Unsent) -> str | None:
    """Why a message was not taken; None: it was. The status says so, whatever becomes of the body behind it."""
    if isinstance(reply, Unsent):
        return "it was not sent"
    if reply.status is not None and 200 <= reply.status < 300:
        return None
    if reply.failure is Failure.ADDRESS:
        return f"its address may not be contacted: {reply.detail}"
    if reply.failure is not None:
        late = f" in full within {DEADLINE_S:g} s" if reply.failure is Failure.TIMEOUT else ""
        return f"it did not answer{late}: {reply.failure}, {reply.detail}"
    return f"it answered {reply.status}"


@answers
def crawl_deleted(tx: Connection, crawl_id: int) -> int:
    webhooks.drop_crawl(tx, crawl_id)
    return rows.drop_crawl(tx, crawl_id)
