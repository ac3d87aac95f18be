"""Identifies us: the headers of every request (promises I1, I2), and the page for site owners at our info URL (I4).

The headers are honest, reachable, and nobody else's name.

It does not decide which media types we read (the caller names them), nor when a contact is needed (the sender refuses
public hosts without one). Sources: RFC 9110 sections 10.1.5 (User-Agent), 10.1.2 (From), 12.5 (Accept…); RFC 9309
section 2.2.1 (token).

The page says who we are, and how to slow, stop or verify us. It is text only: the caller fills in `Crawler` from the
settings and writes the files. The page promises only what we do; a new signal that we honour needs a row here.
addresses.json has the form of draft-illyes-webbotauth-jafar, which Google's and Bing's lists have, too, and firewalls
read; the page names it as draft-illyes-webbotauth-cbcp asks (`rel=client-ranges`).
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from html import escape
from ipaddress import IPv4Network, IPv6Network
from urllib.parse import quote

from app.errors import InputError

# Tokens of browsers, their engines, and other operators' crawlers. Compared in lower case.
_FOREIGN = """
    mozilla gecko applewebkit webkit khtml blink presto trident
    chrome chromium headlesschrome crios safari firefox fxios seamonkey edge edg edga edgios msie iemobile
    opera opr vivaldi brave samsungbrowser ucbrowser yabrowser
    googlebot bingbot slurp duckduckbot baiduspider yandexbot applebot facebookexternalhit ccbot gptbot
"""
FOREIGN_TOKENS = frozenset(_FOREIGN.split())

_TOKEN = re.compile(r"[A-Za-z_-]+")
_VERSION = re.compile(r"[A-Za-z0-9.+_-]+")
# Visible ASCII but for the characters that end, nest or split a User-Agent comment: ( ) \ ; and the comma.
_MAIL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+")
_PURPOSE = re.compile(r"[ -~]{1,200}")
_PAGE = re.compile(r"https?://[!#-'*+\-./0-9:=?@A-Z\[\]_a-z~%]+", re.IGNORECASE)
Network = IPv4Network | IPv6Network

_STYLE = """\
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
pre { padding: .75rem 1rem; overflow-x: auto; background: #8881; }
dt { font-weight: 600; }
td { padding: .25rem 1rem .25rem 0; vertical-align: top; }
"""


def check(token: str, contact: str | None) -> None:
    """Raises InputError for a product token or a contact that is dishonest or unsafe to send."""
    if not _TOKEN.fullmatch(token):
        raise InputError(
            f"product token {token!r}", "is not a product token; use letters, _ and - only (RFC 9309 section 2.2.1)"
        )
    if token.lower() in FOREIGN_TOKENS:
        raise InputError(
            f"product token {token!r}", "names a browser or another operator's crawler; choose a name of your own"
        )
    if contact is not None and not (_MAIL.fullmatch(contact) or _PAGE.fullmatch(contact)):
        raise InputError(
            f"contact {contact!r}",
            "is neither a mail address nor a URL; write you@example.org or https://example.org/contact",
        )


def user_agent(*, token: str, version: str, contact: str | None, info_url: str | None) -> str:
    """`Tiptoe/0.2.0 (+https://info; contact)`, without the parts that are None. Raises InputError as `check` does."""
    check(token, contact)
    if not _VERSION.fullmatch(version):
        raise InputError(f"version {version!r}", "use letters, digits and . + _ - only")
    if info_url is not None and not _PAGE.fullmatch(info_url):
        raise InputError(
            f"info_url {info_url!r}",
            "is unfit for User-Agent; write an http(s) URL without white space, brackets, comma or semicolon",
        )
    about = [part for part in (f"+{info_url}" if info_url else None, contact) if part]
    return f"{token}/{version}" + (f" ({'; '.join(about)})" if about else "")


@lru_cache(maxsize=16)
def accept(types: tuple[str, ...]) -> str:
    """The value of Accept that offers these media types and no other, the preferred first (RFC 9110 section 12.5.1)."""
    weights = [max(10 - place, 1) for place in range(len(types))]
    return ",".join(
        each if weight == 10 else f"{each};q=0.{weight}" for each, weight in zip(types, weights, strict=True)
    )


def headers(
    *, token: str, version: str, contact: str | None, info_url: str | None, purpose: str | None = None
) -> dict[str, str]:
    """The request headers that identify us and our purpose. `From` only for a mail address.

    Raises InputError as `check` does.
    """
    found = {
        "User-Agent": user_agent(token=token, version=version, contact=contact, info_url=info_url),
    }
    if contact is not None and _MAIL.fullmatch(contact):
        found["From"] = contact
    if purpose is not None:
        if not _PURPOSE.fullmatch(purpose):
            raise InputError(f"purpose {purpose!r}", "write 1 to 200 printable ASCII characters")
        found["X-Crawler-Purpose"] = purpose
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawler:
    """The facts that the page states about us.

    token, user_agent    as in robots.txt, and as sent
    contact              mail address or URL
    info_url, purpose    None: not stated
    delay_s              between two requests where the site does not ask for another
    crawl_delay_max_s    the longest Crawl-delay that we keep to
    retry_after_max_s    the longest Retry-After
    robots_fresh_s       robots.txt is read again after this
    addresses            we crawl from; none: not published
    domain               of their reverse DNS names; None: they have none, or none that identifies us
    signature_agent      origin of our key directory; None: our requests are not signed
    directory_path       where it is there
    """

    token: str
    user_agent: str
    contact: str
    info_url: str | None
    purpose: str | None
    delay_s: float
    crawl_delay_max_s: float
    retry_after_max_s: float
    robots_fresh_s: float
    addresses: Sequence[Network]
    domain: str | None
    signature_agent: str | None
    directory_path: str


def addresses(networks: Iterable[Network], now: datetime) -> dict[str, object]:
    """addresses.json. Empty prefixes: no address is known to be ours. The token changes with them alone."""
    prefixes = [{f"ipv{network.version}Prefix": str(network)} for network in networks]
    return {
        "synctoken": sha256(json.dumps(prefixes).encode()).hexdigest()[:16],
        "creationTime": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "prefixes": prefixes,
    }


def page(crawler: Crawler, now: datetime) -> str:
    """index.html: HTML5 without scripts, pictures or parts from other hosts. All values of `crawler` are escaped."""
    token = escape(crawler.token)
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{token}: who crawls your site</title>
<link rel="client-ranges" href="addresses.json">
<style>
{_STYLE}</style>
</head>
<body>
<h1>{token}, a web crawler</h1>
<p>You have met {_code(crawler.token)} in your logs. This page says who that is, how to slow us down or stop us, and how
to check that it really was us.</p>
{_who(crawler)}
{_slow(crawler)}
{_signals(crawler)}
{_verify(crawler)}
<p><small>Written on {now.astimezone(UTC):%Y-%m-%d} from the crawler’s own settings.</small></p>
</body>
</html>
"""


def _who(crawler: Crawler) -> str:
    rows = [
        ("Contact", _link(crawler.contact)),
        ("What for", escape(crawler.purpose) if crawler.purpose else ""),
        ("Info page", _link(crawler.info_url) if crawler.info_url else ""),
        ("User-Agent", _code(crawler.user_agent)),
        ("Name in robots.txt", _code(crawler.token)),
    ]
    listed = "\n".join(f"<dt>{name}</dt>\n<dd>{text}</dd>" for name, text in rows if text)
    return f"""\
<h2 id="who">Who we are</h2>
<dl>
{listed}
</dl>
<p>We visit public addresses only, log in nowhere, solve no CAPTCHA, and use no proxies, no changing names and no other
disguise. Who does not want us need only say so.</p>"""


def _slow(crawler: Crawler) -> str:
    token = escape(crawler.token)
    return f"""\
<h2 id="slow">Slow us down, or stop us</h2>
<p>Write it into <code>/robots.txt</code>. We read it before anything else, and again within
{_duration(crawler.robots_fresh_s)}. One page every ten seconds:</p>
<pre>User-agent: {token}
Crawl-delay: 10</pre>
<p>Not this folder:</p>
<pre>User-agent: {token}
Disallow: /private/</pre>
<p>Nothing at all:</p>
<pre>User-agent: {token}
Disallow: /</pre>
<p>At once, and without robots.txt: answer with status 429 or 503 and a <code>Retry-After</code>. Or write to
{_link(crawler.contact)}.</p>"""


def _signals(crawler: Crawler) -> str:
    signals = [
        ("robots.txt", "as in RFC 9309, for every scheme, host and port; out of reach (5xx, no answer) means: no"),
        ("Crawl-delay, Request-rate", f"the pause between two requests, up to {_duration(crawler.crawl_delay_max_s)}"),
        ("no such line", f"a pause of {crawler.delay_s:g} s, from the end of a request to the next; never two at once"),
        ("Visit-time", "no page outside of it"),
        ("Retry-After", f"the whole host rests that long, up to {_duration(crawler.retry_after_max_s)}"),
        ("429, 503, no connection", "the whole host rests, longer each time"),
        (
            "slow answers, errors",
            "longer pauses, doubling; after ten failures in a row an hour of rest and one careful try",
        ),
        ("a challenge or CAPTCHA", "a day of rest; we solve none"),
        ("X-Robots-Tag, meta robots", "noindex: not kept; nofollow: no link followed; noarchive: its text not stored"),
        (
            "TDMRep, Content-Usage, Content-Signal, RSL, noai",
            "recorded with each page, for each use; obeyed where the crawl is set to",
        ),
        ("402 Payment Required", "nothing is paid; the page is asked for again as seldom as one that is gone"),
        (
            "scripts",
            "a page is read as it is sent; a browser opens it only where a crawl asks for that, at the same pace",
        ),
        ("rel=nofollow", "the link is not followed"),
        ("ETag, Last-Modified", "sent back, so that an unchanged page costs you no body"),
    ]
    rows = "\n".join(f"<tr><td>{escape(signal)}</td><td>{escape(answer)}</td></tr>" for signal, answer in signals)
    return f"""\
<h2 id="signals">What we heed</h2>
<table>
<tbody>
{rows}
</tbody>
</table>"""


def _verify(crawler: Crawler) -> str:
    return f"""\
<h2 id="verify">Was it us?</h2>
<p>Anybody can send our User-Agent. This is how to tell.</p>
<h3>Our addresses</h3>
{_about_addresses(crawler)}
<h3>Reverse DNS, confirmed forward</h3>
{_about_names(crawler)}
<h3>Signed requests</h3>
{_about_signatures(crawler)}"""


def _about_addresses(crawler: Crawler) -> str:
    if not crawler.addresses:
        return (
            '<p>We publish none: <a href="addresses.json">addresses.json</a> is empty. An address alone tells neither '
            "that it was us nor that it was not.</p>"
        )
    listed = "\n".join(f"<li>{_code(str(network))}</li>" for network in crawler.addresses)
    return f"""\
<p>We crawl from these only. For machines: <a href="addresses.json">addresses.json</a>.</p>
<ul>
{listed}
</ul>"""


def _about_names(crawler: Crawler) -> str:
    """How to verify an address in two look-ups: its name, then the addresses of that name.

    We answer only the second.
    """
    name = f"crawl-1.{crawler.domain}" if crawler.domain else "the-name-you-got.example"
    steps = f"""\
<pre>host {_sample(crawler.addresses)}   # the name of the address in your log
host {escape(name)}   # the addresses of that name</pre>"""
    if crawler.domain is None:
        return f"""\
<p>A name counts only if it leads back to the same address: whoever has an address can give it any name.</p>
{steps}
<p>The names of our addresses say nothing about us: this shows whose machine it was, not that it was ours.</p>"""
    return f"""\
<p>Our addresses have names that end in {_code("." + crawler.domain)}. Whoever has an address can give it any name, so
ask twice:</p>
{steps}
<p>It was us if the name ends in {_code("." + crawler.domain)}, dot included, <em>and</em> its addresses include the one
in your log.</p>"""


def _about_signatures(crawler: Crawler) -> str:
    if crawler.signature_agent is None:
        return "<p>We do not sign our requests.</p>"
    return f"""\
<p>Every request of ours is signed (Web Bot Auth: HTTP Message Signatures, RFC 9421, with Ed25519): it carries
<code>Signature-Agent</code> with {_code(crawler.signature_agent)}, <code>Signature-Input</code> and
<code>Signature</code>, good for a minute and for your host only. Our public keys:
{_link(crawler.signature_agent + crawler.directory_path)}.
If the signature verifies with one of them, it was us; without one, it was not. Several CDNs and firewalls check this
for you.</p>"""


def _sample(networks: Sequence[Network]) -> str:
    """An address to show commands with; RFC 5737 has one for documentation."""
    return str(next(iter(networks[0].hosts()))) if networks else "192.0.2.1"


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:g} hours" if seconds >= 7_200 else f"{seconds:g} seconds"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _link(target: str) -> str:
    """A URL or a mail address."""
    href = target if target.lower().startswith(("http://", "https://")) else f"mailto:{quote(target, safe='@')}"
    return f'<a href="{escape(href)}">{escape(target)}</a>'
