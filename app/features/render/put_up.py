"""Pages that a browser is to open: which, and the row that holds the plain answer until then.

Where its crawl says `auto`, a shell (`app.parse.html.shell`) is rendered, and a page that looks plain where a browser
gained much on others of its pattern; where it says `always`, every page of HTML. What its owner does not want kept is
not rendered. Nothing waits for it: the page is settled as ever.
"""

import re
import zlib
from typing import Final

from app.crawl.page.attempt import Attempt, PageRead
from app.crawl.state.part import SettlePart
from app.crawl.state.visit import Visit
from app.features.focus.crawl_focus import CrawlFocus
from app.features.focus.on_host import focus_of
from app.model import Header, Page
from app.model.render import Evidence, ShellSign
from app.policy import media_type
from app.policy.focus.siblings import shape_of
from app.store import renders
from app.store.renders import RenderEnd, RenderRow
from app.words import counted

TTL_S = 7 * 86_400.0  # the same plain answer is not rendered again within it
_LEVEL = 6
_SCRIPT: Final = re.compile(rb"<script\b", re.IGNORECASE)

RENDERS: SettlePart[RenderRow] = SettlePart(
    name="renders",
    rank=170,
    write=lambda settling: renders.queue(settling.tx, settling.rows(RENDERS), ttl_s=TTL_S),
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
        "body": zlib.compress(reply.body, _LEVEL),
        "body_sha256": attempt.body_sha256 or b"",
    }
