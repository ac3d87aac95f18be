"""Takes up a visit to one host by hand, for a command: under the same lease and pace as any other visit."""

from app.admin.waiting import Row, host_waits_for, resting_words, when
from app.crawl.frontier.enter import host_rows
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up
from app.errors import InputError, LeaseLost
from app.model import Url
from app.policy.lifecycle_visit import VisitEvent
from app.store import db, hosts


def take_up_now(worker: Worker, url: Url) -> Visit:
    """Take up a visit to the URL's host. Raises InputError with the time until which it may not be contacted."""
    settings = worker.settings
    with db.transaction(worker.engine) as tx:
        hosts.ensure(tx, rows=host_rows([url.host], settings.queues), delay_s=settings.default_delay_s)
    with db.transaction(worker.engine) as tx:
        offer = hosts.offer_now(tx, name=url.host, offer_s=settings.offer_s, isolate=settings.settle_urls)
        host = hosts.show(tx, url.host)
        assert host is not None
        if offer is None:
            raise InputError(f"host {url.host}", f"may not be contacted now; it waits for {_why_not(host)}")
    visit = take_up(worker, offer.host_id, offer.token)
    if visit is None:
        raise LeaseLost(f"host {url.host}: a worker took it first; try again")
    visit.move(VisitEvent.SERVED)
    return visit


def not_now(visit: Visit, url: Url) -> InputError:
    """The error of a visit that could not send its request."""
    waits_for = _rest_or_delay(visit.rest.why.words if visit.rest.why is not None else None, visit.pace.delay_s)
    return InputError(f"host {url.host}", f"may not be contacted now; it waits for {waits_for}")


def _why_not(host: Row) -> str:
    until = max(host["polite_at"], host["blocked_until"] or host["polite_at"])
    if host["state"] == "idle" and until > host["now"]:
        return f"{_rest_or_delay(resting_words(host), host['delay_s'])}, {when(until, host['now'])}"
    return host_waits_for(host)


def _rest_or_delay(rest: str | None, delay_s: float) -> str:
    return f"its rest to end ({rest})" if rest else f"its delay of {delay_s:g} s to pass"
