"""A URL: `tiptoe url why` as a page, with its captures and items; and what its owner allows."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from app.admin import captures, explain, rights
from app.admin.captures import CapturedUrl
from app.admin.explain import InCrawl
from app.admin.waiting import last_ending
from app.errors import InputError
from app.model.reasons import words
from app.model.render import lines
from app.policy.focus.score import unpacked
from app.store import board, db
from app.store.board import Row
from app.web.board import Board, board_of
from app.web.live import tone_of
from app.web.order import acts_in, acts_on, order_of
from app.web.render import page, when
from app.words import span


def show(request: Request) -> Response:
    """A URL, as it is given; without one, a form that asks for it."""
    shared, text = board_of(request), request.query_params.get("u", "").strip()
    if not text:
        return page(request, "url_ask.html")
    found = explain.why(shared.engine, shared.settings, text)
    return page(
        request,
        "url.html",
        found=found,
        crawls=[(row, _facts(row), _items(shared, row)) for row in found.crawls],
        captured=_captured(shared, text) if found.crawls else None,
        acts=acts_on("url", ""),
        acts_in=acts_in,
        order=order_of(request),
        tone_of=tone_of,
    )


def _captured(shared: Board, text: str) -> CapturedUrl | None:
    try:
        return captures.captured(shared.engine, shared.settings, text, None)
    except InputError:  # there is none
        return None


def _items(shared: Board, row: InCrawl) -> Sequence[Row]:
    url = row.url
    with db.transaction(shared.engine) as tx:
        return board.items_of_url(tx, host_id=url["host_id"], crawl_id=url["crawl_id"], key=url["key"])


def _facts(row: InCrawl) -> list[tuple[str, object]]:
    """Facts about the URL in a crawl; those that are not known are left out."""
    url, kept = row.url, row.page
    listed = {
        "Cause": url["cause"] and words(url["cause"], url["detail"]),
        "The document is at": url["alias_of"],
        "Last ending": last_ending(url),
        "Last fetched": when(url["fetched_at"]),
        "Last changed": when(url["changed_at"]),
        "Due": when(url["due_at"]),
        "Recrawled every": span(url["interval_s"]),
        "Duplicate": row.duplicate and f"same {row.duplicate['kind']} as {row.duplicate['of_url']}",
        "Directives": url["directives"],
        "Opt-outs": url["opt_out"],
        "What came of it": "; ".join(row.effects),
        "Scope today": row.scope,
        "Found on": url["found_on"] or "nowhere: it is a seed",
        "Links from a seed": url["depth"],
        "Lane and score": f"p{url['lane']}, {url['score']:.3g}",
        "Score": ", ".join(f"{name} {part:.3g}" for name, part in _parts(url["score_parts"])),
        "Attempts": f"{url['attempts']} since the last good one",
        "Title": kept and kept["title"],
        "Content type": kept and kept["content_type"],
        "Empty without JavaScript": "; ".join(lines((kept and kept["needs_script"]) or {})),
        "In the archive": "; ".join(each.line for each in row.archived) or (row.unarchived and f"no: {row.unarchived}"),
        "Links on it": kept and kept["links"],
        "Admitted": when(url["admitted_at"]),
    }
    return [(name, value) for name, value in listed.items() if value not in (None, "")]


def _parts(packed: int | None) -> list[tuple[str, float]]:
    return [] if packed is None else list(unpacked(packed)._asdict().items())


def rights_page(request: Request) -> Response:
    """The rights of a URL, a host or a crawl; without one, a form that asks for it."""
    shared, asked = board_of(request), request.query_params.get("u", "").strip()
    crawl = request.query_params.get("crawl", "").strip()
    return page(
        request,
        "rights.html",
        found=rights.of(shared.engine, shared.settings, asked) if asked else None,
        crawl_name=crawl,
        counted=rights.by_crawl(shared.engine, crawl) if crawl else None,
    )
