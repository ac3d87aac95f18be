"""Answers what a page asks for while it is open: judge ▶ cache ▶ its own host, or another's ▶ cache.

    method ▶ port and form of the URL ▶ tracker ▶ scope (documents) ▶ cache ▶ robots.txt, address, budgets (by sending)

Threads of one page call it at once; a host gets one request after another.
"""

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from app.browser.requests import origin_of
from app.browser.values import Answer, Refused, ResourceKind, SubRequest
from app.crawl.state.visit import Visit
from app.features.focus.on_host import focus_of
from app.features.render import at_host
from app.features.render.cache import Asking, SharedCache, asking
from app.model import Origin, Refusal, Url
from app.model.render import RenderRefusal
from app.policy.host import registrable_domain
from app.policy.scope import judge
from app.policy.url import Canon
from app.store.url_rows import Due

POST_BYTES_MOST: Final = 16 * 1024
POSTS_MOST: Final = 10  # of one page
HOSTS_MOST: Final = 10  # besides its own, for one page: each is a row, a robots.txt and a lease
TOO_MANY: Final = Refused(RenderRefusal.REQUESTS)
# Sites whose scripts count readers and bring no text: their requests are refused. Easy to extend.
_ROWS: Final = """
google-analytics.com googletagmanager.com googletagservices.com googlesyndication.com googleadservices.com
doubleclick.net adservice.google.com facebook.net hotjar.com hotjar.io mixpanel.com segment.com segment.io
amplitude.com matomo.cloud plausible.io clarity.ms fullstory.com mouseflow.com newrelic.com nr-data.net
sentry.io sentry-cdn.com bugsnag.com optimizely.com quantserve.com scorecardresearch.com chartbeat.com
criteo.com criteo.net taboola.com outbrain.com adnxs.com amazon-adsystem.com yandex-team.ru mc.yandex.ru
onetrust.com cookielaw.org cookiebot.com intercom.io intercomcdn.com drift.com hs-analytics.net hs-scripts.com
"""
_TRACKERS: Final = frozenset(_ROWS.split())


class HostsAsked:
    """The hosts that a page asks. Besides its own, the first ten may be. Threads share it."""

    def __init__(self, own: str) -> None:
        self._own = own
        self._others: set[str] = set()
        self._lock = threading.Lock()

    def may_ask(self, host: str) -> bool:
        with self._lock:
            if host != self._own and len(self._others) < HOSTS_MOST:
                self._others.add(host)
            return host == self._own or host in self._others


@dataclass(slots=True, kw_only=True)
class PageRequests:
    """The requests of one page: an `Ask` of `app.browser`.

    entitled  the origin to which its requests may carry credentials: its own, where its crawl's scope admits that
    until     monotonic second after which none is begun
    unwanted  kinds that are left out for want of time
    late      requests for scripts, data and frames that were refused because their turn came too late
    cached    requests that were answered without sending one;   posts: that were sent, or tried
    is_over   set when the page has ended: nothing is sent for it any more
    """

    visit: Visit
    due: Due
    cache: SharedCache
    until: float
    entitled: Origin | None = None
    unwanted: frozenset[ResourceKind] = frozenset()
    late: int = 0
    cached: int = 0
    posts: int = 0
    is_over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)  # of the counts
    _hosts: HostsAsked = field(init=False)
    _turns: dict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def __post_init__(self) -> None:
        self._hosts = HostsAsked(self.visit.host)

    def __call__(self, asked: SubRequest) -> Answer | Refused:
        """Raises LeaseLost, ServiceError: the page is then not worth going on with."""
        url = self._judged(asked)
        if isinstance(url, Refused):
            return url
        now = self.visit.now()
        is_shared = url.origin not in self.visit.worker.rules.credentialed
        stored = self.cache.get(url.text, asked.resource, now) if is_shared and asked.method != "POST" else None
        if stored is not None:
            with self._lock:
                self.cached += 1
        found = stored or self._sent(url, asking(asked, authorised=self._is_authorised(asked, url)))
        if isinstance(found, Refused):
            self._note_late(asked, found)
            return found
        if is_shared and asked.method == "GET":
            self.cache.put(url.text, asked.resource, found, now)
        return found if asked.method != "HEAD" else Answer(status=found.status, headers=found.headers)

    def end(self) -> None:
        """Send no more, and wait for the request that is under way at the page's own host.

        A browser that died, or a page at its bounds, leaves threads that wait for their turn. The visit is theirs too:
        once it has left, their requests would have neither a lease nor a row in the log.
        """
        self.is_over.set()
        with self._turns[self.visit.host]:
            pass

    def _is_authorised(self, asked: SubRequest, url: Url) -> bool:
        """Whether the page's own origin asks itself, and no frame or redirect of another origin."""
        asks_itself = not asked.frame_url or origin_of(asked.frame_url) == str(url.origin)
        return url.origin == self.entitled and asks_itself

    def _judged(self, asked: SubRequest) -> Url | Refused:
        if asked.resource in self.unwanted:
            return Refused(RenderRefusal.TIME)
        scope, depth = self.visit.picked.scopes[self.due.crawl_id], self.due.depth
        focus = focus_of(self.visit.picked, self.due.crawl_id)
        url = judged(
            asked,
            self.visit.worker.canon,
            lambda url: judge(scope, url, depth) is None,
            may_post=lambda url: focus is not None and focus.profile.may_post(url),
        )
        return url if isinstance(url, Refused) or asked.method != "POST" or self._counts_post() else TOO_MANY

    def _counts_post(self) -> bool:
        """Count a POST. False: the page has sent as many as it may."""
        with self._lock:
            self.posts += 1
            return self.posts <= POSTS_MOST

    def _sent(self, url: Url, asking: Asking) -> Answer | Refused:
        visit, crawl_id = self.visit, self.due.crawl_id
        if not self._hosts.may_ask(url.host):
            return TOO_MANY
        with self._turns[url.host]:
            if self.is_over.is_set() or visit.now() >= self.until:
                return Refused(RenderRefusal.TIME)
            if url.host == visit.host:
                return at_host.fetch(visit, url, crawl_id, asking, until=self.until, is_over=self.is_over)
            return at_host.fetch_elsewhere(visit.worker, url, crawl_id, asking, until=self.until, is_over=self.is_over)

    def _note_late(self, asked: SubRequest, refused: Refused) -> None:
        is_needed = asked.resource in {ResourceKind.SCRIPT, ResourceKind.FETCH, ResourceKind.DOCUMENT}
        if is_needed and refused.reason in {RenderRefusal.TIME, RenderRefusal.BUDGET} and not self.is_over.is_set():
            with self._lock:
                self.late += 1


def judged(
    asked: SubRequest,
    canon: Canon,
    is_inside: Callable[[Url], bool],
    *,
    may_post: Callable[[Url], bool] = lambda url: False,
) -> Url | Refused:
    """The URL, if what is known before a request is sent speaks for it.

    is_inside  by the scope of its crawl;   may_post: by its profile, which names the paths
    """
    is_post = asked.method == "POST" and asked.resource is ResourceKind.FETCH
    # RFC 9110 9.2.1: these ask for nothing but an answer.
    if asked.method not in {"GET", "HEAD"} and not is_post:
        return Refused(RenderRefusal.METHOD)
    url = as_asked(canon, asked.url)
    if isinstance(url, Refusal):
        return Refused(RenderRefusal.PORT if url is Refusal.PORT else RenderRefusal.SCHEME)
    if is_tracker(url.host):
        return Refused(RenderRefusal.TRACKER)
    if is_post and not may_post(url):
        return Refused(RenderRefusal.METHOD)
    if (asked.is_navigation or is_post) and not is_inside(url):
        return Refused(RenderRefusal.SCOPE)
    return Refused(RenderRefusal.BYTES) if len(asked.body) > POST_BYTES_MOST else url


def as_asked(canon: Canon, text: str) -> Url | Refusal:
    """The URL exactly as the page asks for it: its parameters are the page's own business, and none is dropped."""
    url = canon.canonicalise(text)
    if isinstance(url, Refusal) or url.linked is None:
        return url
    return url._replace(text=f"{url.origin}{url.linked}", target=url.linked, linked=None)


def is_tracker(host: str) -> bool:
    """Whether a host is one of theirs, or of a domain of theirs."""
    return host in _TRACKERS or registrable_domain(host) in _TRACKERS
