"""Decides which encoding a document is in, and decodes it.

The order is that of the Encoding and HTML standards: byte order mark, `Content-Type` header, `<meta>` or XML
declaration, then detection. A header that lies is believed, as browsers believe it: the text then holds U+FFFD.

Labels are resolved by w3lib. We accept the encodings of the Encoding Standard only: Python knows codecs
(`unicode_escape`, `punycode`, `idna` …) that raise, that read escapes, or that yield lone surrogates, and a server may
name any of them.
"""

import codecs
import re
from functools import lru_cache

import chardetng_py
from w3lib.encoding import html_body_declared_encoding, read_bom, resolve_encoding, to_unicode

from app.policy import media_type

# https://encoding.spec.whatwg.org/#names-and-labels, by the names that w3lib resolves the labels to.
ENCODINGS = frozenset(
    """utf-8 utf-16-be utf-16-le cp866 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7
    iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic
    cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 gb18030 big5hkscs
    euc_jp iso2022_jp cp932 cp949""".split()  # noqa: SIM905  # a list literal takes a line per word
)
# Labels of the standard that neither w3lib nor Python knows, by their encoding.
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "iso8859-2": "iso88592",
    "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
    "iso8859-7": "sun_eu_greek",
    "iso8859-8": "iso-8859-8-i iso-8859-8-e csiso88598i csiso88598e logical visual",
    "iso8859-10": "iso885910",
    "iso8859-13": "iso885913",
    "iso8859-14": "iso885914",
    "iso8859-15": "iso885915 csisolatin9",
    "koi8-r": "koi koi8",
    "koi8-u": "koi8-ru",
    "mac-roman": "mac x-mac-roman csmacintosh",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso885911",
    "cp1250": "x-cp1250",
    "cp1251": "x-cp1251",
    "cp1252": "x-cp1252 iso88591",
    "cp1253": "x-cp1253",
    "cp1254": "x-cp1254 iso88599",
    "cp1255": "x-cp1255",
    "cp1256": "x-cp1256",
    "cp1257": "x-cp1257",
    "cp1258": "x-cp1258",
    "gb18030": "x-gbk csgb2312 gb_2312",
    "big5hkscs": "x-x-big5 cn-big5",
    "euc_jp": "x-euc-jp cseucpkdfmtjapanese",
    "cp949": "ks_c_5601-1989 ksc_5601 windows-949 csksc56011987 cseuckr iso-ir-149",
}
_BY_LABEL = {label.replace("-", "_"): encoding for encoding, labels in _LABELS.items() for label in labels.split()}


def _codec(label: str) -> codecs.CodecInfo | None:
    encoding = _BY_LABEL.get(label.replace("-", "_"))
    return codecs.lookup(encoding) if encoding else None


codecs.register(_codec)

# "If encoding is UTF-16BE/LE, then set encoding to UTF-8":
# https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding (a declaration that could be read byte
# by byte is not in UTF-16). In a header the bare label means little-endian.
_WIDE = frozenset({"utf-16", "utf-16-be", "utf-16-le"})
_ESCAPED = frozenset({"utf-16-be", "utf-16-le", "iso2022_jp"})  # ASCII bytes may stand for others

_HEAD_BYTES = 64 * 1024  # in which a declaration is looked for, until `<body`
# The rest of a tag, with its quoted values; a comment; the elements whose content is text. What does not end takes all
# that is left, as in the standard, so that each octet is read once.
_TAG = rb"""[^>=]*(?:=\s*(?:"[^"]*"?|'[^']*'?)?[^>=]*)*>?"""
_TOKEN = re.compile(
    rb"<!--(?:-?>|[^-]*(?:-(?!-!?>)[^-]*)*)"
    rb"|<(script|style|title|textarea|xmp|iframe|noembed|noframes)(?=[\s/>])" + _TAG + rb"[^<]*(?:<(?!/\1[\s/>])[^<]*)*"
    rb"|(?P<body><body(?=[\s/>]))"
    rb"|(?P<told><meta(?=[\s/])" + _TAG + rb"|<\?xml\s[^<>]*>)"
    rb"|<[a-z/!?]" + _TAG,
    re.IGNORECASE,
)
_LABEL_CHARS = 100
_SAMPLE_BYTES = 16 * 1024  # 1 ms to detect; more text changes the verdict seldom
_TO_JAPANESE = re.compile(rb"\x1b\$[@B]")  # ISO-2022-JP's escape to JIS X 0208: https://www.rfc-editor.org/rfc/rfc1468
_HIGH = bytes(range(0x80, 0x100))
_FIRST_HIGH = re.compile(rb"[\x80-\xff]")


def decode(body: bytes, content_type: str | None) -> tuple[str, str]:
    """(text, name of the Python codec used, in its canonical spelling). Never raises.

    The text is fit for Postgres: NUL becomes U+FFFD, as in the HTML standard, and there are no lone surrogates.
    """
    encoding, body = _told(body, content_type)
    return _text(body, encoding), encoding


def to_utf8(body: bytes, content_type: str | None) -> tuple[bytes, str]:
    """The body's text in UTF-8. A well-formed UTF-8 body, as most of the web is, is returned as it is."""
    encoding, body = _told(body, content_type)
    if _is_good(body, encoding):
        return body, encoding
    return _text(body, encoding).encode("utf-8", "replace"), encoding


def _told(body: bytes, content_type: str | None) -> tuple[str, bytes]:
    """The encoding, and the body without a byte order mark."""
    encoding, bom = read_bom(body)
    if encoding == "utf-32-le":  # no encoding of the web: its mark is that of UTF-16, and NULs
        encoding, bom = "utf-16-le", codecs.BOM_UTF16_LE
    if encoding in ENCODINGS and bom is not None:
        return encoding, body[len(bom) :]
    return _from_header(content_type) or _from_document(body) or detect(body), body


def _text(body: bytes, encoding: str) -> str:
    return to_unicode(body, encoding).replace("\0", "\ufffd")


def _is_good(body: bytes, encoding: str) -> bool:
    """Whether decoding and encoding would give the same bytes again."""
    if b"\0" in body:
        return False
    if body.isascii():
        return encoding not in _ESCAPED
    try:
        return encoding == "utf-8" and bool(body.decode())
    except UnicodeDecodeError:
        return False


def _from_header(content_type: str | None) -> str | None:
    label = media_type.charset_of(content_type)
    if label is None or len(label) > _LABEL_CHARS:
        return None
    return _of_label(label)


@lru_cache(maxsize=256)
def _of_label(label: str) -> str | None:
    encoding: str | None = resolve_encoding(label)
    if encoding == "utf-16":
        return "utf-16-le"
    return encoding if encoding in ENCODINGS else None


def _from_document(body: bytes) -> str | None:
    """The encoding that the first tag declares which does: not one in a script, a title or a value of another."""
    for token in _TOKEN.finditer(body, 0, _HEAD_BYTES):
        if token["body"]:
            break
        if token["told"] and (encoding := html_body_declared_encoding(token["told"])) is not None:
            if encoding in _WIDE:
                return "utf-8"
            return encoding if encoding in ENCODINGS else None
    return None


def detect(body: bytes) -> str:
    """The likely encoding of an undeclared body: UTF-8, UTF-16 without a mark, or what browsers make of the letters.

    The detector is Firefox's: https://docs.rs/chardetng
    """
    if wide := _wide(body[:1024]):
        return wide
    if body.isascii():
        return "iso2022_jp" if _TO_JAPANESE.search(body) else "utf-8"
    if _mostly_utf8(body):
        return "utf-8"
    first = _FIRST_HIGH.search(body)
    sample = body[first.start() :][:_SAMPLE_BYTES] if first else b""
    # "<" and line feed are never a second byte, so a sample with such an end cuts no character in two.
    sample = sample[: max(sample.rfind(b"<"), sample.rfind(b"\n"), 0)] or sample
    # the standard's default for most locales; decodes nearly everything
    return _of_label(chardetng_py.detect(sample, allow_utf8=False)) or "cp1252"


def _wide(head: bytes) -> str | None:
    """Recognise UTF-16 by its zero bytes: markup is ASCII, so nearly every other byte is zero."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    pairs = len(head) // 2
    if pairs < 4 or max(even, odd) * 2 < pairs or min(even, odd) * 8 > pairs:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def _mostly_utf8(body: bytes) -> bool:
    """Whether less than an eighth of the non-ASCII bytes is wrong: one bad byte, or a cut, does not undo a page."""
    wrong = body.decode("utf-8", "replace").count("\ufffd")
    return not wrong or wrong * 8 <= len(body) - len(body.translate(None, _HIGH))
