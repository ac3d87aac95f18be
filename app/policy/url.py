"""Canonicalises links: which two are one URL, what is sent for them, and which we refuse.

Parsing and joining are the WHATWG URL Standard's, done by ada. A link has two forms. It is *sent* as a browser would
send it, less its fragment and tracking and session parameters: a site may forbid one order of parameters and allow
another. Two links are the same URL by the *key*, where the standard keeps apart what servers do not: escapes (RFC 3986
section 6.2.2), the order of differently named query parameters, an empty query, a root dot after the hostname (which is
not sent either).

It does not decide what a crawl may visit (`app.policy.scope`) nor whether an address may be contacted.
"/" and "/index.html" stay two URLs, and so do paths that differ in case.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from urllib.parse import unquote

from ada_url import join_url, normalize_url

from app.errors import InputError
from app.model import Origin, Refusal, Url

MAX_LENGTH = 2_083  # characters (promise U2): the longest URL that Internet Explorer took

# Names that hold a referrer or a session, never what is shown: general and advertisers,
# newsletters, Matomo, sessions. `sid`, `session_id`, `s`, `source`, `campaign` and `ref` (a branch, to code hosts) are
# left out on purpose: they name content on too many sites; a hash does not (phpBB). `*` at the end is a wildcard.
_TRACKING = """
    utm_* gclid gclsrc gbraid wbraid dclid srsltid _ga _gl ref_src ref_url
    fbclid igshid msclkid yclid ysclid _openstat twclid ttclid li_fat_id epik
    mc_cid mc_eid mkt_tok _hsenc _hsmi __hstc __hssc __hsfp hsctatracking
    vero_id oly_anon_id oly_enc_id wickedid
    mtm_* matomo_* piwik_* pk_campaign pk_kwd pk_source pk_medium pk_content
    sessionid phpsessid jsessionid aspsessionid* cfid cftoken
"""
DEFAULT_TRACKING: tuple[str, ...] = tuple(_TRACKING.split())
_HASHED_SESSION = re.compile(r"(?:sid|session_id)=[0-9a-f]{32}", re.IGNORECASE)

# https://fetch.spec.whatwg.org/#port-blocking: no web server listens there, and others may take a request for theirs.
_BAD_PORTS = """
    0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135
    137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719
    1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
"""
BAD_PORTS = frozenset(map(int, _BAD_PORTS.split()))

# Images; what a page is made with; archives; programs; sound and film; office; print; data. Endings that
# slugs share with domain names (.ai, .so) are left out.
_SKIPPED = """
    avif bmp gif heic heif ico jpe jpeg jpg jxl png psd svg svgz tif tiff webp
    css js mjs cjs wasm eot otf ttf woff woff2
    7z bz2 cab gz lz lzma rar tar tbz tbz2 tgz txz xz zip zst
    apk bin deb dll dmg exe img ipa iso jar msi msix pkg rpm swf war whl
    3gp aac aif aiff avi flac flv m4a m4v mid midi mkv mov mp3 mp4 mpeg mpg oga ogg ogv opus
    wav weba webm wma wmv
    doc docm docx dot dotx odg odp ods odt ppt pptm pptx pps ppsx rtf xls xlsb xlsm xlsx
    azw azw3 djvu eps epub mobi pdf ps xps
    bak db mdb parquet pyc sqlite torrent
"""
SKIPPED_EXTENSIONS = frozenset(_SKIPPED.split())

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")  # RFC 3986 section 2.3
_ESCAPE = re.compile("%(?:[0-9A-Fa-f]{2})?")
# Nothing but a query or a fragment, once the parser has dropped controls at the ends, and tabs and line ends anywhere;
# https://url.spec.whatwg.org/#scheme-state: "http:?a" is relative to a document of the same scheme.
_OF_DOCUMENT = re.compile(
    r"[\x00-\x20]*(?:h\s*t\s*t\s*p\s*(?:s\s*)?:)?[\x00-\x20]*(?:[?#]|\Z)", re.IGNORECASE | re.ASCII
)
_BEYOND_ASCII = re.compile("(?:%[89A-F][0-9A-F])+")
_PATH_PARAMETER = re.compile(r";[^;/]*")
_LONGEST_LINKED = 8_192  # characters of a target that is kept as it was linked
_LONGEST_SITE = 512  # characters of scheme, host and port: no name of DNS is half as long (RFC 1035 section 2.3.4)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# https://url.spec.whatwg.org/#special-query-percent-encode-set, and the marks of a reference
_QUERY_OCTETS = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'&;")


def _normal_escapes() -> dict[str, str]:
    """Every spelling of an escape → its normal form (RFC 3986 sections 6.2.2.1 and 6.2.2.2)."""
    digits = "0123456789abcdefABCDEF"
    found = {f"%{high}{low}": chr(int(high + low, 16)) for high in digits for low in digits}
    normal = {text: char if char in _UNRESERVED else text.upper() for text, char in found.items()}
    # A percent sign that escapes nothing: browsers send it bare, RFC 3986 section 2.4 wants %25. Left bare it
    # could form a new escape with characters decoded behind it (%%341 → %41), and the form would not be stable.
    return {**normal, "%": "%25"}


_NORMAL = _normal_escapes()
_NONE: frozenset[str] = frozenset()


class Canon:
    """The two forms of a URL, for one list of tracking parameters, and what hosts drop. Threads may share it."""

    __slots__ = ("_bad_ports", "_dropped", "_names", "_prefixes")

    def __init__(self, tracking: Iterable[str] = DEFAULT_TRACKING, bad_ports: Iterable[int] = BAD_PORTS) -> None:
        """tracking: query parameters to drop, in any case, `*` at the end as wildcard.   bad_ports: never contacted."""
        names = [name.lower() for name in tracking]
        self._names = frozenset(name for name in names if not name.endswith("*"))
        self._prefixes = tuple(name.removesuffix("*") for name in names if name.endswith("*"))
        self._bad_ports = frozenset(bad_ports)
        self._dropped: Mapping[str, frozenset[str]] = {}

    def drop(self, of_hosts: Mapping[str, frozenset[str]]) -> None:
        """Drop these parameters (in lower case) of these hosts too, and no others, from now on."""
        self._dropped = of_hosts

    def canonicalise(self, text: str) -> Url | Refusal:
        """An absolute URL as it is sent, with its key, or the reason why there is none. Idempotent; never raises."""
        try:
            return self._finish(normalize_url(text))
        except ValueError:
            scalar = _scalar_values(text)
            return Refusal.INVALID if scalar == text else self.canonicalise(scalar)

    def of_row(self, text: str, key: bytes, linked: str | None = None) -> Url | Refusal:
        """The URL of a row of the frontier, as it was admitted: `key` shows that nothing has changed it since.

        Never raises.

        So a new list of tracking parameters applies to URLs admitted from then on, and rows of a release that sent the
        key's form are sent as they stand. Not for other tables: suppressions have keys of texts without a canonical
        form.
        """
        slash = text.find("/", 8)
        if slash < 0 or not text.startswith(("http://", "https://")):
            return self.canonicalise(text)
        site, target = text[:slash], text[slash:]
        is_plain = _hash(text) == key
        if not is_plain and _hash(site + _key_target(target)) != key:
            return self.canonicalise(text)
        try:
            origin = _origin(site)
        except ValueError:
            return self.canonicalise(text)
        if not isinstance(origin, Origin):
            return origin
        form = key if is_plain and linked is None else _hash(f"{text}\n{linked or ''}")
        return Url(text, origin, target, key, linked, form)

    def join(self, base: str, href: str) -> Url | Refusal:
        """Join `href` to the base URL `base` (absolute) of its document, then canonicalise it. Never raises."""
        try:
            return self._finish(join_url(base, href))
        except ValueError:
            scalar = _scalar_values(base), _scalar_values(href)
            return Refusal.INVALID if scalar == (base, href) else self.join(*scalar)

    def redirected(self, base: str, location: str) -> Url | Refusal:
        """Join a Location field, decoded as latin-1, to the URL that answered with it. Never raises.

        Its octets beyond ASCII are escaped as they stand, as browsers do: `/ü` is `/%C3%BC` where the server wrote
        UTF-8, `/%FC` where it wrote latin-1.
        """
        return self.join(base, _NOT_ASCII.sub(lambda run: _encoded(run[0], "latin-1"), location))

    def _finish(self, href: str) -> Url | Refusal:
        """Apply our rules to a URL that the WHATWG parser serialised, so: ASCII, absolute, dot segments gone."""
        if not href.startswith(("http://", "https://")):
            return Refusal.SCHEME
        if "#" in href:
            href = href[: href.index("#")]
        slash = href.index("/", 8)
        site, linked = href[:slash], href[slash:]
        if slash > _LONGEST_SITE:  # nobody can resolve it, and it would be remembered
            return Refusal.LENGTH
        origin = _origin(site)
        if not isinstance(origin, Origin):
            return origin
        if origin.port in self._bad_ports:
            return Refusal.PORT
        if origin.host.endswith("."):
            return self._without_root_dot(origin, linked)
        target = self._sent(site, linked, self._dropped.get(origin.host, _NONE))
        text = site + target
        if len(text) > MAX_LENGTH:
            return Refusal.LENGTH
        normal = _key_target(target)
        key = _hash(site + normal)
        if target == linked:
            return Url(text, origin, target, key, None, key if normal == target else _hash(f"{text}\n"))
        kept = linked if len(linked) <= _LONGEST_LINKED else None
        return Url(text, origin, target, key, kept, _hash(f"{text}\n{kept or ''}"))

    def _sent(self, site: str, target: str, dropped: frozenset[str]) -> str:
        """The target as linked, without tracking and session parameters, and without a "?" that they leave behind."""
        if "?" not in target and ";" not in target:
            return target
        path, mark, query = target.partition("?")
        if ";" in path:
            bare = _PATH_PARAMETER.sub(lambda found: "" if _is_session(found[0]) else found[0], path)
            if bare != path:
                # The rest of a segment may be "..": /a/..;jsessionid=1 names /a/../ only now.
                path = normalize_url(site + bare)[len(site) :]
        if query:
            parts = query.split("&")
            kept = [part for part in parts if not self._is_tracking(part, dropped)]
            if len(kept) < len(parts):
                query = "&".join(kept)
                mark = "?" if query else ""
        return path + mark + query

    def _is_tracking(self, parameter: str, dropped: frozenset[str]) -> bool:
        name = parameter.partition("=")[0]
        name = (normal_escapes(name) if "%" in name else name).lower()
        is_named = name in self._names or name in dropped or name.startswith(self._prefixes)
        return is_named or bool(_HASHED_SESSION.fullmatch(parameter))

    def _without_root_dot(self, origin: Origin, target: str) -> Url | Refusal:
        """The URL of `example.org` for `example.org.` (RFC 1034 section 3.1). Parsed again, to be safe."""
        host = origin.host[:-1]
        if not host or host.endswith("."):
            return Refusal.INVALID
        return self.canonicalise(f"{origin.scheme}://{host}:{origin.port}{target}")


def bare_key(url: Url) -> bytes:
    """The key of a URL without its query."""
    return _hash(url.text[: -len(url.target)] + _key_target(url.target.partition("?")[0]))


def in_encoding(href: str, encoding: str) -> str:
    """A link of a document in a legacy encoding, with its query in that encoding, as browsers send it.

    encoding: the Python codec that the document was decoded with. Characters that it lacks become `&#…;`, escaped.
    https://url.spec.whatwg.org/#string-percent-encode-after-encoding
    """
    # Queries of their documents are sent in UTF-8.
    if href.isascii() or encoding in {"utf-8", "utf-16-le", "utf-16-be"}:
        return href
    head, fragment_mark, fragment = href.partition("#")
    path, mark, query = head.partition("?")
    if query.isascii():
        return href
    return path + mark + _NOT_ASCII.sub(lambda run: _encoded(run[0], encoding), query) + fragment_mark + fragment


def _encoded(text: str, encoding: str) -> str:
    octets = text.encode(encoding, "xmlcharrefreplace")
    return "".join(chr(octet) if octet in _QUERY_OCTETS else f"%{octet:02X}" for octet in octets)


def is_of_document(href: str) -> bool:
    """Whether a reference takes its path from the document: it leads elsewhere from another page of the folder."""
    return _OF_DOCUMENT.match(href) is not None


def without_fragment(href: str) -> str:
    """The reference without its fragment; it joins to the same URL. Unchanged where a blank precedes the "#"."""
    at = href.find("#")
    return href[:at] if at > 0 and href[at - 1] > " " else href


@lru_cache(maxsize=4_096)  # links of a site repeat from page to page
def file_ending(target: str) -> str | None:
    """The ending of a target's last segment, such as "jpg", if files have it that hold neither links nor text.

    It is a guess: /wiki/Node.js is a page.
    """
    _, dot, extension = target.partition("?")[0].rpartition("/")[2].rpartition(".")
    ending = extension.lower()
    return ending if dot and ending in SKIPPED_EXTENSIONS else None


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()


@lru_cache(maxsize=16_384)  # a page's links share a few origins
def _origin(site: str) -> Origin | Refusal:
    """Scheme, host and port of a serialised `scheme://authority`."""
    scheme, _, authority = site.partition("://")
    if "@" in authority:
        return Refusal.CREDENTIALS
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        return Origin(scheme, authority, 443 if scheme == "https" else 80)
    return Origin(scheme, host, int(port))


def _key_target(target: str) -> str:
    """The target in the form that two links to one URL share."""
    if "%" in target:
        target = normal_escapes(target)
    if "?" not in target:
        return target
    path, _, query = target.partition("?")
    parts = [part for part in query.split("&") if part]
    if len(parts) > 1:
        parts.sort(key=_name)
    return path + "?" + "&".join(parts) if parts else path


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]


def _is_session(parameter: str) -> bool:
    # Servlet specification 3.1, section 7.1.3.
    return (normal_escapes(parameter) if "%" in parameter else parameter).lower().startswith(";jsessionid=")


def normal_escapes(text: str) -> str:
    """The text with each escape in the normal form: two spellings of one URL become the same."""
    return _ESCAPE.sub(lambda found: _NORMAL[found[0]], text)


def readable(text: str) -> str:
    """The text with letters beyond ASCII for the escapes that stand for them (RFC 3987 section 3.2)."""
    return _BEYOND_ASCII.sub(lambda run: unquote(run[0], errors="replace"), text)


def _scalar_values(text: str) -> str:
    """Lone surrogates → U+FFFD, as the standard's USVString does; ada takes UTF-8 only."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def hostname(text: str) -> str:
    """The canonical name, from a name or a URL. Raises InputError."""
    return site_url(text).host


def site_url(text: str) -> Url:
    """The URL of a site, from a name or a URL. Raises InputError."""
    given = text.strip()
    url = Canon().canonicalise(given if "://" in given else f"http://{given}/")
    if not isinstance(url, Url):
        raise InputError(f"host {text!r}", "write a hostname, such as example.org")
    return url
