"""Takes in what a browser made of a page: its document is read by the ordinary reader, into the batch of the turn.

Its links are admitted, its text replaces what the plain answer said, and change is judged on it. What it says to robots
holds as if the plain answer had said so.

Pages that a browser is to open: which, and the row that holds the plain answer until then.

Where its crawl says `auto`, a shell (`app.parse.html.shell`) is rendered, and a page that looks plain where a browser
gained much on others of its pattern; where it says `always`, every page of HTML. What its owner does not want kept is
not rendered. Nothing waits for it: the page is settled as ever.
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
from app.crawl.state.part import SettlePart
from app.crawl.state.visit import Visit
from app.features.archive.part import may_be_kept
from app.features.focus.crawl_focus import CrawlFocus
from app.features.focus.on_host import focus_of
from app.model import Header, Link, Outcome, Page, Reply, Request, Url
from app.model.render import Evidence, ShellSign
from app.parse.html.html import READER
from app.parse.html.html import read as read_html
from app.policy import media_type
from app.policy.focus import novelty
from app.policy.focus.shape import shape_of
from app.store import renders
from app.store.renders import RenderEnd, RenderRow, TakenRender
from app.store.url_rows import Due
from app.words import counted

# A link as a browser serialises it, to a page that only a script can show: "#/post/1", or "#!post/1".
_ROUTE: Final = re.compile(r'<a\s[^<>]{0,500}?\bhref="[^"#<>]{0,500}(#!?/[^"<>]+|#![^"<>]+)"')
_SCRIPT: Final = re.compile(rb"<script\b", re.IGNORECASE)

RENDERS: SettlePart[RenderRow] = SettlePart(
    name="renders",
    rank=170,
    # The same plain answer is not rendered again within it.
    write=lambda settling: renders.queue(settling.tx, settling.rows(RENDERS), ttl_s=7 * 86_400.0),
    words=lambda row: row["url"],
)
RENDERED: SettlePart[RenderEnd] = SettlePart(
    name="rendered",
    rank=180,
    write=lambda settling: renders.end(settling.tx, settling.rows(RENDERED)),
    words=lambda _: "a rendering",
)
# Headers that the page's own scripts may see, or that say how its document is to be read.
KEPT_HEADERS = ("content-type", "content-language", "content-security-policy", "link", "x-robots-tag", "last-modified")


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


def put_up(visit: Visit, read: PageRead) -> bool:
    """Put the page into the batch for a browser, if one is to open it. Returns whether."""
    attempt = read.attempt
    wish = visit.picked.crawls[attempt.due.crawl_id].render
    if wish == "never" or read.wished.kept_out is not None:
        return False
    evidence = _evidence(attempt, read.document, wish, focus_of(visit.picked, attempt.due.crawl_id))
    if evidence is None:
        return False
    visit.batch.add(RENDERS, _row(attempt, evidence))
    return True


def _evidence(attempt: Attempt, document: Page, wish: str, focus: CrawlFocus | None) -> Evidence | None:
    """Why a browser is to open the page; empty where its crawl has all opened. None: none is to."""
    if document.shell and not (wish == "auto" and ShellSign.ARTICLE in document.shell):
        return document.shell
    if document.shell:
        return None  # its text is known without a browser
    if wish == "always":
        return {} if _is_html(attempt) else None
    return _learned(attempt, document, focus)


def _learned(attempt: Attempt, document: Page, focus: CrawlFocus | None) -> Evidence | None:
    """A page that looks plain, and says less than a browser gained on each of the last pages of its pattern."""
    found = None if focus is None else focus.needing_browser(attempt.url, len(document.main_text))
    if found is None or not _is_html(attempt) or _SCRIPT.search(attempt.reply.body) is None:
        return None
    return {ShellSign.PATTERN: f"{found.gain:,} or more on each of the last {counted(found.rendered, 'page')}"}


def _is_html(attempt: Attempt) -> bool:
    reply = attempt.reply
    return media_type.is_html(media_type.of(reply.header(Header.CONTENT_TYPE), reply.body))


def _row(attempt: Attempt, evidence: Evidence) -> RenderRow:
    """The page with its plain answer."""
    reply, due = attempt.reply, attempt.due
    return {
        "host_id": due.host_id,
        "crawl_id": due.crawl_id,
        "key": due.key,
        "url": attempt.url.text,
        "pattern": shape_of(attempt.url.target).name,
        "evidence": dict(evidence) or None,
        "status": reply.status or 0,
        "headers": {name: value for name in KEPT_HEADERS if (value := reply.header(name)) is not None},
        "body": zlib.compress(reply.body, level=6),
        "body_sha256": attempt.body_sha256 or b"",
    }
