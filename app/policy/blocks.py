"""Recognises walls made for bots in a reply (promise P7): a challenge, or a soft block.

A challenge wants a browser or a person (CAPTCHA, proof of work, "Just a moment..."). A soft block is a success in
name only: a 2xx whose page says that we are not welcome. Both ask us to leave or to slow down, and nothing here
helps to get past them (promise P12). A plain refusal is neither: most vendors' "Access Denied" with 403 may well be
about this one URL, which `outcome` deals with, so it is no evidence here.

Everything such products leave on ordinary pages is no evidence either: `server: cloudflare`, `x-datadome: protected`,
`x-iinfo`, `x-cdn`, `_abck` and `_px` cookies, `window._pxAppId`, Cloudflare's and Imperva's injected scripts, a CAPTCHA
in a contact form. Below status 400 there must be a header that says so, markup (a tag, not words about one) that only
the wall has, on a page that says little else, or a phrase that is the title or nearly all that a short page says:
articles about CAPTCHAs and about 403 are pages like any other.

To add a wall, add a row (headers, then markup, then words). Patterns of bodies are in lower case and start with
letters that are rare, which makes them fast (20 µs for 64 KiB; 300 with alternatives at the start), and have no
unbounded repetition within another.

The walls that `blocks` looks for, one row each: headers, then markup, then words.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from app.model import Header, Reply
from app.policy import media_type

MAX_BYTES: Final = 64 * 1024  # of a body; walls are small, and what they are made of stands at the top
# Walls seen with a 2xx: 200 bytes to 20 KiB of markup; the wordiest, Anubis', says 1.9 KiB in English. Ordinary pages
# have more of both; bytes and not words, as Chinese has no spaces.
_WALL_MARKUP: Final = 32 * 1024
_WALL_TEXT: Final = 5 * 1024
_WALL_LINKS: Final = 10  # walls have up to five: terms, privacy, help, languages
# A page that "says little else" than a phrase: some 160 words. "Pardon Our Interruption" has 6.2 KiB and 90 words.
_SHORT_MARKUP: Final = 8 * 1024
_SHORT_TEXT: Final = 1024


class BlockKind(StrEnum):
    """The kind of wall; `crawl` decides how to answer each."""

    CHALLENGE = "challenge"  # the host rests
    SOFT = "soft"  # the rate is cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One way to recognise a wall. All fields that are given must match.

    name      what a person reads, such as "Cloudflare challenge"
    statuses  looked for on these only; empty: on any
    tag, mark stand in every body that matches, so that most pages need no pattern
    header    (lower-case name, pattern searched in its value)
    body      searched in the first MAX_BYTES, in lower case. Below 400: only in HTML of at most 32 KiB that shows
              at most 5 KiB of text
    text      matched against what a short page shows, in lower case with white space folded: the title, "\\n", the
              rest. Short: at most 1 KiB of text in 8 KiB of markup, in 32 KiB from status 400 on
    """

    kind: BlockKind
    name: str
    statuses: frozenset[int] = frozenset()
    tag: bytes = b""
    mark: bytes = b""
    header: tuple[str, re.Pattern[str]] | None = None
    body: re.Pattern[bytes] | None = None
    text: re.Pattern[str] | None = None


_ANY: Final[frozenset[int]] = frozenset()
SUCCESS: Final = frozenset(range(200, 300))
_ERROR: Final = frozenset(range(400, 600))
_REFUSED: Final = frozenset({401, 403, 429, 503})
_CLOUDFLARE: Final = frozenset({403, 429, 503})
_OPENING: Final = re.compile(rb"<\w+")
# A members' page has these words too, and is no wall against bots.
_NO_LOGIN: Final = r"(?![\s\S]*\b(?:log(?:ged|ging)?|sign(?:ed|ing)?)[ -]?in\b|[\s\S]*\bpasswords?\b)"
_ON_SHORT_PAGE: Final = re.compile(_NO_LOGIN)


def _header(name: str, field: str, value: str, statuses: frozenset[int] = _ANY) -> Evidence:
    pattern = re.compile(value, re.IGNORECASE)
    return Evidence(kind=BlockKind.CHALLENGE, name=name, statuses=statuses, header=(field, pattern))


def _markup(
    name: str, statuses: frozenset[int], body: bytes, text: re.Pattern[str] | None = None, *, mark: bytes = b""
) -> Evidence:
    tag = _OPENING.match(body)
    return Evidence(
        kind=BlockKind.CHALLENGE,
        name=name,
        statuses=statuses,
        tag=tag[0] if tag else b"",
        mark=mark,
        body=re.compile(body),
        text=text,
    )


def _says(kind: BlockKind, name: str, statuses: frozenset[int], text: re.Pattern[str]) -> Evidence:
    return Evidence(kind=kind, name=name, statuses=statuses, text=text)


def _title(phrases: str) -> re.Pattern[str]:
    """Matches where one of them is the whole title, but for a number before and dots after it."""
    return re.compile(rf"(?:(?:error )?\d{{3}}[ :|-]{{0,3}})?(?:{phrases})[ .!?…]*\n")


def _starts(phrases: str) -> re.Pattern[str]:
    """Matches where one of them is the whole title, or within the first 60 characters of the text."""
    return re.compile(rf"{_title(phrases).pattern}|[^\n]*\n.{{0,60}}?(?:{phrases})")


def _only(phrases: str) -> re.Pattern[str]:
    """Matches like `_starts` with at most 240 characters more: for phrases that honest pages use too."""
    title = _title(phrases).pattern
    said = rf"{title}.{{0,300}}\Z|[^\n]*\n.{{0,60}}?(?:{phrases}).{{0,240}}\Z"
    return re.compile(rf"(?={said}){_NO_LOGIN}")  # in this order: few pages say it, and looking for a login takes long


def _anywhere(phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?=[\s\S]*?(?:{phrases})){_NO_LOGIN}")


_A_BOT: Final = r"(?:an? )?(?:human|person|not an? (?:ro)?bot)"
_CHECKS: Final = (
    rf"(?:verify|verifying|confirm|prove|make sure|ensure|checking) (?:that )?you(?:'re| are) {_A_BOT}|"
    r"are you (?:a )?(?:robot|human)\b|i'm not a robot|robot or human|robot check|human verification|"
    r"checking your browser before|checking if the site connection is secure|ddos protection by |"
    r"enable javascript and cookies to continue|press (?:&|and) hold|"
    r"complete the (?:security check|captcha)|(?:solve|enter) the captcha|"
    r"made us think (?:that )?you (?:were|are|might be) a bot"
)
_UNUSUAL: Final = (
    r"(?:detected|noticed|seen) (?:some )?(?:unusual|suspicious|automated) (?:activity|traffic|behaviou?r|requests)|"
    r"(?:unusual|suspicious) (?:activity|traffic) (?:has been |was )?(?:detected|from your)"
)
_DENIALS: Final = (
    r"access (?:to (?:this|the) (?:page|site|website|resource) )?(?:has been |is |was )?(?:temporarily )?"
    r"(?:denied|blocked|restricted)|"
    r"you(?:'ve| have) been (?:temporarily )?(?:blocked|banned|rate[ -]limited)|"
    r"your (?:ip(?: address)?|access|request|connection) (?:has been|was|is) (?:temporarily )?"
    r"(?:blocked|banned|denied|restricted)|"
    rf"too many requests|rate limit exceeded|403 forbidden|{_UNUSUAL}"
)


# The order is that of trust: headers, markup, words. Comments: where it is documented, or what was seen.
EVIDENCE: Final[tuple[Evidence, ...]] = (
    # developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response: on every
    # challenge
    _header("Cloudflare challenge", "cf-mitigated", r"\bchallenge\b"),
    # docs.aws.amazon.com/waf, "How the CAPTCHA and Challenge actions work": with 202 and no body, or with 405
    _header("AWS WAF challenge", "x-amzn-waf-action", r"\b(?:challenge|captcha)\b"),
    # vercel.com/docs/vercel-firewall; "deny" is a refusal
    _header("Vercel challenge", "x-vercel-mitigated", r"\bchallenge\b"),
    # docs.datadome.co, "X-DD-B": 1 is an interstitial, 2 a CAPTCHA, 3 was seen; x-datadome is on every page
    _header("DataDome challenge", "x-dd-b", r"^[1-9]"),
    # HUMAN: seen on refusals only, unlike its cookies
    _header("HUMAN challenge", "x-px-blocked", r"^(?:1|true)"),
    # Kasada: with 429; also with the answers to its script's requests, which we never send
    _header("Kasada challenge", "x-kpsdk-ct", r".", frozenset({403, 429})),
    # SiteGround, with 202
    _header("SiteGround challenge", "sg-captcha", r"\bchallenge\b"),
    # Google redirects to its CAPTCHA
    _header("Google unusual traffic", "location", r"^https?://(?:www|ipv[46])\.google\.[a-z.]{2,10}/sorry/"),
    # Cloudflare's page configures its script; /cdn-cgi/challenge-platform/ alone is on ordinary pages too
    _markup("Cloudflare challenge", _CLOUDFLARE, rb"window\._cf_chl_opt\s{0,9}="),
    _markup("Cloudflare challenge", _CLOUDFLARE, rb"/cdn-cgi/challenge-platform/", _title("just a moment")),
    # "I'm Under Attack" of the years before 2022, still served by imitations
    _markup("Cloudflare challenge", _REFUSED, rb"cf-browser-verification"),
    # DataDome's page loads it; its ordinary tag comes from js.datadome.co. In JSON: {"url": "https://geo.captcha-…"}
    _markup("DataDome challenge", _ANY, rb"<script[^<>]{0,300}captcha-delivery\.com/", mark=b"captcha-delivery.com/"),
    _markup("DataDome challenge", _ANY, rb"<iframe[^<>]{0,300}captcha-delivery\.com/", mark=b"captcha-delivery.com/"),
    _markup("DataDome challenge", _ERROR, rb"captcha-delivery\.com/(?:captcha|interstitial)/"),
    # docs.humansecurity.com: the "press & hold" stands in this element. In JSON: {"appId", "blockScript" …}
    _markup("HUMAN challenge", _ANY, rb"<div[^<>]{0,200}\bid=[\"']?px-captcha\b", mark=b"px-captcha"),
    _markup("HUMAN challenge", _ERROR, rb"\"blockscript\"\s{0,9}:"),
    _markup("HUMAN challenge", _ERROR, rb"/\* perimeterx assignments \*/"),
    # Akamai's behavioural challenge (200, 2–15 KiB), its proof of work (428) and its interstitial (200, reloads)
    _markup("Akamai challenge", _ANY, rb"<div[^<>]{0,200}\bid=\"sec-if-cpt-container\"", mark=b"sec-if-cpt-container"),
    _markup("Akamai challenge", _ANY, rb"<iframe[^<>]{0,200}\bid=\"sec-cpt-if\"", mark=b"sec-cpt-if"),
    _markup("Akamai challenge", _ANY, rb"<script[^<>]{0,200}/_sec/cp_challenge/", mark=b"/_sec/cp_challenge/"),
    _markup("Akamai challenge", _ANY, rb"<meta[^<>]{0,200}[?&;]bm-verify=", mark=b"bm-verify="),
    # Imperva: an empty page with its script (200), or a frame (403). The script alone is put into ordinary pages
    _markup(
        "Imperva challenge",
        _ANY,
        rb"<script[^<>]{0,100}\bsrc=\"/_incapsula_resource\?[^<>]{0,400}></script>\s{0,9}(?:</head>)?\s{0,9}"
        rb"<body[^<>]{0,100}>\s{0,9}</body>",
        mark=b"/_incapsula_resource?",
    ),
    _markup("Imperva challenge", _ERROR, rb"<iframe[^<>]{0,100}\bsrc=\"/_incapsula_resource\?"),
    # AWS WAF: window.awsWafCookieDomainList is on ordinary pages, what follows it is not
    _markup(
        "AWS WAF challenge",
        _ANY,
        rb"<script[^<>]{0,100}>\s{0,99}(?:window\.awswafcookiedomainlist[^<>]{0,400}?)?window\.gokuprops\s{0,9}=",
        mark=b"window.gokuprops",
    ),
    # SiteGround: <meta http-equiv=refresh> to its CAPTCHA
    _markup("SiteGround challenge", _ANY, rb"<meta[^<>]{0,200}/\.well-known/sgcaptcha/", mark=b"sgcaptcha"),
    # Sucuri (200, 307, 403): a script that sets a cookie and reloads
    _markup(
        "Sucuri challenge",
        _ANY,
        rb"<script[^<>]{0,100}>[^<>]{0,400}?sucuri_cloudproxy_js\s{0,9}=",
        mark=b"sucuri_cloudproxy_js",
    ),
    # DDoS-Guard (403, 503)
    _markup(
        "DDoS-Guard challenge",
        _ANY,
        rb"<script[^<>]{0,200}/\.well-known/ddos-guard/js-challenge/",
        mark=b"ddos-guard/js-challenge/",
    ),
    _markup(
        "DDoS-Guard challenge", _ANY, rb"<script[^<>]{0,200}check\.ddos-guard\.net/", mark=b"check.ddos-guard.net/"
    ),
    # Kasada: two scripts and nothing else (429)
    _markup(
        "Kasada challenge",
        _ANY,
        rb"<script[^<>]{0,100}>\s{0,20}window\.kpsdk\s{0,9}=[^<>]{0,400}</script>\s{0,20}<script[^<>]{0,300}/ips\.js",
        mark=b"window.kpsdk",
    ),
    # github.com/TecharoHQ/anubis, web/index.templ: proof of work, answers 200; the second for its pages without script
    _markup("Anubis challenge", _ANY, rb"<script[^<>]{0,60}\bid=\"anubis_(?:challenge|version)\"", mark=b"anubis_"),
    _markup(
        "Anubis challenge",
        _ANY,
        rb"/\.within\.website/x/(?:xess|cmd/anubis)/[^<>]{1,300}>",
        mark=b"/.within.website/x/",
    ),
    # git.gammaspectra.live/git/go-away
    _markup(
        "go-away challenge",
        _ANY,
        rb"/\.well-known/\.git\.gammaspectra\.live/git/go-away/[^<>]{1,300}>",
        mark=b"gammaspectra.live/git/go-away/",
    ),
    # Fastly
    _markup("Fastly challenge", _ANY, rb"/_fs-ch-", _title("client challenge")),
    # Alibaba Cloud: the script that makes the cookie acw_sc__v2
    _markup("Aliyun challenge", _ANY, rb"<script[^<>]{0,100}>\s{0,20}var arg1='[0-9a-f]{20,60}'", mark=b"var arg1='"),
    # Amazon's shops ("Robot Check"), with 200 and 503
    _markup(
        "Amazon CAPTCHA", _ANY, rb"<form[^<>]{0,200}\baction=\"/errors/validatecaptcha", mark=b"/errors/validatecaptcha"
    ),
    # Google's CAPTCHA itself (429)
    _markup("Google unusual traffic", _REFUSED, rb"our systems have detected unusual traffic"),
    # Widgets, on short refusals only. docs.hcaptcha.com; developers.google.com/recaptcha (v3, "?render=<key>", is on
    # every page of a site and asks nothing); developers.cloudflare.com/turnstile
    _markup("hCaptcha", _REFUSED, rb"h-captcha[\"' ]", _ON_SHORT_PAGE),
    _markup("hCaptcha", _REFUSED, rb"hcaptcha\.com/1/api\.js", _ON_SHORT_PAGE),
    _markup("reCAPTCHA", _REFUSED, rb"g-recaptcha[\"' ]", _ON_SHORT_PAGE),
    _markup(
        "reCAPTCHA",
        _REFUSED,
        rb"/recaptcha/(?:api|enterprise)\.js(?!\?(?:[^\"'<>]{0,99}&)?render=(?!explicit))",
        _ON_SHORT_PAGE,
    ),
    _markup("Turnstile", _REFUSED, rb"cf-turnstile[\"' ]", _ON_SHORT_PAGE),
    _markup("Turnstile", _REFUSED, rb"challenges\.cloudflare\.com/turnstile/", _ON_SHORT_PAGE),
    # Titles. Anubis' when its scripts are named otherwise; Vercel's; DDoS-Guard's; Imperva's (formerly Distil's)
    _says(BlockKind.CHALLENGE, "Anubis challenge", _ANY, _title("making sure you're not a bot")),
    _says(BlockKind.CHALLENGE, "Vercel challenge", _ERROR, _title("vercel security checkpoint")),
    _says(BlockKind.CHALLENGE, "DDoS-Guard challenge", _ERROR, _title("ddos-guard")),
    _says(BlockKind.CHALLENGE, "Imperva challenge", _ERROR, _starts("pardon our interruption")),
    # F5's bot defence (formerly Shape; "TSPD"), with 200: only its script's <noscript> is readable
    _says(
        BlockKind.CHALLENGE,
        "F5 challenge",
        _ANY,
        _starts(r"please enable javascript to view the page content\.? ?your support id is"),
    ),
    # Anybody's, with an error
    _says(BlockKind.CHALLENGE, "human check", _REFUSED, _anywhere(_CHECKS)),
    # From here on: successes in name only. Imperva's incident and interruption
    _says(BlockKind.SOFT, "Imperva block", SUCCESS, _starts(r"request unsuccessful\. incapsula incident id")),
    _says(BlockKind.SOFT, "Imperva block", SUCCESS, _starts("pardon our interruption")),
    # Akamai: 'You don't have permission to access "http://…" on this server. Reference #18.2d7f1602.…'
    _says(
        BlockKind.SOFT,
        "Akamai block",
        SUCCESS,
        _starts(r"you don't have permission to access .{1,600} on this server\.? ?reference #"),
    ),
    # F5 BIG-IP ASM answers 200
    _says(
        BlockKind.SOFT,
        "F5 block",
        SUCCESS,
        _starts(r"the requested url was rejected\. please consult with your administrator"),
    ),
    # Anybody's: it is all that the page says
    _says(BlockKind.SOFT, "human check", SUCCESS, _only(_CHECKS)),
    _says(BlockKind.SOFT, "denial", SUCCESS, _only(_DENIALS)),
)


def find(reply: Reply) -> Evidence | None:
    """The first row of EVIDENCE that the reply matches. Never raises.

    An ordinary page takes 5 µs from 32 KiB or 10 links on, as it is no wall then; else up to 0.2 ms. An error of 64
    KiB: 1.3 ms.
    """
    if reply.status is None or (reply.status < 400 and _HEADERS.isdisjoint(reply.headers) and _is_page(reply.body)):
        return None
    seen = _Seen(reply)
    return next((row for row in _rows_for(reply, seen) if _holds(row, reply, seen)), None)


def _rows_for(reply: Reply, seen: "_Seen") -> Iterator[Evidence]:
    """The rows that can match at all, in the order of EVIDENCE, by header names, the page's length and its marks."""
    if not _HEADERS.isdisjoint(reply.headers):
        yield from _HEADER_ROWS
    markup = seen.markup
    if markup:
        rows = _BODY_ROWS if reply.status not in SUCCESS else _SUCCESS_ROWS
        tags = {tag: tag in markup for tag in _TAGS}
        yield from (row for row in rows if tags[row.tag] and row.mark in markup)
    if seen.is_short:
        yield from _TEXT_ROWS


def _holds(row: Evidence, reply: Reply, seen: "_Seen") -> bool:
    if row.statuses and reply.status not in row.statuses:
        return False
    if row.header is not None and not row.header[1].search(reply.headers.get(row.header[0], "")):
        return False
    if row.text is not None and (seen.text is None or not row.text.match(seen.text)):
        return False
    return row.body is None or (row.body.search(seen.markup) is not None and seen.may_be_wall)


def _is_page(body: bytes) -> bool:
    """Whether a reply is too long for a wall, or has too many links. Below status 400 it is an ordinary page then."""
    return len(body) > _WALL_MARKUP or _has(body, b"<a ", _WALL_LINKS)


class _Seen:
    """The parts of a reply that rows look at, each made when it is first asked for."""

    def __init__(self, reply: Reply) -> None:
        self._body = reply.body
        self._refused = reply.status is not None and reply.status >= 400
        field = reply.headers.get(Header.CONTENT_TYPE)
        essence = media_type.of(field, reply.body)
        self._html = media_type.is_html(essence) or not media_type.declared(field)
        self._plain = media_type.is_text(essence)

    @cached_property
    def _leads_on(self) -> bool:
        """Whether the page has too many links for a wall. This alone rules out most pages."""
        return _has(self._lower, b"<a ", _WALL_LINKS)

    @cached_property
    def markup(self) -> bytes:
        """The body in lower case. From status 400 on, of any type: DataDome and HUMAN answer in JSON on request."""
        if not self._refused and (not self._html or len(self._body) > _WALL_MARKUP or self._leads_on):
            return b""
        return self._lower

    @cached_property
    def _lower(self) -> bytes:
        return self._body[:MAX_BYTES].lower()

    @cached_property
    def may_be_wall(self) -> bool:
        return self._refused or len(_shown(self.markup)) <= _WALL_TEXT

    @property
    def is_short(self) -> bool:
        """Whether it is a page of text that may say little."""
        if not (self._html or self._plain) or len(self._body) > (_WALL_MARKUP if self._refused else _SHORT_MARKUP):
            return False
        return self._refused or not self._leads_on

    @cached_property
    def text(self) -> str | None:
        """The page's text; None where it is not short, or not a page of text."""
        if not self.is_short:
            return None
        shown = _shown(self._lower)
        if len(shown) > _SHORT_TEXT:
            return None
        title = _TITLE.search(self._lower)
        return f"{_words(title[1]) if title else ''}\n{_words(shown)}"


def _has(body: bytes, mark: bytes, times: int) -> bool:
    """Whether it occurs so often. Most pages show that near their beginning, which ends the search."""
    at = 0
    while times and (at := body.find(mark, at) + 1):
        times -= 1
    return not times


_TITLE: Final = re.compile(rb"<title[^<>]{0,200}>([^<]{0,200})")
_UNSEEN: Final = re.compile(rb"<(script|style|title|template|!--)")
_TAG: Final = re.compile(rb"<[^<>]*>")  # stops at the next "<": linear in whatever is no HTML


def _shown(markup: bytes) -> bytes:
    """Lower-case markup without tags and hidden parts. <noscript> counts as shown: we run no script."""
    kept, at = [], 0
    for opening in _UNSEEN.finditer(markup):
        if opening.start() < at:
            continue
        kept.append(markup[at : opening.start()])
        closing = b"-->" if opening[1] == b"!--" else b"</" + opening[1]
        at = markup.find(closing, opening.end())
        if at < 0:
            break
        at += len(closing) if closing == b"-->" else 0
    kept.append(markup[at:] if at >= 0 else b"")
    return b" ".join(_TAG.sub(b" ", b" ".join(kept)).split())


def _words(octets: bytes) -> str:
    readable = html.unescape(octets.decode("utf-8", "replace")).lower().replace("’", "'")
    return " ".join(readable.split())


# --- the rows ---------------------------------------------------------------------------------------------------


_HEADER_ROWS: Final = tuple(row for row in EVIDENCE if row.header is not None)
_BODY_ROWS: Final = tuple(row for row in EVIDENCE if row.header is None and row.body is not None)
_SUCCESS_ROWS: Final = tuple(row for row in _BODY_ROWS if not row.statuses)
_TEXT_ROWS: Final = tuple(row for row in EVIDENCE if row.header is None and row.body is None)
_TAGS: Final = frozenset(row.tag for row in EVIDENCE)
_HEADERS: Final = frozenset(row.header[0] for row in _HEADER_ROWS if row.header is not None)
