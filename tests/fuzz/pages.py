"""What must hold of documents: any bytes make a page that can be kept, bounded in all its parts, whose links can be
joined."""

import codecs

from app.model import Reply
from app.model.page import Page
from app.model.render import lines as shell_lines
from app.parse import charset
from app.parse.html import html, survey
from app.parse.html.text import MAX_TEXT_CHARS
from app.policy import blocks, directives, media_type, tdm
from tests.fuzz.parts import NOW, TOKEN, assert_storable, lines, text
from tests.fuzz.signals import assert_directives, assert_signals
from tests.fuzz.urls import CANON, assert_canonical

MAX_LINKS = 50
LINE_CHARS = 52  # of evidence: it fits a terminal beside its name
_BOM_ENCODINGS = {"utf-32-be", "utf-32-le"}


def page(data: bytes) -> None:
    """Three lines: Content-Type, Content-Language, and the body."""
    kind, language, body = lines(data, 3)
    content_type, content_language = kind.decode("latin-1"), language.decode("latin-1")

    def read(**how: object) -> Page:
        how = {"content_language": content_language, "token": TOKEN.lower(), "max_links": MAX_LINKS, **how}
        return html.read(body, content_type=content_type, **how)  # type: ignore[arg-type]

    found = read()
    assert_page(found)
    assert read() == found, "a page is a function of its bytes"
    lean = read(want_text=False)
    assert (lean.base, lean.canonical, lean.robots, lean.tdm) == (
        found.base,
        found.canonical,
        found.robots,
        found.tdm,
    )
    assert [link._replace(text="") for link in found.links] == list(lean.links)
    assert lean.title is lean.description is lean.language is None
    assert lean.main_text == ""
    for status in (200, 403, 503):
        blocks.find(_reply(status, content_type, body))


def assert_page(found: Page) -> None:
    assert_storable(found)
    assert len(found.main_text) <= MAX_TEXT_CHARS
    assert len(found.title or "") <= survey.MAX_FIELD_CHARS
    assert len(found.description or "") <= survey.MAX_FIELD_CHARS
    assert len(found.language or "") <= 35
    assert len(found.links) <= MAX_LINKS
    assert codecs.lookup(found.charset).name == found.charset
    base = "https://h.example/a/b"
    for link in found.links:
        assert link.href == link.href.strip("\t\n\f\r ") != ""
        assert len(link.text) <= survey.MAX_ANCHOR_CHARS
        assert_canonical(CANON.join(base, link.href))
    for reference in filter(None, (found.base, found.canonical)):
        assert_canonical(CANON.join(base, reference))
    assert_directives(directives.read(None, found.robots, TOKEN, now=NOW))
    assert_signals(tdm.of_meta(found.tdm))
    assert all(len(line) <= LINE_CHARS for line in shell_lines(found.shell))


def encoded(data: bytes) -> None:
    """Two lines: Content-Type and the body. A codec that Python knows, and what it yields is text."""
    kind, body = lines(data, 2)
    for content_type in (kind.decode("latin-1"), f"text/html; charset={kind.decode('latin-1')}", None):
        found, encoding = charset.decode(body, content_type)
        assert codecs.lookup(encoding).name == encoding
        assert encoding in charset.ENCODINGS | _BOM_ENCODINGS
        assert_storable(found)
        again, utf8 = charset.decode(b"\xef\xbb\xbf" + found.encode(), content_type)
        assert (again, utf8) == (found, "utf-8"), "what was decoded is text for good"
    assert charset.detect(body) in charset.ENCODINGS
    plain = html.read(text(body).encode("utf-8", "replace"), content_type="text/plain; charset=utf-8")
    assert_page(plain)


def _reply(status: int, content_type: str, body: bytes) -> Reply:
    return Reply(status=status, headers={"content-type": content_type}, body=body, started_s=0.0, ended_s=0.0)


def typed(data: bytes) -> None:
    """A Content-Type, and behind the first line feed a body."""
    field, _, body = data.partition(b"\n")
    said = field.decode("latin-1")
    essence = media_type.of(said, body)
    assert essence.count("/") == 1
    assert essence == essence.lower()
    assert essence == media_type.of(said, body[: media_type.octets_to_see(said)]), "the sender and the reader agree"
    assert media_type.declared(said) in {"", essence} or essence == media_type.XHTML
    media_type.is_listing(body)
    decoded, encoding = charset.decode(body, said)
    assert encoding in charset.ENCODINGS
    decoded.encode()
