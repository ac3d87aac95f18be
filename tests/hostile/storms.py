"""Hosts that ask for time, come and go, or block us."""

import time
from collections.abc import Callable
from email.utils import formatdate

from tests.hostile.behaviour import healthy, html, ok
from tests.hostile.peer import Answer, Line, Peer

PHRASES = {429: b"429 Too Many Requests", 503: b"503 Service Unavailable"}
ABSURD = "Fri, 31 Dec 2199 23:59:59 GMT"


def in_date(seconds: float) -> str:
    """Retry-After as an HTTP date. Whole seconds: it may name a moment up to a second earlier."""
    return formatdate(time.time() + seconds, usegmt=True)


def refusal(status: int, retry_after: str | None) -> bytes:
    fields = [] if retry_after is None else [b"Retry-After: " + retry_after.encode("latin-1")]
    return ok(html(text="Not now."), *fields, status=PHRASES[status])


def storm(
    status: int,
    retry_after: str | Callable[[], str] | None = "5",
    requests: int | None = 3,
    seconds: float | None = None,
) -> Answer:
    """Refuses the first `requests`, or all for so many `seconds` from the first one on; then it is healthy.

    Both None: for ever.
    """
    well = healthy()
    seen = 0
    began: float | None = None

    def is_over(now: float) -> bool:
        if seconds is not None:
            return began is not None and now - began >= seconds
        return requests is not None and seen >= requests

    async def answer(peer: Peer, line: Line) -> bool | None:
        nonlocal seen, began
        if is_over(line.start):
            return await well(peer, line)
        seen += 1
        began = line.start if began is None else began
        asked = retry_after() if callable(retry_after) else retry_after
        return await peer.send(refusal(status, asked))

    return answer


def flap(bad: int = 2, of: int = 3) -> Answer:
    """Of every three answers the first two are 503, without Retry-After."""
    well = healthy()
    seen = 0

    async def answer(peer: Peer, line: Line) -> bool | None:
        nonlocal seen
        seen += 1
        if (seen - 1) % of < bad:
            return await peer.send(refusal(503, None))
        return await well(peer, line)

    return answer


CHALLENGE = ok(
    b"""<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title>
<meta http-equiv="refresh" content="390"><meta name="robots" content="noindex,nofollow"></head>
<body class="no-js"><div class="main-wrapper" role="main"><noscript><span id="challenge-error-text">Enable JavaScript
and cookies to continue</span></noscript></div><script>(function(){window._cf_chl_opt={cvId:'3',cType:'managed'};
var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=0';
document.getElementsByTagName('head')[0].appendChild(a);}());</script><a href="/behind-the-challenge">on</a></body></html>""",
    b"Server: cloudflare",
    b"cf-mitigated: challenge",
    b"CF-RAY: 0000000000000000-XXX",
    b"Cache-Control: private, max-age=0, no-store",
    status=b"403 Forbidden",
)
CAPTCHA = ok(
    b"""<!doctype html><html lang="en"><head><title>Making sure you&#39;re not a bot!</title>
<script id="anubis_version" type="application/json">"v1.19.1"</script>
<script id="anubis_challenge" type="application/json">{"rules":{"algorithm":"fast","difficulty":4},"challenge":"00"}</script>
<script async type="module" src="/.within.website/x/cmd/anubis/static/js/main.mjs"></script></head>
<body id="top"><main><h1 id="title">Making sure you&#39;re not a bot!</h1><p id="status">Loading...</p>
<p>You are seeing this because the administrator of this website has set up Anubis to protect the server against the
scourge of AI companies aggressively scraping websites.</p><a href="/behind-the-captcha">on</a></main></body></html>""",
    b"Set-Cookie: techaro.lol-anubis-auth=; Path=/; Max-Age=0",
    b"Cache-Control: no-store",
)
DENIED = ok(
    b"""<html><head><title>Access Denied</title></head><body><h1>Access Denied</h1>
<p>You don't have permission to access this resource. Reference #18.2d351ab8.</p></body></html>"""
)


def turning(into: bytes, after: int) -> Callable[[int], Answer]:
    """A factory: healthy for `after` pages, then `into` for all."""

    def make(after: int = after) -> Answer:
        well = healthy()
        seen = 0

        async def answer(peer: Peer, line: Line) -> bool | None:
            nonlocal seen
            seen += 1
            return await (well(peer, line) if seen <= after else peer.send(into))

        return answer

    return make
