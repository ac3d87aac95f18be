"""A page that was fetched: parsed, its links put up for admission, its text kept, its next recrawl set."""

from dataclasses import replace
from hashlib import sha256

import structlog

from app.crawl.frontier import admit
from app.crawl.page import isolation, preferences, recrawls, sitemaps
from app.crawl.page.attempt import Attempt, Conclusion, PageRead, conclude
from app.crawl.page.preferences import Wishes
from app.crawl.state.batch import BYTES_PER_LINK, Batch, most_links
from app.crawl.state.part import SettlePart, SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.crawl.state.worth import FoundAt
from app.model import Header, Page, Url, VisitEnding
from app.model.page import NO_BYTES
from app.parse import language
from app.parse.html import dates
from app.parse.html.html import READER
from app.parse.html.survey import refreshed
from app.policy import header_fields
from app.policy.lifecycle import UrlEvent
from app.policy.scope import Scope, judge
from app.policy.url import Canon, in_encoding
from app.store import pages
from app.store.pages import KeptPage, PageRow, ReadRow, Revision, Where

_log = structlog.get_logger()


def _keep(settling: Settling) -> list[KeptPage]:
    """Store pages. Returns those whose text is new, or is not to be compared with the one before."""
    readings = [reading for visit in settling.visits for reading in visit.batch.found.readings]
    return pages.keep(settling.tx, [reading.page for reading in readings if reading.page is not None])


PAGES = SettleStep(name="pages", rank=110, write=_keep)
KEPT_OUT: SettlePart[Where] = SettlePart(
    name="kept_out",
    rank=10,  # first: a page that is dropped must not count as the original of a new one
    write=lambda settling: settling.drop(settling.rows(KEPT_OUT)),
    words=lambda _: "a page that is not kept",
)
REVISIONS: SettlePart[Revision] = SettlePart(
    name="revisions",
    rank=130,
    write=lambda settling: pages.revise(settling.tx, settling.rows(REVISIONS)),
    words=lambda _: "what a 304 says",
)


def page(visit: Visit, attempt: Attempt) -> VisitEnding | None:
    """Read the body of `attempt` into the batch. Returns how the visit ends, None to go on. Raises LeaseLost."""
    visit.hold(len(attempt.reply.body) // BYTES_PER_LINK)
    document = isolation.page(visit.worker, visit.lease, attempt)
    if not isinstance(document, Page):
        return isolation.unread(visit.worker, visit.batch, visit.picked, attempt, document)
    reply = attempt.reply
    refresh = reply.header(Header.REFRESH)
    if refresh and (link := refreshed(header_fields.escaped(refresh))) is not None:
        document = replace(document, links=(link, *document.links))
    wished = preferences.of_page(visit.worker, visit.lease, visit.origins, attempt.due, attempt.url, reply, document)
    _take_in(visit, attempt, document, wished)
    return None


def _take_in(visit: Visit, attempt: Attempt, document: Page, wished: Wishes) -> None:
    """Put what the page brought into the batch: its row, its links, what it taught."""
    settings, due = visit.worker.settings, attempt.due
    base = base_of(visit.worker.canon, attempt.url, document)
    is_first = settings.keep_text and due.fetched_at is None
    impression = visit.picked.worth[due.crawl_id].read(due, attempt.url, document, is_first=is_first)
    relevance = impression.relevance
    found = admit.links(
        visit, due, base, document.links, encoding=document.charset, nofollow=wished.nofollow, relevance=relevance
    )
    room = max(most_links(settings) - visit.batch.found.links, 0)
    if len(found) > room:
        found, document = found[:room], replace(document, links_cut=True)
    canonical = _canonical(visit.worker.canon, attempt, base, document)
    home = _home(visit.picked.scopes[due.crawl_id], attempt, canonical)
    if home is not None:
        found += admit.candidates(visit, due.crawl_id, [home], FoundAt(due.url, due.depth, 0, relevance))
    text_sha256 = (
        sha256(document.main_text.encode()).digest() if settings.keep_text else attempt.body_sha256 or NO_BYTES
    )
    is_kept = settings.keep_text and wished.kept_out is None
    row = page_row(attempt, document, wished, text_sha256, canonical and canonical.text) if is_kept else None
    read = PageRead(attempt=attempt, document=document, base=base, wished=wished, row=row)
    awaits = home is None and _awaits(visit, read)
    if awaits and due.known.text_sha256 is not None and due.known.reader == READER:
        text_sha256 = due.known.text_sha256  # what a browser made before is compared
    attempt.brought.reading, attempt.brought.wished = visit.batch.found.read(row, found), wished
    attempt.brought.awaits = awaits
    taken_in(visit, read)
    changed = _changed(visit, attempt, text_sha256, awaits=awaits)
    if row is not None:  # its text and the stored one may not be compared
        row["changed"] = changed is True and not awaits and due.known.reader != READER
    following = recrawls.after(visit, attempt, changed=changed)
    impression.learn()
    sitemaps.score_claim(visit.batch, due, changed=changed)
    end = Conclusion(
        UrlEvent.ALIASED if home else UrlEvent.SETTLED,
        attempt,
        due_s=following.due_s,  # of an alias, too: its canonical may be wrong, and mended later
        interval_s=following.interval_s,
        belief=following.belief,
        text_sha256=text_sha256,
        changed=(changed is True and not awaits) or due.known.text_sha256 is None,
        alias_of=home.text if home else None,
        wishes=wished,
    )
    conclude(visit.batch, visit.picked, due, end)


def _awaits(visit: Visit, read: PageRead) -> bool:
    """Whether a feature makes a better document of the page later."""
    awaits = visit.worker.hooks.awaits(visit=visit, read=read) is True
    if awaits and read.row is not None:
        read.row["awaits"] = True
    return awaits


def _changed(visit: Visit, attempt: Attempt, text_sha256: bytes, *, awaits: bool) -> bool | None:
    """Whether the page says something else than before; None: not known.

    The same bytes are no change, whatever is read from them. Texts that two versions of the reader found are not
    compared: then the validators decide, or the document of before, if it can be read again here.
    """
    due, reply = attempt.due, attempt.reply
    if due.known.text_sha256 is None:
        return None
    if due.known.body_sha256 == attempt.body_sha256:
        return False
    if awaits or (due.known.body_sha256 == due.known.text_sha256 == NO_BYTES):  # nothing is nothing in any version
        return True
    if due.known.reader == READER or not visit.worker.settings.keep_text:
        return due.known.text_sha256 != text_sha256
    before = ((due.known.etag, Header.ETAG), (due.known.last_modified, Header.LAST_MODIFIED))
    if any(was is not None and was == reply.validator(name) for was, name in before):
        return False
    said = _text_before(visit, attempt)
    return None if said is None else said != text_sha256


def _text_before(visit: Visit, attempt: Attempt) -> bytes | None:
    """The digest of the text that this reader finds in the document of before; None: it cannot be read here."""
    reply = visit.worker.hooks.document_before(visit=visit, attempt=attempt)
    if reply is None:
        return None
    document = isolation.page(visit.worker, visit.lease, replace(attempt, reply=reply))
    return sha256(document.main_text.encode()).digest() if isinstance(document, Page) else None


def detect_languages(batch: Batch) -> None:
    """Detect the languages of the batch's pages that declare none.

    One after another: between two fetches the model leaves the caches, and each takes three times as long. A text that
    the model fails on has none.
    """
    for reading in batch.found.readings:
        row = reading.page
        if row is not None and row["main_text"] and row["language"] is None and row["language_detected"] is None:
            try:
                row["language_detected"] = language.detect(row["main_text"])
            except (OSError, MemoryError):
                raise
            except Exception:  # noqa: BLE001  # of a library in C++: its page is read, and stays so
                _log.exception("page.no_language", url=row["url"])


def _language_of_unkept(document: Page, wished: Wishes) -> str | None:
    """The language of a page whose text does not reach its row."""
    return language.detect(document.main_text) if wished.noarchive and document.language is None else None


def taken_in(visit: Visit, read: PageRead) -> None:
    """Let the features take what they want from a page whose row is in the batch; one that must not be kept goes."""
    if read.wished.kept_out is not None:
        due = read.attempt.due
        visit.batch.add(KEPT_OUT, (visit.host_id, due.crawl_id, due.key))
    visit.worker.hooks.page_read(visit=visit, read=read)


def headers_alone(visit: Visit, attempt: Attempt) -> Wishes:
    """Apply the headers of a 304 to a page that we have: what is kept of it may change."""
    due = attempt.due
    wished = preferences.of_unchanged(visit.worker, visit.lease, visit.origins, due, attempt.url, attempt.reply)
    attempt.brought.wished = wished
    if wished.kept_out is not None:
        visit.batch.add(KEPT_OUT, (visit.host_id, due.crawl_id, due.key))
    elif (wished.directives, wished.opt_out) != (due.directives, due.opt_out):
        visit.batch.add(
            REVISIONS,
            Revision(
                host_id=visit.host_id,
                crawl_id=due.crawl_id,
                key=due.key,
                directives=wished.directives,
                opt_out=wished.opt_out,
                noarchive=wished.noarchive,
            ),
        )
    return wished


def base_of(canon: Canon, url: Url, document: Page) -> str:
    """<base href> where it is one of ours, else the document's own URL."""
    base = canon.join(url.text, document.base) if document.base else url
    return base.text if isinstance(base, Url) else url.text


def _canonical(canon: Canon, attempt: Attempt, base: str, document: Page) -> Url | None:
    """The URL that the document calls its own: by rel=canonical of its head, else of its `Link` header."""
    if document.canonical:
        found = canon.join(base, in_encoding(document.canonical, document.charset))
    elif header := header_fields.canonical(attempt.reply.header(Header.LINK) or ""):
        found = canon.join(attempt.url.text, header)
    else:
        return None
    return found if isinstance(found, Url) else None


def _home(scope: Scope, attempt: Attempt, canonical: Url | None) -> Url | None:
    """The URL that rel=canonical names as the document's home (U3): believed within the host and the crawl's scope."""
    url = attempt.url
    if canonical is None or canonical.key == url.key or canonical.host != url.host:
        return None
    return canonical if judge(scope, canonical, attempt.due.depth, is_link=True) is None else None


def page_row(attempt: Attempt, document: Page, wished: Wishes, text_sha256: bytes, canonical: str | None) -> PageRow:
    """The page as the table of pages has it."""
    reply = attempt.reply
    found = read_row(attempt.url.text, document, text_sha256)
    found["language_detected"] = document.language_detected or _language_of_unkept(document, wished)
    if wished.noarchive:
        found |= {"main_text": None, "data": None}
    return {
        **found,
        "host_id": attempt.due.host_id,
        "crawl_id": attempt.due.crawl_id,
        "key": attempt.due.key,
        "url": attempt.url.text,
        "status": reply.status or 0,
        "content_type": reply.noted(Header.CONTENT_TYPE),
        "body_sha256": attempt.body_sha256 or NO_BYTES,
        "body_bytes": len(reply.body),
        "needs_script": dict(document.shell) or None,
        "truncated": reply.truncated or document.truncated,
        "links": len(document.links),
        "canonical_url": canonical,
        "directives": wished.directives,
        "opt_out": wished.opt_out,
        "depth": attempt.due.depth,
        "links_cut": document.links_cut,
        "rendered": False,
        "awaits": False,
        "changed": False,
    }


def read_row(url: str, document: Page, text_sha256: bytes) -> ReadRow:
    """The part of a page's row that its document decides."""
    published, modified = document.published or dates.of_url(url), document.modified
    return {
        "charset": document.charset,
        "language": document.language,
        "language_detected": document.language_detected,
        "title": document.title,
        "headline": document.headline,
        "author": document.author,
        "data": document.data,
        "description": document.description,
        "published_at": published.at.isoformat() if published else None,
        "published_from": published.source if published else None,
        "published_on": published.day.isoformat() if published else None,
        "modified_at": modified.at.isoformat() if modified else None,
        "modified_from": modified.source if modified else None,
        "modified_on": modified.day.isoformat() if modified else None,
        "main_text": document.main_text,
        "text_sha256": text_sha256,
        "reader": READER,
    }
