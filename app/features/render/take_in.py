"""Takes in what a browser made of a page: its document is read by the ordinary reader, into the batch of the turn.

Its links are admitted, its text replaces what the plain answer said, and change is judged on it. What it says to robots
holds as if the plain answer had said so.
"""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from app.browser.values import Rendering
from app.crawl.frontier import admit
from app.crawl.page import isolation, preferences, read
from app.crawl.page.attempt import Attempt, PageRead
from app.crawl.page.preferences import Wishes
from app.crawl.state.visit import Visit
from app.features.archive.part import may_be_kept
from app.features.focus.on_host import focus_of
from app.model import Link, Outcome, Page, Reply, Request, Url
from app.model.render import ShellSign
from app.parse.html.html import READER
from app.parse.html.html import read as read_html
from app.policy.focus import novelty
from app.store.renders import TakenRender
from app.store.url_rows import Due
from app.words import counted

# A link as a browser serialises it, to a page that only a script can show: "#/post/1", or "#!post/1".
_ROUTE: Final = re.compile(r'<a\s[^<>]{0,500}?\bhref="[^"#<>]{0,500}(#!?/[^"<>]+|#![^"<>]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn:
    """The gain of a rendering.

    body         the document, in UTF-8;   at: its URL at the end
    wished       of the page, by the document and the headers of the plain answer
    text_sha256  of its main text;   brought: characters of text, and links, more than without a browser
    changed      the text is another than that of the rendering before
    may_be_kept  neither it nor the plain answer says that no copy may be kept
    """

    body: bytes
    at: Url
    wished: Wishes
    text_sha256: bytes
    brought: int
    changed: bool
    may_be_kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRendering:
    """A document that was read, and is in no batch yet.

    attempt  as if it had been fetched
    brought  characters of text, and links, more than without a browser
    """

    attempt: Attempt
    document: Page
    brought: int


def read_in(visit: Visit, due: Due, url: Url, taken: TakenRender, found: Rendering) -> ReadRendering | None:
    """Read the document. None: it cannot be read. Raises LeaseLost."""
    attempt = _attempt(visit, due, url, taken, found)
    document = isolation.page(visit.worker, visit.lease, attempt)
    if not isinstance(document, Page):
        return None
    return ReadRendering(attempt=attempt, document=document, brought=_more(document, taken))


def judge(visit: Visit, due: Due, url: Url, taken: TakenRender, found: Rendering, made: ReadRendering) -> TakenIn:
    """Judge the document: what it gained, and what may be kept of it. Nothing is in the batch yet."""
    document = made.document
    wished = preferences.of_page(visit.worker, visit.lease, visit.origins, due, url, made.attempt.reply, document)
    text_sha256 = sha256(document.main_text.encode()).digest()
    return TakenIn(
        body=made.attempt.reply.body,
        at=_at(visit, url, found),
        wished=wished,
        text_sha256=text_sha256,
        brought=made.brought,
        changed=taken.text_sha256 not in {None, text_sha256} and due.known.reader == READER,
        may_be_kept=may_be_kept(due, due.directives, due.opt_out)
        and may_be_kept(due, wished.directives, wished.opt_out),
    )


def take_in(visit: Visit, due: Due, taken: TakenRender, found: Rendering, made: ReadRendering, judged: TakenIn) -> None:
    """Put the document into the batch, and admit its links. Archive it first: nothing takes it out again."""
    attempt, document, wished = made.attempt, made.document, judged.wished
    links = [*document.links, *(Link(href=each) for each in _wanted(found))]
    focus = focus_of(visit.picked, due.crawl_id)
    words = novelty.words_of(document.main_text) if focus is not None and focus.profile.topics else []
    base = read.base_of(visit.worker.canon, judged.at, document)
    admitted = admit.links(
        visit,
        due,
        base,
        links,
        encoding=document.charset,
        nofollow=wished.nofollow,
        relevance=0.0 if focus is None else focus.relevance(words),
    )
    row = None
    if wished.kept_out is None and visit.worker.settings.keep_text:
        row = read.page_row(attempt, document, wished, judged.text_sha256, None)
        if not may_be_kept(due, due.directives, due.opt_out):  # scripts cannot take it back
            row["main_text"] = None
        row |= {"needs_script": _shell(taken, found), "rendered": True, "links": len(links)}
        row["content_type"] = taken.headers.get("content-type")
    visit.batch.found.read(row, admitted)
    read.taken_in(visit, PageRead(attempt=attempt, document=document, base=base, wished=wished, row=row))


def _shell(taken: TakenRender, found: Rendering) -> Mapping[ShellSign, str] | None:
    """The evidence that it was empty, and that its links lead nowhere by themselves.

    None where nothing but its pattern, or its crawl, spoke for a browser.
    """
    evidence = taken.evidence
    if evidence is None or ShellSign.PATTERN in evidence:
        return None
    routes = hash_routes(found.html)
    return {**evidence, ShellSign.ROUTES: counted(len(routes), "link")} if routes else evidence


def hash_routes(document: str) -> set[str]:
    """The fragments by which links of the document name pages of its site, not parts of the page."""
    return set(_ROUTE.findall(document))


def _attempt(visit: Visit, due: Due, url: Url, taken: TakenRender, found: Rendering) -> Attempt:
    """The document as if it had been fetched: with the headers of the plain answer that say something of it."""
    body, now = found.html.encode("utf-8", "replace"), visit.now()
    headers = dict(taken.headers) | {"content-type": "text/html; charset=utf-8"}
    reply = Reply(status=taken.status, started_s=now, ended_s=now, headers=headers, body=body)
    return Attempt(
        due=due,
        url=url,
        attempts=due.attempts,
        request=Request(url.text),
        reply=reply,
        outcome=Outcome.PAGE,
        body_sha256=sha256(body).digest(),
    )


def _at(visit: Visit, url: Url, found: Rendering) -> Url:
    """The document's URL at the end, which `pushState` changes: relative links start from there."""
    at = visit.worker.canon.canonicalise(found.url)
    return at if isinstance(at, Url) and at.origin == url.origin else url


def _wanted(found: Rendering) -> list[str]:
    """URLs that its scripts wanted to go to."""
    return [*found.routes, *([found.navigated_to] if found.navigated_to else [])]


def _more(document: Page, taken: TakenRender) -> int:
    before = read_html(zlib.decompress(taken.body), content_type=taken.headers.get("content-type"))
    text = len(document.main_text) - len(before.main_text)
    return max(text, 0) + max(len(document.links) - len(before.links), 0)
