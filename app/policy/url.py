"""What makes two links the same URL, and which links are no URL of ours at all (SPEC U1, U2).

Parsing and joining are the WHATWG URL Standard's, done by ada. On top lies our own layer, where the standard
keeps apart what servers do not: escapes (RFC 3986 section 6.2.2), the order of query parameters, tracking and
session parameters, an empty query, a root dot after the hostname.

It does not decide what a crawl may visit (`app.policy.scope`) nor whether an address may be contacted.
"/" and "/index.html" stay two URLs, and so do paths that differ in case.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from ada_url import join_url, normalize_url

from app.model import Origin, Refusal, Url

MAX_LENGTH = 2_083  # characters (SPEC U2): the longest URL that Internet Explorer took

# Names that say who came from where, or whose session it is, never what is shown: general and advertisers,
# newsletters, Matomo, sessions. `sid`, `session_id`, `source` and `campaign` are left out on purpose: they
# name content on too many sites. `*` at the end is a wildcard.
_TRACKING = """
    utm_* gclid gclsrc gbraid wbraid dclid srsltid _ga _gl ref ref_src ref_url
    fbclid igshid msclkid yclid ysclid _openstat twclid ttclid li_fat_id epik
    mc_cid mc_eid mkt_tok _hsenc _hsmi __hstc __hssc __hsfp hsctatracking
    vero_id oly_anon_id oly_enc_id wickedid
    mtm_* matomo_* piwik_* pk_campaign pk_kwd pk_source pk_medium pk_content
    sessionid phpsessid jsessionid aspsessionid* cfid cftoken
"""
DEFAULT_TRACKING: tuple[str, ...] = tuple(_TRACKING.split())

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
_PATH_SESSION = re.compile(r";jsessionid=[^;/]*", re.IGNORECASE)  # Servlet specification 3.1, section 7.1.3


def _normal_escapes() -> dict[str, str]:
    """Every escape as it may be written → its normal form (RFC 3986 sections 6.2.2.1 and 6.2.2.2)."""
    digits = "0123456789abcdefABCDEF"
    found = {f"%{high}{low}": chr(int(high + low, 16)) for high in digits for low in digits}
    normal = {text: char if char in _UNRESERVED else text.upper() for text, char in found.items()}
    # A percent sign that escapes nothing: browsers send it bare, RFC 3986 section 2.4 wants %25. Left bare it
    # could form a new escape with what is decoded behind it (%%341 → %41), and the form would not be stable.
    return {**normal, "%": "%25"}


_NORMAL = _normal_escapes()


class Canon:
    """The canonical form, for one list of tracking parameters. Immutable; threads may share it."""

    __slots__ = ("_names", "_prefixes")

    def __init__(self, tracking: Iterable[str] = DEFAULT_TRACKING) -> None:
        """tracking: query parameters to drop, in any case, `*` at the end as wildcard."""
        names = [name.lower() for name in tracking]
        self._names = frozenset(name for name in names if not name.endswith("*"))
        self._prefixes = tuple(name.removesuffix("*") for name in names if name.endswith("*"))

    def canonicalise(self, text: str) -> Url | Refusal:
        """The canonical form of an absolute URL, or why there is none. Idempotent; never raises."""
        try:
            return self._finish(normalize_url(text))
        except ValueError:
            scalar = _scalar_values(text)
            return Refusal.INVALID if scalar == text else self.canonicalise(scalar)

    def of_row(self, text: str, key: bytes) -> Url | Refusal:
        """The URL of a row of the frontier, as it was admitted: `key` tells that nobody has changed it since. Never raises.

        So a new list of tracking parameters holds for what is admitted from then on.   Not for other tables: suppressions have
        the keys of texts that have no canonical form.
        """
        slash = text.find("/", 8)
        if slash < 0 or not text.startswith(("http://", "https://")) or _key(text) != key:
            return self.canonicalise(text)
        try:
            origin = _origin(text[:slash])
        except ValueError:
            return self.canonicalise(text)
        return origin if isinstance(origin, Refusal) else Url(text, origin, text[slash:], key)

    def join(self, base: str, href: str) -> Url | Refusal:
        """The canonical form of `href` in a document whose base URL is `base` (absolute). Never raises."""
        try:
            return self._finish(join_url(base, href))
        except ValueError:
            scalar = _scalar_values(base), _scalar_values(href)
            return Refusal.INVALID if scalar == (base, href) else self.join(*scalar)

    def _finish(self, href: str) -> Url | Refusal:
        """Our layer over a URL serialised by the WHATWG parser, so: ASCII, absolute, dot segments gone."""
        if not href.startswith(("http://", "https://")):
            return Refusal.SCHEME
        if "#" in href:
            href = href[: href.index("#")]
        slash = href.index("/", 8)
        site, target = href[:slash], href[slash:]
        origin = _origin(site)
        if isinstance(origin, Refusal):
            return origin
        if origin.host.endswith("."):
            return self._without_root_dot(origin, target)
        if "?" in target:
            path, _, query = target.partition("?")
            target = _path(site, path) + self._query(query)
        else:
            target = _path(site, target)
        text = site + target
        if len(text) > MAX_LENGTH:
            return Refusal.LENGTH
        return Url(text, origin, target, _key(text))

    def _query(self, query: str) -> str:
        """The query with its "?", or "" when nothing is left of it. `a` and `a=` stay as they are written."""
        if "%" in query:
            query = _escapes(query)
        kept = [part for part in query.split("&") if part and not self._is_tracking(part)]
        if len(kept) > 1:
            kept.sort(key=lambda part: part.partition("="))
        return "?" + "&".join(kept) if kept else ""

    def _is_tracking(self, parameter: str) -> bool:
        name = parameter.partition("=")[0].lower()
        return name in self._names or name.startswith(self._prefixes)

    def _without_root_dot(self, origin: Origin, target: str) -> Url | Refusal:
        """`example.org.` is `example.org` (RFC 1034 section 3.1). Parsed anew, to be safe."""
        host = origin.host[:-1]
        if not host or host.endswith("."):
            return Refusal.INVALID
        return self.canonicalise(f"{origin.scheme}://{host}:{origin.port}{target}")


def is_of_document(href: str) -> bool:
    """Whether a reference takes its path from the document: from another of its directory it leads elsewhere."""
    return _OF_DOCUMENT.match(href) is not None


def without_fragment(href: str) -> str:
    """The reference less its fragment: it joins to the same URL. A blank before the "#" would be lost at the end: it stays."""
    at = href.find("#")
    return href[:at] if at > 0 and href[at - 1] > " " else href


def is_skipped_extension(target: str) -> bool:
    """Whether the last segment of a target's path names a file that holds neither links nor text."""
    segment = target.partition("?")[0].rpartition("/")[2]
    _, dot, extension = segment.rpartition(".")
    return bool(dot) and extension.lower() in SKIPPED_EXTENSIONS


def _key(text: str) -> bytes:
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


def _path(site: str, path: str) -> str:
    """The path with normal escapes and without `;jsessionid=…`."""
    if "%" in path:
        path = _escapes(path)
    if ";" in path:
        bare = _PATH_SESSION.sub("", path)
        if bare != path:
            # What is left of a segment may be "..": /a/..;jsessionid=1 names /a/../ only now.
            return normalize_url(site + bare)[len(site) :]
    return path


def _escapes(text: str) -> str:
    return _ESCAPE.sub(lambda found: _NORMAL[found[0]], text)


def _scalar_values(text: str) -> str:
    """Lone surrogates → U+FFFD, as the standard's USVString does; ada takes UTF-8 only."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
