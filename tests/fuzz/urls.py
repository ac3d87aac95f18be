"""What must hold of URLs and of what is decided by them: canonical form, joining, scope, addresses."""

import ipaddress
import re
from hashlib import sha256
from urllib.parse import urlsplit

from app.errors import InputError
from app.model import Origin, Refusal, Url
from app.net.address import is_public, make_guard
from app.net.http import _split
from app.policy.focus.profile_text import NAMES, profile_of
from app.policy.focus.score import score
from app.policy.host import queue_for, registrable_domain
from app.policy.scope import ScopeKind, judge, scope_of
from app.policy.url import DEFAULT_TRACKING, MAX_LENGTH, Canon, is_of_document, without_fragment
from tests.fuzz.parts import assert_told, lines, text
from tests.fuzz.release_0_1 import canonical_of_0_1, has_repeated_names

CANON = Canon()
GUARD = make_guard()
_PLAIN = re.compile(r"[!-~]+")
_TRACKING = {name for name in DEFAULT_TRACKING if not name.endswith("*")}


def url(data: bytes) -> None:
    """Two lines: a base, a reference."""
    base, href = map(text, lines(data, 2))
    for written in (base, href, f"http://{href}", f"https://h.example/{href}", f"https://h.example/?{href}"):
        assert_canonical(CANON.canonicalise(written))
    for document in (base, "https://h.example/a/b?c", "http://[::1]:81/a/"):
        assert_canonical(found := CANON.join(document, href))
        if isinstance(found, Url) and isinstance(CANON.canonicalise(document), Url):
            _same_for_neighbours(document, href)
    _as_addresses(href)


def assert_canonical(found: Url | Refusal) -> None:
    """A URL that is one for the parser, for robots.txt, for the sender and for the database alike, and stays the
    same."""
    if not isinstance(found, Url):
        assert found in {Refusal.INVALID, Refusal.SCHEME, Refusal.CREDENTIALS, Refusal.LENGTH, Refusal.PORT}
        return
    text, origin, target, key, linked, form = found
    again = CANON.canonicalise(text)
    assert isinstance(again, Url)
    assert again[:5] == (text, origin, target, key, None)
    assert CANON.join(text, "") == again == CANON.join("http://other.example/", text)
    assert CANON.of_row(text, key, linked) == found
    if linked is not None:
        _of_the_link(found, linked)
    assert text == f"{origin}{target}"
    assert _PLAIN.fullmatch(text), "visible ASCII"
    assert len(text) <= MAX_LENGTH
    assert "#" not in text
    assert target.startswith("/")
    assert (form == key) is (key == sha256(text.encode()).digest() and linked is None)
    _as_in_0_1(found)
    assert not origin.host.endswith(".")
    assert origin.host == origin.host.lower()
    query = target.partition("?")[2]
    assert not _TRACKING & {part.partition("=")[0].lower() for part in query.split("&") if part}
    _as_others_read_it(text, origin, target)
    _judged(found)


def _of_the_link(found: Url, linked: str) -> None:
    """What was linked is the same URL, and is sent as this one is."""
    assert linked != found.target
    assert len(linked) > len(found.target)
    assert CANON.canonicalise(f"{found.origin}{linked}") == found


def _as_in_0_1(found: Url) -> None:
    """The frontier of 0.1 has the canonical form as its text, and its digest as key: this link is that row."""
    canonical = canonical_of_0_1(found)
    assert (found.key == sha256(canonical.encode()).digest()) or has_repeated_names(canonical)
    row_key = sha256(canonical.encode()).digest()
    row = CANON.of_row(canonical, row_key)
    assert isinstance(row, Url)
    assert (row.text, row.key, row.form) == (canonical, row_key, row_key), "sent as it stands"


def _as_others_read_it(text: str, origin: Origin, target: str) -> None:
    authority, sent, path = _split(text)
    assert (sent[0], sent[1], sent[2]) == (origin.scheme, origin.host.strip("[]"), origin.port)
    assert path == target
    assert "@" not in authority
    theirs = urlsplit(text)
    assert (theirs.scheme, theirs.hostname) == (origin.scheme, origin.host.strip("[]"))
    assert theirs.port in (origin.port, None)


def _judged(found: Url) -> None:
    """What is decided by a URL's parts can always be decided, and a seed is within its own scope."""
    host = found.host
    domain = registrable_domain(host)
    if domain is not None:
        assert host == domain or host.endswith(f".{domain}")
        assert registrable_domain(domain) == domain
    if host.startswith("[") or host.rpartition(".")[2].isdigit():
        assert domain is None
        assert GUARD.why(host.strip("[]")) != "not an IP address"
    assert queue_for(host, 32).startswith("host-")
    for name in NAMES:
        scored = score(profile_of(name), found, depth=1)
        assert scored.lane in profile_of(name).weights
        assert 0 <= scored.parts.score <= 1
    for kind in ScopeKind:
        scope = scope_of([found], kind=kind)
        assert judge(scope, found, 0) is None
        assert judge(scope, found, 1) is None


def _same_for_neighbours(document: str, href: str) -> None:
    """A link leads to the same place from every document of a directory, unless it is about the document itself."""
    here = CANON.canonicalise(document)
    assert isinstance(here, Url)
    directory = here.text.partition("?")[0].rpartition("/")[0]
    if len(directory) + len(href) < MAX_LENGTH // 4 and not is_of_document(href):
        assert CANON.join(f"{directory}/one?a", href) == CANON.join(f"{directory}/two", href)
        assert CANON.join(f"{directory}/one?a", without_fragment(href)) == CANON.join(f"{directory}/one?a", href)


def _as_addresses(written: str) -> None:
    """The guard judges any text, and judges an address alike however it is spelt."""
    why = GUARD.why(written)
    assert is_public(written) is (why is None)
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return
    bare = written.partition("%")[0]
    spelt = CANON.canonicalise(f"http://[{bare}]/" if address.version == 6 else f"http://{bare}/")
    assert isinstance(spelt, Url)
    assert GUARD.why(spelt.host.strip("[]")) == why


def scope(data: bytes) -> None:
    """Two lines: a pattern of an operator's, a URL. A pattern is one, or it is refused with words."""
    pattern, written = map(text, lines(data, 2))
    try:
        made = scope_of([], kind=ScopeKind.ANY, include=[pattern], exclude=[pattern])
    except InputError as error:
        assert_told(error, repr(pattern))
    else:
        assert (made.include, made.exclude) == ((re.compile(pattern),),) * 2
    found = CANON.canonicalise(written)
    if isinstance(found, Url):
        itself = re.escape(found.text)
        kept_out = scope_of([found], kind=ScopeKind.ANY, exclude=[itself])
        assert judge(kept_out, found, 0, is_link=True) is Refusal.EXCLUDED
        assert judge(scope_of([found], kind=ScopeKind.ANY, include=[itself]), found, 0, is_link=True) is None
