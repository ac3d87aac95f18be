"""Pages that a browser is to open: which, and the row that holds the plain answer until then.

A shell (`app.parse.html.shell`) is rendered where its crawl says `auto`, every page of HTML where it says `always`. What
its owner does not want kept is not rendered. Nothing waits for it: the page is settled as ever.
"""

import zlib

from app.crawl.page.attempt import Attempt
from app.crawl.page.preferences import Wishes
from app.crawl.state.batch import Batch
from app.model import Header, Page
from app.policy.focus.shape import shape_of
from app.store.pages import PageRow
from app.store.renders import RenderRow
from app.store.url_rows import Due

TTL_S = 7 * 86_400.0  # the same plain answer is not rendered again within it
_LEVEL = 6
# Headers that the page's own scripts may see, or that say how its document is to be read.
KEPT_HEADERS = ("content-type", "content-language", "content-security-policy", "link", "x-robots-tag", "last-modified")


def put_up(batch: Batch, attempt: Attempt, document: Page, wished: Wishes, page: PageRow | None) -> bool:
    """Put the page into the batch for a browser, if one is to open it. Returns whether.   page: its row, if it is kept"""
    if not _awaits(attempt.due, attempt, document, wished):
        return False
    batch.renders.append(_row(attempt, document))
    if page is not None:
        page["awaits"] = True
    return True


def _awaits(due: Due, attempt: Attempt, document: Page, wished: Wishes) -> bool:
    if due.render == "never" or wished.kept_out is not None:
        return False
    if due.render == "auto":
        return bool(document.shell)
    return "html" in (attempt.reply.header(Header.CONTENT_TYPE) or "html")


def _row(attempt: Attempt, document: Page) -> RenderRow:
    """The page with its plain answer."""
    reply, due = attempt.reply, attempt.due
    return {
        "host_id": due.host_id,
        "crawl_id": due.crawl_id,
        "key": due.key,
        "url": attempt.url.text,
        "pattern": shape_of(attempt.url.target).name,
        "evidence": dict(document.shell) or None,
        "status": reply.status or 0,
        "headers": {name: value for name in KEPT_HEADERS if (value := reply.header(name)) is not None},
        "body": zlib.compress(reply.body, _LEVEL),
        "body_sha256": attempt.body_sha256 or b"",
    }
