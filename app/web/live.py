"""Messages that a browser is sent each second: texts for marked places of the page, and points for the charts.

Browsers set texts as texts (`textContent`): nothing of it is ever markup.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.admin.board import pulse
from app.admin.board.pulse import CrawlNow, Pulsation
from app.admin.check import Check, Grade
from app.admin.crawls import find
from app.errors import InputError
from app.model import Outcome
from app.model.reasons import HostWait
from app.store.board import Row
from app.store.fleet import QUEUED_MOST
from app.web.board import Pulse, board_of
from app.web.render import ago
from app.words import harmless, none_of, sized, span


class EventStream(StreamingResponse):
    """A stream that holds its seat before it is sent: of many who come at once none is missed in the count."""

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        super().__init__(pulse.events(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._pulse.seat():
            await super().__call__(scope, receive, send)


async def stream(request: Request) -> Response:
    """The one stream of a browser."""
    live = board_of(request).pulse
    if live.is_full:
        return PlainTextResponse("too many viewers; close some\n", 503, headers={"retry-after": "30"})
    return EventStream(live)


def history(request: Request) -> Response:
    """Points of the last minutes or hours, for a chart that begins. Of a crawl, or of all. Raises InputError."""
    name, asked = request.query_params.get("crawl"), request.query_params.get("range") or f"{pulse.HISTORY_S}"
    within_s = {f"{each}": each for each in pulse.RANGES}.get(asked)
    if within_s is None:
        raise InputError(f"range {asked!r}", none_of(asked, list(map(str, pulse.RANGES))))
    engine = board_of(request).engine
    steps = pulse.history(engine, find(engine, name).id if name else None, within_s=within_s)
    step_s = within_s / pulse.STEPS
    rates = [[each.pages, each.failed, each.bytes] for each in steps]
    return JSONResponse(
        {"at": [step.at for step in steps], "rates": [[value / step_s for value in rate] for rate in rates]}
    )


def told(now: Pulsation, checks: Sequence[Check]) -> dict[str, Any]:
    """A look, for JSON. texts: by the name of a place.   points: by series, pages, failures and bytes a second"""
    texts = {
        "all.pages_s": rate(now.summed("pages_s")),
        "all.failed_s": rate(now.summed("failed_s")),
        "all.bytes_s": f"{sized(round(now.summed('bytes_s')))}/s",
        "all.running": f"{now.running:,}",
        "all.offers": f"{now.offers:,}",
    }
    points = {"all": [now.summed("pages_s"), now.summed("failed_s"), now.summed("bytes_s")]}
    for crawl in now.crawls:
        id = crawl.line.id
        texts |= {f"c{id}.{name}": text for name, text in crawl_texts(crawl).items()}
        points[f"c{id}"] = [crawl.pages_s, crawl.failed_s, crawl.bytes_s]
    return {
        "at": now.at,
        "texts": texts,
        "points": points,
        "phases": {f"c{crawl.line.id}": _tone(crawl) for crawl in now.crawls},
        "shares": {f"c{crawl.line.id}": share_of_budget(crawl) for crawl in now.crawls},
        "requests": [request_cells(row) for row in now.requests],
        "notes": notes(now, checks),
        "waits": [wait_cells(row) for row in now.waits],
        "trouble": now.stopped,
    }


def notes(now: Pulsation, checks: Sequence[Check]) -> Sequence[tuple[str, str, str]]:
    """Sum up what an operator has to know first: tone, the point, and what to do; or that all is well."""
    found = [
        ("bad" if check.grade is Grade.FAIL else "warn", f"{check.name}: {check.finding}.", check.remedy)
        for check in checks
        if check.remedy
    ]
    found += [
        ("warn", f"{crawl.line.name}: {crawl.phase.word}.", f"{crawl.phase.means}.")
        for crawl in now.crawls
        if crawl.phase.is_trouble
    ]
    sites = now.failures
    if sites.is_notable:
        machinery = "" if found or now.stopped else "The machinery is well. "
        tone = "good" if sites.is_rare else "warn"
        found.append((tone, f"{machinery}{sites.point}:", f"{sites.names}. Errors says what to do."))
    if found or now.stopped or not now.crawls:
        return [(tone, harmless(point), harmless(remedy)) for tone, point, remedy in found]
    return [
        (
            "good",
            "All is well.",
            "Postgres answers, due hosts are claimed, offers are taken up, no request came too early, no host fails.",
        )
    ]


def wait_cells(row: Row) -> Sequence[str]:
    """The cells of a cause of waiting: its words, hosts, and the first contact; a lease's end is none.

    Only what is due was to come before now: else the rows are older than the moment that they name.
    """
    now, earliest = datetime.now(UTC), row["earliest"]
    if earliest is not None and row["because"] != HostWait.DUE:
        earliest = max(earliest, now)
    first = "" if row["because"] in {HostWait.VISITED, HostWait.OFFERED} else ago(earliest, now)
    return row["because"], f"{row['hosts']:,}", first, HostWait.of(row["because"])


def crawl_texts(crawl: CrawlNow) -> Mapping[str, str]:
    """The texts of a crawl's places."""
    return {
        "phase": crawl.phase.word,
        "means": crawl.phase.means,
        "pages": f"{crawl.pages:,}",
        "failed": ("" if crawl.is_exact else "about ") + f"{crawl.failed:,}",
        "bytes": sized(crawl.bytes),
        "queued": f"{crawl.queued:,}" + ("+" if crawl.queued == QUEUED_MOST else ""),
        "pages_s": rate(crawl.pages_s),
        "failed_s": rate(crawl.failed_s),
        "left": f"about {span(crawl.left_s)}" if crawl.left_s is not None else "–",
    }


def share_of_budget(crawl: CrawlNow) -> float:
    """How much of its budget of pages a crawl has fetched, in percent; 0 without one."""
    return min(round(100 * crawl.pages / crawl.line.max_pages, 1), 100.0) if crawl.line.max_pages else 0.0


def request_cells(row: Row) -> Sequence[str]:
    """The cells of a request in the live list: time, host, kind, ending, milliseconds, bytes, URL."""
    ending = row["failure"] or (f"{row['status']}" if row["status"] else row["outcome"])
    cells = (
        row["started_at"].strftime("%H:%M:%S.%f")[:-3],
        row["host"],
        row["kind"],
        f"{ending}",
        f"{row['total_ms']:,.0f}",
        sized(row["wire_bytes"]),
        row["url"],
        tone_of(row),
    )
    return [harmless(cell) for cell in cells]


def tone_of(row: Row) -> str:
    """How a request ended, for its colour: good, plain or bad."""
    outcome = Outcome(row["outcome"])
    return "good" if outcome.brought_page else "bad" if outcome.is_error else "plain"


def rate(per_s: float) -> str:
    return f"{per_s:,.1f}" if per_s < 100 else f"{per_s:,.0f}"


def _tone(crawl: CrawlNow) -> str:
    if crawl.phase.is_trouble:
        return "bad"
    return "good" if crawl.line.state == "active" else "plain"
